import { isOfData } from './database';

/** Statements of one kind at a time. While fewer run, nothing waits for a batch. */
const AT_ONCE = 2;
/** Most rows of one statement, and their size in characters. */
const ROWS = 100;
const CHARACTERS = 250_000;

interface Asked<Row> {
  name: string;
  values: readonly unknown[];
  /** Called with the row of this name, if there is one. */
  resolve: (row: Row | undefined) => void;
  reject: (error: unknown) => void;
}

/**
 * Runs a statement with the values of one or many rows, by column, the names first. Each resulting row has its name.
 * `condition` is what else the statement depends on.
 */
type Run<Row, Condition> = (columns: unknown[][], condition: Condition | undefined) => Promise<Row[]>;

/** Runs one statement for all rows that are asked for while others run, so that they share a commit. */
export class Batches<Row extends { name: string }, Condition> {
  #waiting: Asked<Row>[] = [];
  #running = 0;

  constructor(private readonly run: Run<Row, Condition>) {}

  /** Returns the row of a name, if the statement returns one. A row with a condition has a statement of its own. */
  async ask(name: string, row: readonly unknown[], condition?: Condition): Promise<Row | undefined> {
    const values = [name, ...row];
    if (condition !== undefined) return (await this.run(values.map((value) => [value]), condition))[0]; // oxfmt-ignore
    return new Promise((resolve, reject) => {
      this.#waiting.push({ name, values, resolve, reject });
      this.#start();
    });
  }

  #start(): void {
    while (this.#running < AT_ONCE && this.#waiting.length > 0) void this.#serve(this.#next());
  }

  /** Never rejects. */
  async #serve(batch: readonly Asked<Row>[]): Promise<void> {
    this.#running++;
    await this.#settle(batch);
    this.#running--;
    this.#start();
  }

  /** Never rejects. A row that the database can't store fails alone, without the others of its batch. */
  async #settle(batch: readonly Asked<Row>[]): Promise<void> {
    try {
      const columns = batch[0]?.values.map((_, at) => batch.map(({ values }) => values[at])) ?? [];
      const rows = new Map((await this.run(columns, undefined)).map((row) => [row.name, row]));
      for (const { name, resolve } of batch) resolve(rows.get(name));
    } catch (error) {
      if (batch.length > 1 && isOfData(error)) for (const one of batch) await this.#settle([one]);
      else for (const { reject } of batch) reject(error);
    }
  }

  /** The next batch. A statement can't change a row twice, so a name that is asked for again waits. */
  #next(): Asked<Row>[] {
    const batch = new Map<string, Asked<Row>>();
    let size = 0;
    this.#waiting = this.#waiting.filter((asked) => {
      const larger = size + sizeOf(asked);
      const isFull = batch.size > 0 && (batch.size === ROWS || larger > CHARACTERS);
      if (isFull || batch.has(asked.name)) return true;
      batch.set(asked.name, asked);
      size = larger;
      return false;
    });
    return [...batch.values()];
  }
}

const sizeOf = ({ values }: { values: readonly unknown[] }): number =>
  values.reduce<number>((size, value) => size + (typeof value === 'string' ? value.length : 0), 0);
