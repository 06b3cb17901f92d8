import { ruleOf } from '../../control/job-rules';
import type { DepartureGuard } from '../../print/dispatcher';
import type { Dispatched, Ledger } from '../../print/ledger';
import type { KeyOf } from '../../print/open-keys';
import { isWithin } from '../../rules/hours';
import type { ClusterStatus } from '../../service/cluster';
import { asPrintingError, type PrintingError } from '../../service/errors';
import { type Feed, feedsOf } from '../../service/feeds';
import { describeReason, type PrintJob } from '../../service/print-job';
import { type Lock, LockLostError } from '../../state/membership';
import { eachInTurn } from '../../time/concurrency';
import { type Deadline, underDeadline } from '../../time/deadline';
import { AGAIN, retryUntil } from '../../time/retry';
import type { FileFacts } from '../../toolpath/facts';
import { isGone } from '../../upload/send';
import type { JobEnd } from '../../watch/views/job-end-waiter';
import { phrase, type Sentence } from '../../words/sentence';
import type { Outcome, PlateVerdict } from '../model/gate';
import { mayHavePrinted } from '../model/gate-sights';
import { awaitedPrints, hasBegun, isOpen, lastAttempt, mayStart, openAttempts } from '../model/item';
import * as changes from '../model/item-changes';
import type { AttemptOf } from '../model/item-changes';
import { requirementOf } from '../model/requirement';
import { costOfFile, type Prices } from '../model/rules';
import { type Attempt, type ItemRecord, nameOf, namesOf, type UsedMaterial } from '../model/types';
import { usedBy } from '../model/usage';
import type { Assignment } from '../plan/plan';
import { mismatchOf } from '../plan/suitability';
import { reservationOf } from '../records/items';
import { AttemptRecords } from './attempt-records';
import type { QueueContext } from './context';
import { Recalls } from './recalls';
import { endOf, memberOf, SeenPrints } from './seen-prints';

/** Longest time for a dispatch with its search, ms. */
const DISPATCH = 180_000;
/** Age of the last read of a printer after which nothing is sent to it, ms. */
const OLD_AFTER = 30_000;
/** Backoff for an outcome that the store refused, ms. */
const REPEAT = { first: 1_000, longest: 60_000 };
/** Reads of a printer after a dispatch, until its print shows, ms. */
const READS = { first: 5_000, longest: 20_000, within: 36_000 };

/**
 * The attempts of a queue to print its copies, during one tenure of its planner. Each is sent exactly once: the assignment
 * is durable before anything is sent, and the print key `queue/item/copy/attempt` identifies its one dispatch (print queue,
 * rule 5). From top to bottom: an attempt is assigned, sent, settled where its outcome is open, followed on the shared polls, and
 * ended. A print that does not begin is recalled (`recalls.ts`).
 */
