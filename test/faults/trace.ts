/** Readable record of the actions and faults in a run. */
export class Trace {
  readonly #lines: string[] = [];
  #last = '';
  #repeats = 0;

  constructor(private readonly elapsed: () => number) {}

  add(sentence: string): void {
    if (sentence === this.#last) {
      this.#repeats++;
      return;
    }
    this.#flush();
    this.#last = sentence;
    this.#lines.push(`${(this.elapsed() / 1000).toFixed(3).padStart(10)} s  ${sentence}`);
  }

  text(): string {
    this.#flush();
    return this.#lines.join('\n');
  }

  #flush(): void {
    if (this.#repeats > 0) this.#lines.push(`${' '.repeat(14)}(${this.#repeats} times more)`);
    this.#repeats = 0;
  }
}

/** Error for a broken rule. */
export class Broken extends Error {
  constructor(
    readonly rule: number,
    sentence: string,
  ) {
    super(`rule ${rule}: ${sentence}`);
  }
}
