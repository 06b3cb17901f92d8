import { amount } from '../../service/json-readers';
import type { Material } from '../../service/printer';
import { folded, plain } from '../../service/printer-filter';
import type { MaterialNeed } from '../../toolpath/facts';
import { phrase, type Sentence } from '../../words/sentence';
import type { Requirement } from '../model/requirement';
import type { QueueRules } from '../model/rules';
import { type PlannedExtruder, printerKey, type QueuePrinter, type Reason, type Suitability } from '../model/types';

/** Why a printer does not suit a requirement. */
export interface Mismatch extends Reason<Suitability> {
  /** Whether only missing knowledge about the printer speaks against it. */
  isUnknown: boolean;
}

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
    lowMaterial(requirement.volumes, printer) ??
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

/** Whether an extruder is known to have less material than a print consumes. */
export function isLow(volumes: Requirement['volumes'], { extruders }: QueuePrinter): boolean {
  if (extruders === null) return false;
  for (let at = 0; at < volumes.length; at++) {
    const needed = volumes[at] ?? null;
    const left = extruders[at]?.volumeLeft ?? null;
    if (needed !== null && left !== null && left < needed) return true;
  }
  return false;
}

/** The first extruder with too little material, as a mismatch; null: none. */
export function lowMaterial(volumes: Requirement['volumes'], printer: QueuePrinter): Mismatch | null {
  if (!isLow(volumes, printer)) return null;
  const at = volumes.findIndex((volume, index) => volume !== null && isLow(volumes.slice(0, index + 1), printer));
  const [needed, left] = [volumes[at] ?? 0, printer.extruders?.[at]?.volumeLeft ?? 0].map((volume) =>
    (volume / 1000).toFixed(1),
  );
  return known(
    'MATERIAL_LOW',
    () => phrase`Extruder ${at + 1} needs ${needed ?? ''} cm³ of material; it has ${left ?? ''} cm³.`,
  );
}

function modelMismatch({ models }: Requirement, { model }: QueuePrinter, strict: boolean): Mismatch | null {
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
  const { printCores, nozzles, materials, volumes, sources } = requirement;
  const { extruders } = printer;
  const count = Math.max(printCores.length, nozzles.length, materials.length, volumes.length);
  const counts = (found: Mismatch | null) => found !== null && (rules.match === 'strict' || !found.isUnknown);
  for (let at = 0; at < count; at++) {
    const isUsed = (printCores[at] ?? materials[at] ?? nozzles[at] ?? null) !== null || (volumes[at] ?? 0) > 0;
    if (isUsed && extruders !== null && at >= extruders.length)
      return known('PRINT_CORE', () => phrase`It needs extruder ${at + 1}; the printer has none.`);
    const extruder = extruders?.[at] ?? null;
    const found =
      coreMismatch(at, printCores[at] ?? null, extruder) ?? nozzleMismatch(at, nozzles[at] ?? null, extruder);
    if (counts(found)) return found;
  }
  for (let at = 0; at < materials.length; at++) {
    const need = materials[at] ?? null;
    if (need === null) continue;
    const criteria = criteriaOf(need, rules.material, sources.materials === 'message');
    const found = materialMismatch(at, need, criteria, extruders?.[at]?.material ?? null);
    if (counts(found)) return found;
  }
  return null;
}

function coreMismatch(at: number, core: string | null, extruder: PlannedExtruder | null): Mismatch | null {
  if (core === null) return null;
  const found = extruder?.printCore ?? null;
  if (found === null)
    return unknown(
      'PRINT_CORE',
      () => phrase`Extruder ${at + 1} needs the print core ${core}; it has none that is known.`,
    );
  if (isSame(core, found)) return null;
  return known('PRINT_CORE', () => phrase`Extruder ${at + 1} needs the print core ${core}; it has ${found}.`);
}

