import { ruleOf } from '../../control/job-rules';
import { type Dispatched, type KeyOf, Ledger } from '../../print/ledger';
import type { ClusterStatus } from '../../service/cluster';
import { asPrintingError, type PrintingError } from '../../service/errors';
import { type Feed, feedsOf } from '../../service/feeds';
import { isEndDecided, isPlateWaiting } from '../../service/job-words';
import { describeReason, type PrintJob } from '../../service/print-job';
import { type Lock, LockLostError } from '../../state/membership';
import { eachInTurn } from '../../time/concurrency';
import { type Deadline, underDeadline } from '../../time/deadline';
import type { FileFacts } from '../../toolpath/facts';
import { AGAIN, type Backoff, retryUntil, waitBefore, WORK_IN_PROGRESS } from '../../time/retry';
import { isGone } from '../../upload/send';
import type { JobEnd } from '../../watch/views/job-end-waiter';
import { phrase, type Sentence } from '../../words/sentence';
import type { Outcome, PlateVerdict } from '../model/gate';
import { mayHavePrinted } from '../model/gate-sights';
import { awaitedPrints, hasBegun, isOpen, isUnnamed, lastAttempt, mayStart, openAttempts } from '../model/item';
import * as changes from '../model/item-changes';
import { type AttemptOf, findAttempt } from '../model/item-changes';
import { requirementOf } from '../model/requirement';
import { costOfFile, type Prices } from '../model/rules';
import { type Attempt, attemptKey, type ItemRecord, namesOf, type Recall, type UsedMaterial } from '../model/types';
import { usedBy } from '../model/usage';
import type { Assignment } from '../plan/plan';
import { configurationsOf } from '../plan/printers';
import { mismatchOf } from '../plan/suitability';
import { reservationOf } from '../records/items';
import { PLANNER } from '../records/records';
import type { QueueContext } from './context';

/** Longest time for a dispatch with its search, ms. */
const DISPATCH = 180_000;
/** Backoff for an outcome that the store refused, ms. */
const REPEAT = { first: 1_000, longest: 60_000 };
/** Reads of a printer after a dispatch, until its print shows, ms. */
const READS = { first: 5_000, longest: 20_000, within: 36_000 };
/** Time within which a print appears that the service accepted without naming it, ms. */
const SHOWN_WITHIN = 900_000;
/** Pauses between two removals of one job, ms. */
const REMOVE_AGAIN: Backoff = { first: 60_000, longest: 900_000 };
/** Time within which a removal must be proven (print queue, rule 6), and time for the removal itself, ms. */
const PROOF = { within: 120_000, removal: 60_000 };

/**
 * The attempts of a queue to print its copies, during one tenure of its planner. Each is sent exactly once: the assignment
 * is durable before anything is sent, and the print key `queue/item/copy/attempt` identifies its one dispatch (print queue,
 * rule 5). A copy leaves its printer only with proof. From top to bottom: an attempt is assigned, sent, settled where its
 * outcome is open, followed on the shared polls, recalled where it does not begin, and ended.
 */
export class Attempts {
  readonly #queue: QueueContext;
  readonly #deadline: Deadline;
  readonly #lock: Lock | null;
  readonly #ledger: Ledger;
  /** Attempts that are known not to have been sent, until that is written. */
  readonly #unsent = new Set<string>();
  /** Copies that are being assigned, sent or settled, and their clusters. */
  readonly #sending = new Map<string, string>();
  /** Sends and settlements, which a close does not cut off. */
  readonly #underWay = new Set<Promise<unknown>>();
  /** Attempts whose end is followed, and attempts whose job is being removed. */
  readonly #followed = new Set<string>();
  readonly #busy = new Set<string>();
  /** When dispatched attempts without a time of their own were first seen here, lived, ms. */
  readonly #waits = new Map<string, number>();
  /** Removals that did not succeed, by attempt: their number, and when the next one is due, lived, ms. */
  readonly #removals = new Map<string, { recall: Removal; count: number; dueAt: number }>();
  /** Attempts whose jobs some status has shown in another state than waiting, however old. */
  readonly #pastQueue = new Set<string>();
  /** Verdicts that were applied, by print. */
  readonly #judged = new Map<string, string>();

  /**
   * @param deadline ends with the tenure: nothing more is sent
   * @param lock the lease under which this runtime plans; null: none is needed
   */
  constructor(queue: QueueContext, deadline: Deadline, lock: Lock | null) {
    this.#queue = queue;
    this.#deadline = deadline;
    this.#lock = lock;
    this.#ledger = new Ledger(queue.store, queue.data.scope, lock ? [lock] : []);
  }

  /**
   * Reserves the printers of what earlier tenures left open. Rejects if that can't be written; nothing may be planned before.
   * Their outcomes are determined beside the rounds: until then they occupy their printers, and no others (rule 9).
   */
  async restore(): Promise<void> {
    const { data, queueId } = this.#queue;
    await data.reservations.restore(queueId, data.open.all);
    await this.judge();
    await this.#acceptPrinted();
  }

