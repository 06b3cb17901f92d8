import { setMaxListeners } from 'node:events';
import { PrintingError, withOutcome } from '../service/errors';
import { phrase, type Sentence } from '../words/sentence';
import { type Clock, sleep } from './clock';
import { guard } from './guard';

interface DeadlineOptions {
  /** Time limit of the work, ms. Default: that of `parent`. */
  ms?: number;
  /** Ends the work too: the close of a node, or the deadline of the work that this is a part of. */
  parent?: AbortSignal | Deadline | undefined;
  /** Ends the work too: the loss of a lock that it runs under. */
  lost?: AbortSignal | undefined;
  /** Remedy for the user after a timeout, as the second half of a sentence. */
  cure?: Sentence | undefined;
  /** The missing result, as the first half of that sentence. */
  what?: Sentence;
  /** Reason at the limit, if not TIMEOUT. */
  reason?: (() => PrintingError) | undefined;
}

/**
 * Time limit and abort signal of a piece of work in one. Create it where the work begins, pass it to every wait of that
 * work, and call `end` when the work has ended.
 *
 * The waits of this class happen before something is sent, so their errors have the outcome `not-sent`. The reason of
 * the bare `signal` has the outcome `unknown`: a request that it aborts may have been carried out.
 */
export class Deadline {
  readonly clock: Clock;
  /** Monotonic time (ms) that `until` never exceeds; Infinity if only the parent can end the work. */
  readonly #latest: number;
  readonly #above: Deadline | undefined;
  /** The parent, if it ends no later than this deadline would: all calls are passed on to it. */
  readonly #same: Deadline | undefined;
  readonly #followers = new Followers();
  readonly #cancel: () => void = nothing;
  readonly #leave: () => void = nothing;
  #ended: { reason: unknown } | undefined;
  #controller: AbortController | undefined;

