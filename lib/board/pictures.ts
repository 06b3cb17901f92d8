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
/** Bytes of pictures to keep, the newest first: those of the printers, and those of ended prints. */
const KEPT_BYTES = { printers: 64 * 1024 * 1024, ends: 32 * 1024 * 1024 };
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
  /** The print that the last picture shows. */
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
  /** By printer, and by print; the newest last. */
  readonly #pictures = new Map<string, Picture>();
  readonly #ends = new Map<string, Picture>();
  readonly #slots = new Semaphore(AT_A_TIME);
  readonly #closing = new AbortController();

  constructor(options: PicturesOptions) {
    this.#options = options;
  }

  /** The last picture of a printer. */
  of(id: string): Picture | null {
    return this.#pictures.get(id) ?? null;
  }

  /** The picture after the end of a print, by its `clusterJobId`. */
  ofPrint(print: string): Picture | null {
    return this.#ends.get(print) ?? null;
  }

  /** Some page shows these printers just now, and shows them again soon: takes the pictures that are due. */
  look(subjects: readonly Subject[]): void {
    const now = this.#options.clock.monotonic();
    for (const [id, shelf] of this.#shelves)
      if (!shelf.isTaking && now - shelf.lookedAt > KEPT) {
        this.#shelves.delete(id);
        this.#pictures.delete(id);
      }
    for (const subject of subjects) {
      const shelf = this.#shelf(subject.id);
      shelf.lookedAt = now;
      if (isDue(shelf, subject, this.#pictures.has(subject.id), now)) void this.#take(shelf, subject);
    }
  }

  close(): void {
    this.#closing.abort(new Error('closed'));
    this.#shelves.clear();
    this.#pictures.clear();
  }

  #shelf(id: string): Shelf {
    const shelf: Shelf = this.#shelves.get(id) ?? {
      ...{ print: null, lookedAt: 0 },
      ...{ askedAt: -Infinity, failures: 0, isTaking: false },
    };
    this.#shelves.set(id, shelf);
    return shelf;
  }

  /** Never rejects. */
  async #take(shelf: Shelf, subject: Subject): Promise<void> {
    const { clock, take, changed } = this.#options;
    const { signal: parent } = this.#closing;
    shelf.isTaking = true;
    shelf.askedAt = clock.monotonic();
    try {
      const work = (deadline: Deadline) => take(subject, deadline);
      const picture = await this.#slots.hold(() => underDeadline(clock, { ms: LONGEST, parent }, work));
      keep(this.#pictures, subject.id, picture, KEPT_BYTES.printers);
      if (shelf.print && subject.print === null) keep(this.#ends, shelf.print, picture, KEPT_BYTES.ends);
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

/** Keeps a picture, and drops the oldest ones beyond so many bytes. */
function keep(pictures: Map<string, Picture>, id: string, picture: Picture, most: number): void {
  pictures.delete(id);
  pictures.set(id, picture);
  let bytes = 0;
  for (const { image } of pictures.values()) bytes += image.length;
  for (const [oldest, { image }] of pictures) {
    if (bytes <= most) return;
    bytes -= image.length;
    pictures.delete(oldest);
  }
}

function isDue(shelf: Shelf, { isOnline, print }: Subject, hasPicture: boolean, now: number): boolean {
  if (shelf.isTaking || !isOnline) return false;
  const isAfterEnd = shelf.print !== null && print === null;
  const pause = shelf.failures > 0 ? waitBefore(shelf.failures - 1, PAUSES) : isAfterEnd ? 0 : APART;
  if (now - shelf.askedAt < pause) return false;
  return !hasPicture || print !== null || isAfterEnd;
}
