import { shown } from './shown';

/**
 * A value in a sentence; foreign text, such as a name, is truncated and cleaned when the sentence is rendered
 * (`shown`).
 */
export type Value = string | number | Sentence;

/** Translated patterns, by English pattern. */
export type Catalogue = Readonly<Partial<Record<string, string>>>;

const ENGLISH: Catalogue = {};

/**
 * A sentence for people, or a part of one: stored as its pattern and values, so that it can be rendered in any language
 * (ADR 11).
 */
export class Sentence {
  /** English text, with `{0}`, `{1}` and so on in place of the values. */
  readonly pattern: string;
  readonly values: readonly Value[];

  constructor(pattern: string, values: readonly Value[] = []) {
    this.pattern = pattern;
    this.values = values;
  }

  /** Restores a sentence from JSON. */
  static from({ pattern, values }: Pick<Sentence, 'pattern' | 'values'>): Sentence {
    return new Sentence(
      pattern,
      values.map((value) => (typeof value === 'object' ? Sentence.from(value) : value)),
    );
  }

  toString(): string {
    return this.in(ENGLISH);
  }

  /** Returns the sentence with changed values, also in its parts. */
  with(change: (value: Value) => Value): Sentence {
    const changed = this.values.map((value) => (value instanceof Sentence ? value.with(change) : change(value)));
    return new Sentence(this.pattern, changed);
  }

  /** Renders the sentence in a catalogue's language; missing patterns stay English. */
  in(catalogue: Catalogue): string {
    const pattern = catalogue[this.pattern] ?? this.pattern;
    return pattern.replace(/\{(\d+)\}/g, (gap, at: string) => {
      const value = this.values[Number(at)] ?? gap;
      return value instanceof Sentence ? value.in(catalogue) : shown(String(value));
    });
  }
}

/** Makes a sentence from a template: phrase`The printer ${name} is offline.` */
export const phrase = (words: TemplateStringsArray, ...values: Value[]): Sentence =>
  new Sentence(
    words.reduce((pattern, next, at) => `${pattern}{${at - 1}}${next}`),
    values,
  );
