import type { JobAnswer } from '../../events/job-edges';
import { underDeadline } from '../../time/deadline';
import type { PollingAccount } from './ports';
import { mapConcurrent } from '../../time/concurrency';
import { readJobRecord } from './job-record';
import { waitBefore } from '../../time/retry';

/** Concurrent requests for records, and most of them in one poll. */
const AT_ONCE = 4;
const MOST = 10;
/** Deadline for all records of one poll, ms. */
const LONGEST_SEARCH = 30_000;
/** Backoff for a job that could not be resolved. */
const BACKOFF = { first: 30_000, longest: 3600_000 };

/** Reads the records of vanished jobs. A job that can't be resolved does not delay the others. */
export class VanishedJobResolver {
  readonly #attempts = new Map<string, { times: number; next: number }>();

  /** Returns the answers for those `ids` that are due. */
  async ask(account: PollingAccount, clusterId: string, ids: readonly string[]): Promise<Map<string, JobAnswer>> {
    const { service, clock, signal } = account;
    const open = new Set(ids);
    for (const id of this.#attempts.keys()) if (!open.has(id)) this.#attempts.delete(id);
    if (ids.length === 0) return new Map();
    const now = clock.monotonic();
    const turnOf = (id: string) => this.#attempts.get(id)?.next ?? -Infinity;
    const due = ids
      .filter((id) => turnOf(id) <= now)
      .sort((one, other) => (turnOf(one) < turnOf(other) ? -1 : 1))
      .slice(0, MOST);
    const answers = await underDeadline(clock, { ms: LONGEST_SEARCH, parent: signal }, (deadline) =>
      mapConcurrent(AT_ONCE, due, async (id) => [id, await readJobRecord(service, clusterId, id, deadline)] as const),
    );
    for (const id of due) {
      const times = this.#attempts.get(id)?.times ?? 0;
      // No timer: the next regular poll asks for the jobs that are due.
      this.#attempts.set(id, { times: times + 1, next: now + waitBefore(times, BACKOFF) });
    }
    return new Map(answers);
  }
}
