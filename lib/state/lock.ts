import { PrintingError } from '../service/errors';
import { say } from '../words/say';

/** A key's lock, in the hand of who holds it. */
export interface Lock {
  /** Aborts when the lock can't be relied on any more; undefined where that can't happen. */
  readonly signal?: AbortSignal;
  /**
   * Before something that can't be taken back: makes sure of the lock for `ms` more. The check is for the very last moment:
   * it throws, with the outcome `not-sent`, where too much time has passed since. Rejects with a LockLostError, or with what
   * keeps the store from making sure.
   */
  secure(ms: number): Promise<() => void>;
}

/** Somebody else may hold the lock by now. */
export class LockLostError extends PrintingError {
  constructor() {
    const said = say`This Node-RED has lost its hold on the shared state (it stood still, or was cut off): try again.`;
    super('TIMEOUT', said, { outcome: 'not-sent' });
  }
}
