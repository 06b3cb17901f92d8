import { randomUUID } from 'node:crypto';
import { readCheckpoint, type Checkpoint } from '../../events/checkpoint';
import { readListCheckpoint } from '../../events/list-changes';
import type { ClusterStatus } from '../../service/cluster-status';
import { list, record, text } from '../../service/json-readers';
import { UNLOSABLE_LOCK } from '../../state/locks';
import { LockLostError, type Key, type Lock, type PutOptions, type StateStore } from '../../state/store';
import { waitBefore } from '../../time/backoff';
import type { Clock } from '../../time/clock';
import type { ListedCluster } from '../polling/cluster-list';
import type { ClusterMemory } from './cluster-memory';
import { LIST_ITEM } from '../replication/fair-share';
import { isStillOwned, SOLE_OWNER, type Ownership } from './ownership';
import type { ListMemory, ScopeMemory } from './watch-memory';

/** How long a checkpoint that nobody touches is kept, ms. */
const KEEP = 365 * 24 * 3600_000;
const AT_ONCE = 4;
const RETRIES = { first: 5_000, longest: 15 * 60_000 };
/** The same where another runtime goes on from what is written as soon as the lease runs out. */
const SHARED_RETRIES = { first: 1_000, longest: 5_000 };
/** A database that says nothing is waited for no longer at the end, ms. */
const CLOSE_WITHIN = 5_000;
/** Kinds of keys: what the next poll goes on from, and what other runtimes wait for. */
export const CHECKPOINT = 'checkpoint';
export const OBSERVATION = 'observation';
/** How long what others wait for is kept, ms. */
const KEEP_OBSERVATION = 24 * 3600_000;

interface Wanted {
  item: string;
  /** That it was found under: under a later one somebody else may have gone on from the store meanwhile. */
  lock: Lock | null;
  key: Key;
  value: () => unknown;
  options: PutOptions;
  /** Whether it was written; not yet, or never by this runtime, where not. */
  over?: (isWritten: boolean) => void;
}

/**
 * Reads checkpoints and writes them. What changes again while it waits to be written is written once, and what can't be
 * written is tried again: the memory is ahead of the disk then, and no event is delivered twice unless it gets lost.
 */
export class CheckpointStore {
  readonly #wanted = new Map<string, Wanted>();
  readonly #underWay: string[] = [];
  #writers = 0;
  #failures = 0;
  #retry: (() => void) | undefined;
  #idle: (() => void)[] = [];
  #waiting: { item: string; resolve: () => void }[] = [];

  constructor(
    private readonly store: StateStore,
    private readonly clock: Clock,
    private readonly tenure: Ownership,
    private readonly fault: (thrown: unknown) => void,
  ) {}

  /** Reads what the store has of a cluster, once. Rejects when it can't be read now. */
  async load(under: ScopeMemory, clusterId: string, memory: ClusterMemory): Promise<void> {
    if (memory.loaded) return;
    const stored = await this.store.get<unknown>([CHECKPOINT, ...under.scope, clusterId]);
    // Somebody else may have been faster, and gone on from there.
    if (memory.loaded as boolean) return;
    memory.loaded = true;
    const { figures, movedTo, mark } = record(stored) ?? {};
    const hasGoneOn = memory.marks.includes(text(mark) ?? '');
    // Else others have, and what is known here is older.
    if (!hasGoneOn) {
      if (memory.marks.length > 0) memory.forget();
      memory.restore(readCheckpoint(stored), record(figures) as ClusterStatus | null);
      memory.movedTo = text(movedTo);
      memory.dirty = false;
      if (this.#isShared) memory.marks = [text(mark) ?? ''];
    }
    memory.late = memory.hasCheckpoint && memory.wasAlone;
    if (hasGoneOn && memory.isAhead) this.write(under, clusterId, memory);
  }

  /** The state that the next runtime starts from where the store may lag behind; null where the store is complete. */
  unwritten(memory: ClusterMemory): Unwritten | null {
    if (!memory.loaded || !memory.isOwed || memory.movedTo !== null) return null;
    return { checkpoint: memory.checkpoint, figures: memory.status, marks: memory.marks };
  }

  /** Goes on from what another runtime could not write, unless a third one has gone on from the store meanwhile. */
  goOnFrom(stored: unknown, memory: ClusterMemory): void {
    const { checkpoint, figures, marks } = record(stored) ?? {};
    const known = readCheckpoint(checkpoint);
    if (!known) return;
    memory.forget();
    memory.restore(known, record(figures) as ClusterStatus | null);
    memory.marks = list(marks).filter((mark) => typeof mark === 'string');
    memory.movedTo = null;
    memory.dirty = true;
    memory.delivered++;
  }

  async loadList(under: ScopeMemory, memory: ListMemory): Promise<void> {
    if (memory.loaded) return;
    const stored = await this.store.get<unknown>([CHECKPOINT, ...under.scope]);
    if (memory.loaded as boolean) return;
    memory.loaded = true;
    const { mark, clusters } = record(stored) ?? {};
    if (!memory.marks.includes(text(mark) ?? '')) {
      memory.checkpoint = readListCheckpoint(stored);
      memory.clusters = list(clusters) as ListedCluster[];
      if (this.#isShared) memory.marks = [text(mark) ?? ''];
    }
    memory.late = memory.checkpoint !== null && memory.wasAlone;
    // What was tried is not known to have been written.
    if (memory.marks.length > 1) this.writeList(under);
  }

  write({ scope }: ScopeMemory, clusterId: string, memory: ClusterMemory): void {
    memory.dirty = this.#isShared;
    const value = () =>
      memory.movedTo === null ? { ...memory.checkpoint, figures: memory.status } : { movedTo: memory.movedTo };
    const key: Key = [CHECKPOINT, ...scope, clusterId];
    if (!this.#isShared) return this.#want({ item: clusterId, key, value, options: { keepFor: KEEP } });
    const mark = randomUUID().slice(0, 8);
    let delivered = 0;
    this.#want({
      item: clusterId,
      key,
      value: () => {
        memory.dirty = false;
        delivered = memory.delivered;
        memory.marks = [...memory.marks, mark];
        return { ...value(), mark };
      },
      options: { keepFor: KEEP, notify: memory.movedTo !== null },
      over: (isWritten) => {
        if (isWritten) {
          memory.marks = [mark];
          memory.saved = Math.max(memory.saved, delivered);
        } else memory.dirty = true;
      },
    });
  }

  /** What other runtimes wait for. */
  tell({ scope }: ScopeMemory, clusterId: string, observation: RemoteUpdate): void {
    const options = { keepFor: KEEP_OBSERVATION, notify: true };
    this.#want({ item: clusterId, key: [OBSERVATION, ...scope, clusterId], value: () => observation, options });
  }

  writeList({ scope, list: memory }: ScopeMemory): void {
    const value = () => memory.checkpoint;
    const key: Key = [CHECKPOINT, ...scope];
    if (!this.#isShared) return this.#want({ item: LIST_ITEM, key, value, options: { keepFor: KEEP } });
    const mark = randomUUID().slice(0, 8);
    this.#want({
      item: LIST_ITEM,
      key,
      value: () => {
        memory.marks = [...memory.marks, mark];
        return { ...value(), clusters: memory.clusters, mark };
      },
      options: { keepFor: KEEP, notify: true },
      over: (isWritten) => {
        if (isWritten) memory.marks = [mark];
      },
    });
  }

