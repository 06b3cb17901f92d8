import type { NodeDefinition } from '../shared/definition';

export const definition = {
  outputs: ['report'],
  parent: 'account',
  properties: {
    clusters: {
      kind: 'typed',
      default: '',
      message: 'clusterId',
      input: 'printer',
      icon: 'print',
      placeholder: 'picker.allClusters',
      meaning: 'the printers; without one: all clusters of the account',
    },
    reportType: {
      kind: 'text',
      default: 'print_jobs',
      message: 'reportType',
      icon: 'list-alt',
      meaning: 'without one: `print_jobs`',
    },
    from: {
      kind: 'typed',
      default: 'last 7 days',
      defaultType: 'relative',
      message: 'from',
      input: 'range',
      icon: 'calendar-o',
      meaning: 'without one: the last 7 days (ranges: 3.5)',
    },
    to: {
      kind: 'typed',
      default: '',
      defaultType: 'relative',
      message: 'to',
      input: 'range',
      icon: 'calendar-o',
      meaning: 'without one: the end of that range',
    },
    format: {
      kind: 'select',
      default: 'rows',
      options: ['rows', 'stream', 'csv', 'file', 'summary'],
      icon: 'sign-out',
    },
    file: {
      kind: 'typed',
      default: '',
      message: null,
      icon: 'file-o',
      when: { format: 'file' },
      meaning: 'where to write; never read from `msg.filename` by itself',
    },
    onlyNew: {
      kind: 'checkbox',
      default: false,
      when: { format: ['rows', 'stream'] },
      meaning: 'leaves out rows that this node gave before',
    },
    timeout: { kind: 'amount', default: 300, unit: 'unit.minutes', per: 60, icon: 'clock-o', meaning: 'seconds' },
  },
} as const satisfies NodeDefinition;
