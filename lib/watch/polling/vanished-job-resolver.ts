import type { JobAnswer } from '../../events/job-ends';
import { underDeadline } from '../../time/deadline';
import type { AccountContext } from './account-context';
import { mapConcurrent } from '../../time/map-concurrent';
import { readJobRecord } from './job-record';
import { waitBefore } from '../../time/backoff';

/** Records asked for at a time, and at most in one poll. */
const AT_ONCE = 4;
const MOST = 10;
/** All of them in one poll, ms. */
const LONGEST = 30_000;
/** A job that could not be resolved is asked for again ever less often. */
const AGAIN = { first: 30_000, longest: 3600_000 };

/** Asks for the records of jobs that vanished. Those that can't be resolved don't keep the others waiting. */
export class VanishedJobResolver {
  readonly #asked = new Map<string, { times: number; next: number }>();

  /** The answers for those of `ids` whose turn it is. */
  async ask(account: AccountContext, clusterId: string, ids: readonly string[]): Promise<Map<string, JobAnswer>> {
    const { service, clock, signal } = account;
    const open = new Set(ids);
    for (const id of this.#asked.keys()) if (!open.has(id)) this.#asked.delete(id);
    if (ids.length === 0) return new Map();
    const now = clock.monotonic();
    const turnOf = (id: string) => this.#asked.get(id)?.next ?? -Infinity;
    const due = ids
      .filter((id) => turnOf(id) <= now)
      .sort((one, other) => (turnOf(one) < turnOf(other) ? -1 : 1))
      .slice(0, MOST);
    const answers = await underDeadline(clock, { ms: LONGEST, parent: signal }, (deadline) =>
      mapConcurrent(AT_ONCE, due, async (id) => [id, await readJobRecord(service, clusterId, id, deadline)] as const),
    );
    for (const id of due) {
      const times = this.#asked.get(id)?.times ?? 0;
      this.#asked.set(id, { times: times + 1, next: now + waitBefore(times, AGAIN) });
    }
    return new Map(answers);
  }
}
