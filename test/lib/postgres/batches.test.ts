import assert from 'node:assert/strict';
import { Batches } from '../../../lib/postgres/batches';
import { settle } from '../../helpers/manual-clock';

interface Statement {
  columns: unknown[][];
  condition: string | undefined;
  end(names?: string[]): void;
  fail(): void;
  /** Refuses a value. */
  refuse(): void;
}

describe('postgres/batches', () => {
  let statements: Statement[];
  let batches: Batches<{ name: string }, string>;

  beforeEach(() => {
    statements = [];
    batches = new Batches(
      (columns, condition) =>
        new Promise((resolve, reject) => {
          const end = (names = columns[0] as string[]) => resolve(names.map((name) => ({ name })));
          const refuse = () => reject(Object.assign(new Error('out of range'), { code: '22008' }));
          statements.push({ columns, condition, end, refuse, fail: () => reject(new Error('away')) });
        }),
    );
  });

  /** Asks for rows and notes the results. */
  function ask(...names: string[]): Map<string, string> {
    const ended = new Map<string, string>();
    for (const name of names)
      batches.ask(name, [`value of ${name}`]).then(
        (row) => ended.set(name, row?.name ?? 'none'),
        (error: unknown) => ended.set(name, (error as Error).message),
      );
    return ended;
  }
  const namesOf = () => statements.map(({ columns }) => columns[0]);
  const numbered = (count: number) => Array.from({ length: count }, (_, n) => `${n}`);

  it('runs a statement at once while fewer than two run', async () => {
    const ended = ask('a', 'b');
    assert.deepEqual(namesOf(), [['a'], ['b']]);
    assert.deepEqual(statements[0]!.columns, [['a'], ['value of a']]);
    statements[1]!.end();
    await settle();
    assert.deepEqual([...ended], [['b', 'b']]);
    ask('c');
    assert.deepEqual(namesOf(), [['a'], ['b'], ['c']]);
  });

  it('runs one statement for all rows that were asked for meanwhile', async () => {
    const ended = ask('a', 'b', 'c', 'd');
    assert.equal(statements.length, 2);
    statements[0]!.end();
    await settle();
    assert.deepEqual(statements[2]!.columns, [['c', 'd'], ['value of c', 'value of d']]); // oxfmt-ignore
    statements[2]!.end(['d']);
    await settle();
    assert.deepEqual([...ended], [['a', 'a'], ['c', 'none'], ['d', 'd']]); // oxfmt-ignore
  });

  it('fails only the row that the database refuses, and runs the others of its batch alone', async () => {
    const ended = ask('a', 'b', 'c', 'd', 'e');
    statements[0]!.end();
    await settle();
    statements[2]!.refuse();
    await settle();
    statements[3]!.end();
    await settle();
    statements[4]!.refuse();
    await settle();
    statements[5]!.end();
    await settle();
    assert.deepEqual(namesOf(), [['a'], ['b'], ['c', 'd', 'e'], ['c'], ['d'], ['e']]);
    assert.deepEqual([...ended], [['a', 'a'], ['c', 'c'], ['d', 'out of range'], ['e', 'e']]); // oxfmt-ignore
  });

  it('limits a statement to a hundred rows', async () => {
    ask('a', 'b', ...numbered(150));
    statements[0]!.end();
    statements[1]!.end();
    await settle();
    assert.deepEqual(namesOf().map((names) => names!.length), [1, 1, 100, 50]); // oxfmt-ignore
    assert.deepEqual(namesOf().slice(2).flat(), numbered(150));
  });

  it('limits the size of a statement, but not of a single row', async () => {
    ask('a', 'b');
    const sizes = [100_000, 100_000, 100_000, 900_000];
    sizes.forEach((size, at) => void batches.ask(`${at}`, ['x'.repeat(size)]));
    for (let n = 0; n < 4; n++) {
      statements[n]!.end();
      await settle();
    }
    assert.deepEqual(namesOf(), [['a'], ['b'], ['0', '1'], ['2'], ['3']]);
  });

  it('never asks for a name twice in a statement', async () => {
    ask('a', 'b');
    ask('c');
    ask('c');
    ask('d');
    statements[0]!.end();
    await settle();
    statements[1]!.end();
    await settle();
    assert.deepEqual(namesOf(), [['a'], ['b'], ['c', 'd'], ['c']]);
  });

  it('rejects the rows of a failed statement, and no others', async () => {
    const ended = ask('a', 'b', 'c', 'd');
    statements[0]!.end();
    await settle();
    statements[2]!.fail();
    const later = ask('e');
    await settle();
    assert.deepEqual([...ended], [['a', 'a'], ['c', 'away'], ['d', 'away']]); // oxfmt-ignore
    statements[3]!.end();
    await settle();
    assert.deepEqual([...later], [['e', 'e']]);
  });

  it('runs a row with a condition alone and at once', async () => {
    ask('a', 'b', 'c');
    const own = batches.ask('d', ['value'], 'a condition');
    assert.deepEqual(namesOf(), [['a'], ['b'], ['d']]);
    assert.equal(statements[2]!.condition, 'a condition');
    statements[2]!.end();
    assert.deepEqual(await own, { name: 'd' });
  });
});
