import type { EventBuilder } from './event-builder';
import type { EventType, PrintEvent } from './print-event';

/** Most recurring edges stored per subject. */
const EDGES_KEPT = 20;

/**
 * The recurring edges of a job or of an extruder. Observed facts identify them, so that an edge that is found again
 * after its checkpoint was lost has the same id. A number is appended only if the same facts occur a second time.
 */
export class RecurringEdges {
  #counts: Record<string, number> | undefined;

  constructor(
    private readonly subject: string,
    counts: Record<string, number> | undefined,
    private readonly builder: EventBuilder,
  ) {
    this.#counts = counts;
  }

  get all(): Record<string, number> | undefined {
    return this.#counts;
  }

  add(type: EventType, facts: string, details: Partial<PrintEvent>): void {
    const name = `${type}/${facts}`;
    const counts = this.#counts ?? {};
    const before = counts[name] ?? 0;
    // The latest edge is last.
    const others = Object.entries(counts).filter(([other]) => other !== name);
    this.#counts = Object.fromEntries([...others, [name, before + 1] as const].slice(-EDGES_KEPT));
    this.builder.once(type, [this.subject, facts, ...(before > 0 ? [before + 1] : [])].join('/'), details);
  }

  /** The facts of the latest edge of a type. */
  last(type: EventType): string | undefined {
    return Object.keys(this.#counts ?? {})
      .findLast((name) => name.startsWith(`${type}/`))
      ?.slice(type.length + 1);
  }
}
