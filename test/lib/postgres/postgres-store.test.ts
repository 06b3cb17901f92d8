import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { Database } from '../../../lib/postgres/database';
import { LIST_ENTRIES } from '../../../lib/postgres/entries';
import { LEASE_TIMES } from '../../../lib/postgres/leases';
import { PostgresStore } from '../../../lib/postgres/postgres-store';
import type { Lock } from '../../../lib/state/membership';
import type { Key } from '../../../lib/state/store';
import type { Sentence } from '../../../lib/words/sentence';
import { systemClock } from '../../../lib/time/clock';
import { limit } from '../../helpers/limits';
import { ManualClock } from '../../helpers/manual-clock';
import { testPostgres, type TestPostgres } from '../../helpers/postgres';

/** Longer than an expired lock is left to its holder, ms. */
const STEADY = 10_001;
const TIMES = { ...LEASE_TIMES, steady: 10_000 };
const KEY: Key = ['position', 'a'];
const LOST = { name: 'PrintingError', code: 'TIMEOUT', outcome: 'not-sent', message: /has lost its hold/ };

/** A promise that is resolved from outside. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

describe('postgres/postgres-store', () => {
  let server: TestPostgres;
  let address: string;
  let opened: PostgresStore[];
  let warnings: string[];

  before(async () => (server = await testPostgres()));
  beforeEach(async () => {
    address = await server.fresh();
    opened = [];
    warnings = [];
  });
  afterEach(async () => {
    await Promise.all(opened.map((store) => store.close()));
  });

  const open = ({ clock = systemClock, at = address, secret = 'a secret', times = TIMES } = {}) => {
    const say = (sentence: Sentence) => void warnings.push(String(sentence));
    const log = { warn: say, info: say };
    const store = new PostgresStore({
      clock,
      sealedKinds: ['grant'],
      passingKinds: ['sign-in'],
      secrets: () => [secret],
      warn: log.warn,
      times,
      database: new Database({ address: at, clock, log }),
    });
    opened.push(store);
    return store;
  };
  const ask = <Row extends object>(statement: string, values?: unknown[]) =>
    server.ask<Row>(address, statement, values);

  /** Begins a change of KEY that runs until `end` is called. */
  async function changing(store: PostgresStore, value: unknown = 'late') {
    const [begun, ending] = [gate(), gate()];
    let lock: Lock | undefined;
    const over = store.update<unknown>(KEY, async (_, held) => {
      lock = held;
      begun.open();
      await ending.opened;
      return value;
    });
    // A rejection is checked where it matters.
    over.catch(() => undefined);
    await Promise.race([begun.opened, over]);
    return { lock: lock!, end: ending.open, over };
  }

  it('fails only the value that the database can’t store, and reports no outage', async () => {
    const store = open();
    await store.put(KEY, 1);
    const beyond = 999_999_999 * 24 * 3_600_000;
    const writes = Array.from({ length: 40 }, (_, n) =>
      store.put(['print', `${n}`], n, n === 20 ? { keepFor: beyond } : {}),
    );
    const failed = (await Promise.allSettled(writes)).flatMap(({ status }, n) => (status === 'rejected' ? [n] : []));
    assert.deepEqual(failed, [20]);
    assert.deepEqual(warnings, []);
  });

  /** Makes the lock of KEY expire in the database, as if its holder stood still. */
  const runOut = () => ask('UPDATE remote_printing.entries SET lasts = 0');
  /** Remaining lifetime of the lock of KEY, ms. */
  const left = async () => {
    const rows = await ask<{ ms: string }>('SELECT lasts AS ms FROM remote_printing.entries WHERE kind = $1', [KEY[0]]);
    return Number(rows[0]?.ms);
  };
  /** A store that may take an expired lock over. */
  async function steady(): Promise<PostgresStore> {
    const clock = new ManualClock();
    // Waits between two requests for a lock are in real time.
    const store = open({ clock: { now: clock.now, monotonic: clock.monotonic, after: systemClock.after } });
    for (let asked = 0; asked < 3; asked++) {
      await store.get(KEY);
      await clock.advance(STEADY / 2);
    }
    return store;
  }

  describe('shared by several runtimes', () => {
    it('counts the updates of all runtimes', async () => {
      const stores = Array.from({ length: 4 }, () => open());
      const counts = stores.flatMap((store) =>
        Array.from({ length: 25 }, () => store.update<number>(KEY, (n = 0) => n + 1)),
      );
      await Promise.all(counts);
      assert.equal(await open().get(KEY), 100);
    });

    it('counts the updates of many keys by all runtimes, none of which wait for each other in a circle', async () => {
      const times = { ...TIMES, renewal: 20 };
      const stores = Array.from({ length: 3 }, () => open({ times }));
      const keys = Array.from({ length: 100 }, (_, n): Key => ['position', `${n}`]);
      const updates = stores.flatMap((store, at) =>
        Array.from({ length: 6 * keys.length }, (_, n) =>
          store.update<number>(keys[(n * 7 + at * 13) % keys.length]!, (count = 0) => count + 1),
        ),
      );
      await Promise.all(updates);
      const counts = await Promise.all(keys.map((key) => stores[0]!.get(key)));
      assert.ok(
        counts.every((count) => count === 18),
        counts.join(),
      );
      assert.deepEqual(warnings, []);
      // A connection reports its statistics when it ends.
      await Promise.all(stores.map((store) => store.close()));
      const deadlocks = 'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()';
      assert.deepEqual(await ask(deadlocks), [{ deadlocks: 0 }]);
    });

    it('creates the tables once for concurrent first users', async () => {
      const stores = Array.from({ length: 8 }, () => open());
      await Promise.all(stores.map((store, n) => store.put(['position', String(n)], n)));
      assert.equal(await open().get(['position', '7']), 7);
      assert.deepEqual(await ask('SELECT number FROM remote_printing.version'), [{ number: 4 }]);
      assert.deepEqual(warnings, []);
    });

    it('makes a put and a delete wait for the holder of the lock', async () => {
      const held = await changing(open());
      const order: string[] = [];
      const other = open();
      const put = other.put(KEY, 'put').then(() => order.push('put'));
      const elsewhere = other.put(['position', 'b'], 'free').then(() => order.push('elsewhere'));
      await elsewhere;
      held.end();
      await held.over.then(() => order.push('changed'));
      await put;
      assert.deepEqual(order, ['elsewhere', 'changed', 'put']);
      assert.equal(await open().get(KEY), 'put');
    });

    it('leaves a value sealed with another secret alone and reports it', async () => {
      await open().put(['grant', 'a'], 'token');
      const other = open({ secret: 'another secret' });
      const refused = { code: 'FILE_NOT_READABLE', outcome: 'not-sent', message: /another credential secret/ };
      await assert.rejects(other.get(['grant', 'a']), refused);
      await assert.rejects(
        other.update(['grant', 'a'], () => 'mine'),
        refused,
      );
      assert.equal(await open().get(['grant', 'a']), 'token');
      await other.delete(['grant', 'a']);
      await other.put(['grant', 'a'], 'mine');
      assert.equal(await other.get(['grant', 'a']), 'mine');
    });

    it('counts a short-lived value as missing once it has expired, by the clock of the database', async () => {
      const store = open();
      const keys: Key[] = [['sign-in', 'a'], KEY];
      for (const key of keys) await store.put(key, 'value', { keepFor: 60_000 });
      const read = () => Promise.all(keys.map((key) => store.get(key)));
      assert.deepEqual(await read(), ['value', 'value']);
      await ask(`UPDATE remote_printing.entries SET until = now() - interval '1 s'`);
      assert.deepEqual(await read(), [undefined, 'value']);
    });

    it('keeps values that were set aside', async () => {
      await open().put(KEY, 1);
      await ask("UPDATE remote_printing.entries SET content = 'damaged'");
      assert.deepEqual(await Promise.all([open().get(KEY), open().get(KEY)]), [undefined, undefined]);
      assert.equal(warnings.length, 1, 'one warning for both');
      assert.deepEqual(await ask('SELECT key, content FROM remote_printing.set_aside'), [
        { key: JSON.stringify(KEY), content: 'damaged' },
      ]);
    });
  });

  describe('a lock', () => {
    it('rejects the write of its first holder after a takeover', async () => {
      const first = await changing(open());
      await runOut();
      const second = await steady();
      assert.equal(await second.update<unknown>(KEY, () => 'new'), 'new');
      first.end();
      await assert.rejects(first.over, LOST);
      assert.equal(await second.get(KEY), 'new');
    });

    it('rejects it even after the new holder released the lock or deleted the value', async () => {
      for (const [at, next] of [undefined, 'new'].entries()) {
        const first = await changing(open());
        await runOut();
        const second = await steady();
        await second.update<unknown>(KEY, () => next);
        first.end();
        await assert.rejects(first.over, LOST, `${at}`);
        assert.equal(await second.get(KEY), next);
      }
    });

    it('accepts the write of its holder after its expiry without a takeover', async () => {
      const held = await changing(open());
      await runOut();
      held.end();
      assert.equal(await held.over, 'late');
      assert.equal(await open().get(KEY), 'late');
    });

    it('can’t be taken over before its expiry', async () => {
      const held = await changing(open());
      const other = await steady();
      const clock = new ManualClock();
      const deadline = limit(clock, { seconds: 1 });
      const waiting = assert.rejects(
        other.update(KEY, () => 'new', { deadline }),
        { code: 'TIMEOUT', outcome: 'not-sent' },
      );
      await clock.advance(1_000);
      await waiting;
      held.end();
      assert.equal(await held.over, 'late');
    });

    it('isn’t taken over right after a runtime has reached the database', async () => {
      const held = await changing(open());
      await runOut();
      const clock = new ManualClock();
      const other = open({ clock });
      let isTaken = false;
      const taking = other.update<unknown>(KEY, () => ((isTaken = true), 'new'));
      // Requests wait on the manual clock; the statements take real time.
      for (let asked = 0; asked < 20; asked++) {
        await until(() => clock.waiting > 0);
        await clock.advance(250);
      }
      assert.equal(isTaken, false);
      for (; !isTaken; await pause(1)) await clock.advance(250);
      assert.ok(clock.monotonic() >= STEADY - 1, `${clock.monotonic()} ms`);
      await taking;
      held.end();
      await assert.rejects(held.over, LOST);
    });

    for (const shift of ['10 min', '-10 min'])
      it(`expires by elapsed time even if the database’s clock is set by ${shift}`, async () => {
        // No clock moves on its own, so the holder stands still.
        const held = await changing(open({ clock: new ManualClock() }));
        const clock = new ManualClock();
        const other = open({ clock: { ...clock, monotonic: clock.monotonic, after: systemClock.after } });
        // The lease as it appears after the clock was set the other way.
        await ask(`UPDATE remote_printing.entries SET ends_at = ends_at - interval '${shift}'`);
        const isTaken = { at: undefined as number | undefined };
        const taking = other.update<unknown>(KEY, () => ((isTaken.at = clock.monotonic()), 'new'));
        for (; isTaken.at === undefined; await pause(300)) await clock.advance(2_000);
        assert.ok(isTaken.at >= 17_000, `${isTaken.at} ms`);
        assert.ok(isTaken.at <= 40_000, `${isTaken.at} ms`);
        await taking;
        held.end();
        await assert.rejects(held.over, LOST);
      });

    it('is renewed while it is held, and aborts its signal in time if it can’t be renewed', async () => {
      const clock = new ManualClock();
      const held = await changing(open({ clock }));
      await ask('UPDATE remote_printing.entries SET lasts = 1');
      await clock.advance(5_000);
      await until(async () => (await left()) > 15_000);
      await until(() => clock.waiting > 1);
      await server.halt();
      try {
        await clock.advance(14_000);
        assert.equal(held.lock.signal?.aborted, false);
        await clock.advance(1_000);
        assert.equal(held.lock.signal?.aborted, true);
        await assert.rejects(held.lock.secure(1_000), { outcome: 'not-sent' });
      } finally {
        await server.start();
      }
      held.end();
      // Without a takeover, the holder's write is still valid.
      assert.equal(await held.over, 'late');
    });

    it('aborts its signal when a renewal finds it taken over', async () => {
      const clock = new ManualClock();
      const held = await changing(open({ clock }));
      await runOut();
      await (await steady()).put(KEY, 'new');
      await clock.advance(5_000);
      await until(() => held.lock.signal?.aborted === true);
      held.end();
      await assert.rejects(held.over, LOST);
    });

    it('lasts for the secured time, while its check is valid only briefly', async () => {
      const clock = new ManualClock();
      const held = await changing(open({ clock }));
      const check = await held.lock.secure(60_000);
      const lasts = await left();
      assert.ok(lasts > 60_000, `${lasts} ms`);
      check();
      await clock.advance(14_000);
      check();
      await clock.advance(2_000);
      assert.throws(check, LOST);
      (await held.lock.secure(60_000))();
      held.end();
      await held.over;
    });

    it('fails its check after a sleep of the machine, in which the monotonic clock stands still', async () => {
      const clock = new ManualClock();
      const held = await changing(open({ clock }));
      const check = await held.lock.secure(1_000);
      clock.set(clock.now() + 60_000);
      assert.throws(check, LOST);
      held.end();
      await held.over;
    });

    it('can’t be secured after a takeover', async () => {
      const held = await changing(open());
      await runOut();
      await (await steady()).put(KEY, 'new');
      await assert.rejects(held.lock.secure(1_000), LOST);
      assert.equal(held.lock.signal?.aborted, true);
      held.end();
      await assert.rejects(held.over, LOST);
    });

    it('fences writes of any key under it', async () => {
      const store = open();
      const held = await changing(store);
      const under = [held.lock];
      await store.put(['print-key', 'a'], 'first', { under });
      await runOut();
      await (await steady()).put(KEY, 'new');
      await assert.rejects(store.put(['print-key', 'a'], 'late', { under }), LOST);
      await assert.rejects(
        store.update(['print-key', 'a'], () => 'late', { under }),
        LOST,
      );
      await assert.rejects(store.delete(['print-key', 'a'], { under }), LOST);
      assert.equal(await store.get(['print-key', 'a']), 'first');
      assert.equal(
        await store.update<unknown>(['print-key', 'a'], () => 'free'),
        'free',
        'its own lock was not released',
      );
      held.end();
      await assert.rejects(held.over, LOST);
    });

    it('leaves no row behind for longer than a day', async () => {
      const store = open();
      await store.update(KEY, () => undefined);
      await assert.rejects(store.update(['position', 'b'], () => Promise.reject(new Error('no'))));
      await store.put(['position', 'c'], 'kept');
      await store.sweep();
      const rows = () =>
        ask('SELECT key->>1 AS key FROM (SELECT key::jsonb FROM remote_printing.entries) AS e ORDER BY 1');
      assert.deepEqual(await rows(), [{ key: 'a' }, { key: 'b' }, { key: 'c' }]);
      await ask("UPDATE remote_printing.entries SET until = until - interval '1 day'");
      await store.sweep();
      assert.deepEqual(await rows(), [{ key: 'c' }]);
    });
  });

  describe('a database that goes away', () => {
    it('interrupts the work under way, is reported once, and works again on its return', async () => {
      const store = open();
      await store.put(KEY, 1);
      await server.halt();
      for (let n = 0; n < 3; n++) await assert.rejects(store.get(KEY), { code: 'FILE_NOT_READABLE' });
      await assert.rejects(store.put(KEY, 2), { code: 'FILE_NOT_WRITABLE', message: /check the database/ });
      await server.start();
      assert.equal(await store.get(KEY), 1);
      await store.put(KEY, 3);
      assert.equal(await store.get(KEY), 3);
      assert.equal(warnings.length, 2, warnings.join('\n'));
      assert.match(warnings[0]!, /can't be used \(ECONNREFUSED\)/);
      assert.match(warnings[1]!, /is back/);
    });

    it('isn’t reported after a brief outage', async () => {
      const store = open();
      await store.put(KEY, 1);
      for (let n = 2; n < 5; n++) {
        await server.halt();
        await server.start();
        assert.equal(await store.update<number>(KEY, (value = 0) => value + 1), n);
      }
      assert.deepEqual(warnings, []);
    });

    it('is waited for at the start', async () => {
      await server.halt();
      const store = open();
      await assert.rejects(store.get(KEY), { code: 'FILE_NOT_READABLE' });
      await server.start();
      await store.put(KEY, 1);
      assert.equal(await store.get(KEY), 1);
    });

    it('keeps the connections of a store that is used again after its close', async () => {
      const store = open();
      await store.put(KEY, 1);
      await store.close();
      assert.equal(await store.get(KEY), 1);
    });
  });

  describe('a listing', () => {
    it('reads the index of kinds in order, without a sort', async () => {
      await open().put(KEY, 1);
      await ask(`INSERT INTO remote_printing.entries (name, kind, key, content, token)
        SELECT sha256(n::text::bytea)::text, CASE n % 2 WHEN 0 THEN 'item' ELSE 'other' END, '["item"]', '{}', n
        FROM generate_series(1, 20000) AS n`);
      await ask('ANALYZE remote_printing.entries');
      const rows = await ask(`EXPLAIN ${LIST_ENTRIES}`, ['item', '', '["item","a"', 250]);
      const plan = rows.map((row) => Object.values(row).join()).join('\n');
      assert.match(plan, /using kinds/);
      assert.match(plan, /Index Cond: .*kind.* AND .*name/);
      assert.doesNotMatch(plan, /Sort/);
    });

    it('leaves a value sealed with another secret alone and reports it', async () => {
      await open().put(['grant', 'a'], 'token');
      const listed = open({ secret: 'another secret' }).list(['grant'], { limit: 9 });
      await assert.rejects(listed, { code: 'FILE_NOT_READABLE', message: /another credential secret/ });
      assert.equal(await open().get(['grant', 'a']), 'token');
    });

    it('names the reason of a value that can’t be read, and lists the others', async () => {
      await open().put(['grant', 'a'], 'token');
      await open({ secret: 'another secret' }).put(['grant', 'b'], 'other token');
      const reasons: string[] = [];
      const unread = ({ code }: { code: string }) => void reasons.push(code);
      const { entries } = await open().list(['grant'], { limit: 9, unread });
      assert.deepEqual([entries, reasons], [[{ key: ['grant', 'a'], value: 'token' }], ['FILE_NOT_READABLE']]);
    });

    it('returns no page after the deadline', async () => {
      const clock = new ManualClock();
      const deadline = limit(clock, { seconds: 1 });
      const store = open();
      await store.put(KEY, 1);
      await clock.advance(1_000);
      await assert.rejects(store.list(['position'], { limit: 9, deadline }), { code: 'TIMEOUT', outcome: 'not-sent' });
    });
  });

  describe('a faulty set-up', () => {
    it('reports a wrong password, a missing database and a missing right, without the address', async () => {
      await server.ask(server.address, 'CREATE ROLE guest LOGIN');
      const guest = address.replace('nodered@', 'guest:a-password@');
      await assert.rejects(open({ at: guest }).get(KEY), { code: 'FILE_NOT_READABLE', message: /42501/ });
      await assert.rejects(open({ at: `${address}_none` }).get(KEY), { message: /3D000/ });
      assert.match(warnings[0]!, /lacks a right/);
      assert.match(warnings[1]!, /no such database/);
      assert.ok(!warnings.join().includes('a-password') && !warnings.join().includes('guest'), warnings.join('\n'));
    });

    it('needs no right beyond an existing schema', async () => {
      await server.ask(server.address, 'CREATE ROLE limited LOGIN');
      await ask('CREATE SCHEMA remote_printing AUTHORIZATION limited');
      const limited = open({ at: address.replace('nodered@', 'limited@') });
      await limited.put(KEY, 1);
      assert.equal(await limited.get(KEY), 1);
    });

    it('leaves tables of a newer version alone', async () => {
      await open().put(KEY, 1);
      await ask('UPDATE remote_printing.version SET number = 99');
      await assert.rejects(open().get(KEY), { code: 'NOT_CONFIGURED', message: /newer version/ });
      assert.deepEqual(await ask('SELECT number FROM remote_printing.version'), [{ number: 99 }]);
    });

    it('reports an invalid address as a sentence', async () => {
      for (const at of ['', 'folder', 'mysql://host/db', 'postgresql://[bad']) {
        const refused = { code: 'NOT_CONFIGURED', message: /postgresql:\/\// };
        await assert.rejects(open({ at }).get(KEY), refused, at);
      }
    });

    it('waits for the disk even if the server is configured not to', async () => {
      await ask(`ALTER ROLE nodered SET synchronous_commit = 'off'`);
      try {
        const clock = systemClock;
        const database = new Database({ address, clock, log: { warn: () => {}, info: () => {} } });
        const rows = await database.query<{ set: string }>(`SELECT current_setting('synchronous_commit') AS set`, []);
        assert.deepEqual(rows, [{ set: 'on' }]);
        await database.close();
      } finally {
        await ask('ALTER ROLE nodered RESET synchronous_commit');
      }
    });
  });
});

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 120_000; !(await holds()); await pause(5)) assert.ok(Date.now() < end, 'never came');
}
