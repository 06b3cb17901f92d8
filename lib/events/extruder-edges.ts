import { hash } from 'node:crypto';
import { STATION } from '../rules/limits';
import { isOnPrinter, type ClusterStatus } from '../service/cluster';
import { isUnderWay } from '../service/job-words';
import type { Extruder, Material, Printer, Slot } from '../service/printer';
import type { ExtruderCheckpoint, MaterialCheckpoint, PrinterCheckpoint, SlotCheckpoint } from './checkpoint';
import type { EventBuilder, EventType } from './print-event';

/** Extruders, and slots, followed per printer. */
const FOLLOWED = 16;
/** Rise of the estimated rest from which it counts as another spool, percentage points. */
const REFILL = 5;

interface Scene {
  status: ClusterStatus;
  printer: Printer;
}

type Followed = Pick<PrinterCheckpoint, 'extruders' | 'slots'>;

/**
 * Returns the state of a printer's extruders and slots after an observation, and adds the events of what was changed or
 * runs low (reference 3.3). Nothing that was there at first sight causes an event.
 */
export function followMaterials(
  before: Followed | undefined,
  scene: Scene,
  builder: EventBuilder | null,
): Pick<PrinterCheckpoint, 'extruders' | 'slots'> {
  const slots = followSlots(before?.slots, scene, builder);
  const isInSlot = (material: Material) =>
    [...(before?.slots ?? []), ...slots].some((slot) => isSameMaterial(slot.material, material));
  const known = new Map((before?.extruders ?? []).map((extruder) => [extruder.index, extruder]));
  for (const [index, extruder] of extrudersOf(scene.printer)) {
    const last = known.get(index);
    known.set(
      index,
      last ? new ExtruderEdges(scene, extruder, last, isInSlot, builder).after : firstSight(scene, extruder, isInSlot),
    );
  }
  return { extruders: [...known.values()], ...(slots.length > 0 && { slots }) };
}

function followSlots(before: readonly SlotCheckpoint[] = [], scene: Scene, builder: EventBuilder | null) {
  const known = new Map(before.map((slot) => [slot.index, slot]));
  for (const [index, slot] of slotsOf(scene.printer)) {
    const last = known.get(index);
    known.set(index, last ? new SlotEdges(scene, slot, last, builder).after : firstSightOfSlot(scene, slot));
  }
  return [...known.values()];
}

/** Facts of extruders and slots but their figures, and what of these may cause an event, for the fingerprint of an observation. */
export function materialFacts(scene: Scene): unknown[] {
  const { printer } = scene;
  const facts: unknown[] = [];
  // One flat list: this runs for every poll.
  for (const extruder of printer.extruders) {
    const { index, printCore, volumeFull, material } = extruder;
    facts.push(index, printCore, volumeFull, percentLeft(extruder), shortage(scene, extruder)?.id);
    pushMaterial(facts, material);
  }
  for (const slot of printer.slots) {
    const { index, extruder, printCore, compatible, material } = slot;
    facts.push(index, extruder, printCore, compatible, spoolIn(slot, printer).left);
    pushMaterial(facts, material);
  }
  return facts;
}

function pushMaterial(facts: unknown[], material: Material | null): void {
  if (!material) return void facts.push(material);
  const { guid, brand, name, color, diameter, density } = material;
  facts.push(guid, brand, name, color, diameter, density);
}

/** Extruders of a printer by index, each once. */
export const extrudersOf = ({ extruders }: Printer): Map<number, Extruder> => byIndex(extruders);

/** Slots of a printer by index, each once. */
export const slotsOf = ({ slots }: Printer): Map<number, Slot> => byIndex(slots);

function byIndex<Part extends { index: number | null }>(parts: readonly Part[]): Map<number, Part> {
  const found = new Map<number, Part>();
  for (const part of parts.slice(0, FOLLOWED))
    if (isPlace(part.index) && !found.has(part.index)) found.set(part.index, part);
  return found;
}

/** Whether a number can be that of an extruder or a slot. Each one is stored, so any other would only fill the record. */
const isPlace = (index: number | null): index is number =>
  index !== null && Number.isInteger(index) && index >= 0 && index < STATION.slots;

