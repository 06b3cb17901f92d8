import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';

/** A key's lock, in the hands of its holder. */
export interface Lock {
  /**
   * The holder before has not given it back: it ended, or was cut off, in the middle of its work. A write of its own may
   * still be on the way.
   */
  readonly inherited?: boolean;
  /** Aborts when the lock can't be relied on any more; undefined where that can't happen. */
  readonly signal?: AbortSignal;
  /**
   * Before something that can't be taken back: makes sure of the lock for `ms` more. The check is for the very last moment:
   * it throws, with the outcome `not-sent`, where too much time has passed since. Rejects with a LockLostError, or with what
   * keeps the store from making sure.
   */
  secure(ms: number): Promise<() => void>;
  /**
   * Keeps the lock beyond the work that was done with it, for a value that could not be written under it yet. Nobody else
   * gets it before the returned function is called, or before this runtime has ended, or was cut off for as long as the lock lasts.
   */
  keep?(): () => void;
}

/** Another runtime may hold the lock by now. */
export class LockLostError extends PrintingError {
  constructor() {
    const said = phrase`This Node-RED has lost its hold on the shared state (it stood still, or was cut off): try again.`;
    super('TIMEOUT', said, { outcome: 'not-sent' });
  }
}
