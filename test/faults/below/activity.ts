import { setImmediate as nextTurn } from 'node:timers/promises';

/** Turns of the event loop without anything happening below, after which everything has been worked off. */
const CALM = 6;

/** What goes on below the pack, so that time goes on only when nothing does. */
export class Activity {
  #busy = 0;
  #count = 0;

  /** Something is under way until the returned function is called. */
  begin(): () => void {
    this.#busy++;
    this.#count++;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.#busy--;
      this.#count++;
    };
  }

  touch(): void {
    this.#count++;
  }

  async quiet(): Promise<void> {
    let seen = -1;
    for (let calm = 0; calm < CALM; calm++) {
      await nextTurn();
      if (this.#busy === 0 && this.#count === seen && (calm < CALM - 1 || !realFiles())) continue;
      seen = this.#count;
      calm = -1;
    }
  }
}

/** Files that are no part of the state, such as the one to be printed, are read for real. */
const realFiles = (): boolean =>
  process.getActiveResourcesInfo().some((name) => /^(FS|Close)Req|^Zlib|^(Write|Shutdown)Wrap/.test(name));