export class Attempts {
  readonly #queue: QueueContext;
  readonly #deadline: Deadline;
  readonly #lock: Lock | null;
  readonly #records: AttemptRecords;
  readonly #seen: SeenPrints;
  readonly #recalls: Recalls;
  /** Attempts that are known not to have been sent, until that is written. */
  readonly #unsent = new Set<string>();
  /** Copies that are being assigned, sent or settled, and their clusters. */
  readonly #sending = new Map<string, string>();
  /** Sends and settlements, which a close does not cut off. */
  readonly #underWay = new Set<Promise<unknown>>();
  /** The work of the gates on the last status of each cluster, while it is under way. */
  readonly #following = new Map<string, Promise<void>>();
  /** Attempts whose end is followed. */
  readonly #followed = new Set<string>();
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
    this.#records = new AttemptRecords(queue, deadline, lock);
    this.#seen = new SeenPrints(queue, deadline, this.#records);
    this.#recalls = new Recalls(queue, deadline, this.#records, this.#seen);
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
        await this.#records.change(item.itemId, (record) =>
          changes.judged(record, attempt, { good: true }, this.#records.context),
        );
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
    const holder = reservationOf(queueId, itemId, copy);
    if (this.#sending.has(holder) || !refusals.mayTry(clusterId)) return null;
    this.#sending.set(holder, clusterId);
    let attempt: Attempt | undefined;
    let isAssigned = false;
    const change = (record: ItemRecord) => {
      attempt = undefined;
      if (!mayStart(record, this.#queue.clock.now())) return record;
      const after = changes.assigned(
        record,
        { ...print, clusterName: views.get(clusterId)?.status.name ?? null },
        this.#records.context,
      );
      if (after !== record) attempt = lastAttempt(after, copy);
      return after;
    };
    try {
      const isReserved = await this.#reserve(clusterId, itemId, copy).catch((thrown: unknown) => {
        this.#refuse(clusterId, unreserved(asPrintingError(thrown)));
        throw thrown;
      });
      if (!isReserved) {
        const hasEnded = (clusterJobId: string) => data.gates.hasEnded(clusterId, clusterJobId);
        // A later try releases a reservation that can't be released now.
        await data.reservations.releaseSpent(clusterId, hasEnded).catch(() => undefined);
        return 'reserved';
      }
      await this.#records.write(itemId, change);
      isAssigned = attempt !== undefined;
      if (attempt) views.sending(clusterId, nameOf(itemId, attempt));
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

  /** Reserves a cluster for a copy. Returns whether there is room for it beside the copies of all queues. */
  async #reserve(clusterId: string, itemId: string, copy: number): Promise<boolean> {
    const { data, views, view, queueId, clock } = this.#queue;
    const holder = reservationOf(queueId, itemId, copy);
    const { printers = [], status } = views.get(clusterId) ?? {};
    if (printers.length < 2 || !status)
      return data.reservations.reserve(clusterId, holder, { printers: 1, free: 1, known: new Set() });
    const { seen, areNowhere } = await data.reservations.othersIn(status, clock.now());
    const free = view.printersWithout(itemId, copy, clusterId).filter(({ obstacle }) => obstacle === null).length;
    const own = data.open.all.flatMap((record) =>
      openAttempts(record).map((attempt) => reservationOf(queueId, record.itemId, attempt.copy)),
    );
    // If none is free any more, the read before the departure shows that.
    const room = {
      printers: printers.length,
      free: areNowhere ? 0 : free || Infinity,
      known: new Set([...seen, ...own]),
    };
    return data.reservations.reserve(clusterId, holder, room);
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
      await this.#seen.named(assigned.clusterId);
      // Another runtime may have taken it back meanwhile.
      const attempt = this.#records.find(itemId, assigned);
      if (!attempt) return;
      const key = this.#records.keyOf(itemId, attempt);
      await this.#underKey(key, (held, limit) => this.#sendUnder(held, key, itemId, attempt, limit));
    } catch {
      // The outcome could not be written, or the key not be locked: the ledger knows what was sent.
      await this.#determine(itemId, assigned);
    } finally {
      this.#sending.delete(reservationOf(this.#queue.queueId, itemId, assigned.copy));
      this.#queue.views.sent(assigned.clusterId, nameOf(itemId, assigned));
      this.#queue.view.refusals.tried(assigned.clusterId);
    }
    await this.#awaitSight(itemId, assigned);
  }

