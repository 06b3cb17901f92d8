import type { Extent } from '../service/json-readers';
import { usedOf } from '../service/material';

/** Facts about a file: from the stored job's metadata, or read from the file itself (print queue, 6). Null: unknown. */
export interface FileFacts {
  source: 'service' | 'file';
  model: string | null;
  /** By extruder, from 0; null: unused or unknown. */
  printCores: readonly (string | null)[];
  materials: readonly (MaterialNeed | null)[];
  /** mm³. */
  volumes: readonly (number | null)[];
  /** g. */
  weights: readonly (number | null)[];
  /** Diameters of the nozzles, mm. Some slicers name no print core, but state these. */
  nozzles?: readonly (number | null)[];
  buildPlate: string | null;
  /** Estimated duration, s. */
  seconds: number | null;
  /** Extent of the print, mm. */
  size: Extent | null;
}

/** A needed material; a missing or null member accepts anything. */
export interface MaterialNeed {
  guid?: string | null;
  type?: string | null;
  brand?: string | null;
  color?: string | null;
}

type ByExtruder = Required<Pick<FileFacts, 'printCores' | 'materials' | 'volumes' | 'weights' | 'nozzles'>>;

/** Needs of a file at one extruder. */
interface ExtruderFacts {
  printCore: string | null;
  material: MaterialNeed | null;
  volume: number | null;
  weight: number | null;
  nozzle: number | null;
}

/** The lists of the facts, with null for extruders that the file does not use. */
export function byExtruder(listed: ReadonlyMap<number, ExtruderFacts>): ByExtruder {
  const uses = usedOf([...listed.values()]);
  const used = new Map<number, ExtruderFacts>();
  for (const [at, extruder] of [...listed.keys()].entries()) {
    const facts = uses[at];
    if (facts) used.set(extruder, facts);
  }
  const length = Math.max(-1, ...used.keys()) + 1;
  const list = <K extends keyof ExtruderFacts>(key: K): (ExtruderFacts[K] | null)[] =>
    Array.from({ length }, (_, extruder) => used.get(extruder)?.[key] ?? null);
  return {
    printCores: list('printCore'),
    materials: list('material'),
    volumes: list('volume'),
    weights: list('weight'),
    nozzles: list('nozzle'),
  };
}

const LISTS = ['printCores', 'materials', 'volumes', 'weights', 'nozzles'] as const;

/**
 * The facts of one source, with those of another where it knows nothing. An extruder that only the other one knows to be
 * unused counts as unused.
 */
export function completed(first: FileFacts, second: FileFacts): FileFacts {
  const knowsUse = ({ volumes, weights }: FileFacts) => isSome(volumes) || isSome(weights);
  const isUsed = (extruder: number) =>
    knowsUse(first) || !knowsUse(second) || isSome([second.volumes[extruder], second.weights[extruder]]);
  const { model, buildPlate, seconds, size } = first;
  const facts: FileFacts = {
    ...first,
    model: model ?? second.model,
    buildPlate: buildPlate ?? second.buildPlate,
    seconds: seconds ?? second.seconds,
    size: size ?? second.size,
  };
  for (const list of LISTS) {
    const own = (first[list] ?? []).map((entry, extruder) => (isUsed(extruder) ? entry : null));
    Object.assign(facts, { [list]: isSome(own) ? own : (second[list] ?? []) });
  }
  return facts;
}

const isSome = (list: readonly unknown[]): boolean => list.some((entry) => (entry ?? null) !== null);

/** A material need; null if nothing is known of it. */
export function materialNeed(known: MaterialNeed): Required<MaterialNeed> | null {
  const { guid = null, type = null, brand = null, color = null } = known;
  return (guid ?? type ?? brand ?? color) === null ? null : { guid, type, brand, color };
}

/** The facts; null if all are unknown. */
export function unlessBlank(facts: FileFacts): FileFacts | null {
  const { source: _, ...known } = facts;
  const says = (value: unknown) => (Array.isArray(value) ? isSome(value) : value !== null);
  return Object.values(known).some(says) ? facts : null;
}
