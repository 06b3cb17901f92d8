import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Channel } from '../../../../lib/postgres/channel';
import type { Membership } from '../../../../lib/state/membership';
import type { Key } from '../../../../lib/state/store';
import { ScopeMemory } from '../../../../lib/watch/checkpoints/memory';
import { ReplicaCoordinator } from '../../../../lib/watch/replication/coordinator';
import { ManualClock, settle } from '../../../helpers/manual-clock';
import { MemoryStore } from '../../../helpers/memory-store';
import { anyPayload } from '../../postgres/notifications';

type Parts = ConstructorParameters<typeof ReplicaCoordinator>[1];

const scopeOf = (workspace: string) => new ScopeMemory(['account', 'service', workspace]);

/** Coordinator of a runtime that watches all clusters, without the runtime. */
function coordinate(scoped: () => Promise<ScopeMemory>, store = new MemoryStore()) {
  const clock = new ManualClock();
  const faults: unknown[] = [];
  const membership = { id: 'me', members: [], lock: null, want: () => undefined, leave: () => Promise.resolve() };
  const polledAt = new Map<string, number>();
  const list = { isWatched: true, loadPublished: () => Promise.resolve() };
  const coordinator = new ReplicaCoordinator(() => membership as unknown as Membership, {
    sharing: { topic: ['watching'], name: 'host' },
    ...{ store, clock, signal: new AbortController().signal, scoped, polledAt },
    ...{ pollers: () => Object.assign(new Map(), { list }), signIn: { usable: true } },
    standbyChanged: () => undefined,
    fault: (thrown: unknown) => faults.push(thrown),
  } as unknown as Parts);
  return { coordinator, clock, faults, polledAt };
}

describe('watch/replication/coordinator', () => {
  it('follows a change of the sign-in at any moment around the end of a read of the workspace', async () => {
    for (let microtasks = 0; microtasks < 12; microtasks++) {
      const answers: ((scope: ScopeMemory) => void)[] = [];
      const scoped = () => new Promise<ScopeMemory>((resolve) => answers.push(resolve));
      const { coordinator, clock, faults } = coordinate(scoped);
      answers.shift()?.(scopeOf('old'));
      for (let n = 0; n < microtasks; n++) await Promise.resolve();
      coordinator.changed();
      await settle();
      answers.shift()?.(scopeOf('new'));
      await settle();
      assert.equal(coordinator.wants().workspace, 'new', `${microtasks} microtasks after the answer`);
      await coordinator.leave();
      assert.deepEqual([clock.waiting, faults], [0, []]);
    }
  });

  it('knows when the last owner has polled a printer that is not watched yet', async () => {
    const { coordinator, clock, polledAt } = coordinate(() => Promise.resolve(scopeOf('workspace')));
    await clock.advance(10_000);
    coordinator.gained({ item: 'C1', note: { ago: 1_000 }, idle: 500 }, 1);
    assert.equal(polledAt.get('C1'), clock.monotonic() - 1_500);
    await coordinator.leave();
  });

  it('accepts any notification without an exception', async () => {
    let send: (payload: string | null) => void = () => assert.fail('there is no listener');
    const faults: unknown[] = [];
    const database = { listen: (_: string, listener: typeof send) => ((send = listener), () => undefined) };
    const channel = new Channel({
      database,
      clock: new ManualClock(),
      own: 'me',
      fault: (error) => faults.push(error),
    });
    const store = new MemoryStore() as MemoryStore & { onChange: (listener: (key: Key | null) => void) => () => void };
    store.onChange = (listener) => channel.listen((message) => listener(message?.key ?? null));
    const runtime = coordinate(() => Promise.resolve(scopeOf('workspace')), store);
    await settle();
    send('{"key":5}');
    fc.assert(
      fc.property(anyPayload, (payload) => send(payload)),
      { numRuns: 1_000 },
    );
    await runtime.coordinator.leave();
    assert.deepEqual([faults, runtime.faults, runtime.clock.waiting], [[], [], 0]);
  });
});
