import { hash } from 'node:crypto';
import { isOnPrinter, type ClusterStatus } from '../service/cluster';
import { isUnderWay } from '../service/job-words';
import type { Extruder, Material, Printer } from '../service/printer';
import type { ExtruderCheckpoint } from './checkpoint';
import type { EventBuilder, EventType } from './print-event';
import { RecurringEdges } from './edges';

/** Extruders followed per printer. */
const FOLLOWED = 16;
/** Rise of the estimated rest from which it counts as another spool, percentage points. */
const REFILL = 5;

interface Scene {
  status: ClusterStatus;
  printer: Printer;
}

/**
 * Returns the state of a printer's extruders after an observation, and adds the events of what was changed or runs low
 * (reference 3.3). Nothing that was there at first sight causes an event.
 */
export function followExtruders(
  before: readonly ExtruderCheckpoint[] = [],
  scene: Scene,
  builder: EventBuilder | null,
): ExtruderCheckpoint[] {
  const known = new Map(before.map((extruder) => [extruder.index, extruder]));
  for (const [index, extruder] of extrudersOf(scene.printer)) {
    const last = known.get(index);
    known.set(index, last ? new ExtruderEdges(scene, extruder, last, builder).after : firstSight(scene, extruder));
  }
  return [...known.values()];
}

/** Facts of the extruders that may cause an event, for the fingerprint of an observation. */
export const extruderFacts = (scene: Scene): unknown[] =>
  [...extrudersOf(scene.printer)].map(([index, extruder]) => {
    const { guid, brand, name, color } = extruder.material ?? {};
    return [index, extruder.printCore, guid, brand, name, color, percentLeft(extruder), shortage(scene, extruder)?.id];
  });

/** Extruders of a printer by index, each once. */
export function extrudersOf({ extruders }: Printer): Map<number, Extruder> {
  const found = new Map<number, Extruder>();
  for (const extruder of extruders.slice(0, FOLLOWED))
    if (extruder.index !== null && !found.has(extruder.index)) found.set(extruder.index, extruder);
  return found;
}

const firstSight = (scene: Scene, extruder: Extruder): ExtruderCheckpoint => ({
  index: extruder.index ?? 0,
  printCore: extruder.printCore,
  material: extruder.material,
  loads: 0,
  removing: [],
  left: percentLeft(extruder),
  shortFor: shortage(scene, extruder)?.id ?? null,
});

/** The edges of one extruder between two observations. */
class ExtruderEdges {
  readonly after: ExtruderCheckpoint;

  constructor(
    private readonly scene: Scene,
    private readonly extruder: Extruder,
    before: ExtruderCheckpoint,
    private readonly builder: EventBuilder | null,
  ) {
    this.after = { ...before, removing: [] };
    this.#followPrintCore(before);
    this.#followMaterial(before);
    this.#followShortage(before);
  }

  #followPrintCore(before: ExtruderCheckpoint): void {
    const { index, printCore } = this.extruder;
    if (printCore === before.printCore || (printCore === null && this.#isFirstLook(before, 'printCore'))) return;
    this.after.printCore = printCore;
    const [previous, value] = [before.printCore, printCore].map((core) => ({ extruder: index, printCore: core }));
    this.#addChange('printcore.changed', previous, value);
  }

  #followMaterial(before: ExtruderCheckpoint): void {
    const { index, material } = this.extruder;
    const isChanged = !isSameMaterial(material, before.material);
    if (isChanged && material === null && this.#isFirstLook(before, 'material')) return;
    const left = percentLeft(this.extruder);
    const isRefilled = !isChanged && left !== null && before.left !== null && left >= before.left + REFILL;
    const isLoaded = isChanged || isRefilled;
    const known = isLoaded ? null : before.left;
    Object.assign(this.after, {
      material: isChanged ? material : before.material,
      loads: before.loads + (isLoaded ? 1 : 0),
      left: left === null || known === null ? (left ?? known) : Math.min(left, known),
    });
    if (isChanged) {
      const [previous, value] = [before.material, material].map((loaded) => ({ extruder: index, material: loaded }));
      this.#addChange('material.changed', previous, value);
    }
    // A new spool may be low from the start. A rest that was unknown before causes no event.
    const from = isLoaded ? 100 : before.left;
    if (left === null || from === null || left >= from) return;
    const step = { of: 'lowMaterial', from, to: left } as const;
    const subject = `${this.builder?.counted(this.#subject)}-${this.after.loads}`;
    this.builder?.step('material.low', subject, step, { ...this.#printer, value: this.#low(null) });
  }

  /** Adds the event of a running print that needs more than is left, once per print. */
  #followShortage(before: ExtruderCheckpoint): void {
    const short = shortage(this.scene, this.extruder);
    if (!short || short.id === before.shortFor) return;
    this.after.shortFor = short.id;
    const subject = `${this.#subject}/${short.id}`;
    this.builder?.once('material.low', subject, { ...this.#printer, job: short.job, value: this.#low(short.needed) });
  }

  /** Adds the event of another material or print core. The rest of the material helps to tell two changes apart. */
  #addChange(type: EventType, previous: unknown, value: unknown): void {
    if (!this.builder) return;
    const facts = hash('sha256', JSON.stringify([previous, value, this.extruder.volumeLeft]), 'base64url').slice(0, 10);
    const edges = new RecurringEdges(this.builder.counted(this.#subject), this.after.edges, this.builder);
    edges.add(type, facts, { ...this.#printer, previous, value });
    if (edges.all) this.after.edges = edges.all;
  }

  /** Whether something is missing for the first time: a single answer without it doesn't prove its removal. */
  #isFirstLook(before: ExtruderCheckpoint, what: 'printCore' | 'material'): boolean {
    if (before.removing.includes(what)) return false;
    this.after.removing.push(what);
    return true;
  }

  #low(needed: number | null) {
    const { index, material, volumeLeft, volumeFull } = this.extruder;
    return { extruder: index, material, volumeLeft, volumeFull, needed, below: null };
  }

  get #printer() {
    const { printerId, name } = this.scene.printer;
    return { printerId, printerName: name };
  }

  get #subject(): string {
    return `${this.scene.printer.printerId ?? ''}/${this.extruder.index ?? ''}`;
  }
}

/** Rest of the material, whole percent of a full spool. */
function percentLeft({ volumeLeft, volumeFull }: Extruder): number | null {
  if (volumeLeft === null || volumeFull === null || volumeFull <= 0) return null;
  return Math.min(100, Math.floor((100 * volumeLeft) / volumeFull));
}

/** The print under way that needs more than is left; the printer's estimate is of before the print (wire facts 6.2). */
function shortage({ status, printer }: Scene, { index, volumeLeft }: Extruder) {
  if (volumeLeft === null) return null;
  for (const job of status.jobs) {
    if (!isUnderWay(job) || job.clusterJobId === null || !isOnPrinter(job, printer, status)) continue;
    const needed = job.materials.find(({ extruder }) => extruder === index)?.volume ?? 0;
    if (needed > volumeLeft) return { id: job.clusterJobId, job, needed };
  }
  return null;
}

/** Compares by GUID, or else by what the materials show. */
function isSameMaterial(one: Material | null, other: Material | null): boolean {
  if (one === null || other === null) return one === other;
  if (one.guid !== null && other.guid !== null) return one.guid === other.guid;
  return one.brand === other.brand && one.name === other.name && one.color === other.color;
}
