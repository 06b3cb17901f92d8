import { readAmount } from '../rules/text';
import { readPrinterIds, readTags } from '../rules/queue-settings';
import { PrintingError } from '../service/errors';
import { phrase, type Sentence } from '../words/sentence';
import { readHours } from './hours';
import { readPrices } from './prices';
import type { QueueRules } from './queue-rules';

/** Settings of a queue as its form saves them (print queue, 3.1); each may be missing. */
export type QueueSettings = Readonly<Partial<Record<string, unknown>>>;

const SECOND = 1000;
const DAY = 24 * 60 * 60 * SECOND;

const SORTS = ['priority', 'shortest', 'deadline', 'staffed'] as const;
const CHOICES = ['least-recently-used', 'fewest-hours', 'list'] as const;
const MATCHES = ['strict', 'lenient'] as const;
const MATERIALS = ['guid', 'type-color', 'type', 'any'] as const;
const GATES = ['printer', 'confirm', 'automatic'] as const;

/** Reads the rules of a queue. Throws NOT_CONFIGURED with the name of the first malformed setting. */
export function readRules(settings: QueueSettings): QueueRules {
  const setting = (name: string) => settings[name];
  const count = (name: string, otherwise: number) => countOf(name, setting(name), otherwise);
  const amount = (name: string, otherwise: number) => amountOf(name, setting(name), otherwise);
  const tags = readTags(setting('tags')) ?? invalid('tags', phrase`JSON like ${'{"abc=": ["food-safe"]}'}`);
  return {
    printers: readPrinterIds(setting('printers')) ?? invalid('printers', phrase`a JSON array of printer ids`),
    tags: new Map(Object.entries(tags)),
    sort: oneOf('sort', setting('sort'), SORTS),
    choose: oneOf('choose', setting('choose'), CHOICES),
    match: oneOf('match', setting('match'), MATCHES),
    material: oneOf('material', setting('material'), MATERIALS),
    gate: oneOf('gate', setting('gate'), GATES),
    retries: count('retries', 0),
    startWithin: amount('startWithin', 900) * SECOND,
    stagger: amount('stagger', 0) * SECOND,
    maxPrinting: count('maxPrinting', 0),
    hours: hoursOf('hours', setting('hours')),
    staffed: hoursOf('staffed', setting('staffed')),
    turnaround: amount('turnaround', 600) * SECOND,
    approval: flagOf('approval', setting('approval')),
    prices: readPrices(setting('prices')),
    keepFor: amount('keepDays', 90) * DAY,
  };
}

const isMissing = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && value.trim() === '');

function oneOf<const Options extends readonly [string, ...string[]]>(
  name: string,
  value: unknown,
  options: Options,
): Options[number] {
  if (isMissing(value)) return options[0];
  const found = options.find((option) => option === value);
  if (found === undefined) return invalid(name, phrase`one of ${options.join(', ')}`);
  return found;
}

function amountOf(name: string, value: unknown, otherwise: number): number {
  if (isMissing(value)) return otherwise;
  const amount = readAmount(value, 0);
  if (amount === null) return invalid(name, phrase`a number from 0`);
  return amount;
}

function countOf(name: string, value: unknown, otherwise: number): number {
  const amount = amountOf(name, value, otherwise);
  if (!Number.isSafeInteger(amount)) return invalid(name, phrase`a whole number from 0`);
  return amount;
}

function hoursOf(name: string, value: unknown) {
  if (isMissing(value)) return readHours('');
  if (typeof value !== 'string') return invalid(name, phrase`text like ${'Mon-Fri 22:00-06:00, Sat 09:00-12:00'}`);
  return readHours(value, name);
}

function flagOf(name: string, value: unknown): boolean {
  if (isMissing(value)) return false;
  if (typeof value !== 'boolean') return invalid(name, phrase`true or false`);
  return value;
}

function invalid(name: string, rule: Sentence): never {
  throw new PrintingError('NOT_CONFIGURED', phrase`The print queue's ${name} must be ${rule}.`);
}
