import type { NodeDefinition } from '../shared/definition';

export const definition = {
  outputs: ['answer'],
  parent: 'account',
  properties: {
    method: {
      kind: 'select',
      default: 'GET',
      options: ['GET', 'PUT', 'POST', 'DELETE', 'msg.method'],
      icon: 'exchange',
    },
    path: { kind: 'typed', default: '', message: 'path', icon: 'road', meaning: 'what is allowed: 3.5' },
  },
} as const satisfies NodeDefinition;
