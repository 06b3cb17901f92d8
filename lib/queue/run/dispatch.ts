import type { Dispatcher } from '../../print/dispatcher';
import type { JobListReader } from '../../print/job-list-reader';
import type { Dispatched, KeyOf, Ledger } from '../../print/ledger';
import type { ClusterStatus } from '../../service/cluster';
import { asPrintingError, type PrintingError } from '../../service/errors';
import type { Clock } from '../../time/clock';
import { type Deadline, underDeadline } from '../../time/deadline';
import { retryUntil } from '../../time/retry';
import { type ChangeContext, lastAttempt, openAttempts } from '../model/item';
import * as changes from '../model/item-changes';
import type { AssignedPrint, AttemptOf } from '../model/item-changes';
import { type Attempt, attemptKey, type ItemRecord } from '../model/types';
import { type ItemStore, reservationOf, type Reservations } from '../records/items';
import { PLANNER } from '../records/store';

/** Longest time for a dispatch with its search, ms. */
const LONGEST = 180_000;
/** Backoff for work that the store refused, ms. */
const AGAIN = { first: 1_000, longest: 60_000 };

interface DispatchDeps {
  queueId: string;
  clock: Clock;
  items: ItemStore;
  reservations: Reservations;
  dispatcher: Dispatcher;
  jobListReader: JobListReader;
  /** The record of dispatches, whose writes need the planner's lease. */
  ledger: () => Ledger;
  /** Ends everything that has not been sent. */
  closing: Deadline;
  /** Reads the printer again; false if the copy must not go there now. */
  check: (record: ItemRecord, print: AssignedPrint, deadline: Deadline) => Promise<boolean>;
  /** Copies that a cluster may have at a time. */
  mostOf: (clusterId: string) => number;
  /** The service refused the print, so that nothing was sent. */
  refused: (record: ItemRecord, print: AssignedPrint, error: PrintingError) => Promise<void>;
}

/**
 * Sends copies to printers, each attempt exactly once: the assignment is durable before anything is sent, and the print
 * key `queue/item/copy/attempt` identifies its one dispatch (print queue, rule 5). A copy leaves its printer only with proof.
 */
export class Dispatches {
  readonly #deps: DispatchDeps;
  /** Copies that are being assigned, sent or settled, and their clusters. */
  readonly #underWay = new Map<string, string>();

  constructor(deps: DispatchDeps) {
    this.#deps = deps;
  }

