import assert from 'node:assert/strict';
import type { NodeMessage } from 'node-red';
import type { Simulator } from '../../simulator';
import type { Flow } from '../helpers/flow';
import { pluck } from '../helpers/pluck';
import { NodeBench, UUID } from './support';

describe('nodes/job-control', () => {
  let simulator: Simulator;
  let flow: Flow;

  const bench = new NodeBench(
    {
      id: 'control',
      type: 'remote-printing-job-control',
      cluster: '',
      clusterType: 'str',
      job: 'clusterJobId',
      jobType: 'msg',
      action: 'pause',
      timeout: 10,
    },
    { simulator: { timeFactor: 1, actionDelay: 50 } },
  );
  const { deploy, one: carriedOut, shownFailed: failed } = bench;
  const clusterId = () => simulator.world.cluster(1).clusterId;
  const statusOf = (uuid: string) => simulator.world.printJob(uuid).status;
  const queued = () => simulator.world.cluster(1).queue.map(({ uuid }) => uuid);
  /** Starts a print and advances it by so many seconds. */
  function job(seconds = 0, length = 3600): NodeMessage {
    const { uuid } = simulator.world.printLocally(1, { name: 'part.gcode', seconds: length });
    simulator.world.advance(seconds);
    return { clusterId: clusterId(), clusterJobId: uuid };
  }
  const printing = () => job(120);
  const id = (msg: NodeMessage) => String(msg.clusterJobId);
  const sentActions = () => simulator.requests.count('jobAction');

  beforeEach(async () => ({ simulator, flow } = await bench.start()));
  afterEach(() => bench.stop());

  describe('the action stop', () => {
    const prints = (...numbers: number[]) => {
      const ids = numbers.map((number) => simulator.world.printLocally(number, { name: 'p', seconds: 3600 }).uuid);
      simulator.world.advance(120);
      return ids;
    };
    type Stopped = { action: string; status: string; clusterJobId: string; error?: { code: string } }[];
    const shortOf = (msg: NodeMessage | undefined) =>
      ((msg?.payload ?? []) as Stopped)
        .map((one) => `${one.action} ${one.clusterJobId} ${one.error?.code ?? one.status}`)
        .sort();
    const queue = { id: 'queue', type: 'remote-printing-queue', account: 'account', match: 'lenient' };
    const queueNode = { id: 'list', type: 'remote-printing-print-queue', queue: 'queue', wires: [['listed'], []] };
    const paused = async () => {
      const listed = flow.listen('listed');
      flow.send('list', { action: 'explain' });
      return (await listed.at(0)).payload as {
        paused: object | null;
        printers: { clusterId: string; paused: unknown }[];
      };
    };
    const withQueue = async () => {
      await flow.deploy([]);
      await deploy(
        { action: 'stop' },
        {
          more: [
            queue,
            { ...queueNode, action: 'msg.action', z: 'tab' },
            { id: 'listed', type: 'helper', z: 'tab' },
          ] as never,
        },
      );
    };

    it('takes waiting jobs back, aborts what prints, and pauses the queues', async () => {
      await withQueue();
      const [one, two] = prints(1, 2) as [string, string];
      const waiting = [id(job()), id(job())];
      const msg = await carriedOut({ topic: 'stop' });
      const expected = [
        `abort ${one} success`,
        `abort ${two} success`,
        ...waiting.map((own) => `remove ${own} success`),
      ];
      assert.deepEqual([shortOf(msg), msg.topic], [expected.sort(), 'stop']);
      assert.deepEqual(
        [statusOf(one), statusOf(two), queued().filter((own) => waiting.includes(own))],
        ['aborting', 'aborting', []],
      );
      assert.notEqual((await paused()).paused, null);
      assert.deepEqual(shortOf(await carriedOut({})), []);
    });

    it('concerns one printer alone where one is named', async () => {
      await withQueue();
      const [one, two] = prints(1, 2) as [string, string];
      const msg = await carriedOut({ clusterId: clusterId() });
      assert.deepEqual([shortOf(msg), msg.clusterId], [[`abort ${one} success`], clusterId()]);
      assert.equal(statusOf(two), 'printing');
      const { paused: whole, printers } = await paused();
      assert.equal(whole, null);
      assert.deepEqual(
        printers.filter((own) => own.paused !== null).map((own) => own.clusterId),
        [clusterId()],
      );
    });

    it('stops nothing if the setting of its printer has no value', async () => {
      for (const clusterType of ['msg', 'flow', 'jsonata']) {
        await deploy({ action: 'stop', cluster: 'myPrinter', clusterType });
        await failed({ clusterId: clusterId() }, 'INVALID_INPUT', /The (expression of the )?setting cluster/);
      }
      assert.equal(sentActions(), 0);
    });

    it('counts what has ended meanwhile as stopped', async () => {
      await deploy({ action: 'stop' });
      const [one] = prints(1) as [string];
      simulator.faults.add({
        endpoint: 'clusterStatus',
        path: clusterId(),
        transform: (body) => {
          simulator.world.advance(4000);
          return body;
        },
      });
      assert.deepEqual(shortOf(await carriedOut({})), [`abort ${one} success`]);
    });

    it('fails at a printer whose status lacks its jobs', async () => {
      await deploy({ action: 'stop' });
      const [, two] = prints(1, 2) as [string, string];
      simulator.faults.add({
        endpoint: 'clusterStatus',
        path: clusterId(),
        times: 'always',
        transform: (body) => ({ data: { ...(body as { data: object }).data, print_jobs: null } }),
      });
      const { sent, error } = await bench.run({});
      assert.deepEqual(shortOf(sent[0]), [`abort ${two} success`, 'stop null SERVICE_ERROR']);
      assert.equal((error?.error as { code: string } | undefined)?.code, 'SERVICE_ERROR');
    });

    it('aborts a job that begins before it could be taken back', async () => {
      await deploy({ action: 'stop' });
      const waiting = id(job(0));
      simulator.faults.add({
        endpoint: 'clusterStatus',
        path: clusterId(),
        transform: (body) => {
          simulator.world.advance(120);
          return body;
        },
      });
      const before = ['queued', 'sent_to_printer'].includes(statusOf(waiting));
      assert.deepEqual([before, shortOf(await carriedOut({}))], [true, [`abort ${waiting} success`]]);
    });

    it('tries everything, and ends in the first failure after its result', async () => {
      await deploy({ action: 'stop' });
      const [one, two] = prints(1, 2) as [string, string];
      simulator.faults.add({ endpoint: 'jobAction', path: one, status: 409, times: 'always' });
      const { sent, error } = await bench.run({});
      assert.deepEqual(shortOf(sent[0]), [`abort ${one} NOT_ACCEPTED`, `abort ${two} success`].sort());
      assert.deepEqual(
        [(error?.error as { code: string } | undefined)?.code, statusOf(two)],
        ['NOT_ACCEPTED', 'aborting'],
      );
    });

    it('refuses a filter, which it would not obey', async () => {
      await deploy({ action: 'msg.action' });
      const [one] = prints(1) as [string];
      await failed({ action: 'stop', filter: { model: 'none' } }, 'INVALID_INPUT', /remove msg\.filter/);
      assert.equal(statusOf(one), 'printing');
    });
  });

  describe('an action on all prints', () => {
    /** Starts a print on each of the first printers. */
    const prints = (...numbers: number[]) => {
      const ids = numbers.map((number) => simulator.world.printLocally(number, { name: 'p', seconds: 3600 }).uuid);
      simulator.world.advance(120);
      return ids;
    };

    it('stops everything, with a result for each print', async () => {
      await deploy({ action: 'abort' });
      const ids = prints(1, 2);
      const waiting = id(job());
      const { sent, error } = await bench.run({ all: true, topic: 'stop', other: { deep: 1 } });
      assert.equal(error, undefined);
      assert.deepEqual(
        sent.map(({ payload }) => (payload as { clusterJobId: string }).clusterJobId).sort(),
        [...ids].sort(),
      );
      for (const one of ids) assert.equal(statusOf(one), 'aborting');
      assert.equal(statusOf(waiting), 'queued');
      const parts = sent.map((msg) => (msg as { parts?: { id: string; index: number; count: number } }).parts);
      assert.deepEqual(parts.map((part) => part?.index).sort(), [0, 1]);
      assert.deepEqual(new Set(parts.map((part) => `${part?.id} ${part?.count}`)).size, 1);
      assert.equal(parts[0]?.count, 2);
      for (const msg of sent) {
        const { clusterJobId, action, status } = msg.payload as Record<string, string>;
        assert.deepEqual([action, status, msg.topic, msg.other], ['abort', 'success', 'stop', { deep: 1 }]);
        assert.equal(msg.clusterJobId, clusterJobId);
        assert.equal((msg.raw as { status: string }).status, 'success');
      }
      assert.notEqual(sent[0]?.clusterId, sent[1]?.clusterId);
    });

    it('sends one message with an empty array if nothing prints', async () => {
      await deploy({ action: 'abort' });
      const result = await carriedOut({ all: true, topic: 'stop' });
      assert.deepEqual([result.payload, result.topic], [[], 'stop']);
      assert.deepEqual((await carriedOut({ filter: { model: 'none' } })).payload, []);
    });

    it('acts on the printers that msg.filter matches', async () => {
      await deploy({ action: 'pause' });
      const [first, second] = prints(1, 2) as [string, string];
      const { sent } = await bench.run({ filter: { name: simulator.world.cluster(2).friendlyName } });
      assert.deepEqual(pluck(sent, 'clusterJobId'), [second]);
      assert.equal(statusOf(first), 'printing');
    });

    it('tries all, and fails once with the first failure', async () => {
      await deploy({ action: 'pause' });
      const [first, second] = prints(1, 2) as [string, string];
      simulator.faults.add({ endpoint: 'jobAction', path: first, status: 409 });
      const { sent, error } = await bench.run({ all: true });
      assert.deepEqual(
        sent.map((msg) => {
          const { clusterJobId, error: failure } = msg.payload as { clusterJobId: string; error?: { code: string } };
          return [clusterJobId, failure?.code];
        }),
        [
          [first, 'NOT_ACCEPTED'],
          [second, undefined],
        ],
      );
      const { code, message } = (sent[0]!.payload as { error: { code: string; message: string } }).error;
      assert.deepEqual([code, typeof message], ['NOT_ACCEPTED', 'string']);
      assert.equal((error?.error as { code?: string } | undefined)?.code, 'NOT_ACCEPTED');
      assert.equal(error?.clusterJobId, first);
      assert.equal(statusOf(second), 'pausing');
    });

    it('requires neither a printer nor a print job, and never follows from an empty filter', async () => {
      await deploy({ action: 'abort' });
      const [first] = prints(1) as [string];
      await failed({ all: true, clusterId: clusterId() }, 'INVALID_INPUT', /leave printer and print job blank/);
      await failed({ all: true, clusterJobId: first }, 'INVALID_INPUT', /leave printer and print job blank/);
      await failed({ filter: {} }, 'INVALID_INPUT', /msg\.clusterId/);
      const { error } = await bench.run({ all: 'yes' });
      assert.equal((error?.error as { code?: string } | undefined)?.code, 'INVALID_INPUT');
      await failed({ filter: { printer: 'x' } }, 'INVALID_INPUT', /no "printer"/);
      assert.equal(sentActions(), 0);
      await carriedOut({ clusterId: clusterId(), filter: { model: 'none' } });
      assert.equal(statusOf(first), 'aborting', 'a named printer wins over a filter');
    });
  });

  describe('an action', () => {
    it('pauses, resumes and aborts a print, and passes on the other properties of the message', async () => {
      await deploy({ action: 'msg.action' });
      const msg = printing();
      const req = { socket: {} };
      const paused = await carriedOut({ ...msg, action: 'pause', payload: { id: 'an event' }, topic: 'mine', req });
      assert.deepEqual(Object.keys(paused.payload as object).sort(), ['action', 'actionId', 'clusterJobId', 'status']);
      const { actionId, ...rest } = paused.payload as Record<string, string>;
      assert.deepEqual(rest, { action: 'pause', status: 'success', clusterJobId: id(msg) });
      assert.match(String(actionId), UUID);
      assert.deepEqual([paused.topic, paused.clusterId, paused.action], ['mine', clusterId(), 'pause']);
      assert.equal(paused.req, req);
      assert.equal((paused.raw as { action_id: string }).action_id, actionId);
      assert.equal(paused.printerId, simulator.world.cluster(1).printers[0]?.uuid);
      assert.equal(statusOf(id(msg)), 'pausing');
      simulator.world.advance(10);
      await carriedOut({ ...msg, action: 'resume' });
      assert.equal(statusOf(id(msg)), 'resuming');
      simulator.world.advance(10);
      await carriedOut({ ...msg, action: 'abort' });
      assert.equal(statusOf(id(msg)), 'aborting');
    });

    it('applies to the current print when no job is given', async () => {
      await deploy({ action: 'pause', job: '', jobType: 'str' });
      const [now, next] = [printing(), job()];
      const { clusterJobId, payload } = await carriedOut({ clusterId: clusterId() });
      assert.deepEqual([clusterJobId, (payload as { clusterJobId: string }).clusterJobId], [id(now), id(now)]);
      assert.deepEqual([statusOf(id(now)), statusOf(id(next))], ['pausing', 'queued']);
    });

    it('ends in NOT_ACCEPTED without a request when no job is given and nothing is printing', async () => {
      await deploy({ action: 'abort' });
      await failed({ clusterId: clusterId() }, 'NOT_ACCEPTED', /Nothing is printing on this printer/);
      assert.equal(sentActions(), 0);
    });

    it('ends in INVALID_INPUT when the configured message property has no job', async () => {
      await deploy({ action: 'abort', job: 'mine', jobType: 'msg' });
      printing();
      await failed({ clusterId: clusterId() }, 'INVALID_INPUT');
      assert.equal(sentActions(), 0);
    });

    it("comes from the node's setting, whatever the message says", async () => {
      await deploy({ action: 'abort' });
      const msg = printing();
      const { payload } = await carriedOut({ ...msg, action: 'pause' });
      assert.equal((payload as { action: string }).action, 'abort');
    });

    it('removes a job from the queue, and moves it within the queue', async () => {
      await deploy({ action: 'msg.action' });
      const [first, second, third] = [printing(), job(), job()];
      await carriedOut({ ...third, action: 'move', position: 0 });
      assert.deepEqual(queued(), [id(first), id(third), id(second)]);
      await carriedOut({ ...third, action: 'remove' });
      assert.deepEqual(queued(), [id(first), id(second)]);
    });

    it('duplicates a job', async () => {
      await deploy({ action: 'duplicate' });
      const msg = printing();
      await carriedOut({ ...msg, quantity: 2 });
      assert.equal(queued().length, 3);
      await carriedOut(msg);
      assert.equal(queued().length, 4);
    });

    it('forces a waiting job to start in spite of differences', async () => {
      await deploy({ action: 'force' });
      printing();
      const msg = job();
      await carriedOut(msg);
      assert.equal(simulator.world.printJob(id(msg)).force, true);
    });

    it('passes through when unknown, with an object payload as its data', async () => {
      await deploy({ action: 'msg.action' });
      const msg = job();
      Object.assign(simulator.world.printJob(id(msg)), { status: 'wait_approval' });
      await carriedOut({ ...msg, action: 'approve', payload: { message: 'Go ahead.' } });
      assert.equal(simulator.world.printJob(id(msg)).message?.body, 'Go ahead.');
      await failed({ ...msg, action: 'dance', payload: Buffer.from('no object') }, 'SERVICE_ERROR');
    });
  });

  it('prefers the settings for cluster and job over the message', async () => {
    const msg = printing();
    await deploy({ cluster: msg.clusterId, job: 'which.job', jobType: 'msg' });
    await carriedOut({ clusterId: 'other', clusterJobId: 'other', which: { job: msg.clusterJobId } });
    assert.equal(statusOf(id(msg)), 'pausing');
  });

  it('reads msg.clusterJobId when the job is blank', async () => {
    await deploy({ job: '', jobType: 'str' });
    await carriedOut(printing());
  });

  it("shows the progress as the node's status", async () => {
    await deploy();
    await carriedOut(printing());
    const shown = flow.statuses('control').map(({ text }) => String(text));
    const stages = ['idle', 'sending', 'sent', 'done'].map((stage) => shown.indexOf(`status.${stage}`));
    const inOrder = stages.every((at, index) => at >= 0 && at > (stages[index - 1] ?? -1));
    assert.ok(inOrder, shown.join(', '));
  });

  it('processes simultaneous messages', async () => {
    await deploy({ action: 'duplicate' });
    const msg = printing();
    simulator.tokens.expireAccessTokens();
    for (let n = 0; n < 10; n++) flow.send('control', { ...msg, n });
    await bench.completed.at(9);
    assert.equal(queued().length, 11);
    assert.equal(simulator.tokens.refreshes, 1);
  });

  describe('failures', () => {
    it('names invalid input, and sends nothing', async () => {
      await deploy({ action: 'msg.action' });
      const msg = { ...printing(), action: 'duplicate' };
      await failed({ ...msg, clusterId: undefined }, 'INVALID_INPUT');
      await failed({ ...msg, action: undefined }, 'INVALID_INPUT');
      await failed({ ...msg, action: ' ' }, 'INVALID_INPUT');
      await failed({ ...msg, action: { pause: true } }, 'INVALID_INPUT');
      for (const action of ['a/b', '../abort', '..', '.', 'a\\b']) await failed({ ...msg, action }, 'INVALID_INPUT');
      await failed({ ...msg, clusterJobId: ['a'] }, 'INVALID_INPUT');
      await failed({ ...msg, clusterJobId: 'a/b' }, 'INVALID_INPUT');
      await failed({ ...msg, action: 'pause', clusterJobId: '../x' }, 'INVALID_INPUT');
      for (const quantity of [0, -1, 1.5, '2', true, {}]) await failed({ ...msg, quantity }, 'INVALID_INPUT');
      for (const position of [undefined, -1, 0.5, '0'])
        await failed({ ...msg, action: 'move', position }, 'INVALID_INPUT');
      assert.equal(sentActions(), 0);
    });

    it("explains why the job's state doesn't allow the action", async () => {
      await deploy({ action: 'msg.action' });
      const running = printing();
      const error = await failed({ ...running, action: 'resume' }, 'NOT_ACCEPTED');
      assert.match((error.error as Error).message, /paused.*printing/);
      assert.deepEqual([error.clusterId, error.clusterJobId], [clusterId(), id(running)]);
      await failed({ ...running, action: 'remove' }, 'NOT_ACCEPTED');
      const waiting = job();
      await failed({ ...waiting, action: 'pause' }, 'NOT_ACCEPTED');
      await failed({ ...waiting, action: 'abort' }, 'NOT_ACCEPTED');
      assert.equal(sentActions(), 0);
      await failed({ ...running, action: 'force' }, 'NOT_ACCEPTED');
      assert.equal(sentActions(), 1);
    });

    it("sends the action when the job's state is unknown", async () => {
      await deploy();
      simulator.faults.add({ endpoint: 'printJob', set: { 'data.status': 'brand_new' } });
      await carriedOut(printing());
    });

    it('reports an offline printer, an unknown job and an unknown cluster', async () => {
      await deploy();
      const msg = printing();
      await failed({ ...msg, clusterJobId: '12345678-1234-1234-1234-123456789012' }, 'NOT_FOUND');
      await failed({ ...msg, clusterId: 'no-such-cluster' }, 'NOT_FOUND');
      simulator.world.setOnline(1, false);
      await failed(msg, 'NOT_ACCEPTED', /offline/);
    });

    it('says to check the job when its timeout passes before the answer', async () => {
      await deploy({ action: 'duplicate', timeout: 1 });
      simulator.faults.add({ endpoint: 'jobAction', hang: true, when: 'after' });
      const error = await failed(printing(), 'TIMEOUT', /check the job before you send it again/);
      assert.match((error.error as Error).message, /^The answer to "duplicate" was lost/);
    });

    it('sends an action once, and says to check the job when the answer is lost', async () => {
      await deploy({ action: 'duplicate' });
      const msg = printing();
      simulator.faults.add({ endpoint: 'jobAction', reset: true, when: 'after' });
      const reset = await failed(msg, 'NETWORK');
      assert.match((reset.error as Error).message, /check the job/);
      simulator.faults.add({ endpoint: 'jobAction', status: 502, html: true, when: 'after' });
      const broken = await failed(msg, 'SERVICE_ERROR');
      assert.match((broken.error as Error).message, /check the job/);
      assert.equal(broken.statusCode, 502);
      assert.equal(sentActions(), 2);
      await new Promise((resolve) => setTimeout(resolve, 100));
      assert.equal(queued().length, 3);
    });

    it('reports a printer that fails or never answers', async () => {
      await deploy({ timeout: 1 });
      const msg = printing();
      for (const outcome of ['failed', 'unknown'] as const) {
        simulator.world.setActions(1, { outcome });
        const error = await failed(msg, 'ACTION_FAILED');
        assert.match(String(error.actionId), UUID);
      }
      simulator.world.setActions(1, { outcome: 'stuck' });
      await failed(msg, 'TIMEOUT', /No answer from the printer within 1 s: /);
    });
  });
});