  /** Accepts what was printed in the mode `confirm`, and not judged, if the present mode waits for no verdict. */
  async #acceptPrinted(): Promise<void> {
    const { data, rules } = this.#queue;
    if (rules.gate === 'confirm') return;
    for (const item of data.awaiting.all)
      for (const attempt of awaitedPrints(item))
        await this.#change(item.itemId, (record) => changes.judged(record, attempt, { good: true }, this.#context));
  }

  /** Resolves when the outcomes of all sends are written, or can't be. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  /** Leaves to other queues the printers at which no copy has an open attempt. Rejects if that can't be written. */
  async release(): Promise<void> {
    const { data, queueId } = this.#queue;
    const wanted = new Map(this.#sending);
    for (const record of data.open.all)
      for (const { copy, clusterId } of openAttempts(record))
        wanted.set(reservationOf(queueId, record.itemId, copy), clusterId);
    // An item that could not be read may hold a printer.
    const isSeen = (itemId: string) => !data.items.unseen || data.items.get(itemId) !== undefined;
    await data.reservations.keepOnly(wanted, isSeen);
  }

  // Assign

  /**
   * Assigns copies to printers, and sends those whose assignment is durable. Returns whether another queue has a printer
   * of them, so that the rest is to be planned anew. Rejects if an assignment can't be written.
   */
  async assign(assignments: readonly Assignment[]): Promise<boolean> {
    const outcomes = await Promise.allSettled(
      assignments.map(async (assignment) => {
        const outcome = await this.#assign(assignment);
        // A record that another runtime has left locked holds back no other copy.
        if (outcome === 'reserved') this.#refuse(assignment.clusterId, RESERVED);
        else if (outcome) this.#track(this.#send(assignment.itemId, outcome));
        return outcome;
      }),
    );
    const failure = outcomes.find(({ status }) => status === 'rejected');
    if (failure?.status === 'rejected') throw failure.reason;
    return outcomes.some((outcome) => outcome.status === 'fulfilled' && outcome.value === 'reserved');
  }

  /** Resolves with the durable attempt; `reserved`: another queue has the printer; null: the item was changed meanwhile. */
  async #assign({ itemId, ...print }: Assignment): Promise<Attempt | 'reserved' | null> {
    const {
      data,
      views,
      view: { refusals },
      queueId,
    } = this.#queue;
    const { clusterId, copy } = print;
    const view = views.get(clusterId);
    const holder = reservationOf(queueId, itemId, copy);
    if (this.#sending.has(holder) || !refusals.mayTry(clusterId)) return null;
    this.#sending.set(holder, clusterId);
    let attempt: Attempt | undefined;
    let isAssigned = false;
    const change = (record: ItemRecord) => {
      attempt = undefined;
      if (!mayStart(record, this.#queue.clock.now())) return record;
      const after = changes.assigned(record, { ...print, clusterName: view?.status.name ?? null }, this.#context);
      if (after !== record) attempt = lastAttempt(after, copy);
      return after;
    };
    try {
      const most = Math.max(1, view?.printers.length ?? 1);
      const isReserved = await data.reservations.reserve(clusterId, holder, most).catch((thrown: unknown) => {
        this.#refuse(clusterId, unreserved(asPrintingError(thrown)));
        throw thrown;
      });
      if (!isReserved) return 'reserved';
      await this.#write(itemId, change);
      isAssigned = attempt !== undefined;
      return attempt ?? null;
    } catch (thrown) {
      // Another item, or another printer, may go first meanwhile.
      refusals.unsaved(itemId, clusterId, asPrintingError(thrown));
      throw thrown;
    } finally {
      if (!isAssigned) {
        this.#sending.delete(holder);
        refusals.tried(clusterId);
      }
    }
  }

  /** Keeps copies from a cluster for a while; they may go to others at once. */
  #refuse(clusterId: string, why: Sentence): void {
    const { view } = this.#queue;
    view.refusals.notFree(clusterId, why);
    view.invalidate();
  }

  // Send

  async #send(itemId: string, assigned: Attempt): Promise<void> {
    try {
      // Another runtime may have taken it back meanwhile.
      const attempt = this.#find(itemId, assigned);
      if (!attempt) return;
      const key = this.#keyOf(itemId, attempt);
      await this.#underKey(key, (held, limit) => this.#sendUnder(held, key, itemId, attempt, limit));
    } catch {
      // The outcome could not be written, or the key not be locked: the ledger knows what was sent.
      await this.#determine(itemId, assigned);
    } finally {
      this.#sending.delete(reservationOf(this.#queue.queueId, itemId, assigned.copy));
      this.#queue.view.refusals.tried(assigned.clusterId);
    }
    await this.#awaitSight(itemId, assigned);
  }

  async #sendUnder(ledger: Ledger, key: KeyOf, itemId: string, attempt: Attempt, deadline: Deadline): Promise<void> {
    const { data, dispatcher } = this.#queue;
    // Whoever held the lock before may have taken the attempt back, or sent it.
    if (this.#find(itemId, attempt)?.state !== 'assigned') return;
    const jobId = data.items.get(itemId)?.files[attempt.file]?.jobId ?? null;
    if (jobId === null || !(await this.#isReady(itemId, attempt, deadline))) return this.#unassign(itemId, attempt);
    const departure = this.#departureOf(itemId, attempt);
    let done: Dispatched;
    try {
      done = await dispatcher.dispatch(ledger, { ...key, jobId, startNow: true, note: null, deadline, departure });
    } catch (thrown) {
      const error = asPrintingError(thrown);
      if (error.code === 'PRINT_OUTCOME_UNKNOWN') return this.#lose(itemId, attempt);
      // After every other error of a dispatch, nothing was printed.
      this.#unsent.add(nameOf(itemId, attempt));
      await this.#unassign(itemId, attempt);
      if (!departure.isWithdrawn) await this.#refused(itemId, attempt, jobId, error);
      return;
    }
    this.#queue.view.refusals.accepted(itemId, attempt.clusterId);
    await this.#sent(itemId, attempt, done);
  }

  /** Reads the printer again, and decides by its present status (print queue, rule 2). Never rejects. */
  async #isReady(itemId: string, attempt: Attempt, deadline: Deadline): Promise<boolean> {
    const { view, obstacle, data, clock } = this.#queue;
    const requestedAt = clock.monotonic();
    try {
      const status = await this.#read(attempt.clusterId, deadline);
      view.invalidate();
      if (!this.#isFree(itemId, attempt)) await data.reads.share(status, requestedAt);
    } catch (thrown) {
      if (!obstacle()) view.refusals.unread(attempt.clusterId, unread(asPrintingError(thrown)));
      view.invalidate();
      return false;
    }
    return this.#mayLeave(itemId, attempt);
  }

  /**
   * The moment in which the call of an attempt leaves. What people have said until then holds: the item's record says
   * whether its copy left before or after their change, and a pause is looked up once more.
   */
  #departureOf(itemId: string, attempt: Attempt): Pick<Lock, 'secure'> & { isWithdrawn: boolean } {
    const { data } = this.#queue;
    const departure = {
      isWithdrawn: false,
      secure: async () => {
        await this.#write(itemId, (record) => changes.leaving(record, attempt, this.#context));
        // A pause at another runtime may not have been noticed here yet.
        if (this.#lock) await data.state.load();
        const check = () => {
          departure.isWithdrawn = !this.#find(itemId, attempt)?.hasLeft || !this.#mayLeave(itemId, attempt);
          if (departure.isWithdrawn) throw new LockLostError();
        };
        check();
        return check;
      },
    };
    return departure;
  }

  /** Whether a copy may go to its printer, by all that is known at this moment. */
  #mayLeave(itemId: string, attempt: Attempt): boolean {
    const { data, view, obstacle, clock } = this.#queue;
    const record = data.items.get(itemId);
    if (this.#deadline.aborted || obstacle() || view.isPaused || !record || !mayStart(record, clock.now()))
      return false;
    return this.#isFree(itemId, attempt);
  }

  /** Whether the printer of an attempt is free and suits, apart from the attempt itself. */
  #isFree(itemId: string, { clusterId, copy, file }: Attempt): boolean {
    const { data, view, views, rules } = this.#queue;
    const record = data.items.get(itemId);
    if (!record) return false;
    const requirement = requirementOf(record.require, record.files[file]?.facts ?? null, views.materialOf);
    return view
      .printersWithout(itemId, copy, clusterId)
      .some((printer) => printer.obstacle === null && mismatchOf(requirement, printer, rules) === null);
  }

  /**
   * Nothing was sent: the printer is not free (409), the file is gone, or the service refuses this item at this printer.
   * Any other failure, such as a lost connection, concerns neither.
   */
  async #refused(itemId: string, { clusterId, file }: Attempt, jobId: string, error: PrintingError): Promise<void> {
    const { service, view } = this.#queue;
    const isFile = error.code === 'NOT_FOUND' && (await isGone(service, jobId, this.#deadline));
    if (isFile) await this.#write(itemId, (record) => changes.withoutFile(record, file));
    else if (error.outcome === 'refused' && error.statusCode !== 409 && !OF_ACCOUNT.has(error.code)) {
      view.refusals.refused(itemId, clusterId, error);
      view.invalidate();
    } else this.#refuse(clusterId, refusedBy(error));
  }

  /** Reads a printer a few times after a dispatch, until it shows the print. Never rejects. */
  async #awaitSight(itemId: string, { copy, clusterId }: Attempt): Promise<void> {
    const { data, views } = this.#queue;
    const limit = this.#deadline.within(READS.within);
    const check = async (reads: number) => {
      const attempt = data.open.get(itemId)?.prints.findLast((one) => one.copy === copy);
      const { jobs } = views.get(clusterId)?.status ?? { jobs: [] };
      const isListed = jobs.some((job) => job.clusterJobId === attempt?.clusterJobId);
      if (attempt?.state !== 'dispatched' || isListed) return;
      if (reads > 0) await this.observe(await this.#read(clusterId, limit));
      return AGAIN;
    };
    await retryUntil(limit, READS, check).catch(() => undefined);
    limit.end();
  }

  // Settle

  /** Determines the outcomes of the assignments that are not being sent here, such as those that could not be written. */
  settle(): void {
    for (const [itemId, attempt] of this.#queue.data.open.all.flatMap(assignedOf))
      this.#track(this.#settle(itemId, attempt), { quietly: true });
  }

  async #settle(itemId: string, attempt: Attempt): Promise<void> {
    const holder = reservationOf(this.#queue.queueId, itemId, attempt.copy);
    if (this.#sending.has(holder)) return;
    this.#sending.set(holder, attempt.clusterId);
    await this.#determine(itemId, attempt).finally(() => this.#sending.delete(holder));
  }

  async #determine(itemId: string, of: AttemptOf): Promise<void> {
    await retryUntil(this.#deadline, REPEAT, async () => {
      const attempt = this.#find(itemId, of);
      if (attempt?.state !== 'assigned') return;
      const key = this.#keyOf(itemId, attempt);
      await this.#underKey(key, async (held, limit) => {
        const entry = await held.read(key);
        // Nothing is sent without an entry, but one may be lost.
        const mayBeSent = attempt.hasLeft === true && !this.#unsent.has(nameOf(itemId, attempt));
        if (!entry && !mayBeSent) return this.#unassign(itemId, attempt);
        if (!entry || entry === 'damaged') return this.#lose(itemId, attempt);
        if (entry.done) return this.#sent(itemId, attempt, entry.done);
        const found = await this.#queue.dispatcher.searchAgain(held, key, entry, limit).catch((thrown: unknown) => {
          const error = asPrintingError(thrown);
          if (error.code === 'PRINT_OUTCOME_UNKNOWN') return undefined;
          throw error;
        });
        await (found ? this.#sent(itemId, attempt, found) : this.#lose(itemId, attempt));
      });
    });
  }

  /** Runs work under the lock of a print key. Inside it, the dispatcher locks the job: always in this order. */
  #underKey(key: KeyOf, work: (held: Ledger, limit: Deadline) => Promise<void>): Promise<void> {
    const { clock } = this.#queue;
    return underDeadline(clock, { ms: DISPATCH, parent: this.#deadline }, (deadline) =>
      this.#ledger.waitForKey(key, work, deadline),
    );
  }

  async #sent(itemId: string, attempt: Attempt, { clusterJobId }: Dispatched): Promise<void> {
    await this.#write(itemId, (record) => changes.dispatched(record, attempt, clusterJobId, this.#context));
  }

  async #lose(itemId: string, attempt: Attempt): Promise<void> {
    await this.#write(itemId, (record) => changes.unknown(record, attempt, this.#context));
  }

  async #unassign(itemId: string, attempt: Attempt): Promise<void> {
    await this.#write(itemId, (record) => changes.unassigned(record, attempt, this.#context));
    this.#unsent.delete(nameOf(itemId, attempt));
  }

  // Follow

  /** Compares the attempts on a cluster with its status; its gates are up to date. Never rejects. */
  async observe(status: ClusterStatus): Promise<void> {
    if (this.#deadline.aborted) return;
    const here = this.#queue.data
      .concernedBy(status)
      .flatMap(({ itemId, prints }) =>
        prints.filter(({ clusterId }) => clusterId === status.clusterId).map((attempt) => ({ itemId, attempt })),
      );
    await eachInTurn(here, ({ itemId, attempt }) => this.#observe(itemId, attempt, status)).catch((thrown: unknown) =>
      this.#failed(thrown),
    );
  }

  async #observe(itemId: string, attempt: Attempt, status: ClusterStatus): Promise<void> {
    if (attempt.state === 'assigned' || this.#busy.has(nameOf(itemId, attempt))) return;
    if (!mayShowUp(attempt) && !isOpen(attempt)) return;
    const id = attempt.clusterJobId ?? (await this.#findPrint(itemId, attempt, status));
    if (id === null) return;
    if (isOpen(attempt)) return this.#observeOpen(itemId, attempt, id, status);
    const job = [...status.jobs, ...status.history].find(({ clusterJobId }) => clusterJobId === id);
    if (job && (attempt.clusterJobId === null || hasBegun(job)))
      await this.#change(itemId, (record) => changes.showedUp(record, attempt, id, this.#context));
  }

  /**
   * Finds in a status the print of an attempt whose printing is not known by name. Returns its id once it is there.
   * Rejects while the store can't be read.
   */
  async #findPrint(itemId: string, attempt: Attempt, status: ClusterStatus): Promise<string | null> {
    const { dispatcher, jobListReader } = this.#queue;
    const key = this.#keyOf(itemId, attempt);
    const listing = jobListReader.publish(status.clusterId, status);
    await dispatcher.settle(this.#ledger, key, listing, this.#deadline);
    const entry = await this.#ledger.read(key);
    return entry === 'damaged' ? null : (entry?.done?.clusterJobId ?? null);
  }

  /**
   * Names the prints that people have settled and that a status shows as ended, before the gates follow it: a plate that was
   * cleared for such a print does not wait again. Never rejects: a plate of which less is known waits.
   */
  async name(status: ClusterStatus): Promise<void> {
    if (this.#queue.data.unnamed.all.length > 0)
      await this.#name(status).catch((thrown: unknown) => this.#failed(thrown));
  }

  async #name(status: ClusterStatus): Promise<void> {
    const { data, queueId } = this.#queue;
    const past = [...status.history, ...status.jobs.filter((job) => endOf(job) !== 'ended' || isPlateWaiting(job))];
    for (const { itemId, prints, files } of data.unnamed.all)
      for (const attempt of prints.filter((one) => isUnnamed(one) && one.clusterId === status.clusterId)) {
        const { jobId } = files[attempt.file] ?? {};
        const isPossible = (job: PrintJob) => job.jobId === jobId && !data.printOf(job.clusterJobId ?? '');
        if (!past.some(isPossible)) continue;
        const id = await this.#findPrint(itemId, attempt, status);
        const job = past.find(({ clusterJobId }) => clusterJobId === id);
        if (id === null || !job) continue;
        const printer = { clusterId: status.clusterId, printerId: memberOf(job, status) };
        await data.plates.name(printer, attemptKey(queueId, itemId, attempt), id);
        await this.#change(itemId, (record) => changes.named(record, attempt, id));
      }
  }

  async #observeOpen(itemId: string, attempt: Attempt, id: string, status: ClusterStatus): Promise<void> {
    const listed = status.jobs.find(({ clusterJobId }) => clusterJobId === id);
    const past = status.history.find(({ clusterJobId }) => clusterJobId === id);
    if (listed && listed.state !== 'waiting') this.#pastQueue.add(nameOf(itemId, attempt));
    // The lists of an offline printer may be old.
    const isCurrent = status.online !== false && !status.stale;
    if (listed && isCurrent && hasBegun(listed)) await this.#begin(itemId, attempt, id, memberOf(listed, status));
    else if (listed || attempt.clusterJobId === null)
      await this.#change(itemId, (record) => changes.dispatched(record, attempt, id, this.#context));
    else if (past && endOf(past) !== 'ended')
      await this.#end(itemId, attempt, { outcome: endOf(past), job: past }, memberOf(past, status));
    // The end of a print is decided while its printer is still occupied.
    if (listed && endOf(listed) !== 'ended')
      await this.#end(
        itemId,
        this.#find(itemId, attempt) ?? attempt,
        { outcome: endOf(listed), job: listed },
        memberOf(listed, status),
      );
    if (!listed || !isCurrent || hasBegun(listed)) return;
    const why = isRefused(listed) ? 'changes' : isOvertaken(listed, status) ? 'overtaken' : null;
    if (why === null || attempt.recall) return;
    const recall = this.#newRecall(why, why === 'changes' ? this.#configurationOf(attempt) : null);
    await this.#change(itemId, (record) => changes.recallWanted(record, attempt, recall));
  }

  async #begin(itemId: string, attempt: Attempt, clusterJobId: string, printerId: string | null): Promise<void> {
    const found = { clusterJobId, printerId };
    await this.#change(itemId, (record) => changes.started(record, attempt, found, this.#context));
  }

  /** Follows and recalls the dispatched attempts, as their records and the time demand. */
  follow(): void {
    for (const record of this.#queue.data.open.all)
      for (const attempt of record.prints) {
        const { itemId } = record;
        if (attempt.state === 'printing') this.#forget(itemId, attempt);
        else if (attempt.state !== 'dispatched') this.#waits.delete(nameOf(itemId, attempt));
        if (!isOpen(attempt) || attempt.state === 'assigned') continue;
        if (attempt.clusterJobId !== null) this.#followEnd(itemId, attempt, attempt.clusterJobId);
        const why = this.#recallOf(record, attempt);
        if (this.#isLost(record, attempt))
          this.#run(itemId, attempt, () => this.#change(itemId, (now) => changes.unknown(now, attempt, this.#context)));
        if (why) this.#run(itemId, attempt, () => this.#recall(itemId, attempt, why));
      }
  }

  #followEnd(itemId: string, attempt: Attempt, clusterJobId: string): void {
    const name = nameOf(itemId, attempt);
    if (this.#followed.has(name)) return;
    this.#followed.add(name);
    this.#queue.watcher
      .follow(attempt.clusterId, clusterJobId, { signal: this.#deadline.signal })
      .then(async (end) => {
        const open = this.#find(itemId, attempt);
        if (open && isOpen(open) && !this.#deadline.aborted) await this.#end(itemId, open, end);
      })
      .catch((thrown: unknown) => {
        // The next round follows it again.
        this.#followed.delete(name);
        this.#failed(thrown);
      });
  }

  // Recall

  /** Times at which attempts will have waited too long for their beginnings, ms since 1970. */
  get dueTimes(): number[] {
    const { rules, clock, data } = this.#queue;
    const within = rules.startWithin || Infinity;
    const waits = data.open.all.flatMap((record) =>
      record.prints
        .filter(({ state }) => state === 'dispatched')
        .map((attempt) => {
          const { dueAt } = this.#removals.get(nameOf(record.itemId, attempt)) ?? {};
          return dueAt === undefined ? within - this.#waited(record, attempt) : dueAt - data.lived.now;
        }),
    );
    return waits.map((wait) => clock.now() + wait);
  }

  /** Time that was lived since the dispatch of an attempt, ms. */
  #waited({ itemId }: ItemRecord, attempt: Attempt): number {
    const lived = this.#queue.data.lived.now;
    const name = nameOf(itemId, attempt);
    const since = attempt.dispatchedLived ?? this.#waits.get(name) ?? lived;
    if (attempt.dispatchedLived === undefined) this.#waits.set(name, since);
    return Math.max(0, lived - since);
  }

  #recallOf(record: ItemRecord, attempt: Attempt): Recall['why'] | null {
    const { startWithin } = this.#queue.rules;
    const { state, clusterJobId, recall } = attempt;
    if (state !== 'dispatched' || clusterJobId === null) return null;
    const isLate = startWithin > 0 && this.#waited(record, attempt) >= startWithin;
    const why = record.isRemoved ? 'removed' : (recall?.why ?? (isLate ? 'late' : null));
    const wanted = {
      why: why ?? 'late',
      isStuck: recall?.isStuck ?? false,
      tries: recall?.tries,
      again: recall?.again,
    };
    return why !== null && this.#mayRemove(nameOf(record.itemId, attempt), wanted) ? why : null;
  }

  /** Whether a removal is due: the first one, one that a person asks for, or a later one after a pause. */
  #mayRemove(name: string, recall: Removal): boolean {
    const now = this.#queue.data.lived.now;
    const last = this.#removals.get(name);
    if (last?.recall.why === recall.why && last.recall.isStuck === recall.isStuck) return last.dueAt <= now;
    // An earlier tenure was refused.
    if (!last && recall.isStuck && recall.again !== undefined)
      this.#removals.set(name, { recall, count: recall.tries ?? 1, dueAt: recall.again });
    else if (!last && recall.isStuck) this.#notRemoved(name, recall);
    return last !== undefined || !recall.isStuck;
  }

  /** Returns what the record of a refused removal says about the next one. */
  #notRemoved(name: string, recall: Removal): Pick<Recall, 'tries' | 'again'> {
    const count = this.#removals.get(name)?.count ?? 0;
    const dueAt = this.#queue.data.lived.now + waitBefore(count, REMOVE_AGAIN);
    this.#removals.set(name, { recall, count: count + 1, dueAt });
    return { tries: count + 1, again: dueAt };
  }

  /** Forgets what is only needed until a print begins, or its job is gone. */
  #forget(itemId: string, attempt: Attempt): void {
    const name = nameOf(itemId, attempt);
    this.#waits.delete(name);
    this.#removals.delete(name);
    this.#pastQueue.delete(name);
  }

  /** Whether the service accepted a print that never appeared under any name. */
  #isLost(record: ItemRecord, attempt: Attempt): boolean {
    const within = this.#queue.rules.startWithin || SHOWN_WITHIN;
    const isUnnamed = attempt.state === 'dispatched' && attempt.clusterJobId === null;
    return isUnnamed && this.#waited(record, attempt) >= within;
  }

  async #recall(itemId: string, attempt: Attempt, why: Recall['why']): Promise<void> {
    const { clusterJobId } = attempt;
    if (clusterJobId === null) return;
    const wanted = attempt.recall?.why === why ? attempt.recall : this.#newRecall(why, null);
    await this.#change(itemId, (record) => changes.recallWanted(record, attempt, wanted));
    const outcome = await this.#removeJob(itemId, attempt, clusterJobId);
    if (this.#deadline.aborted) return;
    let next: Pick<Recall, 'tries' | 'again'> = {};
    if (outcome === 'gone' || outcome === 'begun') this.#forget(itemId, attempt);
    else next = this.#notRemoved(nameOf(itemId, attempt), { why, isStuck: outcome === 'refused' || wanted.isStuck });
    const context = this.#context;
    await this.#change(itemId, (record) => {
      if (outcome === 'gone') return changes.recalled(record, attempt, context);
      if (outcome === 'begun') return changes.started(record, attempt, { clusterJobId, printerId: null }, context);
      if (outcome === 'refused') return changes.recallWanted(record, attempt, { ...wanted, isStuck: true, ...next });
      return changes.unknown(record, attempt, context);
    });
  }

  /**
   * Removes a job from its printer. Proof is the success of the removal, together with a status requested after it in which
   * the job is neither queued nor printing. The status of an offline printer may be old: it is proof of a job that was never
   * seen past the queue (print queue, rule 6). Never rejects.
   */
  #removeJob(itemId: string, { clusterId, ...attempt }: Attempt, clusterJobId: string): Promise<RemovalOutcome> {
    const { clock, jobControl, views } = this.#queue;
    const known = views.get(clusterId)?.status.jobs.find((other) => other.clusterJobId === clusterJobId);
    const isOnlyQueued =
      !this.#pastQueue.has(nameOf(itemId, attempt)) && (known === undefined || known.state === 'waiting');
    return underDeadline(clock, { ms: PROOF.within, parent: this.#deadline }, async (deadline) => {
      const removed = await underDeadline(clock, { ms: PROOF.removal, parent: deadline }, (limit) =>
        jobControl.run({ ...REMOVAL, clusterId, clusterJobId, deadline: limit }).then(() => null, asPrintingError),
      );
      return retryUntil(deadline, WORK_IN_PROGRESS, async () => {
        const status = await this.#read(clusterId, deadline);
        if (status.online === false && (removed !== null || !isOnlyQueued)) return AGAIN;
        const listed = status.jobs.find((other) => other.clusterJobId === clusterJobId);
        const past = status.history.find((other) => other.clusterJobId === clusterJobId);
        if ([listed, past].some((seen) => seen && hasBegun(seen))) return 'begun';
        if (listed) return removed && isRefusal(removed) ? 'refused' : AGAIN;
        return removed ? 'unproven' : 'gone';
      });
    }).catch(() => 'unproven');
  }

  #newRecall(why: Recall['why'], configuration: string | null): Recall {
    return { why, since: this.#queue.clock.now(), isStuck: false, configuration };
  }

  /** Present configuration of an attempt's printer. */
  #configurationOf({ clusterId }: Attempt): string | null {
    return configurationsOf(this.#queue.view.input.printers).get(clusterId) ?? null;
  }

  // End

  /** @param printerId the member of a group that printed it; null: not known, or alone */
  async #end(
    itemId: string,
    attempt: Attempt,
    { job, isDisconnected, ...end }: JobEnd,
    printerId: string | null = null,
  ): Promise<void> {
    const { data, rules, clock } = this.#queue;
    this.#forget(itemId, attempt);
    const hasStarted = attempt.startedAt !== null || (job !== null && hasBegun(job));
    const outcome = end.outcome === 'ended' && job && isDeleted(job) && !hasStarted ? 'aborted' : end.outcome;
    if (isDisconnected || outcome === 'ended') {
      // Of one that was in doubt before, a person may have cleared the plate since.
      if (attempt.startedAt !== null && attempt.state !== 'unknown' && !isDisconnected)
        await this.#closeGate(itemId, attempt, 'unknown', job);
      // Its outcome is unknown.
      if (!this.#busy.has(nameOf(itemId, attempt)))
        await this.#change(itemId, (record) => changes.unknown(record, attempt, this.#context));
      return;
    }
    const began = hasStarted || outcome === 'finished';
    // Closed before the printer counts as free again.
    if (began || (outcome === 'failed' && (!job || mayHavePrinted(job))))
      await this.#closeGate(itemId, attempt, outcome, job);
    if (!began && outcome === 'aborted' && attempt.recall)
      return this.#change(itemId, (record) => changes.recalled(record, attempt, this.#context));
    const seconds = job?.timeElapsed ?? null;
    const facts = data.items.get(itemId)?.files[attempt.file]?.facts ?? null;
    const isWhole = outcome === 'finished';
    const used =
      began || (seconds ?? 0) > 0
        ? usedBy(facts, this.#feedsOf(attempt, job), isWhole ? 1 : shareOf(job, facts), !isWhole)
        : [];
    const weights = isWhole ? undefined : weightsOf(used);
    const cost = began || used.length > 0 ? costOfFile(rules.prices, facts, seconds, weights) : nothingOf(rules.prices);
    const reason = isWhole || !job ? null : describeReason(job);
    const ended = { outcome, at: clock.now(), printerId, seconds, cost, used, reason };
    await this.#change(itemId, (now) => changes.ended(now, attempt, ended, this.#context));
    if (job && isLeftInQueue(job) && job.clusterJobId !== null) this.#clearAway(itemId, attempt, job.clusterJobId);
  }

  /** Feeds of the printer of an attempt; null: of a group, the member is not known. */
  #feedsOf({ clusterId, printerId }: Attempt, job: PrintJob | null): readonly Feed[] | null {
    const printers = this.#queue.views.get(clusterId)?.printers ?? [];
    const named = printers.find((printer) => printer.printerId === (printerId ?? job?.printerId));
    const printer = printers.length === 1 ? printers[0] : named;
    return printer ? feedsOf(printer) : null;
  }

  /** Removes a failed job from the queue of its printer, where it could still print once its impediment has gone. */
  #clearAway(itemId: string, attempt: Attempt, clusterJobId: string): void {
    this.#run(itemId, attempt, async () => {
      await this.#removeJob(itemId, attempt, clusterJobId);
    });
  }

  async #closeGate(itemId: string, attempt: Attempt, outcome: Outcome, job: PrintJob | null): Promise<void> {
    const { data, queueId } = this.#queue;
    const machines = attempt.machines ?? data.reservations.machinesAt(attempt.clusterId);
    const print = { ...attempt, machines, printerId: attempt.printerId ?? job?.printerId ?? null };
    await data.plates.close(print, namesOf(queueId, itemId, attempt), outcome);
  }

  /** Records the verdicts on parts, which people gave with their plates. Rejects if one can't be written. */
  async judge(): Promise<void> {
    const { data } = this.#queue;
    const verdicts = data.plates.verdicts();
    for (const id of this.#judged.keys()) if (!verdicts.has(id)) this.#judged.delete(id);
    const fresh = [...verdicts].flatMap(([id, verdict]) => {
      const print = this.#judged.get(id) === textOf(verdict) ? undefined : data.printOf(id);
      return print ? [{ id, verdict, ...print }] : [];
    });
    await eachInTurn(fresh, async ({ id, verdict, item, attempt }) => {
      await this.#change(item.itemId, (record) => changes.judged(record, attempt, verdict, this.#context));
      // The verdict may come before the end of the print is known.
      if (!isOpen(attempt)) this.#judged.set(id, textOf(verdict));
    });
    await this.#findPlates();
  }

  /**
   * Finds the plates on which the prints lie that wait for a verdict: after a loss or a damage, no gate may know them. Those
   * that others have followed are judged by that. Rejects if a change can't be written.
   */
  async #findPlates(): Promise<void> {
    const { data, queueId, rules } = this.#queue;
    if (rules.gate !== 'confirm') return;
    const awaited = data.awaiting.all.flatMap((item) => awaitedPrints(item).map((attempt) => ({ item, attempt })));
    // Of several at one machine, the last one lies there.
    awaited.sort((one, other) => (other.attempt.endedAt ?? 0) - (one.attempt.endedAt ?? 0));
    await eachInTurn(awaited, async ({ item: { itemId }, attempt }) => {
      const verdict = await data.plates.hold(attempt, namesOf(queueId, itemId, attempt));
      if (verdict) await this.#change(itemId, (record) => changes.judged(record, attempt, verdict, this.#context));
    });
  }

  // What all of them need

  /** Reads a status, and follows its gates as a poll does. Throws the errors of the call and of the store. */
  async #read(clusterId: string, deadline: Deadline): Promise<ClusterStatus> {
    const { views, data, clock } = this.#queue;
    const requestedAt = clock.monotonic();
    const status = await views.read(clusterId, deadline);
    await this.name(status);
    await data.gates.observe(status, requestedAt);
    return status;
  }

  /** Changes an item, unless the change makes no difference by the record in memory, as most observations do. */
  async #change(itemId: string, change: (record: ItemRecord) => ItemRecord): Promise<void> {
    const record = this.#queue.data.items.get(itemId);
    if (!record || change(record) !== record) await this.#write(itemId, change);
  }

  async #write(itemId: string, change: (record: ItemRecord) => ItemRecord): Promise<void> {
    await this.#queue.data.items.change(itemId, change, PLANNER);
  }

  /** Runs the work on an attempt's job, one at a time. */
  #run(itemId: string, attempt: Attempt, work: () => Promise<void>): void {
    const name = nameOf(itemId, attempt);
    if (this.#busy.has(name)) return;
    this.#busy.add(name);
    work()
      .catch((thrown: unknown) => this.#failed(thrown))
      .finally(() => this.#busy.delete(name));
  }

  /** Tracks work that must not be cut off. */
  #track(work: Promise<unknown>, { quietly = false } = {}): void {
    const tracked = work
      .catch((thrown: unknown) => this.#failed(thrown))
      .finally(() => {
        this.#underWay.delete(tracked);
        // Work that changed an item has planned again by that.
        if (!quietly) this.#queue.changed();
      });
    this.#underWay.add(tracked);
  }

  #failed(thrown: unknown): void {
    if (!this.#deadline.aborted) this.#queue.failed(thrown);
  }

  #find(itemId: string, of: AttemptOf): Attempt | undefined {
    const record = this.#queue.data.items.get(itemId);
    return record && findAttempt(record, of);
  }

  #keyOf(itemId: string, attempt: Attempt): KeyOf {
    return { clusterId: attempt.clusterId, printKey: attemptKey(this.#queue.queueId, itemId, attempt) };
  }

  get #context() {
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

/**
 * Outcome of a removal. `gone`: proven. `begun`: it came too late. `refused`: the service or the printer did not remove
 * the job. `unproven`: the job may be there or not.
 */
type RemovalOutcome = 'gone' | 'begun' | 'refused' | 'unproven';

/** What decides when a removal is due. */
type Removal = Pick<Recall, 'why' | 'isStuck'> & { tries?: number | undefined; again?: number | undefined };

/** The job may wait at the service, whether or not its printer is online. */
const REMOVAL = { action: 'remove', data: {}, mayBeOffline: true, onStage: () => undefined };

const textOf = ({ good, parts }: PlateVerdict): string => `${good}/${parts ?? ''}`;

const nameOf = (itemId: string, { copy, attempt }: Pick<Attempt, 'copy' | 'attempt'>): string =>
  `${itemId}/${copy}/${attempt}`;

/** How much of its file a print that did not finish has printed, by time; null: not known. */
function shareOf(job: PrintJob | null, facts: FileFacts | null): number | null {
  const total = job?.timeTotal ?? facts?.seconds ?? 0;
  const elapsed = job?.timeElapsed ?? null;
  return elapsed === null || total <= 0 ? null : Math.min(1, elapsed / total);
}

/** Weight that a print took, by extruder, g. */
function weightsOf(used: readonly UsedMaterial[]): (number | null)[] {
  const weights: (number | null)[] = [];
  for (const { extruder, weight } of used) weights[extruder] = weight;
  return Array.from(weights, (weight) => weight ?? null);
}

/** Cost of a print that never began. */
const nothingOf = ({ hour }: Prices): number | null => (hour === null ? null : 0);

const assignedOf = ({ itemId, prints }: ItemRecord): [itemId: string, attempt: Attempt][] =>
  prints.filter(({ state }) => state === 'assigned').map((attempt) => [itemId, attempt]);

/** Whether the service asks for changes before the job begins. */
const isRefused = ({ changesRequired, state }: PrintJob): boolean =>
  changesRequired.length > 0 || state === 'attention';

/** Whether a job has failed before it began, and stays in the queue of its printer. */
const isLeftInQueue = (job: PrintJob): boolean =>
  job.state === 'failed' && !hasBegun(job) && (ruleOf('remove')?.from?.includes(job.status ?? '') ?? false);

/** Whether somebody has removed a job from the queue of its printer. */
const isDeleted = ({ deletedAt, serviceState }: PrintJob): boolean => deletedAt !== null || serviceState === 'deleted';

/** Whether a foreign print has begun on the printer before the job, which would then begin on the same plate. */
const isOvertaken = ({ clusterJobId }: PrintJob, { printers, jobs }: ClusterStatus): boolean =>
  printers.length === 1 && jobs.some((other) => other.clusterJobId !== clusterJobId && hasBegun(other));

/** Whether a print that counts as not printed could still appear. */
const mayShowUp = ({ state, settledAs, told }: Attempt): boolean =>
  state === 'recalled' &&
  !told.includes('print.extra') &&
  (settledAs === 'not-printed' || told.includes('print.recalled'));

const endOf = (job: PrintJob): JobEnd['outcome'] => {
  const { state } = job;
  const isEnd = state === 'finished' || state === 'failed' || state === 'aborted';
  return isEnd && isEndDecided(job) ? state : 'ended';
};

/** Whether the job is certainly still there because its removal was refused or failed. */
const isRefusal = ({ code, outcome, obstacle }: PrintingError): boolean =>
  obstacle !== 'offline' && (code === 'ACTION_FAILED' || code === 'NOT_ACCEPTED' || outcome === 'refused');

/** Refusals that concern the account at any printer. */
const OF_ACCOUNT: ReadonlySet<string> = new Set(['NOT_SIGNED_IN', 'RATE_LIMITED']);

const RESERVED = phrase`Another print queue has a print at the printer.`;
const unread = (error: PrintingError): Sentence =>
  phrase`The printer could not be read just before a print was sent: ${error.sentence}`;
const unreserved = (error: PrintingError): Sentence => phrase`The printer could not be reserved: ${error.sentence}`;
const refusedBy = (error: PrintingError): Sentence =>
  phrase`The service refused a print on the printer: ${error.sentence}`;

/** The member of a group that a job is on: only the service chooses it. Null where the printer is alone. */
const memberOf = ({ printerId }: PrintJob, { printers }: ClusterStatus): string | null =>
  printers.length > 1 ? printerId : null;
