import type { NodeDefinition } from '../shared/definition';

export const definition = {
  outputs: ['requests', 'log'],
  parent: 'account',
  alternative: 'queue',
  properties: {
    path: {
      kind: 'text',
      default: 'remote-printing-tools',
      validate: 'webPath()',
      icon: 'plug',
      meaning: 'address of the tools, below `httpNodeRoot`',
    },
    hosts: {
      kind: 'text',
      default: '',
      validate: 'webHosts()',
      icon: 'server',
      meaning: 'further host names by which Node-RED is reached, separated by blanks',
    },
    allow: {
      kind: 'select',
      default: 'look',
      options: ['look', 'ask', 'act'],
      icon: 'hand-pointer-o',
      meaning: '`look`; `ask`: also act, after the OK of a person; `act`: at once',
      tips: { look: 'tip.look', ask: 'tip.ask', act: 'tip.act' },
    },
    expires: {
      kind: 'amount',
      default: 600,
      unit: 'unit.seconds',
      icon: 'hourglass-o',
      when: { allow: 'ask' },
      meaning: 'seconds for which a request waits for an OK',
    },
  },
  credentials: { token: 'password' },
  maker: 'token',
} as const satisfies NodeDefinition;
