import { FILTER } from '../rules/limits';
import { phrase, type Sentence } from '../words/sentence';
import type { PrintingError } from './errors';
import { record, text, type Json } from './json-readers';

/** Reader of the fields of a user's filter. Throws the error that `refuse` makes of the broken rule. */
export class FilterInput {
  readonly #fields: Json;
  readonly #refuse: (rule: Sentence) => PrintingError;

  /** @param names the known fields */
  constructor(fields: Json, names: readonly string[], refuse: (rule: Sentence) => PrintingError) {
    this.#fields = fields;
    this.#refuse = refuse;
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

  /** Whether a field is given. */
  has(name: string): boolean {
    return (this.#fields[name] ?? null) !== null;
  }

  /** A boolean; undefined if missing. */
  flag(name: string, rule: Sentence): boolean | undefined {
    const value = this.#fields[name];
    if (value === undefined || typeof value === 'boolean') return value;
    throw this.#refuse(rule);
  }

  /** A string, which may be blank; empty if missing. */
  string(name: string, rule: Sentence): string {
    const value = this.#fields[name] ?? '';
    if (typeof value !== 'string') throw this.#refuse(rule);
    this.#checkLength([value], name);
    return value;
  }

  /** One value, or a list of at most `most` values. */
  values(name: string, most: number = FILTER.values): unknown[] {
    const given = this.#fields[name] ?? [];
    const all: unknown[] = Array.isArray(given) ? given : [given];
    if (all.length > most) throw this.#refuse(phrase`has more than ${most} values in its ${name}`);
    this.#checkLength(all, name);
    return all;
  }

  /** One text, or a list of at most `most` texts, each once. */
  texts(name: string, most?: number): string[] {
    const found = this.values(name, most).map(text);
    if (found.includes(null)) throw this.#refuse(phrase`needs a string, or an array of strings, as its ${name}`);
    return [...new Set(found as string[])];
  }

  #checkLength(values: readonly unknown[], name: string): void {
    if (values.some((value) => typeof value === 'string' && value.length > FILTER.value))
      throw this.#refuse(phrase`has a value of more than ${FILTER.value} characters in its ${name}`);
  }
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
