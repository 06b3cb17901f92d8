import assert from 'node:assert/strict';
import { Dispatcher } from '../../../lib/print/dispatcher';
import { JobListReader } from '../../../lib/print/job-list-reader';
import { Ledger } from '../../../lib/print/ledger';
import { Dispatches } from '../../../lib/queue/run/dispatch';
import { heldBack } from '../../../lib/queue/model/item-changes';
import { ItemStore, reservationOf, Reservations } from '../../../lib/queue/records/items';
import { QueueStore } from '../../../lib/queue/records/store';
import { PrintingError } from '../../../lib/service/errors';
import type { Scope } from '../../../lib/state/store';
import { closed, Deadline } from '../../../lib/time/deadline';
import { phrase } from '../../../lib/words/sentence';
import { ManualClock } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';
import { ScriptedService } from '../../helpers/scripted-service';
import { CONTEXT, item, PRINT } from './items';

const SCOPE: Scope = ['account', 'service', 'workspace'];
const ANSWER = { job_id: 'job', job_instance_uuid: 'print-1', status: 'queued' };
const IDLE = { is_online: true, print_jobs: [], recently_completed: [] };
const lost = () => new PrintingError('SERVICE_ERROR', phrase`Broken.`, { statusCode: 500, outcome: 'unknown' });
const refusal = () => new PrintingError('NOT_ACCEPTED', phrase`Busy.`, { statusCode: 409, outcome: 'refused' });

