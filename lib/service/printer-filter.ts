import { FILTER, TEXT } from '../rules/limits';
import { phrase, type Sentence } from '../words/sentence';
import type { PrinterEntry } from './cluster';
import { PrintingError } from './errors';
import { offeredMaterials } from './feeds';
import { type Json, record, text } from './json-readers';
import type { Material } from './printer';

/** Reader of the fields of a user's filter. Throws the error that `refuse` makes of the broken rule. */
export class FilterInput {
  /** @param names the known fields */
  constructor(
    private readonly fields: Json,
    names: readonly string[],
    private readonly refuse: (rule: Sentence) => PrintingError,
  ) {
    const unknown = Object.keys(fields).find((name) => !names.includes(name));
    if (unknown !== undefined) throw refuse(phrase`has no "${unknown}", but ${names.join(', ')}`);
  }

  /** Opens an object or its JSON; undefined for no filter. `example` ends the sentence about anything else. */
  static open(
    given: unknown,
    names: readonly string[],
    refuse: (rule: Sentence) => PrintingError,
    example: Sentence,
  ): FilterInput {
    const fields = given === undefined ? {} : record(typeof given === 'string' ? parse(given) : given);
    if (!fields || Buffer.isBuffer(fields)) throw refuse(example);
    return new FilterInput(fields, names, refuse);
  }

  has(name: string): boolean {
    return (this.fields[name] ?? null) !== null;
  }

  /** A boolean; undefined if missing. */
  flag(name: string, rule: Sentence): boolean | undefined {
    const value = this.fields[name] ?? undefined;
    if (value === undefined || typeof value === 'boolean') return value;
    throw this.refuse(rule);
  }

  /** A string, which may be blank; empty if missing. */
  string(name: string, rule: Sentence): string {
    const value = this.fields[name] ?? '';
    if (typeof value !== 'string') throw this.refuse(rule);
    this.#checkLength([value], name);
    return value;
  }

  /** One value, or a list of at most `most` values. */
  values(name: string, most: number = FILTER.values): unknown[] {
    const given = this.fields[name] ?? [];
    const all: unknown[] = Array.isArray(given) ? given : [given];
    if (all.length > most) throw this.refuse(phrase`has more than ${most} values in its ${name}`);
    this.#checkLength(all, name);
    return all;
  }

  /** One text, or a list of at most `most` texts, each once. */
  texts(name: string, most?: number): string[] {
    const found = this.values(name, most).map(text);
    if (found.includes(null)) throw this.refuse(phrase`needs a string, or an array of strings, as its ${name}`);
    return [...new Set(found as string[])];
  }

  #checkLength(values: readonly unknown[], name: string): void {
    if (values.some((value) => typeof value === 'string' && value.length > FILTER.value))
      throw this.refuse(phrase`has a value of more than ${FILTER.value} characters in its ${name}`);
  }
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

/** Filter of printers (reference 3.5). A missing criterion matches every printer, an unknown value of a printer none. */
export interface PrinterFilter {
  /** One of them; like names and tags in the form in which they are compared. */
  models: ReadonlySet<string>;
  names: ReadonlySet<string>;
  /** All of them. */
  tags: readonly string[];
  materials: readonly MaterialFilter[];
  idle: boolean | null;
}

/** A wanted material: the words of a text that names it, or the given fields, in the form in which they are compared. */
export type MaterialFilter = { words: ReadonlySet<string> } | { fields: readonly (readonly [MaterialField, string])[] };

type MaterialField = (typeof MATERIAL_FIELDS)[number];

const CRITERIA = ['model', 'name', 'tag', 'material', 'idle'] as const;
export type Criterion = (typeof CRITERIA)[number];

const MATERIAL_FIELDS = ['guid', 'brand', 'name', 'color'] as const;

