import { isDeepStrictEqual } from 'node:util';
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
    this.#clusters = new Map(input.clusterIds.map((clusterId) => [clusterId, this.#present(input, clusterId)]));
    return [...this.#clusters.values()].flatMap(({ printers }) => printers);
  }

  /** Whether the printers of a cluster differ from its last ones in anything that decides a plan. */
  differs(input: BoardInput, clusterId: string): boolean {
    const before = this.#clusters.get(clusterId);
    const now = this.#present(input, clusterId);
    this.#clusters.set(clusterId, now);
    return now !== before && !isDeepStrictEqual(now.printers.map(decisive), before?.printers.map(decisive));
  }

  #present(input: BoardInput, clusterId: string): KnownCluster {
    const known = this.#clusters.get(clusterId);
    const facts = factsOf(input, clusterId);
    const isSame = known?.facts.length === facts.length && facts.every((fact, at) => fact === known.facts[at]);
    return isSame ? known : { facts, printers: printerBoard({ ...input, clusterIds: [clusterId] }) };
  }
}

/** A printer without the figures that change while it prints: the plan needs them once it is free. */
function decisive({ freeAt: _freeAt, ...printer }: QueuePrinter): object {
  if (printer.obstacle === null) return printer;
  return { ...printer, extruders: printer.extruders?.map(({ volumeLeft: _volumeLeft, ...extruder }) => extruder) };
}

function factsOf(
  { viewOf, gateOf, open, paused, refusalOf, usage, staleAfter }: BoardInput,
  clusterId: string,
): unknown[] {
  const view = viewOf(clusterId);
  if (!view) return [gateOf(clusterId, null)];
  const { status, printers, age } = view;
  const facts: unknown[] = [status, printers, age > staleAfter, refusalOf(clusterId), ...(open.get(clusterId) ?? [])];
  for (const printer of printers) {
    const printerId = printerIdOf(printer, { printers });
    const key = printerKey({ clusterId, printerId });
    facts.push(gateOf(clusterId, printerId), paused.get(key), usage.get(key));
  }
  return facts;
}
