import type { PrintingError } from '../service/errors';
import type { Clock } from '../time/clock';
import { phrase, type Sentence } from '../words/sentence';
import type { PrinterReason, Reason } from './reasons';

/** Time after a refusal until the queue sends to the same printer again, ms. */
const LASTS = 60_000;

/** Clusters to which a copy could not go a moment ago although they seemed free, and why. */
export class Refusals {
  readonly #all = new Map<string, { until: number; reason: Reason<PrinterReason> }>();

  constructor(private readonly clock: Clock) {}

  add(clusterId: string, sentence: Sentence): void {
    this.#all.set(clusterId, { until: this.clock.monotonic() + LASTS, reason: { code: 'BUSY', sentence } });
  }

  /** The same object while a refusal lasts; null without one. */
  reasonOf(clusterId: string): Reason<PrinterReason> | null {
    const { until, reason } = this.#all.get(clusterId) ?? {};
    return reason && (until ?? 0) > this.clock.monotonic() ? reason : null;
  }

  /** Time until the next refusal is over, ms; Infinity without one. */
  get wait(): number {
    const now = this.clock.monotonic();
    return [...this.#all.values()].reduce(
      (first, { until }) => (until > now ? Math.min(first, until - now) : first),
      Infinity,
    );
  }
}

export const RESERVED = phrase`Another print queue has a print at the printer.`;
export const NOT_FREE = phrase`The printer was no longer free just before a print was sent.`;
export const unread = (error: PrintingError): Sentence =>
  phrase`The printer could not be read just before a print was sent: ${error.sentence}`;
export const refusedBy = (error: PrintingError): Sentence =>
  phrase`The service refused a print on the printer: ${error.sentence}`;
