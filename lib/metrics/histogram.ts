import type { Sample } from './exposition';

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
