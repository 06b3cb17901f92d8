import type { ApiClient } from '../../account/api-client';
import { asPrintingError } from '../../service/errors';
import type { Clock } from '../../time/clock';
import type { Deadline } from '../../time/deadline';
import { waitBefore } from '../../time/retry';
import { factsOfMetadata } from '../../toolpath/read-facts';
import { isUploaded, readStored } from '../../upload/send';
import type { ItemIndex } from '../model/item';
import { withFacts, withFileBack } from '../model/item-changes';
import type { ItemFile, ItemRecord } from '../model/types';
import type { ItemStore } from './items';
import { PLANNER } from './records';

/** Longest time between two reads of a stored job whose file the service has not parsed yet, ms. */
const EVERY = 60_000;
/** Time before the first read for a file that does not state its own facts, such as a stream: its items wait for it, ms. */
const SOON = 5_000;
/** Number of reads after which an unparsed file counts as one without metadata. */
const MOST = 12;
/** The same for a file that states its own facts. */
const MOST_OF_KNOWN = 3;
/** Age up to which the facts of an item may still come, ms. */
const PENDING_FOR = (MOST + 1) * EVERY;
/** Pauses between two reads of a file that is gone, ms: a service that is being repaired may know none of its files for a while. */
const OF_GONE = { first: EVERY, longest: 3_600_000 };
/** Timeout of a read, ms. */
const READ_FOR = 30_000;

/**
 * Whether the service may still find the model of a file that neither the message nor the file names; `lived`: the queue's
 * lived time, ms.
 */
export const isModelPending = ({ createdLived = 0, files, require }: ItemRecord, lived: number): boolean =>
  lived - createdLived < PENDING_FOR &&
  require?.models === undefined &&
  files.some(({ facts, jobId, isGone }) => !facts && jobId !== null && !isGone);

/** Whether the service may state facts about a file of an item. */
export const isUnread = ({ endedAt, files }: ItemRecord): boolean => endedAt === null && files.some(isFileUnread);

const isFileUnread = ({ jobId, facts, isGone }: ItemFile): boolean =>
  jobId !== null && (isGone || facts?.source !== 'service');

/** A stored job without metadata so far, or that is gone: its items, and whether all of them know the file's own facts. */
interface Unread {
  jobId: string;
  itemIds: string[];
  isKnown: boolean;
  isGone: boolean;
}

/** The parts of a queue that the reader needs. */
interface FactsQueue {
  service: ApiClient;
  clock: Clock;
  data: { items: Pick<ItemStore, 'change'>; unread: Pick<ItemIndex, 'all'> };
  failed: (thrown: unknown) => void;
}

/** Reads the service's facts about the files, which precede the files' own (print queue, 6). */
export class FactsReader {
  readonly #queue: FactsQueue;
  /** Reads so far, and when the next one is due, monotonic ms, by stored job and whether it is gone. */
  readonly #tries = new Map<string, { count: number; dueAt: number }>();
  readonly #deadline: Deadline;
  #isReading = false;

  /** @param deadline ends with the planner's tenure */
  constructor(queue: FactsQueue, deadline: Deadline) {
    this.#queue = queue;
    this.#deadline = deadline;
  }

  /** Time until the next read, ms; Infinity without one. */
  get wait(): number {
    const now = this.#queue.clock.monotonic();
    return [...this.#tries.values()].reduce((first, { dueAt }) => Math.min(first, Math.max(0, dueAt - now)), Infinity);
  }

  /** Reads the next file that is due, one at a time. Never rejects. */
  async read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const unread = new Map<string, Unread>();
    for (const { itemId, files } of this.#queue.data.unread.all)
      for (const { jobId, facts, isGone } of files.filter(isFileUnread)) {
        if (jobId === null) continue;
        const key = `${isGone}/${jobId}`;
        const about = unread.get(key) ?? { jobId, itemIds: [], isKnown: true, isGone };
        about.itemIds.push(itemId);
        about.isKnown &&= facts !== null;
        unread.set(key, about);
      }
    for (const key of this.#tries.keys()) if (!unread.has(key)) this.#tries.delete(key);
    for (const [key, about] of unread) if (this.#isDue(key, about)) await this.#readOne(key, about);
    this.#isReading = false;
  }

  #isDue(key: string, about: Unread): boolean {
    const now = this.#queue.clock.monotonic();
    const known = this.#tries.get(key);
    if (known) return known.dueAt <= now;
    this.#tries.set(key, { count: 0, dueAt: now + pause(0, about) });
    return false;
  }

  async #readOne(key: string, about: Unread): Promise<void> {
    const { jobId, itemIds, isKnown, isGone } = about;
    const { service, clock, data, failed } = this.#queue;
    const limit = this.#deadline.within(READ_FOR);
    const count = (this.#tries.get(key)?.count ?? 0) + 1;
    const most = isGone ? Infinity : isKnown ? MOST_OF_KNOWN : MOST;
    this.#tries.set(key, { count, dueAt: count < most ? clock.monotonic() + pause(count, about) : Infinity });
    try {
      const stored = await readStored(service, { kind: 'job', id: jobId }, { deadline: limit });
      if (isGone && isUploaded(stored))
        for (const itemId of itemIds) await data.items.change(itemId, (record) => withFileBack(record, jobId), PLANNER);
      const facts = factsOfMetadata(stored.metadata);
      // Without the model, the service knows no more than the file states.
      if (facts && (facts.model !== null || !isKnown))
        for (const itemId of itemIds)
          await data.items.change(itemId, (record) => withFacts(record, jobId, facts), PLANNER);
    } catch (thrown) {
      // The service is asked again; only the store's failure concerns the queue.
      if (asPrintingError(thrown).code === 'FILE_NOT_WRITABLE' && !this.#deadline.aborted) failed(thrown);
    }
    limit.end();
  }
}

/** Pause before the next read of a stored job that was read `count` times, ms. */
const pause = (count: number, { isKnown, isGone }: Unread): number =>
  isGone ? waitBefore(count, OF_GONE) : isKnown ? EVERY : waitBefore(count, { first: SOON, longest: EVERY });
