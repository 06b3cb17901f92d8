import { resolve } from 'node:path';
import type { Node, NodeAPI, NodeMessage } from 'node-red';
import { unset } from '../../lib/account/settings';
import { isFilePath } from '../../lib/rules/text';
import { type ErrorDetails, isOfEngine, PrintingError } from '../../lib/service/errors';
import { phrase, type Sentence } from '../../lib/words/sentence';

/** A setting that a message can supply: a TypedInput, or a text field that may be blank. */
export interface Setting {
  value: unknown;
  type: string | undefined;
  /** Message property that a blank setting reads; null for none. */
  message: string | null;
  /** Name of the property. */
  name: string;
}

/** A setting that always reads a message property. */
export const ofMessage = (message: string): Setting => ({ value: '', type: 'str', message, name: message });

export const isBlank = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && value.trim() === '');

/** Whether the value of a setting depends on the message. */
export const needsMessage = ({ value, type }: Pick<Setting, 'value' | 'type'>): boolean =>
  !isBlank(value) && type === 'msg';

/** Types whose value may come after the deploy. */
const LATER = ['msg', 'flow', 'global', 'jsonata'];

/** Whether a setting without a value at the deploy may get one later, so that it does not count as blank. */
export const mayComeLater = ({ value, type = 'str' }: Pick<Setting, 'value' | 'type'>): boolean =>
  !isBlank(value) && LATER.includes(type);

/**
 * Evaluates a setting for a message: a nonblank setting takes precedence, a blank one reads its message property
 * (reference 2.2). Returns undefined if both are blank.
 */
export async function read(RED: NodeAPI, node: Node, setting: Setting, msg: NodeMessage): Promise<unknown> {
  const { value, message } = setting;
  const found = !isBlank(value) ? await evaluate(RED, node, setting, msg) : message === null ? undefined : msg[message];
  if (!isBlank(found)) return found;
  // A path counts as the name of a property without a value.
  if (needsMessage(setting) && isFilePath(String(value))) throw withoutValue(setting);
  return undefined;
}

/**
 * Evaluates a setting of which blank means more than any value: all printers, or no key. Throws INVALID_INPUT if it is not blank
 * and gives no value; the message property that a blank one reads may be missing.
 */
export async function readGiven(RED: NodeAPI, node: Node, setting: Setting, msg: NodeMessage): Promise<unknown> {
  const found = await read(RED, node, setting, msg);
  const isOwnProperty = needsMessage(setting) && setting.value === setting.message;
  if (found === undefined && !isBlank(setting.value) && !isOwnProperty) throw withoutValue(setting);
  return found;
}

/** Evaluates a setting that must be a string, or a number, which becomes one. */
export async function readText(
  RED: NodeAPI,
  node: Node,
  setting: Setting,
  msg: NodeMessage,
): Promise<string | undefined> {
  return asText(await read(RED, node, setting, msg), setting);
}

/** The same of a setting that `readGiven` reads. */
export async function readGivenText(
  RED: NodeAPI,
  node: Node,
  setting: Setting,
  msg: NodeMessage,
): Promise<string | undefined> {
  return asText(await readGiven(RED, node, setting, msg), setting);
}

function asText(found: unknown, { message, name }: Setting): string | undefined {
  if (found === undefined || typeof found === 'string') return found;
  if (typeof found === 'number' && Number.isFinite(found)) return String(found);
  throw wrongType(phrase`The ${message ?? name} must be a string, but it is ${kindOf(found)}.`);
}

/** A relative path, resolved as Node-RED's own file nodes do (reference 2.2). */
export function filePath(RED: NodeAPI, path: string): string {
  const folder: unknown = (RED.settings as { fileWorkingDirectory?: unknown }).fileWorkingDirectory;
  return typeof folder === 'string' && folder !== '' ? resolve(folder, path) : path;
}

/** Reads a boolean message property; undefined if missing. Throws INVALID_INPUT for any other value. */
export function readFlag(msg: NodeMessage, property: string): boolean | undefined {
  const value = msg[property] ?? undefined;
  if (value === undefined || typeof value === 'boolean') return value;
  throw wrongType(phrase`msg.${property} must be true or false, but it is ${kindOf(value)}.`);
}

function evaluate(
  RED: NodeAPI,
  node: Node,
  { value, type = 'str', name }: Setting,
  msg: NodeMessage,
): Promise<unknown> {
  if (type === 'env' && typeof value === 'string' && isUnset(RED, node, value)) throw unset(name, value);
  return new Promise((resolve, reject) => {
    const settle = (error: Error | null, result: unknown) => {
      if (error) reject(unreadable({ value, type, name }, error));
      else resolve(result);
    };
    try {
      RED.util.evaluateNodeProperty(value as string, type, node, msg, settle);
    } catch (error) {
      settle(error as Error, undefined);
    }
  });
}

/** INVALID_INPUT for a setting that can't be evaluated. Most of these errors name nothing that a user knows. */
function unreadable({ value, type, name }: Pick<Setting, 'value' | 'type' | 'name'>, cause: Error): PrintingError {
  switch (type) {
    case 'msg':
    case 'flow':
    case 'global':
      return missing(name, `${type}.${String(value)}`, cause);
    case 'jsonata':
      return isOfEngine(cause)
        ? invalid(phrase`The expression of the setting ${name} can't be evaluated: correct it.`, { cause })
        : invalid(phrase`The expression of the setting ${name} can't be evaluated: ${cause.message}.`, { cause });
    default:
      return invalid(phrase`The setting ${name} is not valid for its type: correct it.`, { cause });
  }
}

/** INVALID_INPUT for a setting that is not blank and gives no value. */
const withoutValue = ({ name, value, type = 'str' }: Setting): PrintingError =>
  type === 'jsonata'
    ? invalid(phrase`The expression of the setting ${name} gives no value: correct it.`)
    : missing(name, type === 'env' ? String(value) : `${type}.${String(value)}`);

const missing = (name: string, property: string, cause?: Error): PrintingError =>
  invalid(
    phrase`The setting ${name} reads ${property}, which does not exist: set it, or choose the type string for a path or a plain value.`,
    { cause },
  );

/** Whether a name is that of an environment variable without a value; Node-RED reads those in other text as blank. */
const isUnset = (RED: NodeAPI, node: Node, name: string): boolean =>
  !name.includes('${') && (RED.util.getSetting(node, name) as string | undefined) === undefined;

export function kindOf(value: unknown): string | Sentence {
  if (value === undefined) return phrase`missing`;
  if (value === null) return 'null';
  if (Array.isArray(value)) return phrase`an array`;
  if (Buffer.isBuffer(value)) return phrase`a Buffer`;
  return typeof value === 'object' ? phrase`an object` : phrase`a ${typeof value}`;
}

export const invalid = (sentence: Sentence, details?: Pick<ErrorDetails, 'cause' | 'obstacle'>): PrintingError =>
  new PrintingError('INVALID_INPUT', sentence, details);

/** INVALID_INPUT of a node and a message that choose no printer. */
export const noPrinter = (
  sentence: Sentence = phrase`Choose a printer in the node or set msg.clusterId.`,
): PrintingError => invalid(sentence, { obstacle: 'no-printer' });

/** INVALID_INPUT of a node and a message that choose no file, stored or not. */
export const noFile = (sentence: Sentence): PrintingError => invalid(sentence, { obstacle: 'no-file' });

/** INVALID_INPUT of a value of another type than its property has. */
export const wrongType = (sentence: Sentence): PrintingError => invalid(sentence, { obstacle: 'wrong-type' });
