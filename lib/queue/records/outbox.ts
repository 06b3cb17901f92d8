import type { Lock } from '../../state/membership';
import type { Clock } from '../../time/clock';
import { nextTurn, Rerun } from '../../time/concurrency';
import { guard } from '../../time/guard';
import { RetryTimer } from '../../time/retry';
import type { QueueEvent, QueueEventDraft } from '../model/types';
import type { EventAges } from './event-ages';
import type { Telling } from './telling';

/** Time that this process knows of an event, from which it counts as late although a node was there, ms. */
const LATE = 60_000;
/** Most events that are claimed by one write. */
const MOST = 200;
/** Backoff for saying which events were told under a lost lease, ms: shorter than the next planner needs to begin. */
const LEAVE = { first: 1_000, longest: 5_000, jitter: 0.2 };

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
  localChanges: { eventAges: Pick<EventAges, 'since' | 'waits' | 'hasWaited'> };
}

/** The saved events of a queue, and the right to deliver them. */
interface OutboxSource {
  /** All records that may have undelivered events; null: none may be delivered now. */
  records: () => readonly Undelivered[] | null;
  /** Whether this runtime plans, and the lease under which it does; a lock of null: none is needed. */
  lease: () => { isOurs: boolean; lock: Lock | null };
  /** Null: the records are not loaded. */
  telling: () => Telling | null;
  /** Called when events could not be claimed or removed; `deliver` is to be called again. */
  failed: (thrown: unknown) => void;
}

type Receiver = (events: readonly QueueEvent[]) => void;

/** An event that is not delivered yet. */
interface Fresh {
  draft: QueueEventDraft;
  complete: Undelivered['complete'];
  /** Place in time: when this process learned of it, monotonic, and among those of an earlier process its date, ms. */
  since: number;
  date: number;
}

/**
 * Delivery of the saved events to the nodes of the queue, by the runtime that plans. An event is removed from its record
 * after its delivery; while no node is there it waits, and then comes late (print queue, 4). Where several runtimes share
 * the queue, each event is claimed before its delivery, so that no other runtime delivers it too (ADR 35).
 */
export class Outbox {
  readonly #parts: OutboxParts;
  readonly #source: OutboxSource;
  readonly #receivers = new Set<Receiver>();
  /** Receivers that come in with the next turn. */
  readonly #coming = new Set<Receiver>();
  /** Delivered events that may still be in their records. */
  readonly #delivered = new Set<string>();
  readonly #removing = new Set<string>();
  /** Events that no node could be given. They wait for the next node, or for another process. */
  readonly #odd = new Set<string>();
  /** The lease under which events are claimed. */
  #lease: string | null = null;
  readonly #claimed = new Set<string>();
  readonly #leaves: RetryTimer;
  readonly #rounds = new Rerun(() => this.#claimAndDeliver());
  readonly #underWay = new Set<Promise<void>>();

  constructor(parts: OutboxParts, source: OutboxSource) {
    this.#parts = parts;
    this.#source = source;
    this.#leaves = new RetryTimer(parts.clock, LEAVE);
  }

