import type { ApiClient } from '../account/api-client';
import { PrintingError } from '../service/errors';
import { amount, record as readRecord, text } from '../service/json-readers';
import type { Deadline } from '../time/deadline';
import type { Source } from '../upload/content';
import { isUploaded, readStored } from '../upload/send';
import type { Uploads } from '../upload/uploads';
import { factsOfFile, factsOfMetadata } from '../toolpath/read-facts';
import { phrase } from '../words/sentence';
import { newItem } from './item-changes';
import type { ItemStore } from './item-store';
import type { AddRequest } from './queue-api';
import type { ItemFile, ItemRecord } from './queue-item';
import type { QueueRules } from './queue-rules';
import { rankAfter } from './rank';

interface AddDeps {
  items: ItemStore;
  uploads: Pick<Uploads, 'send'>;
  service: ApiClient;
  queueId: string;
  rules: Pick<QueueRules, 'approval'>;
  now: () => number;
  /** Rank of the last item; null without one. */
  lastRank: () => string | null;
  /** Waits for the store: its failures stop the planner, those of the file don't. */
  written: <T>(work: Promise<T>) => Promise<T>;
}

/**
 * Adds an item once per queue key: stores its file first, so that a durable item never lacks it. Throws the errors of the
 * upload, of the service's calls and of the store.
 */
export async function addItem(deps: AddDeps, request: AddRequest): Promise<{ record: ItemRecord; isNew: boolean }> {
  const { items, queueId, rules, now, lastRank, written } = deps;
  const { queueKey, deadline } = request;
  const itemId = items.idOf(queueKey);
  const known = queueKey === null ? undefined : await written(deadline.wait(items.find(itemId)));
  if (known) return { record: known, isNew: false };
  const own = request.source
    ? await storeFile(deps, await deadline.wait(request.source()), request)
    : await storedFile(deps, request.jobId, deadline);
  const files = [own, ...(await alternativeFiles(deps, request))];
  deadline.throwIfOver();
  const name = request.jobName || own.filename;
  const make = () =>
    newItem(
      {
        itemId,
        queueKey,
        name,
        files,
        rank: rankAfter(lastRank(), itemId),
        changes: request,
        awaitsApproval: rules.approval,
      },
      { queueId, now: now() },
    );
  return written(deadline.wait(items.add(itemId, make)));
}

/** The files of alternatives, stored where they were not. Throws the errors of the upload and of the service's calls. */
export async function alternativeFiles(
  deps: Pick<AddDeps, 'uploads' | 'service'>,
  { alternatives = [], deadline, onProgress }: Pick<AddRequest, 'alternatives' | 'deadline' | 'onProgress'>,
): Promise<ItemFile[]> {
  const files: ItemFile[] = [];
  for (const other of alternatives)
    files.push(
      'jobId' in other
        ? await storedFile(deps, other.jobId, deadline)
        : await storeFile(deps, { kind: 'file', path: other.filename }, { jobName: '', deadline, onProgress }),
    );
  return files;
}

async function storeFile(
  { uploads }: Pick<AddDeps, 'uploads'>,
  source: Source,
  { jobName, deadline, onProgress }: Pick<AddRequest, 'jobName' | 'deadline' | 'onProgress'>,
): Promise<ItemFile> {
  const facts = await factsOfFile(source, deadline).catch(() => null);
  const stored = await uploads.send(source, {
    ...(jobName ? { jobName } : {}),
    ...{ compress: false, reuse: true, dryRun: false, deadline },
    onStage: (_, { percent }) => onProgress(percent),
  });
  const read = factsOfMetadata(stored.raw?.metadata);
  return {
    jobId: stored.jobId,
    filename: stored.jobName,
    size: stored.fileSize,
    facts: read?.model ? read : facts,
    isGone: false,
  };
}

async function storedFile(
  { service }: Pick<AddDeps, 'service'>,
  jobId: string | null,
  deadline: Deadline,
): Promise<ItemFile> {
  if (jobId === null)
    throw new PrintingError('INVALID_INPUT', phrase`The stored job to print is missing: set msg.jobId.`);
  const stored = await readStored(service, { kind: 'job', id: jobId }, { deadline });
  if (!isUploaded(stored))
    throw new PrintingError('NOT_ACCEPTED', phrase`The file of the stored job is not stored yet: try again later.`, {
      ids: { jobId },
    });
  const facts = factsOfMetadata(readRecord(stored.metadata));
  return { jobId, filename: text(stored.job_name), size: amount(stored.file_size), facts, isGone: false };
}
