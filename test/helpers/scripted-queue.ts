import type {
  AddRequest,
  Board,
  BoardEvent,
  Changed,
  ItemChanges,
  ExplainedItem,
  Forecast,
  ListFilter,
  NamedCopy,
  Pause,
  PlateJudgement,
  PrinterTarget,
  QueueApi,
  QueueEvent,
  QueueExplanation,
  QueueItem,
  QueueFigures,
  ItemTarget,
  Settlement,
} from '../../lib/queue/model/types';
import type { Deadline } from '../../lib/time/deadline';
import { phrase } from '../../lib/words/sentence';
import { requirement } from './queue-inputs';

export const queueItem = (changes: Partial<QueueItem> = {}): QueueItem => ({
  itemId: 'item-1',
  queueId: 'queue',
  queueKey: null,
  orderId: null,
  name: 'part.gcode',
  owner: null,
  costCode: null,
  jobId: 'job-1',
  fileSize: 100,
  state: 'waiting',
  held: false,
  priority: 0,
  position: 1,
  createdAt: '2026-01-31T10:00:00.000Z',
  notBefore: null,
  deadline: null,
  endedAt: null,
  copies: { total: 1, waiting: 1, active: 0, good: 0, rejected: 0, failed: 0, held: 0, unknown: 0 },
  parts: null,
  requires: requirement({ models: ['Model X'] }),
  estimate: { seconds: 600, volumes: [], weights: [], cost: null },
  cost: null,
  eta: null,
  waitingFor: [{ code: 'BUSY', printers: 2, text: phrase`No answer from the printer` }],
  prints: [],
  ...changes,
});

export const queueState = (changes: Partial<QueueFigures> = {}): QueueFigures => ({
  waiting: 0,
  active: 0,
  blocked: 0,
  firstReason: null,
  isPaused: false,
  error: null,
  ...changes,
});

const EXPLANATION: QueueExplanation = {
  printers: [
    {
      ...{ clusterId: 'c1', printerId: null, clusterName: 'Left', printerName: 'Left', free: false, plate: 'awaiting' },
      judges: 'print-1',
      ...{ code: 'PLATE_NOT_CLEARED', text: phrase`No answer from the printer` },
      ...{ paused: null, lastUsedAt: null, hours: 1, current: null },
    },
  ],
  paused: null,
  waiting: 3,
  active: 1,
};

const FORECAST: Forecast = { at: 'now', items: [], prints: [], orders: [], idleAt: null, materials: [] };

export const queueBoard = (changes: Partial<Board> = {}): Board => ({
  ...{ at: 'now', printers: [], items: [], orders: [], todo: [] },
  counts: { waiting: 0, active: 0, held: 0, blocked: 0, finished: 0, failed: 0, cancelled: 0 },
  forecast: FORECAST,
  ...changes,
});

/** A queue that records its calls, and answers as the test says. */
export class ScriptedQueue implements QueueApi {
  readonly calls: unknown[][] = [];
  /** Answer of `add`, and of all actions on items. */
  added: Changed = { item: queueItem(), duplicate: false };
  items: QueueItem[] = [queueItem()];
  /** Error that the next call throws. */
  failure: Error | undefined;
  /** Ended items, by id. */
  readonly ended = new Map<string, QueueItem>();
  state = queueState();
  shown = queueBoard();
  closed = 0;
  readonly #boards = new Set<(event: BoardEvent) => void>();
  readonly #ends = new Set<() => void>();
  readonly #subscribers = new Set<(events: readonly QueueEvent[]) => void>();
  readonly #watchers = new Set<(state: QueueFigures) => void>();

  get listeners(): number {
    return this.#subscribers.size + this.#watchers.size + this.#ends.size + this.#boards.size;
  }

