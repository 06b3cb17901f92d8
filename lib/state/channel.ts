import type { Database } from './database';
import type { Key } from './store';

/** Of all runtimes that share a database. */
export const CHANNEL = 'remote_printing';
/** What one message takes, bytes. */
const LONGEST = 7_999;

/** What the runtimes of a database tell each other. Neither key nor topic: anything may have changed. */
export interface Said {
  /** Who says it. */
  by: string;
  /** A value that has changed. */
  key?: Key;
  /** Work of which something has changed: who takes part, what they want, or what nobody has. */
  topic?: string;
}

/** As it is handed to pg_notify. */
export function wordsOf(said: Said): string {
  const words = JSON.stringify(said);
  return Buffer.byteLength(words) <= LONGEST ? words : JSON.stringify({ by: said.by } satisfies Said);
}

/** Hears what other runtimes say, on one connection for all who listen here, which is open while anybody does. */
export class Channel {
  readonly #listeners = new Set<(said: Said | null) => void>();
  #end: (() => void) | undefined;

  constructor(
    private readonly database: Pick<Database, 'listen'>,
    private readonly own: string,
  ) {}

  /** Null where something may have been missed. The returned function ends it. */
  listen(listener: (said: Said | null) => void): () => void {
    this.#listeners.add(listener);
    this.#end ??= this.database.listen(CHANNEL, (words) => this.#heard(words));
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#end?.();
      this.#end = undefined;
    };
  }

  #heard(words: string | null): void {
    const said = words === null ? null : saidIn(words);
    if (said?.by === this.own) return;
    const news = said?.key || said?.topic ? said : null;
    for (const listener of [...this.#listeners]) listener(news);
  }
}

/** Null for what is none of it: anybody may say anything on a channel. */
function saidIn(words: string): Said | null {
  try {
    return JSON.parse(words) as Said | null;
  } catch {
    return null;
  }
}
