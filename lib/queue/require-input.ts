import { REQUIRE } from '../rules/limits';
import { PrintingError } from '../service/errors';
import { FilterInput } from '../service/printer-filter';
import { record, text } from '../service/json-readers';
import { phrase, type Sentence } from '../words/sentence';
import type { MaterialNeed, Require } from './requirement';

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
