import { REQUIRE } from '../../rules/limits';
import { PrintingError } from '../../service/errors';
import { record, text } from '../../service/json-readers';
import { FilterInput } from '../../service/printer-filter';
import type { FileFacts, MaterialNeed } from '../../toolpath/facts';
import { phrase, type Sentence } from '../../words/sentence';

/** Requirement as a message gives it (`msg.require`); a member that is missing comes from the file. */
export interface Require {
  models?: readonly string[];
  printCores?: readonly (string | null)[];
  materials?: readonly (MaterialNeed | null)[];
  buildPlate?: string;
  tags?: readonly string[];
  /** Cluster ids. */
  printers?: readonly string[];
}

type RequirementSource = 'service' | 'file' | 'message' | 'unknown';

/** Requirement of one file: the message's members over the file's. */
export interface Requirement {
  /** Null: unknown. */
  models: readonly string[] | null;
  printCores: readonly (string | null)[];
  materials: readonly (MaterialNeed | null)[];
  buildPlate: string | null;
  tags: readonly string[];
  /** Null: any. */
  printers: readonly string[] | null;
  volumes: readonly (number | null)[];
  /** Diameters of the nozzles, mm, of extruders without a print core. */
  nozzles: readonly (number | null)[];
  size: { x: number; y: number; z: number } | null;
  sources: Readonly<
    Record<
      'models' | 'printCores' | 'materials' | 'buildPlate' | 'tags' | 'printers' | 'volumes' | 'size',
      RequirementSource
    >
  >;
}

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
    materials: completed(named.materials ?? materials, find),
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

/** Materials with what is known by their GUIDs, where nothing else states their types. */
export const completed = (needs: FileFacts['materials'], find: MaterialFinder): FileFacts['materials'] =>
  needs.map((need) => {
    if (!need?.guid || need.type) return need;
    const known = Object.fromEntries(Object.entries(need).filter(([, word]) => word));
    return { ...need, ...find(need.guid), ...known };
  });

const MEMBERS = ['models', 'printCores', 'materials', 'buildPlate', 'tags', 'printers'];
const MATERIAL_MEMBERS = ['guid', 'type', 'brand', 'color'] as const;

/**
 * Reads what a message requires of a printer: an object or its JSON; null for nothing. An empty array requires nothing,
 * whatever the file states. Throws INVALID_INPUT with the cause.
 */
export function readRequire(given: unknown): Require | null {
  if (given === undefined || given === null || (typeof given === 'string' && given.trim() === '')) return null;
  const input = FilterInput.open(
    given,
    MEMBERS,
    refusal,
    phrase`must be an object such as {"materials":[{"type":"PLA"}]}`,
  );
  const texts = (name: string) => (input.has(name) ? { [name]: input.texts(name, REQUIRE.values) } : {});
  const extruders = <T>(name: string, read: (value: unknown) => T) =>
    input.has(name)
      ? { [name]: input.values(name, REQUIRE.extruders).map((value) => (value === null ? null : read(value))) }
      : {};
  return {
    ...texts('models'),
    ...extruders('printCores', readPrintCore),
    ...extruders('materials', readMaterialNeed),
    ...(input.has('buildPlate') && {
      buildPlate: input.string('buildPlate', phrase`needs a string as its buildPlate`).trim(),
    }),
    ...texts('tags'),
    ...texts('printers'),
  };
}

function readPrintCore(given: unknown): string {
  const core = text(given);
  if (core === null) throw refusal(phrase`needs a string or null for each extruder as its printCores`);
  return core;
}

/** Reads a material: a GUID, or an object. */
function readMaterialNeed(given: unknown): MaterialNeed {
  const rule = phrase`needs a GUID, an object or null for each extruder as its materials`;
  const guid = text(given);
  if (guid !== null) return { guid };
  const material = record(given);
  if (!material || Buffer.isBuffer(material)) throw refusal(rule);
  const input = new FilterInput(material, MATERIAL_MEMBERS, refusal);
  const members = MATERIAL_MEMBERS.map((name) => [name, input.string(name, rule).trim()] as const);
  return Object.fromEntries(members.filter(([, value]) => value !== ''));
}

const refusal = (rule: Sentence) => new PrintingError('INVALID_INPUT', phrase`msg.require ${rule}.`);
