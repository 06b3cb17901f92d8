import type { Feed, Source } from '../../service/feeds';
import { amount } from '../../service/json-readers';
import type { Material } from '../../service/printer';
import { folded, plain } from '../../service/printer-filter';
import type { MaterialNeed } from '../../toolpath/facts';
import { phrase, type Sentence } from '../../words/sentence';
import type { Requirement } from '../model/requirement';
import type { QueueRules } from '../model/rules';
import type { QueuePrinter, Reason, Suitability } from '../model/types';

/** Why a printer does not suit a requirement. */
export interface Mismatch extends Reason<Suitability | 'STALE'> {
  /** Whether only missing knowledge about the printer speaks against it. */
  isUnknown: boolean;
}

/** Why a printer that the service does not know suits nothing: the sentence of its answer. */
export const UNKNOWN_PRINTER = phrase`The service does not know ${phrase`the printer`}: check the ID and the workspace.`;

/** How strictly printers are compared. */
type MatchRules = Pick<QueueRules, 'match' | 'material'>;

/**
 * The first reason why a printer, as it is configured now, does not suit; null: it suits. A known difference is always a
 * mismatch. With `strict`, an unknown model, print core or material of the printer is one too; an unknown build plate or
 * rest of material never is. The caller judges whether the item's own model is known.
 */
export function mismatchOf(requirement: Requirement, printer: QueuePrinter, rules: MatchRules): Mismatch | null {
  return (
    toolMismatch(requirement, printer, rules) ??
    lowMaterial(requirement.volumes, printer, suitedSources(requirement, printer, rules)) ??
    placeMismatch(requirement, printer) ??
    choiceMismatch(requirement, printer)
  );
}

/** Whether a kind of printer suits, apart from the rest of its material and from the printers that the item names. */
const isFit = (requirement: Requirement, printer: QueuePrinter, rules: MatchRules): boolean =>
  toolMismatch(requirement, printer, rules) === null && placeMismatch(requirement, printer) === null;

/** Mismatch of model, print cores or materials. */
export function toolMismatch(requirement: Requirement, printer: QueuePrinter, rules: MatchRules): Mismatch | null {
  const strict = rules.match === 'strict';
  return modelMismatch(requirement, printer, strict) ?? extruderMismatch(requirement, printer, rules);
}

/** Mismatch of the build plate or the tags. */
export function placeMismatch(requirement: Requirement, printer: QueuePrinter): Mismatch | null {
  const { buildPlate, tags } = requirement;
  const { buildPlate: mounted } = printer;
  if (buildPlate !== null && mounted !== null && !isSame(buildPlate, mounted))
    return known('BUILD_PLATE', () => phrase`It needs the build plate ${buildPlate}; the printer has ${mounted}.`);
  if (tags.length === 0) return null;
  const present = new Set(printer.tags.map(plainTag));
  const missing = tags.find((tag) => !present.has(plainTag(tag)));
  if (missing === undefined) return null;
  return known('TAG', () =>
    printer.tags.length > 0
      ? phrase`It needs the tag ${missing}; the printer has ${printer.tags.join(', ')}.`
      : phrase`It needs the tag ${missing}; the printer has none.`,
  );
}

/** Mismatch of the printers that the item names. */
export function choiceMismatch({ printers }: Requirement, { clusterId }: QueuePrinter): Mismatch | null {
  if (printers === null || printers.includes(clusterId)) return null;
  return known('NOT_CHOSEN', () => phrase`It needs one of the printers ${printers.join(', ')}, not ${clusterId}.`);
}