function firstSight(scene: Scene, extruder: Extruder, isInSlot: (material: Material) => boolean): ExtruderCheckpoint {
  const { index, printCore, material } = extruder;
  const loaded = material && isInSlot(material) ? material : null;
  return {
    index: index ?? 0,
    printCore,
    material: loaded ? null : material,
    loads: 0,
    removing: [],
    left: loaded ? null : percentLeft(extruder),
    shortFor: shortage(scene, extruder)?.id ?? null,
    ...(loaded && { loaded }),
  };
}

function firstSightOfSlot({ printer }: Scene, slot: Slot): SlotCheckpoint {
  const { index, extruder, material } = slot;
  const { left } = spoolIn(slot, printer);
  return { index: index ?? 0, extruder, material, loads: 0, removing: [], left };
}

/** A spool at one moment. */
interface Spool {
  material: Material | null;
  /** Rest, whole percent of a full spool. */
  left: number | null;
  /** mm³. */
  volumeLeft: number | null;
  volumeFull: number | null;
}

/** The edges of one place of a material between two observations. */
abstract class MaterialEdges<State extends MaterialCheckpoint> {
  readonly after: State;

  constructor(
    protected readonly scene: Scene,
    before: State,
    protected readonly builder: EventBuilder | null,
    /** Names the place in the id of an event. */
    protected readonly subject: string,
  ) {
    this.after = { ...before, removing: [] };
  }

  /** @param places the place in the values of events, before and now */
  protected followSpool(before: State, spool: Spool, places: readonly [object, object]): void {
    const { material, left } = spool;
    const isChanged = !isSameMaterial(material, before.material);
    if (isChanged && material === null && this.isFirstLook(before, 'material')) return;
    const isRefilled = !isChanged && left !== null && before.left !== null && left >= before.left + REFILL;
    const isLoaded = isChanged || isRefilled;
    const known = isLoaded ? null : before.left;
    Object.assign(this.after, {
      material: isChanged ? material : before.material,
      loads: before.loads + (isLoaded ? 1 : 0),
      left: left === null || known === null ? (left ?? known) : Math.min(left, known),
    });
    if (isChanged) {
      const [previous, value] = [before.material, material].map((loaded, at) => ({ ...places[at], material: loaded }));
      this.addChange('material.changed', this.after.loads, previous, value);
    }
    // A new spool may be low from the start, an emptied place is not. A rest that was unknown before causes no event.
    const from = isLoaded ? 100 : before.left;
    if (left === null || from === null || left >= from || (isChanged && material === null)) return;
    const step = { of: 'lowMaterial', from, to: left } as const;
    const subject = `${this.builder?.counted(this.subject)}-${this.after.loads}`;
    this.builder?.step('material.low', subject, step, { ...this.printer, value: low(places[1], spool, null) });
  }

  /**
   * Adds the event of another material or print core. Nothing else identifies it: what is left may be another figure when
   * the change is found again from an older checkpoint. `count`: its number, as the checkpoint counts them.
   */
  protected addChange(type: EventType, count: number, previous: unknown, value: unknown): void {
    const facts = hash('sha256', JSON.stringify([previous, value]), 'base64url').slice(0, 10);
    const subject = `${this.builder?.counted(this.subject)}-${count}/${facts}`;
    this.builder?.once(type, subject, { ...this.printer, previous, value });
  }

  /** Whether something is missing for the first time: a single answer without it doesn't prove its removal. */
  protected isFirstLook(before: State, what: 'printCore' | 'material'): boolean {
    if (before.removing.includes(what)) return false;
    this.after.removing.push(what);
    return true;
  }

  protected get printer() {
    const { printerId, name } = this.scene.printer;
    return { printerId, printerName: name };
  }
}

class ExtruderEdges extends MaterialEdges<ExtruderCheckpoint> {
  constructor(
    scene: Scene,
    private readonly extruder: Extruder,
    before: ExtruderCheckpoint,
    private readonly isInSlot: (material: Material) => boolean,
    builder: EventBuilder | null,
  ) {
    super(scene, before, builder, `${scene.printer.printerId ?? ''}/${extruder.index ?? ''}`);
    this.#followPrintCore(before);
    this.#followMaterial(before);
    this.#followShortage(before);
  }

