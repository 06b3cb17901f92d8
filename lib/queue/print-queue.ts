import { asPrintingError, PrintingError } from '../service/errors';
import { EVENT_PRINTS, EXPLAINED } from '../rules/limits';
import { amount, record as readRecord, text } from '../service/json-readers';
import type { StateStore } from '../state/store';
import { isoTime } from '../time/clock';
import { eachInTurn, Turns } from '../time/concurrency';
import type { Deadline } from '../time/deadline';
import { guard } from '../time/guard';
import { factsOfFile, factsOfMetadata } from '../toolpath/read-facts';
import type { Source } from '../upload/content';
import { isUploaded, readStored } from '../upload/send';
import { phrase } from '../words/sentence';
import { WatchedBoard } from './board/board';
import { isPlateToClear } from './model/gate';
import type { JudgedPrint } from './model/gate-verdicts';
import { addedOf, highestRank, itemStateOf, withoutEvents, withRank } from './model/item';
import * as changes from './model/item-changes';
import { newItem } from './model/item-changes';
import { rankAfter } from './model/rank';
import {
  isPauseOver,
  paused,
  pausedPrinters,
  type PauseState,
  type QueueRecord,
  withoutQueueEvents,
} from './model/queue-record';
import { requirementOf } from './model/requirement';
import type * as api from './model/types';
import {
  type AddRequest,
  type ItemFile,
  type ItemRecord,
  type ItemState,
  namesOf,
  type PrinterReason,
  printerKey,
  type QueueItem,
  type QueuePrinter,
  type QueueReading,
} from './model/types';
import { mismatchOf } from './plan/suitability';
import type { QueueData } from './records/data';
import { itemNotFound, movedRanks } from './records/items';
import { Outbox, type Undelivered } from './records/outbox';
import { LocalChanges } from './records/records';
import type { QueueContext, QueueOptions, QueueParts } from './run/context';
import { QueueRuntime } from './run/runtime';
import { printShape } from './view';

/** One print queue of an account: keeps items, sends their copies exactly once, and explains why each of them waits. */
export class PrintQueue implements api.QueueApi {
  readonly #parts: QueueParts;
  readonly #runtime: QueueRuntime;
  readonly #outbox: Outbox;
  readonly #ends = new AwaitedEnds();
  readonly #board: WatchedBoard;
  readonly #listeners = new Set<(state: api.QueueFigures) => void>();