/** The extruders whose material or print core has none of the printers that suit by model, build plate, tags and choice. */
export function missingPieces(
  requirement: Requirement,
  printers: readonly QueuePrinter[],
  rules: MatchRules,
): { materials: ReadonlySet<number>; printCores: ReadonlySet<number> } {
  const here = printers.filter(
    (printer) =>
      !counts(modelMismatch(requirement, printer, rules.match === 'strict'), rules) &&
      placeMismatch(requirement, printer) === null &&
      choiceMismatch(requirement, printer) === null,
  );
  const missing = (list: readonly unknown[], isThere: (printer: QueuePrinter, at: number) => boolean) =>
    new Set(list.flatMap((_, at) => (here.length > 0 && !here.some((printer) => isThere(printer, at)) ? [at] : [])));
  return {
    materials: missing(
      requirement.materials,
      ({ extruders }, at) => !counts(materialMismatch(requirement, at, extruders?.[at]?.sources ?? [], rules), rules),
    ),
    printCores: missing(
      requirement.printCores,
      ({ extruders }, at) =>
        !counts(coreMismatch(at, requirement.printCores[at] ?? null, extruders?.[at]?.printCore ?? null), rules),
    ),
  };
}

/** For each extruder, the places in its sources from which a requirement can be printed; null: each has one source. */
export type Suited = readonly (readonly number[])[] | null;

/** The sources of a printer that suit a requirement, whatever is left of them. */
function suitedSources(requirement: Requirement, { extruders }: QueuePrinter, rules: MatchRules): Suited {
  if (extruders === null || extruders.every(({ sources }) => sources.length === 1)) return null;
  return extruders.map(({ sources }, at) => {
    const isSuited = (source: Source) =>
      !counts(toolOf(requirement, at, source.printCore), rules) &&
      !counts(materialMismatch(requirement, at, [source], rules), rules);
    return sources.flatMap((source, place) => (isSuited(source) ? place : []));
  });
}

/** The most that is left in one source of an extruder, mm³; null: unknown. One spool has to last for a print. */
function mostLeft(feed: Feed | undefined, suited: readonly number[] = FIRST): number | null {
  let most: number | null = null;
  for (const place of suited) {
    const left = feed?.sources[place]?.volumeLeft ?? null;
    if (left === null) return null;
    most = Math.max(most ?? 0, left);
  }
  return most;
}

const FIRST = [0];

/** The first extruder that is known to have less material than a print consumes; -1: none. */
function lowExtruder(volumes: Requirement['volumes'], { extruders }: QueuePrinter, suited: Suited): number {
  if (extruders === null) return -1;
  for (let at = 0; at < volumes.length; at++) {
    const needed = volumes[at] ?? null;
    if (needed === null) continue;
    const left = mostLeft(extruders[at], suited?.[at]);
    if (left !== null && left < needed) return at;
  }
  return -1;
}

/** Whether an extruder is known to have less material than a print consumes. */
export const isLow = (volumes: Requirement['volumes'], printer: QueuePrinter, suited: Suited): boolean =>
  lowExtruder(volumes, printer, suited) >= 0;

/** The first extruder with too little material, as a mismatch; null: none. */
export function lowMaterial(volumes: Requirement['volumes'], printer: QueuePrinter, suited: Suited): Mismatch | null {
  const at = lowExtruder(volumes, printer, suited);
  if (at < 0) return null;
  const feed = printer.extruders?.[at];
  const [needed = '', left = ''] = [volumes[at] ?? 0, mostLeft(feed, suited?.[at]) ?? 0].map((volume) =>
    (volume / 1000).toFixed(1),
  );
  return known('MATERIAL_LOW', () =>
    feed && hasSlots(feed)
      ? phrase`Extruder ${at + 1} needs ${needed} cm³ of material; its fullest slot has ${left} cm³.`
      : phrase`Extruder ${at + 1} needs ${needed} cm³ of material; it has ${left} cm³.`,
  );
}

const hasSlots = ({ sources }: Feed): boolean => sources.some(({ slot }) => slot !== null);

function modelMismatch({ models }: Requirement, { model, isMissing }: QueuePrinter, strict: boolean): Mismatch | null {
  if (isMissing) return known('STALE', () => UNKNOWN_PRINTER);
  if (models === null || models.length === 0) return null;
  const wanted = () => models.join(', ');
  if (model === null)
    return strict
      ? unknown('MODEL', () => phrase`It needs the model ${wanted()}; that of the printer is unknown.`)
      : null;
  if (models.some((one) => one === model || plainModel(one) === plainModel(model))) return null;
  return known('MODEL', () => phrase`It needs the model ${wanted()}; the printer is ${model}.`);
}

