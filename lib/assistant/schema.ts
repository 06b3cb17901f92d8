import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';

/** JSON schema of one argument of a tool. */
export type Argument = { description: string } & (
  | { type: 'string'; minLength: number; maxLength: number }
  | { type: 'integer'; minimum: number; maximum: number }
  | { type: 'boolean' }
);

/** JSON schema of the arguments of a tool. All are plain values, so that what is shown to a person is what is meant. */
export interface InputSchema {
  type: 'object';
  properties: Readonly<Record<string, Argument>>;
  required: readonly string[];
  additionalProperties: false;
}

export type Arguments = Readonly<Record<string, string | number | boolean>>;

/** Reads the arguments of a call by the schema of its tool. Throws INVALID_INPUT. */
export function readArguments({ properties, required }: InputSchema, given: unknown = {}): Arguments {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new PrintingError('INVALID_INPUT', phrase`The arguments must be an object.`);
  const entries = Object.entries(given as Record<string, unknown>);
  for (const [name, value] of entries) {
    const argument = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!argument) throw new PrintingError('INVALID_INPUT', phrase`The tool has no argument ${name}.`);
    if (!fits(argument, value))
      throw new PrintingError('INVALID_INPUT', phrase`The argument ${name} is not valid: see its schema.`);
  }
  const absent = required.find((name) => !entries.some(([known]) => known === name));
  if (absent !== undefined) throw new PrintingError('INVALID_INPUT', phrase`The argument ${absent} is missing.`);
  return Object.fromEntries(entries) as Arguments;
}

function fits(argument: Argument, value: unknown): boolean {
  switch (argument.type) {
    case 'string':
      return typeof value === 'string' && value.length >= argument.minLength && value.length <= argument.maxLength;
    case 'integer':
      return Number.isSafeInteger(value) && Number(value) >= argument.minimum && Number(value) <= argument.maximum;
    case 'boolean':
      return typeof value === 'boolean';
  }
}

/** Part of any arguments that is fit to be shown or logged: known names with plain values, truncated. */
export function plainArguments({ properties }: InputSchema, given: unknown): Arguments {
  if (typeof given !== 'object' || given === null) return {};
  const plain: Record<string, string | number | boolean> = {};
  for (const name of Object.keys(properties)) {
    const value: unknown = Object.hasOwn(given, name) ? (given as Record<string, unknown>)[name] : undefined;
    if (typeof value === 'string') plain[name] = value.slice(0, 200);
    else if (typeof value === 'number' || typeof value === 'boolean') plain[name] = value;
  }
  return plain;
}
