import { setMaxListeners } from 'node:events';
import type { Scope } from '../state/scope';
import { LockLostError, type Lock, type StateStore } from '../state/store';
import { record } from '../service/json-readers';
import { waitBefore } from '../time/backoff';
import { sleep, type Clock } from '../time/clock';
import type { Peers } from '../watch/replication/peers';
import type { Awaited } from './print-request';

/** ms. */
const KEEP_FOR = 90 * 24 * 3600_000;

/** Whose a wait is: one node's, under one scope. */
export type WaitOwner = readonly [...Scope, nodeId: string];

/** Its result holds nothing that came from the service as it was. */
export interface PendingWait extends Awaited {
  id: string;
  /** ms since 1970. */
  since: number;
  /** The runtime that has it in hand; missing: none, or one that had no others beside it. */
  by?: string;
}

/**
 * The waits that outlive the runtime: an index of them for each node, written when a wait begins, and a note for each, of
 * which nobody but its owner knows what it says. Both go when the end was handed over (ADR 10).
 */
export class PendingWaits {
  /** Handed over, whatever the store still has. */
  readonly #over = new Set<string>();
  /** Not written yet, as far as is known. */
  readonly #unwritten = new Set<string>();
  /** Their time in the store was begun again. */
  readonly #renewed = new Set<string>();
  readonly #closing = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #listeners = new Map<string, () => void>();

