import type { Material } from '../../service/printer';
import type { MaterialNeed } from '../../toolpath/facts';
import type { QueueRules } from '../model/rules';
import type { QueuePrinter } from '../model/types';
import type { PlanFile, PlanItem } from './inputs';
import { isSameMaterial, plainText } from './suitability';

/** An amount of material; null: not known. */
export interface Amount {
  /** mm³. */
  volume: number | null;
  /** g. */
  weight: number | null;
}

/** Amounts of one material that the waiting copies of a queue need, that are loaded, and that are missing (print queue, 9). */
export interface MaterialStock {
  /** Names the material among those of the queue. */
  key: string;
  material: Required<MaterialNeed>;
  needed: Amount;
  loaded: Amount;
  /** Loaded amount without the rest of the prints under way, mm³; null: not known. */
  left: number | null;
  missing: Amount;
  isShort: boolean;
}

/** A print under way, and the share of it that is still to come, from 0 to 1. */
export interface PrintUnderWay {
  file: PlanFile;
  share: number;
}

/** Need of a print on one extruder. */
interface Need extends Amount {
  key: string;
  material: MaterialNeed;
  /** Whether a message has named it. */
  isNamed: boolean;
}

/** Needs of files by material, which never change under the same rules. */
const known = new WeakMap<PlanFile, { rule: QueueRules['material']; needs: readonly Need[] }>();

/** Needs of one print of a file, by material. */
function needsOf(file: PlanFile, rule: QueueRules['material']): readonly Need[] {
  const before = known.get(file);
  if (before?.rule === rule) return before.needs;
  const { materials, volumes, sources } = file.requirement;
  const isNamed = sources.materials === 'message';
  const needs: Need[] = [];
  for (let at = 0; at < Math.max(materials.length, volumes.length); at++) {
    const volume = volumes[at] ?? null;
    const material = materials[at] ?? (rule === 'any' && volume !== null ? ANY : null);
    if (material === null || volume === 0) continue;
    needs.push({ key: keyOf(material, rule), material, isNamed, volume, weight: file.weights[at] ?? null });
  }
  known.set(file, { rule, needs });
  return needs;
}

/** Stands for any material. */
const ANY: MaterialNeed = {};

/** Entries are grouped as the queue compares materials: by GUID, by type and color, by type, or all together. */
function keyOf({ guid, type, brand, color }: MaterialNeed, rule: QueueRules['material']): string {
  if (rule === 'any') return 'any';
  if ((rule === 'guid' || !type) && guid) return word(guid);
  if (rule === 'type') return word(type);
  return rule === 'type-color' ? `${word(type)} ${word(color)}` : `${word(brand)} ${word(type)} ${word(color)}`;
}

const word = (text: string | null | undefined): string => (text ? plainText(text) : '');

/** The materials that waiting copies need, in the order of the items. Held items need none. */
export function materialStocks(
  items: readonly PlanItem[],
  printers: readonly QueuePrinter[],
  active: readonly PrintUnderWay[],
  rule: QueueRules['material'],
): MaterialStock[] {
  const groups = new Map<string, Total>();
  for (const item of items) {
    if (item.obstacle !== null || item.waiting.length === 0) continue;
    const file = item.files.find(({ isStored }) => isStored);
    if (file) for (const need of needsOf(file, rule)) add(totalOf(groups, need), need, item.waiting.length);
  }
  if (groups.size === 0) return [];
  const coming = new Map<string, Total>();
  for (const { file, share } of active) for (const need of needsOf(file, rule)) add(totalOf(coming, need), need, share);
  // A farm has many spools, but few materials.
  const all = [...spoolsOf(printers).values()];
  return [...groups].map(([key, { need, amount: needed }]) => {
    const here = all.filter(({ material }) => isSameMaterial(need.material, material, rule, need.isNamed));
    const loaded: Amount = { volume: 0, weight: 0 };
    for (const { amount } of here) add(loaded, amount, 1);
    const taken = coming.get(key)?.amount ?? NONE;
    const left = { volume: less(loaded.volume, taken.volume), weight: less(loaded.weight, taken.weight) };
    const missing = here.length > 0 ? missingOf(needed, left) : needed;
    return {
      ...{
        key,
        material: wordsOf(need.material, rule),
        needed: rounded(needed),
        loaded: rounded(loaded),
        left: left.volume,
      },
      missing: rounded(missing),
      isShort: here.length === 0 || (missing.volume ?? missing.weight ?? 0) > 0,
    };
  });
}

const NONE: Amount = { volume: 0, weight: 0 };

/** Need of copies for one material. */
interface Total {
  need: Need;
  amount: Amount;
}

