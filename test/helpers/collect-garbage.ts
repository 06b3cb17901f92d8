import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Collects garbage at once, so that a measurement of memory contains none. */
export const collectGarbage = runInNewContext('gc') as () => void;