  async #sendUnder(ledger: Ledger, key: KeyOf, itemId: string, attempt: Attempt, deadline: Deadline): Promise<void> {
    const { data, dispatcher } = this.#queue;
    // Whoever held the lock before may have taken the attempt back, or sent it.
    if (this.#records.find(itemId, attempt)?.state !== 'assigned') return;
    const jobId = data.items.get(itemId)?.files[attempt.file]?.jobId ?? null;
    if (jobId === null) return this.#unassign(itemId, attempt);
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

  /** Reads the printer again, and decides by its present status. Never rejects. */
  async #isReady(itemId: string, attempt: Attempt, deadline: Deadline): Promise<boolean> {
    const { view, obstacle, data, clock } = this.#queue;
    const requestedAt = clock.monotonic();
    try {
      const status = await this.#seen.readToSend(attempt.clusterId, deadline);
      view.invalidate();
      if (!status) return false;
      if (!this.#isFree(itemId, attempt)) await data.reads.share(status, requestedAt);
    } catch (thrown) {
      if (!obstacle()) view.refusals.unread(attempt.clusterId, unread(asPrintingError(thrown)));
      view.invalidate();
      return false;
    }
    return this.#mayLeave(itemId, attempt);
  }

  /**
   * Guards the departure of an attempt's call. The printer is read again just before it (print queue, rule 2). Changes by people
   * hold until the call leaves: the item's record says whether its copy left before or after them, and a pause is looked up once
   * more.
   */
  #departureOf(itemId: string, attempt: Attempt): DepartureGuard & { isWithdrawn: boolean } {
    const { data, clock } = this.#queue;
    let readAt = -Infinity;
    const departure = {
      isWithdrawn: false,
      ready: async (deadline: Deadline) => {
        readAt = clock.monotonic();
        departure.isWithdrawn = !(await this.#isReady(itemId, attempt, deadline));
        if (departure.isWithdrawn) throw new LockLostError();
      },
      secure: async () => {
        await this.#records.write(itemId, (record) => changes.leaving(record, attempt, this.#records.context));
        // A pause at another runtime may not have been noticed here yet.
        if (this.#lock) await data.state.load();
        const check = () => {
          const isOld = clock.monotonic() - readAt > OLD_AFTER;
          const hasLeft = this.#records.find(itemId, attempt)?.hasLeft === true;
          departure.isWithdrawn = isOld || !hasLeft || !this.#mayLeave(itemId, attempt);
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
    const { data, view, obstacle, rules, clock } = this.#queue;
    const record = data.items.get(itemId);
    const now = clock.now();
    if (this.#deadline.aborted || obstacle() || view.isPaused || !isWithin(rules.hours, now)) return false;
    return record !== undefined && mayStart(record, now) && this.#isFree(itemId, attempt);
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
    if (isFile) await this.#records.write(itemId, (record) => changes.withoutFile(record, file));
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
      if (reads > 0) await this.#compare(await this.#seen.read(clusterId, limit));
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
      const attempt = this.#records.find(itemId, of);
      if (attempt?.state !== 'assigned') return;
      const key = this.#records.keyOf(itemId, attempt);
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
      this.#records.ledger.waitForKey(key, work, deadline),
    );
  }

  async #sent(itemId: string, attempt: Attempt, { clusterJobId }: Dispatched): Promise<void> {
    await this.#records.write(itemId, (record) =>
      changes.dispatched(record, attempt, clusterJobId, this.#records.context),
    );
  }

  async #lose(itemId: string, attempt: Attempt): Promise<void> {
    await this.#records.write(itemId, (record) => changes.unknown(record, attempt, this.#records.context));
  }

  async #unassign(itemId: string, attempt: Attempt): Promise<void> {
    await this.#records.write(itemId, (record) => changes.unassigned(record, attempt, this.#records.context));
    this.#unsent.delete(nameOf(itemId, attempt));
  }

  // Follow

  /** Follows a status. Never rejects. */
  async observe(status: ClusterStatus, requestedAt: number): Promise<void> {
    const { clusterId } = status;
    const following = this.#followGates(status, requestedAt);
    this.#following.set(clusterId, following);
    await following;
    if (this.#following.get(clusterId) === following) this.#following.delete(clusterId);
    await this.#compare(status);
  }

  /** Compares the attempts on a cluster with its status; its gates are up to date. Never rejects. */
  async #compare(status: ClusterStatus): Promise<void> {
    if (this.#deadline.aborted) return;
    const here = this.#queue.data
      .concernedBy(status)
      .flatMap(({ itemId, prints }) =>
        prints.filter(({ clusterId }) => clusterId === status.clusterId).map((attempt) => ({ itemId, attempt })),
      );
    await eachInTurn(here, ({ itemId, attempt }) => this.#observe(itemId, attempt, status)).catch((thrown: unknown) =>
      this.#records.failed(thrown),
    );
  }

  /** A gate closes before the end of its print is recorded. Never rejects. */
  async #followGates(status: ClusterStatus, requestedAt: number): Promise<void> {
    await this.#seen.name(status);
    await this.#queue.data.gates.observe(status, requestedAt).catch((thrown: unknown) => this.#records.failed(thrown));
  }

  async #observe(itemId: string, attempt: Attempt, status: ClusterStatus): Promise<void> {
    if (attempt.state === 'assigned' || this.#records.isBusy(itemId, attempt)) return;
    if (!mayShowUp(attempt) && !isOpen(attempt)) return;
    const id = attempt.clusterJobId ?? (await this.#seen.find(itemId, attempt, status));
    if (id === null) return;
    if (isOpen(attempt)) return this.#observeOpen(itemId, attempt, id, status);
    const job = [...status.jobs, ...status.history].find(({ clusterJobId }) => clusterJobId === id);
    if (job && (attempt.clusterJobId === null || hasBegun(job)))
      await this.#records.change(itemId, (record) => changes.showedUp(record, attempt, id, this.#records.context));
  }

  async #observeOpen(itemId: string, attempt: Attempt, id: string, status: ClusterStatus): Promise<void> {
    const listed = status.jobs.find(({ clusterJobId }) => clusterJobId === id);
    const past = status.history.find(({ clusterJobId }) => clusterJobId === id);
    if (listed) this.#recalls.notice(itemId, attempt, listed);
    // The lists of an offline printer may be old.
    const isCurrent = status.online !== false && !status.stale;
    // They end no doubt about a print that has a name, and neither does a job that waits on after its removal was requested.
    const isProof = attempt.clusterJobId === null || (isCurrent && attempt.recall === null);
    const isInDoubt = attempt.state === 'unknown' && !isProof;
    if (listed && isCurrent && hasBegun(listed)) await this.#begin(itemId, attempt, id, memberOf(listed, status));
    else if (listed ? !isInDoubt : attempt.clusterJobId === null)
      await this.#records.change(itemId, (record) => changes.dispatched(record, attempt, id, this.#records.context));
    else if (past && !listed && endOf(past) !== 'ended')
      await this.#end(itemId, attempt, { outcome: endOf(past), job: past }, memberOf(past, status));
    // The end of a print is decided while its printer is still occupied.
    if (listed && endOf(listed) !== 'ended')
      await this.#end(
        itemId,
        this.#records.find(itemId, attempt) ?? attempt,
        { outcome: endOf(listed), job: listed },
        memberOf(listed, status),
      );
    if (listed) await this.#recalls.observe(itemId, attempt, listed, status);
  }

  async #begin(itemId: string, attempt: Attempt, clusterJobId: string, printerId: string | null): Promise<void> {
    const found = { clusterJobId, printerId };
    await this.#records.change(itemId, (record) => changes.started(record, attempt, found, this.#records.context));
  }

