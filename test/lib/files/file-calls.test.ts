import assert from 'node:assert/strict';
import { FileCalls, inTurn, tidied } from '../../../lib/files/file-calls';
import { Deadline } from '../../../lib/time/deadline';
import { ManualClock, settle } from '../../helpers/manual-clock';

describe('files/file-calls', () => {
  let clock: ManualClock;
  let deadline: Deadline;
  beforeEach(() => {
    clock = new ManualClock();
    deadline = new Deadline(clock, { ms: 60_000 });
  });
  afterEach(() => deadline.end());

  const calls = (folder: string, limit = deadline) => new FileCalls(`/${folder}/file`, limit);
  const within = (ms: number) => new Deadline(clock, { ms });
  /** A call that lasts until `end`. */
  function held(folder: string, limit = deadline) {
    let end: () => void = () => undefined;
    let hasBegun = false;
    const call = () => {
      hasBegun = true;
      return new Promise<void>((resolve) => (end = resolve));
    };
    const result = calls(folder, limit).run(call);
    return { result, end: () => end(), hasBegun: () => hasBegun };
  }

  it('begins a call in a free folder while another call waits for an occupied one', async () => {
    const first = held('a');
    const second = held('a');
    assert.equal(await calls('b').run(() => Promise.resolve('read')), 'read');
    assert.deepEqual([first.hasBegun(), second.hasBegun()], [true, false]);
    first.end();
    await first.result;
    await settle();
    assert.ok(second.hasBegun());
    second.end();
    await second.result;
  });

  it('runs calls in at most two folders at a time, and the others as threads come free', async () => {
    const all = ['a', 'b', 'c', 'd', 'e'].map((folder) => held(folder));
    const begun = () => all.map((one) => one.hasBegun());
    assert.deepEqual(begun(), [true, true, false, false, false]);
    all[1]!.end();
    await settle();
    assert.deepEqual(begun(), [true, true, true, false, false]);
    for (const one of all) {
      one.end();
      await settle();
    }
    await Promise.all(all.map(({ result }) => result));
  });

  it('leaves a thread to the state while shares hang, and one to files while the state hangs', async () => {
    const shares = ['a', 'b', 'c'].map((folder) => held(folder));
    assert.equal(await inTurn(() => Promise.resolve('read')), 'read');
    for (const share of shares) {
      share.end();
      await settle();
    }
    let end: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (end = resolve));
    const states = [1, 2, 3].map(() => inTurn(() => answered));
    assert.equal(await calls('a').run(() => Promise.resolve('read')), 'read');
    end();
    await Promise.all([...states, ...shares.map(({ result }) => result)]);
  });

  it('undoes a call that returns at the moment in which its deadline ends', async () => {
    const closing = new AbortController();
    const limit = new Deadline(new ManualClock(), { parent: closing.signal });
    const undone: string[] = [];
    let end: (handle: string) => void = () => undefined;
    const opening = new FileCalls('/a/file', limit).run(
      () => new Promise<string>((resolve) => (end = resolve)),
      (late) => Promise.resolve(undone.push(late)),
    );
    end('handle');
    void Promise.resolve().then(() => closing.abort(new Error('closed')));
    await assert.rejects(opening, /closed/);
    await settle();
    assert.deepEqual(undone, ['handle']);
  });

  for (const [folders, folder, what] of [
    [['a'], 'a', 'a folder that hangs'],
    [['a', 'b'], 'c', 'a folder beside two that hang'],
  ] as const) {
    /** Calls that their deadline has ended, and that have not returned. */
    async function hanging() {
      const hung = folders.map((one) => held(one, within(10_000)));
      await clock.during(10_000, Promise.all(hung.map(({ result }) => assert.rejects(result, /within 10 s/))));
      return hung;
    }

    it(`ends each call in ${what} at the deadline of its own, and runs those that have time left`, async () => {
      const hung = await hanging();
      const short = calls(folder, within(20_000)).run(() => Promise.resolve('short'));
      const long = calls(folder, within(40_000)).run(() => Promise.resolve('long'));
      const began = clock.monotonic();
      await clock.during(20_000, assert.rejects(short, /within 20 s/));
      assert.equal(clock.monotonic() - began, 20_000);
      for (const { end } of hung) end();
      assert.equal(await long, 'long');
    });

    it(`lets 100 calls wait for ${what}, and fails further ones at once until one of them ends`, async () => {
      const hung = await hanging();
      const waiting = Array.from({ length: 99 }, () => calls(folder).run(() => Promise.resolve('read')));
      const first = assert.rejects(
        calls(folder, within(5_000)).run(() => Promise.resolve()),
        /within 5 s/,
      );
      await assert.rejects(
        calls(folder).run(() => Promise.resolve()),
        { code: 'ETIMEDOUT' },
      );
      await clock.during(5_000, first);
      waiting.push(calls(folder).run(() => Promise.resolve('read')));
      for (const { end } of hung) end();
      assert.deepEqual([...new Set(await Promise.all(waiting))], ['read']);
    });

    it(`fails a call at once in ${what} if its work can do without it`, async () => {
      const hung = await hanging();
      await assert.rejects(
        calls(folder).runUnlessStalled(() => Promise.resolve()),
        { code: 'ETIMEDOUT' },
      );
      for (const { end } of hung) end();
      await settle();
      assert.equal(await calls(folder).runUnlessStalled(() => Promise.resolve('read')), 'read');
    });
  }

  it('waits for no cleanup after a call that never began', async () => {
    const first = held('a');
    const closing = new AbortController();
    const limit = new Deadline(new ManualClock(), { parent: closing.signal });
    const second = new FileCalls('/a/file', limit).run(
      () => Promise.resolve(),
      () => Promise.resolve(),
    );
    closing.abort(new Error('closed'));
    await assert.rejects(second, /closed/);
    first.end();
    await first.result;
    let isTidied = false;
    void tidied(new ManualClock()).then(() => (isTidied = true));
    await settle();
    assert.ok(isTidied);
  });
});