function extruderMismatch(requirement: Requirement, printer: QueuePrinter, rules: MatchRules): Mismatch | null {
  const { printCores, nozzles, materials, volumes } = requirement;
  const { extruders } = printer;
  const count = Math.max(printCores.length, nozzles.length, materials.length, volumes.length);
  for (let at = 0; at < count; at++) {
    const isUsed = (printCores[at] ?? materials[at] ?? nozzles[at] ?? null) !== null || (volumes[at] ?? 0) > 0;
    if (isUsed && extruders !== null && at >= extruders.length)
      return known('PRINT_CORE', () => phrase`It needs extruder ${at + 1}; the printer has none.`);
    const feed = extruders?.[at] ?? NO_FEED;
    const found = toolOf(requirement, at, feed.printCore) ?? slotsMismatch(requirement, at, feed);
    if (counts(found, rules)) return found;
  }
  for (let at = 0; at < materials.length; at++) {
    if (materials[at] === null) continue;
    const { printCore: own, sources } = extruders?.[at] ?? NO_FEED;
    // A slot of another print core does not count, although it may hold the right material.
    const usable = sources.filter(
      ({ printCore }) => printCore === own || !counts(toolOf(requirement, at, printCore), rules),
    );
    const found = materialMismatch(requirement, at, usable, rules);
    if (counts(found, rules)) return found;
  }
  return null;
}

/** An extruder of which nothing is known. */
const NO_FEED: Feed = { printCore: null, sources: [] };

/** Whether a mismatch speaks against a printer. */
const counts = (found: Mismatch | null, { match }: MatchRules): boolean =>
  found !== null && (match === 'strict' || !found.isUnknown);

/**
 * Mismatch of an extruder's needs, which its own print core meets, with the print cores that all its slots serve; one slot
 * for its core is enough.
 */
function slotsMismatch(requirement: Requirement, at: number, { printCore: own, sources }: Feed): Mismatch | null {
  const isServed = ({ printCore }: Source) => printCore === own || toolOf(requirement, at, printCore) === null;
  if (sources.length === 0 || sources.some(isServed)) return null;
  const core = sources[0]?.printCore ?? '';
  return known(
    'PRINT_CORE',
    () => phrase`The slots of extruder ${at + 1} serve the print core ${core}, which is not the one that it needs.`,
  );
}

/** Mismatch of an extruder's needs with a print core. */
const toolOf = ({ printCores, nozzles }: Requirement, at: number, printCore: string | null): Mismatch | null =>
  coreMismatch(at, printCores[at] ?? null, printCore) ?? nozzleMismatch(at, nozzles[at] ?? null, printCore);

function coreMismatch(at: number, core: string | null, found: string | null): Mismatch | null {
  if (core === null) return null;
  if (found === null)
    return unknown(
      'PRINT_CORE',
      () => phrase`Extruder ${at + 1} needs the print core ${core}; it has none that is known.`,
    );
  if (isSame(core, found)) return null;
  return known('PRINT_CORE', () => phrase`Extruder ${at + 1} needs the print core ${core}; it has ${found}.`);
}

/** Compares diameters where the file names no print core; an unknown one is no obstacle. */
function nozzleMismatch(at: number, diameter: number | null, core: string | null): Mismatch | null {
  if (diameter === null || core === null) return null;
  // The names of print cores end in it: `AA+ 0.4`.
  const found = amount(core.split(' ').at(-1));
  if (found === null || found === diameter) return null;
  return known(
    'PRINT_CORE',
    () => phrase`Extruder ${at + 1} needs a nozzle of ${diameter} mm; it has the print core ${core}.`,
  );
}

type Criteria = { [Member in keyof MaterialNeed]: MaterialNeed[Member] | undefined } & {
  /** Whether the GUID stands for an unknown type, so that another GUID is no known mismatch. */
  isStandIn?: boolean;
};

