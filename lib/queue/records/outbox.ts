import type { Clock } from '../../time/clock';
import { guard } from '../../time/guard';
import type { QueueEvent, QueueEventDraft } from '../model/types';

/** Age from which an event counts as late although a node was there, ms. */
const LATE = 60_000;

/** Saved events of one record. */
export interface Undelivered {
  drafts: readonly QueueEventDraft[];
  /** Fills an event in from the record's present state. */
  complete: (draft: QueueEventDraft) => Pick<QueueEvent, 'item' | 'print'>;
  /** Removes delivered events from the record. */
  remove: (ids: ReadonlySet<string>) => Promise<void>;
}

/** The parts of a queue that its outbox needs. */
interface OutboxParts {
  queueId: string;
  name: string | null;
  clock: Clock;
}

type Receiver = (events: readonly QueueEvent[]) => void;

/**
 * Delivery of the saved events to the nodes of the queue. An event is removed from its record after its delivery; while
 * no node is there it waits, and then comes late (print queue, 4).
 */
export class Outbox {
  readonly #parts: OutboxParts;
  readonly #failed: (thrown: unknown) => void;
  readonly #receivers = new Set<Receiver>();
  /** Delivered events that may still be in their records. */
  readonly #delivered = new Set<string>();
  readonly #removing = new Set<string>();
  /** Events that were there before a node was. */
  readonly #waited = new Set<string>();

  /** @param failed called when delivered events could not be removed; `deliver` is to be called again */
  constructor(parts: OutboxParts, failed: (thrown: unknown) => void) {
    this.#parts = parts;
    this.#failed = failed;
  }

  /** Call `deliver` then, as events may have waited. Returns a function that ends the subscription. */
  subscribe(receiver: Receiver): () => void {
    // A copy, as one function may be subscribed twice.
    const own: Receiver = (events) => receiver(events);
    this.#receivers.add(own);
    return () => this.#receivers.delete(own);
  }

  /**
   * Delivers the waiting events, in the order in which they happened. Only the runtime that plans delivers.
   * @param records all that may have undelivered events
   */
  deliver(records: readonly Undelivered[]): void {
    const fresh = records.flatMap(({ drafts, complete }) => {
      let order = -Infinity;
      return drafts
        .filter(({ id }) => !this.#delivered.has(id))
        .map((draft) => {
          // The events of a record stay in their order when the clock was set back between them.
          order = Math.max(order, draft.at);
          return { draft, complete, order };
        });
    });
    if (this.#receivers.size === 0) {
      for (const { draft } of fresh) this.#waited.add(draft.id);
      return;
    }
    const ordered = fresh.sort((one, other) => one.order - other.order);
    if (ordered.length > 0)
      for (const receiver of [...this.#receivers])
        // Each gets its own events, as flows may change them.
        guard(() => receiver(ordered.map(({ draft, complete }) => this.#event(draft, complete(draft)))))();
    for (const { draft } of fresh) {
      this.#delivered.add(draft.id);
      this.#waited.delete(draft.id);
    }
    for (const record of records) this.#remove(record);
  }

  #remove({ drafts, remove }: Undelivered): void {
    const ids = new Set(drafts.map(({ id }) => id).filter((id) => !this.#removing.has(id)));
    if (ids.size === 0) return;
    for (const id of ids) this.#removing.add(id);
    remove(ids)
      .then(() => ids.forEach((id) => this.#delivered.delete(id)))
      .catch(this.#failed)
      .finally(() => ids.forEach((id) => this.#removing.delete(id)));
  }

  #event(draft: QueueEventDraft, about: Pick<QueueEvent, 'item' | 'print'>): QueueEvent {
    const { queueId, name, clock } = this.#parts;
    const { id, type, at, clusterId, clusterName, value } = draft;
    const late = this.#waited.has(id) || clock.now() - at > LATE;
    return {
      id,
      type,
      at: new Date(at).toISOString(),
      late,
      queueId,
      queueName: name,
      ...about,
      clusterId,
      clusterName,
      value,
    };
  }
}
