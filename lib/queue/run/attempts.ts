import type { JobControl } from '../../control/job-control';
import type { ClusterStatus } from '../../service/cluster';
import { asPrintingError, type PrintingError } from '../../service/errors';
import type { PrintJob } from '../../service/print-job';
import type { Clock } from '../../time/clock';
import { type Deadline, underDeadline } from '../../time/deadline';
import { AGAIN, retryUntil, WORK_IN_PROGRESS } from '../../time/retry';
import type { JobEnd } from '../../watch/views/job-end-waiter';
import type { Watcher } from '../../watch/watcher';
import type { Sentence } from '../../words/sentence';
import type { EndedPrint } from '../model/gate';
import { hasBegun, isOpen } from '../model/item';
import * as changes from '../model/item-changes';
import { type AssignedPrint, type AttemptOf, findAttempt } from '../model/item-changes';
import { requirementOf } from '../model/requirement';
import type { QueueRules } from '../model/rules';
import { type Attempt, type ItemRecord, printingId, type Recall } from '../model/types';
import { NOT_FREE, unread } from '../plan/inputs';
import type { ClusterViews } from '../plan/printers';
import { mismatchOf } from '../plan/suitability';
import type { PlateGates } from '../records/gates';
import type { ItemStore } from '../records/items';
import { PLANNER } from '../records/store';
import type { QueueView } from '../view';
import type { Dispatches } from './dispatch';

interface AttemptKeeperDeps {
  queueId: string;
  rules: QueueRules;
  clock: Pick<Clock, 'now' | 'monotonic'>;
  items: ItemStore;
  gates: PlateGates;
  dispatches: Dispatches;
  watcher: Pick<Watcher, 'follow'>;
  /** Ends with the planner's tenure. */
  signal: AbortSignal;
  recall: (attempt: Attempt & { clusterJobId: string }) => Promise<RecallOutcome>;
  /** Present configuration of an attempt's printer. */
  configurationOf: (attempt: Attempt) => string | null;
  costOf: (record: ItemRecord, attempt: Attempt, seconds: number | null) => number | null;
  /** Work that failed is to be tried again. */
  failed: (thrown: unknown) => void;
}

/** Time within which a print appears that the service accepted without naming it, ms. */
const SHOWN_WITHIN = 900_000;

/** Follows the dispatched prints of a queue to their ends, on the shared polls, and recalls those that do not begin. */
export class AttemptKeeper {
  readonly #deps: AttemptKeeperDeps;
  /** Attempts whose end is followed, and attempts whose job is being changed. */
  readonly #followed = new Set<string>();
  readonly #busy = new Set<string>();
  /** When dispatched attempts were first kept, monotonic, and their age then, ms: the wall clock may be set at any time. */
  readonly #waits = new Map<string, { since: number; before: number }>();

  constructor(deps: AttemptKeeperDeps) {
    this.#deps = deps;
  }

  /** Follows and recalls the attempts of an item, as its record and the time demand. */
  keep(record: ItemRecord): void {
    for (const attempt of record.prints) {
      if (attempt.state !== 'dispatched') this.#waits.delete(nameOf(record.itemId, attempt));
      if (!isOpen(attempt) || attempt.state === 'assigned') continue;
      if (attempt.clusterJobId !== null) this.#follow(record.itemId, attempt, attempt.clusterJobId);
      const why = this.#recallOf(record, attempt);
      if (this.#isLost(record, attempt))
        this.#run(record.itemId, attempt, () =>
          this.#change(record.itemId, (now) => changes.unknown(now, attempt, this.#context)),
        );
      if (why) this.#run(record.itemId, attempt, () => this.#recall(record.itemId, attempt, why));
    }
  }

  /** When an attempt will have waited too long for its beginning, ms since 1970; Infinity: never. */
  dueAt(record: ItemRecord): number {
    const { rules, clock } = this.#deps;
    if (rules.startWithin === 0) return Infinity;
    const waiting = record.prints.filter(({ state, recall }) => state === 'dispatched' && !recall?.isStuck);
    const left = waiting.map((attempt) => rules.startWithin - this.#waited(record, attempt));
    return clock.now() + Math.min(Infinity, ...left);
  }

  /** Time since the dispatch of an attempt, ms. */
  #waited({ itemId }: ItemRecord, attempt: Attempt): number {
    const { clock } = this.#deps;
    const name = nameOf(itemId, attempt);
    const before = Math.max(0, clock.now() - (attempt.dispatchedAt ?? 0));
    const wait = this.#waits.get(name) ?? { since: clock.monotonic(), before };
    this.#waits.set(name, wait);
    return wait.before + clock.monotonic() - wait.since;
  }