  /** Follows the dispatched attempts to their ends, and recalls those that do not begin. */
  follow(): void {
    for (const { itemId, prints } of this.#queue.data.open.all)
      for (const attempt of prints)
        if (isOpen(attempt) && attempt.state !== 'assigned' && attempt.clusterJobId !== null)
          this.#followEnd(itemId, attempt, attempt.clusterJobId);
    this.#recalls.follow();
  }

  /** Times at which attempts will have waited too long for their beginnings, ms since 1970. */
  get dueTimes(): number[] {
    return this.#recalls.dueTimes;
  }

  #followEnd(itemId: string, attempt: Attempt, clusterJobId: string): void {
    const name = nameOf(itemId, attempt);
    if (this.#followed.has(name)) return;
    this.#followed.add(name);
    this.#queue.watcher
      .follow(attempt.clusterId, clusterJobId, { signal: this.#deadline.signal })
      .then(async (end) => {
        // A machine that has another id since is recognised by the status that shows the end.
        await this.#following.get(end.clusterId ?? attempt.clusterId);
        const open = this.#records.find(itemId, attempt);
        if (open && isOpen(open) && !this.#deadline.aborted) await this.#end(itemId, open, end);
      })
      .catch((thrown: unknown) => {
        // The next round follows it again.
        this.#followed.delete(name);
        this.#records.failed(thrown);
      });
  }

  // End

  /** @param printerId the member of a group that printed it; null: not known, or alone */
  async #end(
    itemId: string,
    attempt: Attempt,
    { job, isDisconnected, ...end }: JobEnd,
    printerId: string | null = null,
  ): Promise<void> {
    const { data, rules, views, clock } = this.#queue;
    this.#recalls.forget(itemId, attempt);
    const hasStarted = attempt.startedAt !== null || (job !== null && hasBegun(job));
    const outcome = end.outcome === 'ended' && job && isDeleted(job) && !hasStarted ? 'aborted' : end.outcome;
    if (isDisconnected || outcome === 'ended') {
      // Of one that was in doubt before, a person may have cleared the plate since.
      if (attempt.startedAt !== null && attempt.state !== 'unknown' && !isDisconnected)
        await this.#closeGate(itemId, attempt, 'unknown', job);
      // Its outcome is unknown.
      if (!this.#records.isBusy(itemId, attempt))
        await this.#records.change(itemId, (record) => changes.unknown(record, attempt, this.#records.context));
      return;
    }
    const began = hasStarted || outcome === 'finished';
    // Closed before the printer counts as free again.
    if (began || (outcome === 'failed' && (!job || mayHavePrinted(job))))
      await this.#closeGate(itemId, attempt, outcome, job);
    if (!began && outcome === 'aborted' && attempt.recall)
      return this.#records.change(itemId, (record) => changes.recalled(record, attempt, this.#records.context));
    const seconds = job?.timeElapsed ?? null;
    const facts = data.items.get(itemId)?.files[attempt.file]?.facts ?? null;
    const isWhole = outcome === 'finished';
    const used =
      began || (seconds ?? 0) > 0
        ? usedBy(facts, this.#feedsOf(attempt, job), isWhole ? 1 : shareOf(job, facts), !isWhole)
        : [];
    const weights = isWhole ? undefined : weightsOf(used);
    const cost =
      began || used.length > 0
        ? costOfFile(rules.prices, facts, views.materialOf, seconds, weights)
        : nothingOf(rules.prices);
    const reason = isWhole || !job ? null : describeReason(job);
    const ended = { outcome, at: clock.now(), printerId, seconds, cost, used, reason };
    await this.#records.change(itemId, (now) => changes.ended(now, attempt, ended, this.#records.context));
    if (job && isLeftInQueue(job) && job.clusterJobId !== null)
      this.#recalls.clearAway(itemId, attempt, job.clusterJobId);
  }

  /** Feeds of the printer of an attempt; null: of a group, the member is not known. */
  #feedsOf({ clusterId, printerId }: Attempt, job: PrintJob | null): readonly Feed[] | null {
    const printers = this.#queue.views.get(clusterId)?.printers ?? [];
    const named = printers.find((printer) => printer.printerId === (printerId ?? job?.printerId));
    const printer = printers.length === 1 ? printers[0] : named;
    return printer ? feedsOf(printer) : null;
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
      await this.#records.change(item.itemId, (record) =>
        changes.judged(record, attempt, verdict, this.#records.context),
      );
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
      if (verdict)
        await this.#records.change(itemId, (record) => changes.judged(record, attempt, verdict, this.#records.context));
    });
  }

  // What all of them need

  /** Tracks work that must not be cut off. */
  #track(work: Promise<unknown>, { quietly = false } = {}): void {
    const tracked = work
      .catch((thrown: unknown) => this.#records.failed(thrown))
      .finally(() => {
        this.#underWay.delete(tracked);
        // Work that changed an item has planned again by that.
        if (!quietly) this.#queue.changed();
      });
    this.#underWay.add(tracked);
  }
}

const textOf = ({ good, parts }: PlateVerdict): string => `${good}/${parts ?? ''}`;

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

/** Whether a job has failed before it began, and stays in the queue of its printer. */
const isLeftInQueue = (job: PrintJob): boolean =>
  job.state === 'failed' && !hasBegun(job) && (ruleOf('remove')?.from?.includes(job.status ?? '') ?? false);

/** Whether somebody has removed a job from the queue of its printer. */
const isDeleted = ({ deletedAt, serviceState }: PrintJob): boolean => deletedAt !== null || serviceState === 'deleted';

/** Whether a print that counts as not printed could still appear. */
const mayShowUp = ({ state, settledAs, told }: Attempt): boolean =>
  state === 'recalled' &&
  !told.includes('print.extra') &&
  (settledAs === 'not-printed' || told.includes('print.recalled'));

/** Refusals that concern the account at any printer. */
const OF_ACCOUNT: ReadonlySet<string> = new Set(['NOT_SIGNED_IN', 'RATE_LIMITED']);

const RESERVED = phrase`Another print queue has a print at the printer.`;
const unread = (error: PrintingError): Sentence =>
  phrase`The printer could not be read just before a print was sent: ${error.sentence}`;
const unreserved = (error: PrintingError): Sentence => phrase`The printer could not be reserved: ${error.sentence}`;
const refusedBy = (error: PrintingError): Sentence =>
  phrase`The service refused a print on the printer: ${error.sentence}`;