  constructor(clock: Clock, { ms = Infinity, parent, lost, cure, what, reason }: DeadlineOptions = {}) {
    const above = parent instanceof Deadline ? parent : undefined;
    this.clock = clock;
    this.#above = above;
    const latestAbove = above ? above.#latest : Infinity;
    this.#latest = Math.min(latestAbove, clock.monotonic() + ms);
    if (above && this.#latest === latestAbove && !lost) {
      this.#same = above;
      return;
    }
    if (Number.isFinite(ms)) this.#cancel = clock.after(ms, () => this.#expire(reason?.() ?? timeout(ms, what, cure)));
    if (parent) this.#leave = this.#follow(parent);
    if (!lost) return;
    const leaves = [this.#leave, this.#follow(lost)];
    this.#leave = () => leaves.forEach((leave) => leave());
    if (this.#ended) this.end();
  }

  #follow(above: AbortSignal | Deadline): () => void {
    const follow = () => this.#expire(above.reason);
    if (!above.aborted) return above instanceof Deadline ? above.whenOver(follow) : followAbort(above, follow);
    follow();
    return nothing;
  }

  /**
   * The deadline as a signal, for APIs that accept nothing else. Created on first use, because it costs more than
   * everything else here (ADR 15).
   */
  get signal(): AbortSignal {
    if (this.#same) return this.#same.signal;
    if (!this.#controller) {
      this.#controller = new AbortController();
      // Every wait of the work may listen to it.
      setMaxListeners(0, this.#controller.signal);
      if (this.#ended) this.#controller.abort(this.#ended.reason);
    }
    return this.#controller.signal;
  }

  /** Monotonic time (ms) of the limit; Infinity if only the parent can end the work. */
  get until(): number {
    return Math.min(this.#above?.until ?? Infinity, this.#latest);
  }

  /** Whether the deadline has expired or was aborted. */
  get aborted(): boolean {
    return this.#same ? this.#same.aborted : this.#ended !== undefined;
  }

  /** Reason of the end. */
  get reason(): unknown {
    return this.#same ? this.#same.reason : this.#ended?.reason;
  }

  /** Calls `action` at the end; the returned function unsubscribes. */
  whenOver(action: () => void): () => void {
    if (this.#same) return this.#same.whenOver(action);
    this.#followers.add(action);
    return () => this.#followers.remove(action);
  }

  /** Milliseconds left, 0 after the end. */
  remaining(): number {
    return this.aborted ? 0 : Math.max(0, this.until - this.clock.monotonic());
  }

  /** Whether work that lasts `ms` still fits. */
  allows(ms: number): boolean {
    return !this.aborted && this.clock.monotonic() + ms <= this.until;
  }

  /** Deadline for a part of the work: `ms` from now, or this one's end if that is earlier. */
  within(ms: number, options: Pick<DeadlineOptions, 'cure' | 'reason'> = {}): Deadline {
    // Each field by its own name: a spread costs a microsecond, in every request.
    return new Deadline(this.clock, { ms, parent: this, cure: options.cure, reason: options.reason });
  }

  sleep(ms: number): Promise<void> {
    return sleep(this.clock, ms, this.signal).catch((reason: unknown) => {
      throw notSent(reason);
    });
  }

  /** Waits for a shared promise; the underlying work continues after this wait has ended. */
  wait<T>(shared: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const abort = () => reject(notSent(this.reason));
      if (this.aborted) abort();
      // Listened to in any case: an unhandled rejection would end the process.
      const leave = this.aborted ? nothing : this.whenOver(abort);
      // `finally` would make three promises more, in every poll.
      void shared.then(resolve, reject).then(leave);
    });
  }

  throwIfOver(): void {
    if (this.aborted) throw notSent(this.reason);
  }

  /** Releases timer and parent. Afterwards its own time limit never expires. */
  end(): void {
    this.#cancel();
    this.#leave();
  }

  #expire(reason: unknown): void {
    this.end();
    this.#ended = { reason };
    this.#controller?.abort(reason);
    this.#followers.notify();
  }
}

/**
 * Deadline of work that several callers share. It has the time of the caller that waits longest, also of one that comes
 * later. Only `parent` ends it: every caller has a timer of its own.
 */
export class SharedDeadline extends Deadline {
  readonly #callers: ReadonlySet<{ deadline: Deadline }>;

  constructor(clock: Clock, parent: AbortSignal, callers: ReadonlySet<{ deadline: Deadline }>) {
    super(clock, { parent });
    this.#callers = callers;
  }

  override get until(): number {
    return Math.max(...[...this.#callers].map(({ deadline }) => deadline.until));
  }
}

/** Runs `work` under its own deadline, and releases the deadline afterwards. */
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

/** Reason for work that is aborted because its node or runtime closes. */
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

/**
 * Actions to run when something ends. They are kept in an array, because an ended action must not be reachable from a
 * live one. In Node.js a removed event listener still references the next one, and so does the outgrown table of a Set:
 * where pieces of work always overlap, every one of them would stay in memory until a full garbage collection.
 */
class Followers {
  readonly #actions: (() => void)[] = [];

  get size(): number {
    return this.#actions.length;
  }

  add(action: () => void): void {
    this.#actions.push(action);
  }

  remove(action: () => void): void {
    const at = this.#actions.indexOf(action);
    if (at >= 0) this.#actions.splice(at, 1);
  }

  /** Calls the actions, except those removed meanwhile. An error of one action doesn't stop the others. */
  notify(): void {
    for (const action of [...this.#actions]) if (this.#actions.includes(action)) guard(action)();
  }

  /** For an event target, whose listener this object is. */
  handleEvent(): void {
    this.notify();
  }
}

const followed = new WeakMap<AbortSignal, Followers>();

/**
 * Calls `action` when the signal aborts; the returned function unsubscribes. All actions on a signal share one
 * listener.
 */
function followAbort(signal: AbortSignal, action: () => void): () => void {
  const followers = followed.get(signal) ?? new Followers();
  followed.set(signal, followers);
  if (followers.size === 0) signal.addEventListener('abort', followers, { once: true });
  followers.add(action);
  return () => {
    followers.remove(action);
    if (followers.size === 0) signal.removeEventListener('abort', followers);
  };
}
