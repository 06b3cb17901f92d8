import type { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';
import type { ItemReason, Reason } from './reasons';

/** Why a whole queue starts nothing, apart from a pause; null: it may. `storeError`: why its state can't be saved. */
export function queueObstacle(storeError: PrintingError | null, isSignedIn: boolean): Reason<ItemReason> | null {
  if (storeError) {
    const sentence = phrase`Nothing is sent, as the state can't be saved: ${storeError.sentence}`;
    return { code: 'NO_STORE', sentence };
  }
  if (isSignedIn) return null;
  return { code: 'QUEUE_PAUSED', sentence: phrase`The account of the queue is not signed in.` };
}
