import type { ApiClient } from '../../account/api-client';
import { type ClusterIdentity, type ClusterStatus, readClusterStatus, statusRecord } from '../../service/cluster';
import type { Material, Printer } from '../../service/printer';
import { asPrintingError, type PrintingError } from '../../service/errors';
import { type Clock, isoTime } from '../../time/clock';
import type { Deadline } from '../../time/deadline';
import { type Backoff, waitBefore } from '../../time/retry';
import type { MaterialNeed } from '../../toolpath/facts';
import { phrase, Sentence } from '../../words/sentence';
import type { QueueRecord, StoredPause, StoredRefusals } from '../model/queue-record';
import type { MaterialFinder } from '../model/requirement';
import type { PrinterReason, Reason } from '../model/types';
import type { LivedTime } from './lived';

/** The last status of one cluster. */
export interface ClusterView {
  status: ClusterStatus;
  /** Printers of the last status that had any: an offline cluster shows none. */
  printers: readonly Printer[];
  /** Age of the status, ms. */
  age: number;
}

/** Codes of reads that did not reach the service. */
const UNREACHED: ReadonlySet<string> = new Set(['NETWORK', 'TIMEOUT', 'SERVICE_ERROR']);
/** Time after failed reads until others are tried, ms. */
const BLIND_FOR = 600_000;
/** Number of materials that are remembered. */
const MATERIALS = 2_000;

interface Seen {
  status: ClusterStatus;
  printers: readonly Printer[];
  /** When it was requested, monotonic, ms. */
  at: number;
}

interface ClusterViewsDeps {
  service: ApiClient;
  clock: Clock;
  /** Identity by the account's list. */
  identityOf: (clusterId: string) => ClusterIdentity | null;
}

/** The last status of each cluster, from the shared polls and from the queue's own reads around a dispatch. */
export class ClusterViews {
  readonly #deps: ClusterViewsDeps;
  readonly #seen = new Map<string, Seen>();
  /** By cluster and attempt, when it was sent, monotonic, ms; Infinity: it is being sent. */
  readonly #sent = new Map<string, Map<string, number>>();
  /** Clusters that the service does not know. */
  readonly #missing = new Set<string>();
  readonly #materials = new Map<string, MaterialNeed>();
  /** Reads that have failed since the last one that did not, monotonic, ms. */
  #failure: { first: number; last: number } | null = null;

  constructor(deps: ClusterViewsDeps) {
    this.#deps = deps;
  }

