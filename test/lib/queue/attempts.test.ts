import assert from 'node:assert/strict';
import { Dispatcher } from '../../../lib/print/dispatcher';
import { JobListReader } from '../../../lib/print/job-list-reader';
import { Ledger } from '../../../lib/print/ledger';
import type { PlateGate } from '../../../lib/queue/model/gate';
import { waitingCopies } from '../../../lib/queue/model/item';
import * as changes from '../../../lib/queue/model/item-changes';
import type { ItemRecord } from '../../../lib/queue/model/types';
import { ClusterViews } from '../../../lib/queue/records/statuses';
import { QueueData } from '../../../lib/queue/records/data';
import { reservationOf, Reservations } from '../../../lib/queue/records/items';
import { LocalChanges, QueueStore } from '../../../lib/queue/records/records';
import { Attempts } from '../../../lib/queue/run/attempts';
import type { QueueContext } from '../../../lib/queue/run/context';
import { QueueView } from '../../../lib/queue/view';
import { PrintingError } from '../../../lib/service/errors';
import type { Scope } from '../../../lib/state/store';
import { closed, Deadline } from '../../../lib/time/deadline';
import type { JobEnd } from '../../../lib/watch/views/job-end-waiter';
import { phrase } from '../../../lib/words/sentence';
import { ManualClock } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';
import { ScriptedService } from '../../helpers/scripted-service';
import { answer, at, job, observation, type Wire } from '../events/observations';
import { CONTEXT, item, PRINT, RULES } from './items';

const SCOPE: Scope = ['account', 'service', 'workspace'];
const OF = { copy: 1, attempt: 1 };
const COPY = { itemId: 'item', ...{ copy: 1, file: 0, clusterId: 'C1', printerId: null } };
const ANSWER = { job_id: 'job', job_instance_uuid: 'print-1', status: 'queued' };
const IDLE = answer({ printers: [{ uuid: 'P1', status: 'idle', enabled: true }] });
const CHANGES = [{ type_of_change: 'material_change', origin_id: 'a', target_id: 'b', is_overridable: true }];
const lost = () => new PrintingError('SERVICE_ERROR', phrase`Broken.`, { statusCode: 500, outcome: 'unknown' });
const refusal = () => new PrintingError('NOT_ACCEPTED', phrase`Busy.`, { statusCode: 409, outcome: 'refused' });

