import { createHash } from 'node:crypto';
import type { Locks } from '../state/locks';
import type { Key } from '../state/store';
import { Deadline } from '../time/deadline';
import type { Clock } from '../time/clock';
import { AGAIN, pollUntil } from '../time/retry';
import { Batches } from './batches';
import type { Database } from './database';
import { type Failure, LOCKS_OF, TAKE, wrapped } from './entries';
import type { Lease, Leases } from './leases';
import { Sightings } from './sightings';

/** Backoff while another holder has the lock, ms. */
const WAITS = { first: 20, longest: 250, factor: 1.5, jitter: 0.2 };

/** What one runtime uses for all its statements. */
export interface RuntimeContext {
  clock: Clock;
  /** Id of the runtime. */
  holder: string;
  leases: Leases;
  /** Within this runtime, one request at a time asks for a lock, in the order of asking. */
  locks: Locks;
  database: Pick<Database, 'query'>;
  /** Whether the holder of an expired lease has had time to renew it. */
  mayTakeOver: () => boolean;
  /** Watches the locks of a runtime that has become silent, so that they expire together. */
  watchLocks: (holder: string) => Promise<void>;
}

/** Content of a row. */
export interface StoredRow {
  content: string | null;
  /** The value has passed its expiry. */
  over: boolean | null;
}

export interface HeldLock extends StoredRow {
  lease: Lease;
}

interface Waiting {
  deadline?: Deadline | undefined;
  /** No value is stored under the lock, so one that is kept for an unwritten value continues. */
  lockOnly?: boolean;
  /** The error of a request that the database doesn't answer. */
  failed: Failure;
}

/** Answer to a request for a lock: its token, or the last heartbeat of its holder. */
interface Holder {
  name: string;
  token: string | null;
  beat: string | null;
  lasts: number | null;
}

/** Why a held lock is taken over: heartbeat of its expired lease, or token of the lock that continues. */
interface Claim {
  expired: string | null;
  kept: string | null;
}
const UNCLAIMED: Claim = { expired: null, kept: null };

/** The locks of single keys. Each is a lease on the row of the key (ADR 12). */
export class EntryLocks {
  readonly #sightings: Sightings;
  readonly #requests: Batches<StoredRow & Holder, Claim>;
  #turn = 0;

  constructor(private readonly context: Omit<RuntimeContext, 'watchLocks'>) {
    this.#sightings = new Sightings(context.clock);
    const { database, holder, leases } = context;
    this.#requests = new Batches<StoredRow & Holder, Claim>((columns, { expired, kept } = UNCLAIMED) =>
      database.query(TAKE, [...columns, holder, leases.lasts, expired, kept]),
    );
  }

  /**
   * Waits for the key's lock until the deadline, first within this runtime and then among the others, and runs `work` under
   * it.
   */
  waitFor<T>(key: Key, work: (held: HeldLock) => Promise<T>, { deadline, lockOnly, failed }: Waiting): Promise<T> {
    const { clock, leases, locks } = this.context;
    const name = rowNameOf(key);
    const limit = deadline ?? new Deadline(clock);
    const underLock = async () => {
      const held = await pollUntil(limit, WAITS, async () => {
        const asked = this.#ask(name, key, lockOnly === true, failed);
        const answer = await limit.wait(asked).catch((reason: unknown) => {
          // The lock may still arrive after the wait was abandoned.
          void asked.then((late) => late && leases.finish(late.lease)).catch(() => undefined);
          throw reason;
        });
        return answer ?? AGAIN;
      });
      try {
        return await work(held);
      } finally {
        const finished = leases.finish(held.lease);
        await (deadline?.wait(finished).catch(() => undefined) ?? finished);
      }
    };
    return locks.waitFor(name, underLock, deadline);
  }

  /** Watches the locks of another runtime from now on, whether or not anybody waits for them. Rejects without the database. */
  async watch(holder: string): Promise<void> {
    const rows = await this.context.database.query<{ name: string; beat: string; lasts: number }>(LOCKS_OF, [holder]);
    for (const { name, beat, lasts } of rows) this.#sightings.record(name, beat, lasts);
  }

  /** Asks for the lock once; undefined: another runtime holds it. */
  async #ask(name: string, key: Key, lockOnly: boolean, failed: Failure): Promise<HeldLock | undefined> {
    const { clock, leases, mayTakeOver } = this.context;
    const askedAt = clock.monotonic();
    const expired = mayTakeOver() ? (this.#sightings.expired(name) ?? null) : null;
    const kept = lockOnly ? leases.keptToken(name) : null;
    const claim = expired === null && kept === null ? undefined : { expired, kept };
    const asked = this.#requests.ask(name, [key[0], JSON.stringify(key), ++this.#turn], claim);
    const row = await wrapped(asked, failed);
    if (row?.token === null) this.#sightings.record(name, row.beat ?? '', Number(row.lasts));
    if (!row?.token) return undefined;
    this.#sightings.forget(name);
    const lease = leases.add(name, row.token, askedAt, expired !== null);
    return { lease, content: row.content, over: row.over };
  }
}

/** Name of a key's row. Hashed, because a key may be longer than an index entry. */
export const rowNameOf = (key: Key): string => createHash('sha256').update(JSON.stringify(key)).digest('hex');