  /** Compares an item's attempts on a cluster with its status. Rejects if a change can't be written. */
  async observe(record: ItemRecord, status: ClusterStatus): Promise<void> {
    const { itemId } = record;
    for (const attempt of record.prints.filter((one) => one.clusterId === status.clusterId)) {
      if (attempt.state === 'assigned' || this.#busy.has(nameOf(itemId, attempt))) continue;
      if (mayShowUp(attempt)) {
        const id = attempt.clusterJobId ?? (await this.#deps.dispatches.lookFor(itemId, attempt, status));
        const job = id === null ? undefined : find(status, id);
        if (id !== null && job && (attempt.clusterJobId === null || hasBegun(job)))
          await this.#change(itemId, (now) => changes.showedUp(now, attempt, id, this.#context));
      } else if (isOpen(attempt)) await this.#observeOpen(record, attempt, status);
    }
  }

  /** Records the verdict on a part, which a person gave with its plate. */
  async judge(itemId: string, of: AttemptOf, good: boolean): Promise<void> {
    await this.#change(itemId, (record) => changes.judged(record, of, good, this.#context));
  }

  async #observeOpen({ itemId }: ItemRecord, attempt: Attempt, status: ClusterStatus): Promise<void> {
    const id = attempt.clusterJobId ?? (await this.#deps.dispatches.lookFor(itemId, attempt, status));
    if (id === null) return;
    const named = () => this.#change(itemId, (record) => changes.dispatched(record, attempt, id, this.#context));
    const listed = status.jobs.find(({ clusterJobId }) => clusterJobId === id);
    const past = status.history.find(({ clusterJobId }) => clusterJobId === id);
    // The lists of an offline printer may be old.
    const isCurrent = status.online !== false && !status.stale;
    if (listed && isCurrent && hasBegun(listed)) await this.#started(itemId, attempt, listed, id);
    else if (listed || attempt.clusterJobId === null) await named();
    else if (past && endOf(past) !== 'ended') await this.#ended(itemId, attempt, { outcome: endOf(past), job: past });
    if (!listed || !isCurrent || hasBegun(listed)) return;
    const why = isRefused(listed) ? 'changes' : isOvertaken(listed, status) ? 'overtaken' : null;
    if (why === null || attempt.recall) return;
    const recall = this.#newRecall(why, why === 'changes' ? this.#deps.configurationOf(attempt) : null);
    await this.#change(itemId, (record) => changes.recallWanted(record, attempt, recall));
  }

  async #started(itemId: string, attempt: Attempt, { printerId }: PrintJob, clusterJobId: string): Promise<void> {
    if (attempt.state === 'printing') return;
    await this.#change(itemId, (record) =>
      changes.started(
        record,
        attempt,
        { clusterJobId, printerId: attempt.printerId === null ? null : printerId },
        this.#context,
      ),
    );
  }

  #follow(itemId: string, attempt: Attempt, clusterJobId: string): void {
    const name = nameOf(itemId, attempt);
    if (this.#followed.has(name)) return;
    this.#followed.add(name);
    const { watcher, signal, failed } = this.#deps;
    watcher
      .follow(attempt.clusterId, clusterJobId, { signal })
      .then(async (end) => {
        const now = this.#deps.items.get(itemId);
        const open = now && findAttempt(now, attempt);
        if (open && isOpen(open) && !signal.aborted) await this.#ended(itemId, open, end);
      })
      .catch((thrown: unknown) => {
        // It is followed again when the item is kept the next time.
        this.#followed.delete(name);
        if (!signal.aborted) failed(thrown);
      });
  }

