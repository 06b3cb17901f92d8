import { randomUUID } from 'node:crypto';
import type { Clock } from '../time/clock';
import { TEXT } from '../rules/limits';
import { shown } from '../words/shown';
import type { Notice } from './shapes';

/** Time for which a notice is shown, ms. */
const SHOWN_FOR = 60_000;
/** Notices at a time; the oldest go first. */
const MOST = 20;

/** The notices from a board's input, each for a minute, also for pages that are opened meanwhile. */
export class Notices {
  #all: Notice[] = [];
  readonly #cancels = new Set<() => void>();

  constructor(
    private readonly clock: Clock,
    private readonly changed: () => void,
  ) {}

  get all(): readonly Notice[] {
    return this.#all;
  }

  add(text: string, level: Notice['level']): void {
    const notice = { id: randomUUID(), text: shown(text, TEXT.matched), level };
    this.#all = [...this.#all, notice].slice(-MOST);
    const cancel = this.clock.after(SHOWN_FOR, () => {
      this.#cancels.delete(cancel);
      this.#all = this.#all.filter(({ id }) => id !== notice.id);
      this.changed();
    });
    this.#cancels.add(cancel);
    this.changed();
  }

  close(): void {
    for (const cancel of this.#cancels) cancel();
    this.#cancels.clear();
  }
}