  #followPrintCore(before: ExtruderCheckpoint): void {
    const { index, printCore } = this.extruder;
    if (printCore === before.printCore || (printCore === null && this.isFirstLook(before, 'printCore'))) return;
    this.after.printCore = printCore;
    this.after.cores = (before.cores ?? 0) + 1;
    const [previous, value] = [before.printCore, printCore].map((core) => ({ extruder: index, printCore: core }));
    this.addChange('printcore.changed', this.after.cores, previous, value);
  }

  /** What a station loads for a print, and takes back, stays the spool of its slot, and is no change. */
  #followMaterial(before: ExtruderCheckpoint): void {
    const { index, material, volumeLeft, volumeFull } = this.extruder;
    const place = { extruder: index };
    const isLoaded = (one: Material | null) =>
      one !== null && (this.isInSlot(one) || isSameMaterial(one, before.loaded ?? null));
    if (material && isLoaded(material) && !isSameMaterial(material, before.loaded ?? null))
      this.after.loaded = material;
    // A checkpoint of before slots were followed has it as the extruder's own.
    const known = isLoaded(before.material) ? { ...before, material: null, left: null } : before;
    const own = isLoaded(material)
      ? { material: null, left: null, volumeLeft: null, volumeFull: null }
      : { material, left: percentLeft(this.extruder), volumeLeft, volumeFull };
    Object.assign(this.after, { material: known.material, left: known.left });
    this.followSpool(known, own, [place, place]);
  }

  /** Adds the event of a running print that needs more than is left, once per print. */
  #followShortage(before: ExtruderCheckpoint): void {
    const { index, material, volumeLeft, volumeFull } = this.extruder;
    const short = shortage(this.scene, this.extruder);
    if (!short || short.id === before.shortFor) return;
    this.after.shortFor = short.id;
    const value = low({ extruder: index }, { material, volumeLeft, volumeFull }, short.needed);
    this.builder?.once('material.low', `${this.subject}/${short.id}`, { ...this.printer, job: short.job, value });
  }
}

class SlotEdges extends MaterialEdges<SlotCheckpoint> {
  constructor(scene: Scene, slot: Slot, before: SlotCheckpoint, builder: EventBuilder | null) {
    const { index, extruder } = slot;
    super(scene, before, builder, `${scene.printer.printerId ?? ''}/slot-${index ?? ''}`);
    this.after.extruder = extruder;
    this.followSpool(before, spoolIn(slot, scene.printer), [
      { extruder: before.extruder, slot: index },
      { extruder, slot: index },
    ]);
  }
}

const low = (place: object, { material, volumeLeft, volumeFull }: Omit<Spool, 'left'>, needed: number | null) => ({
  ...place,
  ...{ material, volumeLeft, volumeFull, needed, below: null },
});

/** Rest of the material, whole percent of a full spool. */
function percentLeft({ volumeLeft, volumeFull }: Pick<Extruder, 'volumeLeft' | 'volumeFull'>): number | null {
  if (volumeLeft === null || volumeFull === null || volumeFull <= 0) return null;
  return Math.min(100, Math.floor((100 * volumeLeft) / volumeFull));
}

/**
 * The spool in a slot. Where the service does not know its share, the extruder's estimate stands in while the station has
 * loaded it there; of several such slots with the same material, it stands for the first.
 */
function spoolIn(slot: Slot, printer: Printer): Spool {
  const { material, remaining } = slot;
  const extruder = slot.extruder === null ? undefined : printer.extruders.find(({ index }) => index === slot.extruder);
  const volumeFull = extruder?.volumeFull ?? null;
  if (remaining !== null) {
    const volumeLeft = volumeFull === null ? null : Math.round(remaining * volumeFull);
    // A share such as 0.29 is slightly less than 29 % in binary.
    return { material, left: Math.floor(100 * remaining + 1e-9), volumeLeft, volumeFull };
  }
  const isLoaded = (one: Slot) =>
    one.extruder === slot.extruder &&
    one.remaining === null &&
    isSameMaterial(one.material, extruder?.material ?? null);
  const isEstimated = extruder && material !== null && printer.slots.find(isLoaded)?.index === slot.index;
  return isEstimated
    ? { material, left: percentLeft(extruder), volumeLeft: extruder.volumeLeft, volumeFull }
    : { material, left: null, volumeLeft: null, volumeFull };
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