  /** Resolves when nothing of an item is left to write. */
  settled(item: string): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ item, resolve });
      this.#answer();
    });
  }

  /** Resolves when nothing is left to write; what fails now is given up. A store of others is not waited for for long. */
  async close(): Promise<void> {
    this.#retry?.();
    this.#retry = undefined;
    this.#closing = true;
    this.#pump();
    if (this.#writers === 0) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#isShared ? this.clock.after(CLOSE_WITHIN, resolve) : () => undefined;
      this.#idle.push(() => {
        cancel();
        resolve();
      });
    });
    this.#wanted.clear();
  }
  #closing = false;

  get #isShared(): boolean {
    return this.tenure !== SOLE_OWNER;
  }

  #want(wanted: Omit<Wanted, 'lock'>): void {
    const lock = this.tenure.lockOf(wanted.item);
    this.#wanted.set(JSON.stringify(wanted.key), { ...wanted, lock });
    if (!this.#retry) this.#pump();
  }

  #pump(): void {
    while (this.#writers < AT_ONCE && this.#wanted.size > 0) {
      this.#writers++;
      void this.#work();
    }
  }

  async #work(): Promise<void> {
    for (;;) {
      const [next] = this.#wanted;
      if (!next || this.#retry) break;
      const [name, wanted] = next;
      this.#wanted.delete(name);
      this.#underWay.push(wanted.item);
      try {
        const isWritten = await this.#put(wanted);
        wanted.over?.(isWritten);
        this.#failures = 0;
      } catch (thrown) {
        // Somebody else goes on from what was written before, or this runtime does so again.
        if (!(thrown instanceof LockLostError)) this.fault(thrown);
        wanted.over?.(false);
        this.#again(name, wanted);
      }
      this.#underWay.splice(this.#underWay.indexOf(wanted.item), 1);
      this.#answer();
    }
    this.#writers--;
    if (this.#writers === 0) this.#idle.splice(0).forEach((resolve) => resolve());
  }

  /** False: it is not this runtime's to write any more. */
  async #put({ item, lock, key, value, options }: Wanted): Promise<boolean> {
    if (!isStillOwned(this.tenure, item, lock)) return false;
    await this.store.put(
      key,
      value(),
      lock === null || lock === UNLOSABLE_LOCK ? options : { ...options, under: [lock] },
    );
    return true;
  }

  #again(name: string, wanted: Wanted): void {
    if (this.#closing) return;
    if (!this.#wanted.has(name)) this.#wanted.set(name, wanted);
    const waits = this.#isShared ? SHARED_RETRIES : RETRIES;
    this.#retry ??= this.clock.after(waitBefore(this.#failures++, waits), () => {
      this.#retry = undefined;
      this.#pump();
    });
  }

  #answer(): void {
    if (this.#waiting.length === 0) return;
    const open = new Set([...this.#underWay, ...[...this.#wanted.values()].map(({ item }) => item)]);
    const over = this.#waiting.filter(({ item }) => !open.has(item));
    this.#waiting = this.#waiting.filter(({ item }) => open.has(item));
    for (const { resolve } of over) resolve();
  }
}

/** The delivered state, for the next runtime; `marks` identify the writes that the store may have. */
interface Unwritten {
  checkpoint: Checkpoint | null;
  figures: ClusterStatus | null;
  marks: readonly string[];
}

/** What the polls of a cluster bring, for runtimes that wait for it. */
export interface RemoteUpdate {
  checkpoint: Checkpoint | null;
  figures: ClusterStatus;
}
