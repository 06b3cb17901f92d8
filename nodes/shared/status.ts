import type { Node, NodeAPI, NodeStatusFill, NodeStatusShape } from 'node-red';
import type { Obstacle, PrintingError } from '../../lib/service/errors';
import type { SignInState } from '../../lib/sign-in/sign-in-state';
import { systemClock } from '../../lib/time/clock';
import { shown } from '../../lib/words/shown';
import { SHARED } from './language';

/** A node's status: colour, shape, and the key and values of a text below `status`. */
export interface StatusText {
  fill: NodeStatusFill;
  shape: NodeStatusShape;
  key: string;
  values?: Record<string, string>;
}

/** Shows a node's statuses; skips repetitions, since Status nodes react to each one. */
export class StatusLine {
  readonly #RED: NodeAPI;
  readonly #node: Node;
  #wanted = '';
  #shown = '';
  #cleared = false;
  simulated = false;

  constructor(RED: NodeAPI, node: Node) {
    this.#RED = RED;
    this.#node = node;
  }

  show({ fill, shape, key, values: given = {} }: StatusText): void {
    const values = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, shown(value)]));
    const wanted = JSON.stringify([fill, shape, key, values]);
    if (wanted === this.#wanted) return;
    this.#wanted = wanted;
    const words = this.#text(key, values);
    const text = this.simulated ? `${words} ${this.#text('simulated')}` : words;
    const now = JSON.stringify([fill, shape, text]);
    if (this.#cleared || now === this.#shown) return;
    this.#shown = now;
    this.#node.status({ fill, shape, text });
  }

  /** Prefers the node's own text over the shared one. */
  #text(key: string, values: Record<string, string> = {}): string {
    const shared = this.#RED._(`${SHARED}:status.${key}`, values);
    return this.#RED._(`status.${key}`, { ...values, defaultValue: shared });
  }

  /** Clears the status permanently: a later answer must not overwrite the status of the node's successor. */
  clear(): void {
    this.#cleared = true;
    if (this.#shown !== '') this.#node.status({});
  }
}

export const IDLE: StatusText = { fill: 'grey', shape: 'ring', key: 'idle' };

const OBSTACLES: Record<Obstacle, Pick<StatusText, 'key'>> = {
  offline: { key: 'printerOffline' },
  'queue-full': { key: 'queueFull' },
  'no-printer': { key: 'noPrinter' },
  'no-file': { key: 'noFile' },
  'wrong-type': { key: 'wrongType' },
};

/** Red ring with a short description of the failure. */
export const failureText = ({ code, obstacle }: PrintingError): StatusText => ({
  ...{ fill: 'red', shape: 'ring' },
  ...(obstacle ? OBSTACLES[obstacle] : { key: `error.${code}` }),
});

/** Text while an account can't be used, with the time of the last figures (ms); null for a usable account. */
export function signInText(state: SignInState, lastFigures?: number | null): StatusText | null {
  if (state === 'signed-in' || state === 'unchecked') return null;
  if (state === 'unread')
    return lastFigures ? staleText(lastFigures) : { fill: 'yellow', shape: 'ring', key: 'signInUnread' };
  const missing = { fill: 'red', shape: 'ring' } as const;
  return lastFigures
    ? { ...missing, key: 'signInSince', values: { since: since(lastFigures) } }
    : { ...missing, key: 'signIn' };
}

/** Text for stale figures; `at`: time of their read, ms. */
export const staleText = (at: number): StatusText => ({
  fill: 'red',
  shape: 'ring',
  key: 'stale',
  values: { since: since(at) },
});

/** Formats a past moment in five characters: its time of day, or month and day of another day. */
function since(ms: number): string {
  const [at, now] = [new Date(ms), new Date(systemClock.now())];
  return at.toDateString() === now.toDateString() ? clockTime(ms) : twoByTwo('-', at.getMonth() + 1, at.getDate());
}

/** Formats seconds in the two largest significant units: `40 s`, `12 min`, `1 h 5 min`. */
export function left(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds)) return '?';
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Formats bytes per second: `870 kB/s`, `12 MB/s`. */
export function rate(bytes: number | null): string {
  if (bytes === null || !Number.isFinite(bytes)) return '?';
  return bytes < 999_500 ? `${Math.round(bytes / 1000)} kB/s` : `${(bytes / 1e6).toFixed(bytes < 9.95e6 ? 1 : 0)} MB/s`;
}

/** Formats the runtime's local time of day in hours and minutes. */
export function clockTime(ms: number): string {
  const at = new Date(ms);
  return twoByTwo(':', at.getHours(), at.getMinutes());
}

const twoByTwo = (separator: string, ...parts: number[]): string =>
  parts.map((part) => String(part).padStart(2, '0')).join(separator);

export const percent = (value: number | null): string => (value === null ? '?' : String(Math.floor(value)));