  /**
   * Assigns a copy to a printer. Resolves when that is durable, with the work that sends it; `reserved`: another queue has
   * the printer; null: the item was changed meanwhile. Rejects if the store can't be written.
   */
  async assign(itemId: string, print: AssignedPrint): Promise<(() => Promise<void>) | 'reserved' | null> {
    const { items, reservations, queueId, mostOf } = this.#deps;
    const { clusterId, copy } = print;
    const holder = reservationOf(queueId, itemId, copy);
    if (this.#underWay.has(holder)) return null;
    this.#underWay.set(holder, clusterId);
    let of: AttemptOf | undefined;
    let isReserved: boolean;
    const change = (record: ItemRecord) => {
      of = undefined;
      if (!mayStart(record)) return record;
      const after = changes.assigned(record, print, this.#context);
      if (after !== record) of = lastAttempt(after, copy);
      return after;
    };
    try {
      isReserved = !(await reservations.reserve(clusterId, holder, mostOf(clusterId)));
      if (!isReserved) await items.change(itemId, change, PLANNER);
    } catch (thrown) {
      this.#underWay.delete(holder);
      throw thrown;
    }
    const assigned = of;
    if (assigned) return () => this.#send(itemId, assigned).finally(() => this.#underWay.delete(holder));
    this.#underWay.delete(holder);
    return isReserved ? 'reserved' : null;
  }

  /**
   * Determines the outcome of an assignment that is not being sent here: of an earlier process, of another instance of
   * the queue, or one whose outcome could not be written.
   */
  async settle(itemId: string, of: AttemptOf & Pick<Attempt, 'clusterId'>): Promise<void> {
    const holder = reservationOf(this.#deps.queueId, itemId, of.copy);
    if (this.#underWay.has(holder)) return;
    this.#underWay.set(holder, of.clusterId);
    await this.#settle(itemId, of).finally(() => this.#underWay.delete(holder));
  }

  /** Leaves to other queues the printers of which none of the items has an open attempt. */
  async release(items: Iterable<ItemRecord>): Promise<void> {
    const wanted = new Map(this.#underWay);
    for (const record of items)
      for (const { copy, clusterId } of openAttempts(record))
        wanted.set(reservationOf(this.#deps.queueId, record.itemId, copy), clusterId);
    await this.#deps.reservations.keepOnly(wanted);
  }

  async #settle(itemId: string, of: AttemptOf): Promise<void> {
    const { ledger, dispatcher, closing } = this.#deps;
    await retryUntil(closing, AGAIN, async () => {
      const attempt = this.#find(itemId, of);
      if (attempt?.state !== 'assigned') return;
      const key = this.#key(itemId, attempt);
      await underDeadline(closing.clock, { ms: LONGEST, parent: closing }, (deadline) =>
        ledger().waitForKey(
          key,
          async (held, limit) => {
            const entry = await held.find(key);
            // Nothing is sent without an entry.
            if (!entry) return this.#unassign(itemId, attempt);
            if (entry.done) return this.#sent(itemId, attempt, entry.done);
            const found = await dispatcher.searchAgain(held, key, entry, limit).catch((thrown: unknown) => {
              const error = asPrintingError(thrown);
              if (error.code === 'PRINT_OUTCOME_UNKNOWN') return undefined;
              throw error;
            });
            await (found ? this.#sent(itemId, attempt, found) : this.#lost(itemId, attempt));
          },
          deadline,
        ),
      );
    });
  }

  /**
   * Looks in a status for the print of an attempt whose printing is not known by name. Returns its id once it is there.
   * Rejects while the store can't be read.
   */
  async lookFor(itemId: string, attempt: Attempt, status: ClusterStatus): Promise<string | null> {
    const { ledger, dispatcher, jobListReader, closing } = this.#deps;
    const key = this.#key(itemId, attempt);
    const listing = jobListReader.publish(status.clusterId, status);
    await dispatcher.settle(ledger(), key, listing, closing);
    return (await ledger().find(key))?.done?.clusterJobId ?? null;
  }

  async #send(itemId: string, of: AttemptOf): Promise<void> {
    const { ledger, closing } = this.#deps;
    const attempt = this.#find(itemId, of);
    if (!attempt) return;
    const key = this.#key(itemId, attempt);
    try {
      await underDeadline(closing.clock, { ms: LONGEST, parent: closing }, (deadline) =>
        ledger().waitForKey(key, (held, limit) => this.#sendUnder(held, { itemId, attempt, key }, limit), deadline),
      );
    } catch {
      // The outcome could not be written, or the key not be locked: the ledger knows what was sent.
      await this.#settle(itemId, of);
    }
  }

  async #sendUnder(
    ledger: Ledger,
    { itemId, attempt, key }: { itemId: string; attempt: Attempt; key: KeyOf },
    deadline: Deadline,
  ): Promise<void> {
    const { dispatcher, check, refused } = this.#deps;
    const record = this.#deps.items.get(itemId);
    const jobId = record?.files[attempt.file]?.jobId ?? null;
    const isRight = record && jobId !== null && (await check(record, attempt, deadline).catch(() => false));
    if (!isRight) return this.#unassign(itemId, attempt);
    let done: Dispatched;
    try {
      const request = { clusterId: key.clusterId, printKey: key.printKey, jobId, startNow: true, note: null, deadline };
      done = await dispatcher.dispatch(ledger, request);
    } catch (thrown) {
      const error = asPrintingError(thrown);
      if (error.code === 'PRINT_OUTCOME_UNKNOWN') return this.#lost(itemId, attempt);
      // After every other error of a dispatch, nothing was printed.
      await this.#unassign(itemId, attempt);
      return refused(record, attempt, error);
    }
    await this.#sent(itemId, attempt, done);
  }

  async #sent(itemId: string, attempt: Attempt, { clusterJobId }: Dispatched): Promise<void> {
    const change = (record: ItemRecord) => changes.dispatched(record, attempt, clusterJobId, this.#context);
    await this.#deps.items.change(itemId, change, PLANNER);
  }

  async #lost(itemId: string, attempt: Attempt): Promise<void> {
    await this.#deps.items.change(itemId, (record) => changes.unknown(record, attempt, this.#context), PLANNER);
  }

  async #unassign(itemId: string, attempt: Attempt): Promise<void> {
    await this.#deps.items.change(itemId, (record) => changes.unassigned(record, attempt, this.#context), PLANNER);
  }

  #find(itemId: string, of: AttemptOf): Attempt | undefined {
    const record = this.#deps.items.get(itemId);
    return record && changes.findAttempt(record, of);
  }

  #key(itemId: string, attempt: Attempt): KeyOf {
    return { clusterId: attempt.clusterId, printKey: attemptKey(this.#deps.queueId, itemId, attempt) };
  }

  get #context(): ChangeContext {
    return { queueId: this.#deps.queueId, now: this.#deps.clock.now() };
  }
}

/** Whether a copy may start by the item's own record, which a person may have changed since the plan. */
const mayStart = ({ isHeld, awaitsApproval, isRemoved }: ItemRecord): boolean =>
  !isHeld && !awaitsApproval && !isRemoved;
