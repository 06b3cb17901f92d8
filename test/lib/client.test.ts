import assert from 'node:assert/strict';
import dns from 'node:dns';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { readSettings } from '../../lib/account/settings';
import { Client } from '../../lib/client';
import { grantKey, newestGrant, type Grants } from '../../lib/sign-in/grant';
import type { StoredRef } from '../../lib/service/stored-file';
import type { Source } from '../../lib/upload/content';
import { systemClock } from '../../lib/time/clock';
import { startSimulator, type Simulator } from '../../simulator';
import { recordLongTimers } from '../helpers/long-timers';
import { ManualClock } from '../helpers/manual-clock';
import { MemoryStore } from '../helpers/memory-store';
import { limit } from '../helpers/limits';
import { PRINT } from '../helpers/print-request';
import { injectUndiciTimers } from '../helpers/undici-timers';
import { signedInClient } from '../helpers/simulated-client';
import { pluck } from '../helpers/pluck';

describe('client', () => {
  let simulator: Simulator;
  let store: MemoryStore;
  const opened: Client[] = [];

  const open = async (options: Partial<Parameters<typeof signedInClient>[1]> = {}) => {
    const client = await signedInClient(simulator, { store, clock: systemClock, ...options });
    opened.push(client);
    return client;
  };
  const struck = async (fault: { hits: number }) => {
    while (fault.hits === 0) await new Promise((resolve) => setImmediate(resolve));
  };
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  /** Holds the answer to a request of this endpoint back until `release`. */
  const heldBack = (endpoint: 'token' | 'print') => {
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const fault = simulator.faults.add({ endpoint, when: 'after', until: () => released });
    return { fault, release: () => release() };
  };
  const stored = async () => newestGrant(await store.get<Grants>(grantKey('account')));

  beforeEach(async () => {
    simulator = await startSimulator({ printers: 3 });
    store = new MemoryStore();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((client) => client.close()));
    await simulator.close();
  });

  it('lists only the clusters of the account', async () => {
    const client = await open();
    const organizationId = simulator.users[0]?.organizations[0]?.organizationId;
    const expected = simulator.world.clusters(organizationId).map(({ clusterId }) => clusterId);
    assert.deepEqual(pluck(await client.choices.clusters(), 'clusterId'), expected);
  });

  it('lists the workspaces of its user', async () => {
    const workspaces = await (await open()).choices.workspaces();
    const expected = simulator.users[0]?.organizations ?? [];
    assert.deepEqual(
      pluck(workspaces, 'id'),
      expected.map(({ organizationId }) => organizationId),
    );
    assert.ok(
      workspaces.some(({ name }) => name),
      'by name',
    );
  });

  it('returns diagnostics with counters, without secrets and with shortened ids', async () => {
    const organizationId = simulator.users[0]?.organizations[0]?.organizationId ?? '';
    const client = await open({ config: { organizationId, origin: 'https://shop.example' } });
    await client.choices.clusters();
    const grant = await stored();
    const diagnostics = await client.diagnostics();
    assert.equal(diagnostics.state, 'signed-in');
    assert.equal(diagnostics.settings.signIn, 'oauth');
    assert.equal(diagnostics.settings.hasOrigin, true);
    assert.equal(diagnostics.settings.organizationId, `${organizationId.slice(0, 6)}…`);
    assert.deepEqual([diagnostics.counters.requests, diagnostics.counters.failures], [1, 0]);
    assert.equal(diagnostics.replicas, null);
    const text = JSON.stringify(diagnostics);
    const secrets = [grant?.accessToken, grant?.refreshToken, simulator.client.secret, organizationId];
    for (const secret of secrets) assert.ok(secret && !text.includes(secret));
  });

  it('works with a static token and reports it', async () => {
    const { apiUrl } = simulator;
    const apiToken = simulator.users[0]?.apiToken ?? '';
    const client = new Client({
      accountId: 'account',
      settings: readSettings({ apiUrl, signIn: 'token', apiToken }),
      store,
      clock: systemClock,
      log: { warn: (sentence) => assert.fail(String(sentence)), info: (sentence) => assert.fail(String(sentence)) },
    });
    opened.push(client);
    assert.equal(client.credentials.state, 'unchecked');
    assert.equal((await client.choices.clusters()).length, 3);
    assert.equal(client.credentials.state, 'signed-in');
    const diagnostics = await client.diagnostics();
    assert.equal(diagnostics.settings.signIn, 'token');
    assert.equal(diagnostics.settings.scope, null);
    assert.ok(!JSON.stringify(diagnostics).includes(apiToken));
    await assert.rejects(client.choices.workspaces(), { code: 'NOT_CONFIGURED', message: /account host/ });
  });

  it('logs an outage once at its begin and once at its end, with the name of the printer', async () => {
    const logged: [kind: string, sentence: string][] = [];
    const { authUrl, apiUrl, client: application } = simulator;
    await open();
    const client = new Client({
      accountId: 'account',
      settings: readSettings({ authUrl, apiUrl, clientId: application.id, clientSecret: application.secret }),
      store,
      clock: systemClock,
      log: {
        warn: (sentence) => logged.push(['warn', String(sentence)]),
        info: (sentence) => logged.push(['info', String(sentence)]),
      },
    });
    opened.push(client);
    await client.credentials.ready();
    const clusterId = simulator.world.cluster(1).clusterId;
    const watch = client.watcher.watch({
      clusterId,
      interval: 60,
      milestones: [],
      onRound: () => undefined,
      onEvents: () => undefined,
      onTrouble: () => undefined,
    });
    await watch.ask(() => undefined);
    const fault = simulator.faults.add({ endpoint: 'clusterStatus', status: 403, times: 'always' });
    await watch.ask(() => undefined);
    await watch.ask(() => undefined);
    fault.remove();
    await watch.ask(() => undefined);
    assert.deepEqual(
      logged.map(([kind]) => kind),
      ['warn', 'info'],
    );
    for (const [, sentence] of logged) {
      assert.ok(sentence.includes('Printer '), sentence);
      assert.ok(!sentence.includes(clusterId));
    }
  });

  describe('of an account on https', () => {
    let secure: Server;
    let client: Client;
    /** Name of a host, here resolved to this machine. */
    const HOST = 'printing.example';
    const { lookup } = dns;

    beforeEach(async () => {
      const pem = await readFile(join(__dirname, '../examples/mail-server.pem'));
      secure = createServer({ key: pem, cert: pem }, (socket) => {
        const service = connect(Number(new URL(simulator.apiUrl).port), '127.0.0.1');
        for (const end of [socket, service]) end.on('error', () => [socket, service].forEach((one) => one.destroy()));
        socket.pipe(service).pipe(socket);
      });
      secure.listen(0, '127.0.0.1');
      await once(secure, 'listening');
      process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
      const resolve = (name: string, ...rest: [object, () => void]) =>
        lookup(name === HOST ? 'localhost' : name, ...rest);
      dns.lookup = resolve as typeof lookup;
      const apiToken = simulator.users[0]?.apiToken ?? '';
      client = new Client({
        accountId: 'account',
        settings: readSettings({ apiUrl: address(), signIn: 'token', apiToken }),
        store,
        clock: systemClock,
        log: { warn: () => undefined, info: () => undefined },
      });
      opened.push(client);
    });
    afterEach(async () => {
      dns.lookup = lookup;
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      await client.close();
      await new Promise((resolve) => secure.close(resolve));
    });

    const port = () => (secure.address() as AddressInfo).port;
    const address = () => `https://${HOST}:${port()}`;
    const limits = () => ({ deadline: limit(systemClock) });
    const cube = (): Source => ({ kind: 'bytes', bytes: Buffer.from('solid\n'), name: 'cube.stl' });
    const upload = () => client.library.upload(cube(), 'file', { ...limits(), onStage: () => undefined });
    const print = async () => {
      const [target] = simulator.world.clusters(simulator.users[0]?.organizations[0]?.organizationId);
      const clusterIds = [target?.clusterId ?? ''];
      const { signal } = new AbortController();
      await client.prints.run({ ...PRINT, ...limits(), clusterIds, signal, onResult: () => undefined });
    };
    const snapshot = () =>
      client.snapshots.take({
        clusterId: simulator.world.cluster(1).clusterId,
        printerId: null,
        maxBytes: 1e6,
        onProgress: () => undefined,
        ...limits(),
      });
    /** Stores a file by an account on this machine. */
    const storedFile = async (): Promise<StoredRef> => {
      const own = await open();
      const { file } = await own.library.upload(cube(), 'file', { ...limits(), onStage: () => undefined });
      simulator.requests.clear();
      return { kind: 'file', id: file.fileId ?? '' };
    };
    const download = (ref: StoredRef) =>
      client.library.download(ref, { ...limits(), path: null, onProgress: () => undefined });
    const report = () =>
      client.reports.run({
        clusterIds: null,
        reportType: 'print_jobs',
        range: { from: Date.parse('2026-01-01T00:00:00Z'), to: Date.parse('2026-01-08T00:00:00Z') },
        format: 'csv',
        path: '',
        onlyNew: null,
        onProgress: () => undefined,
        onResult: () => undefined,
        onRows: () => undefined,
        ...limits(),
      });

    for (const [where, url, words] of [
      ['this machine over http', () => undefined, /no valid (upload )?address/],
      ['this machine over https', () => `https://localhost:${port()}/foreign`, /no valid (upload )?address/],
      ['a name that leads to this machine', () => `${address()}/foreign`, /never called|no valid address/],
    ] as const)
      it(`refuses ${where} as the address of every file, and never connects to it`, async () => {
        const ref = await storedFile();
        const given = url();
        if (given)
          for (const [endpoint, field] of [
            ['registerFile', 'upload_url'],
            ['registerUpload', 'upload_url'],
            ['actionStatus', 'image_url'],
            ['getFile', 'download_url'],
            ['getReport', 'download_url'],
          ] as const)
            simulator.faults.add({ endpoint, set: { [`data.${field}`]: given }, times: 'always' });
        const refused = [upload(), print(), snapshot(), download(ref), report()];
        await Promise.all(refused.map((work) => assert.rejects(work, { code: 'SERVICE_ERROR', message: words })));
        const { requests } = simulator;
        for (const never of ['storagePut', 'storageGet', 'imageGet', 'reportGet', 'unknown', 'print'])
          assert.equal(requests.count(never), 0, never);
        assert.deepEqual([requests.count('registerFile'), requests.count('registerUpload')], [1, 1]);
      });
  });

  describe('closing', () => {
    let restoreTimers = () => {};
    afterEach(() => restoreTimers());

    it('aborts reads and accepts no further calls', async () => {
      const client = await open();
      const hanging = simulator.faults.add({ endpoint: 'clusters', hang: true });
      const reading = client.choices.clusters();
      reading.catch(() => undefined);
      await struck(hanging);
      const timers = recordLongTimers();
      await client.close();
      timers.end();
      assert.deepEqual(timers.fired, []);
      await assert.rejects(reading, { code: 'TIMEOUT', message: /closed/ });
      const before = simulator.requests.count();
      await assert.rejects(client.choices.clusters(), { code: 'TIMEOUT' });
      assert.equal(simulator.requests.count(), before);
    });

    it('waits for a refresh and stores its new pair', async () => {
      const client = await open();
      simulator.tokens.expireAccessTokens();
      const slow = simulator.faults.add({ endpoint: 'token', delay: 150 });
      const reading = client.choices.clusters();
      reading.catch(() => undefined);
      await struck(slow);
      await client.close();
      assert.deepEqual([(await stored())?.refreshToken], simulator.tokens.refreshTokens);
      assert.equal(simulator.tokens.refreshes, 1);
      await assert.rejects(reading);
    });

    it('waits fourteen of the fifteen seconds that Node-RED allows', async () => {
      const clock = new ManualClock(Date.now());
      const client = await open({ clock });
      const { fault, release } = heldBack('token');
      simulator.tokens.expireAccessTokens();
      client.choices.clusters().catch(() => undefined);
      await struck(fault);
      let closed = false;
      const closing = client.close().then(() => (closed = true));
      await clock.advance(13_999);
      assert.equal(closed, false);
      await clock.advance(1);
      await closing;
      release();
    });

    for (const seconds of [12, 20, 35, 300])
      it(`keeps the sign-in if a refresh is answered after ${seconds} s, across a deploy`, async () => {
        const clock = new ManualClock(Date.now());
        restoreTimers = injectUndiciTimers((ms, action) => clock.after(ms, action));
        const before = await open({ clock });
        simulator.tokens.expireAccessTokens();
        const { fault, release } = heldBack('token');
        before.choices.clusters().catch(() => undefined);
        await struck(fault);
        const closing = before.close();
        await clock.advance(Math.min(14, seconds) * 1000);
        if (seconds > 14) await closing;
        const after = await open({ clock });
        await clock.advance(2_000);
        await after.credentials.ready();
        assert.equal(after.credentials.state, 'signed-in');
        // Its own request is refused first; then it waits for the refresh of the previous instance.
        const reading = after.choices.clusters();
        reading.catch(() => undefined);
        while (!simulator.requests.list().some(({ endpoint }) => endpoint === 'clusters')) await turn();
        await clock.advance(Math.max(0, seconds - 14) * 1000);
        release();
        await closing;
        while ((await stored())?.refreshToken !== simulator.tokens.refreshTokens[0]) await turn();
        await reading.catch(() => undefined);
        assert.ok((await after.choices.clusters()).length > 0);
        assert.deepEqual([simulator.tokens.refreshes, simulator.tokens.reuseDetections], [1, 0]);
      });

    it('sends no refresh that has not left yet', async () => {
      const client = await open();
      simulator.tokens.expireAccessTokens();
      const put = store.put.bind(store);
      let closing: Promise<void> | undefined;
      store.put = async (key, value) => {
        await put(key, value);
        if (key[0] === 'refresh-begun') closing = client.close();
      };
      await assert.rejects(client.choices.clusters());
      await closing;
      assert.equal(simulator.tokens.refreshes, 0);
      assert.equal(simulator.requests.list().filter(({ endpoint }) => endpoint === 'token').length, 0);
    });

    it('leaves no timer', async () => {
      const clock = new ManualClock(Date.now());
      const client = await open({ clock });
      const watch = client.watcher.watch({
        clusterId: null,
        interval: 60,
        milestones: [],
        onRound: () => undefined,
        onEvents: () => undefined,
        onTrouble: () => undefined,
      });
      await watch.ask(() => undefined);
      assert.ok(clock.waiting > 0);
      await client.close();
      assert.equal(clock.waiting, 0);
    });

    it('can be repeated', async () => {
      const client = await open();
      await client.close();
      await client.close();
    });
  });
});
