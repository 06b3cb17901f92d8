import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { NodeMessage } from 'node-red';
import { Client } from '../../lib/client';
import type { PrintQueue } from '../../lib/queue/print-queue';
import type { QueueOptions } from '../../lib/queue/run/context';
import type { Board, QueueEvent, QueueItem } from '../../lib/queue/model/types';
import { PrintingError } from '../../lib/service/errors';
import { phrase } from '../../lib/words/sentence';
import { queueBoard, queueItem, queueState, ScriptedQueue } from '../helpers/scripted-queue';
import { pluck } from '../helpers/pluck';
import { codeOf, NodeBench, turn } from './support';

/** Waits for a condition, at most ten seconds. */
async function until(holds: () => boolean): Promise<void> {
  for (const end = Date.now() + 10_000; !holds();) {
    assert.ok(Date.now() < end, 'in vain');
    await turn();
  }
}

const QUEUE = { id: 'queue', type: 'remote-printing-queue', account: 'account', name: 'Farm' };
const END = { endedAt: '2026-01-31T12:00:00.000Z', waitingFor: [] };

describe('nodes/print-queue', () => {
  let queue: ScriptedQueue;
  let options: QueueOptions[];
  const bench = new NodeBench(
    {
      ...{ id: 'node', type: 'remote-printing-print-queue', account: undefined, queue: 'queue' },
      wires: [['sent'], ['events']],
    },
    { others: [{ id: 'events', type: 'helper' }] },
  );
  const { one, run, failed } = bench;
  const original = Client.prototype.queue;

  before(() => bench.start());
  after(() => bench.stop());
  beforeEach(() => {
    queue = new ScriptedQueue();
    options = [];
    Client.prototype.queue = (given) => {
      options.push(given);
      return queue as unknown as PrintQueue;
    };
  });
  afterEach(() => {
    Client.prototype.queue = original;
  });

  const deploy = async (changes: object = {}, more: object = {}) => {
    await bench.deploy(changes, { more: [{ ...QUEUE, ...more }] });
    await turn();
  };
  const calls = () => queue.calls.map(([name, ...args]) => [name, ...args]);
  const status = () => bench.flow.statuses('node').at(-1);
  const kept = () => bench.flow.get('queues/queue');

  describe('the action add', () => {
    it('adds the file of the message with the defaults of the node, and passes the other properties on', async () => {
      await deploy();
      const path = join(bench.folder, 'part.gcode');
      await writeFile(path, 'G28\n');
      queue.added = { item: queueItem({ queueKey: 'k' }), duplicate: true };
      const req = { socket: {} };
      const sent = await one({ filename: path, queueKey: 'k', topic: 'mine', req });
      const [name, { deadline, onProgress, ...request }] = queue.calls[0] as [string, Record<string, unknown>];
      assert.deepEqual([name, typeof deadline, typeof onProgress], ['add', 'object', 'function']);
      const undefinedOnes = Object.keys(request).filter((key) => request[key] === undefined);
      assert.deepEqual(undefinedOnes.sort(), [
        ...['alternatives', 'costCode', 'deadlineAt', 'mediaType', 'notBefore', 'orderId', 'owner', 'require'],
      ]);
      assert.deepEqual(JSON.parse(JSON.stringify(request)), {
        source: { kind: 'file', path },
        ...{ jobId: null, jobName: '', queueKey: 'k', copies: 1, priority: 0 },
      });
      const { itemId, jobId, duplicate, topic } = sent;
      assert.deepEqual([itemId, jobId, duplicate, topic, sent.req], ['item-1', 'job-1', true, 'mine', req]);
      const payload = sent.payload as QueueItem;
      assert.deepEqual(payload, { ...queue.added.item, waitingFor: payload.waitingFor });
      assert.deepEqual(payload.waitingFor, [{ code: 'BUSY', printers: 2, text: 'No answer from the printer' }]);
      const shown = pluck(bench.flow.statuses('node').slice(-3), 'text');
      assert.deepEqual(shown, ['status.adding', 'status.addingFile', 'status.idle']);
    });

    it('reads the settings of the node and the details of the message', async () => {
      await deploy({
        ...{ source: 'payload', jobName: 'name', jobNameType: 'msg', queueKey: 'order.id', queueKeyType: 'msg' },
        ...{ copies: '3', copiesType: 'num', priority: 'urgent', priorityType: 'msg' },
        ...{ require: '{"tags":["food-safe"]}', requireType: 'json' },
      });
      await one({
        payload: 'G28\n',
        ...{ name: 'cube.gcode', order: { id: 4711 }, urgent: '-5', copies: 9 },
        ...{ orderId: 'o', owner: 'me', costCode: 12, held: true, notBefore: '2026-01-31T10:00:00Z', deadline: 1e12 },
        alternatives: [{ jobId: 'other' }, { filename: '/b.gcode', more: 1 }],
      });
      const [, request] = queue.calls[0] as [string, Record<string, unknown>];
      const { source, jobName, queueKey, copies, priority, require, ...details } = request;
      assert.deepEqual(source, { kind: 'bytes', bytes: Buffer.from('G28\n'), name: 'cube.gcode' });
      assert.deepEqual([jobName, queueKey, copies, priority], ['cube.gcode', '4711', 3, -5]);
      assert.deepEqual(require, { tags: ['food-safe'] });
      const { orderId, owner, costCode, held, notBefore, deadlineAt, alternatives } = details;
      assert.deepEqual([orderId, owner, costCode, held], ['o', 'me', '12', true]);
      assert.deepEqual([notBefore, deadlineAt], [Date.parse('2026-01-31T10:00:00Z'), 1e12]);
      assert.deepEqual(alternatives, [{ jobId: 'other' }, { filename: '/b.gcode' }]);
    });

    it('resolves relative paths of alternatives as Node-RED’s own file nodes do, also for update', async () => {
      interface Given {
        alternatives: unknown;
      }
      bench.flow.useSettings({ fileWorkingDirectory: bench.folder });
      const alternatives = [{ filename: 'b.gcode' }, { filename: '/c.gcode' }];
      const paths = [{ filename: join(bench.folder, 'b.gcode') }, { filename: '/c.gcode' }];
      try {
        await deploy({ source: 'stored' });
        await one({ jobId: 'j', alternatives });
        await deploy({ action: 'update' });
        await one({ itemId: 'i', alternatives });
      } finally {
        bench.flow.useSettings({ fileWorkingDirectory: undefined });
      }
      const [[, added] = [], [, , changes] = []] = queue.calls as [string, Given, Given][];
      assert.deepEqual([added?.alternatives, changes?.alternatives], [paths, paths]);
    });

    it('adds parts in place of the copies that the node is set to', async () => {
      await deploy({ source: 'stored', copies: '3', copiesType: 'num' });
      const alternatives = [{ jobId: 'other', perPrint: '2' }];
      await one({ jobId: 'j', wanted: 10, perPrint: '4', alternatives });
      await one({ jobId: 'j', wanted: '5', copies: '' });
      const numbers = queue.calls.map(([, request]) => {
        const { copies, wanted, perPrint, alternatives: others } = request as Record<string, unknown>;
        return { copies, wanted, perPrint, others };
      });
      assert.deepEqual(numbers, [
        { copies: undefined, wanted: 10, perPrint: 4, others: [{ jobId: 'other', perPrint: 2 }] },
        { copies: undefined, wanted: 5, perPrint: undefined, others: undefined },
      ]);
      await failed({ jobId: 'j', wanted: 10, copies: 2 }, 'INVALID_INPUT', /msg\.copies and msg\.wanted/);
      await failed({ jobId: 'j', perPrint: 2 }, 'INVALID_INPUT', /msg\.perPrint without msg\.wanted/);
    });

    it('adds a stored job without a source', async () => {
      await deploy({ source: 'stored' });
      await one({ jobId: 'stored-1', filename: '/no-such', jobName: { no: 'text' } });
      const [, { source, jobId }] = queue.calls[0] as [string, Record<string, unknown>];
      assert.deepEqual([source, jobId], [undefined, 'stored-1']);
      await failed({ filename: '/no-such' }, 'INVALID_INPUT', /msg\.jobId/);
    });

    it('takes no queue key that is too long to name the item later', async () => {
      await deploy({ source: 'stored' });
      await one({ jobId: 'j', queueKey: 'k'.repeat(2_000) });
      await failed(
        { jobId: 'j', queueKey: 'k'.repeat(2_001) },
        'INVALID_INPUT',
        /queueKey has more than 2000 characters/,
      );
      assert.equal(queue.calls.length, 1);
    });

    it('destroys the stream of a message that it refuses', async () => {
      await deploy({ source: 'payload' });
      const payload = Readable.from(['G28\n']);
      await failed({ payload, filename: 'a.gcode', fileSize: 4, copies: 0 }, 'INVALID_INPUT', /copies/);
      assert.ok(payload.destroyed);
    });

    it('counts a date without time as that whole day', async () => {
      await deploy({ source: 'stored' });
      await one({ jobId: 'j', notBefore: '2026-01-31', deadline: '2026-01-31' });
      const [, { notBefore, deadlineAt }] = queue.calls[0] as [string, Record<string, unknown>];
      assert.deepEqual([notBefore, deadlineAt], [+new Date(2026, 0, 31), +new Date(2026, 1, 1)]);
    });

    it('ends in the error of the queue, with the ids known so far', async () => {
      await deploy({ source: 'stored' });
      queue.failure = new PrintingError('UPLOAD_FAILED', phrase`No answer from the printer`, {
        ids: { itemId: 'item-7', jobId: 'job-7' },
      });
      const { error } = await run({ jobId: 'j' });
      assert.deepEqual([codeOf(error), error?.itemId, error?.jobId], ['UPLOAD_FAILED', 'item-7', 'job-7']);
    });
  });

  const target = { itemId: 'i' };
  const filter = { state: 'held', orderId: 'o', owner: 'me', from: 2, limit: 5 };
  const cleaning = { until: 1e12, reason: 'cleaning' };
  const printer = { clusterId: 'c', printerId: null };
  const cases: [string, NodeMessage, unknown[]][] = [
    ['list', filter, ['list', filter]],
    ['list', {}, ['list', { state: undefined, orderId: undefined, owner: undefined, from: 0, limit: 1000 }]],
    ['explain', { ...target, queueKey: 'k', orderId: 'o' }, ['explain', target]],
    ['explain', {}, ['explainQueue']],
    ['forecast', {}, ['forecast']],
    ['move', { queueKey: 'k', position: 1 }, ['move', { queueKey: 'k' }, { position: 1 }]],
    ['move', { ...target, before: 'other' }, ['move', target, { before: 'other' }]],
    ['remove', target, ['remove', target]],
    ['hold', { queueKey: 7 }, ['hold', { queueKey: '7' }]],
    ['release', { orderId: 'o' }, ['release', { orderId: 'o' }]],
    ['retry', target, ['retry', target]],
    ['settle', { ...target, outcome: 'printed' }, ['settle', target, { outcome: 'printed', copy: null }]],
    ['settle', { ...target, outcome: 'not-printed', copy: 2 }, ['settle', target, { outcome: 'not-printed', copy: 2 }]],
    ['plate-cleared', { clusterId: 'c' }, ['plateCleared', printer, true]],
    [
      'plate-cleared',
      { ...printer, printerId: 'p', good: false },
      ['plateCleared', { ...printer, printerId: 'p' }, false],
    ],
    ['retry', { ...target, copy: 2 }, ['retry', target, { copy: 2, attempt: null }]],
    ['retry', { ...target, copy: '2', attempt: 3 }, ['retry', target, { copy: 2, attempt: 3 }]],
    [
      'settle',
      { ...target, outcome: 'printed', copy: 2, attempt: 3 },
      ['settle', target, { outcome: 'printed', copy: 2, attempt: 3 }],
    ],
    [
      'plate-cleared',
      { ...printer, itemId: 'i', copy: 2, attempt: 3, goodParts: 0 },
      ['plateCleared', printer, true, { goodParts: 0, print: { itemId: 'i', copy: 2, attempt: 3 } }],
    ],
    ['plate-cleared', { ...printer, judges: 'print-1' }, ['plateCleared', printer, true, { judges: 'print-1' }]],
    // An item alone names no print, and neither does the job of another node's message.
    ['plate-cleared', { ...printer, itemId: 'i', copy: 2, clusterJobId: 'x' }, ['plateCleared', printer, true]],
    ['pause', {}, ['pause', { printer: null, until: null, reason: null }]],
    ['pause', { clusterId: 'c', ...cleaning }, ['pause', { printer, ...cleaning }]],
    ['resume', {}, ['resume', null]],
    ['resume', { clusterId: 'c' }, ['resume', printer]],
  ];
  for (const [action, msg, call] of cases)
    it(`carries out ${action} with ${JSON.stringify(msg)}`, async () => {
      await deploy({ action });
      const sent = await one({ ...msg, topic: 'mine' });
      assert.deepEqual(calls(), [call]);
      assert.equal(sent.topic, 'mine');
      assert.notEqual(sent.payload, undefined);
    });

  it('updates what the message names, and nothing else', async () => {
    await deploy({ action: 'update', copies: '5', priority: '7' });
    await one({ ...target, copies: 4, owner: null, deadline: '' });
    await one({ orderId: 'o', priority: 1, require: { models: ['Model X'] } });
    await one({ queueKey: 'k', orderId: 'other', held: false });
    await one({ queueKey: 'k', require: null, alternatives: null });
    const changes = queue.calls.map(([, at, changed]) => [at, JSON.parse(JSON.stringify(changed)) as object]);
    assert.deepEqual(changes, [
      [target, { owner: null, deadlineAt: null, copies: 4 }],
      [{ orderId: 'o' }, { priority: 1, require: { models: ['Model X'] } }],
      [{ queueKey: 'k' }, { held: false, orderId: 'other' }],
      [{ queueKey: 'k' }, { alternatives: [], require: {} }],
    ]);
  });

  it('answers with one item, and with an array for an order', async () => {
    await deploy({ action: 'msg.action' });
    queue.items = [queueItem(), queueItem({ itemId: 'item-2' })];
    const held = await one({ action: 'hold', itemId: 'item-1' });
    assert.deepEqual([(held.payload as QueueItem).itemId, held.itemId, held.jobId], ['item-1', 'item-1', 'job-1']);
    const order = await one({ action: 'explain', orderId: 'o' });
    assert.deepEqual(pluck(order.payload as QueueItem[], 'itemId'), ['item-1', 'item-2']);
    assert.equal((order.payload as QueueItem[])[0]?.waitingFor[0]?.text, 'no status');
    assert.equal(order.itemId, undefined);
    const { printers } = (await one({ action: 'explain' })).payload as { printers: { text: unknown }[] };
    assert.equal(printers[0]?.text, 'No answer from the printer');
  });

  const wrong: [string, NodeMessage, RegExp][] = [
    ['msg.action', {}, /msg\.action/],
    ['msg.action', { action: 'dance' }, /action must be one of add, list,.* is dance/],
    ['msg.action', { action: 1.5 }, /action/],
    ['hold', {}, /msg\.itemId, msg\.queueKey or msg\.orderId/],
    ['hold', { itemId: {} }, /itemId must be a string/],
    ['hold', { queueKey: 'k'.repeat(3000) }, /queueKey has more than 2000/],
    ['move', target, /msg\.position/],
    ['move', { ...target, position: 0 }, /position must be a whole number of at least 1.* is 0/],
    ['settle', target, /outcome .* but it is missing\.$/],
    ['settle', { ...target, outcome: 'printed', copy: 1.5 }, /copy/],
    ['plate-cleared', {}, /msg\.clusterId/],
    ['plate-cleared', { clusterId: 'c', good: 'yes' }, /msg\.good/],
    ['plate-cleared', { clusterId: 'c', goodParts: -1 }, /goodParts must be a whole number from 0/],
    ['plate-cleared', { clusterId: 'c', goodParts: 1.5 }, /goodParts/],
    ['plate-cleared', { clusterId: 'c', judges: {} }, /judges must be a string/],
    ['retry', { ...target, copy: 1, attempt: 0 }, /attempt/],
    ['update', { ...target, wanted: 0 }, /wanted must be a whole number from 1 to 10000/],
    ['update', { ...target, perPrint: 10_001 }, /perPrint/],
    ['update', { ...target, alternatives: [{ jobId: 'j', perPrint: 0 }] }, /perPrint/],
    ['pause', { until: 'tomorrow' }, /until must be a time in ISO 8601.* is tomorrow/],
    ['pause', { until: 'last week' }, /until/],
    ['pause', { until: 1e300 }, /until/],
    ['pause', { until: 8.64e15 }, /until must be a time in ISO 8601/],
    ['update', { ...target, notBefore: 253_402_300_800_000 }, /notBefore must be a time/],
    ['update', { ...target, deadline: -1 }, /deadline must be a time/],
    ['list', { state: 'idle' }, /state must be one of active,.* is idle/],
    ['list', { limit: 1001 }, /limit must be a whole number from 1 to 1000/],
    ['list', { from: -1 }, /from/],
    ['update', { ...target, copies: 10_001 }, /copies must be a whole number from 1 to 10000/],
    ['update', { ...target, priority: -101 }, /priority/],
    ['update', { ...target, priority: [] }, /priority.* is an array/],
    ['update', { ...target, held: 'true' }, /msg\.held/],
    ['update', { ...target, require: { model: 'x' } }, /require/],
    ['update', { ...target, alternatives: {} }, /alternatives/],
    ['update', { ...target, alternatives: [{}] }, /alternatives/],
    ['update', { ...target, deadline: '2026-02-30' }, /deadline/],
  ];
  for (const [action, msg, words] of wrong)
    it(`refuses ${action} with ${JSON.stringify(msg).slice(0, 60)}`, async () => {
      await deploy({ action });
      const { sent, error } = await run(msg);
      assert.deepEqual([codeOf(error), sent.length, queue.calls.length], ['INVALID_INPUT', 0, 0]);
      assert.match(String((error as { error?: Error }).error?.message), words);
    });

  describe('events', () => {
    const event = (changes: Partial<QueueEvent> = {}): QueueEvent => ({
      ...{ id: 'e1', type: 'print.started', at: '2026-01-31T10:00:00.000Z', late: false },
      ...{ queueId: 'queue', queueName: 'Farm', item: queueItem(), clusterId: 'c1', clusterName: 'Left', value: null },
      print: {
        ...{ copy: 1, attempt: 1, clusterId: 'c1', clusterName: 'Left', printerId: null, clusterJobId: 'cj' },
        ...{ state: 'printing', reason: null, startedAt: null, endedAt: null, seconds: null, cost: null },
        ...{ perPrint: 1, goodParts: null, used: [] },
      },
      ...changes,
    });

    it('sends events from the second output, with their ids and translated reasons', async () => {
      await deploy();
      const events = bench.flow.listen('events');
      queue.emit(event(), event({ id: 'e2', type: 'queue.idle', item: null, print: null, clusterId: null }));
      const [first, second] = [await events.at(0), await events.at(1)];
      const { payload, topic, itemId, jobId, clusterId, clusterJobId, printerId } = first;
      assert.deepEqual([topic, itemId, jobId], ['print.started', 'item-1', 'job-1']);
      assert.deepEqual([clusterId, clusterJobId, printerId], ['c1', 'cj', undefined]);
      assert.equal((payload as QueueEvent).item?.waitingFor[0]?.text, 'No answer from the printer');
      assert.deepEqual([second.topic, 'itemId' in second, bench.sent.all.length], ['queue.idle', false, 0]);
    });

    it('ends the events with the node, and closes the queue with its own', async () => {
      await deploy();
      assert.equal(queue.listeners, 2);
      await bench.deploy({ d: true }, { more: [QUEUE] });
      assert.equal(queue.listeners, 0);
      assert.equal(queue.closed, 1);
      assert.deepEqual(options.at(-1), { ...options.at(-1), queueId: 'queue', name: 'Farm' });
    });
  });

  describe('the board', () => {
    const sentence = phrase`No answer from the printer`;
    const item = { ...queueItem(), sentence };
    const shown = queueBoard({
      items: [item],
      orders: [{ orderId: 'o', good: 1, wanted: 2, endAt: null, late: false }],
    });
    const boards = () => bench.flow.listen('events');
    const valueOf = ({ payload }: NodeMessage) => (payload as { value: Board }).value;

    it('answers once, with each sentence as a text, and sends nothing more', async () => {
      await deploy({ action: 'board' });
      queue.shown = shown;
      const sent = await one({ topic: 'mine', req: 'r' });
      const payload = sent.payload as Board;
      assert.deepEqual([sent.topic, sent.req, payload.orders], ['mine', 'r', shown.orders]);
      assert.deepEqual(
        [payload.items[0]?.sentence, payload.items[0]?.waitingFor[0]?.text],
        [...['No answer from the printer', 'No answer from the printer']],
      );
      assert.equal(queue.listeners, 2);
    });

    it('is sent from the second output after changes, until it is stopped, without an id', async () => {
      await deploy({ action: 'board' });
      const events = boards();
      await one({ board: true });
      await one({ board: true });
      assert.equal(queue.listeners, 3);
      queue.showBoard(shown);
      queue.showBoard(queueBoard({ items: [item] }));
      const [first, second] = [await events.at(0), await events.at(1)];
      const { payload, topic } = first;
      assert.deepEqual([topic, 'id' in (payload as object)], ['queue.board', false]);
      assert.deepEqual(
        { ...(payload as object), value: null },
        {
          ...{ type: 'queue.board', at: 'now', late: false, queueId: 'queue', queueName: 'Farm', value: null },
          ...{ item: null, print: null, clusterId: null, clusterName: null },
        },
      );
      // The same entry is the same object, which no flow can change.
      assert.equal(valueOf(first).items[0], valueOf(second).items[0]);
      assert.throws(() => Object.assign(valueOf(second).items[0]!, { name: 'mine' }), TypeError);
      assert.doesNotThrow(() => (valueOf(second).items as unknown[]).reverse());
      await one({ board: false });
      assert.equal(queue.listeners, 2);
      await one({});
      assert.equal(queue.listeners, 2);
    });

    it('is not sent any more after a deploy', async () => {
      await deploy({ action: 'board' });
      await one({ board: true });
      await bench.deploy({ d: true }, { more: [QUEUE] });
      assert.equal(queue.listeners, 0);
    });

    it('takes only true or false, and only with its own action', async () => {
      await deploy({ action: 'msg.action' });
      const { error } = await run({ action: 'board', board: 'true' });
      assert.equal(codeOf(error), 'INVALID_INPUT');
      assert.match(String((error as { error?: Error }).error?.message), /msg\.board must be true or false/);
      await one({ action: 'explain', board: true });
      assert.equal(queue.listeners, 2);
    });
  });

  it('shows the state of its queue', async () => {
    await deploy();
    const error = new PrintingError('NETWORK', phrase`no status`);
    const why = (code: 'NO_STORE' | 'UPLOAD' | 'HELD') => ({ code, text: phrase`no status` });
    const shown: [Partial<ReturnType<typeof queueState>>, string, string][] = [
      [{}, 'grey', 'status.idle'],
      [{ waiting: 3 }, 'blue', 'status.itemsWaiting'],
      [{ waiting: 3, active: 2 }, 'blue', 'status.itemsPrinting'],
      [{ waiting: 3, isPaused: true }, 'yellow', 'status.queuePaused'],
      [{ blocked: 1, firstReason: why('UPLOAD') }, 'red', 'status.blockedBy.UPLOAD'],
      [{ blocked: 1, active: 1, firstReason: why('HELD') }, 'red', 'status.blocked'],
      [{ firstReason: why('NO_STORE'), error }, 'red', 'status.noStore'],
      [{ error }, 'red', 'status.error.NETWORK'],
      [{ error: new PrintingError('NOT_SIGNED_IN', phrase`no status`) }, 'red', 'status.signIn'],
    ];
    for (const [state, fill, text] of shown) {
      queue.show(state);
      assert.deepEqual([status()?.fill, status()?.text], [fill, text], JSON.stringify(state));
    }
  });

  describe('waiting for the end of an item', () => {
    const waiting = { source: 'stored', waitFor: 'finished' };
    const begin = async (msg: NodeMessage = {}) => {
      bench.flow.send('node', { jobId: 'j', ...msg });
      await until(() => queue.calls.some(([name]) => name === 'add'));
      await until(() => queue.listeners >= 3);
    };

    it('sends one message once the item is finished', async () => {
      await deploy(waiting);
      queue.added = { item: queueItem(), duplicate: true };
      await begin({ topic: 'mine' });
      assert.equal(bench.sent.all.length, 0);
      queue.end(queueItem({ state: 'finished', ...END }));
      const { payload, duplicate, topic, late } = await bench.sent.at(0);
      assert.deepEqual([(payload as QueueItem).state, duplicate, topic, late], ['finished', true, 'mine', undefined]);
      await bench.completed.at(0);
      await deploy(waiting);
      assert.deepEqual([bench.sent.all.length, queue.listeners], [0, 2]);
    });

    for (const state of ['failed', 'cancelled'] as const)
      it(`ends in PRINT_FAILED once the item is ${state}`, async () => {
        await deploy(waiting);
        await begin();
        queue.end(queueItem({ state, ...END }));
        const error = await bench.caught.at(0);
        assert.deepEqual([codeOf(error), error.itemId, bench.sent.all.length], ['PRINT_FAILED', 'item-1', 0]);
        await deploy(waiting);
        assert.equal(queue.listeners, 2);
      });

    it('survives a deploy: the end comes once, late, with the plain properties of the message', async () => {
      await deploy(waiting);
      await begin({ topic: 'mine', order: { no: 1 }, req: { socket: {} } });
      await deploy({ ...waiting, timeout: 5 });
      await until(() => queue.listeners >= 3);
      queue.end(queueItem({ state: 'finished', ...END }));
      const { payload, topic, order, req, late, duplicate, itemId } = await bench.sent.at(0);
      assert.deepEqual(
        [(payload as QueueItem).state, topic, order, req, late, duplicate, itemId],
        ['finished', 'mine', { no: 1 }, undefined, true, false, 'item-1'],
      );
      await deploy(waiting);
      await turn();
      assert.deepEqual([bench.sent.all.length, queue.listeners], [0, 2]);
    });

    it('reports at the next node the end of an item whose addition outlived its node', async () => {
      await deploy(waiting);
      let added: () => void = () => undefined;
      const add = queue.add.bind(queue);
      queue.add = async (request) => {
        const answer = await add(request);
        await new Promise<void>((resolve) => (added = resolve));
        return answer;
      };
      bench.flow.send('node', { jobId: 'j', topic: 'mine' });
      await until(() => queue.calls.some(([name]) => name === 'add'));
      await bench.deploy({ ...waiting, timeout: 5 }, { more: [QUEUE], type: 'nodes' });
      await until(() => queue.listeners >= 2);
      added();
      await until(() => queue.listeners >= 3);
      queue.end(queueItem({ state: 'finished', ...END }));
      const { topic, late } = await bench.sent.at(0);
      assert.deepEqual([topic, late], ['mine', true]);
    });

    it('survives a restart, and sends a late failure to Catch', async () => {
      await deploy(waiting);
      await begin({ topic: 'mine' });
      await bench.restart();
      await deploy(waiting);
      await until(() => queue.listeners >= 3);
      queue.end(queueItem({ state: 'cancelled', ...END }));
      const error = await bench.caught.at(0);
      assert.deepEqual(
        [codeOf(error), error.topic, error.late, error.itemId],
        ['PRINT_FAILED', 'mine', true, 'item-1'],
      );
    });

    it('ends with the deletion of the node', async () => {
      await deploy(waiting);
      await begin();
      await bench.flow.deploy([], { more: [QUEUE] });
      await deploy(waiting);
      await turn();
      assert.equal(queue.listeners, 2);
    });
  });

  describe('a queue that is missing something', () => {
    it('ends messages in NOT_CONFIGURED, and says what to choose', async () => {
      await bench.deploy({ action: 'list', queue: '' });
      await bench.shownFailed({}, 'NOT_CONFIGURED', /Choose a queue in the node/);
      await deploy({ action: 'list' }, { account: 'none' });
      await bench.failed({}, 'NOT_CONFIGURED', /Choose an account/);
      await deploy({ action: 'list' }, { hours: 'Mon-Fry' });
      await bench.failed({}, 'NOT_CONFIGURED', /hours.*mon-fry/i);
    });

    for (const [name, value] of [
      ['approval', 'yes'],
      ['maxPrinting', 'one'],
      ['maxPrinting', -1],
      ['stagger', '60 s'],
      ['gate', 'automatik'],
    ] as const)
      it(`ends messages in NOT_CONFIGURED where ${name} is ${JSON.stringify(value)}, and opens no queue`, async () => {
        await deploy({ action: 'list' }, { [name]: value });
        await bench.shownFailed({}, 'NOT_CONFIGURED', new RegExp(`^The property ${name} must be `));
        assert.equal(options.length, 0);
      });

    it('holds new items for their approval where an environment variable says true', async () => {
      process.env.TEST_APPROVAL = 'true';
      try {
        await deploy({ action: 'list' }, { approval: '${TEST_APPROVAL}' });
        await one();
        assert.equal(options[0]?.rules.approval, true);
      } finally {
        delete process.env.TEST_APPROVAL;
      }
    });

    it('opens with the deploy that brings its account', async () => {
      await deploy({ action: 'list' }, { account: 'later' });
      assert.equal(options.length, 0);
      await bench.deploy({ action: 'list' }, {
        more: [
          { ...QUEUE, account: 'later' },
          { id: 'later', type: 'remote-printing-account', service: 'simulator' },
        ],
        type: 'nodes',
      } as never);
      await until(() => options.length > 0);
      assert.equal(options.length, 1);
    });
  });

  describe('GET remote-printing/queues/:id', () => {
    it('shows counts, blocked items with their reasons, and items to choose from', async () => {
      await deploy();
      queue.items = [queueItem({ state: 'blocked', queueKey: 'k' })];
      const { body } = await kept().expect(200);
      assert.deepEqual(body, {
        ...{ queueId: 'queue', name: 'Farm', accountId: 'account', waiting: 3, active: 1, paused: null },
        blocked: [
          {
            ...{ itemId: 'item-1', name: 'part.gcode' },
            waitingFor: [{ code: 'BUSY', printers: 2, text: 'No answer from the printer' }],
          },
        ],
        items: [{ itemId: 'item-1', queueKey: 'k', orderId: null, name: 'part.gcode', state: 'blocked', position: 1 }],
      });
    });

    it('answers 404 for an unknown queue, and 400 for one that is not running', async () => {
      await bench.deploy({}, { more: [{ ...QUEUE, d: true }] });
      assert.match(((await kept().expect(400)).body as { error: string }).error, /not running/);
      await bench.flow.get('queues/none').expect(404);
    });
  });

  it('says whether hours apply now, and when they begin', async () => {
    const get = async (hours: string) =>
      (await bench.flow.get(`hours?hours=${encodeURIComponent(hours)}`)).body as { open?: boolean; next?: string };
    assert.deepEqual(await get(''), { open: true, next: null });
    const day = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][(new Date().getDay() + 2) % 7];
    const { open, next } = await get(`${day} 09:30-10:00`);
    assert.equal(open, false);
    assert.match(String(next), new RegExp(`${day}.*9:30`));
    await bench.flow.get('hours?hours=Mon-Fry').expect(400);
  });
});
