import { codeOf } from '../http/network-error';
import { PrintingError } from '../service/errors';
import type { Clock } from '../time/clock';
import { phrase } from '../words/sentence';
import type { Database } from './database';
import { SCHEMA } from './schema';
import { LockLostError, type Lock } from './store';

/** Of a lease, all ms. */
export interface LeaseTimes {
  /** How long it lasts after its last renewal, for a runtime that would take it over. */
  lasts: number;
  /** How much less of it the holder relies on: for timers that are late, and clocks that don't run alike. */
  margin: number;
  /** Between renewals. */
  renewal: number;
}

export const LEASE_TIMES: LeaseTimes = { lasts: 17_000, margin: 2_000, renewal: 5_000 };

/** A connection that says nothing must not cost the time in which another one could be asked, ms. */
const PATIENCE = 4_000;
/** Between the word of the database and the first byte of what was secured, ms: a connection may have to be made. */
const TO_SEND = 15_000;

/**
 * Each renewal is a sign of life. A lease that was secured for longer lasts as long after every renewal:
 * so one that arrives late shortens nothing.
 */
export const EXTEND = `UPDATE ${SCHEMA}.entries AS e
  SET ends_at = greatest(e.ends_at, clock_timestamp() + $3 * interval '1 ms'), lasts = greatest(e.lasts, $3),
    beats = coalesce(e.beats, 0) + 1
  FROM unnest($1::text[], $2::bigint[]) AS held (name, token)
  WHERE e.name = held.name AND e.token = held.token AND e.holder IS NOT NULL
  RETURNING e.name`;

/** A lock alone stays for a while: a value that was made under it and could not be written yet still counts, unless it is taken again. */
export const GIVE_BACK = `UPDATE ${SCHEMA}.entries SET holder = NULL, ends_at = NULL, lasts = NULL, beats = NULL
  WHERE name = $1 AND token = $2`;

/** One lock that this runtime holds. */
export class Lease implements Lock {
  readonly #leases: Leases;
  readonly #controller = new AbortController();
  /** Monotonic time until which it is relied on. */
  #until = -Infinity;
  #disarm: () => void = () => undefined;
  /** The work that it was taken for has ended. */
  isLeft = false;

  constructor(
    leases: Leases,
    readonly name: string,
    readonly token: string,
    readonly inherited: boolean,
  ) {
    this.#leases = leases;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  secure(ms: number): Promise<() => void> {
    return this.#leases.secure(this, ms);
  }

  keep(): () => void {
    return this.#leases.keep(this.name);
  }

  /** It lasts until then at least (monotonic, ms). */
  reach(until: number): void {
    const { clock } = this.#leases;
    if (this.signal.aborted || until <= this.#until) return;
    this.#until = until;
    this.#disarm();
    this.#disarm = clock.after(until - clock.monotonic(), () => this.lose());
  }

  lose(): void {
    this.#disarm();
    this.#controller.abort(new LockLostError());
  }

  /** It is given back. */
  end(): void {
    this.#disarm();
  }

  /** It can't be relied on any more, whether that was told already or not. */
  get isOver(): boolean {
    return this.signal.aborted || this.#leases.clock.monotonic() >= this.#until;
  }

  throwIfLost(): void {
    if (this.isOver) throw new LockLostError();
  }
}

/** All leases of this runtime, one for each name: they are renewed together for as long as they are held. */
export class Leases {
  readonly clock: Clock;
  readonly #database: Pick<Database, 'query'>;
  readonly #times: LeaseTimes;
  readonly #held = new Map<string, Lease>();
  /** How many values wait to be written under a name's lease. */
  readonly #kept = new Map<string, number>();
  #disarm: (() => void) | undefined;
  #isRenewing = false;

  constructor(database: Pick<Database, 'query'>, clock: Clock, times: LeaseTimes) {
    this.#database = database;
    this.clock = clock;
    this.#times = times;
  }

  get lasts(): number {
    return this.#times.lasts;
  }

