import { printerKey, type QueuePrinter } from './queue-printer';
import type { QueueRules } from './queue-rules';

/**
 * The printers of a plan. Printers of the same configuration are of one kind, so that a requirement is compared with
 * each kind once.
 */
export class Fleet {
  printers: readonly QueuePrinter[] = [];
  /** Kind of each printer: an index into `samples`. */
  kinds: readonly number[] = [];
  /** A printer of each kind. */
  readonly samples: QueuePrinter[] = [];
  /** Grows with each change of any printer's configuration. */
  version = 0;
  /** Grows with each change that `version` counts, and with each change of a material's rest that some item may notice. */
  stock = 0;
  /** The most that an item needs of a material, mm³. */
  #needed = 0;
  /** Indexes of the printers of each cluster. */
  #members = new Map<string, number[]>();
  #kindsByKey = new Map<string, number>();
  #keys: string[] = [];

  /** Sets the printers of the next plan. */
  update(printers: readonly QueuePrinter[]): void {
    if (printers === this.printers) return;
    const before = this.printers;
    let isSame = printers.length === before.length;
    const kinds = printers.map((printer, at) => {
      const [kept, keptKind = -1] = [before[at], this.kinds[at]];
      if (printer === kept) return keptKind;
      const kind = kept && haveSameParts(printer, kept) ? keptKind : this.#kindOf(printer);
      isSame &&= kind === keptKind && isAlike(printer, kept);
      if (!this.#haveSameRest(printer, kept)) this.stock++;
      return kind;
    });
    this.printers = printers;
    this.kinds = kinds;
    if (isSame) return;
    this.stock++;
    this.version++;
    this.#keys = [];
    this.#members = new Map();
    for (const [at, { clusterId }] of printers.entries()) {
      const members = this.#members.get(clusterId);
      if (members) members.push(at);
      else this.#members.set(clusterId, [at]);
    }
  }

  /** Records what an item needs, mm³. */
  expect(volumes: readonly (number | null)[]): void {
    const needed = Math.max(this.#needed, ...volumes.map((volume) => volume ?? 0));
    if (needed > this.#needed) this.stock++;
    this.#needed = needed;
  }

  /** Whether a printer has enough material for any item, as far as is known. */
  hasPlenty(at: number): boolean {
    const extruders = this.printers[at]?.extruders ?? [];
    return extruders.every(({ volumeLeft }) => volumeLeft === null || this.#isAmple(volumeLeft));
  }

  /** Key of a printer, as in the sets of an item. */
  keyAt(at: number): string {
    return (this.#keys[at] ??= printerKey(this.printers[at] as QueuePrinter));
  }

  /** Indexes of the printers of a printer's cluster, itself among them. */
  membersAt(at: number): readonly number[] {
    return this.#members.get(this.printers[at]?.clusterId ?? '') ?? [];
  }

  /** Indexes of the printers that can start a print, the first choice first. */
  free({ choose, printers: listed }: Pick<QueueRules, 'choose' | 'printers'>): number[] {
    const places = new Map(choose === 'list' ? listed.map((clusterId, place) => [clusterId, place]) : []);
    const free: { at: number; value: number }[] = [];
    for (const [at, { clusterId, obstacle, usedFor, lastUsedAt }] of this.printers.entries()) {
      if (obstacle !== null) continue;
      const place = places.get(clusterId) ?? listed.length;
      free.push({ at, value: choose === 'list' ? place : choose === 'fewest-hours' ? usedFor : (lastUsedAt ?? -1) });
    }
    return free.sort((one, other) => one.value - other.value || one.at - other.at).map(({ at }) => at);
  }

  /** Whether a printer has as much material as before, or enough for any item then and now. */
  #haveSameRest(one: QueuePrinter, other: QueuePrinter | undefined): boolean {
    if (one.extruders === other?.extruders) return true;
    return (one.extruders ?? []).every(({ volumeLeft }, at) => {
      const before = other?.extruders?.[at]?.volumeLeft ?? null;
      return volumeLeft === before || (this.#isAmple(volumeLeft) && this.#isAmple(before));
    });
  }

  #isAmple(volume: number | null): boolean {
    return volume !== null && volume >= this.#needed;
  }

  #kindOf(printer: QueuePrinter): number {
    const { model, extruders, buildPlate, tags } = printer;
    // The rest of the material and the state of the printer are no part of its kind.
    const tools = extruders?.map(({ printCore, material }) => [
      printCore,
      material && [material.guid, material.brand, material.name, material.color],
    ]);
    const key = JSON.stringify([model, tools, buildPlate, tags]);
    let kind = this.#kindsByKey.get(key);
    if (kind === undefined) {
      kind = this.samples.length;
      this.samples.push(printer);
      this.#kindsByKey.set(key, kind);
    }
    return kind;
  }
}

/** Whether a printer consists of the same objects as before, as one that only began or ended a print. */
const haveSameParts = (one: QueuePrinter, other: QueuePrinter): boolean =>
  one.extruders === other.extruders &&
  one.tags === other.tags &&
  one.model === other.model &&
  one.buildPlate === other.buildPlate;

const isAlike = (one: QueuePrinter | undefined, other: QueuePrinter | undefined): boolean =>
  one?.clusterId === other?.clusterId && one?.printerId === other?.printerId;
