import assert from 'node:assert/strict';
import { FileCalls, inTurn, tidied } from '../../../lib/files/file-calls';
import { Deadline } from '../../../lib/time/deadline';
import { ManualClock, settle } from '../../helpers/manual-clock';

describe('files/file-calls', () => {
  let deadline: Deadline;
  beforeEach(() => {
    deadline = new Deadline(new ManualClock(), { ms: 60_000 });
  });
  afterEach(() => deadline.end());

  const calls = (folder: string) => new FileCalls(`/${folder}/file`, deadline);
  /** A call that lasts until `end`. */
  function held(folder: string) {
    let end: () => void = () => undefined;
    let hasBegun = false;
    const call = () => {
      hasBegun = true;
      return new Promise<void>((resolve) => (end = resolve));
    };
    const result = calls(folder).run(call);
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
    const all = ['a', 'b', 'c', 'd', 'e'].map(held);
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
    const shares = ['a', 'b', 'c'].map(held);
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
