import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ledger, type Entry } from '../../../lib/print/ledger';
import { PendingWaits } from '../../../lib/print/pending-waits';
import { Database } from '../../../lib/postgres/database';
import { PostgresStore } from '../../../lib/postgres/postgres-store';
import { FileStore } from '../../../lib/state/file-store';
import { type StateStore, valuesBelow } from '../../../lib/state/store';
import { systemClock } from '../../../lib/time/clock';
import { NO_PEERS } from '../../../lib/watch/replication/peers';
import { answersUntilKilled } from '../../helpers/killed';
import { testPostgres, type TestPostgres } from '../../helpers/postgres';
import { entryOf, keyOf, OWNER, SCOPE, waitOf } from './begun';

/** Answers after which the process is killed: at the first one, and in the middle. */
const KILLS = [1, 90, 700];

describe('a process that is killed while it begins many prints at once', function () {
  this.timeout(60_000);
  let folder: string;
  let server: TestPostgres;
  before(async () => (server = await testPostgres()));
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'killed-'))));
  afterEach(() => rm(folder, { recursive: true }));

  /** Returns the numbers that the process has answered before its end. */
  const beginUntilKilled = (place: string, answers: number) =>
    answersUntilKilled(join(__dirname, 'beginning-process.ts'), place, answers);

  /** Checks that everything that was answered is there, and that the index lists every key that has an entry. */
  async function check(store: StateStore, answered: number[]): Promise<void> {
    const ledger = new Ledger(store, SCOPE);
    const open = new Set((await ledger.openKeys()).map(({ clusterId }) => clusterId));
    const entries = new Map<string, Entry>();
    for await (const { key, value } of valuesBelow<Entry>(store, ['print-key', ...SCOPE], { limit: 100 }))
      entries.set(key[4] ?? '', value);
    const waits = new PendingWaits(store, systemClock, NO_PEERS);
    // No adoption: it would wait for the lock of the killed process to expire.
    const kept = new Set((await store.get<{ id: string }[]>(['kept-waits', ...OWNER]))?.map(({ id }) => id));
    for (const n of answered) {
      assert.deepEqual(entries.get(keyOf(n).clusterId), { ...entries.get(keyOf(n).clusterId), ...entryOf(n) });
      assert.ok(kept.has(waitOf(n).id), `wait ${n}`);
      assert.deepEqual(await waits.readNote(OWNER, waitOf(n)), { n });
    }
    assert.deepEqual([...entries.keys()].filter((clusterId) => !open.has(clusterId)), []); // oxfmt-ignore
    await waits.close();
  }

  const records = {
    sealedKinds: [],
    secrets: () => [],
    warn: (sentence: unknown) => assert.fail(String(sentence)),
    clock: systemClock,
  };

  for (const answers of KILLS) {
    it(`leaves every key and wait in the folder that it has answered, after ${answers} answers`, async () => {
      const answered = await beginUntilKilled(folder, answers);
      await check(new FileStore({ ...records, folder }), answered);
    });

    it(`leaves every key and wait in the database that it has answered, after ${answers} answers`, async () => {
      const address = await server.fresh();
      const answered = await beginUntilKilled(address, answers);
      const log = { warn: () => undefined, info: () => undefined };
      const store = new PostgresStore({ ...records, database: new Database({ address, clock: systemClock, log }) });
      await check(store, answered);
      await store.close();
    });
  }
});
