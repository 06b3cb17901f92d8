import type { ClusterStatus } from '../../service/cluster';
import { asPrintingError, type PrintingError } from '../../service/errors';
import { isOver } from '../../service/job-words';
import type { PrintJob } from '../../service/print-job';
import { type Deadline, underDeadline } from '../../time/deadline';
import { AGAIN, type Backoff, retryUntil, waitBefore, WORK_IN_PROGRESS } from '../../time/retry';
import { isCleared } from '../model/gate';
import { hasBegun, isOpen } from '../model/item';
import * as changes from '../model/item-changes';
import { type Attempt, type ItemRecord, nameOf, type Recall } from '../model/types';
import { configurationsOf, isShown } from '../plan/printers';
import type { AttemptRecords } from './attempt-records';
import type { QueueContext } from './context';
import type { SeenPrints } from './seen-prints';

/** Time within which a print appears that the service accepted without naming it, ms. */
const SHOWN_WITHIN = 900_000;
/** Pauses between two removals of one job, ms. */
const REMOVE_AGAIN: Backoff = { first: 60_000, longest: 900_000 };
/** Time within which a removal must be proven (print queue, rule 6), and time for the removal itself, ms. */
const PROOF = { within: 120_000, removal: 60_000 };

/**
 * Recalls the prints that were sent and do not begin: too late, refused by their printers, overtaken, or no longer wanted. A
 * copy leaves its printer only with proof (print queue, rule 6).
 */
export class Recalls {
  readonly #queue: QueueContext;
  readonly #deadline: Deadline;
  readonly #records: AttemptRecords;
  readonly #seen: SeenPrints;
  /** When dispatched attempts without a time of their own were first seen here, lived, ms. */
  readonly #waits = new Map<string, number>();
  /** Removals that did not succeed, by attempt: their number, and when the next one is due, lived, ms. */
  readonly #removals = new Map<string, { recall: Removal; count: number; dueAt: number }>();
  /** Attempts whose jobs some status has shown in another state than waiting, however old. */
  readonly #pastQueue = new Set<string>();

  constructor(queue: QueueContext, deadline: Deadline, records: AttemptRecords, seen: SeenPrints) {
    this.#queue = queue;
    this.#deadline = deadline;
    this.#records = records;
    this.#seen = seen;
  }

  /** Remembers whether a job has left the queue of its printer. */
  notice(itemId: string, attempt: Attempt, { state }: PrintJob): void {
    if (state !== 'waiting') this.#pastQueue.add(nameOf(itemId, attempt));
  }

  /** Recalls an attempt whose job, by a status of its printer, can't begin or should not begin any more. */
  async observe(itemId: string, attempt: Attempt, listed: PrintJob, status: ClusterStatus): Promise<void> {
    // The lists of an offline printer may be old.
    if (status.online === false || status.stale || hasBegun(listed) || attempt.recall) return;
    const isBehind = isOvertaken(listed, status) || this.#isOnPart(attempt, status);
    const why = isRefused(listed) ? 'changes' : isBehind ? 'overtaken' : null;
    if (why === null) return;
    const recall = this.#newRecall(why, why === 'changes' ? this.#configurationOf(attempt) : null);
    await this.#records.change(itemId, (record) => changes.recallWanted(record, attempt, recall));
  }

