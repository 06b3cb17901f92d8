import { isObject } from '../http/bodies';
import { MODELS, type NewCluster } from '../world/models';
import type { NewSlot } from '../world/station';
import { CLEANINGS, END_WORDS, MISMATCHES, type Material } from '../world/state';
import { choice, fields, flag, list, number, orNull, text, whole, wrong, type Body, type Reader } from './readers';

const MODEL_IDS = MODELS.map(({ id }) => id);
const MATERIAL: readonly (keyof Material)[] = ['guid', 'brand', 'color', 'material'];

/** Reads the material among a body's properties; silver PLA without any. */
export const readMaterial = (body: Body): Partial<Material> =>
  Object.fromEntries(MATERIAL.filter((name) => body[name] !== undefined).map((name) => [name, text(body, name)]));

/** Reads a material as an object, or as type and colour: `PLA Red`. */
function material(body: Body, name: string): Partial<Material> {
  const value = body[name];
  if (isObject(value)) return readMaterial(value);
  const [type, color, ...more] = text(body, name).split(' ');
  if (!type || more.length > 0) throw wrong(name, 'a list of objects, nulls, or texts such as PLA Red');
  return { material: type, ...(color ? { color } : {}) };
}

const SLOT: Record<keyof NonNullable<NewSlot>, Reader> = {
  extruder: whole,
  material: orNull(material),
  remaining: orNull(share),
  compatible: flag,
};

/** Reads the properties of a slot; throws for others. */
export function readSlot(body: Body): NonNullable<NewSlot> {
  if (body.extruder === undefined) throw wrong('extruder', 'a whole number from 0');
  return fields(body, SLOT);
}

function slot(body: Body, name: string): NonNullable<NewSlot> {
  const value = body[name];
  if (!isObject(value)) throw wrong(name, 'a list of objects or nulls');
  return readSlot(value);
}

function share(body: Body, name: string): number {
  const value = number(body, name);
  if (value > 1) throw wrong(name, 'a number from 0 to 1');
  return value;
}

/** Most printers of a group. The memory of the process, which may be Node-RED, must hold them. */
const MOST_PRINTERS = 1_000;

function group(body: Body, name: string): number {
  const count = whole(body, name);
  if (count > MOST_PRINTERS) throw wrong(name, `a whole number from 0 to ${MOST_PRINTERS}`);
  return count;
}

const NEW_CLUSTER: Record<keyof NewCluster | 'organizationId', Reader> = {
  name: text,
  model: (body, name) => choice(body, name, MODEL_IDS),
  variant: text,
  printers: group,
  station: flag,
  slots: list(orNull(slot)),
  materials: list(orNull(material)),
  printCores: list(orNull(text)),
  buildPlate: text,
  cleaning: (body, name) => choice(body, name, CLEANINGS),
  endWords: (body, name) => choice(body, name, END_WORDS),
  mismatch: (body, name) => choice(body, name, MISMATCHES),
  organizationId: text,
};

/** Reads the properties of a new cluster; throws for others. */
export const readCluster = (body: Body): NewCluster & { organizationId?: string } => fields(body, NEW_CLUSTER);

/** Reads the clusters of a new world. Throws a sentence about the first mistake. */
export function readFarm(value: unknown): NewCluster[] {
  if (!Array.isArray(value)) throw wrong('farm', 'a list of printers');
  return value.map((entry: unknown) => {
    if (!isObject(entry)) throw wrong('farm', 'a list of objects');
    return readCluster(entry);
  });
}