  get(clusterId: string): ClusterView | undefined {
    const seen = this.#seen.get(clusterId);
    return seen && { status: seen.status, printers: seen.printers, age: this.#deps.clock.monotonic() - seen.at };
  }

  get clusterIds(): string[] {
    return [...this.#seen.keys()];
  }

  /** Materials that some printer has or had loaded: of most materials, a file states only the GUID. */
  readonly materialOf: MaterialFinder = (guid) => this.#materials.get(guid.toLowerCase()) ?? null;

  /** Grows with each material that `materialOf` comes to know. */
  get materialCount(): number {
    return this.#materials.size;
  }

  /** Records a status; false if one is known that was requested later. `requestedAt`: monotonic, ms. */
  see(status: ClusterStatus, requestedAt: number): boolean {
    const { clusterId } = status;
    const before = this.#seen.get(clusterId);
    if (before && requestedAt < before.at) return false;
    this.#missing.delete(clusterId);
    this.#forgetSent(clusterId, requestedAt);
    const printers = status.printers.length > 0 ? status.printers : (before?.printers ?? []);
    this.#seen.set(clusterId, { status, printers, at: requestedAt });
    for (const { extruders, slots } of status.printers)
      for (const { material } of [...extruders, ...slots]) this.#learn(material);
    return true;
  }

  /** Records that an attempt (`nameOf`) is being sent to a cluster, until `sent`. */
  sending(clusterId: string, name: string): void {
    this.#sent.set(clusterId, (this.#sent.get(clusterId) ?? new Map<string, number>()).set(name, Infinity));
  }

  /** Records that an attempt was sent: from now on, a status that is requested lists its print if the printer has it. */
  sent(clusterId: string, name: string): void {
    this.#sent.get(clusterId)?.set(name, this.#deps.clock.monotonic());
  }

  /** Whether an attempt is being sent, or was sent after the request of the cluster's last status, which need not list it. */
  isJustSent(clusterId: string, name: string): boolean {
    return this.#sent.get(clusterId)?.has(name) ?? false;
  }

  #forgetSent(clusterId: string, requestedAt: number): void {
    const sent = this.#sent.get(clusterId);
    for (const [name, at] of sent ?? []) if (at < requestedAt) sent?.delete(name);
    if (sent?.size === 0) this.#sent.delete(clusterId);
  }

  /** Whether the service does not know a cluster: what was seen of it before is no longer there. */
  isMissing(clusterId: string): boolean {
    return this.#missing.has(clusterId);
  }

  /** Records that the service does not know a cluster; false if that is no news. `since`: as in `HoldListener`. */
  lose(clusterId: string, since: number): boolean {
    const { at = -Infinity } = this.#seen.get(clusterId) ?? {};
    if (at > since || this.#missing.has(clusterId)) return false;
    this.#missing.add(clusterId);
    return true;
  }

  /** Records that the account's list has a cluster whose status is not found; false if that is no news. */
  list(status: ClusterStatus): boolean {
    const { clusterId, online } = status;
    const before = this.#seen.get(clusterId);
    const wasMissing = this.#missing.delete(clusterId);
    if (before?.status.stale && before.status.online === online) return wasMissing;
    const { printers, at } = before ?? { printers: status.printers, at: -Infinity };
    this.#seen.set(clusterId, { status: { ...(before?.status ?? status), online, stale: true }, printers, at });
    return true;
  }

  #learn(material: Material | null): void {
    const { guid, name: type, brand, color } = material ?? {};
    if (!guid || !type) return;
    const key = guid.toLowerCase();
    if (this.#materials.size >= MATERIALS && !this.#materials.has(key)) return;
    this.#materials.set(key, { guid, type, brand: brand ?? null, color: color ?? null });
  }

  /** Whether each read of the queue's own has failed for so long, ms, with errors that may concern every printer. */
  isBlind(lasting: number): boolean {
    const now = this.#deps.clock.monotonic();
    return (
      this.#failure !== null &&
      this.#failure.last - this.#failure.first >= lasting &&
      now - this.#failure.last < BLIND_FOR
    );
  }

  #recordFailure({ code }: PrintingError): void {
    if (!UNREACHED.has(code)) return;
    const now = this.#deps.clock.monotonic();
    this.#failure = { first: this.#failure?.first ?? now, last: now };
  }

  /** Reads a status anew, and records it. Throws the errors of the service's call. */
  async read(clusterId: string, deadline: Deadline): Promise<ClusterStatus> {
    const { service, clock, identityOf } = this.#deps;
    const ids = { cluster_id: clusterId };
    const requestedAt = clock.monotonic();
    const asked = service.call('clusterStatus', { ids, what: phrase`the printer`, deadline });
    const { data } = await asked.catch((thrown: unknown) => {
      this.#recordFailure(asPrintingError(thrown));
      throw thrown;
    });
    this.#failure = null;
    const identity = identityOf(clusterId) ?? this.#seen.get(clusterId)?.status ?? null;
    const context = { clusterId, receivedAt: isoTime(clock.now()), identity };
    const status = readClusterStatus(statusRecord(data) ?? {}, context);
    this.see(status, requestedAt);
    return status;
  }
}

/** Time after a refusal until the queue sends to the same printer again, ms. */
const NOT_FREE_FOR = 60_000;
/** Pauses of an item at a printer that refused it, and of a printer that refuses one item after the other, ms. */
const REFUSED_FOR: Backoff = { first: 60_000, longest: 900_000 };
/** Pauses of an item whose assignment to a printer can't be saved, ms. */
const UNSAVED_FOR: Backoff = { first: 5_000, longest: 900_000 };
/** Number of different items, refused in a row with the same code, after which a printer is tried with one at a time. */
const ROW = 3;
/** Most pauses of each kind that are saved. */
const SAVED = 200;
/** Time after a pause for which the next one grows, ms. */
const REMEMBERED = 3_600_000;

type PrinterObstacle = Reason<PrinterReason>;

interface Pause {
  /** Lived, ms. */
  until: number;
  reason: PrinterObstacle;
  /** Whether it concerns the planner that has saved it alone, and not the next one. */
  isOwn?: boolean | undefined;
}

/**
 * What did not go to a cluster a moment ago although it seemed free, and why (print queue, rule 2). A printer that was not
 * free says so for a minute. Any other refusal concerns one item at that printer, unless the printer refuses every item.
 * The planner saves them, so that every runtime explains alike, and the next planner continues their pauses.
 */
export class Refusals {
  readonly #lived: Pick<LivedTime, 'now'>;
  /** What was saved or adopted last. */
  #stored: StoredRefusals | undefined;
  /** Number of changes, and how many of them are saved. */
  #changes = 0;
  #saved = 0;
  #saving = 0;
  readonly #printers = new Map<string, Pause>();
  /** By item and cluster; `count`: refusals in a row. */
  readonly #items = new Map<string, Map<string, Pause & { count: number }>>();
  /** The different items that each cluster refused in a row; `pauses`: its own pauses since then. */
  readonly #rows = new Map<string, { code: string; items: Set<string>; pauses: number; isTrying: boolean }>();