  constructor(parts: QueueParts) {
    this.#parts = parts;
    this.#outbox = new Outbox(parts, {
      records: () => this.#undelivered(),
      lease: () => this.#runtime.lease,
      telling: () => this.#runtime.loaded?.data.telling ?? null,
      failed: (thrown) => this.#runtime.failed(thrown),
    });
    this.#runtime = new QueueRuntime(parts, () => this.#changed(), this.#outbox);
    const { queueId, name, clock } = parts;
    const about = { queueId, queueName: name, item: null, print: null, clusterId: null, clusterName: null };
    this.#board = new WatchedBoard(
      clock,
      () => this.#runtime.loaded,
      (board) => ({ type: 'queue.board', at: board.at, late: false, ...about, value: board }),
    );
  }

  async add(request: api.AddRequest): Promise<api.Changed> {
    const { queueKey, deadline } = request;
    const queue = await this.#runtime.ready(deadline);
    const { items } = queue.data;
    const itemId = items.idOf(queueKey);
    const known = queueKey === null ? undefined : await this.#runtime.written(deadline.wait(items.find(itemId)));
    if (known) return { item: queue.view.item(known), duplicate: true };
    const own = await ownFile(queue, request);
    const files = [own, ...(await alternativeFiles(queue, request))];
    deadline.throwIfOver();
    let isMade = false;
    const make = () => {
      isMade = true;
      // Behind all others.
      const rank = rankAfter(items.highestRank, itemId);
      const name = request.jobName || own.filename;
      const awaitsApproval = queue.rules.approval;
      const context = { ...this.#context, lived: queue.data.lived.now };
      return newItem({ itemId, queueKey, name, files, rank, changes: request, awaitsApproval }, context);
    };
    const added = this.#runtime.written(deadline.wait(items.add(itemId, make)));
    const { record, isNew } = await added.catch(async (thrown: unknown) => {
      // The record may be written, or still be written. With a key, the same message does no harm.
      if (queueKey !== null || (!isMade && !deadline.aborted)) throw thrown;
      const isAbsent = await deadline.wait(items.reload(itemId)).then(
        () => !items.get(itemId),
        () => false,
      );
      throw isAbsent ? thrown : mayBeAdded();
    });
    return { item: queue.view.item(record), duplicate: !isNew };
  }

  async update(target: api.ItemTarget, given: api.ItemChanges, deadline: Deadline): Promise<api.QueueItem[]> {
    const { data } = await this.#runtime.ready(deadline);
    await deadline.wait(this.#find(data, target));
    const request = { alternatives: given.alternatives, deadline, onProgress: () => undefined };
    const alternatives = given.alternatives && (await alternativeFiles(this.#parts, request));
    return this.#changeAll(target, deadline, (record, { items }) => {
      const peers = items.all.filter(({ priority }) => priority === given.priority);
      const rank = rankAfter(highestRank(peers), record.itemId);
      return changes.updated(record, { ...given, alternatives }, rank, this.#context);
    });
  }

  async move(
    target: api.ItemTarget,
    to: { position: number } | { before: string },
    deadline: Deadline,
  ): Promise<api.QueueItem[]> {
    const { data, view } = await this.#runtime.ready(deadline);
    const moved = await this.#find(data, target);
    const planned = {
      order: view.plan.order,
      orderWith: (ranks: ReadonlyMap<string, string>) => view.orderWith(ranks),
    };
    const ranks = movedRanks(moved, data.items.all, planned, to);
    return this.#changeAll(target, deadline, (record) => withRank(record, ranks.get(record.itemId) ?? record.rank));
  }

  hold(target: api.ItemTarget, deadline: Deadline): Promise<api.QueueItem[]> {
    return this.#changeAll(target, deadline, changes.heldBack);
  }

  release(target: api.ItemTarget, deadline: Deadline): Promise<api.QueueItem[]> {
    return this.#changeAll(target, deadline, (record) => changes.released(record, this.#context));
  }

  async retry(target: api.ItemTarget, deadline: Deadline, print?: api.NamedCopy): Promise<api.QueueItem[]> {
    const { view } = await this.#runtime.ready(deadline);
    const items = await this.#changeAll(target, deadline, (record) => {
      const after = changes.retried(record, this.#context, print);
      // Another runtime may plan.
      return view.refusals.concerns(record.itemId) ? changes.triedAgain(after) : after;
    });
    for (const { itemId } of items) view.refusals.forget(itemId);
    this.#runtime.changed();
    return items;
  }

  remove(target: api.ItemTarget, deadline: Deadline): Promise<api.QueueItem[]> {
    return this.#changeAll(target, deadline, (record) => changes.removed(record, this.#context));
  }

  async settle(target: api.ItemTarget, verdict: api.Settlement, deadline: Deadline): Promise<api.QueueItem[]> {
    const queue = await this.#runtime.ready(deadline);
    const records = await this.#find(queue.data, target);
    // The printer must not count as free before its gate is closed.
    if (verdict.outcome === 'printed') await this.#runtime.written(this.#closeGates(queue, records, verdict));
    // Of an order, the items without doubt stay as they are.
    const isInDoubt = records.some((record) => changes.inDoubt(record, verdict).length > 0);
    return this.#changeAll(target, deadline, (record) =>
      isInDoubt && changes.inDoubt(record, verdict).length === 0
        ? record
        : changes.settled(record, verdict, this.#context),
    );
  }

  async plateCleared(
    printer: api.PrinterTarget,
    good: boolean,
    deadline: Deadline,
    { goodParts, print, judges, isTrial }: api.PlateJudgement = {},
  ): Promise<api.QueueExplanation> {
    const { data, view } = await this.#runtime.ready(deadline);
    if (!good && (goodParts ?? 0) > 0)
      throw new PrintingError('INVALID_INPUT', phrase`A plate with good parts is no bad one: leave msg.good out.`);
    const [item] = print ? await deadline.wait(this.#find(data, print)) : [];
    const known = item?.prints.find(({ copy, attempt }) => copy === print?.copy && attempt === print.attempt);
    const own = item && known ? namesOf(this.#parts.queueId, item.itemId, known) : [];
    const names = judges === undefined ? own : [judges].filter((name) => !print || own.includes(name));
    const verdict = { good, parts: goodParts, names: print || judges !== undefined ? names : null };
    const judged = (id: string) => judgedPrint(data, id);
    await this.#runtime.written(deadline.wait(data.plates.confirm(printer, verdict, judged, isTrial)));
    return view.explanation();
  }

  async pause({ printer, until, reason }: api.Pause, deadline: Deadline): Promise<api.QueueExplanation> {
    // It would pause nothing, and end a pause that is there.
    if (isPauseOver({ until }, this.#parts.clock.now()))
      throw new PrintingError('INVALID_INPUT', phrase`A pause must end in the future: check msg.until.`);
    return this.#setPause(printer, { until, reason }, deadline);
  }

  resume(printer: api.PrinterTarget | null, deadline: Deadline): Promise<api.QueueExplanation> {
    return this.#setPause(printer, null, deadline);
  }

  async list({ state, orderId, owner, from, limit }: api.ListFilter): Promise<api.QueueItem[]> {
    const { data, view } = await this.#runtime.ready();
    await view.renewForecast();
    const found = data.items.all
      .filter((record) => orderId === undefined || record.orderId === orderId)
      .filter((record) => owner === undefined || record.owner === owner)
      .filter((record) => state === undefined || itemStateOf(record, view.canBePlanned(record)) === state);
    return this.#inTurns(view.listed(found).slice(from, from + limit), (record) => view.item(record));
  }

  async count(): Promise<number> {
    return (await this.#runtime.ready()).data.items.size;
  }

  async explain(target: api.ItemTarget): Promise<api.ExplainedItem[]> {
    const { data, view } = await this.#runtime.ready();
    await view.renewForecast();
    let reasons = 0;
    return this.#inTurns(await this.#find(data, target), (record) => {
      const explained = view.explained(record);
      reasons += explained.waitingFor.length;
      if (reasons > EXPLAINED) throw tooManyReasons();
      return explained;
    });
  }

  async explainQueue(): Promise<api.QueueExplanation> {
    return (await this.#runtime.ready()).view.explanation();
  }

  async forecast(): Promise<api.Forecast> {
    return (await this.#runtime.ready()).view.forecast();
  }

  async board(): Promise<api.Board> {
    return { ...(await this.#board.make(await this.#runtime.ready())), at: isoTime(this.#parts.clock.now()) };
  }

  watchBoard(onBoard: (event: api.BoardEvent) => void): () => void {
    return this.#board.watch(onBoard);
  }

  endOf(itemId: string, signal: AbortSignal): Promise<api.QueueItem | null> {
    return this.#ends.endOf(itemId, signal, this.#runtime.loaded);
  }

  subscribe(onEvents: (events: readonly api.QueueEvent[]) => void): () => void {
    return this.#outbox.subscribe(onEvents);
  }

  watchState(onChange: (state: api.QueueFigures) => void): () => void {
    // A copy, as one function may be passed twice.
    const listener = (state: api.QueueFigures) => onChange(state);
    this.#listeners.add(listener);
    guard(listener)(this.#state());
    return () => this.#listeners.delete(listener);
  }

  /** Figures for metrics; null while the records are not loaded, or another runtime plans. */
  figures(): QueueReading | null {
    const { loaded, lease } = this.#runtime;
    return loaded && lease.isOurs ? figuresOf(loaded) : null;
  }

  close(isRemoved = false): Promise<void> {
    this.#listeners.clear();
    this.#ends.close();
    this.#board.close();
    this.#parts.closed?.();
    return this.#runtime.close(isRemoved);
  }

  get #context() {
    const { queueId, rules, clock } = this.#parts;
    return { queueId, rules, now: clock.now() };
  }

  /** The items of a target, in their order. Throws QUEUE_ITEM_NOT_FOUND. */
  async #find({ items }: QueueData, target: api.ItemTarget): Promise<ItemRecord[]> {
    if ('orderId' in target) {
      const found = items.all.filter(({ orderId }) => orderId === target.orderId);
      if (found.length === 0) throw itemNotFound();
      return found.sort((one, other) => (addedOf(one) < addedOf(other) ? -1 : 1));
    }
    const itemId = 'itemId' in target ? target.itemId : items.idOf(target.queueKey);
    const found = await items.find(itemId);
    if (!found) throw itemNotFound();
    return [found];
  }

  /** Changes the items of a target, each to its own end; then throws the first refusal. */
  async #changeAll(
    target: api.ItemTarget,
    deadline: Deadline,
    change: (record: ItemRecord, data: QueueData) => ItemRecord,
  ): Promise<api.QueueItem[]> {
    const { data, view } = await this.#runtime.ready(deadline);
    const changed: ItemRecord[] = [];
    await eachInTurn(await deadline.wait(this.#find(data, target)), async ({ itemId }) => {
      deadline.throwIfOver();
      const work = data.items.change(itemId, (record) => change(record, data));
      changed.push(await this.#runtime.written(deadline.wait(work)));
    });
    return this.#inTurns(changed, (record) => view.item(record));
  }

  /** Shows records, among which the event loop turns: each may have thousands of prints, or of reasons. */
  async #inTurns<Shown>(records: readonly ItemRecord[], show: (record: ItemRecord) => Shown): Promise<Shown[]> {
    const turns = new Turns(this.#parts.clock);
    const all: Shown[] = [];
    for (const record of records) {
      await turns.next();
      all.push(show(record));
    }
    return all;
  }

  async #closeGates(
    { data, view, views, rules, queueId }: QueueContext,
    records: readonly ItemRecord[],
    verdict: api.Settlement,
  ): Promise<void> {
    for (const record of records)
      for (const attempt of changes.inDoubt(record, verdict)) {
        const needs = requirementOf(record.require, record.files[attempt.file]?.facts ?? null, views.materialOf);
        // What was loaded then is not known any more, but a printer of another model could not take it.
        const couldTake = (target: api.PrinterTarget) => {
          const printer = view.input.printers.find((one) => printerKey(one) === printerKey(target));
          return !printer || mismatchOf(needs, printer, rules)?.code !== 'MODEL';
        };
        await data.plates.settle(attempt, namesOf(queueId, record.itemId, attempt), couldTake);
      }
  }

  async #setPause(
    printer: api.PrinterTarget | null,
    pause: PauseState | null,
    deadline: Deadline,
  ): Promise<api.QueueExplanation> {
    const { data, view } = await this.#runtime.ready(deadline);
    const printers = view.input.printers.flatMap((place) => data.gates.placed(place));
    const change = (state: QueueRecord) =>
      printer ? pausedPrinters(state, printers, printer, pause, this.#parts.clock.now()) : paused(state, pause);
    await this.#runtime.written(deadline.wait(data.state.change(change)));
    this.#runtime.changed();
    return view.explanation();
  }

  #changed(): void {
    this.#outbox.deliver();
    this.#ends.check(this.#runtime.loaded);
    if (this.#listeners.size === 0) return;
    const state = this.#state();
    for (const listener of this.#listeners) guard(listener)(state);
  }

  #state(): api.QueueFigures {
    return this.#runtime.loaded?.view.state() ?? NOT_LOADED;
  }

  #undelivered(): Undelivered[] | null {
    const { loaded, isClosed, isRepeating, isCurrent } = this.#runtime;
    if (!loaded || isClosed || isRepeating || !isCurrent) return null;
    const { data } = loaded;
    const { outbox } = data.state.record;
    const ofQueue: Undelivered = {
      drafts: outbox,
      complete: () => ({ item: null, print: null }),
      remove: (ids) => data.state.change((state) => withoutQueueEvents(state, ids), { asPlanner: true }),
    };
    return [...data.withEvents.all.map((record) => this.#ofItem(loaded, record)), ofQueue];
  }

  #ofItem({ data, view }: QueueContext, { itemId, outbox }: ItemRecord): Undelivered {
    return {
      drafts: outbox,
      complete: ({ print }) => {
        const now = data.items.get(itemId);
        const attempt = now?.prints.find(({ copy, attempt }) => copy === print?.copy && attempt === print.attempt);
        return {
          item: now ? view.item(now, EVENT_PRINTS) : null,
          print: now && attempt ? printShape(now, attempt) : null,
        };
      },
      remove: async (ids) => {
        await data.items.change(itemId, (record) => withoutEvents(record, ids), { asPlanner: true });
      },
    };
  }
}

type QueuesDeps = Omit<QueueParts, keyof QueueOptions | 'localChanges' | 'interval' | 'closed'> & {
  /** The store as all accounts of this process know it. */
  shared: StateStore;
};

/** The open print queues of an account. */
export class Queues {
  readonly #deps: QueuesDeps;
  readonly #open = new Set<PrintQueue>();

  constructor(deps: QueuesDeps) {
    this.#deps = deps;
  }

  /** Opens a queue. Its node closes it; the account closes those that are left. */
  open(options: QueueOptions): PrintQueue {
    const { shared, ...deps } = this.#deps;
    const { queueId, name } = options;
    const queue: PrintQueue = new PrintQueue({
      ...options,
      ...deps,
      localChanges: LocalChanges.of(shared),
      interval: deps.watcher.jobEndInterval,
      closed: () => {
        this.#open.delete(queue);
        endMetrics?.();
      },
    });
    const endMetrics = deps.meter?.attach({ queueId, name, figures: () => queue.figures() });
    this.#open.add(queue);
    return queue;
  }

  /** Pauses all queues, or one printer in each queue that has it. Rejects with the first failure, after all were tried. */
  async pause(clusterId: string | null, deadline: Deadline): Promise<void> {
    const printer = clusterId === null ? null : { clusterId, printerId: null };
    const pauses = [...this.#open].map((queue) =>
      queue.pause({ printer, until: null, reason: null }, deadline).catch((thrown: unknown) => {
        const isOther = printer !== null && asPrintingError(thrown).code === 'NOT_FOUND';
        if (!isOther) throw thrown;
      }),
    );
    for (const pause of await Promise.allSettled(pauses)) if (pause.status === 'rejected') throw pause.reason;
  }

  /** Resolves when the outcomes of all sends are written. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map((queue) => queue.close()));
  }
}

/** Facts about a print that a verdict judges. */
function judgedPrint(data: QueueData, id: string): Omit<JudgedPrint, 'known'> {
  const found = data.printOf(id);
  if (!found) return { perPrint: null, whole: 1, isCorrectable: false };
  const { state, perPrint = 1 } = found.attempt;
  return { perPrint, whole: UNFINISHED.includes(state) ? 0 : perPrint, isCorrectable: found.item.parts !== undefined };
}

/** States of ended prints, of which no part is good unless somebody counts some. */
const UNFINISHED: readonly api.AttemptState[] = ['failed', 'aborted', 'unknown'];

/** The first file of an item, stored before the item is added: a durable item never lacks it. */
const ownFile = async (queue: FileStorage, request: AddRequest): Promise<ItemFile> =>
  request.source
    ? storeFile(queue, await request.deadline.wait(request.source()), request)
    : storedFile(queue, request.jobId, request.deadline);

/** The files of alternatives, stored where they were not. Throws the errors of the upload and of the service's calls. */
async function alternativeFiles(
  queue: FileStorage,
  { alternatives = [], deadline, onProgress }: Pick<AddRequest, 'alternatives' | 'deadline' | 'onProgress'>,
): Promise<ItemFile[]> {
  const files: ItemFile[] = [];
  for (const other of alternatives) {
    const file =
      'jobId' in other
        ? await storedFile(queue, other.jobId, deadline)
        : await storeFile(queue, { kind: 'file', path: other.filename }, { jobName: '', deadline, onProgress });
    files.push({ ...file, ...(other.perPrint !== undefined && { perPrint: other.perPrint }) });
  }
  return files;
}

type FileStorage = Pick<QueueParts, 'uploads' | 'service'>;

async function storeFile(
  { uploads }: FileStorage,
  source: Source,
  { jobName, mediaType, deadline, onProgress }: Pick<AddRequest, 'jobName' | 'mediaType' | 'deadline' | 'onProgress'>,
): Promise<ItemFile> {
  const facts = await factsOfFile(source, deadline).catch(() => null);
  const stored = await uploads.send(source, {
    ...(jobName ? { jobName } : {}),
    ...{ mediaType, compress: false, reuse: true, dryRun: false, deadline },
    onStage: (_, { percent }) => onProgress(percent),
  });
  const read = factsOfMetadata(stored.raw?.metadata);
  return {
    jobId: stored.jobId,
    filename: stored.jobName,
    size: stored.fileSize,
    facts: read?.model ? read : facts,
    isGone: false,
  };
}

async function storedFile({ service }: FileStorage, jobId: string | null, deadline: Deadline): Promise<ItemFile> {
  if (jobId === null)
    throw new PrintingError('INVALID_INPUT', phrase`The stored job to print is missing: set msg.jobId.`);
  const stored = await readStored(service, { kind: 'job', id: jobId }, { deadline });
  if (!isUploaded(stored))
    throw new PrintingError('NOT_ACCEPTED', phrase`The file of the stored job is not stored yet: try again later.`, {
      ids: { jobId },
    });
  const facts = factsOfMetadata(readRecord(stored.metadata));
  return { jobId, filename: text(stored.job_name), size: amount(stored.file_size), facts, isGone: false };
}

type LoadedQueue = Pick<QueueContext, 'data' | 'view'>;

/** Waits for the ends of items. Each reads its record after every change, at whichever runtime that was made. */
class AwaitedEnds {
  readonly #waits = new Set<(queue: LoadedQueue | null) => void>();
  #isClosed = false;

  /**
   * Resolves with an item that has ended; null if `signal` aborts or the queue closes. Throws QUEUE_ITEM_NOT_FOUND.
   * @param queue null: its records are not loaded
   */
  endOf(itemId: string, signal: AbortSignal, queue: LoadedQueue | null): Promise<QueueItem | null> {
    const ended = new AbortController();
    return new Promise<QueueItem | null>((resolve, reject) => {
      let isReading = false;
      const read = async ({ data, view }: LoadedQueue) => {
        isReading = true;
        // A record that can't be read now is read again after the next change.
        const found = await data.items.find(itemId).catch(() => null);
        isReading = false;
        if (found === undefined) reject(itemNotFound());
        else if (found && found.endedAt !== null) resolve(view.item(found));
      };
      const check = (now: LoadedQueue | null) => {
        if (signal.aborted || this.#isClosed) return resolve(null);
        const record = now?.data.items.get(itemId);
        if (now && record && record.endedAt !== null) resolve(now.view.item(record));
        else if (now && !record && !isReading) void read(now);
      };
      this.#waits.add(check);
      ended.signal.addEventListener('abort', () => this.#waits.delete(check));
      signal.addEventListener('abort', () => check(null), { signal: ended.signal });
      check(queue);
    }).finally(() => ended.abort());
  }

  /** Call after any change. */
  check(queue: LoadedQueue | null): void {
    for (const check of [...this.#waits]) check(queue);
  }

  close(): void {
    this.#isClosed = true;
    this.check(null);
  }
}

const mayBeAdded = (): PrintingError =>
  new PrintingError(
    'TIMEOUT',
    phrase`It is not known whether the item was added: check the queue before you send the message again.`,
    { outcome: 'unknown' },
  );

const tooManyReasons = () =>
  new PrintingError(
    'INVALID_INPUT',
    phrase`The explanation of the order has more than ${EXPLAINED} reasons: name single items by msg.itemId, or use the action list.`,
  );

const NOT_LOADED: api.QueueFigures = {
  waiting: 0,
  active: 0,
  blocked: 0,
  firstReason: null,
  isPaused: false,
  error: null,
};

/** Reasons for which a printer is at work, or is not meant to work. */
const NOT_IDLE: ReadonlySet<PrinterReason> = new Set([
  ...(['BUSY', 'OFFLINE', 'STALE', 'DISABLED', 'INACTIVE', 'PAUSED'] as const),
]);

/** Figures of a queue for its metrics. */
function figuresOf({ data, view, rules }: QueueContext): QueueReading {
  const items: Record<ItemState, number> = {
    ...{ waiting: 0, active: 0, held: 0, blocked: 0 },
    ...{ finished: 0, failed: 0, cancelled: 0 },
  };
  for (const record of data.items.all) items[itemStateOf(record, view.canBePlanned(record))]++;
  const wanted = view.wantedPrinters;
  const printers = view.input.printers.map((printer) => {
    const { clusterId, printerId } = printer;
    const gate = data.gates.of(clusterId, printerId);
    return {
      clusterId,
      printerId,
      isPlateWaiting: gate ? isPlateToClear(gate, rules.gate) : null,
      isIdle: wanted.has(printer) && isIdle(printer),
    };
  });
  return { items, printers };
}

const isIdle = ({ obstacle }: QueuePrinter): boolean => obstacle === null || !NOT_IDLE.has(obstacle.code);
