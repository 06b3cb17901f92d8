import type { PrintEvent } from '../events/print-event';
import type { PrintJob } from '../service/print-job';
import type { StateStore } from '../state/store';
import { Rerun } from '../time/concurrency';

/** Most events that wait; the oldest are dropped. */
const MOST = 500;
/** Time for which they wait in the store, ms. */
const KEPT = 90 * 24 * 60 * 60 * 1000;
const VERSION = 1;

/** An event with what is published of its job. */
export type HeldEvent = Omit<PrintEvent, 'job'> & { job: Pick<PrintJob, 'name' | 'state'> | null };

/** Events that wait; saved under `['home-assistant-held', nodeId]`. */
interface HeldRecord {
  version: number;
  events: HeldEvent[];
}

/**
 * Events that wait until their printer is announced and the broker connected, as a broker does not retain them. The store has
 * them until they are told: the watch, which has delivered them, does so only once.
 */
export class HeldEvents {
  #events: HeldEvent[] = [];
  /** Whether those of an earlier process were read. */
  #isRead = false;
  readonly #stored = new WeakSet<HeldEvent>();
  readonly #saving = new Rerun(() => this.#save().catch(() => undefined));
  #saved = Promise.resolve();

  constructor(
    private readonly store: StateStore,
    private readonly nodeId: string,
    /** Whether other runtimes share the store. */
    private readonly isShared: boolean,
  ) {}

  add({ job, ...event }: HeldEvent): void {
    this.#hold([...this.#events, { ...event, job: job && { name: job.name, state: job.state } }]);
    this.#saved = this.#saving.request();
  }

  /** Those that can be told now, the oldest first; they wait no more. Leaves out what another runtime has taken from the store. */
  async take(isDue: (event: HeldEvent) => boolean): Promise<HeldEvent[]> {
    if (!this.#isRead) await this.#read().catch(() => undefined);
    if (!this.#events.some(isDue)) return [];
    await this.#saved;
    const due = this.#events.filter(isDue);
    const ids = new Set(due.map(({ id }) => id));
    this.#events = this.#events.filter(({ id }) => !ids.has(id));
    let left = ids;
    // Also those that could not be saved: the store may write them later.
    const remove = (known: HeldRecord | undefined): HeldRecord | undefined => {
      if (known && known.version !== VERSION) return known;
      left = new Set(known?.events.map(({ id }) => id));
      const events = known?.events.filter(({ id }) => !ids.has(id)) ?? [];
      return events.length > 0 ? { version: VERSION, events } : undefined;
    };
    await this.store.update<HeldRecord>(this.#key, remove, { keepFor: KEPT, insist: true }).catch(() => undefined);
    return this.isShared ? due.filter((event) => !this.#stored.has(event) || left.has(event.id)) : due;
  }

  /** Resolves when those that wait are saved, or can't be saved now. */
  save(): Promise<void> {
    return (this.#saved = this.#saving.request());
  }

  #hold(events: HeldEvent[]): void {
    this.#events = events.slice(-MOST);
  }

  /** Adds those in the store, of an earlier process. Rejects if they can't be read now. */
  async #read(): Promise<void> {
    const record = await this.store.get<HeldRecord>(this.#key);
    this.#isRead = true;
    if (record?.version !== VERSION) return;
    const own = new Set(this.#events.map(({ id }) => id));
    const others = record.events.filter(({ id }) => !own.has(id));
    for (const event of others) this.#stored.add(event);
    this.#hold([...others, ...this.#events]);
  }

  async #save(): Promise<void> {
    const added = this.#events.filter((event) => !this.#stored.has(event));
    if (added.length === 0) return;
    const ids = new Set(added.map(({ id }) => id));
    const add = (known: HeldRecord | undefined): HeldRecord => {
      if (known && known.version !== VERSION) return known;
      // The store may have kept those of a save that failed.
      const others = known?.events.filter(({ id }) => !ids.has(id)) ?? [];
      return { version: VERSION, events: [...others, ...added].slice(-MOST) };
    };
    const record = await this.store.update<HeldRecord>(this.#key, add, { keepFor: KEPT, insist: true });
    if (record?.version === VERSION) for (const event of added) this.#stored.add(event);
  }

  get #key() {
    return ['home-assistant-held', this.nodeId] as const;
  }
}
