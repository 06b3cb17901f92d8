import type { Clock } from '../time/clock';
import { Semaphore } from '../time/concurrency';
import { type Deadline, underDeadline } from '../time/deadline';
import { guard } from '../time/guard';
import { waitBefore } from '../time/retry';

/** Shortest time between two pictures of a printer, ms; the one after an end does not wait for it. */
const APART = 30_000;
/** Longest time for one picture, ms. */
const LONGEST = 60_000;
/** Pauses after failures, ms: a printer without a camera is asked ever less often. */
const PAUSES = { first: 60_000, longest: 900_000 };
/** Time without a look after which a picture is dropped, ms. */
const KEPT = 15 * 60_000;
/** Bytes of the pictures of ended prints to keep, the newest first. */
const KEPT_BYTES = 32 * 1024 * 1024;
/** Pictures that are taken at a time. */
const AT_A_TIME = 4;

export interface Picture {
  image: Buffer;
  contentType: string;
  /** ISO 8601. */
  takenAt: string;
}

/** A printer, as far as its pictures are concerned. */
export interface Subject {
  id: string;
  clusterId: string;
  printerId: string | null;
  isOnline: boolean;
  /** The print under way; null: none. Its end is worth one more picture. */
  print: string | null;
}

interface PicturesOptions {
  clock: Clock;
  take: (subject: Subject, deadline: Deadline) => Promise<Picture>;
  /** Called after each new picture. */
  changed: () => void;
}

interface Shelf {
  picture: Picture | null;
  /** The print that the picture shows. */
  print: string | null;
  /** Monotonic, ms. */
  lookedAt: number;
  askedAt: number;
  failures: number;
  isTaking: boolean;
}

/** Pictures of the printers, shared by all pages of a board, and taken while somebody looks (board, 3). */
export class Pictures {
  readonly #options: PicturesOptions;
  readonly #shelves = new Map<string, Shelf>();
  readonly #ends = new Map<string, Picture>();
  readonly #slots = new Semaphore(AT_A_TIME);
  readonly #closing = new AbortController();

  constructor(options: PicturesOptions) {
    this.#options = options;
  }

  /** The last picture of a printer. */
  of(id: string): Picture | null {
    return this.#shelves.get(id)?.picture ?? null;
  }

  /** The picture after the end of a print, by its `clusterJobId`. */
  ofPrint(print: string): Picture | null {
    return this.#ends.get(print) ?? null;
  }

  /** Some page shows these printers just now, and shows them again soon: takes the pictures that are due. */
  look(subjects: readonly Subject[]): void {
    const now = this.#options.clock.monotonic();
    for (const [id, shelf] of this.#shelves)
      if (!shelf.isTaking && now - shelf.lookedAt > KEPT) this.#shelves.delete(id);
    for (const subject of subjects) {
      const shelf = this.#shelf(subject.id);
      shelf.lookedAt = now;
      if (isDue(shelf, subject, now)) void this.#take(shelf, subject);
    }
  }

  close(): void {
    this.#closing.abort(new Error('closed'));
    this.#shelves.clear();
  }

  #shelf(id: string): Shelf {
    const shelf: Shelf = this.#shelves.get(id) ?? {
      ...{ picture: null, print: null, lookedAt: 0 },
      ...{ askedAt: -Infinity, failures: 0, isTaking: false },
    };
    this.#shelves.set(id, shelf);
    return shelf;
  }

  #keepEnd(print: string, picture: Picture): void {
    this.#ends.set(print, picture);
    let bytes = 0;
    for (const { image } of this.#ends.values()) bytes += image.length;
    for (const [oldest, { image }] of this.#ends) {
      if (bytes <= KEPT_BYTES) return;
      bytes -= image.length;
      this.#ends.delete(oldest);
    }
  }

  /** Never rejects. */
  async #take(shelf: Shelf, subject: Subject): Promise<void> {
    const { clock, take, changed } = this.#options;
    const { signal: parent } = this.#closing;
    shelf.isTaking = true;
    shelf.askedAt = clock.monotonic();
    try {
      const work = (deadline: Deadline) => take(subject, deadline);
      shelf.picture = await this.#slots.hold(() => underDeadline(clock, { ms: LONGEST, parent }, work));
      if (shelf.print && subject.print === null) this.#keepEnd(shelf.print, shelf.picture);
      shelf.print = subject.print;
      shelf.failures = 0;
      guard(changed)();
    } catch {
      shelf.failures++;
    } finally {
      shelf.isTaking = false;
    }
  }
}

function isDue(shelf: Shelf, { isOnline, print }: Subject, now: number): boolean {
  if (shelf.isTaking || !isOnline) return false;
  const isAfterEnd = shelf.print !== null && print === null;
  const pause = shelf.failures > 0 ? waitBefore(shelf.failures - 1, PAUSES) : isAfterEnd ? 0 : APART;
  if (now - shelf.askedAt < pause) return false;
  return shelf.picture === null || print !== null || isAfterEnd;
}
