import type { ApiClient } from '../../account/api-client';
import type { ClusterStatus } from '../../service/cluster';
import { asPrintingError } from '../../service/errors';
import type { Lock } from '../../state/membership';
import type { Key, Scope, StateStore } from '../../state/store';
import type { Clock } from '../../time/clock';
import type { Deadline } from '../../time/deadline';
import type { FileFacts } from '../../toolpath/facts';
import { factsOfMetadata } from '../../toolpath/read-facts';
import { readStored } from '../../upload/send';
import type { PlateGate } from '../model/gate';
import { isStuck, ItemIndex, openAttempts } from '../model/item';
import { mayBeLate } from '../model/item-changes';
import { type Attempt, type ItemFile, type ItemRecord, printerKey, type QueueMeter } from '../model/types';
import { PlateGates } from './gates';
import { ItemStore, Reservations } from './items';
import { SavedQueue } from './queue';
import { LocalChanges, QueueStore } from './store';

/** Time between two reads of a stored job whose file the service has not parsed yet, ms. */
const EVERY = 60_000;
/** Number of reads after which an unparsed file counts as one without metadata. */
const MOST = 12;
/** The same for a file that states its own facts. */
const MOST_OF_KNOWN = 3;
/** Age up to which the facts of an item may still come, ms. */
const PENDING_FOR = (MOST + 1) * EVERY;
/** Timeout of a read, ms. */
const READ_FOR = 30_000;

interface FactsReaderDeps {
  service: ApiClient;
  clock: Clock;
  closing: Deadline;
  /** Saves the facts of a file. */
  found: (itemId: string, jobId: string, facts: FileFacts) => Promise<void>;
  failed: (thrown: unknown) => void;
}

/** Whether the service may still find the model of a file that neither the message nor the file names. */
export const isModelPending = ({ createdAt, files, require }: ItemRecord, now: number): boolean =>
  now - createdAt < PENDING_FOR &&
  require?.models === undefined &&
  files.some(({ facts, jobId, isGone }) => !facts && jobId !== null && !isGone);

/** Whether the service may state facts about a file of an item. */
const isUnread = ({ endedAt, files }: ItemRecord): boolean => endedAt === null && files.some(isFileUnread);

const isFileUnread = ({ jobId, facts, isGone }: ItemFile): boolean =>
  jobId !== null && !isGone && facts?.source !== 'service';

/** A stored job without metadata so far: its items, and whether all of them know the file's own facts. */
interface Unread {
  itemIds: string[];
  isKnown: boolean;
}

/** Reads the service's facts about the files, which precede the files' own (print queue, 6). */
export class FactsReader {
  readonly #deps: FactsReaderDeps;
  /** Reads so far, and when the next one is due, monotonic ms, by stored job. */
  readonly #tries = new Map<string, { count: number; dueAt: number }>();
  #isReading = false;

  constructor(deps: FactsReaderDeps) {
    this.#deps = deps;
  }

