import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { startSimulator, type Simulator } from '../../simulator/index';
import { testPostgres, type TestPostgres } from '../helpers/postgres';
import { startRealNodeRed, type RealNodeRed, type RealNodeRedOptions } from '../helpers/real-node-red';
import { lean } from '../helpers/lean';
import { accountOf, credentialsOf, signIn } from './sign-in';

const AT = { z: 'tab', x: 1, y: 1 };

/** A Node-RED without a disk of its own: all its earlier state is in the database. */
describe('Node-RED with its state on PostgreSQL', () => {
  let server: TestPostgres;
  let simulator: Simulator;
  let address: string;
  const running: RealNodeRed[] = [];

  before(async () => {
    server = await testPostgres();
    address = await server.fresh();
    simulator = await startSimulator({ autoApprove: true });
  });
  after(async () => {
    await Promise.all(running.map((nodeRed) => nodeRed.kill()));
    await simulator.close();
  });

  const flows = () => [
    { id: 'tab', type: 'tab', label: 'test' },
    accountOf(simulator),
    { id: 'in', ...AT, type: 'http in', url: '/print', method: 'post', wires: [['make']] },
    {
      id: 'make',
      ...AT,
      type: 'function',
      func: `return { ...msg, payload: ';TIME:60\\nG28\\n', filename: 'part.gcode', printKey: 'once' };`,
      wires: [['print']],
    },
    {
      id: 'print',
      ...AT,
      type: 'remote-printing-upload-and-print',
      account: 'account',
      cluster: simulator.world.cluster(1).clusterId,
      source: 'payload',
      clusterType: 'str',
      wires: [['out'], []],
    },
    { id: 'catch', ...AT, type: 'catch', scope: ['print'], wires: [['failed']] },
    {
      id: 'failed',
      ...AT,
      type: 'function',
      func: 'msg.payload = { error: msg.error.message }; return msg;',
      wires: [['out']],
    },
    { id: 'out', ...AT, type: 'http response', wires: [] },
  ];
  async function start(options: RealNodeRedOptions = {}): Promise<RealNodeRed> {
    const nodeRed = await startRealNodeRed({
      flows: flows(),
      credentials: credentialsOf(simulator),
      settings: {
        ...lean('21-httpin.js', '10-function.js', '25-catch.js'),
        credentialSecret: 'the secret of all',
        remotePrinting: { stateStore: address },
      },
      ...options,
    });
    running.push(nodeRed);
    return nodeRed;
  }
  interface Answer {
    duplicate?: boolean;
    clusterJobId?: string;
    error?: string;
  }
  const print = async (nodeRed: RealNodeRed): Promise<Answer> => {
    const response = await fetch(`${nodeRed.url}print`, { method: 'POST' });
    return (await response.json()) as Answer;
  };
  const until = async (holds: () => Promise<boolean>) => {
    for (const end = Date.now() + 120_000; !(await holds()); await pause(100))
      assert.ok(Date.now() < end, 'never came');
  };

  it('keeps its sign-in and print keys after a crash and a start in an empty folder', async () => {
    const first = await start();
    await signIn(first);
    const printed = await print(first);
    assert.equal(printed.error, undefined);
    assert.equal(printed.duplicate, false);
    assert.deepEqual(
      (await readdir(first.userDir)).filter((name) => name.startsWith('remote-printing')),
      [],
    );
    await first.kill();

    // The database also keeps what it committed.
    await server.halt();
    await server.start();
    const second = await start();
    const again = await print(second);
    assert.deepEqual([again.error, again.duplicate, again.clusterJobId], [undefined, true, printed.clusterJobId]);
    await second.stop();
    assert.deepEqual(second.complaints(), []);
  });

  it('survives any notification from another role of the database', async () => {
    const nodeRed = await start();
    const ask = (statement: string, values: unknown[] = []) =>
      server.ask<{ count: number; usage: number }>(address, statement, values);
    const listeners = "SELECT count(*)::int FROM pg_stat_activity WHERE query ILIKE 'LISTEN %'";
    await until(async () => ((await ask(listeners))[0]?.count ?? 0) > 0);
    for (const text of [
      ...['{"key":5}', '{"key":[5]}', '{"key":[null]}', '{"key":{"0":"grant"}}', '{"by":{}}', '{"topic":7,"by":1}'],
      ...['{"key":["grant","account"],"value":{"a":1}}', '[]', '[[1]]', 'null', '5', '"key"', '', '{', '\u0007'],
      ...['{"__proto__":{"key":5}}', `${'['.repeat(3_000)}${']'.repeat(3_000)}`, `{"key":["${'x'.repeat(7_000)}"]}`],
    ])
      await ask("SELECT pg_notify('remote_printing', $1)", [text]);
    await until(async () => (await ask('SELECT pg_notification_queue_usage() AS usage'))[0]?.usage === 0);
    assert.equal((await print(nodeRed)).duplicate, true);
    await nodeRed.stop();
    assert.deepEqual(nodeRed.complaints(), []);
  });

  it('starts without the database, reports that once, and works when the database is available', async () => {
    await server.halt();
    const nodeRed = await start();
    const refused = await print(nodeRed);
    assert.match(refused.error ?? '', /can't be read now .*check the database/);
    await server.start();
    await until(async () => (await print(nodeRed)).duplicate === true);
    await nodeRed.stop();
    const said = nodeRed.log.filter((line) => line.includes('The database'));
    assert.equal(said.length, 2, said.join('\n'));
    assert.match(said[0] ?? '', /can't be used \(ECONNREFUSED\)/);
    assert.match(said[1] ?? '', /is back/);
    assert.ok(!nodeRed.log.join('\n').includes('nodered@'), 'no address in the log');
  });

  it('reports a credential secret that differs from that of the other runtimes', async () => {
    const nodeRed = await start({
      settings: {
        ...lean('21-httpin.js', '10-function.js', '25-catch.js'),
        credentialSecret: 'another secret',
        remotePrinting: { stateStore: address },
      },
    });
    assert.match((await print(nodeRed)).error ?? '', /another credential secret/);
    // Its own sign-in, which the others can't read, doesn't block theirs.
    await nodeRed.fetch('remote-printing/accounts/account/sign-in', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirectUri: `${nodeRed.url}remote-printing/callback` }),
    });
    await nodeRed.stop();
    const healthy = await start();
    await signIn(healthy);
    assert.equal((await print(healthy)).duplicate, true);
    await healthy.stop();
  });

  it('reads the address of the database from the environment, and uses no folder for a malformed address', async () => {
    const settings = {
      ...lean('21-httpin.js', '10-function.js', '25-catch.js'),
      credentialSecret: 'the secret of all',
    };
    const named = await start({ settings, env: { REMOTE_PRINTING_STATE_STORE: address } });
    assert.equal((await print(named)).duplicate, true);
    await named.stop();
    const wrong = await start({ settings, env: { REMOTE_PRINTING_STATE_STORE: 'somewhere' } });
    assert.match((await print(wrong)).error ?? '', /neither a folder nor a database/);
    assert.deepEqual(
      (await readdir(join(wrong.userDir))).filter((name) => name === 'remote-printing'),
      [],
    );
    await wrong.stop();
  });

  it('keeps the sign-in of a deleted account until no other Node-RED has the account', async () => {
    const stateOf = async (nodeRed: RealNodeRed) => {
      const response = await nodeRed.fetch('remote-printing/accounts/account');
      return ((await response.json()) as { state: string }).state;
    };
    const settings = {
      ...lean('21-httpin.js', '10-function.js', '25-catch.js'),
      credentialSecret: 'the secret of all',
      remotePrinting: { stateStore: await server.fresh() },
    };
    const [one, other] = [await start({ settings }), await start({ settings })];
    await signIn(one);
    await until(async () => {
      const response = await one.fetch('remote-printing/accounts/account/replicas');
      const { replicas } = (await response.json()) as { replicas: unknown[] };
      return replicas.length === 2;
    });
    const withoutAccount = [{ id: 'tab', type: 'tab', label: 'test' }];
    await one.deploy(withoutAccount);
    assert.equal(await stateOf(other), 'signed-in');
    assert.equal((await print(other)).error, undefined);

    await other.deploy(withoutAccount);
    const last = await start({ settings });
    await until(async () => (await stateOf(last)) === 'signed-out');
    await Promise.all([one.stop(), other.stop(), last.stop()]);
  });
});
