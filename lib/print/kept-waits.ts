import type { Scope } from '../state/scope';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import type { Awaited } from './print-request';

/** ms. */
const KEEP = 90 * 24 * 3600_000;

/** Whose a wait is: one node's, under one scope. */
export type WaitOwner = readonly [...Scope, nodeId: string];

/** Its result holds nothing that came from the service as it was. */
export interface KeptWait extends Awaited {
  id: string;
  /** ms since 1970. */
  since: number;
}

/**
 * The waits that outlive the runtime: an index of them for each node, written when a wait begins, and a note for each, of
 * which nobody but its owner knows what it says. Both go when the end was handed over (ADR 10).
 */
export class KeptWaits {
  /** Handed over, whatever the store still has. */
  readonly #over = new Set<string>();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #listeners = new Map<string, () => void>();

  constructor(
    private readonly store: StateStore,
    private readonly clock: Clock,
  ) {}

  /** Everything is asked of the store at once, so that whoever reads the waits after this call finds this one. */
  keep(owner: WaitOwner, wait: KeptWait, note: unknown): Promise<void> {
    const index = this.store.update<KeptWait[]>(indexOf(owner), (waits = []) => [...waits, wait], LASTING);
    const noted = this.store.put(noteOf(owner, wait), note, LASTING);
    return this.#track(Promise.all([index, noted]).then(() => undefined));
  }

  /** Rejects while they can't be read. */
  async waits(owner: WaitOwner): Promise<KeptWait[]> {
    // In turn with those who write.
    const waits = await this.store.update<KeptWait[]>(indexOf(owner), (current) => current);
    const oldest = this.clock.now() - KEEP;
    return (waits ?? []).filter(({ id, since }) => since > oldest && !this.#over.has(id));
  }

  /** What was kept with a wait; undefined where a crash came in between. Rejects while it can't be read. */
  note(owner: WaitOwner, wait: KeptWait): Promise<unknown> {
    return this.store.get<unknown>(noteOf(owner, wait));
  }

  /** The end was handed over. */
  drop(owner: WaitOwner, wait: KeptWait): Promise<void> {
    this.#over.add(wait.id);
    const dropped = async () => {
      await this.#change(owner, (waits) => waits.filter(({ id }) => id !== wait.id));
      this.#over.delete(wait.id);
      await this.store.delete(noteOf(owner, wait), { insist: true });
    };
    return this.#track(dropped());
  }

  /** Nobody waits any more. */
  forget(owner: WaitOwner): Promise<void> {
    const forgotten = async () => {
      let waits: KeptWait[] = [];
      await this.#change(owner, (current) => {
        waits = current;
        return [];
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
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  async #change(owner: WaitOwner, change: (waits: KeptWait[]) => KeptWait[]): Promise<void> {
    await this.store.update<KeptWait[]>(
      indexOf(owner),
      (current) => {
        const waits = change(current ?? []);
        return waits.length > 0 ? waits : undefined;
      },
      LASTING,
    );
  }

  async #track(work: Promise<void>): Promise<void> {
    this.#underWay.add(work);
    await work.finally(() => this.#underWay.delete(work));
  }
}

const LASTING = { keepFor: KEEP, insist: true };

const indexOf = (owner: WaitOwner) => ['kept-waits', ...owner] as const;
const noteOf = (owner: WaitOwner, { id }: KeptWait) => ['kept-message', ...owner, id] as const;
