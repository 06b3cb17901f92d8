import { SHORTEST_INTERVAL } from '../../lib/rules/text';
import type { NodeDefinition } from '../shared/definition';

export const definition = {
  outputs: ['messages'],
  parent: 'account',
  properties: {
    cluster: {
      kind: 'typed',
      default: '',
      message: null,
      input: 'printer',
      icon: 'print',
      placeholder: 'picker.allClusters',
      meaning: 'the printer; blank: all printers of the account',
    },
    discoveryPrefix: {
      kind: 'text',
      default: 'homeassistant',
      validate: "topicPrefix('discoveryPrefix')",
      icon: 'search',
      meaning: "first part of the topics of discovery; as in Home Assistant's own settings",
    },
    topicPrefix: {
      kind: 'text',
      default: 'remote-printing',
      validate: "topicPrefix('topicPrefix')",
      icon: 'sitemap',
      meaning: "first part of the node's own topics",
    },
    controls: {
      kind: 'checkbox',
      default: false,
      meaning: 'whether each printer has buttons to pause, resume and abort its print',
    },
    picture: {
      kind: 'amount',
      default: 0,
      least: 0,
      unit: 'unit.secondsOrNone',
      icon: 'camera',
      meaning: 'seconds between two pictures of a printer that prints, and one at the end; 0: none',
    },
    interval: {
      kind: 'amount',
      default: 60,
      least: SHORTEST_INTERVAL,
      unit: 'unit.seconds',
      icon: 'clock-o',
      meaning: 'seconds between polls, at least 10',
    },
  },
} as const satisfies NodeDefinition;
