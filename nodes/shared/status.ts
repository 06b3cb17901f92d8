import type { Node, NodeAPI, NodeStatusFill, NodeStatusShape } from 'node-red';
import type { PrintingError } from '../../lib/service/errors';
import type { SignInState } from '../../lib/sign-in/sign-in-state';
import { shown } from '../../lib/words/shown';
import { SHARED } from './language';

/** What a node shows: colour, shape, and a key of a text, below `status`, with its values. */
export interface StatusText {
  fill: NodeStatusFill;
  shape: NodeStatusShape;
  key: string;
  values?: Record<string, string>;
}

/** Shows statuses under a node; the same one twice in a row is shown once, as Status nodes react to each. */
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

  show({ fill, shape, key, values }: StatusText): void {
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

  /** In the node's own words, else in those that all nodes share. */
  #text(key: string, given: StatusText['values'] = {}): string {
    const values = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, shown(value)]));
    const shared = this.#RED._(`${SHARED}:status.${key}`, values);
    return this.#RED._(`status.${key}`, { ...values, defaultValue: shared });
  }

  /** For good: the node closes, and what a later answer would show is its successor's affair. */
  clear(): void {
    this.#cleared = true;
    if (this.#shown !== '') this.#node.status({});
  }
}

export const IDLE: StatusText = { fill: 'grey', shape: 'ring', key: 'idle' };

/** Red ring with the failure in a few words. */
export function failureText({ code, obstacle }: PrintingError): StatusText {
  const failed = { fill: 'red', shape: 'ring' } as const;
  if (obstacle === 'offline') return { ...failed, key: 'printerOffline' };
  if (obstacle === 'queue-full') return { ...failed, key: 'queueFull' };
  return { ...failed, key: `error.${code}` };
}

/** The text while an account can't be used, with the time of the figures at hand (ms); null while it can be used. */
export function signInText(state: SignInState, lastFigures?: number | null): StatusText | null {
  if (state === 'signed-in' || state === 'unchecked') return null;
  const missing = { fill: 'red', shape: 'ring' } as const;
  return lastFigures
    ? { ...missing, key: 'signInSince', values: { since: clockTime(lastFigures) } }
    : { ...missing, key: 'signIn' };
}

/** The text for figures that are old; `since`: when they were read, ms. */
export const staleText = (since: number): StatusText => ({
  fill: 'red',
  shape: 'ring',
  key: 'stale',
  values: { since: clockTime(since) },
});

/** Seconds in the largest two units that matter: `40 s`, `12 min`, `1 h 5 min`. */
export function left(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds)) return '?';
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Bytes per second: `870 kB/s`, `12 MB/s`. */
export function rate(bytes: number | null): string {
  if (bytes === null || !Number.isFinite(bytes)) return '?';
  return bytes < 999_500 ? `${Math.round(bytes / 1000)} kB/s` : `${(bytes / 1e6).toFixed(bytes < 9.95e6 ? 1 : 0)} MB/s`;
}

/** The runtime's local time of day, hours and minutes. */
export const clockTime = (ms: number): string =>
  new Date(ms).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });

export const percent = (value: number | null): string => (value === null ? '?' : String(Math.floor(value)));
