import type { Membership } from '../state/membership';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import { Rerun } from '../time/concurrency';
import type { SentState } from './state';

/** Retention of what was sent, ms. */
const KEPT = 30 * 24 * 60 * 60 * 1000;

const VERSION = 1;

/** Time after which a runtime that was killed is a member no more, ms. */
const GONE = 20_000;

interface HandoversOptions {
  store: StateStore;
  nodeId: string;
  clock: Clock;
  membership: Membership;
}

/** State of a printer that its runtime has sent last, saved under `['home-assistant-sent', nodeId, id]`. */
interface SentRecord {
  version: number;
  /** Id of the runtime. */
  by: string;
  /** Topic of the state. */
  topic: string;
  /** Null: the broker may lack what was sent. */
  sent: SentState | null;
}

/**
 * Messages between several runtimes about the states that they have sent, so that the next owner of a printer does not
 * send an equal one.
 *
 * A record counts only while its runtime was alive since everything was sent last: a broker that lost its messages has then
 * got them again from it.
 */
export class Handovers {
  readonly #witnesses = new Set<string>();
  readonly #writes = new Map<string, { record: SentRecord; rerun: Rerun; written: Promise<void> }>();

  /** When a broker may have lost what was sent, monotonic, ms. */
  #renewedAt = -Infinity;

  constructor(private readonly options: HandoversOptions) {}

  /** Call regularly: records the runtimes that are alive. */
  witness(): void {
    const { clock, membership } = this.options;
    if (clock.monotonic() - this.#renewedAt < GONE) return;
    for (const { id } of membership.members) this.#witnesses.add(id);
  }

  /** Call when a broker, or Home Assistant, may have lost what was sent. */
  renew(): void {
    this.#witnesses.clear();
    this.#renewedAt = this.options.clock.monotonic();
  }

  /** The state that the broker has; null if that is not known. Never rejects. */
  async read(id: string, topic: string): Promise<SentState | null> {
    const record = await this.options.store.get<SentRecord>(this.#key(id)).catch(() => undefined);
    const isKnown = record?.version === VERSION && record.topic === topic && this.#witnesses.has(record.by);
    return isKnown ? record.sent : null;
  }

  /** Writes what was sent; of several states in a row, the last one. The broker has it already, so the store insists. */
  write(id: string, topic: string, sent: SentState | null): void {
    const record: SentRecord = { version: VERSION, by: this.options.membership.id, topic, sent };
    const rerun = this.#writes.get(id)?.rerun ?? new Rerun(() => this.#write(id));
    const write = { record, rerun, written: Promise.resolve() };
    this.#writes.set(id, write);
    write.written = rerun.request();
  }

  /** Resolves when all is written, or can't be written now. */
  async settled(): Promise<void> {
    await Promise.all([...this.#writes.values()].map(({ written }) => written));
  }

  /** Never rejects. An update, as opposed to a put, does not replace what another runtime has written since. */
  async #write(id: string): Promise<void> {
    const record = this.#writes.get(id)?.record;
    await this.options.store
      .update(this.#key(id), () => record, { keepFor: KEPT, insist: true })
      .catch(() => undefined);
  }

  #key(id: string) {
    return ['home-assistant-sent', this.options.nodeId, id] as const;
  }
}