  /** A lock that was taken by a statement that was sent at `askedAt` (monotonic, ms). */
  add(name: string, token: string, askedAt: number, inherited = false): Lease {
    const lease = new Lease(this, name, token, inherited);
    const other = this.#held.get(name);
    // The answer to an earlier request came after that to a later one.
    if (other && BigInt(other.token) > BigInt(token)) return lease;
    other?.end();
    lease.reach(this.#end(askedAt, this.#times.lasts));
    this.#held.set(name, lease);
    this.#arm();
    return lease;
  }

  /** It is held no more; false where it was not. */
  remove(lease: Lease): boolean {
    lease.end();
    if (this.#held.get(lease.name) !== lease) return false;
    this.#held.delete(lease.name);
    if (this.#held.size === 0) this.#rest();
    return true;
  }

  /** As `Lock.keep`: for the lease that has this name, and for a later one that takes its place. */
  keep(name: string): () => void {
    this.#kept.set(name, (this.#kept.get(name) ?? 0) + 1);
    let isKept = true;
    return () => {
      if (!isKept) return;
      isKept = false;
      const left = (this.#kept.get(name) ?? 1) - 1;
      if (left > 0) return void this.#kept.set(name, left);
      this.#kept.delete(name);
      const lease = this.#held.get(name);
      if (lease?.isLeft) void this.#giveBack(lease);
    };
  }

  /** The token of a lease that is held for nothing but a value that waits to be written. */
  keptToken(name: string): string | null {
    return this.#kept.has(name) ? (this.#held.get(name)?.token ?? null) : null;
  }

  /** The work is done: the lease is given back, unless it is kept. Never rejects: one that can't be given back runs out. */
  async leave(lease: Lease): Promise<void> {
    lease.isLeft = true;
    if (!this.#kept.has(lease.name)) await this.#giveBack(lease);
  }

  /** Those that are only kept are renewed no more, and run out. */
  close(): void {
    for (const lease of [...this.#held.values()]) if (lease.isLeft) this.remove(lease);
  }

  async #giveBack(lease: Lease): Promise<void> {
    // A written value gave its lock back with it.
    if (!this.remove(lease)) return;
    await this.#database.query(GIVE_BACK, [lease.name, lease.token]).catch(() => undefined);
  }

  #rest(): void {
    this.#disarm?.();
    this.#disarm = undefined;
  }

  async secure(lease: Lease, ms: number): Promise<() => void> {
    const { clock } = this;
    const [askedAt, wall] = [clock.monotonic(), clock.now()];
    const wanted = ms + TO_SEND + this.#times.margin;
    const held = await this.#extend([lease], wanted).catch((error: unknown) => {
      throw error instanceof PrintingError ? error : notSecured(error);
    });
    if (!held.has(lease.name)) lease.lose();
    lease.throwIfLost();
    lease.reach(this.#end(askedAt, wanted));
    return () => {
      lease.throwIfLost();
      // The monotonic clock may stand still while the machine sleeps, and the wall clock may be set.
      const passed = Math.max(clock.monotonic() - askedAt, clock.now() - wall);
      if (passed > TO_SEND) throw new LockLostError();
    };
  }

  #end(askedAt: number, ms: number): number {
    return askedAt + ms - this.#times.margin;
  }

  #arm(): void {
    // Goes on when that is over.
    if (this.#isRenewing) return;
    this.#disarm ??= this.clock.after(this.#times.renewal, () => {
      this.#disarm = undefined;
      this.#isRenewing = true;
      void this.#renew().finally(() => {
        this.#isRenewing = false;
        if (this.#held.size > 0) this.#arm();
      });
    });
  }

  /** Never rejects: what can't be renewed ends by itself. */
  async #renew(): Promise<void> {
    const all = [...this.#held.values()];
    const askedAt = this.clock.monotonic();
    const held = await this.#extend(all, this.#times.lasts).catch(() => undefined);
    for (const lease of held ? all : []) {
      // Skip a lease that was given back meanwhile.
      if (this.#held.get(lease.name) !== lease) continue;
      if (held?.has(lease.name)) lease.reach(this.#end(askedAt, this.#times.lasts));
      else {
        lease.lose();
        if (lease.isLeft) this.remove(lease);
      }
    }
  }

  /** Names of those that are held still. */
  async #extend(leases: Lease[], ms: number): Promise<Set<string>> {
    const names = leases.map(({ name }) => name);
    const tokens = leases.map(({ token }) => token);
    const rows = await this.#database.query<{ name: string }>(EXTEND, [names, tokens, ms], {
      patience: PATIENCE,
      urgent: true,
    });
    return new Set(rows.map(({ name }) => name));
  }
}

const notSecured = (cause: unknown): PrintingError =>
  new PrintingError(
    'FILE_NOT_WRITABLE',
    phrase`The database can't be asked (${codeOf(cause)}), so nothing was sent: try again when it is back.`,
    { cause, outcome: 'not-sent' },
  );