/** Compares diameters where the file names no print core; an unknown one is no obstacle. */
function nozzleMismatch(at: number, diameter: number | null, extruder: PlannedExtruder | null): Mismatch | null {
  const core = extruder?.printCore ?? null;
  // The names of print cores end in it: `AA+ 0.4`.
  const found = amount(core?.split(' ').at(-1));
  if (diameter === null || core === null || found === null || found === diameter) return null;
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

function materialMismatch(at: number, need: MaterialNeed, criteria: Criteria, loaded: Material | null) {
  let [differs, isKnown] = [false, true];
  for (const [member, loadedMember] of PAIRS) {
    const wanted = criteria[member];
    const found = loaded?.[loadedMember] ?? null;
    if (!wanted || (member === 'color' && found !== null && isCode(wanted) !== isCode(found))) continue;
    isKnown &&= found !== null;
    differs ||= found !== null && !isSame(wanted, found);
  }
  if (isKnown && !differs) return null;
  const words = () => namesOf(need, loaded);
  if (!differs)
    return unknown(
      'MATERIAL',
      () => phrase`Extruder ${at + 1} needs the material ${words()[0]}; it has none that is known.`,
    );
  const say = () => phrase`Extruder ${at + 1} needs the material ${words()[0]}; it has ${words()[1]}.`;
  return criteria.isStandIn ? unknown('MATERIAL', say) : known('MATERIAL', say);
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
const plainText = remembering(folded);
const plainTag = remembering((tag) => folded(tag).replace(/^#/, ''));
const isSame = (one: string, other: string): boolean => one === other || plainText(one) === plainText(other);

/** A mismatch whose sentence is made on demand: most are never shown. */
class LazyMismatch implements Mismatch {
  constructor(
    readonly code: Suitability,
    readonly isUnknown: boolean,
    private readonly say: () => Sentence,
  ) {}

  get sentence(): Sentence {
    return this.say();
  }
}

const known = (code: Suitability, say: () => Sentence): Mismatch => new LazyMismatch(code, false, say);
const unknown = (code: Suitability, say: () => Sentence): Mismatch => new LazyMismatch(code, true, say);

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

/** All files with the same requirement, apart from their volumes: they are compared with each kind of printer once. */
export class RequirementGroup {
  #version = -1;
  #suitable: number[] = [];
  #isSuitable = new Uint8Array();
  #stock = -1;
  #isAmple = false;
  /** Place in the list of free printers before which none is left for this group, in one plan (`run`). */
  cursor = 0;
  /** Whether all free printers are given away or reserved, in one plan and one priority. */
  isExhausted = false;
  run = -1;

  constructor(
    readonly id: number,
    readonly requirement: Requirement,
    private readonly deps: { fleet: Fleet; rules: MatchRules; fits: (boolean | undefined)[] },
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

  #isFit(kind: number): boolean {
    const { fleet, rules, fits } = this.deps;
    return (fits[kind] ??= isFit(this.requirement, fleet.samples[kind] as QueuePrinter, rules));
  }

  #refresh(): void {
    const { fleet } = this.deps;
    if (this.#version === fleet.version) return;
    this.#version = fleet.version;
    this.#suitable = [];
    this.#isSuitable = new Uint8Array(fleet.printers.length);
    for (let at = 0; at < fleet.kinds.length; at++) {
      if (!this.#isFit(fleet.kinds[at] ?? 0)) continue;
      if (choiceMismatch(this.requirement, fleet.printers[at] as QueuePrinter)) continue;
      this.#suitable.push(at);
      this.#isSuitable[at] = 1;
    }
  }
}

/** Finds the group of a requirement. */
export class RequirementGroups {
  readonly #byKey = new Map<string, RequirementGroup>();
  /** Comparisons with each kind of printer, which groups that name different printers share. */
  readonly #fits = new Map<string, (boolean | undefined)[]>();

  constructor(private readonly deps: { fleet: Fleet; rules: MatchRules }) {}

  of(requirement: Requirement): RequirementGroup {
    const shared = keyOf(requirement);
    const key = requirement.printers === null ? shared : `${shared}p${textsKey(requirement.printers)}`;
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
    const fits = this.#fits.get(shared) ?? [];
    this.#fits.set(shared, fits);
    return new RequirementGroup(this.#byKey.size, requirement, { ...this.deps, fits });
  }
}

/** A requirement without its printers. Volumes are compared item by item: only the used extruders are part of it. */
function keyOf(requirement: Requirement): string {
  const { models, printCores, nozzles, materials, buildPlate, tags, volumes, sources } = requirement;
  let key = textsKey(models) + textsKey(printCores) + textsKey(tags) + textKey(buildPlate) + sources.materials;
  for (const need of materials)
    key += need ? `m${textKey(need.guid)}${textKey(need.type)}${textKey(need.brand)}${textKey(need.color)}` : '-';
  for (let at = 0; at < volumes.length; at++) if ((volumes[at] ?? 0) > 0) key += `v${at}`;
  for (const diameter of nozzles) key += `n${diameter ?? ''}`;
  return key;
}

function textsKey(texts: readonly (string | null)[] | null): string {
  if (texts === null) return '-';
  let key = `${texts.length}[`;
  for (const text of texts) key += textKey(text);
  return key;
}

/** Begins with the length, so that no text can look like two. */
const textKey = (text: string | null | undefined): string => (text ? `${text.length}:${text}` : '-');
