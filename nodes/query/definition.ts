import type { NodeDefinition } from '../shared/definition';

export const definition = {
  outputs: ['output'],
  properties: {
    query: {
      kind: 'select',
      default: 'clusters',
      options: [
        'clusters',
        'cluster-status',
        'print-jobs',
        'print-job',
        'stored-job',
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
      when: { query: ['cluster-status', 'print-jobs', 'print-job', 'maintenance'] },
      meaning: 'the printer',
    },
    item: {
      kind: 'typed',
      default: '',
      message: null,
      input: 'item',
      icon: 'cube',
      when: { query: ['print-jobs', 'print-job', 'stored-job', 'library-file'] },
      variants: {
        by: 'query',
        labels: {
          'print-jobs': 'label.filter',
          'print-job': 'label.printJob',
          'stored-job': 'label.storedJob',
          'library-file': 'label.libraryFile',
        },
        tips: {
          'print-jobs': 'tip.filter',
          'print-job': 'tip.printJob',
          'stored-job': 'tip.storedJob',
          'library-file': 'tip.libraryFile',
        },
      },
      meaning: 'blank: `msg.clusterJobId`, `msg.jobId` or `msg.fileId`, whichever the query is about',
    },
  },
} as const satisfies NodeDefinition;
