import type { ApiClient } from '../account/api-client';
import { asPrintingError } from '../service/errors';
import type { Clock } from '../time/clock';
import type { Deadline } from '../time/deadline';
import { factsOfMetadata } from '../toolpath/facts-of-metadata';
import { readStored } from '../upload/stored-job';
import type { ItemRecord } from './queue-item';
import type { FileFacts } from './requirement';

/** Time between two reads of a stored job whose file the service has not parsed yet, ms. */
const EVERY = 60_000;
/** Reads of one stored job; a file that was not parsed after them has no metadata. */
const MOST = 12;
/** Timeout of a read, ms. */
const READ_FOR = 30_000;

interface FactsReaderDeps {
  service: ApiClient;
  clock: Clock;
  closing: Deadline;
  /** Saves the facts of a file. */
  found: (itemId: string, jobId: string, facts: FileFacts) => Promise<void>;
  failed: (thrown: unknown) => void;
}

/** Reads what the service says about the files of which nothing is known, such as those that came as a stream. */
export class FactsReader {
  readonly #deps: FactsReaderDeps;
  /** Reads so far, and when the next one is due, monotonic ms, by stored job. */
  readonly #tries = new Map<string, { count: number; dueAt: number }>();
  #isReading = false;

  constructor(deps: FactsReaderDeps) {
    this.#deps = deps;
  }

  /** Time until the next read, ms; Infinity without one. */
  get wait(): number {
    const now = this.#deps.clock.monotonic();
    return [...this.#tries.values()].reduce((first, { dueAt }) => Math.min(first, Math.max(0, dueAt - now)), Infinity);
  }

  /** Reads the next file that is due, one at a time. Never rejects. */
  async read(items: Iterable<ItemRecord>): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const unknown = new Map<string, string>();
    for (const { itemId, endedAt, files } of items)
      for (const { jobId, facts, isGone } of files)
        if (endedAt === null && jobId !== null && !facts && !isGone) unknown.set(jobId, itemId);
    for (const jobId of this.#tries.keys()) if (!unknown.has(jobId)) this.#tries.delete(jobId);
    for (const [jobId, itemId] of unknown) if (this.#isDue(jobId)) await this.#readOne(itemId, jobId);
    this.#isReading = false;
  }

  #isDue(jobId: string): boolean {
    const now = this.#deps.clock.monotonic();
    const known = this.#tries.get(jobId);
    if (known) return known.dueAt <= now;
    this.#tries.set(jobId, { count: 0, dueAt: now + EVERY });
    return false;
  }

  async #readOne(itemId: string, jobId: string): Promise<void> {
    const { service, clock, closing, found, failed } = this.#deps;
    const limit = closing.within(READ_FOR);
    const count = (this.#tries.get(jobId)?.count ?? 0) + 1;
    const dueAt = count < MOST ? clock.monotonic() + EVERY : Infinity;
    this.#tries.set(jobId, { count, dueAt });
    try {
      const stored = await readStored(service, { kind: 'job', id: jobId }, { deadline: limit });
      const facts = factsOfMetadata(stored.metadata);
      if (facts) await found(itemId, jobId, facts);
    } catch (thrown) {
      // The service is asked again; only the store's failure concerns the queue.
      if (asPrintingError(thrown).code === 'FILE_NOT_WRITABLE') failed(thrown);
    }
    limit.end();
  }
}
