import { PICTURE } from '../../lib/rules/limits';
import type { NodeDefinition } from '../shared/definition';

export const definition = {
  outputs: ['picture'],
  parent: 'account',
  properties: {
    cluster: {
      kind: 'typed',
      default: '',
      message: 'clusterId',
      input: 'printer',
      icon: 'print',
      meaning: 'the printer, or the group of printers',
    },
    printer: {
      kind: 'typed',
      default: '',
      message: 'printerId',
      input: 'member',
      icon: 'camera',
      meaning: "one printer of a group; without one: the cluster's host printer",
    },
    timeout: { kind: 'amount', default: 60, unit: 'unit.seconds', icon: 'clock-o', meaning: 'seconds' },
    maxBytes: {
      kind: 'amount',
      default: PICTURE,
      unit: 'unit.megabytes',
      per: 1024 * 1024,
      icon: 'arrows-v',
      meaning: 'a larger picture is `TOO_LARGE`',
    },
  },
} as const satisfies NodeDefinition;
