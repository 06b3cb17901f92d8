import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeAPI } from 'node-red';
import { savedState } from '../../../nodes/shared/saved-state';
import { AssistantRequests } from '../../../lib/assistant/requests';
import { Remnants } from '../../../lib/home-assistant/remnants';
import { PendingWaits, type WaitOwner } from '../../../lib/print/pending-waits';
import { withDeliveredRows } from '../../../lib/report/delivered-rows';
import { PendingAuthorizations } from '../../../lib/sign-in/pending-authorizations';
import type { Key, Scope, StateStore } from '../../../lib/state/store';
import { underDeadline } from '../../../lib/time/deadline';
import { CheckpointStore, SOLE_OWNER } from '../../../lib/watch/checkpoints/checkpoint-store';
import { ScopeMemory } from '../../../lib/watch/checkpoints/memory';
import { NO_PEERS } from '../../../lib/watch/replication/peers';
import { systemClock } from '../../../lib/time/clock';
import type { Sentence } from '../../../lib/words/sentence';
import { testPostgres, type TestPostgres } from '../../helpers/postgres';

describe('savedState in a folder', () => {
  let folder: string;
  beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'state-'))));
  afterEach(() => rm(folder, { recursive: true }));

  for (const odd of [null, {}, 'x', 5, [null], [{}]])
    it(`sets a list of waiting prints aside that is ${JSON.stringify(odd)}, and goes on without it`, async () => {
      const warnings: string[] = [];
      const log = { warn: (text: Sentence) => warnings.push(String(text)), info: () => undefined };
      const RED = { settings: { get: () => undefined } } as unknown as NodeAPI;
      const { store } = savedState(RED, { folder, clock: systemClock, log });
      const owner: WaitOwner = ['account', 'service', 'workspace', 'node'];
      await store.put(['kept-waits', ...owner], odd);
      const waits = new PendingWaits(store, systemClock, NO_PEERS);
      assert.deepEqual((await waits.adopt(owner)).waits, []);
      await waits.keep(owner, { id: 'a', since: 0 }, null, (error) => assert.fail(String(error)));
      assert.deepEqual((await waits.adopt(owner)).waits, [{ id: 'a', since: 0 }]);
      assert.deepEqual(warnings, ['The saved kept-waits is damaged; it was set aside and is treated as missing.']);
      await waits.close();
    });
});

describe('savedState with a value of another shape', () => {
  const SCOPE: Scope = ['account', 'service', 'workspace'];
  const signIn = { authUrl: 'https://a.b', clientId: 'c', clientSecret: 's', scope: '' };
  /** Users of a value, each with its key and some odd shapes. */
  const users: Record<string, { key: Key; odd: unknown[]; use: (store: StateStore) => Promise<unknown> }> = {
    report: {
      key: ['report-rows', ...SCOPE, 'node'],
      odd: [5, {}, [null]],
      use: (store) =>
        underDeadline(systemClock, { ms: 10_000 }, (deadline) =>
          withDeliveredRows(store, { scope: SCOPE, name: 'node', deadline }, async (rows) => rows.add([{ uuid: '1' }])),
        ),
    },
    'sign-in': {
      key: ['sign-in', 'account'],
      odd: [null, 5, {}, { pending: [null], latest: null }, { pending: [], latest: 5 }],
      use: async (store) => {
        const signIns = new PendingAuthorizations(store, systemClock);
        await signIns.known('account', () => true);
        const beginning = { accountId: 'account', settings: signIn, redirectUri: 'https://c.d/', organizationId: '' };
        assert.ok(await signIns.use(await signIns.begin(beginning)));
      },
    },
    assistant: {
      key: ['assistant-request', ...SCOPE, 'node', 'handle'],
      odd: [null, 5],
      use: (store) =>
        new AssistantRequests({ store, clock: systemClock, nodeId: 'node', scope: async () => SCOPE }).open(),
    },
    'poll of a printer': {
      key: ['checkpoint', ...SCOPE, 'cluster'],
      odd: [null, 5, { version: 2 }, { version: 2, known: [] }],
      use: (store) => {
        const scope = new ScopeMemory(SCOPE);
        return checkpointsOf(store).load(scope, 'cluster', scope.of('cluster'));
      },
    },
    'read of the list': {
      key: ['checkpoint', ...SCOPE],
      odd: [null, 5, { version: 2 }, { version: 2, count: 0, known: [null] }],
      use: (store) => {
        const scope = new ScopeMemory(SCOPE);
        return checkpointsOf(store).loadList(scope, scope.list);
      },
    },
    'printer that left Home Assistant': {
      key: ['home-assistant-remnant', 'node', 'printer'],
      odd: [null, 5],
      use: (store) => new Remnants(store, 'node').all(),
    },
  };
  const checkpointsOf = (store: StateStore) =>
    new CheckpointStore(store, systemClock, SOLE_OWNER, (thrown) => assert.fail(String(thrown)));
  let folder: string;
  beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'state-'))));
  afterEach(() => rm(folder, { recursive: true }));

  for (const [name, { key, odd, use }] of Object.entries(users))
    it(`sets it aside, and goes on without it: ${name}`, async () => {
      for (const value of odd) {
        const warnings: string[] = [];
        const log = { warn: (text: Sentence) => warnings.push(String(text)), info: () => undefined };
        const RED = { settings: { get: () => undefined } } as unknown as NodeAPI;
        const { store } = savedState(RED, { folder, clock: systemClock, log });
        await store.put(key, value);
        await use(store);
        assert.deepEqual(warnings, [`The saved ${key[0]} is damaged; it was set aside and is treated as missing.`]);
        await store.delete(key);
      }
    });
});

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
