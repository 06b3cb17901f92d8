import { setMaxListeners } from 'node:events';
import { PrintingError, withOutcome } from '../service/errors';
import { sleep, type Clock } from './clock';
import { followAbort } from './follow-abort';

interface DeadlineOptions {
  /** How long the work may take, in milliseconds. Default: as long as `parent` lets it. */
  ms?: number;
  /** What else ends the work: the close of a node, or the deadline of the work that this is a part of. */
  parent?: AbortSignal | Deadline | undefined;
  /** What a user can do when the time is over, as the second half of a sentence. */
  cure?: string;
  /** The reason at the limit, where it is not TIMEOUT. */
  reason?: () => PrintingError;
}

/**
 * How long a piece of work may take, and what may end it before: signal and time in one, made where the work begins and
 * handed down to every wait that belongs to it. Call `end` when the work is over.
 *
 * The waits of this class are waits before something is sent, so what they throw has the outcome `not-sent`. The reason
 * of the bare `signal` has the outcome `unknown`: a request that it breaks off may have been carried out.
 */
export class Deadline {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Monotonic clock time (ms) of the limit; Infinity where there is none but the parent's end. */
  readonly until: number;
  readonly #release: () => void;

  constructor(clock: Clock, { ms = Infinity, parent, cure, reason }: DeadlineOptions = {}) {
    const outer = parent instanceof Deadline ? parent.until : Infinity;
    const above = parent instanceof Deadline ? parent.signal : parent;
    this.clock = clock;
    this.until = Math.min(outer, clock.monotonic() + ms);
    if (parent instanceof Deadline && this.until === outer) {
      // It ends before this one could.
      this.signal = parent.signal;
      this.#release = () => undefined;
      return;
    }
    const controller = new AbortController();
    // Every wait of the work listens to it.
    setMaxListeners(0, controller.signal);
    this.signal = controller.signal;

    const over = (why: unknown) => {
      this.#release();
      controller.abort(why);
    };
    const follow = () => over(above?.reason);
    const leave = above && !above.aborted ? followAbort(above, follow) : () => undefined;
    const cancel = Number.isFinite(ms) ? clock.after(ms, () => over(reason?.() ?? timeout(ms, cure))) : () => undefined;
    this.#release = () => {
      cancel();
      leave();
    };
    if (above?.aborted) follow();
  }

  /** Milliseconds left, 0 when it is over. */
  remaining(): number {
    return this.signal.aborted ? 0 : Math.max(0, this.until - this.clock.monotonic());
  }

  /** Whether something that takes `ms` can still be done in time. */
  allows(ms: number): boolean {
    return !this.signal.aborted && this.clock.monotonic() + ms <= this.until;
  }

  /** The deadline of a part of the work: `ms` from now, or this one's end if that comes first. */
  within(ms: number, options: Pick<DeadlineOptions, 'cure' | 'reason'> = {}): Deadline {
    return new Deadline(this.clock, { ...options, ms, parent: this });
  }

  sleep(ms: number): Promise<void> {
    return sleep(this.clock, ms, this.signal).catch((reason: unknown) => {
      throw notSent(reason);
    });
  }

  /** Waits for something that others wait for too, and that goes on when this wait ends early. */
  wait<T>(shared: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const abort = () => reject(notSent(this.signal.reason));
      if (this.signal.aborted) return abort();
      this.signal.addEventListener('abort', abort, { once: true });
      shared.then(resolve, reject).finally(() => this.signal.removeEventListener('abort', abort));
    });
  }

  throwIfOver(): void {
    if (this.signal.aborted) throw notSent(this.signal.reason);
  }

  /** Lets go of timer and parent. The time of its own never ends it after that. */
  end(): void {
    this.#release();
  }
}

/** Does `work` under a deadline of its own, which ends with it. */
export async function underDeadline<T>(
  clock: Clock,
  options: DeadlineOptions,
  work: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  const deadline = new Deadline(clock, options);
  try {
    return await work(deadline);
  } finally {
    deadline.end();
  }
}

/** The reason with which work is ended when its node or runtime closes. */
export const closed = (): PrintingError =>
  new PrintingError('TIMEOUT', 'The node was closed before the work was done: send the message again.', {
    outcome: 'unknown',
  });

const timeout = (ms: number, cure = "try again or raise the node's timeout"): PrintingError =>
  new PrintingError('TIMEOUT', `No result within ${ms / 1000} s: ${cure}.`, { outcome: 'unknown' });

const notSent = (reason: unknown): Error =>
  reason instanceof PrintingError ? withOutcome(reason, 'not-sent') : (reason as Error);
