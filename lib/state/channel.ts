import { NOTIFICATION } from '../rules/limits';
import type { PrintingError } from '../service/errors';
import type { Clock } from '../time/clock';
import { guard } from '../time/guard';
import type { Database } from './database';
import type { Key } from './store';

/** Of all runtimes that share a database. */
export const CHANNEL = 'remote_printing';
/** Notifications that are looked at one by one, in a second of time; more of them count as one that says nothing. */
const MOST = 200;
const WINDOW = 1_000;

/** A notice that the runtimes of a database send each other. Neither key nor topic: anything may have changed. */
export interface ChannelMessage {
  /** The sender's id. */
  by: string;
  /** A value that has changed. */
  key?: Key;
  /** Shared work of which something has changed: the members, their wishes, or the free items. */
  topic?: string;
}

interface ChannelOptions {
  database: Pick<Database, 'listen'>;
  clock: Clock;
  /** The id of this runtime. */
  own: string;
  /** A listener has thrown. */
  fault: (error: PrintingError) => void;
}

/** As it is handed to pg_notify. */
export function encodeMessage(said: ChannelMessage): string {
  const words = JSON.stringify(said);
  return Buffer.byteLength(words) < NOTIFICATION ? words : JSON.stringify({ by: said.by } satisfies ChannelMessage);
}

/**
 * Receives the notices of other runtimes, on one connection for all listeners, which is open while there are any. Every
 * database role that may connect can send any text here, so a notice is only ever a reason to read again: it is checked
 * first, and a flood of notices counts as one.
 */
export class Channel {
  readonly #options: ChannelOptions;
  readonly #listeners = new Set<(said: ChannelMessage | null) => void>();
  #end: (() => void) | undefined;
  /** When the second began, monotonic ms, and how many notices came in it. */
  #since = -Infinity;
  #count = 0;
  #disarm: (() => void) | undefined;

  constructor(options: ChannelOptions) {
    this.#options = options;
  }

  /** Null: something may have been missed. The returned function ends it. */
  listen(listener: (said: ChannelMessage | null) => void): () => void {
    const guarded = guard(listener, this.#options.fault);
    this.#listeners.add(guarded);
    this.#end ??= this.#options.database.listen(CHANNEL, (words) => this.#receive(words));
    return () => {
      this.#listeners.delete(guarded);
      if (this.#listeners.size > 0) return;
      this.#end?.();
      this.#end = undefined;
      this.#disarm?.();
      this.#disarm = undefined;
    };
  }

  #receive(words: string | null): void {
    const said = words === null ? null : decodeMessage(words);
    if (said?.by === this.#options.own) return;
    if (this.#isFlooded()) return;
    this.#pass(said?.key || said?.topic ? said : null);
  }

  #pass(said: ChannelMessage | null): void {
    for (const listener of [...this.#listeners]) listener(said);
  }

  /** After a flood, listeners learn that anything may have changed. */
  #isFlooded(): boolean {
    const { clock } = this.#options;
    const now = clock.monotonic();
    if (now - this.#since >= WINDOW) {
      this.#since = now;
      this.#count = 0;
    }
    if (++this.#count <= MOST) return false;
    this.#disarm ??= clock.after(this.#since + WINDOW - now, () => {
      this.#disarm = undefined;
      this.#pass(null);
    });
    return true;
  }
}

/** Null for any text that is no notice. */
export function decodeMessage(words: string): ChannelMessage | null {
  if (Buffer.byteLength(words) > NOTIFICATION) return null;
  try {
    const said = JSON.parse(words) as Record<string, unknown> | null;
    if (typeof said !== 'object' || said === null || typeof said.by !== 'string') return null;
    const { by, key, topic } = said;
    return { by, ...(isKey(key) && { key }), ...(typeof topic === 'string' && { topic }) };
  } catch {
    return null;
  }
}

const isKey = (key: unknown): key is Key =>
  Array.isArray(key) && key.length > 0 && key.every((word) => typeof word === 'string');
