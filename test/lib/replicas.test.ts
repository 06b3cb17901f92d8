import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { Dispatcher, type DispatchRequest } from '../../lib/print/dispatcher';
import { Ledger } from '../../lib/print/ledger';
import { JobListReader } from '../../lib/print/job-list-reader';
import type { CallOptions } from '../../lib/account/api-client';
import { withDeliveredRows } from '../../lib/report/delivered-rows';
import { PrintingError } from '../../lib/service/errors';
import { Authorization } from '../../lib/sign-in/authorization';
import { grantFor, grantKey, type Grant, type Grants } from '../../lib/sign-in/grant';
import type { TokenEndpoint } from '../../lib/sign-in/token-endpoint';
import { Tokens } from '../../lib/sign-in/tokens';
import { Database } from '../../lib/postgres/database';
import { WriteBehindStore } from '../../lib/state/write-behind-store';
import { PostgresStore } from '../../lib/postgres/postgres-store';
import type { Scope } from '../../lib/state/store';
import type { Lock } from '../../lib/state/membership';
import { underDeadline } from '../../lib/time/deadline';
import { phrase } from '../../lib/words/sentence';
import { systemClock } from '../../lib/time/clock';
import { limit } from '../helpers/limits';
import { ManualClock } from '../helpers/manual-clock';
import { testPostgres, type TestPostgres } from '../helpers/postgres';
import { startProxy, type Passage } from '../helpers/proxy';
import { ScriptedService } from '../helpers/scripted-service';

const SCOPE: Scope = ['account', 'service', 'workspace'];
const ENTRY = "SELECT content FROM remote_printing.entries WHERE kind = 'grant'";
const SETTINGS = { authUrl: 'https://auth.example', clientId: 'id', clientSecret: 'secret', scope: 'all' };