  /** Time until the next read, ms; Infinity without one. */
  get wait(): number {
    const now = this.#deps.clock.monotonic();
    return [...this.#tries.values()].reduce((first, { dueAt }) => Math.min(first, Math.max(0, dueAt - now)), Infinity);
  }

  /** Reads the next file that is due, one at a time. Never rejects. */
  async read(items: Iterable<ItemRecord>): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const unread = new Map<string, Unread>();
    for (const { itemId, files } of [...items].filter(isUnread))
      for (const { jobId, facts } of files.filter(isFileUnread)) {
        if (jobId === null) continue;
        const about = unread.get(jobId) ?? { itemIds: [], isKnown: true };
        about.itemIds.push(itemId);
        about.isKnown &&= facts !== null;
        unread.set(jobId, about);
      }
    for (const jobId of this.#tries.keys()) if (!unread.has(jobId)) this.#tries.delete(jobId);
    for (const [jobId, about] of unread) if (this.#isDue(jobId)) await this.#readOne(jobId, about);
    this.#isReading = false;
  }

  #isDue(jobId: string): boolean {
    const now = this.#deps.clock.monotonic();
    const known = this.#tries.get(jobId);
    if (known) return known.dueAt <= now;
    this.#tries.set(jobId, { count: 0, dueAt: now + EVERY });
    return false;
  }

  async #readOne(jobId: string, { itemIds, isKnown }: Unread): Promise<void> {
    const { service, clock, closing, found, failed } = this.#deps;
    const limit = closing.within(READ_FOR);
    const count = (this.#tries.get(jobId)?.count ?? 0) + 1;
    const dueAt = count < (isKnown ? MOST_OF_KNOWN : MOST) ? clock.monotonic() + EVERY : Infinity;
    this.#tries.set(jobId, { count, dueAt });
    try {
      const stored = await readStored(service, { kind: 'job', id: jobId }, { deadline: limit });
      const facts = factsOfMetadata(stored.metadata);
      // Without the model, the service knows no more than the file states.
      if (facts && (facts.model !== null || !isKnown)) for (const itemId of itemIds) await found(itemId, jobId, facts);
    } catch (thrown) {
      // The service is asked again; only the store's failure concerns the queue.
      if (asPrintingError(thrown).code === 'FILE_NOT_WRITABLE') failed(thrown);
    }
    limit.end();
  }
}

interface QueueDataDeps {
  store: StateStore;
  /** Changes of the records in this process. */
  localChanges: LocalChanges;
  scope: Scope;
  clock: Clock;
  queueId: string;
  keepFor: number;
  meter?: QueueMeter | undefined;
  lease: () => Lock | null;
  /** Called after any change, here or at another runtime. */
  changed: () => void;
  /** A record that another runtime has changed can't be read. */
  failed: (thrown: unknown) => void;
}

/** All durable data of a queue in one workspace, and its copy in memory. */
export class QueueData {
  readonly items: ItemStore;
  readonly gates: PlateGates;
  readonly state: SavedQueue;
  readonly reservations: Reservations;
  readonly scope: Scope;
  /** Items with open attempts. */
  readonly open = new ItemIndex((record) => openAttempts(record).length > 0);
  readonly withEvents = new ItemIndex(({ outbox }) => outbox.length > 0);
  readonly blocked = new ItemIndex(({ blocked }) => blocked.is);
  /** Items with a deadline that they may still meet. */
  readonly withDeadline = new ItemIndex(mayBeLate);
  /** Items with files about which the service may state facts. */
  readonly unread = new ItemIndex(isUnread);
  /** Items with attempts that a status may concern: open ones, and those that could still show up. */
  readonly #unsettled = new ItemIndex(({ prints }) => !prints.every(isOver));
  readonly #deps: QueueDataDeps;
  readonly #usage = new Map<string, Usage>();
  /** Ended attempts whose time is counted. */
  readonly #counted = new Set<string>();
  /** The last dispatch or beginning of a print: by the saved time, and by this process. */
  #lastStart = { at: 0, monotonic: -Infinity };
  readonly #end: () => void;
  #isLoaded = false;

