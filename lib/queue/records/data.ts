import type { ClusterStatus } from '../../service/cluster';
import type { Lock } from '../../state/membership';
import { asPrintingError, type PrintingError } from '../../service/errors';
import type { Key, Scope, StateStore } from '../../state/store';
import type { Clock } from '../../time/clock';
import { allToTheirEnds, SharedRead } from '../../time/concurrency';
import { guard } from '../../time/guard';
import type { Watcher } from '../../watch/watcher';
import type { Sentence } from '../../words/sentence';
import { awaitedPrints, awaitsVerdict, isOpen, isStuck, isUnnamed, ItemIndex, openAttempts } from '../model/item';
import { mayBeLate } from '../model/item-changes';
import { NEW_QUEUE, type QueueRecord } from '../model/queue-record';
import type { QueueRules } from '../model/rules';
import {
  type Attempt,
  type ItemRecord,
  machinesOf,
  nameOf,
  namesOf,
  printerKey,
  type PrinterTarget,
  printingId,
  type QueueMeter,
} from '../model/types';
import type { EventAges } from './event-ages';
import { isUnread } from './facts';
import { GateRecords } from './gate-records';
import { PlateGates } from './gates';
import { ItemStore, Reservations } from './items';
import { LivedTime } from './lived';
import { PrintedPlates } from './printed-plates';
import { type LocalChanges, PLANNER, QueueStore, Records } from './records';
import { SharedReads } from './shared-reads';
import { readQueue } from './stored-queue';
import { Telling } from './telling';

/** The parts of a queue that its records need. */
interface QueueDataParts {
  queueId: string;
  rules: Pick<QueueRules, 'keepFor'>;
  store: StateStore;
  /** Changes of the records in this process. */
  localChanges: LocalChanges;
  clock: Clock;
  /** For the log. */
  warn: (sentence: Sentence) => void;
  /** Interval of the shared polls, ms. */
  interval: number;
  watcher: Pick<Watcher, 'clusterList' | 'markGate' | 'isGateMarked'>;
  meter?: QueueMeter | undefined;
}

/** The owner of the records. */
interface QueueDataOwner {
  /** Lease under which this runtime plans or planned last; null: none is needed, or this runtime has never planned. */
  lease: () => Lock | null;
  /** Whether this runtime plans. */
  plans: () => boolean;
  /** Whether the service does not know a cluster any more. */
  isGone: (clusterId: string) => boolean;
  /** Called after any change, here or at another runtime. */
  changed: () => void;
  /** Called after a person, here or at another runtime, wanted an item to be tried at once where it was refused. */
  triedAgain: (itemId: string) => void;
  /** Called with a status that the planner has read; `requestedAt`: monotonic, ms. */
  seen: (status: ClusterStatus, requestedAt: number) => void;
  /** A record that another runtime has changed can't be read. */
  failed: (thrown: unknown) => void;
}

