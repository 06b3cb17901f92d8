import type { PrintEvent } from '../events/print-event';
import type { StateStore } from '../state/store';

/** Most events that wait; the oldest are dropped. */
const MOST = 500;
/** Time for which they wait in the store, ms. */
const KEPT = 90 * 24 * 60 * 60 * 1000;
const VERSION = 1;

/** Events that wait; saved under `['home-assistant-held', nodeId]` by a close. */
interface HeldRecord {
  version: number;
  events: PrintEvent[];
}

/** Events that wait until their printer is announced and the broker connected, as a broker does not retain them. */
export class HeldEvents {
  #events: PrintEvent[] = [];

  constructor(
    private readonly store: StateStore,
    private readonly nodeId: string,
  ) {}

  add(event: PrintEvent): void {
    this.#events = [...this.#events, event].slice(-MOST);
  }

  /** All that wait, the oldest first; they wait no more. */
  take(): PrintEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** Takes those of an earlier close out of the store. Rejects if that is not possible now. */
  async read(): Promise<void> {
    const record = await this.store.get<HeldRecord>(this.#key);
    if (record?.version !== VERSION) return;
    await this.store.delete(this.#key, { insist: true });
    this.#events = [...record.events, ...this.#events].slice(-MOST);
  }

  /** Saves those that wait, after those in the store that could not be read. */
  async save(): Promise<void> {
    if (this.#events.length === 0) return;
    const add = (known: HeldRecord | undefined): HeldRecord => ({
      version: VERSION,
      events: [...(known?.version === VERSION ? known.events : []), ...this.#events].slice(-MOST),
    });
    await this.store.update<HeldRecord>(this.#key, add, { keepFor: KEPT, insist: true });
  }

  get #key() {
    return ['home-assistant-held', this.nodeId] as const;
  }
}
