import { Ledger } from '../../print/ledger';
import type { KeyOf } from '../../print/open-keys';
import type { Lock } from '../../state/membership';
import type { Deadline } from '../../time/deadline';
import { type AttemptOf, findAttempt } from '../model/item-changes';
import { type Attempt, attemptKey, type ItemRecord, nameOf } from '../model/types';
import { PLANNER } from '../records/records';
import type { QueueContext } from './context';

/** The attempts of a queue in the records of their items and in the ledger, during one tenure of its planner. */
export class AttemptRecords {
  readonly ledger: Ledger;
  readonly #queue: QueueContext;
  readonly #deadline: Deadline;
  /** Attempts on whose jobs work is under way. */
  readonly #busy = new Set<string>();

  constructor(queue: QueueContext, deadline: Deadline, lock: Lock | null) {
    this.#queue = queue;
    this.#deadline = deadline;
    this.ledger = new Ledger(queue.store, queue.data.scope, lock ? [lock] : []);
  }

  find(itemId: string, of: AttemptOf): Attempt | undefined {
    const record = this.#queue.data.items.get(itemId);
    return record && findAttempt(record, of);
  }

  /** Changes an item, unless the change makes no difference by the record in memory, as most observations do. */
  async change(itemId: string, change: (record: ItemRecord) => ItemRecord): Promise<void> {
    const record = this.#queue.data.items.get(itemId);
    if (!record || change(record) !== record) await this.write(itemId, change);
  }

  async write(itemId: string, change: (record: ItemRecord) => ItemRecord): Promise<void> {
    await this.#queue.data.items.change(itemId, change, PLANNER);
  }

  /** Runs the work on an attempt's job, one at a time. */
  run(itemId: string, attempt: Attempt, work: () => Promise<void>): void {
    const name = nameOf(itemId, attempt);
    if (this.#busy.has(name)) return;
    this.#busy.add(name);
    work()
      .catch((thrown: unknown) => this.failed(thrown))
      .finally(() => this.#busy.delete(name));
  }

  isBusy(itemId: string, attempt: Attempt): boolean {
    return this.#busy.has(nameOf(itemId, attempt));
  }

  failed(thrown: unknown): void {
    if (!this.#deadline.aborted) this.#queue.failed(thrown);
  }

  keyOf(itemId: string, attempt: Attempt): KeyOf {
    return { clusterId: attempt.clusterId, printKey: attemptKey(this.#queue.queueId, itemId, attempt) };
  }

  get context() {
    const { queueId, clock, rules, data } = this.#queue;
    return {
      queueId,
      now: clock.now(),
      lived: data.lived.now,
      rules,
      machinesAt: data.reservations.machinesAt,
      begunOn: (clusterId: string, others?: readonly string[]) => data.plates.begunOn(clusterId, others),
    };
  }
}
