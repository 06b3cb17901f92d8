/** Returns a generator of random numbers from 0 to 1 that repeats for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a function that picks one of its choices. */
export const picker =
  (random: () => number) =>
  <T>(choices: readonly T[]): T =>
    choices[Math.floor(random() * choices.length)] as T;

/** Runs `work` with its seed; a failure names the seed. */
export const withSeed = (seed: number, work: (seed: number) => Promise<void>) => async (): Promise<void> => {
  try {
    await work(seed);
  } catch (error) {
    throw new Error(`failed with seed ${seed}`, { cause: error });
  }
};
