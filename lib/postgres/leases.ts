import { codeOf } from '../http/retry';
import { PrintingError } from '../service/errors';
import type { Clock } from '../time/clock';
import { phrase } from '../words/sentence';
import type { Database } from './database';
import { SCHEMA } from './schema';
import { type Lock, LockLostError } from '../state/membership';

/** Durations of a lease, ms. */
export interface LeaseTimes {
  /** Lifetime after its last renewal; a runtime that takes it over waits this long. */
  lasts: number;
  /** Safety margin that the holder subtracts, for late timers and clocks that run at different rates. */
  margin: number;
  /** Interval between renewals. */
  renewal: number;
}

export const LEASE_TIMES: LeaseTimes = { lasts: 17_000, margin: 2_000, renewal: 5_000 };

/** Timeout of a renewal, ms: a silent connection must leave time to ask over another one. */
const PATIENCE = 4_000;
/**
 * Longest time between the database's answer and the first byte of the secured request, ms: connecting may take a
 * while.
 */
const TO_SEND = 15_000;

/**
 * Locks the rows of leases ($1 names, $2 tokens) in the order in which every statement on many rows locks them. In any
 * other order two statements would wait for each other.
 */
export const HELD = `held AS (
  SELECT e.name FROM ${SCHEMA}.entries AS e JOIN unnest($1::text[], $2::bigint[]) AS asked (name, token)
    ON e.name = asked.name AND e.token = asked.token ORDER BY e.name FOR NO KEY UPDATE OF e)`;

/**
 * Renews leases, each with a new heartbeat. A lease that was secured for longer keeps that lifetime after every
 * renewal, so a late renewal shortens nothing.
 */
export const EXTEND = `WITH ${HELD} UPDATE ${SCHEMA}.entries AS e
  SET ends_at = greatest(e.ends_at, clock_timestamp() + $3 * interval '1 ms'), lasts = greatest(e.lasts, $3),
    beats = coalesce(e.beats, 0) + 1
  FROM held WHERE e.name = held.name AND e.holder IS NOT NULL
  RETURNING e.name`;

/**
 * Releases a lock. A row without a value stays for a while: until the lock is taken again, a value made under it and
 * not written yet remains valid.
 */
export const RELEASE_LEASE = `UPDATE ${SCHEMA}.entries SET holder = NULL, ends_at = NULL, lasts = NULL, beats = NULL
  WHERE name = $1 AND token = $2`;

/** A lock that this runtime holds. */
export class Lease implements Lock {
  readonly #controller = new AbortController();
  /** Monotonic time until which the holder relies on it. */
  #until = -Infinity;
  #renewedAt = -Infinity;
  #disarm: () => void = () => undefined;
  /** The work that needed the lease has ended. */
  isDone = false;

  constructor(
    private readonly leases: Leases,
    readonly name: string,
    readonly token: string,
    readonly inherited: boolean,
  ) {}

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get number(): string {
    return this.token;
  }

  secure(ms: number): Promise<() => void> {
    return this.leases.secure(this, ms);
  }

  keep(): () => void {
    return this.leases.keep(this.name);
  }

  /** Time since the statement of the last renewal was sent, ms. */
  get age(): number {
    return this.leases.clock.monotonic() - this.#renewedAt;
  }

  /** Extends the lease at least to `until`, by a statement that was sent at `askedAt` (monotonic, ms). */
  extendTo(until: number, askedAt: number): void {
    const { clock } = this.leases;
    this.#renewedAt = Math.max(this.#renewedAt, askedAt);
    if (this.signal.aborted || until <= this.#until) return;
    this.#until = until;
    this.#disarm();
    this.#disarm = clock.after(until - clock.monotonic(), () => this.lose());
  }

  lose(): void {
    this.#disarm();
    this.#controller.abort(new LockLostError());
  }

  /** Stops the expiry timer of a released lease. */
  end(): void {
    this.#disarm();
  }

  /** Whether the lease is no longer reliable, even before its signal has aborted. */
  get isExpired(): boolean {
    return this.signal.aborted || this.leases.clock.monotonic() >= this.#until;
  }

  throwIfLost(): void {
    if (this.isExpired) throw new LockLostError();
  }
}

/** All leases of this runtime, one per name. Those that are held are renewed together. */
export class Leases {
  readonly clock: Clock;
  readonly #held = new Map<string, Lease>();
  /** Number of values that wait to be written under each name's lease. */
  readonly #kept = new Map<string, number>();
  #disarm: (() => void) | undefined;
  #isRenewing = false;

  constructor(
    private readonly database: Pick<Database, 'query'>,
    clock: Clock,
    private readonly times: LeaseTimes,
  ) {
    this.clock = clock;
  }

  get lasts(): number {
    return this.times.lasts;
  }

