import type { Ids } from './ids';

/** A moment of the world: virtual ms `at`, which is real ms `now`. */
export interface Moment {
  at: number;
  now: number;
  ids: Ids;
}