/** All durable data of a queue in one workspace, and its copy in memory. */
export class QueueData {
  readonly items: ItemStore;
  readonly gates: PlateGates;
  readonly plates: PrintedPlates;
  readonly state: SavedQueue;
  readonly reservations: Reservations;
  readonly telling: Telling;
  readonly reads: SharedReads;
  /** The time by which the queue's spans are measured. */
  readonly lived: LivedTime;
  readonly scope: Scope;
  /** Items with open attempts. */
  readonly open = new ItemIndex((record) => openAttempts(record).length > 0);
  readonly withEvents = new ItemIndex(({ outbox }) => outbox.length > 0);
  readonly blocked = new ItemIndex(({ blocked }) => blocked.is);
  /** Items with copies that wait for the verdict on their plates. */
  readonly awaiting = new ItemIndex((record) => awaitedPrints(record).length > 0);
  /** Items with a deadline that they may still meet. */
  readonly withDeadline = new ItemIndex(mayBeLate);
  /** Items with files about which the service may state facts. */
  readonly unread = new ItemIndex(isUnread);
  /** Items with prints that a person has settled, and that nothing has named yet. */
  readonly unnamed = new ItemIndex(({ prints }) => prints.some(isUnnamed));
  /** Items with attempts that a status may concern: open ones, and those that could still show up. */
  readonly #unsettled = new ItemIndex(({ prints }) => !prints.every(isOver));
  readonly #gateRecords: GateRecords;
  readonly #queueId: string;
  readonly #clock: Clock;
  readonly #owner: QueueDataOwner;
  readonly #usage = new Map<string, Usage>();
  /** Ids of the machines and clusters that attempts name. */
  readonly #named = new Set<string>();
  /** Item of each print that was sent, by the id of its printing, or its print key while that is unknown. */
  readonly #printings = new Map<string, string>();
  /** Ended attempts whose time is counted. */
  readonly #counted = new Set<string>();
  /** Lived time of the last departure, dispatch or beginning of a print, ms. */
  #lastStart = -Infinity;
  /** When open prints of which older versions recorded no such time were first seen here, lived, ms. */
  #undated = new Map<string, number>();
  readonly #ages: EventAges;
  readonly #end: () => void;
  readonly #loads = new SharedRead(() => this.#load());
  #isLoaded = false;
  /** When the records were known to be up to date, monotonic, ms; what a listing finds beyond them may be as old. */
  #currentAt = -Infinity;
  #isListing = false;

