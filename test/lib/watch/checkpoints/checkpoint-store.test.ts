import assert from 'node:assert/strict';
import { UNLOSABLE_LOCK } from '../../../../lib/state/locks';
import { CheckpointStore } from '../../../../lib/watch/checkpoints/checkpoint-store';
import { SOLE_OWNER, type Ownership } from '../../../../lib/watch/checkpoints/ownership';
import { ScopeMemory } from '../../../../lib/watch/checkpoints/scope-memory';
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
});
