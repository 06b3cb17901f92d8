import { readCheckpoint } from '../events/checkpoint';
import { readListCheckpoint, type ListCheckpoint } from '../events/list-changes';
import type { ClusterStatus } from '../service/cluster-status';
import { record, text } from '../service/wire';
import type { Key, StateStore } from '../state/store';
import { waitBefore } from '../time/backoff';
import type { Clock } from '../time/clock';
import type { ClusterMemory } from './cluster-memory';
import type { ListMemory, ScopeMemory } from './watch-memory';

/** How long a checkpoint that nobody touches is kept, ms. */
const KEEP = 365 * 24 * 3600_000;
const AT_ONCE = 4;
const RETRIES = { first: 5_000, longest: 15 * 60_000 };
const KIND = 'checkpoint';

/**
 * Reads checkpoints and writes them. What changes again while it waits to be written is written once, and what can't be
 * written is tried again: the memory is ahead of the disk then, and no event is delivered twice unless it gets lost.
 */
export class CheckpointStore {
  readonly #wanted = new Map<string, { key: Key; value: () => unknown }>();
  #writers = 0;
  #failures = 0;
  #retry: (() => void) | undefined;
  #idle: (() => void)[] = [];

  constructor(
    private readonly store: StateStore,
    private readonly clock: Clock,
    private readonly fault: (thrown: unknown) => void,
  ) {}

  /** Reads what the store has of a cluster, once. Rejects when it can't be read now. */
  async load({ scope }: ScopeMemory, clusterId: string, memory: ClusterMemory): Promise<void> {
    if (memory.loaded) return;
    const stored = await this.store.get<unknown>([KIND, ...scope, clusterId]);
    // Somebody else may have been faster, and gone on from there.
    if (memory.loaded as boolean) return;
    memory.loaded = true;
    const figures = record(record(stored)?.figures) as ClusterStatus | null;
    memory.restore(readCheckpoint(stored), figures);
    memory.movedTo = text(record(stored)?.movedTo);
    memory.late = memory.hasCheckpoint;
  }

  async loadList({ scope }: ScopeMemory, memory: ListMemory): Promise<void> {
    if (memory.loaded) return;
    const stored = await this.store.get<unknown>([KIND, ...scope]);
    if (memory.loaded as boolean) return;
    memory.loaded = true;
    memory.checkpoint = readListCheckpoint(stored);
    memory.late = memory.checkpoint !== null;
  }

  write({ scope }: ScopeMemory, clusterId: string, memory: ClusterMemory): void {
    memory.dirty = false;
    this.#want([KIND, ...scope, clusterId], () =>
      memory.movedTo === null ? { ...memory.checkpoint, figures: memory.status } : { movedTo: memory.movedTo },
    );
  }

  writeList({ scope }: ScopeMemory, checkpoint: ListCheckpoint): void {
    this.#want([KIND, ...scope], () => checkpoint);
  }

  /** Resolves when nothing is left to write; what fails now is given up. */
  async close(): Promise<void> {
    this.#retry?.();
    this.#retry = undefined;
    this.#closing = true;
    this.#pump();
    if (this.#writers > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }
  #closing = false;

  #want(key: Key, value: () => unknown): void {
    this.#wanted.set(JSON.stringify(key), { key, value });
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
      const [name, { key, value }] = next;
      this.#wanted.delete(name);
      try {
        await this.store.put(key, value(), { keepFor: KEEP });
        this.#failures = 0;
      } catch (thrown) {
        this.fault(thrown);
        this.#again(name, key, value);
      }
    }
    this.#writers--;
    if (this.#writers === 0) this.#idle.splice(0).forEach((resolve) => resolve());
  }

  #again(name: string, key: Key, value: () => unknown): void {
    if (this.#closing) return;
    if (!this.#wanted.has(name)) this.#wanted.set(name, { key, value });
    this.#retry ??= this.clock.after(waitBefore(this.#failures++, RETRIES), () => {
      this.#retry = undefined;
      this.#pump();
    });
  }
}
