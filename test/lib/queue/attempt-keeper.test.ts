import assert from 'node:assert/strict';
import * as changes from '../../../lib/queue/model/item-changes';
import { settled } from '../../../lib/queue/model/item-changes';
import { AttemptKeeper, type RecallOutcome } from '../../../lib/queue/run/attempts';
import type { Dispatches } from '../../../lib/queue/run/dispatch';
import type { PlateGate } from '../../../lib/queue/model/gate';
import { waitingCopies } from '../../../lib/queue/model/item';
import { ItemStore } from '../../../lib/queue/records/items';
import { PlateGates } from '../../../lib/queue/records/gates';
import type { ItemRecord } from '../../../lib/queue/model/types';
import { QueueStore } from '../../../lib/queue/records/store';
import type { Scope } from '../../../lib/state/store';
import type { JobEnd } from '../../../lib/watch/views/job-end-waiter';
import { ManualClock } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';
import { answer, at, job, observation, type Wire } from '../events/observations';
import { CONTEXT, item, PRINT, RULES } from './items';

const SCOPE: Scope = ['account', 'service', 'workspace'];
const OF = { copy: 1, attempt: 1 };
const CHANGES = [{ type_of_change: 'material_change', origin_id: 'a', target_id: 'b', is_overridable: true }];