  constructor(lived: Pick<LivedTime, 'now'>) {
    this.#lived = lived;
  }

  /** Takes over what the planner has saved. */
  adopt(stored: StoredRefusals | undefined): void {
    if (stored === this.#stored) return;
    this.#stored = stored;
    this.#saved = this.#changes;
    for (const all of [this.#printers, this.#items, this.#rows]) all.clear();
    for (const { clusterId, ...pause } of stored?.printers ?? []) this.#printers.set(clusterId, pauseOf(pause));
    for (const { itemId, clusterId, count, ...pause } of stored?.items ?? []) {
      const pauses = this.#items.get(itemId) ?? new Map<string, Pause & { count: number }>();
      this.#items.set(itemId, pauses.set(clusterId, { ...pauseOf(pause), count }));
    }
    for (const { clusterId, items, ...row } of stored?.rows ?? [])
      this.#rows.set(clusterId, { ...row, items: new Set(items), isTrying: false });
  }

  /** Takes over as the planner: what the one before could not read may be read here. */
  takeOver(stored: StoredRefusals | undefined): void {
    this.adopt(stored);
    for (const [clusterId, { isOwn }] of this.#printers) if (isOwn) this.#printers.delete(clusterId);
  }

  /** The state of the queue with the present refusals; the same state if they are saved. */
  savedIn(state: QueueRecord): QueueRecord {
    if (this.#saved === this.#changes) return state;
    this.#saving = this.#changes;
    const now = this.#lived.now;
    const items = [...this.#items].flatMap(([itemId, pauses]) =>
      [...pauses].map(([clusterId, { count, ...pause }]) => ({ itemId, clusterId, count, ...storedPause(pause) })),
    );
    const printers = [...this.#printers].map(([clusterId, pause]) => ({ clusterId, ...storedPause(pause) }));
    const rows = [...this.#rows].map(([clusterId, { code, items: refused, pauses }]) => ({
      ...{ clusterId, code, items: [...refused].slice(-ROW) },
      pauses,
    }));
    const refusals = {
      printers: printers.filter(({ until }) => until > now).slice(-SAVED),
      items: items.filter(({ until }) => until > now - REMEMBERED).slice(-SAVED),
      rows: rows.slice(-SAVED),
    };
    return { ...state, refusals };
  }

  /** Call after the state was written with `savedIn`. */
  saved({ refusals }: QueueRecord): void {
    this.#stored = refusals;
    this.#saved = Math.max(this.#saved, this.#saving);
  }

  /** The printer could not be read here. */
  unread(clusterId: string, sentence: Sentence): void {
    this.#changes++;
    this.#printers.set(clusterId, { ...this.#pause(NOT_FREE_FOR, { code: 'BUSY', sentence }), isOwn: true });
  }

  /** The printer was not free. */
  notFree(clusterId: string, sentence: Sentence): void {
    this.#changes++;
    this.#printers.set(clusterId, this.#pause(NOT_FREE_FOR, { code: 'BUSY', sentence }));
  }

  /** The service refused an item at a printer that was free. */
  refused(itemId: string, clusterId: string, { sentence, serviceCode, statusCode, code }: PrintingError): void {
    this.#postpone(itemId, clusterId, refusedBecause(sentence), REFUSED_FOR);
    const word = serviceCode ?? String(statusCode ?? code);
    const known = this.#rows.get(clusterId);
    const row = known?.code === word ? known : { code: word, items: new Set<string>(), pauses: 0, isTrying: false };
    this.#rows.set(clusterId, row);
    row.items.add(itemId);
    row.isTrying = false;
    if (row.items.size < ROW) return;
    const pause = waitBefore(row.pauses++, REFUSED_FOR);
    this.#printers.set(clusterId, this.#pause(pause, { code: 'REFUSED', sentence: refusesAll(sentence) }));
  }

  /** The assignment of an item to a printer could not be saved. */
  unsaved(itemId: string, clusterId: string, { sentence }: PrintingError): void {
    this.#postpone(itemId, clusterId, notAssigned(sentence), UNSAVED_FOR);
  }

  /** The service took an item. */
  accepted(itemId: string, clusterId: string): void {
    if (this.#rows.has(clusterId) || this.#items.get(itemId)?.has(clusterId)) this.#changes++;
    this.#rows.delete(clusterId);
    this.#items.get(itemId)?.delete(clusterId);
  }

  /** Whether some printer refused the item. */
  concerns(itemId: string): boolean {
    return this.#items.has(itemId);
  }

  /** A person wants the item to be tried at once. */
  forget(itemId: string): void {
    if (this.#items.has(itemId)) this.#changes++;
    this.#items.delete(itemId);
  }

  /** Whether an item may be tried at a printer. One that refuses all items is tried with one at a time, until `tried`. */
  mayTry(clusterId: string): boolean {
    const row = this.#rows.get(clusterId);
    if (!row || row.items.size < ROW) return true;
    if (row.isTrying) return false;
    row.isTrying = true;
    return true;
  }

  /** Call after each try, whatever has become of it. */
  tried(clusterId: string): void {
    const row = this.#rows.get(clusterId);
    if (row) row.isTrying = false;
  }

  /** Why a cluster gets nothing now; the same object while that lasts; null: it may get something. */
  reasonOf(clusterId: string): PrinterObstacle | null {
    const { until = 0, reason = null } = this.#printers.get(clusterId) ?? {};
    return until > this.#lived.now ? reason : null;
  }

  /** Time until a cluster may get something again, ms. */
  timeLeft(clusterId: string): number {
    return Math.max(0, (this.#printers.get(clusterId)?.until ?? 0) - this.#lived.now);
  }

  /** By item and cluster, why the item does not go there now. */
  get byItem(): ReadonlyMap<string, ReadonlyMap<string, PrinterObstacle>> {
    if (this.#items.size === 0) return NONE;
    const now = this.#lived.now;
    const found = new Map<string, Map<string, PrinterObstacle>>();
    for (const [itemId, pauses] of this.#items) {
      const left = [...pauses].filter(([, { until }]) => until > now);
      if (left.length > 0) found.set(itemId, new Map(left.map(([clusterId, { reason }]) => [clusterId, reason])));
    }
    return found;
  }

  /** Time until the next pause is over, ms; Infinity without one. */
  get wait(): number {
    const now = this.#lived.now;
    const pauses = [...this.#printers.values(), ...[...this.#items.values()].flatMap((all) => [...all.values()])];
    return pauses.reduce((first, { until }) => (until > now ? Math.min(first, until - now) : first), Infinity);
  }

  #postpone(itemId: string, clusterId: string, sentence: Sentence, backoff: Backoff): void {
    this.#changes++;
    this.#drop();
    const pauses = this.#items.get(itemId) ?? new Map<string, Pause & { count: number }>();
    const { count = 0 } = pauses.get(clusterId) ?? {};
    const pause = this.#pause(waitBefore(count, backoff), { code: 'REFUSED', sentence });
    this.#items.set(itemId, pauses.set(clusterId, { ...pause, count: count + 1 }));
  }

  #pause(ms: number, reason: PrinterObstacle): Pause {
    return { until: this.#lived.now + ms, reason };
  }

  /** Drops the items that were not refused for long: those that are gone, or were printed elsewhere. */
  #drop(): void {
    const since = this.#lived.now - REMEMBERED;
    for (const [itemId, pauses] of this.#items)
      if ([...pauses.values()].every(({ until }) => until < since)) this.#items.delete(itemId);
  }
}

const pauseOf = ({ until, isOwn, code, sentence }: StoredPause): Pause => ({
  ...{ until, isOwn },
  reason: { code, sentence: Sentence.from(sentence) },
});
const storedPause = ({ until, isOwn, reason: { code, sentence } }: Pause): StoredPause => ({
  ...{ until, code, ...(isOwn && { isOwn }) },
  sentence: { pattern: sentence.pattern, values: sentence.values },
});

const NONE: Refusals['byItem'] = new Map();

const refusedBecause = (why: Sentence): Sentence => phrase`The service refused the item at this printer: ${why}`;
const refusesAll = (why: Sentence): Sentence =>
  phrase`The service refuses one item after the other at this printer, so it is tried with one at a time: ${why}`;
const notAssigned = (why: Sentence): Sentence => phrase`The item could not be assigned to the printer: ${why}`;