  async #ended(itemId: string, attempt: Attempt, { outcome, job, isDisconnected }: JobEnd): Promise<void> {
    const { rules } = this.#deps;
    this.#waits.delete(nameOf(itemId, attempt));
    if (isDisconnected || outcome === 'ended') {
      if (attempt.startedAt !== null && !isDisconnected) await this.#closeGate(itemId, attempt, 'vanished');
      // Its outcome is unknown.
      if (!this.#busy.has(nameOf(itemId, attempt)))
        await this.#change(itemId, (record) => changes.unknown(record, attempt, this.#context));
      return;
    }
    const began = attempt.startedAt !== null || outcome === 'finished' || (job !== null && hasBegun(job));
    // Closed before the printer counts as free again. A print that failed may have begun although its record shows no time.
    if (began || outcome === 'failed') await this.#closeGate(itemId, attempt, outcome);
    if (!began && outcome === 'aborted' && attempt.recall) {
      await this.#change(itemId, (record) => changes.recalled(record, attempt, this.#context));
      return;
    }
    const record = this.#deps.items.get(itemId);
    const seconds = job?.timeElapsed ?? null;
    const cost = record ? this.#deps.costOf(record, attempt, seconds) : null;
    const end = { outcome, at: this.#deps.clock.now(), seconds, cost };
    await this.#change(itemId, (now) => changes.ended(now, attempt, end, { ...this.#context, rules }));
  }

  async #closeGate(itemId: string, attempt: Attempt, outcome: EndedPrint['outcome']): Promise<void> {
    const id = printingId(this.#deps.queueId, itemId, attempt);
    await this.#deps.gates.close(attempt, id, outcome);
  }

  #recallOf(record: ItemRecord, attempt: Attempt): Recall['why'] | null {
    const { startWithin } = this.#deps.rules;
    const { state, clusterJobId, recall } = attempt;
    if (state !== 'dispatched' || clusterJobId === null || recall?.isStuck) return null;
    if (record.isRemoved) return 'removed';
    if (recall) return recall.why;
    return startWithin > 0 && this.#waited(record, attempt) >= startWithin ? 'late' : null;
  }

  /** Whether the service accepted a print that never appeared under any name. */
  #isLost(record: ItemRecord, attempt: Attempt): boolean {
    const within = this.#deps.rules.startWithin || SHOWN_WITHIN;
    const isUnnamed = attempt.state === 'dispatched' && attempt.clusterJobId === null;
    return isUnnamed && this.#waited(record, attempt) >= within;
  }

  async #recall(itemId: string, attempt: Attempt, why: Recall['why']): Promise<void> {
    const { clusterJobId } = attempt;
    if (clusterJobId === null) return;
    const wanted = attempt.recall ?? this.#newRecall(why, null);
    await this.#change(itemId, (record) => changes.recallWanted(record, attempt, wanted));
    const outcome = await this.#deps.recall({ ...attempt, clusterJobId });
    if (this.#deps.signal.aborted) return;
    const context = this.#context;
    if (outcome === 'gone') {
      await this.#change(itemId, (record) => changes.recalled(record, attempt, context));
    } else if (outcome === 'begun')
      await this.#change(itemId, (record) =>
        changes.started(record, attempt, { clusterJobId, printerId: null }, context),
      );
    else if (outcome === 'refused' && wanted.why === 'changes')
      await this.#change(itemId, (record) => changes.recallWanted(record, attempt, { ...wanted, isStuck: true }));
    else await this.#change(itemId, (record) => changes.unknown(record, attempt, context));
  }

  #newRecall(why: Recall['why'], configuration: string | null): Recall {
    return { why, since: this.#deps.clock.now(), isStuck: false, configuration };
  }

  /** Runs the work on an attempt's job, one at a time. */
  #run(itemId: string, attempt: Attempt, work: () => Promise<void>): void {
    const name = nameOf(itemId, attempt);
    if (this.#busy.has(name)) return;
    this.#busy.add(name);
    const { signal, failed } = this.#deps;
    work()
      .catch((thrown: unknown) => {
        if (!signal.aborted) failed(thrown);
      })
      .finally(() => this.#busy.delete(name));
  }

  async #change(itemId: string, change: (record: ItemRecord) => ItemRecord): Promise<void> {
    const record = this.#deps.items.get(itemId);
    // Most looks change nothing.
    if (record && change(record) === record) return;
    await this.#deps.items.change(itemId, change, PLANNER);
  }

  get #context() {
    return { queueId: this.#deps.queueId, now: this.#deps.clock.now(), rules: this.#deps.rules };
  }
}

const nameOf = (itemId: string, { copy, attempt }: AttemptOf): string => `${itemId}/${copy}/${attempt}`;

/** Whether the service asks for changes before the job begins. */
const isRefused = ({ changesRequired, state }: PrintJob): boolean =>
  changesRequired.length > 0 || state === 'attention';

