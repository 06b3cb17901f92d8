import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeAPI } from 'node-red';
import { Client } from '../../../lib/client';
import { runtimeOf } from '../../../nodes/shared/runtime';
import { openSimulated } from '../../../nodes/shared/simulated-service';
import { limit } from '../../helpers/limits';
import { testPostgres, type TestPostgres } from '../../helpers/postgres';

describe('nodes/simulated-service: each of two Node-REDs on one database', () => {
  let server: TestPostgres;
  let stateStore: string;
  const ends: (() => Promise<void>)[] = [];

  before(async () => {
    server = await testPostgres();
    stateStore = await server.fresh();
  });
  after(async () => {
    for (const end of ends) await end();
  });

  async function open(): Promise<Client> {
    const userDir = await mkdtemp(join(tmpdir(), 'node-red-'));
    const settings = { userDir, remotePrinting: { stateStore }, get: () => undefined };
    const log = { warn: () => undefined, info: () => undefined };
    const runtime = runtimeOf({ settings, log, _: String } as unknown as NodeAPI);
    const leave = runtime.upkeep.use();
    const { settings: its, close } = await openSimulated(runtime, 'account');
    const { clock, ownStore: store } = runtime;
    const client = new Client({ accountId: 'account', settings: its, store, clock, log, simulated: true });
    ends.push(async () => {
      await client.close();
      await close();
      await leave();
      await rm(userDir, { recursive: true });
    });
    return client;
  }

  it('has its own world, and is signed in there', async () => {
    const clients = [await open(), await open()];
    for (const client of clients) {
      const deadline = limit(client.clock);
      const token = await client.credentials.bearer(deadline);
      const renewed = await client.credentials.refresh(token, { host: 'api', deadline });
      assert.notEqual(renewed, token);
      assert.ok((await client.choices.clusters()).length > 0);
    }
    assert.deepEqual(
      clients.map(({ credentials }) => credentials.state),
      ['signed-in', 'signed-in'],
    );
  });
});
