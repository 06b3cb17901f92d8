import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';

/** A store whose values can be copied unchanged: sealed values stay sealed. */
export interface Movable {
  /** All stored records. */
  records(): AsyncIterable<string>;
  /** Adds a record whose key has none. */
  add(record: string): Promise<void>;
}

/**
 * Copies all values of a store into another one, which may hold nothing else. Resolves with their number. Can be
 * repeated after a failure.
 */
export async function moveState(from: Movable, to: Movable): Promise<number> {
  const there = new Set<string>();
  for await (const record of to.records()) there.add(record);
  const wanted = new Set<string>();
  for await (const record of from.records()) wanted.add(record);
  if ([...there].some((record) => !wanted.has(record)))
    throw new PrintingError(
      'INVALID_INPUT',
      phrase`The place to move to already holds something else: choose an empty one.`,
    );
  for (const record of wanted) if (!there.has(record)) await to.add(record);
  return wanted.size;
}
