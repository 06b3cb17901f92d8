import { record } from './json-readers';

/** Checks of stored values, which may be of another shape: of another version, edited by hand, or written by somebody else. */
export type Shape = (value: unknown) => boolean;

export const isText = (value: unknown): value is string => typeof value === 'string';
export const isFlag: Shape = (value) => typeof value === 'boolean';
export const isNumber: Shape = (value) => typeof value === 'number' && Number.isFinite(value);
export const isCount: Shape = (value) => Number.isSafeInteger(value) && (value as number) >= 0;

/** Latest time that a date can show, ms since 1970. */
const LATEST = 8.64e15;
export const isTime: Shape = (value) => isNumber(value) && Math.abs(value as number) <= LATEST;

export const orNull =
  (shape: Shape): Shape =>
  (value) =>
    value === null || shape(value);

/** One that older records lack. */
export const orMissing =
  (shape: Shape): Shape =>
  (value) =>
    value === undefined || shape(value);

export const oneOf =
  (...words: readonly unknown[]): Shape =>
  (value) =>
    words.includes(value);

export const listOf =
  (shape: Shape): Shape =>
  (value) =>
    Array.isArray(value) && value.every(shape);

/** Members of these names, all of one shape. */
export const membersOf = (shape: Shape, ...names: readonly string[]): Readonly<Record<string, Shape>> =>
  Object.fromEntries(names.map((name) => [name, shape]));

/** An object whose members have a shape each, whatever their names. */
export const mapOf =
  (shape: Shape): Shape =>
  (value) => {
    const found = record(value);
    return found !== null && Object.values(found).every(shape);
  };

/** An object with these members; others are not checked. */
export function shapeOf(members: Readonly<Record<string, Shape>>): Shape {
  const shapes = Object.entries(members);
  return (value) => {
    const found = record(value);
    return found !== null && shapes.every(([name, shape]) => shape(found[name]));
  };
}

/** Whether a stored value says that a newer version of the pack wrote it than one of version `known`. */
export const isNewerThan = (known: number, value: unknown): boolean => {
  const version = record(value)?.version;
  return typeof version === 'number' && version > known;
};
