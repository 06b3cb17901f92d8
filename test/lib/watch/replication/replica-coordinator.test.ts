import assert from 'node:assert/strict';
import type { Membership } from '../../../../lib/state/membership';
import { ScopeMemory } from '../../../../lib/watch/checkpoints/memory';
import { ReplicaCoordinator } from '../../../../lib/watch/replication/coordinator';
import { ManualClock, settle } from '../../../helpers/manual-clock';
import { MemoryStore } from '../../../helpers/memory-store';

type Parts = ConstructorParameters<typeof ReplicaCoordinator>[1];

describe('watch/replication/replica-coordinator', () => {
  it('follows a change of the sign-in that comes while the workspace is read', async () => {
    const scopes = ['old', 'new'].map((workspace) => new ScopeMemory(['account', 'service', workspace]));
    const answers: ((scope: ScopeMemory) => void)[] = [];
    const membership = { id: 'me', members: [], lock: null, want: () => undefined, leave: () => Promise.resolve() };
    const { signal } = new AbortController();
    const clock = new ManualClock();
    const scoped = () => new Promise<ScopeMemory>((resolve) => answers.push(resolve));
    const list = { isWatched: true, loadPublished: () => Promise.resolve() };
    const coordinator = new ReplicaCoordinator(() => membership as unknown as Membership, {
      sharing: { topic: ['watching'], name: 'host' },
      account: { store: new MemoryStore(), clock, signal, scoped },
      polls: { list: () => list, pollers: new Map(), usable: () => true },
      reports: { standbyChanged: () => undefined, fault: (thrown: unknown) => assert.fail(String(thrown)) },
    } as unknown as Parts);
    coordinator.changed();
    for (const scope of scopes) {
      answers.shift()?.(scope);
      await settle();
    }
    assert.equal(coordinator.wants().workspace, 'new');
    await coordinator.leave();
    assert.equal(clock.waiting, 0);
  });
});
