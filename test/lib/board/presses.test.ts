import assert from 'node:assert/strict';
import { Presses } from '../../../lib/board/presses';
import { PrintingError } from '../../../lib/service/errors';
import { MemoryStore } from '../../../lib/state/memory-store';
import { Deadline } from '../../../lib/time/deadline';
import { phrase } from '../../../lib/words/sentence';
import { held } from '../../helpers/held';
import { ManualClock, settle } from '../../helpers/manual-clock';

const KEY = 'key-of-a-press-0001';

describe('lib/board/presses', () => {
  let store: MemoryStore;
  let presses: Presses;
  let done: string[];
  let deadline: Deadline;
  beforeEach(() => {
    store = new MemoryStore();
    presses = new Presses(store, 'board');
    done = [];
    deadline = new Deadline(new ManualClock(), { ms: 60_000 });
  });
  const act = (what: string) => () => Promise.resolve(void done.push(what));

  it('does two presses of one key once, also at the same time', async () => {
    const both = await Promise.all([presses.once(KEY, deadline, act('one')), presses.once(KEY, deadline, act('two'))]);
    const outcome = { ok: true };
    assert.deepEqual(both, [
      { outcome, isRepeat: false },
      { outcome, isRepeat: true },
    ]);
    assert.deepEqual(await presses.once(KEY, deadline, act('three')), { outcome, isRepeat: true });
    assert.deepEqual(done, ['one']);
  });

  it('answers a repeat after a restart as the first press, with its sentence', async () => {
    const fail = () =>
      Promise.reject(new PrintingError('NOT_ACCEPTED', phrase`The plate of ${'Printer <b>'} is another one.`));
    const first = await presses.once(KEY, deadline, fail);
    const again = await new Presses(store, 'board').once(KEY, deadline, act('again'));
    assert.deepEqual([again.outcome, first.isRepeat, again.isRepeat], [first.outcome, false, true]);
    assert.ok(!again.outcome.ok);
    assert.equal(String(again.outcome.message), 'The plate of Printer <b> is another one.');
    assert.deepEqual(done, []);
  });

  it('acts again for a press that a crash cut off', async () => {
    await store.put(['board-press', 'board', KEY], { version: 1, outcome: null });
    await presses.once(KEY, deadline, act('again'));
    assert.deepEqual(done, ['again']);
  });

  it('acts again for a press that a close or the deadline cut off', async () => {
    const close = new AbortController();
    const cut = new Deadline(new ManualClock(), { ms: 60_000, parent: close.signal });
    const pressing = presses.once(KEY, cut, () => {
      done.push('one');
      close.abort(new PrintingError('TIMEOUT', phrase`Closed.`));
      return cut.wait(new Promise(() => undefined));
    });
    await Promise.all([assert.rejects(pressing, { code: 'TIMEOUT' }), presses.settled()]);
    await new Presses(store, 'board').once(KEY, deadline, act('again'));
    assert.deepEqual(done, ['one', 'again']);
  });

  it('waits at the close for the presses under way', async () => {
    const { promise, release } = held();
    const pressing = presses.once(KEY, deadline, () => promise);
    let isSettled = false;
    const settled = presses.settled().then(() => (isSettled = true));
    await settle();
    assert.equal(isSettled, false);
    release();
    await Promise.all([settled, pressing]);
    assert.deepEqual(await store.get(['board-press', 'board', KEY]), { version: 1, outcome: { ok: true } });
  });

  it('saves the key before it acts, and does nothing without a store', async () => {
    await presses.once(KEY, deadline, async () => {
      assert.deepEqual(await store.get(['board-press', 'board', KEY]), { version: 1, outcome: null });
    });
    store.put = () => Promise.reject(new PrintingError('FILE_NOT_WRITABLE', phrase`The disk is full.`));
    await assert.rejects(presses.once('another-key-of-a-press', deadline, act('lost')), { code: 'FILE_NOT_WRITABLE' });
    assert.deepEqual(done, []);
  });

  it('answers with what was done although the outcome could not be saved', async () => {
    const put = store.put.bind(store);
    const { outcome } = await presses.once(KEY, deadline, () => {
      store.put = () => Promise.reject(new PrintingError('FILE_NOT_WRITABLE', phrase`The disk is full.`));
      return act('one')();
    });
    store.put = put;
    assert.deepEqual([outcome, done], [{ ok: true }, ['one']]);
  });

  it('separates boards and refuses malformed keys', async () => {
    await presses.once(KEY, deadline, act('one'));
    await new Presses(store, 'other').once(KEY, deadline, act('two'));
    assert.deepEqual(done, ['one', 'two']);
    for (const key of [undefined, 7, '', 'short', 'x'.repeat(65), '../../../etc/passwd'])
      await assert.rejects(presses.once(key, deadline, act('never')), { code: 'INVALID_INPUT' });
  });
});
