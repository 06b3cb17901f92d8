import type { Clock } from '../time/clock';
import { Semaphore } from '../time/concurrency';
import { type Deadline, underDeadline } from '../time/deadline';
import { waitBefore } from '../time/retry';

/** Longest time for one picture, ms. */
const LONGEST = 60_000;
/** Pauses after failures, ms: a printer without a camera is asked ever less often. */
const PAUSES = { first: 60_000, longest: 900_000 };
/** Tries for the picture of an end. */
const END_TRIES = 5;
/** Pictures that are taken at a time. */
const AT_A_TIME = 4;

export interface Picture {
  image: Buffer;
  contentType: string;
}

interface PrintPicturesOptions {
  clock: Clock;
  /** Shortest time between two pictures of a printer, ms. */
  every: number;
  take: (clusterId: string, deadline: Deadline) => Promise<Picture>;
  /** Receives each picture. */
  taken: (clusterId: string, picture: Picture) => void;
}

interface Turn {
  isPrinting: boolean;
  isTaking: boolean;
  /** Whether the end of a print was seen, whose picture is missing. */
  isEndDue: boolean;
  /** Whether the last picture did not reach the broker. */
  isLost: boolean;
  failures: number;
  cancel: (() => void) | null;
}

/** Takes pictures of the printers that print: at regular intervals, and one after the end. */
export class PrintPictures {
  readonly #options: PrintPicturesOptions;
  readonly #turns = new Map<string, Turn>();
  readonly #slots = new Semaphore(AT_A_TIME);
  readonly #closing = new AbortController();

  constructor(options: PrintPicturesOptions) {
    this.#options = options;
  }

  /** Records whether a printer prints. */
  see(clusterId: string, isPrinting: boolean): void {
    const turn = this.#turns.get(clusterId) ?? {
      ...{ isPrinting: false, isTaking: false, isEndDue: false, isLost: false, failures: 0, cancel: null },
    };
    if (isPrinting === turn.isPrinting || this.#closing.signal.aborted) return;
    this.#turns.set(clusterId, turn);
    turn.isPrinting = isPrinting;
    turn.isEndDue = !isPrinting;
    turn.failures = 0;
    if (!turn.isTaking) this.#next(clusterId, turn, 0);
  }

  /** Takes a picture of every printer that prints, and those that are to be repeated: the earlier ones may be lost. */
  renew(): void {
    for (const [clusterId, turn] of this.#turns)
      if ((turn.isPrinting || turn.isLost) && !turn.isTaking) this.#next(clusterId, turn, 0);
  }

  /** The last picture of a printer was lost: the next `renew` takes another one. */
  repeat(clusterId: string): void {
    const turn = this.#turns.get(clusterId);
    if (turn) turn.isLost = true;
  }

  /** A printer belongs to this node no more. */
  drop(clusterId: string): void {
    this.#turns.get(clusterId)?.cancel?.();
    this.#turns.delete(clusterId);
  }

  close(): void {
    this.#closing.abort(new Error('closed'));
    for (const { cancel } of this.#turns.values()) cancel?.();
    this.#turns.clear();
  }

  #next(clusterId: string, turn: Turn, wait: number): void {
    turn.cancel?.();
    turn.cancel = this.#options.clock.after(wait, () => void this.#take(clusterId, turn));
  }

  /** Never rejects: a picture that can't be taken is missing, and the next one is tried later. */
  async #take(clusterId: string, turn: Turn): Promise<void> {
    const { clock, every, take, taken } = this.#options;
    const { signal: parent } = this.#closing;
    const isEnd = turn.isEndDue;
    turn.isTaking = true;
    turn.isEndDue = turn.isLost = false;
    try {
      const work = (deadline: Deadline) => take(clusterId, deadline);
      const picture = await this.#slots.hold(() => underDeadline(clock, { ms: LONGEST, parent }, work));
      turn.failures = 0;
      if (this.#turns.get(clusterId) === turn) taken(clusterId, picture);
    } catch {
      turn.failures++;
      if (isEnd && !turn.isPrinting && turn.failures < END_TRIES) turn.isEndDue = true;
    } finally {
      turn.isTaking = false;
    }
    if (parent.aborted || this.#turns.get(clusterId) !== turn) return;
    const pause = turn.failures > 0 ? waitBefore(turn.failures - 1, PAUSES) : 0;
    // The print may have ended while the picture was taken.
    if (isEndDue(turn)) this.#next(clusterId, turn, isEnd ? pause : 0);
    else if (turn.isPrinting) this.#next(clusterId, turn, Math.max(every, pause));
  }
}

const isEndDue = (turn: Turn): boolean => turn.isEndDue;
