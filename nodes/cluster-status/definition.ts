import { SHORTEST_INTERVAL } from '../../lib/rules/text';
import type { NodeDefinition } from '../shared/definition';

export const definition = {
  outputs: ['status', 'events'],
  parent: 'account',
  properties: {
    cluster: {
      kind: 'typed',
      default: '',
      message: 'clusterId',
      input: 'printer',
      icon: 'print',
      placeholder: 'picker.allClusters',
      meaning: 'the printer; without one: all clusters of the account',
    },
    interval: {
      kind: 'amount',
      default: 60,
      least: SHORTEST_INTERVAL,
      unit: 'unit.seconds',
      icon: 'clock-o',
      meaning: 'seconds between polls, at least 10',
    },
    send: {
      kind: 'select',
      default: 'always',
      options: ['always', 'changes'],
      icon: 'paper-plane-o',
      meaning: '`always`, or `changes`: not for times, temperatures and parts of a percent',
    },
    milestones: {
      kind: 'text',
      default: '25,50,75',
      validate: 'milestones()',
      unit: 'unit.percent',
      icon: 'flag-o',
      meaning: 'percentages for `job.progress`',
    },
    stalled: {
      kind: 'amount',
      default: 0,
      least: 0,
      unit: 'unit.minutes',
      icon: 'hourglass-half',
      meaning: 'minutes without progress until `job.stalled` comes for a print; 0: never',
    },
    lowMaterial: {
      kind: 'amount',
      default: 10,
      least: 0,
      unit: 'unit.percentOfSpool',
      icon: 'battery-quarter',
      meaning: 'share of a full spool below which `material.low` comes, percent; 0: never',
    },
    plateWait: {
      kind: 'amount',
      default: 30,
      least: 0,
      unit: 'unit.minutes',
      icon: 'bell-o',
      meaning:
        'minutes after the end of a print until `plate.awaiting` comes for a plate that was not cleared; 0: never',
    },
  },
} as const satisfies NodeDefinition;