/** The sum of the group of a need. */
function totalOf(groups: Map<string, Total>, need: Need): Amount {
  const known = groups.get(need.key);
  if (known) return known.amount;
  const total = { need, amount: { volume: 0, weight: 0 } };
  groups.set(need.key, total);
  return total.amount;
}

/** The words of a material by which it is grouped. */
function wordsOf(
  { guid = null, type = null, brand = null, color = null }: MaterialNeed,
  rule: QueueRules['material'],
): Required<MaterialNeed> {
  if (rule === 'any') return { guid: null, brand: null, type: null, color: null };
  if (rule === 'guid' || !type) return { guid, brand, type, color };
  return { guid: null, brand: null, type, color: rule === 'type' ? null : color };
}

/** Missing amount. An unknown volume that is loaded counts as enough. */
function missingOf(needed: Amount, left: Amount): Amount {
  const lack = (name: keyof Amount): number | null => {
    const [wanted, there] = [needed[name], left[name]];
    return there === null ? 0 : wanted === null ? null : Math.min(wanted, Math.max(0, wanted - there));
  };
  const volume = lack('volume');
  if (volume === null) return { volume, weight: lack('weight') };
  // The densities of a file and of a printer may differ: the volume decides.
  const { volume: whole, weight } = needed;
  return { volume, weight: volume === 0 ? 0 : whole === null || weight === null ? null : (weight * volume) / whole };
}

const less = (amount: number | null, taken: number | null): number | null =>
  amount === null ? null : Math.max(0, amount - (taken ?? 0));

/** A spool, or what is loaded of one material in all. */
interface Spool {
  name: string;
  material: Material;
  amount: Amount;
}

/** Loaded amounts, by material. */
function spoolsOf(printers: readonly QueuePrinter[]): Map<string, Spool> {
  const found = new Map<string, Spool>();
  for (const { extruders } of printers)
    for (const { name, material, amount } of extruders === null ? [] : spoolsIn(extruders)) {
      const known = found.get(name);
      if (known) add(known.amount, amount, 1);
      else found.set(name, { name, material, amount: { ...amount } });
    }
  return found;
}

/** The spools of printers, whose feeds stay the same objects as long as they show the same. */
const spools = new WeakMap<NonNullable<QueuePrinter['extruders']>, readonly Spool[]>();

/** Each spool once, although a station shows what it has loaded in an extruder and in its slot. */
function spoolsIn(extruders: NonNullable<QueuePrinter['extruders']>): readonly Spool[] {
  const known = spools.get(extruders);
  if (known) return known;
  const found = extruders.flatMap(({ sources }) => {
    const all = sources.flatMap(({ slot, material, volumeLeft: volume }) => {
      const density = material?.density ?? null;
      const weight = volume === null || density === null ? null : (volume / 1000) * density;
      return material ? [{ slot, name: nameOf(material), material, amount: { volume, weight } }] : [];
    });
    return all.filter((one) => one.slot !== null || !all.some(({ slot, name }) => slot !== null && name === one.name));
  });
  spools.set(extruders, found);
  return found;
}

const nameOf = ({ guid, brand, name, color }: Material): string => `${guid}/${brand}/${name}/${color}`;

/** Adds so many times an amount to a sum, which is unknown with an unknown one. */
function add(sum: Amount, { volume, weight }: Amount, times: number): void {
  sum.volume = sum.volume === null || volume === null ? null : sum.volume + volume * times;
  sum.weight = sum.weight === null || weight === null ? null : sum.weight + weight * times;
}

const rounded = ({ volume, weight }: Amount): Amount => ({
  volume: volume === null ? null : Math.round(volume),
  weight: weight === null ? null : Math.round(weight * 100) / 100,
});

/** Follows what is left of the materials as the prints of a forecast begin. */
export class MaterialForecast {
  readonly #left = new Map<string, number | null>();
  /** When each material has run out, ms since 1970. */
  readonly #shortAt = new Map<string, number>();

  constructor(
    readonly stocks: readonly MaterialStock[],
    private readonly rule: QueueRules['material'],
    private readonly now: number,
  ) {
    for (const { key, left } of stocks) this.#left.set(key, left);
  }

  begin(file: PlanFile | undefined, at: number): void {
    if (this.stocks.length === 0 || !file) return;
    for (const { key, volume } of needsOf(file, this.rule)) {
      const left = this.#left.get(key) ?? null;
      if (left === null || volume === null) continue;
      this.#left.set(key, left - volume);
      if (left - volume < 0) this.#shortAt.set(key, Math.min(at, this.#shortAt.get(key) ?? Infinity));
    }
  }

  /** When a material runs out, ms since 1970: at once, if what waits for it can't begin; null: it does not. */
  shortAt({ key, isShort }: MaterialStock): number | null {
    return isShort ? (this.#shortAt.get(key) ?? this.now) : null;
  }
}
