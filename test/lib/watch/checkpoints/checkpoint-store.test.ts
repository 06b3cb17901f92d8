import assert from 'node:assert/strict';
import type { Key } from '../../../../lib/state/store';
import { UNLOSABLE_LOCK } from '../../../../lib/state/locks';
import { CheckpointStore, type Ownership, SOLE_OWNER } from '../../../../lib/watch/checkpoints/checkpoint-store';
import { ScopeMemory } from '../../../../lib/watch/checkpoints/memory';
import { ManualClock } from '../../../helpers/manual-clock';
import { MemoryStore } from '../../../helpers/memory-store';

describe('watch/checkpoints/checkpoint-store', () => {
  const shared: Ownership = { ...SOLE_OWNER, lockOf: () => UNLOSABLE_LOCK };

  for (const [title, ownership, isOver] of [
    ['closes after some seconds although a database does not answer', shared, true],
    ['closes only after all writes to files have ended', SOLE_OWNER, false],
  ] as const)
    it(title, async () => {
      const clock = new ManualClock();
      const store = new MemoryStore();
      let puts = 0;
      let answer: () => void = () => undefined;
      const answered = new Promise<void>((resolve) => (answer = resolve));
      store.put = () => (puts++, answered);
      const checkpoints = new CheckpointStore(store, clock, ownership, () => assert.fail());
      const scope = new ScopeMemory(['account', 'service', 'workspace']);
      for (let n = 0; n < 20; n++) checkpoints.write(scope, `C${n}`, scope.of(`C${n}`));
      let isClosed = false;
      const closing = checkpoints.close().then(() => (isClosed = true));
      await clock.advance(5_000);
      assert.equal(isClosed, isOver);
      answer();
      await closing;
      assert.equal(puts, isOver ? 4 : 20);
      assert.equal(clock.waiting, 0);
    });

  for (const [title, load] of [
    ['reads a list again that changes during a read', (store, scope) => store.loadList(scope, scope.list)],
    ['reads a printer again that changes during a read', (store, scope) => store.load(scope, 'C', scope.of('C'))],
  ] as [string, (store: CheckpointStore, scope: ScopeMemory) => Promise<void>][])
    it(title, async () => {
      const store = new MemoryStore();
      const answers: ((stored: unknown) => void)[] = [];
      store.get = () => new Promise<never>((resolve) => answers.push(resolve as (stored: unknown) => void));
      const checkpoints = new CheckpointStore(store, new ManualClock(), shared, () => assert.fail());
      const scope = new ScopeMemory(['account', 'service', 'workspace']);
      const memory = title.includes('list') ? scope.list : scope.of('C');
      const before = load(checkpoints, scope);
      memory.invalidate();
      const after = load(checkpoints, scope);
      answers.shift()?.({ mark: 'old' });
      await new Promise(setImmediate);
      assert.deepEqual([memory.loaded, memory.marks], [false, []]);
      for (const answer of answers) answer({ mark: 'new' });
      await Promise.all([before, after]);
      assert.deepEqual([memory.loaded, memory.marks, answers.length], [true, ['new'], 2]);
    });

  for (const [title, key, load] of [
    ['list', [], (store, scope) => store.loadList(scope, scope.list)],
    ['printer', ['C'], (store, scope) => store.load(scope, 'C', scope.of('C'))],
  ] as [string, string[], (store: CheckpointStore, scope: ScopeMemory) => Promise<void>][])
    it(`leaves the checkpoint of a ${title} alone that a newer version wrote`, async () => {
      const store = new MemoryStore();
      const scope = new ScopeMemory(['account', 'service', 'workspace']);
      const place: Key = ['checkpoint', ...scope.scope, ...key];
      await store.put(place, { version: 9 });
      const checkpoints = new CheckpointStore(store, new ManualClock(), shared, () => assert.fail());
      await assert.rejects(load(checkpoints, scope), { code: 'FILE_NOT_READABLE', message: /of a newer version/ });
      await checkpoints.close();
      assert.deepEqual(await store.get(place), { version: 9 });
    });
});
