import { shown } from './shown';

/** A value in a sentence; foreign text, such as a name, is cut and cleaned when the sentence is made (`shown`). */
export type Value = string | number | Sentence;

/** For each sentence, by its English pattern, its pattern in another language. */
export type Catalogue = Readonly<Partial<Record<string, string>>>;

const ENGLISH: Catalogue = {};

/** A sentence for people, or a part of one: kept as what it is made of, so that it can be said in any language (ADR 11). */
export class Sentence {
  /** In English, with `{0}`, `{1}` and so on where values go. */
  readonly pattern: string;
  readonly values: readonly Value[];

  constructor(pattern: string, values: readonly Value[] = []) {
    this.pattern = pattern;
    this.values = values;
  }

  /** One that was kept as JSON. */
  static from({ pattern, values }: Pick<Sentence, 'pattern' | 'values'>): Sentence {
    return new Sentence(
      pattern,
      values.map((value) => (typeof value === 'object' ? Sentence.from(value) : value)),
    );
  }

  toString(): string {
    return this.in(ENGLISH);
  }

  /** The same with other values, also in the parts of it. */
  with(change: (value: Value) => Value): Sentence {
    const changed = this.values.map((value) => (value instanceof Sentence ? value.with(change) : change(value)));
    return new Sentence(this.pattern, changed);
  }

  /** In the language of a catalogue; what that does not have stays English. */
  in(catalogue: Catalogue): string {
    const pattern = catalogue[this.pattern] ?? this.pattern;
    return pattern.replace(/\{(\d+)\}/g, (gap, at: string) => {
      const value = this.values[Number(at)] ?? gap;
      return value instanceof Sentence ? value.in(catalogue) : shown(String(value));
    });
  }
}

/** A sentence from a template: phrase`The printer ${name} is offline.` */
export const phrase = (words: TemplateStringsArray, ...values: Value[]): Sentence =>
  new Sentence(
    words.reduce((pattern, next, at) => `${pattern}{${at - 1}}${next}`),
    values,
  );
