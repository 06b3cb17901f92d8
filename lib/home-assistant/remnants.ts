import { type StateStore, valuesBelow } from '../state/store';

/** Time for which topics are emptied again, ms. */
const KEPT = 90 * 24 * 60 * 60 * 1000;
/** Records of a page of the store. */
const PAGE = 200;
const VERSION = 1;

/** Topics of a printer that left, or of an old prefix; saved under `['home-assistant-remnant', nodeId, id]`. */
interface Remnant {
  version: number;
  id: string;
  topics: string[];
}

/**
 * Topics that a broker may still retain: `mqtt out` drops messages while it is not connected, so that they have to be emptied
 * again until a connection is known.
 */
export class Remnants {
  constructor(
    private readonly store: StateStore,
    private readonly nodeId: string,
  ) {}

  /** The store keeps the record until it can write it: nothing else names the topics any more. */
  async add(id: string, topics: readonly string[]): Promise<void> {
    const add = (known: Remnant | undefined): Remnant => ({
      ...{ version: VERSION, id },
      topics: [...new Set([...(known?.topics ?? []), ...topics])],
    });
    await this.store.update<Remnant>(['home-assistant-remnant', this.nodeId, id], add, {
      ...{ keepFor: KEPT, insist: true },
    });
  }

  /** Rejects if they can't be read now. */
  async all(): Promise<Remnant[]> {
    const found: Remnant[] = [];
    const stored = valuesBelow<Remnant>(this.store, ['home-assistant-remnant', this.nodeId], { limit: PAGE });
    for await (const { value } of stored) if (value.version === VERSION) found.push(value);
    return found;
  }

  forget(id: string): Promise<void> {
    return this.store.delete(['home-assistant-remnant', this.nodeId, id], { insist: true });
  }
}