  constructor(deps: QueueDataDeps) {
    const { store, localChanges, scope, clock, queueId, keepFor, lease, changed } = deps;
    const noticed = (key: Key) => this.#notified(key);
    this.#deps = deps;
    this.scope = scope;
    const records = new QueueStore(store, scope, lease, (key) => localChanges.report(key, noticed));
    this.items = new ItemStore({
      store: records,
      queueId,
      clock,
      keepFor,
      changed: (_, after) => this.#changed(_, after),
      waited: (ms) => deps.meter?.waited(queueId, ms),
    });
    this.gates = new PlateGates(records, clock, changed);
    this.state = new SavedQueue(records, queueId, changed);
    this.reservations = new Reservations(records);
    const ends = [localChanges.listen(noticed), store.onChange?.((key) => this.#notified(key))];
    this.#end = () => ends.forEach((end) => end?.());
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Reads everything. Rejects while the store can't be read. */
  async load(): Promise<void> {
    await Promise.all([this.state.load(), this.gates.load(), this.items.load()]);
    this.items.forget(this.state.record.oldBefore);
    this.#isLoaded = true;
    this.#deps.changed();
  }

  close(): void {
    this.#end();
  }

  /** Open attempts by cluster, without those of one copy. */
  openByCluster(without?: { itemId: string; copy: number }): Map<string, Attempt[]> {
    const found = new Map<string, Attempt[]>();
    for (const record of this.open.all)
      for (const attempt of openAttempts(record)) {
        if (record.itemId === without?.itemId && attempt.copy === without.copy) continue;
        const here = found.get(attempt.clusterId) ?? [];
        found.set(attempt.clusterId, here);
        here.push(attempt);
      }
    return found;
  }

  /** Use of the printers by this queue, by `printerKey`. */
  usage(): ReadonlyMap<string, Usage> {
    return this.#usage;
  }

  /** From when the next start is allowed, ms since 1970; Infinity: a print that was sent has not begun yet. */
  nextStartAt(stagger: number): number {
    if (stagger === 0) return 0;
    // A print that was sent may begin to heat at any moment.
    if (this.open.all.some(({ prints }) => prints.some(isToBegin))) return Infinity;
    const { clock } = this.#deps;
    const since = clock.monotonic() - this.#lastStart.monotonic;
    const now = clock.now();
    // A start in the future was dated by a wrong clock.
    const dated = this.#lastStart.at <= now ? this.#lastStart.at + stagger : 0;
    return Math.max(dated, now + stagger - since);
  }

  /** Items that have an attempt on the cluster which a status may concern. */
  concernedBy({ clusterId }: ClusterStatus): ItemRecord[] {
    const isHere = (attempt: Attempt) => attempt.clusterId === clusterId && !isOver(attempt);
    return this.#unsettled.all.filter(({ prints }) => prints.some(isHere));
  }

  /** The gates that have a verdict on a print, by the print. */
  verdicts(): Map<string, { good: boolean; gate: PlateGate }> {
    const found = new Map<string, { good: boolean; gate: PlateGate }>();
    for (const gate of this.gates.all) for (const { id, good } of gate.verdicts) found.set(id, { good, gate });
    return found;
  }

  #changed(before: ItemRecord | undefined, after: ItemRecord | undefined): void {
    const itemId = (after ?? before)?.itemId ?? '';
    for (const [at, attempt] of (after?.prints ?? []).entries()) this.#count(itemId, attempt, before?.prints[at]);
    const { open, withEvents, blocked, withDeadline, unread } = this;
    for (const index of [open, withEvents, blocked, withDeadline, unread, this.#unsettled]) index.update(itemId, after);
    if (this.#isLoaded) this.#deps.changed();
  }

  /** Counts an attempt that was sent; its time once, when it has ended. */
  #count(itemId: string, attempt: Attempt, before: Attempt | undefined): void {
    const { dispatchedAt, startedAt, seconds, copy, attempt: number } = attempt;
    if (dispatchedAt === null) return;
    if (before?.dispatchedAt !== dispatchedAt || before.startedAt !== startedAt) {
      const at = Math.max(dispatchedAt, startedAt ?? 0);
      const { monotonic } = this.#lastStart;
      // A record that is read at the start may be of any age.
      this.#lastStart = this.#isLoaded
        ? { at, monotonic: this.#deps.clock.monotonic() }
        : { at: Math.max(at, this.#lastStart.at), monotonic };
    }
    const key = printerKey(attempt);
    const { lastUsedAt = 0, usedFor = 0 } = this.#usage.get(key) ?? {};
    const name = `${itemId}/${copy}/${number}`;
    const isNew = seconds !== null && !this.#counted.has(name);
    if (isNew) this.#counted.add(name);
    const time = isNew ? seconds * 1000 : 0;
    this.#usage.set(key, { lastUsedAt: Math.max(lastUsedAt, dispatchedAt), usedFor: usedFor + time });
  }

  async #reloadState(): Promise<void> {
    await this.state.load();
    this.items.forget(this.state.record.oldBefore);
    this.#deps.changed();
  }

  /** Another runtime has changed a record; null: any may have changed. */
  #notified(key: Key | null): void {
    const { scope, queueId, failed } = this.#deps;
    if (key === null) return void (this.#isLoaded && this.load().catch(failed));
    const [kind, ...words] = key;
    if (scope.some((word, at) => words[at] !== word)) return;
    const [first = '', second = ''] = words.slice(scope.length);
    const work =
      kind === 'queue-item' && first === queueId
        ? this.items.reload(second)
        : kind === 'queue-plate'
          ? this.gates.reload({ clusterId: first, printerId: second || null })
          : kind === 'queue-state' && first === queueId
            ? this.#reloadState()
            : null;
    work?.catch(failed);
  }
}

/** Whether a print was sent, or is being sent, and has not begun. */
const isToBegin = (attempt: Attempt): boolean =>
  attempt.state === 'assigned' || (attempt.state === 'dispatched' && !isStuck(attempt));

interface Usage {
  /** ms since 1970. */
  lastUsedAt: number;
  /** ms. */
  usedFor: number;
}

/** Whether no status can change an attempt any more. */
const isOver = ({ state }: Attempt): boolean =>
  state === 'finished' || state === 'rejected' || state === 'failed' || state === 'aborted';
