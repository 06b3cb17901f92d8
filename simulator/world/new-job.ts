import type { PrintJob } from './state';

/** The order of a print; a copy of a job is the same order again. */
export type Order = Pick<
  PrintJob,
  | 'jobId'
  | 'name'
  | 'contentType'
  | 'timeTotal'
  | 'needs'
  | 'target'
  | 'sentFrom'
  | 'held'
  | 'owner'
  | 'demanded'
  | 'fileGone'
>;

/** Creates a waiting print job of an order, and of nothing else that `order` contains. */
export function newJob(order: Order, about: Pick<PrintJob, 'uuid' | 'since' | 'createdAt' | 'visibleAt'>): PrintJob {
  const { jobId, name, contentType = null, timeTotal, needs = [], target, sentFrom, held, owner } = order;
  const { demanded = [], fileGone } = order;
  return structuredClone({
    ...{ jobId, name, contentType, timeTotal, needs, sentFrom, held, owner, demanded },
    ...(target ? { target } : {}),
    ...(fileGone ? { fileGone } : {}),
    ...about,
    status: 'queued',
    startedAt: null,
    printed: 0,
    printerUuid: null,
    force: false,
    changes: [],
    message: null,
    deletedAt: null,
  });
}
