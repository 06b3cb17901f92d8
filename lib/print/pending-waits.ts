import { GroupedUpdates } from '../state/grouped-updates';
import type { Scope, StateStore } from '../state/store';
import { type Lock, LockLostError } from '../state/membership';
import { record } from '../service/json-readers';
import type { Clock } from '../time/clock';
import { Deadline } from '../time/deadline';
import { retryUntil } from '../time/retry';
import type { Peers } from '../watch/replication/peers';

/** Retention of stored waits, ms. */
const KEEP_FOR = 90 * 24 * 3600_000;

/** Owner of a wait: one node in one scope. */
export type WaitOwner = readonly [...Scope, nodeId: string];

/** A stored wait for the end of what it holds, such as a dispatched print: plain JSON. */
export type PendingWait<Awaited> = Awaited & StoredWait;

interface StoredWait {
  id: string;
  /** ms since 1970. */
  since: number;
  /** Id of the runtime that works on it; missing without such a runtime, or if that runtime had no peers. */
  by?: string;
}

/** The changes to the waits of one owner that the store does not hold yet. */
class Unsaved {
  static readonly #byStore = new WeakMap<StateStore, Map<string, Unsaved>>();
  /** Ids of the handed-over waits, whatever the store still holds. */
  readonly handedOver = new Set<string>();
  /** Waits that are not yet known to be written, by id. */
  readonly unwritten = new Map<string, { wait: StoredWait; note: unknown }>();

  /** It lives as long as the store: a deploy replaces everything above that. */
  static of(store: StateStore, owner: WaitOwner): Unsaved {
    const owners = this.#byStore.get(store) ?? new Map<string, Unsaved>();
    this.#byStore.set(store, owners);
    const name = JSON.stringify(owner);
    const known = owners.get(name) ?? new Unsaved();
    owners.set(name, known);
    return known;
  }
}

/**
 * Waits that outlive the runtime: an index for each node, written when a wait begins, and a note for each wait, which
 * only the owner can interpret. Both are deleted once the end has been handed over (ADR 10).
 */
export class PendingWaits {
  /** Ids of the waits that are being written or deleted here. */
  readonly #saving = new Set<string>();
  /** Ids of the waits whose retention in the store has been renewed. */
  readonly #renewed = new Set<string>();
  readonly #closing = new AbortController();
  readonly #deadline: Deadline;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #listeners = new Map<string, () => void>();
  /** A message to thousands of printers begins as many waits, and a stop ends them. */
  readonly #indexes: GroupedUpdates<StoredWait[]>;

  /** @param lasting the store that outlives deploys, if `store` only wraps it */
  constructor(
    private readonly store: StateStore,
    clock: Clock,
    private readonly runtimes: Peers,
    private readonly lasting: StateStore = store,
  ) {
    this.#deadline = new Deadline(clock, { parent: this.#closing.signal });
    this.#indexes = new GroupedUpdates(store, KEPT_AND_RETRIED);
  }

  /**
   * Stores a wait. Requests all writes at once, so that a later read of the waits finds this one. Retries a failed
   * write until it succeeds or the wait has ended; reports the first failure to `failed`. Never rejects.
   */
  async keep(owner: WaitOwner, wait: StoredWait, note: unknown, failed: (error: unknown) => void): Promise<void> {
    this.#unsaved(owner).unwritten.set(wait.id, { wait, note });
    await this.#keep(owner, wait, note, failed);
  }

