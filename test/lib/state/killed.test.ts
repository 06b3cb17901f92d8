import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database } from '../../../lib/postgres/database';
import { PostgresStore } from '../../../lib/postgres/postgres-store';
import { FileStore } from '../../../lib/state/file-store';
import type { StateStore } from '../../../lib/state/store';
import { systemClock } from '../../../lib/time/clock';
import { answersUntilKilled } from '../../helpers/killed';
import { testPostgres, type TestPostgres } from '../../helpers/postgres';

interface Item {
  n: number;
  filling: string;
}

/** Answers after which the process is killed: at the first one, and in the middle. */
const KILLS = [1, 90, 333];

describe('a process that is killed while it adds many values at once', () => {
  let folder: string;
  let server: TestPostgres;
  let warnings: string[];
  before(async () => (server = await testPostgres()));
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'killed-'));
    warnings = [];
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** Returns the numbers that the process has answered before its end. */
  const addUntilKilled = (place: string, answers: number) =>
    answersUntilKilled(join(__dirname, 'adding-process.ts'), place, answers);

  /** Values that are there, by their number, each checked for being whole. */
  async function saved(store: StateStore): Promise<Set<number>> {
    const found = new Set<number>();
    let after: string | undefined;
    do {
      const { entries, next } = await store.list<Item>(['item'], { after, limit: 100 });
      for (const { key, value } of entries) {
        assert.deepEqual(value, { n: Number(key[1]), filling: 'x'.repeat(1_500) });
        found.add(value.n);
      }
      after = next ?? undefined;
    } while (after !== undefined);
    assert.deepEqual(warnings, []);
    return found;
  }

  const records = {
    sealedKinds: [],
    secrets: () => [],
    warn: (sentence: unknown) => void warnings.push(String(sentence)),
    clock: systemClock,
  };

  for (const answers of KILLS) {
    it(`leaves every value in the folder that it has answered, after ${answers} answers`, async () => {
      const answered = await addUntilKilled(folder, answers);
      const store = new FileStore({ ...records, folder });
      const found = await saved(store);
      assert.deepEqual(answered.filter((n) => !found.has(n)), []); // oxfmt-ignore
    });

    it(`leaves every value in the database that it has answered, after ${answers} answers`, async () => {
      const address = await server.fresh();
      const answered = await addUntilKilled(address, answers);
      const log = { warn: () => undefined, info: () => undefined };
      const store = new PostgresStore({ ...records, database: new Database({ address, clock: systemClock, log }) });
      const found = await saved(store);
      await store.close();
      assert.deepEqual(answered.filter((n) => !found.has(n)), []); // oxfmt-ignore
    });
  }
});
