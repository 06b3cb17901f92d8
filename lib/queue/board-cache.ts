import { printerIdOf } from './gate-changes';
import { printerBoard, type BoardInput } from './printer-board';
import { printerKey, type QueuePrinter } from './queue-printer';

interface KnownCluster {
  /** Facts that decide about its printers, compared by identity. */
  facts: readonly unknown[];
  printers: readonly QueuePrinter[];
}

/**
 * The board of a queue, which computes again only the clusters that changed. Printers that did not change keep their
 * identity, by which the plan recognises them.
 */
export class BoardCache {
  #clusters = new Map<string, KnownCluster>();

  printers(input: BoardInput): QueuePrinter[] {
    const before = this.#clusters;
    this.#clusters = new Map();
    return input.clusterIds.flatMap((clusterId) => {
      const facts = factsOf(input, clusterId);
      const known = before.get(clusterId);
      const isSame = known?.facts.length === facts.length && facts.every((fact, at) => fact === known.facts[at]);
      const printers = isSame ? known.printers : printerBoard({ ...input, clusterIds: [clusterId] });
      this.#clusters.set(clusterId, { facts, printers });
      return printers;
    });
  }
}

function factsOf({ viewOf, gateOf, open, paused, usage, staleAfter }: BoardInput, clusterId: string): unknown[] {
  const view = viewOf(clusterId);
  if (!view) return [];
  const { status, printers, age } = view;
  const whole = { ...status, printers: [...printers] };
  const facts: unknown[] = [status, printers, age > staleAfter, ...(open.get(clusterId) ?? [])];
  for (const printer of printers) {
    const printerId = printerIdOf(printer, whole);
    const key = printerKey({ clusterId, printerId });
    facts.push(gateOf(clusterId, printerId), paused.get(key), usage.get(key));
  }
  return facts;
}
