import { PrintingError } from '../service/errors';
import { PRESS } from '../rules/limits';
import { phrase } from '../words/sentence';
import type { Allow } from './shapes';

/** Actions of each permission (board, 1); a page has no others. */
const LEAST: ReadonlyMap<string, Allow> = new Map([
  ['plate-cleared', 'press'],
  ['settle', 'press'],
  ['hold', 'press'],
  ['release', 'press'],
  ['move', 'press'],
  ['update', 'press'],
  ['retry', 'press'],
  ['pause', 'press'],
  ['resume', 'press'],
  ['pause-print', 'press'],
  ['resume-print', 'press'],
  ['abort-print', 'all'],
  ['remove', 'all'],
  ['add', 'all'],
]);

/** Properties of an item that a page may change; with `press`, `require` only as an answer of the board gives it. */
const CHANGES: Readonly<Record<Allow, readonly string[]>> = {
  look: [],
  press: ['itemId', 'copies', 'wanted', 'priority', 'deadline', 'require'],
  all: ['itemId', 'copies', 'wanted', 'perPrint', 'priority', 'deadline', 'require'],
};

const ORDER: readonly Allow[] = ['look', 'press', 'all'];

/** Whether a board permits an action, whatever its page shows. */
export function isAllowed(action: string, properties: Readonly<Record<string, unknown>>, allow: Allow): boolean {
  const least = LEAST.get(action);
  if (least === undefined || ORDER.indexOf(least) > ORDER.indexOf(allow)) return false;
  return action !== 'update' || Object.keys(properties).every((name) => CHANGES[allow].includes(name));
}

/** Reads a press from the body of a request. Throws INVALID_INPUT, also for one that is deeper or larger than any press. */
export function readPress(body: unknown): { key: unknown; action: string; properties: Record<string, unknown> } {
  const { key, action, properties = {} } = isRecord(body) ? body : {};
  if (typeof action !== 'string' || !isRecord(properties) || valuesOf(properties, PRESS.depth) > PRESS.values)
    throw new PrintingError('INVALID_INPUT', phrase`The press is malformed: reload the page.`);
  return { key, action, properties };
}

/** Number of values at all levels; Infinity if there are more levels than these. */
function valuesOf(value: unknown, levels: number): number {
  if (typeof value !== 'object' || value === null) return 1;
  if (levels === 0) return Infinity;
  let count = 1;
  for (const member of Object.values(value)) count += valuesOf(member, levels - 1);
  return count;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