describe('several runtimes on one database', () => {
  let server: TestPostgres;
  let address: string;
  let databases: Database[];

  before(async () => (server = await testPostgres()));
  beforeEach(async () => {
    address = await server.fresh();
    databases = [];
  });
  afterEach(async () => {
    await Promise.all(databases.map((database) => database.close()));
  });

  function replica(clock = systemClock, at = address, secret = 'a secret'): WriteBehindStore {
    const log = { warn: () => undefined, info: () => undefined };
    const database = new Database({ address: at, clock, log });
    databases.push(database);
    const kinds = { sealedKinds: ['grant', 'sign-in'], passingKinds: ['sign-in'] };
    const parts = { clock, ...kinds, secrets: () => [secret], warn: () => undefined };
    return new WriteBehindStore(new PostgresStore({ ...parts, database }), clock, 5_000);
  }
  /** A runtime that may take an expired lock over. */
  async function steady(): Promise<{ clock: ManualClock; store: WriteBehindStore }> {
    const clock = new ManualClock();
    const store = replica(clock);
    for (let asked = 0; asked < 3; asked++) {
      await store.get(['position', 'any']);
      await clock.advance(6_000);
    }
    return { clock, store };
  }
  /** Advances its clock until the work has settled. */
  async function turning<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
    let isOver = false;
    const settled = () => {
      isOver = true;
    };
    work.then(settled, settled);
    for (; !isOver; await pause(2)) await clock.advance(100);
    return work;
  }
  /** Makes every lock expire in the database. */
  const runOut = () => server.ask(address, 'UPDATE remote_printing.entries SET lasts = 0');

  describe('sign-in', () => {
    /** Refresh tokens that the service received. A second use ends the sign-in. */
    let spent: string[];
    let beforeSending: (from: string) => Promise<void>;
    let afterSending: (from: string) => Promise<void>;
    const grant = (n: number): Grant => ({
      authUrl: SETTINGS.authUrl,
      clientId: SETTINGS.clientId,
      redirectUri: 'http://127.0.0.1/cb',
      accessToken: `access-${n}`,
      refreshToken: `refresh-${n}`,
      expiresAt: Date.now() + 600_000,
      lifetime: 600_000,
      scope: 'all',
    });
    beforeEach(async () => {
      spent = [];
      opened = [];
      beforeSending = afterSending = () => Promise.resolve();
      await replica().put(grantKey('a'), { byService: { [SETTINGS.authUrl]: grant(1) } });
    });
    let opened: Tokens[];
    afterEach(() => Promise.all(opened.map((tokens) => tokens.close())));
    const open = (name: string, store: WriteBehindStore, clock = systemClock) => {
      const endpoint = {
        refresh: async (_: unknown, { refreshToken, signedInAt = 0 }: Grant, __: unknown, fence: () => void) => {
          await beforeSending(name);
          fence();
          assert.ok(!spent.includes(refreshToken ?? ''), `${refreshToken} was spent twice`);
          spent.push(refreshToken ?? '');
          await afterSending(name);
          return { ...grant(spent.length + 1), signedInAt };
        },
      } as unknown as TokenEndpoint;
      const parts = { accountId: 'a', settings: SETTINGS, store, clock, endpoint, warn: () => undefined };
      opened.push(new Tokens(parts));
      return opened.at(-1)!;
    };
    const renewed = (tokens: Tokens, clock = systemClock) =>
      tokens.refresh('access-1', { host: 'api', deadline: limit(clock) });

    it('is renewed once for concurrent runtimes, which all get the same token', async () => {
      const replicas = Array.from({ length: 6 }, (_, n) => open(String(n), replica()));
      const tokens = await Promise.all(replicas.map((one) => renewed(one)));
      assert.deepEqual([...new Set(tokens)], ['access-2']);
      assert.deepEqual(spent, ['refresh-1']);
    });

    it('is known to all runtimes after a renewal, a sign-out or a new sign-in, even across a database restart', async () => {
      const clock = new ManualClock();
      const [one, other] = [open('one', replica()), open('other', replica())];
      const states: string[] = [];
      other.onChange(() => states.push(other.state));
      const has = async (token: string) => {
        for (const end = Date.now() + 120_000; ; await pause(5)) {
          // The current token, without a renewal.
          const known = other.state === 'signed-in' ? await other.bearer(limit(clock)) : other.state;
          if (known === token) return;
          assert.ok(Date.now() < end, `${known} and not ${token}`);
        }
      };
      await has('access-1');
      assert.equal(await renewed(one), 'access-2');
      await has('access-2');
      await one.signOut();
      await has('signed-out');
      await replica().put(
        grantKey('a'),
        { byService: { [SETTINGS.authUrl]: { ...grant(7), signedInAt: 7 } } },
        { notify: true },
      );
      await has('access-7');
      await server.halt();
      await server.start();
      await replica().put(
        grantKey('a'),
        { byService: { [SETTINGS.authUrl]: { ...grant(8), signedInAt: 8 } } },
        { notify: true },
      );
      await has('access-8');
      assert.deepEqual(states.slice(-3), ['signed-out', 'signed-in', 'signed-in']);
      assert.deepEqual(spent, ['refresh-1']);
      await Promise.all([one.close(), other.close()]);
    });

    it('is not renewed by a runtime that stood still before its request, and that then gets the new token', async () => {
      const clock = new ManualClock();
      const sleeper = open('sleeper', replica(clock), clock);
      // One after the other, because this test doesn't advance the clock for a wait between them.
      await sleeper.ready();
      const { store, clock: other } = await steady();
      const awake = open('awake', store, other);
      await awake.ready();
      let wakeUp = () => {};
      const stoodStill = new Promise<void>((resolve) => (wakeUp = resolve));
      beforeSending = async (name) => {
        if (name !== 'sleeper') return;
        await runOut();
        // The awake runtime waits for a possible pair of the sleeper, without a lock that would block its write.
        await assert.rejects(turning(other, renewed(awake, other)), { code: 'TIMEOUT', message: /has not finished/ });
        await other.advance(126_000);
        assert.equal(await turning(other, renewed(awake, other)), 'access-2');
        await clock.advance(30_000);
        wakeUp();
      };
      const renewing = renewed(sleeper, clock);
      renewing.catch(() => undefined);
      await Promise.race([stoodStill, renewing]);
      // The renewal fails and is repeated.
      for (let isOver = false; !isOver;) {
        await clock.advance(500);
        isOver = await Promise.race([renewing.then(() => true), new Promise<false>((r) => setTimeout(r, 5, false))]);
      }
      assert.equal(await renewing, 'access-2');
      assert.deepEqual(spent, ['refresh-1']);
    });

    const hasNoTokens = async () => {
      const found = grantFor(await replica().get<Grants>(grantKey('a')), SETTINGS);
      assert.deepEqual([found?.accessToken, found?.refreshToken], ['', null]);
    };

    it('ends with a sign-out elsewhere even if the answer to the write of its renewed pair was lost', async () => {
      const [store, other] = [replica(), open('other', replica())];
      const one = open('one', store);
      await Promise.all([one.ready(), other.ready()]);
      const database = databases.at(-2) as Database;
      const query = database.query.bind(database);
      database.query = async (text, values, options) => {
        const rows = await query(text, values, options);
        // Only the renewed pair is written by a statement with a notification.
        if (spent.length > 0 && text.includes('SET content')) throw new Error('ECONNRESET');
        return rows as never;
      };
      assert.equal(await renewed(one), 'access-2');
      assert.equal(store.waiting, 1, 'the answer was lost');
      database.query = query;
      await other.signOut();
      for (const end = Date.now() + 60_000; one.state !== 'signed-out'; await pause(5)) assert.ok(Date.now() < end);
      assert.equal(store.waiting, 0);
      await hasNoTokens();
    });

    it('ends with a sign-out elsewhere that comes before the answer to the write of its renewed pair is missed', async () => {
      const [store, other] = [replica(), open('other', replica())];
      const one = open('one', store);
      await Promise.all([one.ready(), other.ready()]);
      const database = databases.at(-2) as Database;
      const query = database.query.bind(database);
      let hasRead: () => void = () => undefined;
      const read = new Promise<void>((resolve) => (hasRead = resolve));
      let isSignedOut = false;
      database.query = async (text, values, options) => {
        const rows = await query(text, values, options);
        if (isSignedOut && text.startsWith('SELECT e.content')) hasRead();
        if (spent.length === 0 || isSignedOut || !text.includes('SET content')) return rows as never;
        isSignedOut = true;
        await other.signOut();
        // By then, the runtime has followed the notification, in the middle of its renewal.
        await read;
        await pause(1);
        throw new Error('ECONNRESET');
      };
      assert.equal(await renewed(one), 'access-2');
      for (const end = Date.now() + 60_000; one.state !== 'signed-out'; await pause(5)) assert.ok(Date.now() < end);
      await hasNoTokens();
    });

    it('survives a failover that lost its last renewal', async () => {
      const signedInAt = 1;
      await replica().put(grantKey('a'), { byService: { [SETTINGS.authUrl]: { ...grant(1), signedInAt } } });
      const [one, other] = [open('one', replica()), open('other', replica())];
      await Promise.all([one.ready(), other.ready()]);
      const before = await server.ask<{ content: string }>(address, ENTRY);
      assert.equal(await renewed(one), 'access-2');
      await server.ask(address, "UPDATE remote_printing.entries SET content = $1 WHERE kind = 'grant'", [
        before[0]?.content,
      ]);
      one.accepted('access-2');
      const deadline = limit(systemClock);
      assert.equal(await one.refresh('access-2', { host: 'api', deadline }), 'access-3');
      assert.deepEqual(spent, ['refresh-1', 'refresh-2']);
    });

    it('survives an outage of the database when the new tokens arrive', async () => {
      const first = open('first', replica());
      afterSending = () => server.halt();
      // The old tokens are spent, so it continues with the new ones.
      assert.equal(await renewed(first), 'access-2');
      await server.start();
      afterSending = () => Promise.resolve();
      const second = open('second', replica());
      assert.equal(await renewed(second), 'access-2', 'the second one waits for the write of the first');
      assert.deepEqual(spent, ['refresh-1']);
    });

    it('is kept by both runtimes if one is half-open from the service’s answer until its write has failed', async () => {
      const proxy = await startProxy(server.port);
      try {
        const cut = replica(systemClock, address.replace(String(server.port), String(proxy.port)));
        const [one, other] = [open('one', cut), open('other', replica())];
        await Promise.all([one.ready(), other.ready()]);
        let asked: Promise<string> | undefined;
        afterSending = () => {
          proxy.silence(true);
          asked = renewed(other);
          return Promise.resolve();
        };
        const database = databases.at(-2) as Database;
        const query = database.query.bind(database);
        // The network returns when the write has failed, so that every later statement arrives.
        database.query = (text, values, options) =>
          query(text, values, options).catch((error: unknown) => {
            if (text.includes('SET content')) proxy.speak();
            throw error;
          }) as never;
        assert.equal(await renewed(one), 'access-2');
        assert.equal(cut.waiting, 1, 'the write has failed');
        assert.equal(await asked, 'access-2');
        assert.deepEqual(spent, ['refresh-1']);
        assert.deepEqual([one.state, other.state], ['signed-in', 'signed-in']);
      } finally {
        await proxy.close();
      }
    });

    for (const way of ['is half-open', 'gets no notifications, as behind a pooler'])
      it(`is known within 15 s even if the listening connection ${way}`, async () => {
        const proxy = await startProxy(server.port);
        const clock = new ManualClock();
        const warned: string[] = [];
        try {
          const at = address.replace(String(server.port), String(proxy.port));
          const isPooled = way !== 'is half-open';
          let listening: Passage | undefined;
          const known = new Set<Passage>();
          const connecting = new Set<Passage>();
          proxy.watch((statement, passage) => {
            if (!known.has(passage)) connecting.add(passage);
            known.add(passage);
            // The first statement, simple or prepared.
            if (/^[QP]/.test(statement)) void passage.answered().then(() => connecting.delete(passage));
            if (!statement.includes('LISTEN')) return;
            listening = passage;
            if (isPooled) passage.deafen(1);
          });
          const warn = (sentence: unknown) => void warned.push(String(sentence));
          const database = new Database({ address: at, clock, log: { warn, info: () => undefined } });
          databases.push(database);
          const parts = { clock, sealedKinds: ['grant'], secrets: () => ['a secret'], warn: () => undefined };
          const store = new WriteBehindStore(new PostgresStore({ ...parts, database }), clock);
          const listener = open('listener', store, clock);
          await turning(clock, listener.ready());
          for (let probes = 0; probes < 60; probes++, await pause(5)) await clock.advance(500);
          if (!isPooled) listening?.deafen(0);
          const signedInAt = 9;
          await replica().put(
            grantKey('a'),
            { byService: { [SETTINGS.authUrl]: { ...grant(9), signedInAt } } },
            { notify: true },
          );
          const begun = clock.monotonic();
          while ((await listener.bearer(limit(clock))) !== 'access-9') {
            assert.ok(clock.monotonic() - begun <= 15_000, 'the new token is still unknown');
            await clock.advance(250);
            // A busy database must not count as a late one.
            await store.get(['position', 'any']);
            do await pause(5);
            while (connecting.size > 0);
          }
          assert.equal(warned.filter((sentence) => sentence.includes('pooler')).length, isPooled ? 1 : 0);
        } finally {
          await proxy.close();
        }
      });

    it('is completed once by any runtime, with its secret sealed until then', async () => {
      const granted = grant(5);
      let exchanges = 0;
      const exchange = () => {
        exchanges++;
        return Promise.resolve(granted);
      };
      const endpoint = { exchange } as unknown as TokenEndpoint;
      const runtimes = Array.from({ length: 4 }, () => {
        const store = replica();
        return new Authorization({ store, signIns: store, clock: systemClock, endpoint });
      });
      const [first] = runtimes;
      // A row without content is only a lock.
      const stored = () =>
        server.ask<{ content: string }>(
          address,
          "SELECT content FROM remote_printing.entries WHERE kind = 'sign-in' AND content IS NOT NULL",
        );
      const url = await first?.begin({ accountId: 'a', settings: SETTINGS, redirectUri: 'x', organizationId: '' });
      const [row, ...more] = await stored();
      assert.deepEqual(
        [more.length, row?.content.includes('sealed'), row?.content.includes('secret')],
        [0, true, false],
      );
      const back = new URLSearchParams({ state: new URL(url ?? '').searchParams.get('state') ?? '', code: 'code' });
      const ends = await Promise.allSettled([...runtimes, ...runtimes].map((runtime) => runtime.complete(back)));
      assert.deepEqual([ends.filter(({ status }) => status === 'fulfilled').length, exchanges], [1, 1]);
      assert.deepEqual((await replica().get<Grants>(grantKey('a')))?.byService[SETTINGS.authUrl], granted);
      assert.deepEqual(await stored(), []);
    });

    it('begins and completes although a runtime with another secret has begun one', async () => {
      const granted = grant(5);
      const endpoint = { exchange: () => Promise.resolve(granted) } as unknown as TokenEndpoint;
      const runtime = (secret: string) => {
        const store = replica(systemClock, address, secret);
        return new Authorization({ store, signIns: store, clock: systemClock, endpoint });
      };
      const begin = (authorization: Authorization) =>
        authorization.begin({ accountId: 'a', settings: SETTINGS, redirectUri: 'x', organizationId: '' });
      await begin(runtime('another secret'));
      const healthy = runtime('a secret');
      const url = await begin(healthy);
      await healthy.complete(
        new URLSearchParams({ state: new URL(url).searchParams.get('state') ?? '', code: 'code' }),
      );
      assert.deepEqual((await replica().get<Grants>(grantKey('a')))?.byService[SETTINGS.authUrl], granted);
      assert.equal((await healthy.known('a')).failure, null);
    });

    it('reports clearly that it can’t begin while the database is away', async () => {
      const store = replica();
      const endpoint = { exchange: () => assert.fail() } as unknown as TokenEndpoint;
      const authorization = new Authorization({ store, signIns: store, clock: systemClock, endpoint });
      const beginning = { accountId: 'a', settings: SETTINGS, redirectUri: 'x', organizationId: '' };
      await server.halt();
      try {
        await assert.rejects(authorization.begin(beginning), { message: /The saved sign-in can't be read now/ });
      } finally {
        await server.start();
      }
      assert.match(await authorization.begin(beginning), /authorize/);
    });

    it('sends no refresh while the database is away, and keeps the current token', async () => {
      const tokens = open('one', replica());
      assert.equal(await tokens.bearer(limit(systemClock)), 'access-1');
      await server.halt();
      try {
        await assert.rejects(renewed(tokens), { code: 'FILE_NOT_READABLE', outcome: 'not-sent' });
        assert.equal(await tokens.bearer(limit(systemClock)), 'access-1', 'the current token is still usable');
      } finally {
        await server.start();
      }
      assert.deepEqual(spent, []);
    });
  });

  describe('a print', () => {
    /** The service's queue of the cluster. */
    let queue: object[];
    let beforeSending: (from: string) => Promise<void>;
    beforeEach(() => {
      queue = [];
      beforeSending = () => Promise.resolve();
    });
    function open(name: string, store: WriteBehindStore, clock = systemClock) {
      const service = new ScriptedService({
        clusterStatus: [() => ({ is_online: true, print_jobs: queue, recently_completed: [] })],
        print: [
          async ({ lock }: CallOptions) => {
            const check = await lock?.secure(60_000);
            await beforeSending(name);
            check?.();
            const uuid = `printing-${queue.length + 1}`;
            const created_at = new Date(clock.now()).toISOString();
            queue.push({ uuid, cloud_job_id: 'job', created_at, status: 'queued' });
            return { job_id: 'job', job_instance_uuid: uuid, status: 'queued' };
          },
        ],
      });
      const dispatcher = new Dispatcher({
        service,
        jobListReader: new JobListReader(service),
        clock,
        warn: () => undefined,
      });
      const ledger = new Ledger(store, SCOPE);
      const request = { clusterId: 'cluster', jobId: 'job', startNow: true, printKey: 'key', note: {} };
      return (changes: Partial<DispatchRequest> = {}) => {
        const key = { clusterId: 'cluster', printKey: 'key' };
        return underDeadline(clock, { ms: 3_600_000 }, (deadline) =>
          ledger.waitForKey(
            key,
            (held, within) => dispatcher.dispatch(held, { ...request, ...changes, deadline: within }),
            deadline,
          ),
        );
      };
    }

    it('is made once per key and reported as a duplicate elsewhere', async () => {
      const dispatches = Array.from({ length: 5 }, (_, n) => open(String(n), replica()));
      const all = await Promise.all(dispatches.map((dispatch) => dispatch()));
      assert.equal(queue.length, 1);
      assert.deepEqual([...new Set(all.map(({ clusterJobId }) => clusterJobId))], ['printing-1']);
      assert.equal(all.filter(({ duplicate }) => duplicate).length, 4);
    });

    it('is not sent by a runtime that stood still before its request', async () => {
      const clock = new ManualClock();
      const sleeper = open('sleeper', replica(clock), clock);
      const other = await steady();
      const awake = open('awake', other.store, other.clock);
      beforeSending = async (name) => {
        if (name !== 'sleeper') return;
        await runOut();
        // The awake runtime finds the sleeper's entry, sees nothing printed, and prints.
        assert.equal((await turning(other.clock, awake())).clusterJobId, 'printing-1');
        await clock.advance(60_000);
      };
      await assert.rejects(sleeper(), (error: unknown) => {
        assert.ok(error instanceof PrintingError);
        assert.deepEqual([error.code, error.outcome], ['TIMEOUT', 'not-sent']);
        return true;
      });
      assert.equal(queue.length, 1);
      const again = await awake();
      assert.deepEqual(
        [again.duplicate, again.clusterJobId],
        [true, 'printing-1'],
        'the entry belongs to the awake runtime',
      );
    });

    it('is not sent while the database is away, and the message says so', async () => {
      const dispatch = open('one', replica());
      beforeSending = () => Promise.resolve();
      await server.halt();
      try {
        await assert.rejects(dispatch(), { outcome: 'not-sent', message: /check the database/ });
      } finally {
        await server.start();
      }
      assert.equal(queue.length, 0);
      assert.equal((await dispatch()).duplicate, false);
    });
  });

  it('delivers each row of a report once', async () => {
    const delivered: string[] = [];
    const rows = Array.from({ length: 20 }, (_, n) => ({ uuid: `row-${n}` }));
    const report = () => {
      const deadline = limit(systemClock);
      return withDeliveredRows(replica(), { scope: SCOPE, name: 'node', deadline }, async ({ isNew, add }) => {
        const fresh = rows.filter(isNew);
        delivered.push(...fresh.map(({ uuid }) => uuid));
        await add(fresh);
      });
    };
    await Promise.all([report(), report(), report()]);
    assert.deepEqual(delivered.sort(), rows.map(({ uuid }) => uuid).sort());
  });

  it('ends the work of a report that has lost its lock', async () => {
    const store = replica();
    let lock: Lock | undefined;
    const update = store.update.bind(store);
    store.update = (key, change, options) =>
      update(key, (current, held) => change(current as never, (lock = held)) as never, options) as never;
    const { store: other, clock } = await steady();
    const work = withDeliveredRows(
      store,
      { scope: SCOPE, name: 'node', deadline: limit(systemClock) },
      async (_, deadline) => {
        await runOut();
        await turning(clock, other.put(['report-rows', ...SCOPE, 'node'], []));
        await lock?.secure(1).catch(() => undefined);
        deadline.throwIfOver();
      },
    );
    await assert.rejects(work, { code: 'TIMEOUT', message: /lost its hold/ });
  });

  it('reports that the runtimes have different secrets', async () => {
    await replica().put(grantKey('a'), { byService: {} } satisfies Grants);
    const log = { warn: () => undefined, info: () => undefined };
    const database = new Database({ address, clock: systemClock, log });
    databases.push(database);
    const other = new PostgresStore({
      clock: systemClock,
      database,
      sealedKinds: ['grant'],
      secrets: () => ['another'],
      warn: () => undefined,
    });
    const endpoint = { refresh: () => assert.fail() } as unknown as TokenEndpoint;
    const tokens = new Tokens({
      accountId: 'a',
      settings: SETTINGS,
      store: other,
      clock: systemClock,
      endpoint,
      warn: () => undefined,
    });
    await assert.rejects(tokens.bearer(limit(systemClock)), { message: String(sameSecret) });
    await tokens.close();
  });
});

const sameSecret = phrase`The saved ${'grant'} was encrypted with another credential secret: give all Node-REDs that share the database the same.`;