/**
 * The members of a needed material that are compared. All words of a message that describes a material without a GUID
 * are, unless any material will do.
 */
function criteriaOf(need: MaterialNeed, rule: QueueRules['material'], isNamed: boolean): Criteria {
  const { guid, type, brand, color } = need;
  if (rule === 'any') return {};
  if (rule === 'guid' && guid) return { guid };
  if (rule === 'guid' || (isNamed && !guid)) return { type, brand, color };
  // Of some materials only the GUID is known: it then stands for the type.
  if (!type && guid) return { guid, isStandIn: true };
  return rule === 'type' ? { type } : { type, color };
}

/** Members of a needed material, and those of a loaded one. */
const PAIRS = [
  ['guid', 'guid'],
  ['type', 'name'],
  ['brand', 'brand'],
  ['color', 'color'],
] as const;

/** Mismatch of an extruder's need with all sources, of which one is enough. */
function materialMismatch(
  { materials, sources: { materials: source } }: Requirement,
  at: number,
  sources: readonly Source[],
  rules: MatchRules,
): Mismatch | null {
  const need = materials[at] ?? null;
  if (need === null) return null;
  const criteria = criteriaOf(need, rules.material, source === 'message');
  if (sources.length === 0 && compare(criteria, null) === 'same') return null;
  let [isUnknown, differs] = [criteria.isStandIn === true, false];
  for (const { material } of sources) {
    const verdict = compare(criteria, material);
    if (verdict === 'same') return null;
    if (verdict === 'different') differs = true;
    else isUnknown = true;
  }
  if (!differs)
    return unknown(
      'MATERIAL',
      () => phrase`Extruder ${at + 1} needs the material ${namesOf(need, null)[0]}; it has none that is known.`,
    );
  return (isUnknown ? unknown : known)('MATERIAL', () => describeSources(at, need, sources));
}

/** Whether a loaded material is the one that is needed, as the queue compares materials. */
export const isSameMaterial = (
  need: MaterialNeed,
  loaded: Material | null,
  rule: QueueRules['material'],
  isNamed: boolean,
): boolean => loaded !== null && compare(criteriaOf(need, rule, isNamed), loaded) === 'same';

function compare(criteria: Criteria, loaded: Material | null): 'same' | 'different' | 'unknown' {
  let isKnown = true;
  for (const [member, loadedMember] of PAIRS) {
    const wanted = criteria[member];
    const found = loaded?.[loadedMember] ?? null;
    if (!wanted || (member === 'color' && found !== null && isCode(wanted) !== isCode(found))) continue;
    if (found === null) isKnown = false;
    else if (!isSame(wanted, found)) return 'different';
  }
  return isKnown ? 'same' : 'unknown';
}

/** Names a needed material, and what is in the extruder and in the slots that feed it. Slots are counted from 1. */
function describeSources(at: number, need: MaterialNeed, sources: readonly Source[]): Sentence {
  const names = sources.map(({ material }) => namesOf(need, material));
  const wanted = names.map(([name]) => name).reduce((one, other) => (other.length > one.length ? other : one));
  const held = sources.map(({ slot }, place) => ({ slot, name: names[place]?.[1] ?? '' }));
  const slots = held.flatMap(({ slot, name }) => (slot === null ? [] : `${slot + 1}: ${name}`)).join(', ');
  // A station has loaded what the extruder holds from one of the slots.
  const own = held.find(
    (one) => one.slot === null && !held.some(({ slot, name }) => slot !== null && name === one.name),
  );
  if (!slots) return phrase`Extruder ${at + 1} needs the material ${wanted}; it has ${own?.name ?? ''}.`;
  if (!own) return phrase`Extruder ${at + 1} needs the material ${wanted}; its slots hold ${slots}.`;
  return phrase`Extruder ${at + 1} needs the material ${wanted}; it has ${own.name}, and its slots hold ${slots}.`;
}

/** Whether a color is a code such as `#FF8000`, which can't be compared with a name. */
const isCode = (color: string): boolean => /^#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/i.test(color.trim());