describe('queue/attempts', () => {
  let clock: ManualClock;
  let memory: MemoryStore;
  let closing: AbortController;
  let deadline: Deadline;
  let service: ScriptedService;
  let queue: QueueContext;
  let attempts: Attempts;
  let end: (end: JobEnd) => void;
  /** Number of removals, and how each of them ends. */
  let removals: number;
  let removal: () => Promise<unknown>;

  /** A tenure of the planner, over what the store has. */
  async function begin(script: ConstructorParameters<typeof ScriptedService>[0] = {}): Promise<void> {
    deadline?.end();
    closing = new AbortController();
    deadline = new Deadline(clock, { parent: closing.signal });
    service = new ScriptedService(script);
    const store = memory;
    const jobListReader = new JobListReader(service);
    const ended = new Promise<JobEnd>((resolve) => (end = resolve));
    const parts = {
      ...{ queueId: 'queue', name: 'Queue', rules: RULES, service, store, clock, jobListReader },
      localChanges: new LocalChanges(),
      dispatcher: new Dispatcher({ service, jobListReader, clock, warn: () => undefined }),
      watcher: { follow: () => ended },
      jobControl: { run: () => (removals++, removal()) },
      views: new ClusterViews({ service, clock, identityOf: () => null }),
      ...{ clusterIds: () => ['C1'], obstacle: () => null, staleAfter: 120_000, changed: () => undefined },
      failed: (thrown: unknown) => assert.fail(String(thrown)),
    };
    const data = new QueueData(parts, SCOPE, { ...parts, lease: () => null });
    await data.load();
    queue = { ...parts, data, view: new QueueView({ ...parts, data }) } as unknown as QueueContext;
    attempts = new Attempts(queue, deadline, null);
  }
  const record = () => queue.data.items.get('item') as ItemRecord;
  const attempt = () => record().prints[0];
  const states = () => record().prints.map(({ state, clusterJobId }) => [state, clusterJobId]);

  beforeEach(() => {
    clock = new ManualClock(CONTEXT.now);
    memory = new MemoryStore();
    removals = 0;
  });
  afterEach(() => deadline.end());

  describe('that are sent', () => {
    beforeEach(async () => {
      await begin();
      await queue.data.items.add('item', () => item({ copies: 2 }));
    });

    /** Assigns a copy, and waits for what becomes of it. Returns whether another queue has the printer. */
    async function send(copy = 1): Promise<boolean> {
      const isReserved = await attempts.assign([{ ...COPY, copy }]);
      let isDone = false;
      void attempts.settled().finally(() => (isDone = true));
      for (let second = 0; second < 250 && !isDone; second++) await clock.advance(1000);
      assert.ok(isDone);
      return isReserved;
    }

    it('are sent once, under their print keys', async () => {
      await begin({ clusterStatus: [IDLE], print: [ANSWER] });
      await send();
      assert.deepEqual([states(), service.count('print')], [[['dispatched', 'print-1']], 1]);
      const entry = await new Ledger(memory, SCOPE).find({ clusterId: 'C1', printKey: 'queue/item/1/1' });
      assert.equal(entry?.done?.clusterJobId, 'print-1');
    });

    it('are durable before anything is sent', async () => {
      let seen: unknown;
      const print = () => {
        const stored = memory.values.get(JSON.stringify(['queue-item', ...SCOPE, 'queue', 'item'])) ?? '';
        seen = (JSON.parse(stored) as { prints: { state: string }[] }).prints[0]?.state;
        return ANSWER;
      };
      await begin({ clusterStatus: [IDLE], print: [print] });
      await send();
      assert.equal(seen, 'assigned');
    });

    it('are taken back when the service refuses them', async () => {
      await begin({ clusterStatus: [IDLE], print: [refusal()] });
      await send();
      assert.deepEqual([states(), queue.view.refusals.reasonOf('C1')?.code], [[], 'BUSY']);
    });

    it('are taken back when the printer is not free any more', async () => {
      await begin({ clusterStatus: [{ ...IDLE, print_jobs: [at('theirs', 'printing', 10)] }], print: [ANSWER] });
      await send();
      assert.deepEqual([states(), service.count('print')], [[], 0]);
      assert.match(String(queue.view.refusals.reasonOf('C1')?.sentence), /no longer free/);
    });

    it('stay open when their answers are lost, and keep their printers', async () => {
      await begin({ clusterStatus: [IDLE], print: [lost()] });
      await send();
      assert.deepEqual(states(), [['unknown', null]]);
      assert.deepEqual([await send(2), states().length], [true, 1]);
    });

    it('are not made for an item that was changed meanwhile', async () => {
      await begin({ clusterStatus: [IDLE], print: [ANSWER] });
      await queue.data.items.change('item', changes.heldBack);
      await send();
      assert.deepEqual([states(), service.count('print')], [[], 0]);
    });

    it('are not made at a printer that another queue has reserved', async () => {
      const other = new Reservations(new QueueStore(memory, SCOPE));
      await other.reserve('C1', reservationOf('other', 'item', 1), 1);
      await begin({ clusterStatus: [IDLE], print: [ANSWER] });
      assert.equal(await send(), true);
      assert.deepEqual([states(), service.count('print')], [[], 0]);
      assert.match(String(queue.view.refusals.reasonOf('C1')?.sentence), /Another print queue/);
    });

    it('are sent although the assignment of another copy can’t be written', async () => {
      await begin({ clusterStatus: [IDLE], print: [ANSWER] });
      await queue.data.items.add('other', () => item({}, { itemId: 'other' }));
      const update = memory.update.bind(memory);
      memory.update = (key, ...rest) =>
        key[0] === 'queue-item' && key.at(-1) === 'other' ? Promise.reject(lost()) : update(key, ...rest);
      const assigned = attempts.assign([COPY, { ...COPY, itemId: 'other', clusterId: 'C2' }]);
      await assert.rejects(assigned, { code: 'SERVICE_ERROR' });
      await clock.advance(60_000);
      assert.deepEqual([states(), service.count('print')], [[['dispatched', 'print-1']], 1]);
    });

    it('leave the printer of an ended one to other queues, although its copy is at another printer by now', async () => {
      const store = new QueueStore(memory, SCOPE);
      const copy = reservationOf('queue', 'item', 1);
      const own = new Reservations(store);
      await own.reserve('C1', copy, 1);
      await own.reserve('C2', copy, 1);
      await own.keepOnly(new Map([[copy, 'C2']]));
      const other = reservationOf('other', 'item', 1);
      const isFree = (clusterId: string) => new Reservations(store).reserve(clusterId, other, 1);
      assert.deepEqual([await isFree('C1'), await isFree('C2')], [true, false]);
    });

    /** Settles an assignment that a crash left behind, while its printer was read or the print was sent. */
    async function crash(during: 'clusterStatus' | 'print', found: Wire): Promise<void> {
      const never = () => new Promise(() => undefined);
      await begin({ clusterStatus: [IDLE], print: [ANSWER], [during]: [never] });
      await attempts.assign([COPY]);
      await clock.advance(100);
      const { values } = memory;
      memory = new MemoryStore();
      for (const [key, value] of values) memory.values.set(key, value);
      await begin({ clusterStatus: [found] });
      assert.deepEqual(states(), [['assigned', null]]);
      let isDone = false;
      void attempts.restore().finally(() => (isDone = true));
      for (let second = 0; second < 200 && !isDone; second++) await clock.advance(1000);
      assert.equal(service.count('print'), 0);
    }

    it('are taken back when an earlier process did not begin to send them', async () => {
      await crash('clusterStatus', IDLE);
      assert.deepEqual(states(), []);
    });

    it('are found when an earlier process sent them, and never sent again', async () => {
      await crash('print', { ...IDLE, print_jobs: [{ uuid: 'print-1', cloud_job_id: 'job', status: 'queued' }] });
      assert.deepEqual(states(), [['dispatched', 'print-1']]);
    });

    it('stay open when an earlier process may have sent a print that can’t be seen', async () => {
      await crash('print', IDLE);
      assert.deepEqual(states(), [['unknown', null]]);
    });

    it('are not sent after the tenure', async () => {
      await begin({ clusterStatus: [IDLE], print: [ANSWER] });
      const assigned = attempts.assign([COPY]);
      closing.abort(closed());
      await assigned.catch(() => undefined);
      await attempts.settled();
      assert.equal(service.count('print'), 0);
    });
  });

  describe('that were sent', () => {
    /** Answer to the reads of the printer. */
    let now: Wire;

    beforeEach(async () => {
      now = answer();
      removal = () => Promise.resolve();
      await begin({ clusterStatus: [() => now] });
      await queue.data.items.add('item', () => {
        const assigned = changes.assigned(item(), { ...PRINT, copy: 1 }, CONTEXT);
        return changes.dispatched(assigned, OF, 'mine', CONTEXT);
      });
    });

    async function see(wire: Wire): Promise<void> {
      now = answer(wire);
      const { status } = observation(now);
      queue.views.see(status);
      await queue.data.gates.observe(status);
      queue.view.invalidate();
      await attempts.observe(status);
    }
    async function follow(): Promise<void> {
      attempts.follow();
      await clock.advance(100);
    }
    async function finish(how: JobEnd): Promise<void> {
      end(how);
      await clock.advance(100);
    }
    const mine = (status: string, more: Wire = {}) => at('mine', status, status === 'queued' ? 0 : 50, more);

    it('begin and end with their prints, whose gate closes first', async () => {
      const { gates, items } = queue.data;
      await see({ print_jobs: [job('mine', 'queued')] });
      assert.equal(attempt()?.state, 'dispatched');
      await see({ print_jobs: [mine('printing')] });
      assert.equal(attempt()?.state, 'printing');
      await follow();
      const order: string[] = [];
      const update = memory.update.bind(memory);
      memory.update = (key, ...rest) => (order.push(key[0]), update(key, ...rest));
      await finish({ outcome: 'finished', job: null });
      assert.equal(items.get('item')?.prints[0]?.state, 'finished');
      assert.equal((gates.of('C1', null) as PlateGate).ended?.id, 'mine');
      assert.deepEqual(order.slice(0, 2), ['queue-plate', 'queue-item']);
    });

    it('are recalled when the service asks for changes, and remember the printer’s configuration', async () => {
      await see({ print_jobs: [job('mine', 'queued', { configuration_changes_required: CHANGES })] });
      assert.equal(attempt()?.recall?.why, 'changes');
      assert.equal(typeof attempt()?.recall?.configuration, 'string');
      now = answer();
      await follow();
      assert.deepEqual([removals, attempt()?.state], [1, 'recalled']);
    });

    it('stay in place when their jobs can’t be removed, until a person helps', async () => {
      removal = () => Promise.reject(refusal());
      await see({ print_jobs: [job('mine', 'queued', { configuration_changes_required: CHANGES })] });
      await follow();
      await follow();
      assert.deepEqual([removals, attempt()?.state, attempt()?.recall?.isStuck], [1, 'dispatched', true]);
      await see({ print_jobs: [mine('printing')] });
      assert.deepEqual([attempt()?.state, attempt()?.recall], ['printing', null]);
    });

    it('go on when their removal comes too late', async () => {
      await see({ print_jobs: [at('theirs', 'printing', 10), job('mine', 'queued')] });
      assert.equal(attempt()?.recall?.why, 'overtaken');
      now = answer({ print_jobs: [mine('printing')] });
      await follow();
      assert.deepEqual([removals, attempt()?.state], [1, 'printing']);
    });

    it('are recalled when they do not begin in time, and not before', async () => {
      await follow();
      await clock.advance(RULES.startWithin - 1_000);
      await follow();
      assert.equal(removals, 0);
      await clock.advance(1_000);
      await follow();
      assert.deepEqual([removals, attempt()?.state], [1, 'recalled']);
    });

    it('are recalled after the time that has really passed, wherever the clock is set meanwhile', async () => {
      await follow();
      clock.set(CONTEXT.now + 200 * 86_400_000);
      await follow();
      assert.equal(removals, 0);
      clock.set(CONTEXT.now - 200 * 86_400_000);
      assert.deepEqual(attempts.dueTimes, [clock.now() + RULES.startWithin - 200]);
      await clock.advance(RULES.startWithin);
      await follow();
      assert.equal(removals, 1);
    });

    it('are recalled when an earlier runtime sent them too long ago', async () => {
      clock.set(CONTEXT.now + RULES.startWithin);
      await follow();
      assert.equal(removals, 1);
    });

    it('are recalled when their items are removed', async () => {
      await queue.data.items.change('item', (before) => changes.removed(before, CONTEXT));
      await follow();
      assert.deepEqual([removals, attempt()?.state, record().touched[1]], [1, 'recalled', 'cancelled']);
    });

    it('keep their copies while the removal is not proven, and continue when a poll shows their jobs', async () => {
      removal = () => Promise.reject(lost());
      clock.set(CONTEXT.now + RULES.startWithin);
      await follow();
      assert.deepEqual([attempt()?.state, record().touched[1]], ['unknown', 'unknown']);
      await see({ is_online: false, print_jobs: [mine('printing')] });
      assert.notEqual(attempt()?.state, 'printing', 'an offline printer shows old lists');
      await see({ print_jobs: [mine('printing')] });
      assert.equal(attempt()?.state, 'printing');
    });

    it('are unknown when the removal can’t be proven within two minutes', async () => {
      now = answer({ is_online: false });
      clock.set(CONTEXT.now + RULES.startWithin);
      await follow();
      await clock.advance(119_000);
      assert.equal(attempt()?.state, 'dispatched');
      await clock.advance(1_000);
      assert.equal(attempt()?.state, 'unknown');
    });

    it('close the gate after a print that failed in its first second', async () => {
      await follow();
      await finish({ outcome: 'failed', job: null });
      const outcomes = queue.data.gates.all.map(({ ended }) => ended?.outcome);
      assert.deepEqual([attempt()?.state, outcomes], ['failed', ['failed']]);
    });

    it('hold the copies of jobs that somebody removed before they began', async () => {
      await follow();
      await finish({ outcome: 'aborted', job: null });
      assert.deepEqual([attempt()?.state, record().touched[1], queue.data.gates.all.length], ['aborted', 'held', 0]);
    });

    it('leave their copies to a person when the printer is connected anew under another id', async () => {
      await see({ print_jobs: [mine('printing')] });
      await follow();
      await finish({ outcome: 'ended', job: null, isDisconnected: true });
      assert.deepEqual([attempt()?.state, record().touched[1]], ['unknown', 'unknown']);
      const verdict = { outcome: 'not-printed', copy: null } as const;
      await queue.data.items.change('item', (before) => changes.settled(before, verdict, CONTEXT));
      assert.deepEqual(waitingCopies(record()), [1]);
    });

    it('are rejected by a verdict on the plate that comes before their ends are known', async () => {
      const { gates } = queue.data;
      await see({ print_jobs: [mine('printing')] });
      await gates.observe(observation(answer({ recently_completed: [at('mine', 'finished', 100)] })).status);
      await gates.confirm({ clusterId: 'C1', printerId: null }, false);
      await attempts.judge();
      assert.equal(attempt()?.state, 'printing');
      await follow();
      await finish({ outcome: 'finished', job: null });
      await attempts.judge();
      assert.deepEqual([attempt()?.state, waitingCopies(record())], ['rejected', [1]]);
    });

    it('are unknown when their prints leave no trace, until a poll shows one', async () => {
      await see({ print_jobs: [mine('printing')] });
      await follow();
      await finish({ outcome: 'ended', job: null });
      assert.equal(attempt()?.state, 'unknown');
      await see({ recently_completed: [at('mine', 'finished', 100)] });
      assert.equal(attempt()?.state, 'finished');
    });
  });
});
