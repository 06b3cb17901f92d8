import { randomUUID } from 'node:crypto';
import type { PrintingError } from '../../service/errors';
import { list, record, text } from '../../service/json-readers';
import type { CurrentScope, Key, StateStore } from '../../state/store';
import type { Clock } from '../../time/clock';
import { settledWithin } from '../../time/concurrency';

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
export class Outage {
  id = randomUUID() as string;
  /** Clusters whose last poll failed. */
  readonly failing = new Set<string>();
  /** Clusters read successfully since the outage began: their next failure is another outage. */
  readonly recovered = new Set<string>();
  /** Audiences that have received the notice. */
  readonly told = new Set<string>();
  isReported = false;
  /** Affected printers when the report began; null before. */
  affected: AffectedPrinters | null = null;
  /** Report in flight. */
  reporting: Promise<void> = Promise.resolve();
  /** Time when the mark was last written, monotonic ms. */
  markedAt = -Infinity;
  /** Whether the mark lacks clusters that fail. */
  hasGrown = false;
  disarm: () => void = () => undefined;

  /**
   * @param since start, wall time, ms
   * @param began start, monotonic ms; -Infinity: in an earlier process or in another runtime
   * @param pending printers to poll before the report
   */
  constructor(
    readonly kind: string,
    public error: PrintingError | null,
    public since: number,
    readonly began: number,
    readonly pending = new Set<string>(),
  ) {}
}

/** Outages, kept across deploys. */
export class OutageMemory {
  open: Outage[] = [];
  /** Marks of outages that an earlier process or another runtime has reported. */
  marks: Mark[] = [];
  areMarksRead = false;
  wasSignedIn = false;

  get signIn(): Outage | undefined {
    return this.open.find(({ kind }) => kind === SIGN_IN);
  }
}

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

/** Most printers in a mark. A mark without a list covers any printer. */
const MOST = 1_000;

/** Returns the mark of an outage at `now`. `before`: the stored one. */
export function markOf({ id, since, kind, failing, told }: Outage, now: number, before: Mark | undefined): Mark {
  const isUnlisted = kind === SIGN_IN || before?.printers === null || failing.size > MOST;
  return { id, since, at: now, kind, printers: isUnlisted ? null : [...failing], told: [...told] };
}

export const covers = ({ kind, printers }: Mark, of: Pick<Outage, 'kind' | 'failing'>): boolean =>
  kind === of.kind && (printers === null || printers.some((clusterId) => of.failing.has(clusterId)));

/** Key kind: reported outages, so that no restart and no other runtime reports them again. */
const OUTAGES = 'outages';
/** Age at which a mark expires, ms. */
const GOOD_FOR = 24 * 3600_000;
/** Longest delay of a notice by an unresponsive store, ms. */
const LONGEST = 5_000;

interface OutageMarksOptions {
  store: StateStore;
  scope: CurrentScope;
  clock: Clock;
  memory: OutageMemory;
  fault: (thrown: unknown) => void;
}

/** Stored marks of an account's reported outages. */
export class OutageMarks {
  #isReading = false;

  constructor(private readonly options: OutageMarksOptions) {}

  /** Reads the marks into the memory. The next call retries a failure. Never rejects. */
  async load(): Promise<void> {
    const { memory, store } = this.options;
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      const known = new Set(memory.open.map(({ id }) => id));
      const stored = this.#valid(await store.get<unknown>(await this.#key()));
      memory.marks = stored.filter(({ id }) => !known.has(id));
      memory.areMarksRead = true;
      const signIn = memory.marks.find(({ kind }) => kind === SIGN_IN);
      if (signIn && !memory.signIn) this.forget(signIn);
    } catch {
      // The next poll retries.
    }
    this.#isReading = false;
  }

  /** Removes a mark that covers a failure from the memory, and returns it. */
  adopt(kind: string, clusterId: string): Mark | undefined {
    const { memory } = this.options;
    const mark = memory.marks.find((one) => covers(one, { kind, failing: new Set([clusterId]) }));
    if (mark) memory.marks = memory.marks.filter((other) => other !== mark);
    return mark;
  }

  /** Forgets a mark whose outage has ended. */
  forget({ id }: Pick<Mark, 'id'>): void {
    const { memory } = this.options;
    memory.marks = memory.marks.filter((mark) => mark.id !== id);
    void this.change((marks) => marks.filter((mark) => mark.id !== id));
  }

  /**
   * Calls `change` once with the stored marks, under the store's lock, and stores the result. Calls it with no marks if
   * the store fails or does not answer in time. Never rejects.
   */
  async change(change: (marks: Mark[]) => Mark[]): Promise<void> {
    const { store, clock, fault } = this.options;
    let isCalled = false;
    const once = (marks: Mark[]): Mark[] | null => {
      if (isCalled) return null;
      isCalled = true;
      return change(marks);
    };
    const write = async () => {
      const merge = (stored: unknown) => {
        const marks = once(this.#valid(stored));
        if (!marks) return stored;
        return marks.length > 0 ? { marks } : undefined;
      };
      await store.update<unknown>(await this.#key(), merge, { keepFor: GOOD_FOR });
    };
    await settledWithin(clock, LONGEST, write().catch(fault));
    once([]);
  }

  async #key(): Promise<Key> {
    const [account, service] = await this.options.scope();
    return [OUTAGES, account, service];
  }

  #valid(stored: unknown): Mark[] {
    const now = this.options.clock.now();
    return list(record(stored)?.marks).flatMap((entry) => {
      const { id, since, at, kind, printers, told } = record(entry) ?? {};
      if (typeof since !== 'number' || typeof at !== 'number' || Math.abs(now - at) > GOOD_FOR) return [];
      const words = (value: unknown) => list(value).filter((word) => typeof word === 'string');
      const mark = { id: text(id) ?? '', since, at, kind: text(kind) ?? '', told: words(told) };
      return [{ ...mark, printers: printers === null ? null : words(printers) }];
    });
  }
}
