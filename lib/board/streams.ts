import type { Clock } from '../time/clock';
import { guard } from '../time/guard';
import { Rerun, Turns } from '../time/concurrency';
import { type BoardView, changeTo, type Document, documentOf, type Translate } from './document';

/** Shortest time between two messages, ms. */
const APART = 1_000;
/** Time after which a silent stream shows that it lives, ms. A page counts as offline after twice that time. */
export const HEARTBEAT = 15_000;
/** Time after which a page that does not read its messages is cut off, ms. */
const PATIENCE = 60_000;

/** One open page. */
export interface Sink {
  /** Language of its sentences. */
  readonly language: string;
  /** Whether it has not yet read what was written. */
  readonly isBehind: boolean;
  write(text: string): void;
  end(): void;
}

interface Stream {
  sink: Sink;
  /** Whether it has the last document; one that was behind gets the next one whole. */
  isCurrent: boolean;
  /** Since when it is behind, monotonic, ms; null while it is not. */
  behindSince: number | null;
}

interface StreamsOptions {
  clock: Clock;
  /** Reads what to show. A rejection leaves the pages as they are. */
  read: () => Promise<BoardView>;
  translate: (language: string) => Translate;
  /** Called when the first page opens; the returned function when the last has gone. */
  watch?: (() => () => void) | undefined;
}

/**
 * Sends the changes of a board to its open pages, at most one message a second. The work for a change is done once for all
 * pages of a language. A page that reads slowly skips changes and gets the whole once it has caught up, so that it slows
 * no other page.
 */
export class Streams {
  readonly #options: StreamsOptions;
  readonly #streams = new Set<Stream>();
  readonly #documents = new Map<string, Document>();
  /** JSON of entries, by language. */
  readonly #known = new Map<string, WeakMap<object, string>>();
  readonly #updates = new Rerun(() => this.#update());
  readonly #turns: Turns;
  #cancelUpdate: (() => void) | null = null;
  #cancelHeartbeat: (() => void) | null = null;
  #unwatch: (() => void) | undefined;
  #updatedAt = -Infinity;
  #sentAt = -Infinity;

  constructor(options: StreamsOptions) {
    this.#options = options;
    this.#turns = new Turns(options.clock);
  }

  get size(): number {
    return this.#streams.size;
  }

  /** Adds a page, which gets the whole at once. The returned function removes it. */
  open(sink: Sink): () => void {
    const stream: Stream = { sink, isCurrent: false, behindSince: null };
    if (this.#streams.size === 0) {
      this.#beat();
      this.#unwatch = this.#options.watch?.();
    }
    this.#streams.add(stream);
    void this.#updates.request();
    return () => this.#remove(stream);
  }

  /** Call after every change: the pages get it within a second. */
  changed(): void {
    if (this.#cancelUpdate || this.#streams.size === 0) return;
    const wait = this.#updatedAt + APART - this.#options.clock.monotonic();
    this.#cancelUpdate = this.#options.clock.after(Math.max(0, wait), () => {
      this.#cancelUpdate = null;
      void this.#updates.request();
    });
  }

  close(): void {
    for (const stream of [...this.#streams]) {
      this.#remove(stream);
      guard(() => stream.sink.end())();
    }
  }

  #remove(stream: Stream): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    this.#cancelUpdate?.();
    this.#cancelHeartbeat?.();
    this.#cancelUpdate = null;
    this.#cancelHeartbeat = null;
    this.#documents.clear();
    this.#known.clear();
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  /** Never rejects. */
  async #update(): Promise<void> {
    const { clock, read } = this.#options;
    this.#updatedAt = clock.monotonic();
    const view = await read().catch(() => null);
    // The next change, or the next heartbeat, tries again.
    if (!view) return;
    const languages = new Set([...this.#streams].map(({ sink }) => sink.language));
    for (const language of this.#documents.keys()) if (!languages.has(language)) this.#documents.delete(language);
    for (const language of languages) await this.#show(view, language).catch(() => undefined);
  }

  /** Sends a view to the pages of one language. */
  async #show(view: BoardView, language: string): Promise<void> {
    const { translate } = this.#options;
    const before = this.#documents.get(language) ?? null;
    const known = this.#known.get(language) ?? new WeakMap<object, string>();
    this.#known.set(language, known);
    const after = await documentOf(view, translate(language), this.#turns, known);
    this.#documents.set(language, after);
    await this.#send(language, after, before);
  }

  async #send(language: string, after: Document, before: Document | null): Promise<void> {
    const now = this.#options.clock.now();
    const change = before && changeTo(after, before, now);
    let whole: string | null = null;
    for (const stream of this.#streams) {
      await this.#turns.next();
      // It may have gone while the event loop turned.
      if (!this.#streams.has(stream) || stream.sink.language !== language || this.#isBehind(stream)) continue;
      if (stream.isCurrent && before) {
        if (change !== null) this.#write(stream, messageOf(change));
      } else {
        whole ??= changeTo(after, null, now) ?? '{}';
        stream.isCurrent = true;
        this.#write(stream, messageOf(whole));
      }
    }
  }

  #write({ sink }: Stream, text: string): void {
    this.#sentAt = this.#options.clock.monotonic();
    guard(() => sink.write(text))();
  }

  #isBehind(stream: Stream): boolean {
    if (!stream.sink.isBehind) {
      stream.behindSince = null;
      return false;
    }
    const now = this.#options.clock.monotonic();
    stream.isCurrent = false;
    stream.behindSince ??= now;
    if (now - stream.behindSince < PATIENCE) return true;
    this.#remove(stream);
    guard(() => stream.sink.end())();
    return true;
  }

  /** Keeps the streams alive, and brings those up to date that were behind. */
  #beat(): void {
    const { clock } = this.#options;
    this.#cancelHeartbeat = clock.after(HEARTBEAT, () => {
      this.#beat();
      this.changed();
      if (clock.monotonic() - this.#sentAt < HEARTBEAT / 2) return;
      for (const stream of [...this.#streams])
        if (!this.#isBehind(stream)) this.#write(stream, messageOf(`{"values":{"now":${clock.now()}}}`));
    });
  }
}

const messageOf = (json: string): string => `data: ${json}\n\n`;
