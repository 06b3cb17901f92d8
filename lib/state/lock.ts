import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';

/** A held lock on a key. */
export interface Lock {
  /**
   * The previous holder never released it: its runtime ended, or was cut off, in the middle of its work. A write of
   * that holder may still arrive.
   */
  readonly inherited?: boolean;
  /** Aborts when the lock is no longer reliable; undefined if it can't be lost. */
  readonly signal?: AbortSignal;
  /**
   * Secures the lock for `ms` more, before an irreversible step. Call the returned check at the very last moment: it
   * throws, with the outcome `not-sent`, if too much time has passed since. Rejects with a LockLostError, or with the
   * failure of the store.
   */
  secure(ms: number): Promise<() => void>;
  /**
   * Keeps the lock beyond the work, for a value that couldn't be written under it yet. No other runtime gets the lock
   * until the returned function is called, or until this runtime has ended or was cut off for the lock's lifetime.
   */
  keep?(): () => void;
}

/** Another runtime may hold the lock by now. */
export class LockLostError extends PrintingError {
  constructor() {
    const sentence = phrase`This Node-RED has lost its hold on the shared state (it stood still, or was cut off): try again.`;
    super('TIMEOUT', sentence, { outcome: 'not-sent' });
  }
}
