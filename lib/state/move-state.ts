import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';

/** A store whose values can be moved as they are: what is sealed stays sealed. */
export interface Movable {
  /** Every value, as the record that is stored. */
  records(): AsyncIterable<string>;
  /** Puts a record where there is none. */
  add(record: string): Promise<void>;
}

/**
 * Takes all values of a store over into another one, which may hold nothing else; resolves with how many there are. Where
 * it breaks off it can be done again.
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
