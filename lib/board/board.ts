import { isDeepStrictEqual } from 'node:util';
import type { ApiClient } from '../account/api-client';
import type { ExplainedItem, ItemTarget, ListFilter } from '../queue/model/types';
import { asPrintingError, PrintingError } from '../service/errors';
import { isUnderWay } from '../service/job-words';
import type { PrintJob } from '../service/print-job';
import type { ClusterView } from '../queue/records/statuses';
import type { SignInWatch } from '../sign-in/sign-in-state';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import { SharedRead, Turns } from '../time/concurrency';
import type { Deadline } from '../time/deadline';
import type { Watcher } from '../watch/watcher';
import { phrase, type Sentence } from '../words/sentence';
import { AccountState, type SeenCluster } from './account-state';
import { type BoardView, changeTo, documentOf, isOpen, printerId, shownItem, type Translate } from './document';
import { Farm } from './farm';
import { csvOf, PAGE, PastPrints } from './history';
import { Notices } from './notices';
import { isAllowed } from './permission';
import { type Picture, Pictures, type Subject } from './pictures';
import { type Pressed, Presses } from './presses';
import type { BoardItem, BoardPrinter, BoardState, Facts, PastPrint, PrinterDetails } from './shapes';
import { Streams } from './streams';

/** The queue of a board. */
export interface BoardQueue {
  board(): Promise<BoardState<Sentence>>;
  list(filter: ListFilter): Promise<readonly Omit<BoardItem<Sentence>, 'sentence'>[]>;
  /** Number of all items in the list. */
  count(): Promise<number>;
  explain(target: ItemTarget): Promise<ExplainedItem[]>;
  /** Sends the board at once, and again after changes. The returned function ends it. */
  watchBoard(onBoard: (event: { value: BoardState<Sentence> }) => void): () => void;
}

export interface BoardOptions {
  boardId: string;
  clock: Clock;
  store: StateStore;
  service: ApiClient;
  signIn: SignInWatch;
  watcher: Pick<Watcher, 'clusterList' | 'hold' | 'onObservation'>;
  /** Null: the board shows the printers of the account. */
  queue: BoardQueue | null;
  facts: Facts;
  takePicture: (subject: Subject, deadline: Deadline) => Promise<Picture>;
  /** Carries out a permitted action. */
  act: (action: string, properties: Readonly<Record<string, unknown>>, deadline: Deadline) => Promise<void>;
  translate: (language: string) => Translate;
}

/** Items to answer at once. */
const MOST_ITEMS = 200;
/** Items to read at once for the history. */
const LISTED = 1_000;
/** Most reads of them all, until none is left out. */
const PASSES = 3;

/** One board: what its pages see, and what their presses do. */
export class Board {
  readonly streams: Streams;
  readonly notices: Notices;
  readonly #options: BoardOptions;
  readonly #farm: Farm;
  readonly #account: AccountState;
  readonly #pictures: Pictures;
  readonly #presses: Presses;
  /** Of all requests together: each of many that come at the same time would take its own time before the event loop turns. */
  readonly #turns: Turns;
  /** Requests that come at the same time share a read, which may be long. */
  readonly #past = new SharedRead(() => this.#readPast());
  /** The same for texts, by what they contain. */
  readonly #texts = new Map<string, SharedRead<string>>();
  readonly #completed = new WeakMap<BoardPrinter<Sentence>, BoardPrinter<Sentence>>();
  #last: BoardState<Sentence> | null = null;
  /** The queue's board while pages are open. */
  #watched: BoardState<Sentence> | null = null;