/** Names of a needed and of a loaded material: their GUIDs, where the words are the same or missing. */
function namesOf(need: MaterialNeed, loaded: Material | null): [string, string] {
  const wordsOf = (...words: (string | null | undefined)[]) => words.filter(Boolean).join(' ');
  const wanted = wordsOf(need.brand, need.type, need.color);
  const has = wordsOf(loaded?.brand, loaded?.name, loaded?.color);
  if (wanted && has && !isSame(wanted, has)) return [wanted, has];
  return [wordsOf(wanted, need.guid), wordsOf(has, loaded?.guid)];
}

/** Most texts to remember in the form in which they are compared. */
const REMEMBERED = 10_000;

/** The same function, which remembers its results: few models and materials are compared over and over. */
function remembering(normalise: (text: string) => string): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    if (known.size >= REMEMBERED) known.clear();
    const normal = normalise(text);
    known.set(text, normal);
    return normal;
  };
}

const plainModel = remembering(plain);
/** A name or a material in the form in which it is compared. */
export const plainText = remembering(folded);
const plainTag = remembering((tag) => folded(tag).replace(/^#/, ''));
const isSame = (one: string, other: string): boolean => one === other || plainText(one) === plainText(other);

/** A mismatch whose sentence is made on demand: most are never shown. */
class LazyMismatch implements Mismatch {
  constructor(
    readonly code: Mismatch['code'],
    readonly isUnknown: boolean,
    private readonly say: () => Sentence,
  ) {}

  get sentence(): Sentence {
    return this.say();
  }
}

const known = (code: Mismatch['code'], say: () => Sentence): Mismatch => new LazyMismatch(code, false, say);
const unknown = (code: Mismatch['code'], say: () => Sentence): Mismatch => new LazyMismatch(code, true, say);

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
  /** Indexes of the printers of each kind. */
  byKind: readonly (readonly number[])[] = [];
  /** Grows with each change of any printer's configuration. */
  version = 0;
  /** Grows with each change that `version` counts, and with each change of a material's rest that some item may notice. */
  stock = 0;
  /** The most that an item needs of a material, mm³. */
  #needed = 0;
  /** Indexes of the printers of each cluster. */
  #members = new Map<string, number[]>();
  #kindsByKey = new Map<string, number>();

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
    this.#members = new Map();
    const byKind = this.samples.map((): number[] => []);
    for (let at = 0; at < printers.length; at++) {
      byKind[kinds[at] as number]?.push(at);
      const { clusterId } = printers[at] as QueuePrinter;
      const members = this.#members.get(clusterId);
      if (members) members.push(at);
      else this.#members.set(clusterId, [at]);
    }
    this.byKind = byKind;
  }

  /** Records what an item needs, mm³. */
  expect(volumes: readonly (number | null)[]): void {
    for (const volume of volumes) {
      if (volume === null || volume <= this.#needed) continue;
      this.#needed = volume;
      this.stock++;
    }
  }

  /** Whether a printer has enough material for any item, as far as is known. */
  hasPlenty(at: number): boolean {
    const extruders = this.printers[at]?.extruders ?? [];
    const isPlenty = ({ volumeLeft }: Source) => volumeLeft === null || this.#isAmple(volumeLeft);
    return extruders.every(({ sources }) => sources.every(isPlenty));
  }

  /** Indexes of the printers of a printer's cluster, itself among them. */
  membersAt(at: number): readonly number[] {
    return this.#members.get(this.printers[at]?.clusterId ?? '') ?? [];
  }

  /** Indexes of the printers that can start a print, the first choice first. */
  free({ choose, printers: listed }: Pick<QueueRules, 'choose' | 'printers'>): number[] {
    const places = new Map(choose === 'list' ? listed.map((clusterId, place) => [clusterId, place]) : []);
    const free: { at: number; value: number }[] = [];
    for (const [at, { clusterId, obstacle, usedFor, lastUsedLived }] of this.printers.entries()) {
      if (obstacle !== null) continue;
      const place = places.get(clusterId) ?? listed.length;
      free.push({ at, value: choose === 'list' ? place : choose === 'fewest-hours' ? usedFor : (lastUsedLived ?? -1) });
    }
    return free.sort((one, other) => one.value - other.value || one.at - other.at).map(({ at }) => at);
  }

  /** Whether a printer has as much material as before, or enough for any item then and now. */
  #haveSameRest(one: QueuePrinter, other: QueuePrinter | undefined): boolean {
    if (one.extruders === other?.extruders) return true;
    return (one.extruders ?? []).every(({ sources }, at) => {
      const others = other?.extruders?.[at]?.sources;
      return sources.every(({ volumeLeft }, place) => {
        const before = others?.[place]?.volumeLeft ?? null;
        return volumeLeft === before || (this.#isAmple(volumeLeft) && this.#isAmple(before));
      });
    });
  }

  #isAmple(volume: number | null): boolean {
    return volume !== null && volume >= this.#needed;
  }

  #kindOf(printer: QueuePrinter): number {
    const { isMissing, model, extruders, buildPlate, tags } = printer;
    // The rest of the material and the state of the printer are no part of its kind.
    const tools = extruders?.map(({ printCore, sources }) => [printCore, ...sources.map(toolKey)]);
    const key = JSON.stringify([isMissing, model, tools, buildPlate, tags]);
    let kind = this.#kindsByKey.get(key);
    if (kind === undefined) {
      kind = this.samples.length;
      this.samples.push(printer);
      this.#kindsByKey.set(key, kind);
    }
    return kind;
  }
}

