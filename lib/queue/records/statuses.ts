import type { ApiClient } from '../../account/api-client';
import { type ClusterIdentity, type ClusterStatus, readClusterStatus, statusRecord } from '../../service/cluster';
import type { Material, Printer } from '../../service/printer';
import { type Clock, isoTime } from '../../time/clock';
import type { Deadline } from '../../time/deadline';
import type { MaterialNeed } from '../../toolpath/facts';
import { phrase, type Sentence } from '../../words/sentence';
import type { MaterialFinder } from '../model/requirement';
import type { PrinterReason, Reason } from '../model/types';

/** The last status of one cluster. */
export interface ClusterView {
  status: ClusterStatus;
  /** Printers of the last status that had any: an offline cluster shows none. */
  printers: readonly Printer[];
  /** Age of the status, ms. */
  age: number;
}

/** Greatest age of a late status, compared with the last one, ms: beyond it, the service's clock was set back. */
const LATE = 3_600_000;

/** Number of materials that are remembered. */
const MATERIALS = 2_000;

interface Seen {
  status: ClusterStatus;
  printers: readonly Printer[];
  /** Monotonic, ms. */
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
  readonly #materials = new Map<string, MaterialNeed>();

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

  /** Records a status; false if a newer one is known. */
  see(status: ClusterStatus): boolean {
    const { clusterId, generatedAt } = status;
    const before = this.#seen.get(clusterId);
    const last = before?.status.generatedAt ?? null;
    const lateBy = last !== null && generatedAt !== null ? Date.parse(last) - Date.parse(generatedAt) : 0;
    if (lateBy > 0 && lateBy <= LATE) return false;
    const printers = status.printers.length > 0 ? status.printers : (before?.printers ?? []);
    this.#seen.set(clusterId, { status, printers, at: this.#deps.clock.monotonic() });
    for (const { extruders, slots } of status.printers)
      for (const { material } of [...extruders, ...slots]) this.#learn(material);
    return true;
  }

  #learn(material: Material | null): void {
    const { guid, name: type, brand, color } = material ?? {};
    if (!guid || !type) return;
    const key = guid.toLowerCase();
    if (this.#materials.size >= MATERIALS && !this.#materials.has(key)) return;
    this.#materials.set(key, { guid, type, brand: brand ?? null, color: color ?? null });
  }

  /** Reads a status anew, and records it. Throws the errors of the service's call. */
  async read(clusterId: string, deadline: Deadline): Promise<ClusterStatus> {
    const { service, clock, identityOf } = this.#deps;
    const ids = { cluster_id: clusterId };
    const { data } = await service.call('clusterStatus', { ids, what: phrase`the printer`, deadline });
    const identity = identityOf(clusterId) ?? this.#seen.get(clusterId)?.status ?? null;
    const context = { clusterId, receivedAt: isoTime(clock.now()), identity };
    const status = readClusterStatus(statusRecord(data) ?? {}, context);
    this.see(status);
    return status;
  }
}

/** Time after a refusal until the queue sends to the same printer again, ms. */
const REFUSED_FOR = 60_000;

/** Clusters to which a copy could not go a moment ago although they seemed free, and why. */
export class Refusals {
  readonly #all = new Map<string, { until: number; reason: Reason<PrinterReason> }>();

  constructor(private readonly clock: Clock) {}

  add(clusterId: string, sentence: Sentence): void {
    this.#all.set(clusterId, { until: this.clock.monotonic() + REFUSED_FOR, reason: { code: 'BUSY', sentence } });
  }

  /** The same object while a refusal lasts; null without one. */
  reasonOf(clusterId: string): Reason<PrinterReason> | null {
    const { until, reason } = this.#all.get(clusterId) ?? {};
    return reason && (until ?? 0) > this.clock.monotonic() ? reason : null;
  }

  /** Time until the next refusal is over, ms; Infinity without one. */
  get wait(): number {
    const now = this.clock.monotonic();
    return [...this.#all.values()].reduce(
      (first, { until }) => (until > now ? Math.min(first, until - now) : first),
      Infinity,
    );
  }
}
