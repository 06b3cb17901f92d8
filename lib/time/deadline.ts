import { setMaxListeners } from 'node:events';
import { PrintingError, withOutcome } from '../service/errors';
import { sleep, type Clock } from './clock';
import { followAbort, Followers } from './follow-abort';
import { phrase, type Sentence } from '../words/sentence';

interface DeadlineOptions {
  /** How long the work may take, in milliseconds. Default: as long as `parent` lets it. */
  ms?: number;
  /** What else ends the work: the close of a node, or the deadline of the work that this is a part of. */
  parent?: AbortSignal | Deadline | undefined;
  /** And what else: the loss of a lock that the work is done under. */
  lost?: AbortSignal | undefined;
  /** What a user can do when the time is over, as the second half of a sentence. */
  cure?: Sentence;
  /** What is missing at the limit, as the first half of that sentence. */
  what?: Sentence;
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
  /** Monotonic clock time (ms) of the limit; Infinity where there is none but the parent's end. */
  readonly until: number;
  /** The deadline that this is the same as: it ends before this one could. */
  readonly #same: Deadline | undefined;
  readonly #followers = new Followers();
  readonly #cancel: () => void = nothing;
  readonly #leave: () => void = nothing;
  #ended: { reason: unknown } | undefined;
  #controller: AbortController | undefined;

  constructor(clock: Clock, { ms = Infinity, parent, lost, cure, what, reason }: DeadlineOptions = {}) {
    const above = parent instanceof Deadline ? parent : undefined;
    this.clock = clock;
    this.until = Math.min(above?.until ?? Infinity, clock.monotonic() + ms);
    if (this.until === above?.until && !lost) {
      this.#same = above;
      return;
    }
    if (Number.isFinite(ms)) this.#cancel = clock.after(ms, () => this.#over(reason?.() ?? timeout(ms, what, cure)));
    if (parent) this.#leave = this.#follow(parent);
    if (!lost) return;
    const leaves = [this.#leave, this.#follow(lost)];
    this.#leave = () => leaves.forEach((leave) => leave());
    if (this.#ended) this.end();
  }

  #follow(above: AbortSignal | Deadline): () => void {
    const follow = () => this.#over(above.reason);
    if (!above.aborted) return above instanceof Deadline ? above.whenOver(follow) : followAbort(above, follow);
    follow();
    return nothing;
  }

  /** For what takes nothing else: made when it is asked for, as it costs more than all the rest (ADR 8). */
  get signal(): AbortSignal {
    if (this.#same) return this.#same.signal;
    if (!this.#controller) {
      this.#controller = new AbortController();
      // Every wait of the work listens to it.
      setMaxListeners(0, this.#controller.signal);
      if (this.#ended) this.#controller.abort(this.#ended.reason);
    }
    return this.#controller.signal;
  }

  /** It is over. */
  get aborted(): boolean {
    return this.#same ? this.#same.aborted : this.#ended !== undefined;
  }

  /** Why it is over. */
  get reason(): unknown {
    return this.#same ? this.#same.reason : this.#ended?.reason;
  }

  /** Calls `action` when it is over; the returned function ends that. */
  whenOver(action: () => void): () => void {
    if (this.#same) return this.#same.whenOver(action);
    this.#followers.add(action);
    return () => this.#followers.remove(action);
  }

  /** Milliseconds left, 0 when it is over. */
  remaining(): number {
    return this.aborted ? 0 : Math.max(0, this.until - this.clock.monotonic());
  }

  /** Whether something that takes `ms` can still be done in time. */
  allows(ms: number): boolean {
    return !this.aborted && this.clock.monotonic() + ms <= this.until;
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
      const abort = () => reject(notSent(this.reason));
      if (this.aborted) return abort();
      const leave = this.whenOver(abort);
      shared.then(resolve, reject).finally(leave);
    });
  }

  throwIfOver(): void {
    if (this.aborted) throw notSent(this.reason);
  }

  /** Lets go of timer and parent. The time of its own never ends it after that. */
  end(): void {
    this.#cancel();
    this.#leave();
  }

  #over(reason: unknown): void {
    this.end();
    this.#ended = { reason };
    this.#controller?.abort(reason);
    this.#followers.tell();
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
  new PrintingError('TIMEOUT', phrase`The node was closed before the work was done: send the message again.`, {
    outcome: 'unknown',
  });

const nothing = (): void => undefined;

const timeout = (
  ms: number,
  what = phrase`No result`,
  cure = phrase`try again or raise the node's timeout`,
): PrintingError =>
  new PrintingError('TIMEOUT', phrase`${what} within ${ms / 1000} s: ${cure}.`, { outcome: 'unknown' });

const notSent = (reason: unknown): Error =>
  reason instanceof PrintingError ? withOutcome(reason, 'not-sent') : (reason as Error);
