import { asPrintingError, PrintingError } from '../service/errors';
import type { Key, StateStore } from '../state/store';
import type { Deadline } from '../time/deadline';
import { phrase, Sentence } from '../words/sentence';
import type { Outcome } from './shapes';

/** Time for which a key is remembered, ms. */
const KEPT = 24 * 60 * 60 * 1000;
const KEY = /^[\w-]{16,64}$/;

/** Result of a press. */
export interface Pressed {
  outcome: Outcome<Sentence>;
  /** Whether it had acted before, and so did nothing now. */
  isRepeat: boolean;
}

/** Saved record of a press, under `['board-press', boardId, key]`. */
interface PressRecord {
  version: 1;
  /** Null: it has begun, and its outcome is not known. */
  outcome: Outcome<Pick<Sentence, 'pattern' | 'values'>> | null;
}

/**
 * Does each press once, by its key: a repeat, from a page that lost the answer or after a restart, gets the first answer.
 * The key is durable before the press acts. A repeat of a press that a crash, a close or the deadline cut off acts again,
 * since each press names its print or carries its queue key.
 */
export class Presses {
  readonly #store: StateStore;
  readonly #boardId: string;
  /** Presses under way, by key. */
  readonly #known = new Map<string, Promise<Pressed>>();

  constructor(store: StateStore, boardId: string) {
    this.#store = store;
    this.#boardId = boardId;
  }

  /**
   * Rejects if the key may be used again: it is malformed, can't be saved, or the press was cut off, or `check` rejects, which
   * is called before the press begins for the first time.
   */
  async once(
    key: unknown,
    deadline: Deadline,
    act: () => Promise<void>,
    check?: () => Promise<void>,
  ): Promise<Pressed> {
    if (typeof key !== 'string' || !KEY.test(key))
      throw new PrintingError('INVALID_INPUT', phrase`The press has no key: reload the page.`);
    const known = this.#known.get(key);
    if (known) return { ...(await deadline.wait(known)), isRepeat: true };
    const pressing = this.#press(key, deadline, act, check);
    this.#known.set(key, pressing);
    try {
      return await pressing;
    } finally {
      this.#known.delete(key);
    }
  }

  /** Resolves when the presses under way have ended. Never rejects. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#known.values());
  }

  async #press(
    key: string,
    deadline: Deadline,
    act: () => Promise<void>,
    check?: () => Promise<void>,
  ): Promise<Pressed> {
    const id: Key = ['board-press', this.#boardId, key];
    const lock: Key = ['board-press-lock', this.#boardId, key];
    return this.#store.waitForLock(
      lock,
      async () => {
        const before = await this.#store.get<PressRecord>(id);
        if (before?.outcome) return { outcome: read(before.outcome), isRepeat: true };
        if (!before) await check?.();
        await this.#save(id, { version: 1, outcome: null });
        const outcome = await act().then(
          (): Outcome<Sentence> => ({ ok: true }),
          (thrown: unknown): Outcome<Sentence> => {
            // It may have been done: a repeat acts again.
            if (deadline.aborted) throw thrown;
            const { code, sentence: message } = asPrintingError(thrown);
            return { ok: false, code, message };
          },
        );
        // The press can't be undone, so the store insists on its outcome.
        await this.#save(id, { version: 1, outcome }, true).catch(() => undefined);
        return { outcome, isRepeat: false };
      },
      deadline,
    );
  }

  #save(id: Key, record: PressRecord, insist = false): Promise<void> {
    return this.#store.put(id, record, { keepFor: KEPT, insist });
  }
}

const read = (outcome: NonNullable<PressRecord['outcome']>): Outcome<Sentence> =>
  outcome.ok ? outcome : { ...outcome, message: Sentence.from(outcome.message) };
