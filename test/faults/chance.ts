/** Choices that a seed makes. */
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

  /** Small ones as likely as big ones. */
  spread(least: number, most: number): number {
    return Math.round(least * (most / least) ** this.random());
  }
}
