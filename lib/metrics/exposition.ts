import { TEXT } from '../rules/limits';
import { shown } from '../words/shown';

/** Media types of the text formats. Both are UTF-8. */
export const FORMATS = {
  prometheus: 'text/plain; version=0.0.4',
  openmetrics: 'application/openmetrics-text; version=1.0.0',
} as const;

export type TextFormat = keyof typeof FORMATS;

/** A metric of one kind of thing, such as a printer. */
export interface Family<T> {
  /** Without the prefix; the name of a counter ends in `_total`. */
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  /** One sentence, without line breaks, quotation marks and backslashes. */
  help: string;
  /** The lines of one thing; `now`: monotonic time, ms. */
  samples: (one: T, now: number) => string;
}

/** Returns the line of one sample; empty for an unknown value. `labels` without braces. */
export type Sample = (labels: string, value: number | null, suffix?: string) => string;

const PREFIX = 'remote_printing_';

/** Returns a function that makes a metric; `samples` writes each line with `sample`. */
const familyOf =
  (type: Family<unknown>['type']) =>
  <T>(name: string, help: string, samples: (one: T, sample: Sample, now: number) => string): Family<T> => {
    const sample: Sample = (labels, value, suffix = '') =>
      value === null ? '' : `${PREFIX}${name}${suffix}{${labels}} ${value}\n`;
    return { name, type, help, samples: (one, now) => samples(one, sample, now) };
  };

export const counter = familyOf('counter');
export const gauge = familyOf('gauge');
export const histogram = familyOf('histogram');

/** The lines before the samples of a family. OpenMetrics names a counter without its suffix there. */
export function headerOf({ name, type, help }: Omit<Family<never>, 'samples'>, format: TextFormat): string {
  const full = PREFIX + (format === 'openmetrics' ? name.replace(/_total$/, '') : name);
  return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n`;
}

/** A sample for each state: 1 for the present one, 0 for the others. */
export function oneHot(sample: Sample, labels: string, states: readonly string[], present: number): string {
  let samples = '';
  for (let at = 0; at < states.length; at++)
    samples += sample(`${labels},state="${states[at]}"`, at === present ? 1 : 0);
  return samples;
}

/** A label with its value on one line, escaped and of limited length. */
export const labelOf = (name: string, value: string): string =>
  `${name}="${shown(value, TEXT.quoted).replace(/[\\"]/g, '\\$&')}"`;

/** The line after all families. */
export const endOf = (format: TextFormat): string => (format === 'openmetrics' ? '# EOF\n' : '');

/** Counts durations by upper bounds. */
export class Histogram {
  /** Durations up to each bound and above the one before; the last are above all bounds. */
  readonly #counts: number[];
  #sum = 0;

  /** @param bounds upper bounds, seconds, rising */
  constructor(private readonly bounds: readonly number[]) {
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  /** Counts a duration, ms. */
  count(ms: number): void {
    const seconds = Math.max(0, ms) / 1000;
    let at = 0;
    while (seconds > (this.bounds[at] ?? Infinity)) at++;
    this.#counts[at] = (this.#counts[at] as number) + 1;
    this.#sum += seconds;
  }

  /** The lines of its samples. */
  samples(sample: Sample, labels: string): string {
    let below = 0;
    const buckets = this.#counts.map((count, at) => {
      below += count;
      return sample(`${labels},le="${shownBound(this.bounds[at])}"`, below, '_bucket');
    });
    return buckets.join('') + sample(labels, this.#sum, '_sum') + sample(labels, below, '_count');
  }
}

/** A bound as OpenMetrics writes it, with a decimal point. */
const shownBound = (bound = Infinity): string =>
  bound === Infinity ? '+Inf' : Number.isInteger(bound) ? `${bound}.0` : String(bound);