  constructor(options: BoardOptions) {
    this.#options = options;
    const { clock, service, signIn, watcher, queue, store, boardId, translate } = options;
    const changed = () => this.streams.changed();
    const watch = queue ? () => this.#watch(queue) : undefined;
    this.streams = new Streams({ clock, read: () => this.view(), translate, watch });
    this.notices = new Notices(clock, changed);
    this.#turns = new Turns(clock);
    this.#pictures = new Pictures({ clock, take: options.takePicture, changed });
    this.#presses = new Presses(store, boardId);
    this.#account = new AccountState(clock);
    // The queue reports the changes that a status makes to its board.
    const farm = queue ? { isHolding: false, changed: () => undefined } : { isHolding: true, changed };
    this.#farm = new Farm({ service, clock, signIn, watcher, ...farm });
  }

  get facts(): Facts {
    return this.#options.facts;
  }

  #watch(queue: BoardQueue): () => void {
    const end = queue.watchBoard(({ value }) => {
      this.#watched = value;
      this.streams.changed();
    });
    return () => {
      end();
      this.#watched = null;
    };
  }

  /** Present state of the pages. */
  async view(): Promise<BoardView> {
    const { facts } = this.#options;
    const state = await this.#read();
    const printers = state.printers.map((printer) => this.#shown(printer));
    return { facts, state: { ...state, printers }, notices: this.notices.all };
  }

  /**
   * A printer with the time of its picture, and with its name by the account's list while its queue has not seen it; the same
   * object as before where nothing has changed.
   */
  #shown(printer: BoardPrinter<Sentence>): BoardPrinter<Sentence> {
    const pictureAt = this.#pictures.of(printerId(printer))?.takenAt ?? printer.pictureAt;
    const clusterName = printer.clusterName ?? this.#farm.listed(printer.clusterId)?.name ?? null;
    const before = this.#completed.get(printer) ?? printer;
    if (before.pictureAt === pictureAt && before.clusterName === clusterName) return before;
    const completed = { ...printer, pictureAt, clusterName };
    this.#completed.set(printer, completed);
    return completed;
  }

  async #read(): Promise<BoardState<Sentence>> {
    const { queue } = this.#options;
    this.#last = queue ? (this.#watched ?? (await this.#ofQueue(queue))) : await this.#ofAccount();
    return this.#last;
  }

  /** While no sign-in names the workspace of the queue's items, the board asks for one. */
  #ofQueue(queue: BoardQueue): Promise<BoardState<Sentence>> {
    return queue.board().catch((thrown: unknown) => {
      if (asPrintingError(thrown).code !== 'NOT_SIGNED_IN') throw thrown;
      return this.#ofAccount();
    });
  }

  #ofAccount(): Promise<BoardState<Sentence>> {
    const { signIn } = this.#options;
    return this.#account.of(this.#clusters(), signIn.usable || signIn.state === 'unread');
  }

  *#clusters(): Generator<SeenCluster, void> {
    for (const clusterId of this.#farm.clusterIds)
      yield { clusterId, listed: this.#farm.listed(clusterId), view: this.#farm.view(clusterId) };
  }

  /** The whole board as one message, for a page without a stream. */
  whole(language: string): Promise<string> {
    const { translate, clock } = this.#options;
    return this.#text(`whole ${language}`, async () => {
      const whole = await documentOf(await this.view(), translate(language), this.#turns);
      return changeTo(whole, null, clock.now()) ?? '{}';
    });
  }

  /** All prints that have ended, as CSV. */
  csv(language: string): Promise<string> {
    const show = this.#options.translate(language);
    return this.#text(`csv ${language}`, async () => csvOf(await this.#past.read(), show, this.#turns));
  }

  #text(name: string, read: () => Promise<string>): Promise<string> {
    const shared = this.#texts.get(name) ?? new SharedRead(read);
    this.#texts.set(name, shared);
    return shared.read();
  }

  /** Some page shows these printers just now. */
  async look(ids: readonly string[]): Promise<void> {
    const { printers } = this.#last ?? (await this.#read());
    const wanted = new Set(ids);
    const looked = printers.filter((printer) => wanted.has(printerId(printer)));
    this.#pictures.look(
      looked.map(({ clusterId, printerId: own, state, job }) => ({
        ...{ id: printerId({ clusterId, printerId: own }), clusterId, printerId: own },
        isOnline: state !== 'offline' && this.#farm.view(clusterId)?.status.online !== false,
        print: this.#printOn(clusterId, own) ?? (state === 'printing' ? (job?.clusterJobId ?? '') : null),
      })),
    );
  }

  #printOn(clusterId: string, own: string | null): string | null {
    const jobs = this.#farm.view(clusterId)?.status.jobs ?? [];
    const job = jobs.find((one) => isUnderWay(one) && (own === null || one.printerId === own));
    return job ? (job.clusterJobId ?? '') : null;
  }

  /** The last picture of a printer. */
  picture(id: string): Picture | null {
    return this.#pictures.of(id);
  }

  /** The picture after the end of a print. */
  pictureOfPrint(clusterJobId: string): Picture | null {
    return this.#pictures.ofPrint(clusterJobId);
  }

  /**
   * Does a press once, by its key. Rejects with FORBIDDEN where the board does not permit it, and where it was not begun.
   */
  async press(
    { key, action, properties }: { key: unknown; action: string; properties: Record<string, unknown> },
    deadline: Deadline,
  ): Promise<Pressed> {
    this.permit(action, properties);
    const act = () => this.#options.act(action, properties, deadline);
    return this.once(key, deadline, act, () => this.#checkRequire(action, properties));
  }

  /** Throws FORBIDDEN for requirements that no present answer gives the item, unless the board permits everything. */
  async #checkRequire(action: string, { itemId, require }: Readonly<Record<string, unknown>>): Promise<void> {
    if (action !== 'update' || require === undefined || this.facts.allow === 'all') return;
    const { todo } = await this.#read();
    const isOffered = todo
      .flatMap(({ answers }) => answers)
      .some(
        (answer) =>
          answer.action === action &&
          answer.properties.itemId === itemId &&
          // As the page has got it.
          isDeepStrictEqual(JSON.parse(JSON.stringify(answer.properties.require)), require),
      );
    if (!isOffered) throw forbidden(action);
  }

  /** Throws FORBIDDEN for an action that the board does not permit. */
  permit(action: string, properties: Readonly<Record<string, unknown>>): void {
    if (isAllowed(action, properties, this.facts.allow)) return;
    throw forbidden(action);
  }

  async once(
    key: unknown,
    deadline: Deadline,
    act: () => Promise<void>,
    check?: () => Promise<void>,
  ): Promise<Pressed> {
    try {
      return await this.#presses.once(key, deadline, act, check);
    } finally {
      this.streams.changed();
    }
  }

  /** Reads a printer anew, after a press that concerned it. */
  reread(clusterId: string): void {
    void this.#farm.reread(clusterId);
  }

  /** Items of the whole queue that a search finds, as the pages show them. */
  async items(search: ItemSearch): Promise<{ total: number; items: BoardItem<Sentence>[] }> {
    const state = await this.#read();
    const planned = new Map(state.forecast?.items.map(({ itemId, clusterId }) => [itemId, clusterId]));
    const found = state.items.filter(
      (item) => (search.state !== '' || isOpen(item)) && isFound(item, planned.get(item.itemId) ?? null, search),
    );
    return { total: found.length, items: found.slice(search.from, search.from + MOST_ITEMS).map(shownItem) };
  }

  /** Why an item waits, printer by printer. */
  async explain(itemId: string): Promise<ExplainedItem['waitingFor']> {
    const [item] = (await this.#options.queue?.explain({ itemId })) ?? [];
    return item?.waitingFor ?? [];
  }

  /** Prints that have ended, the newest first; `page` counts from 0. */
  async history(page: number): Promise<{ total: number; prints: PastPrint<Sentence>[] }> {
    const prints = await this.#past.read();
    return { total: prints.length, prints: prints.slice(page * PAGE, (page + 1) * PAGE) };
  }

  async #readPast(): Promise<PastPrint<Sentence>[]> {
    const { queue } = this.#options;
    const past = new PastPrints<Sentence>(this.#turns);
    // While the event loop turns, an item may move: to a page that is still to come, or to one that was read.
    const read = new Set<string>();
    /** Returns whether it has left out items. */
    const readAll = async (from: BoardQueue): Promise<boolean> => {
      for (let at = 0, isMore = true; isMore; at += LISTED) {
        const listed = await from.list({ from: at, limit: LISTED });
        for (const item of listed) {
          if (!read.has(item.itemId)) await past.add(item);
          read.add(item.itemId);
        }
        isMore = listed.length === LISTED;
      }
      return read.size < (await from.count());
    };
    for (let pass = 0; queue && pass < PASSES && (await readAll(queue)); pass++);
    return past.sorted();
  }

  /** Details of one printer from its last status; null if it was never read. */
  printer(id: string): PrinterDetails | null {
    const shown = this.#last?.printers.find((printer) => printerId(printer) === id);
    const view = shown && this.#farm.view(shown.clusterId);
    if (!view) return null;
    const { printerId: own } = shown;
    const printer = view.printers.find((one) => own === null || one.printerId === own);
    const isHere = (job: PrintJob) => own === null || job.printerId === own;
    return {
      jobs: view.status.jobs.filter(isHere).map(({ clusterJobId, name, state, progress, timeRemaining, owner }) => ({
        ...{ clusterJobId, name, state, progress, timeRemaining, owner },
      })),
      history: view.status.history
        .filter(isHere)
        .map(({ clusterJobId, name, state, createdAt, owner, timeElapsed }) => ({
          ...{ clusterJobId, name, state, createdAt, owner, seconds: timeElapsed },
          pictureAt: this.#pictures.ofPrint(clusterJobId ?? '')?.takenAt ?? null,
        })),
      model: printer?.model ?? view.status.model,
      firmware: { version: printer?.firmware.version ?? null, latest: printer?.firmware.latest ?? null },
      maintenanceDue: maintenanceDueIn(view, shown),
    };
  }

  /** Resolves when the presses under way have ended. Never rejects. */
  async close(): Promise<void> {
    this.streams.close();
    this.notices.close();
    this.#pictures.close();
    this.#farm.close();
    await this.#presses.settled();
  }
}