/** A source without its rest; printers of one kind also explain a mismatch in the same words, so its slot counts. */
const toolKey = ({ slot, printCore, material }: Source) => [
  slot,
  printCore,
  material && [material.guid, material.brand, material.name, material.color],
];

/** Whether a printer consists of the same objects as before, as one that only began or ended a print. */
const haveSameParts = (one: QueuePrinter, other: QueuePrinter): boolean =>
  one.isMissing === other.isMissing &&
  one.extruders === other.extruders &&
  one.tags === other.tags &&
  one.model === other.model &&
  one.buildPlate === other.buildPlate;

const isAlike = (one: QueuePrinter | undefined, other: QueuePrinter | undefined): boolean =>
  one?.clusterId === other?.clusterId && one?.printerId === other?.printerId;

/** How a requirement compares with each kind of printer; undefined: it was not compared yet. */
interface Fits {
  isFit: (boolean | undefined)[];
  suited: (Suited | undefined)[];
}

/** All files with the same requirement, apart from their volumes: they are compared with each kind of printer once. */
export class RequirementGroup {
  #version = -1;
  #suitable: number[] = [];
  #isSuitable = new Uint8Array();
  #stock = -1;
  #isAmple = false;
  /** Printers among which one is searched, the first choice first, in one plan and one priority (`run`). */
  candidates: readonly number[] = [];
  /** Place among the candidates before which none is left. */
  cursor = 0;
  /** Whether all candidates are given away or reserved. */
  isExhausted = false;
  run = -1;

  constructor(
    readonly id: number,
    readonly requirement: Requirement,
    private readonly deps: { fleet: Fleet; rules: MatchRules; fits: Fits },
  ) {}

  /** Indexes of the printers that suit as they are configured, whatever is left of their material. */
  get suitable(): readonly number[] {
    this.#refresh();
    return this.#suitable;
  }

  /** 1 for each printer in `suitable`. */
  get isSuitable(): Uint8Array {
    this.#refresh();
    return this.#isSuitable;
  }