  /** Adds a lock that a statement sent at `askedAt` (monotonic, ms) has taken. */
  add(name: string, token: string, askedAt: number, inherited = false): Lease {
    const lease = new Lease(this, name, token, inherited);
    const other = this.#held.get(name);
    // The answer to an earlier request arrived after that to a later one.
    if (other && BigInt(other.token) > BigInt(token)) return lease;
    other?.end();
    lease.extendTo(this.#end(askedAt, this.times.lasts), askedAt);
    this.#held.set(name, lease);
    this.#arm();
    return lease;
  }

  /** Removes a lease from those held; false if it wasn't held. */
  remove(lease: Lease): boolean {
    lease.end();
    if (this.#held.get(lease.name) !== lease) return false;
    this.#held.delete(lease.name);
    if (this.#held.size === 0) this.#stopRenewing();
    return true;
  }

  /** Implements `Lock.keep` for the lease of this name, and for a later lease that replaces it. */
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
      if (lease?.isDone) void this.#release(lease);
    };
  }

  /** The token of a lease that is kept only for an unwritten value. */
  keptToken(name: string): string | null {
    return this.#kept.has(name) ? (this.#held.get(name)?.token ?? null) : null;
  }

  /**
   * Ends the work under a lease and releases it, unless it is kept. Never rejects: a lease that can't be released
   * expires.
   */
  async finish(lease: Lease): Promise<void> {
    lease.isDone = true;
    if (!this.#kept.has(lease.name)) await this.#release(lease);
  }

  /** Stops renewing the leases that are only kept; they expire. */
  close(): void {
    for (const lease of [...this.#held.values()]) if (lease.isDone) this.remove(lease);
  }

  async #release(lease: Lease): Promise<void> {
    // A write releases its lock in the same statement.
    if (!this.remove(lease)) return;
    await this.database.query(RELEASE_LEASE, [lease.name, lease.token]).catch(() => undefined);
  }

  #stopRenewing(): void {
    this.#disarm?.();
    this.#disarm = undefined;
  }

  async secure(lease: Lease, ms: number): Promise<() => void> {
    const { clock } = this;
    const [askedAt, wall] = [clock.monotonic(), clock.now()];
    const wanted = ms + TO_SEND + this.times.margin;
    const held = await this.#extend([lease], wanted).catch((error: unknown) => {
      throw error instanceof PrintingError ? error : notSecured(error);
    });
    if (!held.has(lease.name)) lease.lose();
    lease.throwIfLost();
    lease.extendTo(this.#end(askedAt, wanted), askedAt);
    return () => {
      lease.throwIfLost();
      // The monotonic clock may stand still while the machine sleeps, and the wall clock may be set.
      const passed = Math.max(clock.monotonic() - askedAt, clock.now() - wall);
      if (passed > TO_SEND) throw new LockLostError();
    };
  }

  #end(askedAt: number, ms: number): number {
    return askedAt + ms - this.times.margin;
  }

  #arm(): void {
    // The renewal under way arms the next one.
    if (this.#isRenewing) return;
    this.#disarm ??= this.clock.after(this.times.renewal, () => {
      this.#disarm = undefined;
      this.#isRenewing = true;
      void this.#renew().finally(() => {
        this.#isRenewing = false;
        if (this.#held.size > 0) this.#arm();
      });
    });
  }

  /** Renews all leases. Never rejects: a lease that can't be renewed expires. */
  async #renew(): Promise<void> {
    const all = [...this.#held.values()];
    const askedAt = this.clock.monotonic();
    const held = await this.#extend(all, this.times.lasts).catch(() => undefined);
    for (const lease of held ? all : []) {
      // Skip a lease that was given back meanwhile.
      if (this.#held.get(lease.name) !== lease) continue;
      if (held?.has(lease.name)) lease.extendTo(this.#end(askedAt, this.times.lasts), askedAt);
      else {
        lease.lose();
        if (lease.isDone) this.remove(lease);
      }
    }
  }

  /** Extends leases in the database. Returns the names of those still held. */
  async #extend(leases: Lease[], ms: number): Promise<Set<string>> {
    const [names, tokens] = namesAndTokens(leases);
    const rows = await this.database.query<{ name: string }>(EXTEND, [names, tokens, ms], {
      patience: PATIENCE,
      urgent: true,
    });
    return new Set(rows.map(({ name }) => name));
  }
}

/** Values of a statement on leases. */
export const namesAndTokens = (leases: readonly Lease[]): [names: string[], tokens: string[]] => [
  leases.map(({ name }) => name),
  leases.map(({ token }) => token),
];

const notSecured = (cause: unknown): PrintingError =>
  new PrintingError(
    'FILE_NOT_WRITABLE',
    phrase`The database can't be asked (${codeOf(cause)}), so nothing was sent: try again when it is back.`,
    { cause, outcome: 'not-sent' },
  );