const forbidden = (action: string): PrintingError =>
  new PrintingError('FORBIDDEN', phrase`This board does not allow the action "${action}".`);

/** Names of the printers of a cluster whose maintenance is due; the cluster's own, if the service names none of them. */
function maintenanceDueIn(
  { status, printers }: ClusterView,
  { clusterId, clusterName }: BoardPrinter<Sentence>,
): string[] {
  const due = printers.filter(({ maintenanceRequired }) => maintenanceRequired === true);
  if (due.length > 0) return due.map(({ name }) => name ?? clusterName ?? clusterId);
  return status.maintenanceDue === true ? [clusterName ?? clusterId] : [];
}

/** Search of a page; blank members match every item. */
export interface ItemSearch {
  q: string;
  state: string;
  /** Id of a printer on the page. */
  printer: string;
  order: string;
  owner: string;
  /** Items to skip. */
  from: number;
}

function isFound(item: BoardItem<Sentence>, planned: string | null, search: ItemSearch): boolean {
  const { name, orderId, owner, state, prints } = item;
  const q = search.q.trim().toLowerCase();
  const isNamed = [name, orderId, owner].some((text) => text?.toLowerCase().includes(q));
  if (q !== '' && !isNamed) return false;
  if (search.state !== '' && state !== search.state) return false;
  if (search.order !== '' && orderId !== search.order) return false;
  if (search.owner !== '' && owner !== search.owner) return false;
  if (search.printer === '') return true;
  const [clusterId = ''] = search.printer.split(' ');
  return planned === clusterId || prints.some((print) => print.endedAt === null && print.clusterId === clusterId);
}
