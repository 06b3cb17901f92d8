import type { ApiClient } from '../../account/api-client';
import { asPrintingError } from '../../service/errors';
import type { Clock } from '../../time/clock';
import type { Deadline } from '../../time/deadline';
import { waitBefore } from '../../time/retry';
import { factsOfMetadata } from '../../toolpath/read-facts';
import { readStored } from '../../upload/send';
import type { ItemIndex } from '../model/item';
import { withFacts } from '../model/item-changes';
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
  jobId !== null && !isGone && facts?.source !== 'service';

/** A stored job without metadata so far: its items, and whether all of them know the file's own facts. */
interface Unread {
  itemIds: string[];
  isKnown: boolean;
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
  /** Reads so far, and when the next one is due, monotonic ms, by stored job. */
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
      for (const { jobId, facts } of files.filter(isFileUnread)) {
        if (jobId === null) continue;
        const about = unread.get(jobId) ?? { itemIds: [], isKnown: true };
        about.itemIds.push(itemId);
        about.isKnown &&= facts !== null;
        unread.set(jobId, about);
      }
    for (const jobId of this.#tries.keys()) if (!unread.has(jobId)) this.#tries.delete(jobId);
    for (const [jobId, about] of unread) if (this.#isDue(jobId, about)) await this.#readOne(jobId, about);
    this.#isReading = false;
  }

  #isDue(jobId: string, { isKnown }: Unread): boolean {
    const now = this.#queue.clock.monotonic();
    const known = this.#tries.get(jobId);
    if (known) return known.dueAt <= now;
    this.#tries.set(jobId, { count: 0, dueAt: now + pause(0, isKnown) });
    return false;
  }

  async #readOne(jobId: string, { itemIds, isKnown }: Unread): Promise<void> {
    const { service, clock, data, failed } = this.#queue;
    const limit = this.#deadline.within(READ_FOR);
    const count = (this.#tries.get(jobId)?.count ?? 0) + 1;
    const dueAt = count < (isKnown ? MOST_OF_KNOWN : MOST) ? clock.monotonic() + pause(count, isKnown) : Infinity;
    this.#tries.set(jobId, { count, dueAt });
    try {
      const stored = await readStored(service, { kind: 'job', id: jobId }, { deadline: limit });
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
const pause = (count: number, isKnown: boolean): number =>
  isKnown ? EVERY : waitBefore(count, { first: SOON, longest: EVERY });
