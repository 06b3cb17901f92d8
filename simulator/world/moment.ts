import type { Ids } from './ids';

/** A moment of the world: virtual ms `at`, which is `now` in real ms. */
export interface Moment {
  at: number;
  now: number;
  ids: Ids;
}