  #answer<T>(name: string, args: unknown[], value: T): Promise<T> {
    this.calls.push([name, ...args]);
    const { failure } = this;
    this.failure = undefined;
    return failure ? Promise.reject(failure) : Promise.resolve(value);
  }

  async add(request: AddRequest): Promise<Changed> {
    request.onProgress(50);
    const source = await request.source?.();
    return this.#answer('add', [{ ...request, source }], this.added);
  }
  update = (target: ItemTarget, changes: ItemChanges, _: Deadline) =>
    this.#answer('update', [target, changes], this.items);
  move = (target: ItemTarget, to: object, _: Deadline) => this.#answer('move', [target, to], this.items);
  hold = (target: ItemTarget) => this.#answer('hold', [target], this.items);
  release = (target: ItemTarget) => this.#answer('release', [target], this.items);
  retry = (target: ItemTarget, _: Deadline, print?: NamedCopy) =>
    this.#answer('retry', print ? [target, print] : [target], this.items);
  remove = (target: ItemTarget) => this.#answer('remove', [target], this.items);
  settle = (target: ItemTarget, verdict: Settlement) => this.#answer('settle', [target, verdict], this.items);
  plateCleared = (printer: PrinterTarget, good: boolean, _: Deadline, about: PlateJudgement = {}) => {
    const said = Object.fromEntries(Object.entries(about).filter(([, value]) => value !== undefined));
    const more = Object.keys(said).length > 0 ? [said] : [];
    return this.#answer('plateCleared', [printer, good, ...more], EXPLANATION);
  };
  pause = (pause: Pause) => this.#answer('pause', [pause], EXPLANATION);
  resume = (printer: PrinterTarget | null) => this.#answer('resume', [printer], EXPLANATION);
  list = (filter: ListFilter) => this.#answer('list', [filter], this.items);
  count = () => Promise.resolve(this.items.length);
  explain = (target: ItemTarget): Promise<ExplainedItem[]> => {
    const waitingFor = [
      { clusterId: 'c1', printerId: null, clusterName: 'Left', code: 'BUSY' as const, text: phrase`no status` },
    ];
    return this.#answer(
      'explain',
      [target],
      this.items.map((item) => ({ ...item, waitingFor })),
    );
  };
  explainQueue = () => this.#answer('explainQueue', [], EXPLANATION);
  forecast = (): Promise<Forecast> => this.#answer('forecast', [], FORECAST);
  board = (): Promise<Board> => this.#answer('board', [], this.shown);

  watchBoard(onBoard: (event: BoardEvent) => void): () => void {
    this.#boards.add(onBoard);
    return () => this.#boards.delete(onBoard);
  }

  /** Shows a board to whoever watches it. */
  showBoard(board: Board): void {
    const about = { queueId: 'queue', queueName: 'Farm', item: null, print: null, clusterId: null, clusterName: null };
    const event: BoardEvent = { type: 'queue.board', at: board.at, late: false, ...about, value: board };
    for (const onBoard of [...this.#boards]) onBoard(event);
  }

  endOf(itemId: string, signal: AbortSignal): Promise<QueueItem | null> {
    return new Promise((resolve) => {
      const look = () => {
        const item = this.ended.get(itemId);
        if (item === undefined && !signal.aborted) return;
        this.#ends.delete(look);
        resolve(item ?? null);
      };
      this.#ends.add(look);
      signal.addEventListener('abort', look);
      look();
    });
  }

  subscribe(onEvents: (events: readonly QueueEvent[]) => void): () => void {
    this.#subscribers.add(onEvents);
    return () => this.#subscribers.delete(onEvents);
  }

  watchState(onChange: (state: QueueFigures) => void): () => void {
    this.#watchers.add(onChange);
    onChange(this.state);
    return () => this.#watchers.delete(onChange);
  }

  close(): Promise<void> {
    this.closed++;
    return Promise.resolve();
  }

  end(item: QueueItem): void {
    this.ended.set(item.itemId, item);
    for (const look of [...this.#ends]) look();
  }

  emit(...events: QueueEvent[]): void {
    for (const onEvents of this.#subscribers) onEvents(events);
  }

  show(changes: Partial<QueueFigures>): void {
    this.state = queueState(changes);
    for (const onChange of this.#watchers) onChange(this.state);
  }
}
