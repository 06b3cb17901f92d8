import { NOTIFICATION } from '../rules/limits';
import type { PrintingError } from '../service/errors';
import type { Clock } from '../time/clock';
import { guard } from '../time/guard';
import type { Database } from './database';
import type { Key } from '../state/store';

/** The PostgreSQL notification channel of all runtimes on a database. */
export const CHANNEL = 'remote_printing';
/** Limit of messages handled singly per WINDOW ms. Further ones count as one message without content. */
const MOST = 200;
const WINDOW = 1_000;

/** A message between the runtimes on a database. Without a key and a topic, anything may have changed. */
export interface ChannelMessage {
  /** The sender's id. */
  by: string;
  /** The key of a changed value. */
  key?: Key;
  /** Shared work that has changed: its members, their wishes or its free items. */
  topic?: string;
}

interface ChannelOptions {
  database: Pick<Database, 'listen'>;
  clock: Clock;
  /** The id of this runtime. */
  own: string;
  /** Called when a listener throws. */
  fault: (error: PrintingError) => void;
}

/** Encodes a message as a pg_notify payload. */
export function encodeMessage(message: ChannelMessage): string {
  const { by, key = [], topic = '' } = message;
  // No text has fewer bytes than characters, and encoding a long one takes a while.
  const isLong = [...key, topic].some((part) => part.length > NOTIFICATION);
  const payload = JSON.stringify(isLong ? { by } : message);
  return Buffer.byteLength(payload) < NOTIFICATION ? payload : JSON.stringify({ by } satisfies ChannelMessage);
}

/**
 * Receives the messages of other runtimes over one connection for all listeners, open while there are any. Every
 * database role that may connect can send any text here. A message is therefore only a reason to read again: it is
 * checked first, and a flood of messages counts as one.
 */
export class Channel {
  readonly #listeners = new Set<(message: ChannelMessage | null) => void>();
  #end: (() => void) | undefined;
  /** Start of the current window, monotonic ms, and the messages received in it. */
  #since = -Infinity;
  #count = 0;
  #disarm: (() => void) | undefined;

  constructor(private readonly options: ChannelOptions) {}

  /** Subscribes to messages; null means that some may have been missed. The returned function unsubscribes. */
  listen(listener: (message: ChannelMessage | null) => void): () => void {
    const guarded = guard(listener, this.options.fault);
    this.#listeners.add(guarded);
    this.#end ??= this.options.database.listen(CHANNEL, (payload) => this.#receive(payload));
    return () => {
      this.#listeners.delete(guarded);
      if (this.#listeners.size > 0) return;
      this.#end?.();
      this.#end = undefined;
      this.#disarm?.();
      this.#disarm = undefined;
    };
  }

  #receive(payload: string | null): void {
    const message = payload === null ? null : decodeMessage(payload);
    if (message?.by === this.options.own) return;
    if (this.#isFlooded()) return;
    this.#notify(message?.key || message?.topic ? message : null);
  }

  #notify(message: ChannelMessage | null): void {
    for (const listener of [...this.#listeners]) listener(message);
  }

  /** Counts a message. After a flood, listeners get one null at the end of the window. */
  #isFlooded(): boolean {
    const { clock } = this.options;
    const now = clock.monotonic();
    if (now - this.#since >= WINDOW) {
      this.#since = now;
      this.#count = 0;
    }
    if (++this.#count <= MOST) return false;
    this.#disarm ??= clock.after(this.#since + WINDOW - now, () => {
      this.#disarm = undefined;
      this.#notify(null);
    });
    return true;
  }
}

/** Decodes a payload; null for any text that isn't a message. */
export function decodeMessage(payload: string): ChannelMessage | null {
  if (Buffer.byteLength(payload) > NOTIFICATION) return null;
  try {
    const message = JSON.parse(payload) as Record<string, unknown> | null;
    if (typeof message !== 'object' || message === null || typeof message.by !== 'string') return null;
    const { by, key, topic } = message;
    return { by, ...(isKey(key) && { key }), ...(typeof topic === 'string' && { topic }) };
  } catch {
    return null;
  }
}

const isKey = (key: unknown): key is Key =>
  Array.isArray(key) && key.length > 0 && key.every((part) => typeof part === 'string');
