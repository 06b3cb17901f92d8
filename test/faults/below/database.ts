import { DatabaseError, type QueryOptions } from '../../../lib/state/database';
import { SharedMemory, type Line, type SharedRuntime } from '../../helpers/shared-memory';
import type { Activity } from './activity';
import type { InjectedTime, MachineClock } from './time';

export interface DatabaseFault {
  /** The statement arrives late, or it is carried out and its answer is late. */
  way: 'there' | 'back';
  ms: number;
  /** The runtime that it strikes; default all. */
  of?: SharedRuntime | undefined;
  /** Statements that it strikes. */
  strikes: (text: string, values: unknown[]) => boolean;
  /** Statements that it lets pass first. */
  skip: number;
}

/** As the pack waits for an answer, ms. */
const ANSWER = 10_000;

/**
 * The database of several runtimes, in memory. A statement whose answer is later than the pack waits for counts as a broken
 * connection, is asked a second time where that is allowed, and is carried out whenever it arrives.
 */
export class FaultyDatabase extends SharedMemory {
  readonly faults = new Set<DatabaseFault>();
  /** Notices as they were sent. */
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

  /** Sends a text to all that listen, as any role of the database may. */
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