  async #keep(owner: WaitOwner, wait: StoredWait, note: unknown, failed: (error: unknown) => void): Promise<void> {
    const { unwritten } = this.#unsaved(owner);
    const write = async (attempt: number) => {
      if (!unwritten.has(wait.id)) return;
      await this.#track(this.#write(owner, wait, note));
      unwritten.delete(wait.id);
      // Its node may have closed meanwhile.
      if (attempt > 0) this.orphaned(owner[3]);
    };
    const waitAfter = (error: unknown, attempt: number) => {
      if (attempt === 0) failed(error);
      return undefined;
    };
    await this.#save(wait, write, waitAfter);
  }

  /**
   * Repeats a change of the stored waits until it succeeds: the store repeats a value that it couldn't write, but not a change
   * that couldn't begin (ADR 9). Never rejects.
   */
  async #save(
    { id }: StoredWait,
    save: (attempt: number) => Promise<void>,
    waitAfter?: (error: unknown, attempt: number) => number | null | undefined,
  ): Promise<void> {
    this.#saving.add(id);
    await retryUntil(this.#deadline, REWRITE, save, { ...(waitAfter && { waitAfter }) }).catch(() => undefined);
    this.#saving.delete(id);
  }

  async #write(owner: WaitOwner, wait: StoredWait, note: unknown): Promise<void> {
    const { unwritten } = this.#unsaved(owner);
    const isWritten = (waits: StoredWait[]) => waits.some(({ id }) => id === wait.id) || !unwritten.has(wait.id);
    const index = this.#change(owner, (waits) => (isWritten(waits) ? waits : [...waits, this.#own(wait)]));
    await Promise.all([index, this.store.put(noteKey(owner, wait), note, KEPT_AND_RETRIED)]);
  }

  /**
   * Adopts the waits that no other runtime works on, and renews their retention. Continues what could not be saved before a
   * deploy. Ignores the age of waits, as the clock may have been set since. Rejects while they can't be read. A wait whose note can't be read here, such as after a change
   * of the credential secret, is left to a runtime that can; `isComplete`: there is none.
   */
  async adopt<Wait extends StoredWait>(owner: WaitOwner): Promise<{ waits: Wait[]; isComplete: boolean }> {
    const { readable, isComplete } = await this.#readable(owner);
    // An update, so that the read queues behind pending writes.
    const waits = await this.store.update<Wait[]>(
      indexKey(owner),
      (current) => {
        const isAdoptable = (wait: Wait) => this.#isFree(wait) && (this.#isOwn(wait) || readable.has(wait.id));
        const own = current?.map((wait) => (isAdoptable(wait) ? this.#own(wait) : wait));
        return own?.some(({ by }, at) => by !== current?.[at]?.by) ? own : current;
      },
      KEPT,
    );
    const { handedOver, unwritten } = this.#unsaved(owner);
    const own = (waits ?? []).filter((wait) => this.#isOwn(wait));
    for (const wait of own)
      if (handedOver.has(wait.id) && !this.#saving.has(wait.id)) void this.#dropLater(owner, wait);
    const written = new Set(waits?.map(({ id }) => id));
    const begun = [...unwritten.values()].filter(({ wait }) => !written.has(wait.id));
    for (const { wait, note } of begun)
      if (!this.#saving.has(wait.id)) void this.#keep(owner, wait, note, () => undefined);
    const adopted = [
      ...own.filter(({ id }) => !handedOver.has(id)),
      ...begun.map(({ wait }) => this.#own(wait as Wait)),
    ];
    // A wait that can't be renewed now keeps its old expiry.
    this.#track(this.#renew(owner, adopted)).catch(() => undefined);
    return { waits: adopted, isComplete };
  }

  /** Ids of the waits that ended runtimes left behind, as far as their notes can be read. */
  async #readable(owner: WaitOwner): Promise<{ readable: Set<string>; isComplete: boolean }> {
    const readable = new Set<string>();
    if (this.runtimes.id === null) return { readable, isComplete: true };
    const waits = (await this.store.get<StoredWait[]>(indexKey(owner))) ?? [];
    const left = waits.filter((wait) => this.#isFree(wait) && !this.#isOwn(wait));
    const read = async (wait: StoredWait) => {
      await this.readNote(owner, wait);
      readable.add(wait.id);
    };
    await Promise.allSettled(left.map(read));
    return { readable, isComplete: readable.size === left.length };
  }

  /** Renews each wait once. */
  async #renew(owner: WaitOwner, waits: StoredWait[]): Promise<void> {
    const due = waits.filter(({ id }) => !this.#renewed.has(id));
    if (due.length === 0) return;
    for (const { id } of due) this.#renewed.add(id);
    await this.store.update<StoredWait[]>(indexKey(owner), (current) => current && [...current], KEPT);
    for (const wait of due)
      await this.store.update<unknown>(
        noteKey(owner, wait),
        (note) => (record(note) ? { ...record(note) } : note),
        KEPT,
      );
  }

  /** The note stored with a wait; undefined if a crash prevented its write. Rejects while it can't be read. */
  async readNote(owner: WaitOwner, wait: StoredWait): Promise<unknown> {
    return this.#unsaved(owner).unwritten.get(wait.id)?.note ?? this.store.get<unknown>(noteKey(owner, wait));
  }

  /**
   * Hands an end over by `deliver` if no other runtime has adopted the wait, under the lock of the waits, so that none
   * can adopt it meanwhile. Null: another runtime has. Rejects if the owner can't be read, and with what `deliver`
   * throws.
   */
  handOver(owner: WaitOwner, wait: StoredWait, deliver: () => void): Promise<HandedOver | null> {
    return new Promise((resolve, reject) => {
      const isOwn = (waits: StoredWait[]) => {
        const kept = waits.find(({ id }) => id === wait.id);
        return kept ? this.#isOwn(kept) : this.#unsaved(owner).unwritten.has(wait.id);
      };
      const saved = this.#drop(owner, wait, async (waits, lock) => {
        if (!isOwn(waits)) {
          resolve(null);
          throw new LockLostError();
        }
        const check = await lock.secure(0);
        check();
        deliver();
        this.#markHandedOver(owner, wait);
        resolve({ saved });
      });
      saved.catch(reject);
    });
  }

  /** Deletes a wait whose end has been handed over. Rejects with the first failure, and repeats the deletion. */
  drop(owner: WaitOwner, wait: StoredWait): Promise<void> {
    this.#markHandedOver(owner, wait);
    return this.#drop(owner, wait, () => undefined);
  }

  #markHandedOver(owner: WaitOwner, { id }: StoredWait): void {
    const { handedOver, unwritten } = this.#unsaved(owner);
    handedOver.add(id);
    this.#renewed.delete(id);
    unwritten.delete(id);
  }

  async #drop(owner: WaitOwner, wait: StoredWait, before: (waits: StoredWait[], lock: Lock) => unknown): Promise<void> {
    this.#saving.add(wait.id);
    try {
      await this.#track(this.#dropOnce(owner, wait, before));
      this.#saving.delete(wait.id);
    } catch (error) {
      if (this.#unsaved(owner).handedOver.has(wait.id)) void this.#dropLater(owner, wait);
      else this.#saving.delete(wait.id);
      throw error;
    }
  }

  #dropLater(owner: WaitOwner, wait: StoredWait): Promise<void> {
    return this.#save(wait, () => this.#track(this.#dropOnce(owner, wait, () => undefined)));
  }

  async #dropOnce(
    owner: WaitOwner,
    wait: StoredWait,
    before: (waits: StoredWait[], lock: Lock) => unknown,
  ): Promise<void> {
    await this.#change(owner, async (waits, lock) => {
      await before(waits, lock);
      return waits.filter(({ id }) => id !== wait.id);
    });
    this.#unsaved(owner).handedOver.delete(wait.id);
    await this.store.delete(noteKey(owner, wait), { insist: true });
  }

  /** Deletes an owner's waits; other runtimes delete the ones that they work on. */
  forget(owner: WaitOwner): Promise<void> {
    this.#unsaved(owner).unwritten.clear();
    const forgotten = async () => {
      let waits: StoredWait[] = [];
      await this.#change(owner, (current) => {
        waits = current.filter((wait) => this.#isFree(wait));
        return current.filter((wait) => !waits.includes(wait));
      });
      for (const wait of waits) await this.store.delete(noteKey(owner, wait), { insist: true });
    };
    return this.#track(forgotten());
  }

  /** Sets the node's listener for waits that have lost their waiter. */
  onOrphan(nodeId: string, listener: () => void): void {
    this.#listeners.set(nodeId, listener);
  }

  orphaned(nodeId: string): void {
    this.#listeners.get(nodeId)?.();
  }

  /** Resolves when all writes have settled; never rejects. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#underWay);
  }

  #unsaved(owner: WaitOwner): Unsaved {
    return Unsaved.of(this.lasting, owner);
  }

  #own<Wait extends StoredWait>(wait: Wait): Wait {
    const { id } = this.runtimes;
    return id === null ? wait : { ...wait, by: id };
  }

  #isOwn(wait: StoredWait): boolean {
    return wait.by === this.#own(wait).by;
  }

  /** Whether no other living runtime works on it. */
  #isFree({ by }: StoredWait): boolean {
    return by === undefined || by === this.runtimes.id || !this.runtimes.isLiving(by);
  }

  #change(
    owner: WaitOwner,
    change: (waits: StoredWait[], lock: Lock) => StoredWait[] | Promise<StoredWait[]>,
  ): Promise<void> {
    return this.#indexes.update(indexKey(owner), async (current, lock) => {
      const waits = await change(current ?? [], lock);
      return waits.length > 0 ? waits : undefined;
    });
  }

  async #track(work: Promise<void>): Promise<void> {
    this.#underWay.add(work);
    await work.finally(() => this.#underWay.delete(work));
  }
}

/** Backoff between tries to write, ms. */
const REWRITE = { first: 1_000, longest: 30_000 };
const KEPT = { keepFor: KEEP_FOR };
const KEPT_AND_RETRIED = { ...KEPT, insist: true };

export interface HandedOver {
  /** Settles when the deletion of the wait has been written. */
  saved: Promise<void>;
}

const indexKey = (owner: WaitOwner) => ['kept-waits', ...owner] as const;
const noteKey = (owner: WaitOwner, { id }: StoredWait) => ['kept-message', ...owner, id] as const;
