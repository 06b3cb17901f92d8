/** Random choices that a seed determines. */
export class Chance {
  constructor(readonly random: () => number) {}

  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.random() * choices.length)] as T;
  }

  is(share: number): boolean {
    return this.random() < share;
  }

  /** A whole number from `least` to `most`. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.random() * (most - least + 1));
  }

  /** A whole number from `least` to `most`, with a uniform order of magnitude. */
  spread(least: number, most: number): number {
    return Math.round(least * (most / least) ** this.random());
  }
}
