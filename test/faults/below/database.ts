import { DatabaseError, type QueryOptions } from '../../../lib/postgres/database';
import { SharedMemory, type Line, type SharedRuntime } from '../../helpers/shared-memory';
import type { Activity } from './activity';
import type { InjectedTime, MachineClock } from './time';

export interface DatabaseFault {
  /** `there`: the statement arrives late. `back`: it is executed and its answer is late. */
  way: 'there' | 'back';
  ms: number;
  /** Affected runtime; default all. */
  of?: SharedRuntime | undefined;
  /** Whether a statement is affected. */
  strikes: (text: string, values: unknown[]) => boolean;
  /** Number of affected statements that pass first. */
  skip: number;
}

/** The pack's timeout for an answer, ms. */
const ANSWER = 10_000;

/**
 * In-memory database of several runtimes. An answer after the pack's timeout counts as a broken connection. The pack
 * then retries the statement where that is allowed; the first one is still executed when it arrives.
 */
export class FaultyDatabase extends SharedMemory {
  readonly faults = new Set<DatabaseFault>();
  /** Notices in the order in which they were sent. */
  readonly notices: string[] = [];
  readonly #listeners = new Set<(words: string) => void>();

  constructor(
    clock: MachineClock,
    private readonly time: InjectedTime,
    private readonly activity: Activity,
  ) {
    super(clock);
  }

  override line(): Line {
    const plain = super.line();
    const line: Line = {
      query: async (text, values, options) => {
        const ask = () => this.#ask(plain, line, text, values, options);
        return ask().catch((error: unknown) => {
          if (options?.once) throw error;
          return ask();
        });
      },
      listen: (heard) => {
        const inTurn = (words: string | null) => this.activity.turn('a notice', () => heard(words));
        const end = plain.listen((words) => {
          if (words !== null && this.notices.at(-1) !== words) this.notices.push(words);
          inTurn(words);
        });
        this.#listeners.add(inTurn);
        return () => {
          this.#listeners.delete(inTurn);
          end();
        };
      },
      close: () => plain.close(),
    };
    return line;
  }

  /** Sends a text to all listeners, as any role of the database may. */
  say(words: string): void {
    for (const heard of this.#listeners) heard(words);
  }

  async #ask(
    plain: Line,
    line: Line,
    text: string,
    values: unknown[],
    { patience = ANSWER }: QueryOptions = {},
  ): Promise<object[]> {
    const asker = [...this.runtimes].find((runtime) => runtime.line === line);
    const { way, ms } = this.#faultOf(asker, text, values) ?? {};
    const late = () => new Promise<void>((resolve) => this.time.after(ms ?? 0, resolve));
    const done = (async () => {
      if (way === 'there') await late();
      const rows = await plain.query(text, values);
      if (way === 'back') await late();
      return rows;
    })();
    let cancel: () => void = () => undefined;
    const over = new Promise<null>((resolve) => (cancel = this.time.after(patience, () => resolve(null))));
    const rows = await Promise.race([done, over]);
    cancel();
    await new Promise<void>((resolve) => this.activity.turn('the database', resolve));
    if (rows) return rows;
    asker?.broken();
    throw new DatabaseError('ECONNRESET');
  }

  #faultOf(asker: SharedRuntime | undefined, text: string, values: unknown[]): DatabaseFault | undefined {
    return [...this.faults]
      .filter(({ of, strikes }) => (!of || of === asker) && strikes(text, values))
      .find((fault) => fault.skip-- <= 0);
  }
}
