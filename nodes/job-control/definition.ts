import type { NodeDefinition } from '../shared/definition';

export const definition = {
  outputs: ['done'],
  parent: 'account',
  properties: {
    action: {
      kind: 'select',
      default: 'pause',
      options: ['pause', 'resume', 'abort', 'remove', 'force', 'move', 'duplicate', 'stop', 'msg.action'],
      icon: 'gamepad',
    },
    cluster: {
      kind: 'typed',
      default: '',
      message: 'clusterId',
      input: 'printer',
      icon: 'print',
      meaning: 'the printer',
    },
    job: {
      kind: 'typed',
      default: 'clusterJobId',
      defaultType: 'msg',
      message: 'clusterJobId',
      input: 'printJob',
      icon: 'cube',
      when: { action: ['pause', 'resume', 'abort', 'remove', 'force', 'move', 'duplicate', 'msg.action'] },
      meaning: 'without one: the print under way on the cluster (none: `NOT_ACCEPTED`)',
    },
    timeout: { kind: 'amount', default: 60, unit: 'unit.seconds', icon: 'clock-o', meaning: 'seconds' },
  },
} as const satisfies NodeDefinition;
