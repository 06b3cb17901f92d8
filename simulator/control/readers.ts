import { Refusal } from '../http/refusals';

/** A request's body. */
export type Body = Record<string, unknown>;

/** Reads one property of a body; throws if it doesn't fit. */
export type Reader = (body: Body, name: string) => unknown;

export function text(body: Body, name: string): string {
  const value = body[name];
  if (typeof value !== 'string' || value === '') throw wrong(name, 'a string');
  return value;
}

export const optionalText = (body: Body, name: string): string | undefined =>
  body[name] === undefined ? undefined : text(body, name);

export function number(body: Body, name: string): number {
  const value = body[name];
  if (typeof value !== 'number' || !(value >= 0)) throw wrong(name, 'a number from 0');
  return value;
}

export function whole(body: Body, name: string): number {
  const value = number(body, name);
  if (!Number.isInteger(value)) throw wrong(name, 'a whole number from 0');
  return value;
}

export function flag(body: Body, name: string): boolean {
  const value = body[name];
  if (typeof value !== 'boolean') throw wrong(name, 'true or false');
  return value;
}

export function choice<T extends string>(body: Body, name: string, values: readonly T[]): T {
  const found = values.find((value) => value === body[name]);
  if (found === undefined) throw wrong(name, `one of ${values.join(', ')}`);
  return found;
}

export function texts(body: Body, name: string): string[] {
  const value = body[name];
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string'))
    throw wrong(name, 'a list of strings');
  return value;
}

export const wrong = (name: string, rule: string): Refusal =>
  new Refusal(400, 'badRequest', `${name} must be ${rule}.`);

export const optionalFlag = (body: Body, name: string): boolean | undefined =>
  body[name] === undefined ? undefined : flag(body, name);

export const optionalNumber = (body: Body, name: string): number | undefined =>
  body[name] === undefined ? undefined : number(body, name);

/** Returns a reader of a list. */
export const list =
  <T>(read: (body: Body, name: string) => T): ((body: Body, name: string) => T[]) =>
  (body, name) => {
    const value = body[name];
    if (!Array.isArray(value)) throw wrong(name, 'a list');
    return value.map((entry) => read({ [name]: entry }, name));
  };

/** Returns a reader that lets null pass. */
export const orNull =
  <T>(read: (body: Body, name: string) => T): ((body: Body, name: string) => T | null) =>
  (body, name) =>
    body[name] === null ? null : read(body, name);

/** Reads an object whose fields are all optional; throws for unknown fields. */
export function fields<T>(body: Body, readers: Record<string, Reader>): T {
  const names = Object.keys(body);
  const unknown = names.find((name) => !Object.hasOwn(readers, name));
  if (unknown !== undefined) throw wrong(unknown, `one of ${Object.keys(readers).join(', ')}`);
  return Object.fromEntries(names.map((name) => [name, readers[name]!(body, name)])) as T;
}