/** Reads a user's filter: an object or its JSON; undefined for no filter. Throws INVALID_INPUT with the cause. */
export function readPrinterFilter(given: unknown): PrinterFilter {
  const example = phrase`must be an object such as {"model":"X","idle":true}`;
  const input = FilterInput.open(given, CRITERIA, refusal, example);
  return {
    models: new Set(input.texts('model').map(plain)),
    names: new Set(input.texts('name').map(folded)),
    tags: input.texts('tag').map((tag) => folded(tag).replace(/^#/, '')),
    materials: input.values('material', FILTER.materials).map(readMaterialFilter),
    idle: input.flag('idle', phrase`needs true or false as its idle`) ?? null,
  };
}

/** Whether a filter has no criterion. */
export const isEmptyFilter = ({ models, names, tags, materials, idle }: PrinterFilter): boolean =>
  idle === null && models.size + names.size + tags.length + materials.length === 0;

/** The first criterion that a printer does not meet; null if it meets all. */
export const misfitOf = (filter: PrinterFilter, printer: PrinterEntry): Criterion | null =>
  CRITERIA.find((criterion) => !CHECKS[criterion](filter, printer)) ?? null;

/** Whether a printer matches all criteria. */
export const matches = (filter: PrinterFilter, printer: PrinterEntry): boolean => misfitOf(filter, printer) === null;

/**
 * The failure of a filter that no printer matches; names the criterion that leaves none. `misfits`: the first misfit of
 * each printer.
 */
export function noneMatches(misfits: readonly Criterion[]): PrintingError {
  const last = CRITERIA.findLast((criterion) => misfits.includes(criterion));
  if (last === undefined)
    return new PrintingError('NOT_ACCEPTED', phrase`The account has no printer: connect one to the account.`);
  return new PrintingError('NOT_ACCEPTED', reason(last, misfits.filter((criterion) => criterion === last).length));
}

const reason = (criterion: Criterion, count: number): Sentence =>
  criterion === 'idle'
    ? phrase`No suitable printer is idle (suitable: ${count}): try again later, or change the filter.`
    : phrase`No printer (of ${count}) matches the ${criterion} in the filter: change the filter or the printer.`;

/** A loaded material in the form in which it is compared. A printer's materials are compared with several wanted ones. */
export class ComparableMaterial {
  #words: string[][] | undefined;

  constructor(private readonly material: Material) {}

  /** Null if the material lacks the field, or has one that no filter can name. */
  field(name: MaterialField): string | null {
    const value = this.material[name];
    return value === null || value.length > FILTER.value ? null : folded(value);
  }

  /** The words of each field, each once. */
  get words(): string[][] {
    return (this.#words ??= MATERIAL_FIELDS.map((name) => [...new Set(wordsOf(this.field(name) ?? ''))]));
  }
}

/**
 * Whether a loaded material is the wanted one. A text names it if each of its words belongs to a field of which the text
 * has all words: `red PLA` names a PLA of any brand in red, but no Tough PLA.
 */
export function matchesMaterial(wanted: MaterialFilter, material: ComparableMaterial): boolean {
  if ('fields' in wanted) return wanted.fields.every(([name, value]) => material.field(name) === value);
  const named = material.words.filter((field) => field.every((word) => wanted.words.has(word)));
  return new Set(named.flat()).size === wanted.words.size;
}

type Check = (filter: PrinterFilter, printer: PrinterEntry) => boolean;

const CHECKS = {
  model: ({ models }, { model }) => models.size === 0 || (model !== null && models.has(plain(model))),
  name: ({ names }, { name, clusterName }) =>
    names.size === 0 || [name, clusterName].some((one) => one !== null && names.has(folded(one))),
  tag: ({ tags }, printer) => {
    if (tags.length === 0) return true;
    const present = new Set(printer.tags.map(folded));
    return tags.every((tag) => present.has(tag));
  },
  material: ({ materials }, printer) => {
    if (materials.length === 0) return true;
    const offered = offeredMaterials(printer).map((material) => new ComparableMaterial(material));
    return materials.every((wanted) => offered.some((material) => matchesMaterial(wanted, material)));
  },
  idle: ({ idle }, printer) => idle === null || idle === printer.idle,
} satisfies Record<Criterion, Check>;

/** Letters and digits alone: the service writes a model as `Brand Model` and as `brand_model` (wire facts, trap 25). */
export const plain = (model: string): string =>
  model
    .slice(0, TEXT.matched)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}+]/gu, '');

/** A name, tag or material in the form in which it is compared. */
export const folded = (value: string): string => value.slice(0, TEXT.matched).trim().toLowerCase();

const wordsOf = (value: string): string[] =>
  value
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');

function readMaterialFilter(given: unknown): MaterialFilter {
  if (typeof given === 'string' && given.trim() !== '') return { words: new Set(wordsOf(given)) };
  const material = record(given);
  if (!material || Buffer.isBuffer(material))
    throw refusal(phrase`needs a text such as "red PLA", or an object, as its material`);
  const input = new FilterInput(material, MATERIAL_FIELDS, refusal);
  const rule = phrase`needs a text such as "red PLA", or an object, as its material`;
  const fields = MATERIAL_FIELDS.map((field) => [field, folded(input.string(field, rule))] as const);
  // A blank field is no criterion.
  return { fields: fields.filter(([, value]) => value !== '') };
}

const refusal = (rule: Sentence) => new PrintingError('INVALID_INPUT', phrase`The filter of the printers ${rule}.`);
