import { inspect } from 'node:util';
import { PrintingError } from '../service/errors';
import type { Json } from '../service/json-readers';
import { phrase } from '../words/sentence';

/** Known facts about a print job's action (wire facts 13.1); the service's further actions pass unchecked. */
export interface JobRule {
  /** Job states that allow it, as the service names them; if absent, the service decides. */
  from?: readonly string[];
  /** Acts on waiting jobs, so never on all prints under way. */
  waiting?: true;
  /** Field names in `data`. */
  fields: readonly string[];
}

const RULES: Record<string, JobRule> = {
  pause: { from: ['printing'], fields: [] },
  resume: { from: ['paused'], fields: [] },
  abort: { from: ['pre_print', 'printing', 'pausing', 'paused', 'resuming'], fields: ['quantity'] },
  remove: { from: ['queued', 'error', 'sent_to_printer'], waiting: true, fields: [] },
  force: { waiting: true, fields: [] },
  move: { waiting: true, fields: ['list', 'to_position'] },
  duplicate: { fields: ['quantity'] },
};

/** The rule of an action; undefined for an unknown one. */
export const ruleOf = (action: string): JobRule | undefined =>
  Object.hasOwn(RULES, action) ? RULES[action] : undefined;

const SHORT = { depth: 0, breakLength: Infinity, maxStringLength: 60 };

interface JobInput {
  /** Number of copies: duplicate, abort. */
  quantity?: unknown;
  /** Target position in the queue, 0 = first: move. */
  position?: unknown;
  /** Sent whole with an unknown action; with any other, only the action's fields are sent. */
  data?: Json;
}

/** The `data` of a job action (wire facts 13.1). Throws INVALID_INPUT for a missing or invalid number. */
export function jobData(action: string, { quantity, position, data = {} }: JobInput): Json {
  const fields = ruleOf(action)?.fields;
  if (!fields) return data;
  const given = Object.fromEntries(
    fields.filter((field) => data[field] !== undefined).map((field) => [field, data[field]]),
  );
  if (fields.includes('quantity')) {
    const wanted = quantity ?? given.quantity ?? (action === 'duplicate' ? 1 : undefined);
    return wanted === undefined ? {} : { quantity: whole(wanted, 'quantity', 1) };
  }
  if (action === 'move') {
    const wanted = position ?? given.to_position;
    return { list: 'queued', ...given, to_position: whole(wanted, 'position', 0) };
  }
  return given;
}

function whole(value: unknown, name: string, least: number): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value;
  const found = value === undefined ? phrase`it is missing` : phrase`it is ${inspect(value, SHORT).slice(0, 60)}`;
  const sentence = phrase`The ${name} must be a whole number of at least ${least}, but ${found}: set msg.${name}.`;
  throw new PrintingError('INVALID_INPUT', sentence);
}