  /** Whether several printers suit any item of the group, unless they refused it: they have material for all items. */
  get isAmple(): boolean {
    const { fleet } = this.deps;
    if (this.#stock === fleet.stock) return this.#isAmple;
    this.#stock = fleet.stock;
    const first = this.suitable.findIndex((at) => fleet.hasPlenty(at));
    this.#isAmple = first >= 0 && this.suitable.slice(first + 1).some((at) => fleet.hasPlenty(at));
    return this.#isAmple;
  }

  /** The sources of a printer that suit. */
  suitedAt(at: number): Suited {
    const { fleet, rules, fits } = this.deps;
    const kind = fleet.kinds[at] ?? 0;
    const known = fits.suited[kind];
    if (known !== undefined) return known;
    return (fits.suited[kind] = suitedSources(this.requirement, fleet.samples[kind] as QueuePrinter, rules));
  }

  #isFit(kind: number): boolean {
    const { fleet, rules, fits } = this.deps;
    return (fits.isFit[kind] ??= isFit(this.requirement, fleet.samples[kind] as QueuePrinter, rules));
  }

  #refresh(): void {
    const { fleet } = this.deps;
    if (this.#version === fleet.version) return;
    this.#version = fleet.version;
    const isSuitable = new Uint8Array(fleet.printers.length);
    for (const [kind, printers] of fleet.byKind.entries()) {
      if (printers.length === 0 || !this.#isFit(kind)) continue;
      for (const at of printers)
        if (choiceMismatch(this.requirement, fleet.printers[at] as QueuePrinter) === null) isSuitable[at] = 1;
    }
    this.#isSuitable = isSuitable;
    this.#suitable = [];
    for (let at = isSuitable.indexOf(1); at >= 0; at = isSuitable.indexOf(1, at + 1)) this.#suitable.push(at);
  }
}

/** Finds the group of a requirement. */
export class RequirementGroups {
  readonly #byKey = new Map<string, RequirementGroup>();
  /** Comparisons with each kind of printer, which groups that name different printers share. */
  readonly #fits = new Map<string, Fits>();

  constructor(private readonly deps: { fleet: Fleet; rules: MatchRules }) {}

  of(requirement: Requirement): RequirementGroup {
    const shared = keyOf(requirement);
    const key = requirement.printers === null ? shared : choiceKey(shared, requirement.printers);
    const known = this.#byKey.get(key);
    if (known) return known;
    const group = this.#make(shared, requirement);
    this.#byKey.set(key, group);
    return group;
  }

  get size(): number {
    return this.#byKey.size;
  }

  #make(shared: string, requirement: Requirement): RequirementGroup {
    const fits = this.#fits.get(shared) ?? { isFit: [], suited: [] };
    this.#fits.set(shared, fits);
    return new RequirementGroup(this.#byKey.size, requirement, { ...this.deps, fits });
  }
}

/** A requirement without its printers. Volumes are compared item by item: only the used extruders are part of it. */
function keyOf(requirement: Requirement): string {
  const { models, printCores, nozzles, materials, buildPlate, tags, volumes, sources } = requirement;
  // One text of all parts: a plan makes the key of each item, and sums of texts would be most of its garbage.
  const parts: KeyParts = [sources.materials];
  addTexts(parts, models);
  addTexts(parts, printCores);
  addTexts(parts, tags);
  addText(parts, buildPlate);
  for (const need of materials) {
    parts.push(need ? 'm' : '-');
    if (!need) continue;
    addText(parts, need.guid);
    addText(parts, need.type);
    addText(parts, need.brand);
    addText(parts, need.color);
  }
  for (let at = 0; at < volumes.length; at++) if ((volumes[at] ?? 0) > 0) parts.push('v', at);
  for (const diameter of nozzles) parts.push('n', diameter ?? '');
  return parts.join(':');
}

/** A requirement with its printers. */
function choiceKey(shared: string, printers: readonly string[]): string {
  const parts: KeyParts = [shared, 'p'];
  addTexts(parts, printers);
  return parts.join(':');
}

type KeyParts = (string | number)[];

function addTexts(parts: KeyParts, texts: readonly (string | null)[] | null): void {
  parts.push(texts === null ? '-' : texts.length);
  for (const text of texts ?? []) addText(parts, text);
}

/** Each text follows its length, so that no text can look like two. */
function addText(parts: KeyParts, text: string | null | undefined): void {
  if (text) parts.push(text.length, text);
  else parts.push('-');
}
