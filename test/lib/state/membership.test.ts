import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { Database } from '../../../lib/postgres/database';
import { UPDATE_CONTENT } from '../../../lib/postgres/roster';
import type { Assigned, Membership } from '../../../lib/state/membership';
import type { Key } from '../../../lib/state/store';
import { ManualClock, settle } from '../../helpers/manual-clock';
import { testPostgres, type TestPostgres } from '../../helpers/postgres';
import { Shared, SharedMemory, type Line, type SharedRuntime } from '../../helpers/shared-memory';

const TOPIC: Key = ['watch', 'an account'];
const KEY: Key = ['position', 'a'];
const LOST = { name: 'PrintingError', code: 'TIMEOUT', outcome: 'not-sent', message: /has lost its hold/ };
const ITEMS = Array.from({ length: 300 }, (_, n) => `cluster ${n}`);
const STEP = 1_000;

/** A shared place for runtimes, with manually advanced time. */
interface Place {
  shared: Shared;
  clock: ManualClock;
  /** Advances the time by `ms` and completes all work due meanwhile. */
  pass(ms: number): Promise<void>;
  /** Sets the clock of the leases by `ms`, without time passing. */
  shift(ms: number): Promise<void>;
  end(): Promise<void>;
}

function inMemory(): Place {
  const clock = new ManualClock();
  return {
    shared: new SharedMemory(clock),
    clock,
    pass: (ms) => clock.advance(ms),
    shift: (ms) => Promise.resolve(clock.set(clock.now() + ms)),
    end: () => Promise.resolve(),
  };
}

/** A real database whose leases age with the manual clock. */
class SharedDatabase extends Shared {
  readonly lines: Line[] = [];

  constructor(
    clock: ManualClock,
    private readonly address: string,
  ) {
    super(clock);
  }

  line(): Line {
    const log = { warn: () => undefined, info: () => undefined };
    const database = new Database({ address: this.address, clock: this.clock, log });
    this.lines.push({
      query: (text, values) => database.query(text, values),
      listen: (received) => database.listen('remote_printing', received),
      close: () => database.close(),
    });
    return this.lines.at(-1)!;
  }
}

const PASS = `WITH items AS (UPDATE remote_printing.assignments SET left_at = left_at - $1 * interval '1 ms')
  UPDATE remote_printing.entries SET ends_at = ends_at - $1 * interval '1 ms'`;

async function inDatabase(server: TestPostgres): Promise<Place> {
  const address = await server.fresh();
  const clock = new ManualClock();
  const shared = new SharedDatabase(clock, address);
  const time = shared.line();
  // The first statement creates the tables.
  await time.query('SELECT', []);
  const idle = () => until(() => [...shared.runtimes].every(({ underWay }) => underWay === 0));
  return {
    shared,
    clock,
    pass: async (ms) => {
      for (let left = ms; left > 0; left -= STEP) {
        const step = Math.min(left, STEP);
        await idle();
        await time.query(PASS, [step]);
        await clock.advance(step);
        await idle();
      }
    },
    // A clock that is set back makes an absolute end later.
    shift: async (ms) => {
      await idle();
      await time.query(PASS, [ms]);
    },
    end: async () => {
      await Promise.all(shared.lines.map((line) => line.close()));
    },
  };
}

/** Waits, in real time, for an effect that needs no advance of the clock. */
async function until(holds: () => boolean | Promise<boolean>, what = 'the condition never held'): Promise<void> {
  await settle();
  for (const end = Date.now() + 120_000; !(await holds()); await pause(1)) assert.ok(Date.now() < end, what);
}

let server: TestPostgres;
before(async () => (server = await testPostgres()));

