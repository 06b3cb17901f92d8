import assert from 'node:assert/strict';
import type { NodeAPI } from 'node-red';
import { savedState } from '../../../nodes/shared/saved-state';
import { systemClock } from '../../../lib/time/clock';
import type { Sentence } from '../../../lib/words/sentence';
import { testPostgres, type TestPostgres } from '../../helpers/postgres';

describe('savedState on PostgreSQL', () => {
  let server: TestPostgres;
  before(async () => {
    server = await testPostgres();
  });

  it('leaves the connections open at a close after which the next flows use them already, and ends them otherwise', async () => {
    const stateStore = await server.fresh();
    const settings = { remotePrinting: { stateStore }, get: () => 'the secret of all' };
    const log = { warn: (text: Sentence) => assert.fail(String(text)), info: () => undefined };
    const state = savedState({ settings } as unknown as NodeAPI, { folder: '/never/used', clock: systemClock, log });
    const connections = async (): Promise<number[]> => {
      const rows = await server.ask<{ pid: number }>(
        stateStore,
        `SELECT pid FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'remote-printing' ORDER BY pid`,
      );
      return rows.map(({ pid }) => pid);
    };

    await state.store.update(['print-key', 'one'], () => 'printed');
    const open = await connections();
    assert.ok(open.length > 0);
    await state.close(() => true);
    assert.deepEqual(await connections(), open);
    await state.close(() => false);
    // The server ends its side a moment later.
    while ((await connections()).length > 0);
  });
});
