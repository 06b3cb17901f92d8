/** Counts the refreshes of one account in this runtime. */
export class RefreshCounters {
  /** @param ended called with each refresh that has ended; `isSaved`: with new tokens that are stored */
  constructor(private readonly ended: (isSaved: boolean) => void = () => undefined) {}

  #refreshes = 0;
  #failures = 0;
  /** Milliseconds from the arrival of a token answer to its write: the window in which a crash loses the sign-in. */
  #window = { last: 0, longest: 0 };

  countFailure(): void {
    this.#failures++;
    this.ended(false);
  }

  /** @param last time from the arrival of the pair to its write, ms */
  countSaved(last: number): void {
    this.#refreshes++;
    this.ended(true);
    this.#window = { last, longest: Math.max(last, this.#window.longest) };
  }

  /** @param inAll refreshes by any runtime */
  figures(inAll: number): Record<string, number> {
    return {
      refreshes: this.#refreshes,
      refreshesInAll: inAll,
      failedRefreshes: this.#failures,
      lastSaveMilliseconds: this.#window.last,
      longestSaveMilliseconds: this.#window.longest,
    };
  }
}
