import { randomUUID } from 'node:crypto';
import type { PrintingError } from '../../service/errors';
import { list, record, text } from '../../service/json-readers';
import type { CurrentScope, Key, StateStore } from '../../state/store';
import type { Clock } from '../../time/clock';

/** Kind of the outage that a lost sign-in causes. */
export const SIGN_IN = 'sign-in';

/** Printers affected by an outage: their number, and the names of the first ones. */
export interface AffectedPrinters {
  count: number;
  names: readonly string[];
  /** Id of a single printer. */
  clusterId: string | null;
}

/** Outage in progress. */
export interface Outage {
  id: string;
  kind: string;
  error: PrintingError | null;
  /** Wall time, ms. */
  since: number;
  /** Start, monotonic ms. */
  began: number;
  /** Clusters whose last poll failed. */
  readonly members: Set<string>;
  /** Clusters read successfully since the outage began: their next failure is another outage. */
  readonly recovered: Set<string>;
  /** Clusters to poll before the notice, and how many of them were polled. */
  readonly pending: readonly string[];
  polled: number;
  /** Whether the stored mark lacks members. */
  hasGrown: boolean;
  /** Audiences that have received the notice. */
  notified: Set<string>;
  isReported: boolean;
  /** Notification in flight. */
  notifying: Promise<void> | null;
  /** Affected printers at the time of the report. */
  affected: AffectedPrinters | null;
  /** Time when the mark was last written, monotonic ms. */
  markedAt: number;
  disarm: () => void;
}

type NewOutage = Pick<Outage, 'kind' | 'error' | 'pending' | 'since' | 'began'>;

export const newOutage = (outage: NewOutage): Outage => ({
  ...{ ...outage, id: randomUUID(), members: new Set<string>(), recovered: new Set<string>(), polled: 0 },
  ...{ hasGrown: false, notified: new Set<string>(), isReported: false, notifying: null, affected: null },
  ...{ markedAt: -Infinity, disarm: () => undefined },
});

/** The stored mark of a reported outage. */
export interface Mark {
  id: string;
  /** Wall time, ms. */
  since: number;
  /** Time of the last write, wall time, ms. */
  at: number;
  kind: string;
  /** Null: too many to list. */
  printers: string[] | null;
  /** Audiences that have received the notice. */
  told: string[];
}

/** Outages, kept across deploys. */
export class OutageMemory {
  open: Outage[] = [];
  /** Lets the present watcher report an outage that a closed one could not report. */
  resume: (outage: Outage) => void = () => undefined;
  /** Marks of outages that an earlier process or another runtime has reported. */
  marks: Mark[] = [];
  areMarksRead = false;
  wasSignedIn = false;

  get isSignInLost(): boolean {
    return this.open.some(({ kind }) => kind === SIGN_IN);
  }
}

/** Key kind: reported outages, so that no restart and no other runtime reports them again. */
const OUTAGES = 'outages';
/** Age at which a mark expires, ms. */
const GOOD_FOR = 24 * 3600_000;
/** Longest delay of a notice by an unresponsive store, ms. */
const LONGEST = 5_000;
/** Most printers in a mark. A mark without a list covers any printer. */
const MOST = 1_000;

export const covers = ({ kind, printers }: Mark, of: { kind: string; members: ReadonlySet<string> }): boolean =>
  kind === of.kind && (printers === null || printers.some((clusterId) => of.members.has(clusterId)));

export const printersOf = (members: ReadonlySet<string>): string[] | null =>
  members.size > MOST ? null : [...members];

interface OutageMarksOptions {
  store: StateStore;
  scope: CurrentScope;
  clock: Clock;
  fault: (thrown: unknown) => void;
}

/** Stored marks of an account's reported outages. */
export class OutageMarks {
  #isReading = false;

  constructor(
    private readonly parts: OutageMarksOptions,
    private readonly memory: OutageMemory,
  ) {}

  /** Reads the marks into the memory, once. The next call retries a failure. Never rejects. */
  async load(): Promise<void> {
    const { memory } = this;
    if (memory.areMarksRead || this.#isReading) return;
    this.#isReading = true;
    try {
      const known = new Set(memory.open.map(({ id }) => id));
      const stored = this.#valid(await this.parts.store.get<unknown>(await this.#key()));
      memory.marks = stored.filter(({ id }) => !known.has(id));
      memory.areMarksRead = true;
      const signIn = memory.marks.find(({ kind }) => kind === SIGN_IN);
      if (signIn && !memory.isSignInLost) this.forget(signIn);
    } catch {
      // The next poll retries.
    }
    this.#isReading = false;
  }

  /** Removes a mark that covers a failure from the memory, and returns it. */
  adopt(kind: string, clusterId: string): Mark | null {
    const { memory } = this;
    const mark = memory.marks.find((one) => covers(one, { kind, members: new Set([clusterId]) }));
    if (mark) memory.marks = memory.marks.filter((other) => other !== mark);
    return mark ?? null;
  }

  /** Forgets a mark whose outage has ended. */
  forget({ id }: Pick<Mark, 'id'>): void {
    this.memory.marks = this.memory.marks.filter((mark) => mark.id !== id);
    void this.change((marks) => marks.filter((mark) => mark.id !== id));
  }

  /**
   * Calls `change` once with the stored marks, under the store's lock, and stores the result. Calls it with no marks if
   * the store does not answer in time. Never rejects.
   */
  async change(change: (marks: Mark[]) => Mark[]): Promise<void> {
    const { store, clock, fault } = this.parts;
    let called = false;
    const once = (marks: Mark[]): Mark[] | null => {
      if (called) return null;
      called = true;
      return change(marks);
    };
    await new Promise<void>((resolve) => {
      const disarm = clock.after(LONGEST, () => {
        once([]);
        resolve();
      });
      const write = async () => {
        await store.update<unknown>(
          await this.#key(),
          (stored) => {
            const marks = once(this.#valid(stored));
            if (!marks) return stored;
            return marks.length > 0 ? { marks } : undefined;
          },
          { keepFor: GOOD_FOR },
        );
      };
      write()
        .catch((thrown: unknown) => {
          once([]);
          fault(thrown);
        })
        .finally(() => {
          disarm();
          resolve();
        });
    });
  }

  async #key(): Promise<Key> {
    const [account, service] = await this.parts.scope();
    return [OUTAGES, account, service];
  }

  #valid(stored: unknown): Mark[] {
    const now = this.parts.clock.now();
    return list(record(stored)?.marks).flatMap((entry) => {
      const { id, since, at, kind, printers, told } = record(entry) ?? {};
      if (typeof since !== 'number' || typeof at !== 'number' || Math.abs(now - at) > GOOD_FOR) return [];
      const words = (value: unknown) => list(value).filter((word) => typeof word === 'string');
      const mark = { id: text(id) ?? '', since, at, kind: text(kind) ?? '', told: words(told) };
      return [{ ...mark, printers: printers === null ? null : words(printers) }];
    });
  }
}
