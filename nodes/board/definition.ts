import type { NodeDefinition } from '../shared/definition';

export const definition = {
  outputs: ['presses'],
  parent: 'account',
  alternative: 'queue',
  properties: {
    path: {
      kind: 'text',
      default: 'print-board',
      validate: 'webPath()',
      icon: 'globe',
      meaning: 'address of the page, below `httpNodeRoot`',
    },
    title: { kind: 'text', default: '', icon: 'header', meaning: "heading; blank: the queue's or the account's name" },
    allow: {
      kind: 'select',
      default: 'press',
      options: ['look', 'press', 'all'],
      icon: 'hand-pointer-o',
      meaning: '`look`; `press`: everything but `all`; `all`: also add files, abort prints, remove items',
      tips: { look: 'tip.look', press: 'tip.press', all: 'tip.all' },
    },
    hosts: {
      kind: 'text',
      default: '',
      validate: 'webHosts()',
      icon: 'server',
      meaning: 'further host names by which Node-RED is reached, separated by blanks',
    },
  },
  credentials: { token: 'password' },
} as const satisfies NodeDefinition;