  constructor(parts: QueueDataParts, scope: Scope, owner: QueueDataOwner) {
    const { queueId, rules, store, localChanges, clock, warn, interval, watcher, meter } = parts;
    const noticed = guard((key: Key | null) => this.#notified(key), owner.failed);
    this.#queueId = queueId;
    this.#clock = clock;
    this.lived = new LivedTime(clock);
    this.#owner = owner;
    this.scope = scope;
    const records = new QueueStore(store, scope, warn, owner.lease, (key) => localChanges.report(key, noticed));
    this.items = new ItemStore({
      ...{ store: records, queueId, clock, keepFor: rules.keepFor },
      changed: (before, after) => this.#changed(before, after),
      waited: (ms) => meter?.waited(queueId, ms),
    });
    this.#gateRecords = new GateRecords({
      ...{ store: records, clock, changed: owner.changed },
      mark: (clusterId, machines) => watcher.markGate(scope, clusterId, machines),
    });
    this.gates = new PlateGates({
      ...{ records: this.#gateRecords, store: records, clock, interval, sightings: localChanges.sightings },
      hostOf: (clusterId) => watcher.clusterList.last?.get(clusterId)?.host?.printerId ?? null,
      isNamed: (id) => this.#named.has(id) || this.reservations.isNamed(id),
      isGone: owner.isGone,
      isMarked: (machine) => watcher.isGateMarked(scope, machine),
      changed: owner.changed,
    });
    this.plates = new PrintedPlates({
      ...{ records: this.#gateRecords, gates: this.gates, clock },
      awaitedAt: (printer) => this.#awaitedAt(printer),
    });
    this.#ages = localChanges.eventAges;
    this.state = new SavedQueue(records, queueId, this.lived, {
      plans: owner.plans,
      changed: (before, after) => {
        this.#noteEvents(before, after);
        if (after && after.outbox.length > 0) owner.changed();
      },
    });
    const machinesIn = (clusterId: string) => Object.keys(this.plates.begunOn(clusterId));
    this.reservations = new Reservations(records, queueId, clock, machinesIn);
    this.telling = new Telling(records, queueId, clock);
    this.reads = new SharedReads(records, queueId, clock);
    const ends = [localChanges.listen(noticed), store.onChange?.(noticed)];
    this.#end = () => ends.forEach((end) => end?.());
  }

  /**
   * Reads everything. Rejects while nothing can be read. Resolves with the reason if the queue's own record can't be: then
   * nothing may be sent, because nobody knows what is paused.
   */
  load(): Promise<PrintingError | null> {
    return this.#loads.read();
  }

  async #load(): Promise<PrintingError | null> {
    const startedAt = this.#clock.monotonic();
    this.#isListing = true;
    const state = this.state.load().then(() => null, asPrintingError);
    await allToTheirEnds([
      this.#gateRecords.load(),
      this.items.load(),
      this.telling.load(),
      this.reservations.load(),
    ]).finally(() => (this.#isListing = false));
    const failure = await state;
    this.#currentAt = startedAt;
    this.items.forget(this.state.record.oldBefore);
    this.#isLoaded = true;
    this.#owner.changed();
    return failure;
  }

  /** Why some record could not be read. What was not seen may be there: an item of an order, or the holder of a printer. */
  get unseen(): PrintingError | null {
    return this.items.unseen ?? this.#gateRecords.unseen;
  }

  close(): void {
    this.#end();
  }

  /** Use of the printers by this queue, by `printerKey`. */
  usage(): ReadonlyMap<string, Usage> {
    return this.#usage;
  }

  /**
   * From when the next start is allowed, ms since 1970; Infinity: a print that was sent has not begun yet. One of unknown outcome
   * counts from its departure, and from its beginning once a poll shows that.
   */
  nextStartAt(stagger: number): number {
    if (stagger === 0) return 0;
    // A print that was sent may begin to heat at any moment.
    if (this.open.all.some(({ prints }) => prints.some(isToBegin))) return Infinity;
    const lived = this.lived.now;
    const lastStart = Math.max(this.#lastStart, this.#lastUndated(lived));
    return this.#clock.now() + Math.max(0, lastStart + stagger - lived);
  }

  /** Lived time of the last start among the open prints that have none, at the latest, ms. */
  #lastUndated(lived: number): number {
    const names = this.open.all.flatMap(({ itemId, prints }) =>
      prints.filter((attempt) => isOpen(attempt) && startOf(attempt) === -Infinity).map((one) => nameOf(itemId, one)),
    );
    // The lived time of another planner may be less.
    this.#undated = new Map(names.map((name) => [name, Math.min(lived, this.#undated.get(name) ?? lived)]));
    return Math.max(-Infinity, ...this.#undated.values());
  }

  /** Items that have an attempt on the cluster which a status may concern. */
  concernedBy({ clusterId }: ClusterStatus): ItemRecord[] {
    const isHere = (attempt: Attempt) => attempt.clusterId === clusterId && !isOver(attempt);
    return this.#unsettled.all.filter(({ prints }) => prints.some(isHere));
  }

  /** The print of this queue with an id of a printing, or its print key; undefined: it has none. */
  printOf(id: string): { item: ItemRecord; attempt: Attempt } | undefined {
    const item = this.items.get(this.#printings.get(id) ?? '');
    const attempt = item?.prints.findLast((one) => namesOf(this.#queueId, item.itemId, one).includes(id));
    return item && attempt && { item, attempt };
  }

  /** Whether a copy waits for the verdict on its print, by the id of the printing; null: it is not known. */
  isAwaited(id: string | null): boolean {
    const print = this.printOf(id ?? '');
    return print !== undefined && awaitsVerdict(print.item, print.attempt);
  }

  #awaitedAt({ clusterId, printerId }: PrinterTarget): string | null {
    const here = this.awaiting.all.flatMap((item) =>
      awaitedPrints(item)
        .filter((attempt) => attempt.clusterId === clusterId && (attempt.printerId ?? printerId) === printerId)
        .map((attempt) => ({ id: printingId(this.#queueId, item.itemId, attempt), endedAt: attempt.endedAt ?? 0 })),
    );
    return here.toSorted((a, b) => b.endedAt - a.endedAt)[0]?.id ?? null;
  }

  #noteEvents(before: Pick<ItemRecord, 'outbox'> | undefined, after: Pick<ItemRecord, 'outbox'> | undefined): void {
    const at = this.#isListing ? this.#currentAt : this.#clock.monotonic();
    this.#ages.changed(before?.outbox ?? [], after?.outbox ?? [], at);
  }

  #changed(before: ItemRecord | undefined, after: ItemRecord | undefined): void {
    const itemId = (after ?? before)?.itemId ?? '';
    this.#noteEvents(before, after);
    this.lived.see(after?.createdLived);
    const known = new Set(before?.prints);
    for (const attempt of after?.prints ?? []) {
      if (known.has(attempt)) continue;
      this.#count(itemId, attempt);
      // Nothing can know a print before it was sent.
      if (attempt.state !== 'assigned') this.#printings.set(printingId(this.#queueId, itemId, attempt), itemId);
    }
    if (!after)
      for (const attempt of known)
        for (const name of namesOf(this.#queueId, itemId, attempt)) this.#printings.delete(name);
    const { open, withEvents, blocked, awaiting, withDeadline, unread, unnamed } = this;
    for (const index of [open, withEvents, blocked, awaiting, withDeadline, unread, unnamed, this.#unsettled])
      index.update(itemId, after);
    if (before && after && before.tries !== after.tries) this.#owner.triedAgain(itemId);
    if (this.#isLoaded) this.#owner.changed();
  }

  /** Counts an attempt that was sent; its time once, when it has ended. */
  #count(itemId: string, attempt: Attempt): void {
    const { dispatchedAt, dispatchedLived = 0, seconds, copy, attempt: number } = attempt;
    for (const id of [attempt.printerId ?? attempt.clusterId, ...machinesOf(attempt)]) this.#named.add(id);
    const startedAt = startOf(attempt);
    this.lived.see(startedAt);
    // A call that has left may still be refused.
    if (attempt.state !== 'assigned') this.#lastStart = Math.max(this.#lastStart, Math.min(startedAt, this.lived.now));
    if (dispatchedAt === null) return;
    const key = printerKey(attempt);
    const known = this.#usage.get(key) ?? { lastUsedAt: 0, lastUsedLived: 0, usedFor: 0 };
    const name = `${itemId}/${copy}/${number}`;
    const isNew = seconds !== null && !this.#counted.has(name);
    if (isNew) this.#counted.add(name);
    const time = isNew ? seconds * 1000 : 0;
    const isOlder = dispatchedLived < known.lastUsedLived || (dispatchedLived === 0 && dispatchedAt < known.lastUsedAt);
    const last = isOlder ? known : { lastUsedAt: dispatchedAt, lastUsedLived: dispatchedLived };
    this.#usage.set(key, { ...known, ...last, usedFor: known.usedFor + time });
  }

  async #loadAgain(): Promise<void> {
    const failure = await this.load();
    if (failure) throw failure;
  }

  async #reloadState(): Promise<void> {
    await this.state.load();
    this.items.forget(this.state.record.oldBefore);
    this.#owner.changed();
  }

  async #receiveRead(clusterId: string): Promise<void> {
    const read = await this.reads.find(clusterId);
    if (read) this.#owner.seen(read.status, read.requestedAt);
  }

  /** Another runtime has changed a record; null: any may have changed. */
  #notified(key: Key | null): void {
    const { failed } = this.#owner;
    if (key === null) return void (this.#isLoaded && this.#loadAgain().catch(failed));
    if (!this.#isListing && this.#isLoaded) this.#currentAt = this.#clock.monotonic();
    const [kind, ...words] = key;
    if (this.scope.some((word, at) => words[at] !== word)) return;
    const rest = words.slice(this.scope.length);
    const [first = '', second = ''] = rest;
    const work =
      kind === 'queue-item' && first === this.#queueId
        ? this.items.reload(second)
        : kind === 'queue-plate'
          ? this.#gateRecords.reload(rest)
          : kind === 'queue-printer'
            ? this.reservations.reload(first).then(this.#owner.changed)
            : kind === 'queue-state' && first === this.#queueId
              ? this.#reloadState()
              : kind === 'queue-telling' && first === this.#queueId
                ? this.telling.load().then(this.#owner.changed)
                : kind === 'queue-read' && first === this.#queueId
                  ? this.#receiveRead(second)
                  : null;
    work?.catch(failed);
  }
}

/** Id of the only record of its kind. */
const ONLY = '';

/** The state of one queue in the store: its pauses, ended orders and own events. */
class SavedQueue {
  readonly #store: QueueStore;
  readonly #lived: LivedTime;
  readonly #key: Key;
  readonly #records: Records<QueueRecord>;
  readonly #loads = new SharedRead(() => this.#records.load(() => this.#stored()));

  constructor(
    store: QueueStore,
    queueId: string,
    lived: LivedTime,
    { plans, changed }: { plans: () => boolean; changed: (before?: QueueRecord, after?: QueueRecord) => void },
  ) {
    this.#store = store;
    this.#lived = lived;
    this.#key = store.keyOf('queue-state', queueId);
    this.#records = new Records({
      ...{ store, keyOf: () => this.#key, read: (_, value) => readQueue(value) },
      changed: (before, after) => {
        // The pauses in the record are measured by the planner's time.
        if (plans()) lived.see(after?.lived);
        else lived.follow(after?.lived);
        changed(before, after);
      },
    });
  }

  get record(): QueueRecord {
    return this.#records.get(ONLY) ?? NEW_QUEUE;
  }

  load(): Promise<void> {
    return this.#loads.read();
  }

  async *#stored(): AsyncGenerator<{ id: string; value: unknown }> {
    const value = await this.#store.get<unknown>(this.#key);
    // Throws for one of a newer version: nobody knows what it pauses.
    if (value !== undefined) yield { id: ONLY, value: readQueue(value) };
  }

  /** Changes the state; a change that returns the same record is not written. */
  async change(change: (record: QueueRecord) => QueueRecord, { asPlanner = false } = {}): Promise<void> {
    if (asPlanner && change(this.record) === this.record) return;
    const changed = (current?: QueueRecord) => {
      const before = current ?? NEW_QUEUE;
      const next = change(before);
      return next === before ? current : { ...next, lived: this.#lived.now };
    };
    await this.#records.update(ONLY, changed, { asPlanner });
  }

  /** Writes the lived time, for the next planner. Rejects if it can't be written. */
  async saveTime(): Promise<void> {
    const saved = (state?: QueueRecord) => ({ ...(state ?? NEW_QUEUE), lived: this.#lived.now });
    await this.#records.update(ONLY, saved, PLANNER);
  }

  /** Writes the state as it is, also at a runtime that does not plan. Rejects while the store can't be written. */
  async probe(): Promise<void> {
    const probed = (state = NEW_QUEUE) => ({ ...state, lived: Math.max(state.lived ?? 0, this.#lived.now) });
    await this.#records.update(ONLY, probed);
  }
}

/** Whether a print was sent, or is being sent, and has not begun. */
const isToBegin = (attempt: Attempt): boolean =>
  attempt.state === 'assigned' || (attempt.state === 'dispatched' && !isStuck(attempt));

/** Lived time at which a print was sent or has begun, ms; -Infinity: no version has recorded it. */
const startOf = ({ dispatchedLived = -Infinity, startedLived = -Infinity }: Attempt): number =>
  Math.max(dispatchedLived, startedLived);

interface Usage {
  /** ms since 1970. */
  lastUsedAt: number;
  /** The same in lived time, ms; 0: only versions that recorded none have used it. */
  lastUsedLived: number;
  /** ms. */
  usedFor: number;
}

/** Whether no status can change an attempt any more. */
const isOver = ({ state }: Attempt): boolean =>
  state === 'finished' || state === 'rejected' || state === 'failed' || state === 'aborted';