  /**
   * Whether the part of another print lies on the printer, even if nobody saw that print begin. The plate was clear when the job
   * was sent, so it ended there since.
   */
  #isOnPart({ clusterId, clusterJobId }: Attempt, { printers }: ClusterStatus): boolean {
    const { data, rules } = this.#queue;
    const gate = printers.length === 1 ? data.gates.of(clusterId, null) : undefined;
    const ended = gate?.printing === null ? gate.ended : null;
    return ended !== null && ended.id !== clusterJobId && !isCleared(ended, rules.gate);
  }

  /** Recalls the attempts whose records or waiting times demand it. */
  follow(): void {
    for (const record of this.#queue.data.open.all)
      for (const attempt of record.prints) {
        const { itemId } = record;
        if (attempt.state === 'printing') this.forget(itemId, attempt);
        else if (attempt.state !== 'dispatched') this.#waits.delete(nameOf(itemId, attempt));
        if (!isOpen(attempt) || attempt.state === 'assigned') continue;
        const why = this.#recallOf(record, attempt);
        if (this.#isLost(record, attempt))
          this.#records.run(itemId, attempt, () =>
            this.#records.change(itemId, (now) => changes.unknown(now, attempt, this.#records.context)),
          );
        if (why) this.#records.run(itemId, attempt, () => this.#recall(itemId, attempt, why));
      }
  }

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
    if (clusterJobId === null || (state !== 'dispatched' && !this.#isLeft(attempt))) return null;
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

  /** Whether the removal of a job was not proven, and its printer, which may be offline, still lists it before its beginning. */
  #isLeft({ state, recall, clusterId, clusterJobId }: Attempt): boolean {
    if (state !== 'unknown' || recall === null) return false;
    const jobs = this.#queue.views.get(clusterId)?.status.jobs ?? [];
    return jobs.some((job) => job.clusterJobId === clusterJobId && !hasBegun(job) && !isOver(job));
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

  /** Whether the service accepted a print that never appeared under any name. */
  #isLost(record: ItemRecord, attempt: Attempt): boolean {
    const within = this.#queue.rules.startWithin || SHOWN_WITHIN;
    const isNameless = attempt.state === 'dispatched' && attempt.clusterJobId === null;
    return isNameless && this.#waited(record, attempt) >= within;
  }

  async #recall(itemId: string, attempt: Attempt, why: Recall['why']): Promise<void> {
    const { clusterJobId } = attempt;
    if (clusterJobId === null) return;
    const wanted = attempt.recall?.why === why ? attempt.recall : this.#newRecall(why, null);
    await this.#records.change(itemId, (record) => changes.recallWanted(record, attempt, wanted));
    const outcome = await this.#removeJob(itemId, attempt, clusterJobId);
    if (this.#deadline.aborted) return;
    let next: Pick<Recall, 'tries' | 'again'> = {};
    if (outcome === 'gone' || outcome === 'begun') this.forget(itemId, attempt);
    else next = this.#notRemoved(nameOf(itemId, attempt), { why, isStuck: outcome === 'refused' || wanted.isStuck });
    const context = this.#records.context;
    await this.#records.change(itemId, (record) => {
      if (outcome === 'gone') return changes.recalled(record, attempt, context);
      if (outcome === 'begun') return changes.started(record, attempt, { clusterJobId, printerId: null }, context);
      if (outcome === 'refused') return changes.recallWanted(record, attempt, { ...wanted, isStuck: true, ...next });
      return changes.unknown(record, attempt, context);
    });
  }

  /** Removes a failed job from the queue of its printer, where it could still print once its impediment has gone. */
  clearAway(itemId: string, attempt: Attempt, clusterJobId: string): void {
    this.#records.run(itemId, attempt, async () => {
      await this.#removeJob(itemId, attempt, clusterJobId);
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
        const status = await this.#seen.read(clusterId, deadline);
        // An answer without jobs shows no job, and proves nothing.
        const mayBeOld = status.online === false && removed === null && isOnlyQueued;
        if (!mayBeOld && (status.online !== true || status.stale)) return AGAIN;
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

  /** Forgets what is only needed until a print begins, or its job is gone. */
  forget(itemId: string, attempt: Attempt): void {
    const name = nameOf(itemId, attempt);
    this.#waits.delete(name);
    this.#removals.delete(name);
    this.#pastQueue.delete(name);
  }
}

/**
 * Outcome of a removal. `gone`: proven. `begun`: it came too late. `refused`: the service or the printer did not remove
 * the job. `unproven`: the job may be there or not.
 */
type RemovalOutcome = 'gone' | 'begun' | 'refused' | 'unproven';

/** The facts that decide when a removal is due. */
type Removal = Pick<Recall, 'why' | 'isStuck'> & { tries?: number | undefined; again?: number | undefined };

/** The job may wait at the service, whether or not its printer is online. */
const REMOVAL = { action: 'remove', data: {}, mayBeOffline: true, onStage: () => undefined };

/** Whether the service asks for changes before the job begins. */
const isRefused = ({ changesRequired, state }: PrintJob): boolean =>
  changesRequired.length > 0 || state === 'attention';

/**
 * Whether a foreign print has begun on the printer before the job, which would then begin on the same plate. One that has left the
 * printer, and stays in its list, was there before the job was sent.
 */
const isOvertaken = ({ clusterJobId }: PrintJob, { printers, jobs }: ClusterStatus): boolean =>
  printers.length === 1 &&
  jobs.some((other) => other.clusterJobId !== clusterJobId && hasBegun(other) && isShown(other));

/** Whether the job is certainly still there because its removal was refused or failed. */
const isRefusal = ({ code, outcome, obstacle }: PrintingError): boolean =>
  obstacle !== 'offline' && (code === 'ACTION_FAILED' || code === 'NOT_ACCEPTED' || outcome === 'refused');