  constructor(
    private readonly store: StateStore,
    private readonly clock: Clock,
    private readonly runtimes: Peers,
  ) {
    // Every wait that can't be written listens to it.
    setMaxListeners(0, this.#closing.signal);
  }

  /**
   * Everything is asked of the store at once, so that whoever reads the waits after this call finds this one. What can't be
   * written is tried again until it can, or is over; `failed` is told the first failure. Never rejects.
   */
  async keep(owner: WaitOwner, wait: PendingWait, note: unknown, failed: (error: unknown) => void): Promise<void> {
    this.#unwritten.add(wait.id);
    for (let turn = 0; this.#unwritten.has(wait.id); turn++) {
      try {
        await this.#track(this.#write(owner, wait, note));
        this.#unwritten.delete(wait.id);
        // Its node may have closed meanwhile.
        if (turn > 0) this.orphaned(owner[3]);
      } catch (error) {
        if (turn === 0) failed(error);
        if (this.#closing.signal.aborted) return;
        await sleep(this.clock, waitBefore(turn, AGAIN), this.#closing.signal).catch(() => undefined);
      }
    }
  }

  async #write(owner: WaitOwner, wait: PendingWait, note: unknown): Promise<void> {
    const isWritten = (waits: PendingWait[]) => waits.some(({ id }) => id === wait.id) || !this.#unwritten.has(wait.id);
    const index = this.#change(owner, (waits) => (isWritten(waits) ? waits : [...waits, this.#own(wait)]));
    await Promise.all([index, this.store.put(noteOf(owner, wait), note, INSISTENT)]);
  }

  /**
   * Takes up the waits that no other runtime has in hand, however old they are by the clock: it may have been set since.
   * Their time in the store begins again. Rejects while they can't be read.
   */
  async takeUp(owner: WaitOwner): Promise<PendingWait[]> {
    // In turn with those who write.
    const waits = await this.store.update<PendingWait[]>(
      indexOf(owner),
      (current) => {
        const own = current?.map((wait) => (this.#isFree(wait) ? this.#own(wait) : wait));
        return own?.some(({ by }, at) => by !== current?.[at]?.by) ? own : current;
      },
      KEPT,
    );
    const taken = (waits ?? []).filter((wait) => this.#isOwn(wait) && !this.#over.has(wait.id));
    // A wait that can't be renewed now keeps its old time.
    this.#track(this.#renew(owner, taken)).catch(() => undefined);
    return taken;
  }

  /** Once for each wait. */
  async #renew(owner: WaitOwner, waits: PendingWait[]): Promise<void> {
    const due = waits.filter(({ id }) => !this.#renewed.has(id));
    if (due.length === 0) return;
    for (const { id } of due) this.#renewed.add(id);
    await this.store.update<PendingWait[]>(indexOf(owner), (current) => current && [...current], KEPT);
    for (const wait of due)
      await this.store.update<unknown>(
        noteOf(owner, wait),
        (note) => (record(note) ? { ...record(note) } : note),
        KEPT,
      );
  }

  /** What was kept with a wait; undefined where a crash came in between. Rejects while it can't be read. */
  note(owner: WaitOwner, wait: PendingWait): Promise<unknown> {
    return this.store.get<unknown>(noteOf(owner, wait));
  }

  /**
   * Hands an end over by `deliver`, where no other runtime has taken the wait up: under the lock of the waits, so that none
   * can meanwhile. Null: one has. Rejects where nobody can tell, and with what `deliver` throws.
   */
  handOver(owner: WaitOwner, wait: PendingWait, deliver: () => void): Promise<HandedOver | null> {
    return new Promise((resolve, reject) => {
      const isOwn = (waits: PendingWait[]) => {
        const kept = waits.find(({ id }) => id === wait.id);
        return kept ? this.#isOwn(kept) : this.#unwritten.has(wait.id);
      };
      const saved = this.#drop(owner, wait, async (waits, lock) => {
        if (!isOwn(waits)) {
          resolve(null);
          throw new LockLostError();
        }
        const check = await lock.secure(0);
        check();
        deliver();
        this.#noteOver(wait);
        resolve({ saved });
      });
      saved.catch(reject);
    });
  }

  /** The end was handed over. */
  drop(owner: WaitOwner, wait: PendingWait): Promise<void> {
    this.#noteOver(wait);
    return this.#drop(owner, wait, () => undefined);
  }

  #noteOver({ id }: PendingWait): void {
    this.#over.add(id);
    this.#renewed.delete(id);
    this.#unwritten.delete(id);
  }

  #drop(owner: WaitOwner, wait: PendingWait, before: (waits: PendingWait[], lock: Lock) => unknown): Promise<void> {
    const dropped = async () => {
      await this.#change(owner, async (waits, lock) => {
        await before(waits, lock);
        return waits.filter(({ id }) => id !== wait.id);
      });
      this.#over.delete(wait.id);
      await this.store.delete(noteOf(owner, wait), { insist: true });
    };
    return this.#track(dropped());
  }

  /** Nobody waits any more; of other runtimes, those say so themselves. */
  forget(owner: WaitOwner): Promise<void> {
    const forgotten = async () => {
      let waits: PendingWait[] = [];
      await this.#change(owner, (current) => {
        waits = current.filter((wait) => this.#isFree(wait));
        return current.filter((wait) => !waits.includes(wait));
      });
      for (const wait of waits) await this.store.delete(noteOf(owner, wait), { insist: true });
    };
    return this.#track(forgotten());
  }

  /** Calls `listener`, the latest of a node, when one of its waits has lost whoever waited. */
  onOrphan(nodeId: string, listener: () => void): void {
    this.#listeners.set(nodeId, listener);
  }

  orphaned(nodeId: string): void {
    this.#listeners.get(nodeId)?.();
  }

  /** Resolves when nothing is being written; never rejects. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#underWay);
  }

  #own(wait: PendingWait): PendingWait {
    const { id } = this.runtimes;
    return id === null ? wait : { ...wait, by: id };
  }

  #isOwn(wait: PendingWait): boolean {
    return wait.by === this.#own(wait).by;
  }

  /** Nobody else has it in hand. */
  #isFree({ by }: PendingWait): boolean {
    return by === undefined || by === this.runtimes.id || !this.runtimes.isLiving(by);
  }

  async #change(
    owner: WaitOwner,
    change: (waits: PendingWait[], lock: Lock) => PendingWait[] | Promise<PendingWait[]>,
  ): Promise<void> {
    await this.store.update<PendingWait[]>(
      indexOf(owner),
      async (current, lock) => {
        const waits = await change(current ?? [], lock);
        return waits.length > 0 ? waits : undefined;
      },
      INSISTENT,
    );
  }

  async #track(work: Promise<void>): Promise<void> {
    this.#underWay.add(work);
    await work.finally(() => this.#underWay.delete(work));
  }
}

/** Between tries to write what could not be written, ms. */
const AGAIN = { first: 1_000, longest: 30_000 };
const KEPT = { keepFor: KEEP_FOR };
const INSISTENT = { ...KEPT, insist: true };

export interface HandedOver {
  /** That it was. */
  saved: Promise<void>;
}

const indexOf = (owner: WaitOwner) => ['kept-waits', ...owner] as const;
const noteOf = (owner: WaitOwner, { id }: PendingWait) => ['kept-message', ...owner, id] as const;
