import type { NodeDefinition } from '../shared/definition';

export const definition = {
  outputs: ['output'],
  parent: 'account',
  properties: {
    query: {
      kind: 'select',
      default: 'clusters',
      options: [
        'clusters',
        'printers',
        'materials',
        'cluster-status',
        'print-jobs',
        'print-job',
        'stored-job',
        'preview',
        'library-file',
        'maintenance',
        'current-user',
      ],
      icon: 'question-circle-o',
    },
    cluster: {
      kind: 'typed',
      default: '',
      message: 'clusterId',
      input: 'printer',
      icon: 'print',
      when: { query: ['cluster-status', 'print-jobs', 'print-job', 'preview', 'maintenance'] },
      meaning: 'the printer',
    },
    item: {
      kind: 'typed',
      default: '',
      message: null,
      input: 'item',
      icon: 'cube',
      when: { query: ['printers', 'materials', 'print-jobs', 'print-job', 'stored-job', 'preview', 'library-file'] },
      variants: {
        by: 'query',
        labels: {
          printers: 'label.filter',
          materials: 'label.filter',
          'print-jobs': 'label.filter',
          'print-job': 'label.printJob',
          'stored-job': 'label.storedJob',
          preview: 'label.preview',
          'library-file': 'label.libraryFile',
        },
        tips: {
          printers: 'tip.printerFilter',
          materials: 'tip.printerFilter',
          'print-jobs': 'tip.filter',
          'print-job': 'tip.printJob',
          'stored-job': 'tip.storedJob',
          preview: 'tip.preview',
          'library-file': 'tip.libraryFile',
        },
      },
      meaning:
        'blank: `msg.clusterJobId`, `msg.jobId`, `msg.fileId` or, of `printers` and `materials`, `msg.filter`, whichever the query is about',
    },
  },
} as const satisfies NodeDefinition;
