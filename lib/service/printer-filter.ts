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
    const value = this.fields[name];
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

/** The given fields of a material, or a text that names the material. */
export type MaterialFilter = string | Partial<Record<MaterialField, string>>;

type MaterialField = (typeof MATERIAL_FIELDS)[number];

const CRITERIA = ['model', 'name', 'tag', 'material', 'idle'];
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

/** Whether a printer matches all criteria. */
export function matches(filter: PrinterFilter, printer: PrinterEntry): boolean {
  return Object.values(CHECKS).every((fits) => fits(filter, printer));
}

/** The failure of a filter that no printer matches; names the criterion that leaves none. */
export function noneMatches(filter: PrinterFilter, printers: readonly PrinterEntry[]): PrintingError {
  let left = printers;
  for (const [criterion, fits] of Object.entries(CHECKS)) {
    const matching = left.filter((printer) => fits(filter, printer));
    if (matching.length === 0 && left.length > 0)
      return new PrintingError('NOT_ACCEPTED', reason(criterion, left.length));
    left = matching;
  }
  return new PrintingError('NOT_ACCEPTED', phrase`The account has no printer: connect one to the account.`);
}

const reason = (criterion: string, count: number): Sentence =>
  criterion === 'idle'
    ? phrase`No suitable printer is idle (suitable: ${count}): try again later, or change the filter.`
    : phrase`No printer (of ${count}) matches the ${criterion} in the filter: change the filter or the printer.`;

/** Whether a loaded material is the wanted one. */
export function matchesMaterial(wanted: MaterialFilter, material: Material): boolean {
  if (typeof wanted === 'string') return isNamedBy(wanted, material);
  return MATERIAL_FIELDS.every((field) => wanted[field] === undefined || isSame(wanted[field], material[field]));
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
    const offered = offeredMaterials(printer);
    return materials.every((wanted) => offered.some((material) => matchesMaterial(wanted, material)));
  },
  idle: ({ idle }, printer) => idle === null || idle === printer.idle,
} satisfies Record<string, Check>;

/** Letters and digits alone: the service writes a model as `Brand Model` and as `brand_model` (wire facts, trap 25). */
export const plain = (model: string): string =>
  model
    .slice(0, TEXT.matched)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}+]/gu, '');

/** A name, tag or material in the form in which it is compared. */
export const folded = (value: string): string => value.slice(0, TEXT.matched).trim().toLowerCase();

const isSame = (one: string, other: string | null): boolean => other !== null && folded(one) === folded(other);

const wordsOf = (value: string | null): string[] =>
  (value ?? '')
    .slice(0, TEXT.matched)
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');

/**
 * Whether each word of a text belongs to a field of which the text has all words: `red PLA` names a PLA of any brand in
 * red, but no Tough PLA.
 */
function isNamedBy(given: string, material: Material): boolean {
  const words = wordsOf(given);
  const named = MATERIAL_FIELDS.map((field) => wordsOf(material[field])).filter((field) =>
    field.every((word) => words.includes(word)),
  );
  return words.length > 0 && words.every((word) => named.some((field) => field.includes(word)));
}

function readMaterialFilter(given: unknown): MaterialFilter {
  if (typeof given === 'string' && given.trim() !== '') return given;
  const material = record(given);
  if (!material || Buffer.isBuffer(material))
    throw refusal(phrase`needs a text such as "red PLA", or an object, as its material`);
  const input = new FilterInput(material, MATERIAL_FIELDS, refusal);
  const rule = phrase`needs a text such as "red PLA", or an object, as its material`;
  const fields = Object.keys(material).map((field) => [field, input.string(field, rule)] as const);
  // A blank field is no criterion.
  return Object.fromEntries(fields.filter(([, value]) => value.trim() !== ''));
}

const refusal = (rule: Sentence) => new PrintingError('INVALID_INPUT', phrase`The filter of the printers ${rule}.`);
