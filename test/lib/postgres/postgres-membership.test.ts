import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { Client } from 'pg';
import sinon from 'sinon';
import { Database } from '../../../lib/postgres/database';
import { LEASE_TIMES, type Lease } from '../../../lib/postgres/leases';
import type { Lock, Membership } from '../../../lib/state/membership';
import { PostgresStore } from '../../../lib/postgres/postgres-store';
import { systemClock, type Clock } from '../../../lib/time/clock';
import { ManualClock } from '../../helpers/manual-clock';
import { testPostgres, type TestPostgres } from '../../helpers/postgres';
import { SharedMemory, type SharedRuntime } from '../../helpers/shared-memory';

const TOPIC = ['watch', 'an account'] as const;
const nothing = new Map<string, unknown>();

describe('postgres/postgres-membership', () => {
  let server: TestPostgres;
  let address: string;
  let stores: PostgresStore[];
  let joined: Membership[];
  let warnings: string[];

  before(async () => (server = await testPostgres()));
  beforeEach(async () => {
    address = await server.fresh();
    [stores, joined, warnings] = [[], [], []];
  });
  afterEach(async () => {
    await Promise.all(joined.map((membership) => membership.leave(nothing)));
    await Promise.all(stores.map((store) => store.close()));
    assert.deepEqual(warnings, []);
  });

  const ask = <Row extends object>(statement: string, values?: unknown[]) =>
    server.ask<Row>(address, statement, values);

  function open(clock: Clock = systemClock, steady = 10_000, leases = LEASE_TIMES): PostgresStore {
    const warn = (sentence: object) => void warnings.push(sentence as unknown as string);
    const database = new Database({ address, clock, log: { warn, info: warn } });
    const times = { ...leases, steady };
    const store = new PostgresStore({ clock, sealedKinds: [], secrets: () => [], warn, database, times });
    stores.push(store);
    return store;
  }
  async function join(store = open(), onChange = () => {}): Promise<Membership> {
    const membership = store.join(TOPIC, { name: 'a', wants: null, onChange });
    joined.push(membership);
    await until(() => membership.lock !== null);
    return membership;
  }
  /** Number of rows. */
  const count = async (where: string) => {
    const rows = await ask<{ many: number }>(`SELECT count(*)::int AS many FROM remote_printing.${where}`);
    return rows[0]?.many;
  };

  it('acquires ten thousand items at once, whatever the table’s statistics say', async () => {
    const items = Array.from({ length: 10_000 }, (_, n) => `cluster ${n}`);
    const [one, two] = [await join(), await join()];
    await ask('ANALYZE remote_printing.assignments');
    assert.equal((await one.take(items, items.length)).length, items.length);
    // By the statistics, free items are now rare; later, held ones.
    await ask('ANALYZE remote_printing.assignments');
    await one.release(new Map(items.map((item) => [item, { polledAt: 1 }])));
    const [some, others] = await Promise.all([one.take(items, 5_000), two.take(items, 5_000)]);
    assert.equal(new Set([...some, ...others].map(({ item }) => item)).size, items.length);
    await one.release(new Map(some.map(({ item }) => [item, null])));
    await two.release(new Map(others.map(({ item }) => [item, null])));
    await ask('ANALYZE remote_printing.assignments');
    assert.equal((await two.take(items, items.length)).length, items.length);
    await two.leave(new Map(items.map((item) => [item, { polledAt: 2 }])));
    assert.equal((await one.take(items, items.length)).filter(({ note }) => note !== null).length, items.length);
    assert.ok(joined.every((membership) => membership === two || membership.lock));
  });

  it('remains a member, also after a lost lease, if the listener to its changes throws', async () => {
    const warned = sinon.stub(process, 'emitWarning');
    try {
      const one = await join(open(), () => {
        throw new TypeError('not ours');
      });
      const first = one.lock;
      await join();
      await until(() => one.members.length === 2);
      await ask(`DELETE FROM remote_printing.entries WHERE kind = 'member'`);
      await ask(`SELECT pg_notify('remote_printing', '{"by":"a test"}')`);
      await until(() => one.lock !== null && one.lock !== first);
      assert.equal((await one.take(['cluster'], 1)).length, 1);
      assert.ok(warned.getCalls().filter(({ args }) => (args as unknown[])[1] === 'RemotePrinting').length >= 3);
    } finally {
      warned.restore();
    }
  });

  it('gives each item to one holder while members are evicted, rejoin, take and release concurrently', async () => {
    const items = Array.from({ length: 40 }, (_, n) => `cluster ${n}`);
    const parts = await Promise.all(
      Array.from({ length: 4 }, async () => ({ membership: await join(open(systemClock, 0)), has: new Set<string>() })),
    );
    const locks = new Map<Membership, Lock | null>();
    const run = async ({ membership, has }: (typeof parts)[number], turn: number) => {
      const { lock } = membership;
      if (locks.get(membership) !== lock) has.clear();
      locks.set(membership, lock);
      if (turn % 3 === 2) {
        const gone = [...has].filter((_, at) => at % 2 === 0);
        gone.forEach((item) => has.delete(item));
        return membership.release(new Map(gone.map((item) => [item, turn])));
      }
      const wanted = items.filter((item) => !has.has(item));
      const taken = await membership.take(wanted, 8);
      if (membership.lock === lock) taken.forEach(({ item }) => has.add(item));
    };
    for (let round = 0; round < 60; round++) {
      await Promise.all([
        ...parts.map((part, at) => run(part, round + at)),
        ask(`WITH over AS (UPDATE remote_printing.entries SET lasts = 0
               WHERE kind = 'member' AND random() < 0.3)
             SELECT pg_notify('remote_printing', '{"by":"a test"}')`),
      ]);
      if (round % 6 !== 5) continue;
      const holders = await parts[0]!.membership.holders();
      const sure = await Promise.all(
        parts.map(async ({ membership }) => {
          const { lock } = membership;
          if (!lock || locks.get(membership) !== lock) return false;
          return lock.secure(0).then(() => membership.lock === lock, () => false); // oxfmt-ignore
        }),
      );
      for (const [at, { membership, has }] of parts.entries())
        if (sure[at]) assert.deepEqual([...(holders.get(membership.id)?.items ?? [])].sort(), [...has].sort());
    }
    // No item stays with a departed member.
    await Promise.all(parts.map(({ membership }) => membership.leave(nothing)));
    const last = await join();
    await until(async () => last.members.length === 1 && (await count('assignments WHERE holder IS NOT NULL')) === 0);
    assert.equal((await last.take(items, 40)).length, 40);
  });

  /** Opens a transaction that blocks others until the returned function commits it. */
  async function between(statement: string, values: unknown[] = []): Promise<() => Promise<void>> {
    const client = new Client(address);
    await client.connect();
    client.on('error', () => undefined);
    await client.query('BEGIN');
    await client.query(statement, values);
    return async () => {
      await client.query('COMMIT');
      await client.end();
    };
  }
  /** Waits until a statement waits for a lock. */
  const isWaiting = () =>
    until(async () => {
      const rows = await ask(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
        AND application_name = 'remote-printing' AND wait_event_type = 'Lock'`);
      return rows.length > 0;
    });

  it('renews during a write under the lease, writes during a renewal, and isn’t evicted meanwhile', async () => {
    const clock = new ManualClock();
    const store = open(clock);
    const membership = await join(store);
    const renewed = await between(`UPDATE remote_printing.entries SET ends_at = ends_at WHERE kind = 'member'`);
    await store.put(['position', 'a'], 1, { under: [membership.lock!] });
    await renewed();
    // Locks the row as a write does.
    const written = await between(`SELECT 1 FROM remote_printing.entries WHERE kind = 'member' FOR KEY SHARE`);
    await ask(`UPDATE remote_printing.entries SET lasts = 0 WHERE kind = 'member'`);
    const other = await join(open(systemClock, 0));
    assert.equal(other.members.length, 2);
    await clock.advance(5_000);
    await until(async () => (await count(`entries WHERE kind = 'member' AND lasts > 0`)) === 2);
    await written();
    assert.ok(membership.lock);
  });

  it('acquires nothing while it is being evicted', async () => {
    const one = await join();
    assert.equal((await one.take(['x', 'y'], 1)).length, 1);
    const end = await between(`DELETE FROM remote_printing.entries WHERE kind = 'member'`);
    const taking = one.take(['x', 'y'], 2);
    await isWaiting();
    await end();
    assert.deepEqual(await taking, []);
    const other = await join();
    await until(async () => (await other.take(['x', 'y'], 2)).length > 0);
  });

  it('frees no item that another member has acquired since the statement began', async () => {
    const [one, two] = [await join(), await join()];
    await two.take(['x', 'y'], 2);
    // The item of a member that was evicted during a take.
    await ask('UPDATE remote_printing.assignments SET holder = 0 WHERE item = $1', ['"x"']);
    const lock = one.lock;
    const end = await between('SELECT 1 FROM remote_printing.entries WHERE holder = $1 FOR UPDATE', [one.id]);
    (lock as Lease).lose();
    await isWaiting();
    // A further member evicts on joining too.
    const three = await join();
    await until(async () => (await two.take(['x'], 1)).length === 1);
    await end();
    await until(() => one.lock !== null && three.members.length === 3);
    assert.deepEqual(await one.take(['x', 'y'], 2), []);
    assert.deepEqual([...(await one.holders()).get(two.id)!.items].sort(), ['x', 'y']);
  });

  it('knows the age of its lease, which each renewal resets', async () => {
    const waiting = open().join(TOPIC, { name: 'a', wants: null, onChange: () => {} });
    joined.push(waiting);
    assert.equal(waiting.leaseAge, null);
    const membership = await join(open(systemClock, 10_000, { lasts: 5_000, margin: 100, renewal: 50 }));
    const ages = [membership.leaseAge!];
    await until(() => {
      ages.push(membership.leaseAge!);
      return ages.some((age, at) => at > 0 && age < ages[at - 1]!);
    });
    assert.ok(
      ages.every((age) => age >= 0 && age < 5_000),
      String(ages),
    );
    await membership.leave(nothing);
    assert.equal(membership.leaseAge, null);
  });

  it('deletes items that have been free for a day, and a dead member with its items', async () => {
    // A sweep watches an old lease for one lifetime.
    const store = open(systemClock, 10_000, { lasts: 1_000, margin: 100, renewal: 200 });
    const here = await join(store);
    await here.take(['kept', 'wanted', 'given back'], 3);
    await here.release(new Map([['given back', 1], ['wanted', 1]])); // oxfmt-ignore
    const silent = { ...LEASE_TIMES, renewal: 600_000 };
    const crashed = open(systemClock, 10_000, silent);
    const gone = crashed.join(['watch', 'a deleted account'], { name: 'b', wants: null, onChange: () => {} });
    joined.push(gone);
    await until(() => gone.lock !== null);
    await gone.take(['x', 'y'], 2);
    // A live member would join again once it is deleted.
    await crashed.close();
    await store.sweep();
    assert.equal(await count('entries'), 2);
    assert.equal(await count('assignments'), 5);
    await ask(`UPDATE remote_printing.assignments SET left_at = left_at - interval '25 h' WHERE note IS NOT NULL`);
    await ask(`UPDATE remote_printing.entries SET ends_at = ends_at - interval '25 h' WHERE holder = $1`, [gone.id]);
    await here.take(['wanted'], 1);
    await store.sweep();
    assert.deepEqual((await ask<{ item: string }>('SELECT item FROM remote_printing.assignments ORDER BY item')).map(({ item }) => item), ['"kept"', '"wanted"']); // oxfmt-ignore
    assert.equal(await count('entries'), 1);
    assert.deepEqual([...(await here.holders()).values()].map(({ items }) => [...items].sort()), [['kept', 'wanted']]); // oxfmt-ignore
  });
});

describe('any sequence of faults on several runtimes', () => {
  const items = Array.from({ length: 12 }, (_, n) => `cluster ${n}`);
  const one = fc.nat({ max: 3 });
  const event = fc.oneof(
    { weight: 5, arbitrary: fc.record({ pass: fc.nat({ max: 12_000 }) }) },
    { weight: 5, arbitrary: fc.record({ take: one, most: fc.integer({ min: 1, max: 6 }) }) },
    { weight: 2, arbitrary: fc.record({ release: one, most: fc.integer({ min: 1, max: 6 }) }) },
    { weight: 1, arbitrary: fc.record({ cut: one, after: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ reconnect: one }) },
    { weight: 1, arbitrary: fc.record({ pause: one }) },
    { weight: 1, arbitrary: fc.record({ resume: one }) },
    { weight: 1, arbitrary: fc.record({ replace: one, how: fc.constantFrom('kill' as const, 'leave' as const) }) },
    { weight: 1, arbitrary: fc.record({ isAway: fc.boolean() }) },
  );

  it('never gives an item to two members, and finally assigns all of them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 40 }), async (events) => {
        const clock = new ManualClock();
        const shared = new SharedMemory(clock);
        const start = () => {
          const runtime = shared.runtime();
          const part = {
            runtime,
            isPaused: false,
            has: new Set<string>(),
            lock: null as Lock | null,
            membership: runtime.store.join(TOPIC, { name: 'a', wants: null, onChange: () => mind(part) }),
          };
          return part;
        };
        /** Forgets the items of a lost lease. */
        const mind = (part: Part) => {
          if (part.lock === part.membership.lock) return;
          part.lock = part.membership.lock;
          part.has.clear();
        };
        const parts = Array.from({ length: 4 }, start);
        const take = (part: Part, most: number) => {
          const { lock } = part;
          const wanted = items.filter((item) => !part.has.has(item));
          void part.membership.take(wanted, most).then((taken) => {
            if (part.lock === lock) taken.forEach(({ item }) => part.has.add(item));
          });
        };
        const check = () => {
          // A member that stands still does nothing with its items.
          const had = parts.filter(({ isPaused }) => !isPaused).flatMap(({ has }) => [...has]);
          assert.equal(new Set(had).size, had.length, had.sort().join());
        };
        for (const happens of events) {
          if ('pass' in happens) await clock.advance(happens.pass);
          if ('take' in happens) take(parts[happens.take]!, happens.most);
          if ('release' in happens) {
            const { has, membership } = parts[happens.release]!;
            const gone = [...has].slice(0, happens.most);
            gone.forEach((item) => has.delete(item));
            void membership.release(new Map(gone.map((item) => [item, 1])));
          }
          if ('cut' in happens) parts[happens.cut]!.runtime.cutOff(happens.after ? 'after asking' : 'at once');
          if ('reconnect' in happens) parts[happens.reconnect]!.runtime.reconnect();
          if ('pause' in happens) {
            parts[happens.pause]!.runtime.pause();
            parts[happens.pause]!.isPaused = true;
          }
          if ('resume' in happens) {
            parts[happens.resume]!.isPaused = false;
            parts[happens.resume]!.runtime.resume();
          }
          if ('replace' in happens) {
            const { runtime, membership } = parts[happens.replace]!;
            if (happens.how === 'kill') runtime.kill();
            else void membership.leave(nothing);
            parts[happens.replace] = start();
          }
          if ('isAway' in happens) {
            if (happens.isAway) shared.halt();
            else shared.start();
          }
          await clock.advance(0);
          check();
        }
        shared.start();
        for (const part of parts) {
          part.runtime.reconnect();
          part.runtime.resume();
          part.isPaused = false;
        }
        for (let second = 0; second < 60; second++) {
          await clock.advance(1_000);
          check();
        }
        assert.deepEqual(parts.map(({ membership }) => membership.members.length), [4, 4, 4, 4]); // oxfmt-ignore
        for (const part of parts) {
          take(part, items.length);
          await clock.advance(0);
        }
        check();
        assert.deepEqual(parts.flatMap(({ has }) => [...has]).sort(), [...items].sort());
        for (const { membership } of parts) await membership.leave(nothing);
        for (const runtime of shared.runtimes) assert.equal(runtime.waiting, 0);
      }),
      { numRuns: 60 },
    );
  });

  interface Part {
    runtime: SharedRuntime;
    membership: Membership;
    has: Set<string>;
    lock: Lock | null;
    isPaused: boolean;
  }
});

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 120_000; !(await holds()); await pause(2)) assert.ok(Date.now() < end, 'never came');
}