describe('queue/attempt-keeper', () => {
  let clock: ManualClock;
  let items: ItemStore;
  let gates: PlateGates;
  let keeper: AttemptKeeper;
  let end: (end: JobEnd) => void;
  let recalls: number;
  let outcome: RecallOutcome;

  beforeEach(async () => {
    clock = new ManualClock(CONTEXT.now);
    const store = new QueueStore(new MemoryStore(), SCOPE);
    items = new ItemStore({ store, queueId: 'queue', clock, keepFor: 1e12, changed: () => undefined });
    gates = new PlateGates(store, clock, () => undefined);
    recalls = 0;
    outcome = 'gone';
    const ended = new Promise<JobEnd>((resolve) => (end = resolve));
    keeper = new AttemptKeeper({
      ...{ queueId: 'queue', rules: RULES, items, gates, clock },
      dispatches: { lookFor: () => Promise.resolve(null) } as unknown as Dispatches,
      watcher: { follow: () => ended },
      signal: new AbortController().signal,
      recall: async () => {
        recalls++;
        return outcome;
      },
      configurationOf: () => 'configuration',
      costOf: () => null,
      failed: (thrown) => assert.fail(String(thrown)),
    });
    await items.add('item', () => {
      const assigned = changes.assigned(item(), { ...PRINT, copy: 1 }, CONTEXT);
      return changes.dispatched(assigned, OF, 'mine', CONTEXT);
    });
  });

  const record = () => items.get('item') as ItemRecord;
  const attempt = () => record().prints[0];
  async function see(wire: Wire): Promise<void> {
    const { status } = observation(answer(wire));
    await gates.observe(status);
    await keeper.observe(record(), status);
  }
  async function keep(): Promise<void> {
    keeper.keep(record());
    await clock.advance(100);
  }
  const mine = (status: string, more: Wire = {}) => at('mine', status, status === 'queued' ? 0 : 50, more);

  it('records the beginning and the end of a print, and closes its gate first', async () => {
    await see({ print_jobs: [job('mine', 'queued')] });
    assert.equal(attempt()?.state, 'dispatched');
    await see({ print_jobs: [mine('printing')] });
    assert.equal(attempt()?.state, 'printing');
    await keep();
    end({ outcome: 'finished', job: null });
    await clock.advance(100);
    assert.equal(attempt()?.state, 'finished');
    assert.equal((gates.of('C1', null) as PlateGate).ended?.id, 'mine');
  });

  it('recalls a job that the service asks changes for, and remembers the printer’s configuration', async () => {
    await see({ print_jobs: [job('mine', 'queued', { configuration_changes_required: CHANGES })] });
    assert.deepEqual([attempt()?.recall?.why, attempt()?.recall?.configuration], ['changes', 'configuration']);
    await keep();
    assert.deepEqual([recalls, attempt()?.state], [1, 'recalled']);
  });

  it('leaves a job in place that can’t be removed, until a person helps', async () => {
    outcome = 'refused';
    await see({ print_jobs: [job('mine', 'queued', { configuration_changes_required: CHANGES })] });
    await keep();
    await keep();
    assert.deepEqual([recalls, attempt()?.state, attempt()?.recall?.isStuck], [1, 'dispatched', true]);
    await see({ print_jobs: [mine('printing')] });
    assert.deepEqual([attempt()?.state, attempt()?.recall], ['printing', null]);
  });

  it('recalls a job that somebody else’s print has overtaken', async () => {
    await see({ print_jobs: [at('theirs', 'printing', 10), job('mine', 'queued')] });
    assert.equal(attempt()?.recall?.why, 'overtaken');
  });

  it('recalls a job that does not begin in time, and nothing before', async () => {
    await keep();
    await clock.advance(RULES.startWithin - 1_000);
    await keep();
    assert.equal(recalls, 0);
    await clock.advance(1_000);
    await keep();
    assert.deepEqual([recalls, attempt()?.state], [1, 'recalled']);
  });

  it('recalls a job after the time that has really passed, wherever the clock is set meanwhile', async () => {
    await keep();
    clock.set(CONTEXT.now + 200 * 86_400_000);
    await keep();
    assert.equal(recalls, 0);
    clock.set(CONTEXT.now - 200 * 86_400_000);
    assert.equal(keeper.dueAt(record()), clock.now() + RULES.startWithin - 200);
    await clock.advance(RULES.startWithin);
    await keep();
    assert.equal(recalls, 1);
  });

  it('recalls a job that a runtime before dispatched in time', async () => {
    clock.set(CONTEXT.now + RULES.startWithin);
    await keep();
    assert.equal(recalls, 1);
  });

  it('keeps the copy while the removal is not proven, and continues when a poll shows the job', async () => {
    outcome = 'unproven';
    clock.set(CONTEXT.now + RULES.startWithin);
    await keep();
    assert.deepEqual([attempt()?.state, record().touched[1]], ['unknown', 'unknown']);
    await see({ is_online: false, print_jobs: [mine('printing')] });
    assert.notEqual(attempt()?.state, 'printing', 'an offline printer shows old lists');
    await see({ print_jobs: [mine('printing')] });
    assert.equal(attempt()?.state, 'printing');
  });

  it('closes the gate after a print that failed in its first second', async () => {
    await keep();
    end({ outcome: 'failed', job: null });
    await clock.advance(100);
    assert.deepEqual([attempt()?.state, gates.all.map(({ ended }) => ended?.outcome)], ['failed', ['failed']]);
  });

  it('holds the copy of a job that somebody removed before it began', async () => {
    await keep();
    end({ outcome: 'aborted', job: null });
    await clock.advance(100);
    assert.deepEqual([attempt()?.state, record().touched[1], gates.all.length], ['aborted', 'held', 0]);
  });

  it('leaves the copy to a person when its printer is connected anew under another id', async () => {
    await see({ print_jobs: [mine('printing')] });
    await keep();
    end({ outcome: 'ended', job: null, isDisconnected: true });
    await clock.advance(100);
    assert.deepEqual([attempt()?.state, record().touched[1]], ['unknown', 'unknown']);
    await items.change('item', (now) => settled(now, { outcome: 'not-printed', copy: null }, CONTEXT));
    assert.deepEqual(waitingCopies(record()), [1]);
  });

  it('knows nothing about a print that left no trace', async () => {
    await see({ print_jobs: [mine('printing')] });
    await keep();
    end({ outcome: 'ended', job: null });
    await clock.advance(100);
    assert.equal(attempt()?.state, 'unknown');
    await see({ recently_completed: [at('mine', 'finished', 100)] });
    assert.equal(attempt()?.state, 'finished', 'a poll ends the doubt');
  });
});
