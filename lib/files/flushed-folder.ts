import { Semaphore } from '../time/concurrency';
import { flushFolder } from './flush-folder';

/** Changes at a time; each has an open file. */
const CHANGES = 32;

/** A folder whose changes survive a power cut. One flush of the folder serves all changes that were made before it began. */
export class FlushedFolder {
  readonly #path: string;
  readonly #slots = new Semaphore(CHANGES);
  #last: Promise<unknown> = Promise.resolve();
  /** The flush that has not begun yet. */
  #next: Promise<void> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Runs `work`, which renames or removes a file, and flushes the folder. Rejects if either fails. */
  async change(work: () => Promise<void>): Promise<void> {
    await this.#slots.hold(work);
    // A flush that is under way may miss the change.
    await (this.#next ??= this.#flush());
  }

  async #flush(): Promise<void> {
    await this.#last.catch(() => undefined);
    this.#next = undefined;
    this.#last = flushFolder(this.#path);
    await this.#last;
  }
}