describe('queue/dispatch', () => {
  let clock: ManualClock;
  let memory: MemoryStore;
  let items: ItemStore;
  let closing: AbortController;
  let deadline: Deadline;
  let refused: string[];

  beforeEach(async () => {
    clock = new ManualClock(CONTEXT.now);
    memory = new MemoryStore();
    closing = new AbortController();
    deadline = new Deadline(clock, { parent: closing.signal });
    refused = [];
    const store = new QueueStore(memory, SCOPE);
    items = new ItemStore({ store, queueId: 'queue', clock, keepFor: 1e12, changed: () => undefined });
    await items.add('item', () => item({ copies: 2 }));
  });
  afterEach(() => deadline.end());

  function dispatches(
    service: ScriptedService,
    check: () => Promise<boolean> = () => Promise.resolve(true),
  ): Dispatches {
    const jobListReader = new JobListReader(service);
    const dispatcher = new Dispatcher({ service, jobListReader, clock, warn: () => undefined });
    return new Dispatches({
      ...{ queueId: 'queue', clock, items, dispatcher, jobListReader, closing: deadline, check },
      reservations: new Reservations(new QueueStore(memory, SCOPE)),
      ledger: () => new Ledger(memory, SCOPE),
      mostOf: () => 1,
      refused: async (_, { clusterId }) => void refused.push(clusterId),
    });
  }
  async function send(service: ScriptedService, check?: () => Promise<boolean>, copy = 1): Promise<void> {
    const sent = dispatches(service, check).assign('item', { ...PRINT, copy });
    const work = sent.then((go) => (go === 'reserved' ? undefined : go?.()));
    let isDone = false;
    void work.finally(() => (isDone = true));
    for (let second = 0; second < 200 && !isDone; second++) await clock.advance(1000);
    await work;
  }
  const states = () => items.get('item')?.prints.map(({ state, clusterJobId }) => [state, clusterJobId]);

  it('sends an assigned copy once, under the print key of its attempt', async () => {
    const service = new ScriptedService({ clusterStatus: [IDLE], print: [ANSWER] });
    await send(service);
    assert.deepEqual([states(), service.count('print')], [[['dispatched', 'print-1']], 1]);
    const entry = await new Ledger(memory, SCOPE).find({ clusterId: 'C1', printKey: 'queue/item/1/1' });
    assert.equal(entry?.done?.clusterJobId, 'print-1');
  });

  it('makes the assignment durable before anything is sent', async () => {
    let seen: unknown;
    const print = () => {
      const stored = memory.values.get(JSON.stringify(['queue-item', ...SCOPE, 'queue', 'item'])) ?? '';
      seen = (JSON.parse(stored) as { prints: { state: string }[] }).prints[0]?.state;
      return ANSWER;
    };
    await send(new ScriptedService({ clusterStatus: [IDLE], print: [print] }));
    assert.equal(seen, 'assigned');
  });

  it('takes the copy back when the service refuses it or the printer is not free any more', async () => {
    await send(new ScriptedService({ clusterStatus: [IDLE], print: [refusal()] }));
    assert.deepEqual([states(), refused], [[], ['C1']]);
    const service = new ScriptedService({ clusterStatus: [IDLE], print: [ANSWER] });
    await send(service, () => Promise.resolve(false));
    assert.deepEqual([states(), service.count('print')], [[], 0]);
  });

  it('keeps a copy whose answer was lost, and finds its print later', async () => {
    await send(new ScriptedService({ clusterStatus: [IDLE], print: [lost()] }));
    assert.deepEqual(states(), [['unknown', null]]);
    const found = { is_online: true, print_jobs: [{ uuid: 'print-1', cloud_job_id: 'job', status: 'queued' }] };
    await send(new ScriptedService({ clusterStatus: [IDLE, found], print: [lost()] }), undefined, 2);
    assert.deepEqual(states()?.length, 1, 'the printer is reserved for the copy in doubt');
  });

  it('sends nothing of an item that was changed meanwhile', async () => {
    await items.change('item', heldBack);
    const service = new ScriptedService({ clusterStatus: [IDLE], print: [ANSWER] });
    await send(service);
    assert.deepEqual([states(), service.count('print')], [[], 0]);
  });

  it('sends nothing to a printer that another queue has reserved', async () => {
    const other = new Reservations(new QueueStore(memory, SCOPE));
    await other.reserve('C1', reservationOf('other', 'item', 1), 1);
    const service = new ScriptedService({ clusterStatus: [IDLE], print: [ANSWER] });
    await send(service);
    assert.deepEqual([states(), service.count('print')], [[], 0]);
    assert.equal(await dispatches(service).assign('item', { ...PRINT, copy: 1 }), 'reserved');
  });

  it('leaves the printer of an ended attempt to other queues, although its copy is at another printer by now', async () => {
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

  /** An assignment that a crash left behind, after `begin` has written the ledger or not. */
  async function left(service: ScriptedService, isBegun: boolean): Promise<void> {
    const crashed = { ...IDLE };
    const stuck = new ScriptedService({ clusterStatus: [crashed], print: [() => new Promise(() => undefined)] });
    const check = () => (isBegun ? Promise.resolve(true) : new Promise<boolean>(() => undefined));
    const before = deadline;
    void dispatches(stuck, check)
      .assign('item', { ...PRINT, copy: 1 })
      .then((go) => (go === 'reserved' ? undefined : go?.()))
      .catch(() => undefined);
    await clock.advance(100);
    // The process ends: its locks with it.
    const values = new Map(memory.values);
    memory = new MemoryStore();
    for (const [key, value] of values) memory.values.set(key, value);
    before.end();
    closing = new AbortController();
    deadline = new Deadline(clock, { parent: closing.signal });
    const store = new QueueStore(memory, SCOPE);
    items = new ItemStore({ store, queueId: 'queue', clock, keepFor: 1e12, changed: () => undefined });
    await items.load();
    assert.deepEqual(states(), [['assigned', null]]);
    let isDone = false;
    const settled = dispatches(service).settle('item', { copy: 1, attempt: 1, clusterId: 'C1' });
    void settled.finally(() => (isDone = true));
    for (let second = 0; second < 200 && !isDone; second++) await clock.advance(1000);
    await settled;
  }

  it('takes back what an earlier process assigned and did not begin to send', async () => {
    await left(new ScriptedService({ clusterStatus: [IDLE] }), false);
    assert.deepEqual(states(), []);
  });

  it('finds the print that an earlier process sent, and never sends it again', async () => {
    const found = { is_online: true, print_jobs: [{ uuid: 'print-1', cloud_job_id: 'job', status: 'queued' }] };
    const service = new ScriptedService({ clusterStatus: [found] });
    await left(service, true);
    assert.deepEqual([states(), service.count('print')], [[['dispatched', 'print-1']], 0]);
  });

  it('leaves it open whether an earlier process sent a print that can’t be seen', async () => {
    await left(new ScriptedService({ clusterStatus: [IDLE] }), true);
    assert.deepEqual(states(), [['unknown', null]]);
  });

  it('sends nothing after it was closed', async () => {
    const service = new ScriptedService({ clusterStatus: [IDLE], print: [ANSWER] });
    const go = await dispatches(service).assign('item', { ...PRINT, copy: 1 });
    closing.abort(closed());
    assert.ok(go !== 'reserved');
    await go?.().catch(() => undefined);
    assert.equal(service.count('print'), 0);
  });
});