/** Whether a foreign print has begun on the printer before the job, which would then begin on the same plate. */
const isOvertaken = ({ clusterJobId }: PrintJob, { printers, jobs }: ClusterStatus): boolean =>
  printers.length === 1 && jobs.some((other) => other.clusterJobId !== clusterJobId && hasBegun(other));

const find = ({ jobs, history }: ClusterStatus, id: string): PrintJob | undefined =>
  [...jobs, ...history].find(({ clusterJobId }) => clusterJobId === id);

/** Whether a print that counts as not printed could still appear. */
const mayShowUp = ({ state, settledAs, told }: Attempt): boolean =>
  state === 'recalled' &&
  !told.includes('print.extra') &&
  (settledAs === 'not-printed' || told.includes('print.recalled'));

const endOf = ({ state }: PrintJob): JobEnd['outcome'] =>
  state === 'finished' || state === 'failed' || state === 'aborted' ? state : 'ended';

/** Time within which a removal must be proven (print queue, rule 6), ms. */
const LONGEST = 120_000;
/** Time for the removal itself, ms. */
const REMOVAL = 60_000;

/** A dispatched job that has not begun. */
interface RecalledJob {
  clusterId: string;
  clusterJobId: string;
}

/**
 * Outcome of a removal. `gone`: proven. `begun`: it came too late. `refused`: the service or the printer did not remove
 * the job. `unproven`: the job may be there or not.
 */
export type RecallOutcome = 'gone' | 'begun' | 'refused' | 'unproven';

interface RecallDeps {
  jobControl: Pick<JobControl, 'run'>;
  /** Reads the printer again. */
  read: (clusterId: string, deadline: Deadline) => Promise<ClusterStatus>;
  closing: Deadline;
}

/**
 * Removes a job from its printer. Proof is the success of the removal, together with a status made after it in which the
 * job is neither queued nor printing. Never rejects.
 */
export const recall = ({ jobControl, read, closing }: RecallDeps, job: RecalledJob): Promise<RecallOutcome> =>
  underDeadline(closing.clock, { ms: LONGEST, parent: closing }, async (deadline) => {
    const { clusterId, clusterJobId } = job;
    const removed = await underDeadline(closing.clock, { ms: REMOVAL, parent: deadline }, (limit) =>
      jobControl
        .run({ clusterId, clusterJobId, action: 'remove', data: {}, deadline: limit, onStage: () => undefined })
        .then(() => null, asPrintingError),
    );
    const look = async (): Promise<RecallOutcome | typeof AGAIN> => {
      const status = await read(clusterId, deadline);
      if (status.online === false) return AGAIN;
      const listed = status.jobs.find((other) => other.clusterJobId === clusterJobId);
      const past = status.history.find((other) => other.clusterJobId === clusterJobId);
      if ([listed, past].some((seen) => seen && hasBegun(seen))) return 'begun';
      if (listed) return removed && isRefusal(removed) ? 'refused' : AGAIN;
      return removed ? 'unproven' : 'gone';
    };
    return retryUntil(deadline, WORK_IN_PROGRESS, look).catch(() => 'unproven' as const);
  }).catch(() => 'unproven');

/** Whether the job is certainly still there because its removal was refused or failed. */
const isRefusal = ({ code, outcome, obstacle }: PrintingError): boolean =>
  obstacle !== 'offline' && (code === 'ACTION_FAILED' || code === 'NOT_ACCEPTED' || outcome === 'refused');

interface LastObstacleDeps {
  view: QueueView;
  views: ClusterViews;
  rules: QueueRules;
}

/**
 * Reads a printer just before a copy is sent to it, and returns why the copy must not go there; null: it may (print
 * queue, rule 2). Never rejects.
 */
export async function lastObstacle(
  { view, views, rules }: LastObstacleDeps,
  record: ItemRecord,
  { clusterId, copy, file }: AssignedPrint,
  read: () => Promise<unknown>,
): Promise<Sentence | null> {
  try {
    await read();
  } catch (thrown) {
    return unread(asPrintingError(thrown));
  }
  const requirement = requirementOf(record.require, record.files[file]?.facts ?? null, views.materialOf);
  view.invalidate();
  const here = view.printersWithout(record.itemId, copy).filter((printer) => printer.clusterId === clusterId);
  const isRight = here.some((printer) => printer.obstacle === null && mismatchOf(requirement, printer, rules) === null);
  view.invalidate();
  return isRight ? null : NOT_FREE;
}
