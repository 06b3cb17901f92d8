import type { FileFacts, MaterialNeed, Require, Requirement } from './requirement';

/** Facts about a material by its GUID; null: unknown. */
export type MaterialFinder = (guid: string) => MaterialNeed | null;

/**
 * The requirement of a file: the members that the message names replace the file's. `find` completes a material of which
 * only the GUID is known, so that materials can be compared by type.
 */
export function requirementOf(require: Require | null, facts: FileFacts | null, find: MaterialFinder): Requirement {
  const named = require ?? {};
  const source = <T>(given: unknown, found: T | null, isFound = found !== null) =>
    given !== undefined ? 'message' : isFound ? (facts?.source ?? 'unknown') : 'unknown';
  const printCores = facts?.printCores ?? [];
  const materials = facts?.materials ?? [];
  const volumes = facts?.volumes ?? [];
  const buildPlate = facts?.buildPlate ?? null;
  const size = facts?.size ?? null;
  const model = facts?.model ?? null;
  return {
    models: named.models ?? (model === null ? null : [model]),
    printCores: named.printCores ?? printCores,
    materials: (named.materials ?? materials).map((need) => completed(need, find)),
    buildPlate: named.buildPlate === undefined ? buildPlate : named.buildPlate || null,
    tags: named.tags ?? [],
    printers: named.printers && named.printers.length > 0 ? named.printers : null,
    volumes,
    nozzles: named.printCores ? [] : nozzlesWithoutCore(facts),
    size,
    sources: {
      models: source(named.models, model),
      printCores: source(named.printCores, printCores, isAnyKnown(printCores)),
      materials: source(named.materials, materials, isAnyKnown(materials)),
      buildPlate: source(named.buildPlate, buildPlate),
      tags: source(named.tags, null),
      printers: source(named.printers, null),
      volumes: source(undefined, volumes, isAnyKnown(volumes)),
      size: source(undefined, size),
    },
  };
}

/** Slicers that name no print core state the diameter of its nozzle. */
const nozzlesWithoutCore = (facts: FileFacts | null): (number | null)[] =>
  (facts?.nozzles ?? []).map((diameter, at) => ((facts?.printCores[at] ?? null) === null ? diameter : null));

const isAnyKnown = (values: readonly unknown[]): boolean => values.some((value) => value !== null);

function completed(need: MaterialNeed | null, find: MaterialFinder): MaterialNeed | null {
  if (!need?.guid || need.type) return need;
  const known = Object.fromEntries(Object.entries(need).filter(([, word]) => word));
  return { ...need, ...find(need.guid), ...known };
}
