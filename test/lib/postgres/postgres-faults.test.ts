import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { Database } from '../../../lib/postgres/database';
import { WriteBehindStore } from '../../../lib/state/write-behind-store';
import { LEASE_TIMES } from '../../../lib/postgres/leases';
import type { Lock, Membership } from '../../../lib/state/membership';
import { PostgresStore } from '../../../lib/postgres/postgres-store';
import type { Key } from '../../../lib/state/store';
import { systemClock, type Clock } from '../../../lib/time/clock';
import type { Sentence } from '../../../lib/words/sentence';
import { limit } from '../../helpers/limits';
import { ManualClock } from '../../helpers/manual-clock';
import { testPostgres, type TestPostgres } from '../../helpers/postgres';
import { startProxy, type Passage, type Proxy } from '../../helpers/proxy';

const KEY: Key = ['position', 'a'];
const OTHER: Key = ['position', 'b'];
const TAKING = 'INSERT INTO remote_printing.entries';
const RENEWING = 'SET ends_at = greatest';
const LOST = { name: 'PrintingError', code: 'TIMEOUT', outcome: 'not-sent', message: /has lost its hold/ };

describe('state on PostgreSQL with connection faults', () => {
  let server: TestPostgres;
  let address: string;
  let proxy: Proxy;
  let opened: PostgresStore[];
  let warned: string[];

  before(async () => (server = await testPostgres()));
  beforeEach(async () => {
    address = await server.fresh();
    proxy = await startProxy(server.port);
    opened = [];
    warned = [];
  });
  afterEach(async () => {
    // The silent connections would be waited for.
    await proxy.close();
    await Promise.all(opened.map((store) => store.close()));
  });

  const log = {
    warn: (sentence: Sentence) => void warned.push(String(sentence)),
    info: (sentence: Sentence) => void warned.push(String(sentence)),
  };
  const database = ({ clock = systemClock, at = address }: { clock?: Clock; at?: string } = {}) =>
    new Database({ address: at, clock, log });
  const open = ({ clock = systemClock, at = address, times = { ...LEASE_TIMES, steady: 10_000 } } = {}) => {
    const parts = { clock, sealedKinds: [], secrets: () => [], warn: log.warn };
    const store = new PostgresStore({ ...parts, times, database: database({ clock, at }) });
    opened.push(store);
    return store;
  };
  const through = () => address.replace(String(server.port), String(proxy.port));
  const ask = <Row extends object>(statement: string, values?: unknown[]) =>
    server.ask<Row>(address, statement, values);
  const runOut = () => ask('UPDATE remote_printing.entries SET lasts = 0');
  const endOf = async (key: Key) => {
    const rows = await ask<{ at: Date }>('SELECT ends_at AS at FROM remote_printing.entries WHERE key = $1', [
      JSON.stringify(key),
    ]);
    return rows[0]?.at.getTime() ?? NaN;
  };

  const connections = async () => {
    const ours = `SELECT 1 FROM pg_stat_activity WHERE application_name = 'remote-printing'`;
    return (await ask(ours)).length;
  };

  /** Begins a change that runs until `end` is called. */
  async function changing(store: PostgresStore, key = KEY) {
    let end = (): void => undefined;
    let over: Promise<unknown> = Promise.resolve();
    const lock = await new Promise<Lock>((resolve, reject) => {
      over = store.update<unknown>(key, async (_, held) => {
        resolve(held);
        await new Promise<void>((ended) => (end = ended));
        return 'late';
      });
      over.catch(reject);
    });
    return { lock, end, over };
  }
  /** Holds back the next statement that contains this text. */
  const keptBack = (text: string) =>
    new Promise<Passage>((resolve) => {
      proxy.watch((statement, passage) => {
        if (!statement.includes(text)) return;
        proxy.watch(undefined);
        passage.keep();
        resolve(passage);
      });
    });

  describe('a lock', () => {
    it('stays with its holder if an idle runtime didn’t notice that the database was away', async () => {
      const held = await changing(open());
      const clock = new ManualClock();
      const idle = open({ clock });
      await steadied(idle, clock);
      await server.halt();
      await clock.advance(30_000);
      await server.start();
      await runOut();
      let isTaken = false;
      const taking = idle.update<unknown>(KEY, () => ((isTaken = true), 'new'));
      for (let asked = 0; asked < 10; asked++) {
        await until(() => clock.waiting > 0);
        await clock.advance(250);
      }
      assert.equal(isTaken, false);
      for (; !isTaken; await pause(1)) await clock.advance(250);
      await taking;
      held.end();
      await assert.rejects(held.over, LOST);
    });

    it('stays with its own runtime when an earlier, abandoned request arrives late', async () => {
      const clock = new ManualClock();
      const store = open({ at: through() });
      await store.get(KEY);
      const taking = keptBack(TAKING);
      const deadline = limit(clock, { seconds: 1 });
      const first = store.update(KEY, () => assert.fail('the wait was abandoned'), { deadline });
      const given = assert.rejects(first, { code: 'TIMEOUT', outcome: 'not-sent' });
      const passage = await taking;
      await clock.advance(1_000);
      await given;
      const second = await changing(store);
      await second.lock.secure(60_000);
      const [end, answered] = [await endOf(KEY), passage.answered()];
      passage.sendOn();
      await answered;
      assert.equal(await endOf(KEY), end);
      (await second.lock.secure(1_000))();
      second.end();
      assert.equal(await second.over, 'late');
    });

    it('stays the same when its first request arrives late, after a repeat over a new connection', async () => {
      const store = open({ at: through() });
      await store.get(KEY);
      const taking = keptBack(TAKING);
      const changes = changing(store);
      const passage = await taking;
      passage.breakClient();
      const held = await changes;
      await held.lock.secure(60_000);
      const [end, answered] = [await endOf(KEY), passage.answered()];
      passage.sendOn();
      await answered;
      assert.equal(await endOf(KEY), end);
      (await held.lock.secure(1_000))();
      held.end();
      assert.equal(await held.over, 'late');
    });

    it('is renewed over another connection when one falls silent, before a statement times out', async () => {
      const store = open({ at: through(), times: { ...LEASE_TIMES, renewal: 500, steady: 10_000 } });
      const held = await changing(store);
      // Opens a second connection, for the reads.
      const read = await Promise.all([store.get(KEY), store.get(OTHER)]);
      const order: string[] = [];
      const end = await endOf(KEY);
      proxy.silence();
      const got = store.get(KEY).then(() => order.push('got'));
      await until(async () => (await endOf(KEY)) > end);
      order.push('renewed');
      await got;
      assert.deepEqual([...read, ...order], [undefined, undefined, 'renewed', 'got']);
      assert.equal(held.lock.signal?.aborted, false);
      held.end();
      await held.over;
    });

    it('is renewed once per interval, however many locks begin and end meanwhile', async () => {
      const clock = new ManualClock();
      const store = open({ at: through(), clock });
      const first = await changing(store);
      const renewing = keptBack(RENEWING);
      await clock.advance(5_000);
      const passage = await renewing;
      first.end();
      await first.over;
      const second = await changing(store, OTHER);
      passage.sendOn();
      await passage.answered();
      await until(() => clock.waiting > 1);
      await pause(0);
      assert.equal(clock.waiting, 2, 'one timer for its expiry, one for the next renewal');
      second.end();
      await second.over;
      assert.equal(clock.waiting, 0);
    });

    it('delays its holder no longer than the deadline if it can’t be released', async () => {
      const clock = new ManualClock();
      const store = open({ at: through() });
      const deadline = limit(clock, { seconds: 10 });
      const working = store.waitForLock(KEY, () => (proxy.silence(true), deadline.sleep(60_000)), deadline);
      working.catch(() => undefined);
      await until(() => clock.waiting > 1);
      await clock.advance(10_000);
      await assert.rejects(working, { code: 'TIMEOUT' });
      assert.deepEqual(warned, [], 'a statement has already timed out');
    });

    it('doesn’t collide with writes that depend on it', async () => {
      const store = open({ times: { ...LEASE_TIMES, renewal: 5, steady: 10_000 } });
      const held = await changing(store);
      const keys = Array.from({ length: 8 }, (_, n): Key => ['checkpoint', String(n)]);
      for (let round = 0; round < 40; round++)
        await Promise.all(keys.map((key) => store.put(key, round, { under: [held.lock] })));
      held.end();
      await held.over;
      assert.deepEqual(warned, []);
    });
  });

  describe('shared work', () => {
    const TOPIC: Key = ['watch', 'an account'];
    const ITEMS = ['one', 'two', 'three'];
    /** Joins and waits for the lease. */
    async function joined(store: PostgresStore) {
      const membership = store.join(TOPIC, { name: 'a name', wants: null, onChange: () => undefined });
      await until(() => membership.lock !== null);
      return membership;
    }

    it('is neither taken nor released again by a late request', async () => {
      const [one, other] = [await joined(open({ at: through() })), await joined(open())];
      const notes = new Map(ITEMS.map((item) => [item, null]));
      for (const isTake of [true, false]) {
        assert.equal((await one.take(ITEMS, 3)).length, 3);
        if (isTake) await one.release(notes);
        const lock = one.lock;
        const asked = keptBack(isTake ? 'UNION ALL SELECT NULL' : 'RETURNING name)');
        const asking = isTake ? one.take(ITEMS, 3) : one.release(notes);
        const passage = await asked;
        passage.breakClient();
        await asking;
        await until(() => one.lock !== null && one.lock !== lock);
        const answered = passage.answered();
        if (isTake) {
          passage.sendOn();
          await answered;
          await takesAll(other, ITEMS);
          await other.release(notes);
        } else {
          await takesAll(one, ITEMS);
          passage.sendOn();
          await answered;
          assert.deepEqual(await other.take(ITEMS, 3), []);
          await one.release(notes);
        }
      }
      await Promise.all([one, other].map((membership) => membership.leave(new Map())));
    });

    it('is lost as soon as its lease has expired, even before the timers fire', async () => {
      let stoodStill = 0;
      const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + stoodStill };
      const membership = await joined(open({ clock }));
      stoodStill = 60_000;
      assert.equal(membership.lock, null);
      await membership.leave(new Map());
    });
  });

  describe('a value', () => {
    for (const isChanged of [false, true])
      it(`whose answer was lost is ${isChanged ? 'not ' : ''}accepted after the next holder has ${isChanged ? 'changed' : 'read'} it`, async () => {
        const [store, other] = [open({ at: through() }), open()];
        await store.get(KEY);
        const next = () => other.update<unknown>(KEY, (current) => (isChanged ? { by: 'other' } : current));
        proxy.watch((statement, passage) => {
          if (!statement.includes('content = written.content')) return;
          proxy.watch(undefined);
          passage.deafen(0);
          void passage
            .answered()
            .then(next)
            .then(() => passage.breakClient());
        });
        const written = store.put(KEY, { by: 'store' });
        await (isChanged ? assert.rejects(written, LOST) : written);
        assert.deepEqual(await other.get(KEY), { by: isChanged ? 'other' : 'store' });
      });
  });

  describe('an insisted value', () => {
    it('is written under a lock released meanwhile, unless another holder has changed it', async () => {
      await open().get(KEY);
      await ask(`CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION USING ERRCODE = '53100'; END $$`);
      for (const isTaken of [false, true]) {
        const clock = new ManualClock();
        const store = new WriteBehindStore(open({ clock }), clock);
        const key: Key = ['print-key', String(isTaken)];
        await store.put(key, 'begun');
        await ask(`CREATE TRIGGER no_room BEFORE UPDATE ON remote_printing.entries FOR EACH ROW
          WHEN (new.content IS DISTINCT FROM old.content) EXECUTE FUNCTION no_room()`);
        const settling = store.waitForLock(KEY, (lock) => store.put(key, 'done', { under: [lock], insist: true }));
        await assert.rejects(settling, { code: 'FILE_NOT_WRITABLE', message: /53100/ });
        assert.equal(await store.get(key), 'done');
        await ask('DROP TRIGGER no_room ON remote_printing.entries');
        if (isTaken) await open().waitForLock(KEY, () => open().put(key, 'of another one'));
        for (; store.waiting > 0; await pause(1)) await clock.advance(1_000);
        assert.equal(await open().get(key), isTaken ? 'of another one' : 'done');
      }
    });
  });

  describe('the listening connection', () => {
    it('treats any text on the channel as a possible change', async () => {
      const received: (Key | null)[] = [];
      const end = open().onChange((key) => received.push(key));
      await until(() => received.length === 1);
      await ask(`NOTIFY remote_printing, 'hello'`);
      await until(() => received.length === 2);
      await ask('NOTIFY remote_printing');
      await until(() => received.length === 3);
      await ask(`NOTIFY remote_printing, '{"key":5}'`);
      await until(() => received.length === 4);
      end();
      assert.deepEqual(received, [null, null, null, null]);
    });

    it('waits for a missing certificate that its address names', () => {
      const clock = new ManualClock();
      const at = `${address}?sslmode=verify-full&sslrootcert=/nowhere/at-all.pem`;
      const end = open({ clock, at }).onChange(() => assert.fail());
      assert.equal(clock.waiting, 1);
      end();
      assert.equal(clock.waiting, 0);
    });
  });

  describe('a database', () => {
    it('isn’t considered away if it has more statements than connections', async () => {
      const asked = database();
      let isOver = false;
      const slow = Array.from({ length: 250 }, () => asked.query('SELECT pg_sleep(0.1)', []));
      const all = Promise.all(slow).finally(() => (isOver = true));
      let most = 0;
      for (; !isOver; await pause(100)) most = Math.max(most, await connections());
      await all;
      await asked.close();
      assert.deepEqual([most, warned], [2, []]);
    });

    it('gets no further connection while a table is locked, and answers as soon as it is free', async () => {
      const clock = new ManualClock();
      const asked = database({ clock });
      const read = () => asked.query('SELECT name FROM remote_printing.entries LIMIT 1', [], { patience: 200 });
      await read();
      const locking = new Client(address);
      await locking.connect();
      await locking.query('BEGIN; LOCK TABLE remote_printing.entries IN ACCESS EXCLUSIVE MODE');
      const all = Array.from({ length: 12 }, () => read().catch(() => undefined));
      let most = 0;
      for (let n = 0; n < 30; n++) {
        await pause(50);
        await clock.advance(100);
        most = Math.max(most, await connections());
      }
      await locking.end();
      await until(async () => {
        await clock.advance(9_000);
        return (await Promise.race([read().then(() => 'back'), pause(50)])) === 'back';
      });
      for (let n = 0; n < 12; n++) await clock.advance(9_000);
      await Promise.all(all);
      assert.equal(most, 2);
      await asked.close();
    });

    it('is asked again while a role has no connection left, and says so once', async () => {
      await ask('DROP OWNED BY small CASCADE').catch(() => undefined);
      await ask('DROP ROLE IF EXISTS small');
      await ask(`CREATE ROLE small LOGIN PASSWORD 'p' CONNECTION LIMIT 1`);
      await ask(`DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO small', current_database()); END $$`);
      const at = new URL(address);
      at.username = 'small';
      at.password = 'p';
      const other = new Client(at.href);
      await other.connect();
      const asked = database({ at: at.href });
      const all = Promise.all(Array.from({ length: 30 }, () => asked.query('SELECT 1', [])));
      all.catch(() => undefined);
      await until(async () => warned.length > 0);
      await other.end();
      await all;
      assert.deepEqual([warned.length, warned.at(-1)], [2, 'The database is back.']);
      await asked.close();
    });

    it('can stop during the migration without ending the process', async () => {
      const other = new Client(address);
      other.on('error', () => undefined);
      await other.connect();
      await other.query('SELECT pg_advisory_lock(7231190412)');
      const store = open();
      const getting = assert.rejects(store.get(KEY), { code: 'FILE_NOT_READABLE' });
      const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'advisory'";
      await until(async () => (await ask(waits)).length > 0);
      await server.halt();
      await getting;
      await server.start();
      assert.equal(await store.get(KEY), undefined);
    });

    it('reports a read-only database once and reconnects', async () => {
      const clock = new ManualClock();
      const store = open({ clock });
      await store.put(KEY, 1);
      await steadied(store, clock);
      const name = new URL(address).pathname.slice(1);
      await ask(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
      await store.close();
      for (let n = 0; n < 3; n++) {
        assert.equal(await store.get(KEY), 1);
        await assert.rejects(store.put(KEY, 2), { code: 'FILE_NOT_WRITABLE', message: /25006/ });
      }
      assert.equal(warned.length, 1, warned.join('\n'));
      await ask(
        `BEGIN; SET TRANSACTION READ WRITE; ALTER DATABASE ${name} SET default_transaction_read_only = off; COMMIT`,
      );
      await store.put(KEY, 2);
      assert.equal(warned.length, 2, warned.join('\n'));
      assert.match(warned[1]!, /is back/);
    });

    it('counts every update even if its transactions are serializable by default', async () => {
      await ask(`ALTER ROLE nodered SET default_transaction_isolation = 'serializable'`);
      try {
        const stores = Array.from({ length: 4 }, () => open());
        await Promise.all(
          stores.flatMap((store) => Array.from({ length: 25 }, () => store.update<number>(KEY, (n = 0) => n + 1))),
        );
        assert.equal(await open().get(KEY), 100);
      } finally {
        await ask('ALTER ROLE nodered RESET default_transaction_isolation');
      }
    });

    it('names the failure of a connection that the server closes', async () => {
      const closing = createServer((socket) => void socket.destroy()).listen(0, '127.0.0.1');
      await once(closing, 'listening');
      const { port } = closing.address() as AddressInfo;
      const closed = database({ at: address.replace(String(server.port), String(port)) });
      await assert.rejects(closed.query('SELECT 1', []), { code: 'ECONNRESET' });
      await closed.close();
      closing.close();
    });

    it('reports a missing password as a wrong one', async () => {
      // The server's authentication messages.
      const authentication = (code: number, text: string) => {
        const head = Buffer.alloc(9);
        head.write('R');
        head.writeInt32BE(8 + text.length, 1);
        head.writeInt32BE(code, 5);
        return Buffer.concat([head, Buffer.from(text)]);
      };
      const asking = createServer((socket) => {
        socket.on('error', () => undefined);
        socket.once('data', () => {
          socket.write(authentication(10, 'SCRAM-SHA-256\0\0'));
          socket.once('data', () => socket.end(authentication(11, 'r=nonce,s=salt,i=4096')));
        });
      });
      await once(asking.listen(0, '127.0.0.1'), 'listening');
      const { port } = asking.address() as AddressInfo;
      const asked = open({ at: `postgresql://user@127.0.0.1:${port}/any` });
      await assert.rejects(asked.get(KEY), { message: /28P01/ }).finally(() => asking.close());
      assert.match(warned[0]!, /the password is wrong/);
    });
  });
});

async function takesAll(membership: Membership, items: string[]): Promise<void> {
  const taken = new Set<string>();
  await until(async () => {
    for (const { item } of await membership.take(items, items.length)) taken.add(item);
    return taken.size === items.length;
  });
}

/** Lets the store have the database for long enough to take over an expired lock. */
async function steadied(store: PostgresStore, clock: ManualClock): Promise<void> {
  for (let n = 0; n < 3; n++) {
    await store.get(KEY);
    await clock.advance(6_000);
  }
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 120_000; !(await holds()); await pause(5)) assert.ok(Date.now() < end, 'never came');
}
