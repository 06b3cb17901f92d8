import type { Fleet } from './fleet';
import type { QueuePrinter } from './queue-printer';
import type { Requirement } from './requirement';
import { choiceMismatch, isFit, type MatchRules } from './suitability';

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