  /**
   * Delivers to the receiver from the next turn on, so that all nodes of a deploy receive the events that waited. Returns a
   * function that ends the subscription.
   */
  subscribe(receiver: Receiver): () => void {
    // A copy, as one function may be subscribed twice.
    const own: Receiver = (events) => receiver(events);
    if (this.#coming.size === 0) void nextTurn().then(guard(() => this.#letIn()));
    this.#coming.add(own);
    return () => {
      this.#coming.delete(own);
      this.#receivers.delete(own);
    };
  }

  #letIn(): void {
    for (const receiver of this.#coming) this.#receivers.add(receiver);
    this.#coming.clear();
    this.#odd.clear();
    this.deliver();
  }

  /** Delivers the waiting events, in the order in which they happened. */
  deliver(): void {
    const { lock } = this.#source.lease();
    const number = lock?.number ?? null;
    if (number === null && this.#lease === null) this.#deliver(this.#fresh(), null);
    else void this.#rounds.request();
  }

  /** Resolves when delivered events are removed from their records, or can't be. */
  async settled(): Promise<void> {
    if (this.#rounds.isRunning) await this.#rounds.request();
    await Promise.allSettled(this.#underWay);
  }

  /** Says which events were told under a lease that this runtime has lost, or left. Resolves with false if it can't. */
  async leave(): Promise<boolean> {
    this.#leaves.stop();
    const lease = this.#lease;
    const telling = this.#source.telling();
    if (lease === null || !telling) return true;
    const told = new Set([...this.#claimed].filter((id) => this.#delivered.has(id)));
    try {
      if (this.#claimed.size > 0) await telling.settle(lease, told);
    } catch {
      return false;
    }
    if (this.#lease !== lease) return true;
    this.#leaves.succeeded();
    this.#lease = null;
    this.#claimed.clear();
    this.#delivered.clear();
    return true;
  }

  /** Never rejects. */
  async #claimAndDeliver(): Promise<void> {
    const { isOurs, lock } = this.#source.lease();
    const number = isOurs ? (lock?.number ?? null) : null;
    const telling = this.#source.telling();
    if (!telling) return;
    if (this.#lease !== null && this.#lease !== number) {
      // Only a new lease ends the pause.
      if (number === null && this.#leaves.isArmed) return;
      if (!(await this.leave())) return this.#leaves.plan(() => this.deliver());
    }
    if (number === null) return;
    this.#lease = number;
    const fresh = this.#fresh(telling, number);
    if (fresh.length === 0 || this.#receivers.size === 0) return this.#deliver(fresh, number);
    const open = new Set(this.#source.records()?.flatMap(({ drafts }) => drafts.map(({ id }) => id)));
    const next = fresh.slice(0, MOST);
    const ids = next.map(({ draft }) => draft.id).filter((id) => !this.#claimed.has(id));
    let claimed: string[] = [];
    try {
      if (ids.length > 0) claimed = await telling.claim(number, ids, open);
    } catch (thrown) {
      return this.#source.failed(thrown);
    }
    for (const id of this.#claimed) if (!open.has(id)) this.#claimed.delete(id);
    for (const id of claimed) this.#claimed.add(id);
    const own = next.filter(({ draft }) => this.#claimed.has(draft.id));
    this.#deliver(own, number);
    // Another runtime has claimed those that are missing.
    if (fresh.length > own.length) void this.#rounds.request();
  }

  /** The events that this runtime may deliver now, in their order. */
  #fresh(telling: Telling | null = null, lease = ''): Fresh[] {
    const records = this.#source.lease().isOurs ? (this.#source.records() ?? []) : [];
    const { eventAges } = this.#parts.localChanges;
    const fresh = records.flatMap(({ drafts, complete }) => {
      let [since, date] = [-Infinity, -Infinity];
      return drafts
        .filter(({ id }) => {
          const state = telling?.stateOf(id, lease) ?? null;
          // What another runtime has told is only to be removed.
          if (state === 'told') this.#delivered.add(id);
          return state === null && !this.#delivered.has(id) && !this.#odd.has(id);
        })
        .map((draft) => {
          // The events of a record stay in their order when the clock was set back between them.
          date = Math.max(date, draft.at);
          since = Math.max(since, eventAges.since(draft.id));
          return { draft, complete, since, date };
        });
    });
    return fresh.sort((one, other) =>
      one.since === other.since ? one.date - other.date : one.since < other.since ? -1 : 1,
    );
  }

  /** @param number of the lease under which the events are claimed; null: none is needed */
  #deliver(fresh: readonly Fresh[], number: string | null): void {
    if (this.#receivers.size === 0) {
      const { eventAges } = this.#parts.localChanges;
      if (this.#coming.size === 0) for (const { draft } of fresh) eventAges.waits(draft.id);
      return;
    }
    for (const event of fresh) {
      // A process that stood still may have lost its lease in the middle.
      const { isOurs, lock } = this.#source.lease();
      if (!isOurs || (lock?.number ?? null) !== number) return;
      this.#tell(event);
    }
    for (const record of this.#source.records() ?? []) this.#remove(record);
  }

  /** Gives an event to every receiver. It counts as delivered if one of them has taken it. */
  #tell({ draft, complete }: Fresh): void {
    const { id } = draft;
    // From now on, as a receiver may call `deliver`.
    this.#delivered.add(id);
    const made = { delivery: false };
    guard(() => {
      // Each gets its own event, as flows may change it.
      const events = [...this.#receivers].map((receiver) => [receiver, this.#event(draft, complete(draft))] as const);
      for (const [receiver, event] of events)
        guard(() => {
          receiver([event]);
          made.delivery = true;
        })();
    })();
    if (made.delivery) return;
    this.#delivered.delete(id);
    this.#odd.add(id);
  }

  #remove({ drafts, remove }: Undelivered): void {
    const ids = new Set(drafts.map(({ id }) => id).filter((id) => this.#delivered.has(id) && !this.#removing.has(id)));
    if (ids.size === 0) return;
    for (const id of ids) this.#removing.add(id);
    const removed: Promise<void> = remove(ids)
      .then(() => ids.forEach((id) => this.#delivered.delete(id)))
      .catch((thrown: unknown) => this.#source.failed(thrown))
      .finally(() => {
        ids.forEach((id) => this.#removing.delete(id));
        this.#underWay.delete(removed);
      });
    this.#underWay.add(removed);
  }

  #event(draft: QueueEventDraft, about: Pick<QueueEvent, 'item' | 'print'>): QueueEvent {
    const { queueId, name, clock, localChanges } = this.#parts;
    const { id, type, at, clusterId, clusterName, value } = draft;
    const { eventAges } = localChanges;
    const late = eventAges.hasWaited(id) || clock.monotonic() - eventAges.since(id) > LATE;
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
