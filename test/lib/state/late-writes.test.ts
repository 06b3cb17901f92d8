import assert from 'node:assert/strict';
import { DatabaseError } from '../../../lib/postgres/database';
import { WRITE } from '../../../lib/postgres/entries';
import type { Key } from '../../../lib/state/store';
import { ManualClock } from '../../helpers/manual-clock';
import { SharedMemory, type SharedRuntime } from '../../helpers/shared-memory';

const PAIR: Key = ['grant', 'account'];
const LOCK: Key = ['print-key-lock', 'key'];
const ENTRY: Key = ['print-key', 'key'];

/** Two runtimes on one database, one of which is cut off before its decisive write. */
describe('a value that is written late', () => {
  let clock: ManualClock;
  let shared: SharedMemory;
  let one: SharedRuntime;
  let other: SharedRuntime;

  beforeEach(async () => {
    clock = new ManualClock();
    shared = new SharedMemory(clock);
    [one, other] = [shared.runtime(), shared.runtime()];
    await one.store.put(PAIR, 'old');
    // Both have had the database for long enough to take a lock over.
    for (let n = 0; n < 4; n++) {
      await Promise.all([one, other].map(({ store }) => store.get(PAIR)));
      await clock.advance(5_000);
    }
  });
  afterEach(() => [one, other].forEach((runtime) => runtime.kill()));

  /** Changes the old pair, as a refresh does; the lock is secured for 90 s. */
  const renew = (runtime: SharedRuntime, spent: string[], cut: () => void = () => undefined) =>
    runtime.store.update<string>(
      PAIR,
      async (pair, lock) => {
        (await lock.secure(90_000))();
        spent.push(pair ?? 'none');
        cut();
        return `${pair} renewed`;
      },
      { insist: true },
    );

  for (const seconds of [5, 15, 16, 60])
    for (const all of [false, true])
      it(`keeps its lock while ${all ? 'the database is' : 'its runtime is cut'} away for ${seconds} s`, async () => {
        const spent: string[] = [];
        const lost = renew(one, spent, () => (all ? shared.halt() : one.cutOff()));
        await assert.rejects(lost, { code: 'FILE_NOT_WRITABLE' });
        const second = all ? clock.advance(seconds * 1_000).then(() => {
          shared.start();
          return renew(other, spent);
        }) : renew(other, spent); // oxfmt-ignore
        second.catch(() => undefined);
        if (!all) {
          for (let n = 0; n < seconds; n++) await clock.advance(1_000);
          one.reconnect();
        }
        for (let n = 0; n < 120; n++) await clock.advance(250);
        await second;
        assert.deepEqual(spent, ['old', 'old renewed']);
        assert.equal(await one.store.get(PAIR), 'old renewed renewed');
      });

  /**
   * From now on every write of a value fails while all else works, as on a full disk or after a lost connection. The
   * returned function ends that.
   */
  function full(runtime: SharedRuntime): () => void {
    const { query } = runtime.line;
    runtime.line.query = (text, values) =>
      text === WRITE ? Promise.reject(new DatabaseError('53100')) : query(text, values);
    return () => (runtime.line.query = query);
  }

  it('keeps its lock if only the write has failed', async () => {
    const spent: string[] = [];
    let end = () => undefined as unknown;
    await assert.rejects(renew(one, spent, () => (end = full(one))));
    const second = renew(other, spent);
    for (let n = 0; n < 60; n++) await clock.advance(1_000);
    assert.deepEqual(spent, ['old']);
    end();
    for (let n = 0; n < 60; n++) await clock.advance(250);
    await second;
    assert.deepEqual(spent, ['old', 'old renewed']);
  });

  it('yields the lock once its runtime has been away for the secured time', async () => {
    const spent: string[] = [];
    await assert.rejects(renew(one, spent, () => one.cutOff()));
    one.kill();
    const begun = clock.monotonic();
    let inherited: boolean | undefined;
    const acquiring = other.store.update(PAIR, (pair, lock) => ((inherited = lock.inherited), pair));
    for (; inherited === undefined; await clock.advance(1_000)) await other.store.get(LOCK);
    await acquiring;
    assert.equal(inherited, true);
    const passed = clock.monotonic() - begun;
    assert.ok(passed >= 90_000 && passed <= 120_000, `${passed} ms`);
  });

  for (const [what, seconds, secured, fail] of [
    ['if only the write has failed', 60, 0, () => full(one)],
    ['while its runtime is cut off', 20, 90_000, () => (one.cutOff(), () => one.reconnect())],
  ] as const)
    it(`keeps the locks of \`under\` ${what}, until it is written`, async () => {
      let mend: () => unknown = () => undefined;
      const settled = one.store.waitForLock(LOCK, async (lock) => {
        if (secured > 0) (await lock.secure(secured))();
        mend = fail();
        await one.store.put(ENTRY, 'printed', { under: [lock], insist: true });
      });
      await assert.rejects(settled, { code: 'FILE_NOT_WRITABLE' });
      const found: unknown[] = [];
      const reading = other.store.waitForLock(LOCK, async () => found.push(await other.store.get(ENTRY)));
      for (let n = 0; n < seconds; n++) await clock.advance(1_000);
      assert.deepEqual(found, []);
      mend();
      for (let n = 0; n < 60; n++) await clock.advance(250);
      await reading;
      assert.deepEqual(found, ['printed']);
      // A lock that isn't kept any more isn't renewed any more.
      assert.equal(one.waiting, 0);
    });

  it('is written even if its own runtime acquires the same lock again before that', async () => {
    const settled = one.store.waitForLock(LOCK, async (lock) => {
      one.cutOff();
      await one.store.put(ENTRY, 'printed', { under: [lock], insist: true });
    });
    await assert.rejects(settled);
    one.reconnect();
    await one.store.waitForLock(LOCK, async () => assert.equal(await one.store.get(ENTRY), 'printed'));
    await clock.advance(10_000);
    assert.equal(await other.store.get(ENTRY), 'printed');
  });

  it('keeps its lock even if a later change of its own runtime fails', async () => {
    const spent: string[] = [];
    await assert.rejects(renew(one, spent, () => one.cutOff()));
    one.reconnect();
    const failing = one.store.update(PAIR, () => Promise.reject(new Error('refused')));
    await assert.rejects(failing, /refused/);
    const second = renew(other, spent);
    for (let n = 0; n < 60; n++) await clock.advance(250);
    await second;
    assert.deepEqual(spent, ['old', 'old renewed']);
  });

  it('is written after the loss of its lock only if it may replace the stored value', async () => {
    for (const mayReplace of [true, false]) {
      const settled = one.store.waitForLock(LOCK, async (lock) => {
        one.cutOff();
        const replaces = () => mayReplace;
        await one.store.put(ENTRY, `printed ${mayReplace}`, { under: [lock], insist: true, replaces });
      });
      await assert.rejects(settled);
      const acquiring = other.store.waitForLock(LOCK, async () => undefined);
      for (let n = 0; n < 30; n++) {
        await clock.advance(1_000);
        await other.store.get(LOCK);
      }
      await acquiring;
      one.reconnect();
      await clock.advance(15_000);
      assert.equal(await other.store.get(ENTRY), 'printed true');
    }
  });
});
