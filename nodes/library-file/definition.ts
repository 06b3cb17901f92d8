import type { NodeDefinition } from '../shared/definition';

export const definition = {
  outputs: ['output'],
  parent: 'account',
  properties: {
    operation: {
      kind: 'select',
      default: 'upload',
      options: ['upload', 'info', 'download', 'delete'],
      icon: 'cogs',
    },
    kind: {
      kind: 'select',
      default: 'file',
      options: ['file', 'job'],
      icon: 'folder-o',
      meaning: '`file`, or `job`: a toolpath stored as a print job',
    },
    source: {
      kind: 'select',
      default: 'file',
      options: ['file', 'payload'],
      icon: 'sign-in',
      when: { operation: 'upload' },
    },
    fileId: {
      kind: 'typed',
      default: '',
      message: 'fileId',
      input: 'file',
      icon: 'key',
      when: { operation: ['info', 'download', 'delete'] },
      meaning: 'of a job, blank reads `msg.jobId`',
    },
    file: {
      kind: 'typed',
      default: '',
      message: 'filename',
      icon: 'file-o',
      when: [{ operation: 'upload', source: 'file' }, { operation: 'download' }],
      variants: { by: 'operation', tips: { upload: 'tip.upload', download: 'tip.download' } },
      meaning: 'the path; of a download, blank gives a Buffer, and `msg.filename` is never a target',
    },
    timeout: { kind: 'amount', default: 600, unit: 'unit.minutes', per: 60, icon: 'clock-o', meaning: 'seconds' },
  },
} as const satisfies NodeDefinition;