for (const [where, make] of Object.entries({ memory: inMemory, 'a PostgreSQL database': () => inDatabase(server) }))
  describe(`membership in ${where}`, () => {
    let place: Place;
    let joined: Membership[];

    beforeEach(async () => {
      place = await make();
      joined = [];
    });
    afterEach(async () => {
      for (const runtime of place.shared.runtimes) runtime.kill();
      await place.end();
    });

    /** A runtime's membership. */
    interface Part extends Membership {
      runtime: SharedRuntime;
      /** Number of notified changes. */
      changes(): number;
    }

    function join(name = 'a', wants: unknown = null, runtime = place.shared.runtime(), topic = TOPIC): Part {
      let changes = 0;
      const membership = runtime.store.join(topic, { name, wants, onChange: () => changes++ });
      joined.push(membership);
      return Object.assign(membership, { runtime, changes: () => changes });
    }
    const sees = (one: Membership, count: number) =>
      until(() => one.members.length === count, `${one.members.length} members and not ${count}`);
    /** Joins `count` members that all see each other. */
    async function together(count: number): Promise<Part[]> {
      const all = Array.from({ length: count }, (_, n) => join(String(n)));
      for (const one of all) await sees(one, count);
      return all;
    }
    const itemsOf = (assigned: Assigned[]) => assigned.map(({ item }) => item).sort();
    const heldBy = async (one: Membership, id = one.id) => [...((await one.holders()).get(id)?.items ?? [])].sort();
    const nothing = new Map<string, unknown>();
    /** Advances the time until a condition holds. Returns the passed time, ms. */
    async function passUntil(holds: () => boolean | Promise<boolean>, most = 120_000): Promise<number> {
      for (let passed = 0; ; passed += STEP) {
        await settle();
        if (await holds()) return passed;
        assert.ok(passed <= most, `the condition did not hold within ${most} ms`);
        await place.pass(STEP);
      }
    }

    describe('members', () => {
      it('sees each new member with its name and wishes', async () => {
        const one = join('one', { all: true });
        assert.deepEqual([one.members, one.lock], [[], null]);
        await sees(one, 1);
        assert.ok(one.lock);
        assert.equal(one.changes(), 1);
        const since = place.shared.clock.now();
        assert.deepEqual(one.members, [{ id: one.id, name: 'one', since, wants: { all: true } }]);
        const two = join('two', ['ä', null, 1]);
        await sees(one, 2);
        await sees(two, 2);
        assert.deepEqual(one.members, two.members);
        assert.deepEqual(one.members.map(({ id }) => id).sort(), [one.id, two.id].sort());
        assert.deepEqual(one.members.find(({ id }) => id === two.id)?.wants, ['ä', null, 1]);
      });

      it('distinguishes members with the same name and wishes', async () => {
        const all = [join('a'), join('a'), join('a')];
        for (const one of all) await sees(one, 3);
        for (const one of all) assert.deepEqual(one.members.map(({ name }) => name), ['a', 'a', 'a']); // oxfmt-ignore
      });

      it('sees new wishes and departures at once', async () => {
        const [one, two] = (await together(2)) as [Part, Part];
        one.want({ clusters: ['x'] });
        const wantsOf = () => two.members.find(({ id }) => id === one.id)?.wants;
        await until(() => JSON.stringify(wantsOf()) === '{"clusters":["x"]}');
        await one.leave(nothing);
        await sees(two, 1);
        assert.deepEqual([one.members, one.lock], [[], null]);
      });

      it('sees the last wishes even after many changes', async () => {
        const [one, two] = (await together(2)) as [Part, Part];
        for (let n = 0; n < 50; n++) one.want(n % 7);
        one.want('last');
        await until(() => two.members.some(({ wants }) => wants === 'last'));
        await until(() => one.members.some(({ wants }) => wants === 'last'));
      });

      it('corrects wishes that a late write has overwritten', async () => {
        const [one, two] = (await together(2)) as [Part, Part];
        const { line } = one.runtime;
        const query = line.query.bind(line);
        const asked: unknown[][] = [];
        line.query = (text, values) => {
          if (text === UPDATE_CONTENT) asked.push(values);
          return query(text, values);
        };
        const isSeen = (wanted: string) => () => two.members.some(({ wants }) => wants === wanted);
        for (const wanted of ['first', 'last']) {
          one.want(wanted);
          await until(isSeen(wanted));
        }
        await query(UPDATE_CONTENT, asked[0]!.with(3, '{"by":"another","topic":""}'));
        await passUntil(isSeen('first'), 11_000);
        await passUntil(isSeen('last'), 17_000);
      });

      it('separates the members of different topics', async () => {
        const runtime = place.shared.runtime();
        const [here, there] = [join('here', null, runtime), join('there', null, runtime, ['watch', 'another'])];
        await sees(here, 1);
        await sees(there, 1);
        assert.equal(here.id, there.id);
        assert.deepEqual(itemsOf(await here.take(['x'], 1)), ['x']);
        assert.deepEqual(itemsOf(await there.take(['x'], 1)), ['x']);
      });

      it('costs one renewal and one read every five seconds while idle', async () => {
        const all = await together(3);
        await all[0]!.take(ITEMS, 100);
        await place.pass(10_000);
        const [before, changes] = [all.map(({ runtime }) => runtime.statements), all.map((one) => one.changes())];
        await place.pass(60_000);
        for (const [at, { runtime }] of all.entries()) {
          const made = runtime.statements - before[at]!;
          assert.ok(made <= 26, `${made} statements`);
        }
        // The set of free items is unchanged. In a database, the test itself moves the times of the rows.
        if (where === 'memory') assert.deepEqual(all.map((one) => one.changes()), changes); // oxfmt-ignore
      });

      it('sees changes even if their notifications were lost', async () => {
        const [one, two] = (await together(2)) as [Part, Part];
        const [{ item }] = (await one.take(ITEMS, 10)) as [Assigned];
        await place.pass(6_000);
        two.runtime.deafen();
        one.want('unnotified');
        await passUntil(() => two.members.some(({ wants }) => wants === 'unnotified'), 6_000);
        const changes = two.changes();
        await one.release(new Map([[item, 'note']]));
        await passUntil(() => two.changes() > changes, 6_000);
        const third = join('third');
        await passUntil(() => two.members.length === 3, 6_000);
        await third.leave(nothing);
        await passUntil(() => two.members.length === 2, 6_000);
      });
    });

    describe('items', () => {
      it('gives an item to one member at a time, with the note of the previous holder', async () => {
        const [one, two] = (await together(2)) as [Part, Part];
        const first = await one.take(['x', 'y', 'y'], 5);
        assert.deepEqual(itemsOf(first), ['x', 'y']);
        for (const { note, idle } of first) assert.deepEqual([note, idle], [null, Infinity]);
        assert.deepEqual(await two.take(['x', 'y'], 5), []);
        const changes = two.changes();
        await one.release(new Map<string, unknown>([['x', { polledAt: 7, words: ['ä\u0000"'] }]]));
        await until(() => two.changes() > changes);
        await place.pass(7_000);
        const [taken, ...others] = await two.take(['x', 'y'], 5);
        assert.deepEqual([taken?.item, taken?.note, others], ['x', { polledAt: 7, words: ['ä\u0000"'] }, []]);
        assert.ok(taken!.idle >= 7_000 && taken!.idle < 7_000 + 120_000, `${taken!.idle} ms`);
        assert.deepEqual([await heldBy(two, one.id), await heldBy(one, two.id)], [['y'], ['x']]);
      });

      it('accepts any strings', async () => {
        const one = join();
        await sees(one, 1);
        const odd = ['', ' ', '\u0000', '\ud800', 'x'.repeat(10_000), 'a\nb', '__proto__', '{}', "'; --"];
        assert.deepEqual(itemsOf(await one.take(odd, 99)), [...odd].sort());
        assert.deepEqual(await heldBy(one), [...odd].sort());
        await one.release(new Map(odd.map((item) => [item, item])));
        for (const { item, note } of await one.take(odd, 99)) assert.equal(note, JSON.parse(JSON.stringify(item)));
      });

      it('assigns each contested item to exactly one member, and all of them', async () => {
        const all = await together(6);
        for (let round = 0; round < 3; round++) {
          const taken = (await Promise.all(all.map((one) => one.take(ITEMS, 50)))).map(itemsOf);
          const had = taken.flat();
          assert.equal(new Set(had).size, had.length);
          assert.ok(taken.every(({ length }) => length <= 50));
          for (const [at, one] of all.entries())
            taken[at]!.push(
              ...itemsOf(await one.take(ITEMS.filter((item) => !taken[at]!.includes(item)), 50 - taken[at]!.length)), // oxfmt-ignore
            );
          assert.deepEqual(taken.flat().sort(), [...ITEMS].sort());
          for (const [at, one] of all.entries()) assert.deepEqual(await heldBy(one), taken[at]!.sort());
          await Promise.all(all.map((one, at) => one.release(new Map(taken[at]!.map((item) => [item, at])))));
        }
      });

      it('ignores the release of items that the member doesn’t hold', async () => {
        const [one, two] = (await together(2)) as [Part, Part];
        await one.take(['x'], 1);
        await two.release(new Map([['x', 'not mine'], ['unknown', 'neither']])); // oxfmt-ignore
        assert.deepEqual(await two.take(['x'], 1), []);
        await one.release(new Map([['x', 'mine']]));
        await one.release(new Map([['x', 'again']]));
        assert.equal((await two.take(['x'], 1))[0]?.note, 'mine');
      });

      it('acquires no item before it has joined, and none if none are asked for', async () => {
        const one = join();
        assert.deepEqual(await one.take(['x'], 1), []);
        await one.release(new Map([['x', 1]]));
        await sees(one, 1);
        assert.deepEqual(await one.take(['x'], 0), []);
        assert.deepEqual(await one.take([], 5), []);
        assert.deepEqual(itemsOf(await one.take(['x'], Infinity)), ['x']);
      });

      it('frees them all at once when a member leaves', async () => {
        const [one, two] = (await together(2)) as [Part, Part];
        await one.take(ITEMS, 300);
        await one.leave(new Map([[ITEMS[7]!, 'a note']]));
        const taken = await two.take(ITEMS, 300);
        assert.equal(taken.length, 300);
        assert.deepEqual(
          taken.filter(({ note }) => note !== null).map(({ item, note }) => [item, note]),
          [[ITEMS[7], 'a note']],
        );
        assert.ok(taken.every(({ idle }) => idle < 120_000));
      });
    });

    describe('a holder', () => {
      it('is listed with the age of its lease, even without items', async () => {
        const [one, two] = (await together(2)) as [Part, Part];
        await one.take(['x'], 1);
        one.runtime.kill();
        await place.pass(14_000);
        const holders = await two.holders();
        assert.deepEqual([...holders].map(([id, { items }]) => [id, items]).sort(), [[one.id, ['x']], [two.id, []]].sort()); // oxfmt-ignore
        assert.ok(holders.get(one.id)!.leaseAge >= 14_000 && holders.get(two.id)!.leaseAge < 14_000);
      });
    });

    describe('a member that leaves', () => {
      it('stops all activity', async () => {
        const [one, two] = (await together(2)) as [Part, Part];
        await one.take(['x'], 1);
        await one.leave(nothing);
        await one.leave(nothing);
        assert.equal(one.runtime.waiting, 0);
        const [changes, statements] = [one.changes(), one.runtime.statements];
        one.want('more');
        assert.deepEqual(await one.take(['y'], 1), []);
        await one.release(new Map([['x', 1]]));
        await two.leave(nothing);
        await place.pass(30_000);
        assert.deepEqual([one.changes(), one.runtime.statements], [changes, statements]);
      });

      it('leaves nothing behind if it had not joined yet', async () => {
        const one = join();
        await one.leave(nothing);
        const two = join();
        await sees(two, 1);
        assert.deepEqual([one.changes(), one.runtime.waiting], [0, 0]);
      });

      it('can rejoin at once and finds its notes', async () => {
        const one = join();
        await sees(one, 1);
        await one.take(['x'], 1);
        const left = one.leave(new Map([['x', 'note']]));
        const again = join('again', null, one.runtime);
        await sees(again, 1);
        await left;
        assert.equal(again.members[0]?.name, 'again');
        assert.equal((await again.take(['x'], 1))[0]?.note, 'note');
        await again.leave(nothing);
        assert.equal(one.runtime.waiting, 0);
      });

      it('waits some seconds for a store that is away, and is evicted when its lease expires', async () => {
        const [one, two] = (await together(2)) as [Part, Part];
        await one.take(['x'], 1);
        one.runtime.pause();
        let isOver = false;
        const left = one.leave(nothing).then(() => (isOver = true));
        await place.pass(4_000);
        assert.equal(isOver, false);
        one.runtime.cutOff();
        one.runtime.resume();
        await left;
        assert.equal(one.runtime.waiting, 0);
        await passUntil(async () => (await two.take(['x'], 1)).length > 0, 40_000);
      });

      it('resolves after five seconds without an answer', async () => {
        const one = join();
        await sees(one, 1);
        // Only its statements are held back, not the clock.
        const { clock } = place;
        const release = holdBack(one.runtime.line);
        let isOver = false;
        const left = one.leave(nothing).then(() => (isOver = true));
        await clock.advance(4_999);
        assert.equal(isOver, false);
        await clock.advance(1);
        await left;
        release();
        await until(() => one.runtime.underWay === 0);
        assert.equal(one.runtime.waiting, 0);
      });
    });

    describe('a member that dies', () => {
      it('is replaced when its lease expires, not before', async () => {
        const [one, two] = (await together(2)) as [Part, Part];
        await one.take(['x'], 1);
        await place.pass(20_000);
        one.runtime.kill();
        let taken: Assigned[] = [];
        const took = await passUntil(async () => (taken = await two.take(['x'], 1)).length > 0);
        // Its last renewal may be five seconds old, and seen up to five seconds later.
        assert.ok(took >= 14_000 && took <= 23_000, `${took} ms`);
        assert.deepEqual([taken[0]?.note, two.members.length], [null, 1]);
        assert.ok(taken[0]!.idle < 10_000 + 120_000, `${taken[0]!.idle} ms`);
      });

      for (const minutes of [10, -10])
        it(`is replaced when its lease expires although the clock was set by ${minutes} min`, async () => {
          const [one, two] = (await together(2)) as [Part, Part];
          await one.take(['x'], 1);
          await place.pass(20_000);
          await place.shift(minutes * 60_000);
          one.runtime.kill();
          let taken: Assigned[] = [];
          const took = await passUntil(async () => (taken = await two.take(['x'], 1)).length > 0);
          assert.ok(took >= 14_000 && took <= 23_000, `${took} ms`);
          assert.deepEqual([taken[0]?.item, two.members.length], ['x', 1]);
        });

      it('is replaced after all others died too, by a later member that sees how long the items were free', async () => {
        const [one, two] = (await together(2)) as [Part, Part];
        await one.take(['x'], 1);
        await two.take(['y'], 1);
        one.runtime.kill();
        two.runtime.kill();
        await place.pass(120_000);
        const three = join();
        await sees(three, 3);
        assert.deepEqual(await three.take(['x', 'y'], 2), []);
        const took = await passUntil(() => three.members.length === 1);
        assert.ok(took >= 16_000 && took <= 20_000, `${took} ms`);
        const taken = await three.take(['x', 'y'], 2);
        assert.deepEqual(itemsOf(taken), ['x', 'y']);
        for (const { idle } of taken) assert.ok(idle >= 100_000, `${idle} ms`);
      });
    });

    describe('a member that is cut off', () => {
      it('continues as before if it reconnects within its lease', async () => {
        const [one, two] = (await together(2)) as [Part, Part];
        await one.take(['x'], 1);
        const { lock } = one;
        const changes = two.changes();
        one.runtime.cutOff();
        await place.pass(9_000);
        one.runtime.reconnect();
        await place.pass(20_000);
        assert.equal(one.lock, lock);
        assert.deepEqual(await two.take(['x'], 1), []);
        if (where === 'memory') assert.equal(two.changes(), changes);
        await one.runtime.store.put(KEY, 1, { under: [lock!] });
      });

      it('loses everything with its lease and rejoins with the same id and no items', async () => {
        const [one, two] = (await together(2)) as [Part, Part];
        await one.take(['x'], 1);
        const [{ id, lock }, changes] = [one, one.changes()];
        await one.runtime.store.put(KEY, 'in time', { under: [lock!] });
        one.runtime.cutOff();
        const lost = await passUntil(() => one.lock === null);
        assert.ok(lost >= 9_000 && lost <= 16_000, `${lost} ms`);
        assert.deepEqual(one.members, []);
        assert.ok(one.changes() > changes);
        assert.deepEqual(await one.take(['y'], 1), []);
        // It isn't evicted yet, so its items aren't free.
        assert.equal(two.members.length, 2);
        assert.deepEqual(await two.take(['x'], 1), []);
        one.runtime.reconnect();
        await sees(one, 2);
        assert.equal(one.id, id);
        assert.notEqual(one.lock, lock);
        await assert.rejects(lock!.secure(1_000), LOST);
        await assert.rejects(one.runtime.store.put(KEY, 'late', { under: [lock!] }), LOST);
        assert.equal(await one.runtime.store.get(KEY), 'in time');
        await one.runtime.store.put(KEY, 'anew', { under: [one.lock!] });
        assert.deepEqual(itemsOf(await two.take(['x'], 1)), ['x']);
      });

      it('finds its items with others after its eviction and rejoins with the same id', async () => {
        const [one, two] = (await together(2)) as [Part, Part];
        await one.take(['x', 'y'], 2);
        const { id, lock } = one;
        one.runtime.cutOff();
        await passUntil(() => two.members.length === 1);
        assert.deepEqual(itemsOf(await two.take(['x', 'y'], 1)).length, 1);
        one.runtime.reconnect();
        await sees(one, 2);
        await sees(two, 2);
        assert.equal(one.id, id);
        await assert.rejects(one.runtime.store.put(KEY, 'late', { under: [lock!] }), LOST);
        assert.equal((await one.take(['x', 'y'], 2)).length, 1);
      });

      it('gives its lease up if it is cut off during a take or a release, so that no item stays without an owner', async () => {
        const [one, two] = (await together(2)) as [Part, Part];
        for (const change of [() => one.take(['x', 'y'], 2), () => one.release(new Map([['x', 1]]))]) {
          await one.take(['x'], 1);
          const { lock } = one;
          one.runtime.cutOff('after asking');
          assert.deepEqual((await change()) ?? [], []);
          assert.equal(one.lock, null);
          one.runtime.reconnect();
          await passUntil(() => one.members.length === 2, 10_000);
          assert.notEqual(one.lock, lock);
          const taken = await two.take(['x', 'y'], 2);
          assert.deepEqual(itemsOf(taken), ['x', 'y']);
          await two.release(new Map(taken.map(({ item }) => [item, null])));
        }
      });
    });

    describe('a member that stands still', () => {
      it('finds its membership lost on waking, writes nothing, and rejoins', async () => {
        const [one, two] = (await together(2)) as [Part, Part];
        await one.take(['x'], 1);
        const lock = one.lock!;
        one.runtime.pause();
        await passUntil(() => two.members.length === 1);
        assert.deepEqual(itemsOf(await two.take(['x'], 1)), ['x']);
        const late = assert.rejects(one.runtime.store.put(KEY, 'late', { under: [lock] }), LOST);
        const secured = assert.rejects(lock.secure(1_000), LOST);
        const release = one.release(new Map([['x', 'late']]));
        const take = one.take(['y'], 1);
        one.runtime.resume();
        await Promise.all([late, secured, release]);
        assert.deepEqual(await take, []);
        await passUntil(() => one.members.length === 2, 10_000);
        assert.deepEqual(await one.take(['x'], 1), []);
        assert.equal(await two.runtime.store.get(KEY), undefined);
      });
    });

    describe('a store that is away', () => {
      it('is waited for at the start', async () => {
        place.shared.halt();
        const all = [join('one', 1), join('two')];
        await place.pass(60_000);
        assert.deepEqual(all.map(({ members, lock }) => [members, lock]), [[[], null], [[], null]]); // oxfmt-ignore
        all[0]!.want(2);
        await assert.rejects(all[0]!.holders(), { code: 'FILE_NOT_READABLE' });
        place.shared.start();
        for (const one of all) await passUntil(() => one.members.length === 2, 10_000);
        assert.ok(all[1]!.members.some(({ wants }) => wants === 2));
      });

      it('leads to no eviction after an outage for all: each member rejoins and acquires items again', async () => {
        const all = await together(3);
        for (const [at, one] of all.entries()) await one.take(ITEMS.slice(at * 100, at * 100 + 100), 100);
        await place.pass(20_000);
        const ids = all.map(({ id }) => id);
        place.shared.halt();
        await place.pass(60_000);
        assert.ok(all.every(({ lock }) => lock === null));
        place.shared.start();
        for (const one of all) await passUntil(() => one.members.length === 3, 10_000);
        assert.deepEqual(all.map(({ id }) => id), ids); // oxfmt-ignore
        const taken = await Promise.all(all.map((one) => one.take(ITEMS, 100)));
        assert.equal(new Set(taken.flat().map(({ item }) => item)).size, taken.flat().length);
        for (const { idle } of taken.flat()) assert.ok(idle >= 39_000, `${idle} ms`);
      });

      it('leaves every member its items if it returns soon', async () => {
        const [one, two] = (await together(2)) as [Part, Part];
        await one.take(['x'], 1);
        const { lock } = one;
        place.shared.halt();
        await place.pass(4_000);
        place.shared.start();
        await place.pass(20_000);
        assert.equal(one.lock, lock);
        assert.deepEqual(await two.take(['x'], 1), []);
      });
    });

    describe('a value', () => {
      it('notifies the other runtimes if requested, never the one that changed it', async () => {
        const [one, two] = [place.shared.runtime(), place.shared.runtime()];
        const received: (Key | null)[][] = [[], []];
        const [stop] = [one, two].map(({ store }, at) => store.onChange((key) => received[at]!.push(key)));
        await until(() => received.every(([first]) => first === null));
        await one.store.put(['a', 'ä'], 1);
        await one.store.put(['b', 'ä'], 1, { notify: true });
        await one.store.update<number>(['c', 'ä'], () => 1, { notify: true });
        await one.store.delete(['b', 'ä'], { notify: true });
        const expected = [null, ['b', 'ä'], ['c', 'ä'], ['b', 'ä']];
        await until(() => received[1]!.length === 4);
        await two.store.put(['d', 'x'.repeat(9_000)], 1, { notify: true });
        await until(() => received[0]!.length === 2, 'a long key is reported as null');
        assert.deepEqual(received, [[null, null], expected]);
        const membership = join();
        await sees(membership, 1);
        await one.store.put(['e'], 1, { notify: true });
        await until(() => received[1]!.length === 5);
        assert.deepEqual(received[1]!.at(-1), ['e'], 'a membership change is reported as a value');
        two.cutOff();
        await one.store.put(['f'], 1, { notify: true });
        two.reconnect();
        await until(() => received[1]!.length >= 6);
        assert.equal(received[1]![5], null);
        stop!();
        await two.store.put(['g'], 1, { notify: true });
        await two.store.put(['g'], 2);
        assert.equal(received[0]!.length, 2);
      });
    });
  });

/** Holds back all statements until the returned function is called. */
function holdBack(line: Line): () => void {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const query = line.query.bind(line);
  line.query = async (text, values) => {
    await opened;
    return query(text, values);
  };
  return open;
}
