import assert from 'node:assert/strict';
import type { NodeMessage } from 'node-red';
import type { Simulator } from '../../simulator';
import { helperNode, type Flow } from '../helpers/flow';
import { pluck } from '../helpers/pluck';
import { storeElsewhere } from '../helpers/print-request';
import { clustersOf, NodeBench, partsOf, result } from './support';

describe('nodes/upload-and-print with a stored job', () => {
  let simulator: Simulator;
  let flow: Flow;

  const bench = new NodeBench(
    {
      ...{ id: 'print', type: 'remote-printing-upload-and-print', source: 'stored', timeout: 20 },
      wires: [['sent'], ['progress']],
    },
    { simulator: { timeFactor: 3000 }, others: [helperNode('progress')], sentence: /^[A-Z"“/].*[^.]\.$/ },
  );
  const { one: printed, failed, deploy } = bench;
  const clusterId = () => clustersOf(simulator)[0]?.clusterId ?? '';
  const stored = (...given: Parameters<typeof storeElsewhere> extends [unknown, ...infer Rest] ? Rest : never) =>
    storeElsewhere(simulator, ...given);
  const wish = (jobId: string, changes: NodeMessage = {}): NodeMessage => ({
    ...{ jobId, clusterId: clusterId() },
    ...changes,
  });
  const count = (endpoint: 'print' | 'registerUpload' | 'storagePut' | 'getJob') => simulator.requests.count(endpoint);
  const printings = (jobId: string) =>
    simulator.world
      .clusters()
      .flatMap(({ queue, history }) => [...queue, ...history].filter((job) => job.jobId === jobId));

  beforeEach(async () => {
    ({ simulator, flow } = await bench.start());
    await deploy();
  });
  afterEach(() => bench.stop());

  it('prints a file that somebody else uploaded, without an upload', async () => {
    const jobId = stored('from the web.gcode');
    const progress = flow.listen('progress');
    const message = await printed(wish(jobId, { topic: 'mine' }));
    const { clusterJobId, ...got } = result(message);
    assert.deepEqual(got, {
      ...{ jobId, clusterId: clusterId(), jobName: 'from the web.gcode', fileSize: 1234, contentType: 'text/plain' },
      ...{ status: 'queued', printed: true, reusedUpload: true, duplicate: false, dryRun: false, job: null },
    });
    assert.deepEqual([message.jobId, message.clusterJobId, message.topic], [jobId, clusterJobId, 'mine']);
    assert.deepEqual(pluck(printings(jobId), 'uuid'), [clusterJobId]);
    assert.deepEqual([count('registerUpload'), count('storagePut'), count('getJob')], [0, 0, 1]);
    assert.deepEqual(pluck(progress.all, 'topic'), ['preparing', 'dispatching', 'dispatched']);
  });

  it('prefers the job in its setting to msg.jobId', async () => {
    const jobId = stored('chosen.gcode');
    await deploy({ storedJob: jobId, storedJobType: 'str' });
    assert.equal(result(await printed(wish(stored('other.gcode')))).jobId, jobId);
  });

  it('ignores what concerns uploads only', async () => {
    await deploy({ compress: true, reuseUpload: false });
    const unused = { jobName: 'a/b', mediaType: 5, filename: 7, payload: { any: 'thing' } };
    const got = result(await printed(wish(stored('part.gcode'), unused)));
    assert.deepEqual([got.jobName, got.reusedUpload, got.printed], ['part.gcode', true, true]);
  });

  it('does not read the name of an upload', async () => {
    assert.equal(result(await printed(wish(stored('a.gcode'), { jobName: { no: 'text' } }))).jobName, 'a.gcode');
    await deploy({ jobName: 'order.name', jobNameType: 'msg' });
    assert.equal(result(await printed(wish(stored('b.gcode'), { order: { name: 7n } }))).jobName, 'b.gcode');
  });

  describe('is NOT_FOUND and prints nothing', () => {
    const other = () => simulator.users[0]?.organizations[1]?.organizationId ?? '';
    const missing: [name: string, jobId: () => string, cure: RegExp][] = [
      ['if there is no such job', () => 'no-such', /check the ID and the workspace/],
      ['while its file is being uploaded', () => stored('part.gcode', { uploaded: false }), /finish its upload/],
      [
        'in another workspace',
        () => stored('part.gcode', { organizationId: other() }),
        /check the ID and the workspace/,
      ],
    ];
    for (const [name, jobId, cure] of missing)
      it(name, async () => {
        const wanted = jobId();
        const msg = await failed(wish(wanted, { printKey: 'k' }), 'NOT_FOUND');
        assert.match((msg.error as Error).message, cure);
        assert.deepEqual([msg.jobId, msg.clusterId, count('print')], [wanted, clusterId(), 0]);
        assert.equal(result(await printed(wish(stored('next.gcode'), { printKey: 'k' }))).duplicate, false);
      });
  });

  it('is FORBIDDEN if the service refuses the job', async () => {
    simulator.faults.add({ endpoint: 'getJob', status: 403, code: 'insufficientScope' });
    const msg = await failed(wish(stored('part.gcode')), 'FORBIDDEN');
    assert.deepEqual([msg.statusCode, msg.serviceCode, count('print')], [403, 'insufficientScope', 0]);
  });

  it('needs a job, and an ID that is one', async () => {
    const clusters = { clusterId: clusterId() };
    assert.match(
      ((await failed(clusters, 'INVALID_INPUT')).error as Error).message,
      /Choose a stored job in the node or set msg\.jobId/,
    );
    await failed({ ...clusters, jobId: ['a'] }, 'INVALID_INPUT');
    await failed({ ...clusters, jobId: '../clusters' }, 'INVALID_INPUT');
    assert.equal(count('getJob'), 0);
  });

  it('prints on several printers after one read of the job, with a result for each', async () => {
    const ids = pluck(clustersOf(simulator), 'clusterId');
    const jobId = stored('part.gcode');
    const { sent, error } = await bench.run(wish(jobId, { clusterId: ids }));
    assert.equal(error, undefined);
    assert.deepEqual(sent.map((msg) => result(msg).clusterId).sort(), [...ids].sort());
    assert.ok(sent.every((msg) => partsOf(msg)?.count === ids.length && result(msg).printed));
    assert.deepEqual([printings(jobId).length, count('getJob')], [ids.length, 1]);
  });

  it('gives one result for each printer if the job is gone', async () => {
    const ids = pluck(clustersOf(simulator), 'clusterId');
    const { sent } = await bench.run(wish('no-such', { clusterId: ids }));
    assert.deepEqual(
      sent.map((msg) => [result(msg).printed, result(msg).error?.code]),
      ids.map(() => [false, 'NOT_FOUND']),
    );
  });

  it('prints once for each key, and has the first result for a repeat even if the job was deleted', async () => {
    const jobId = stored('part.gcode');
    const first = result(await printed(wish(jobId, { printKey: 'k' })));
    simulator.world.removeStoredJob(jobId);
    const repeat = result(await printed(wish(jobId, { printKey: 'k' })));
    assert.deepEqual([repeat.duplicate, repeat.clusterJobId, repeat.jobName], [true, first.clusterJobId, 'part.gcode']);
    assert.equal(count('print'), 1);
  });

  it('prints again for another key, and without one', async () => {
    const jobId = stored('part.gcode');
    for (const printKey of ['a', 'b', undefined, undefined]) await printed(wish(jobId, { printKey }));
    assert.equal(new Set(pluck(printings(jobId), 'uuid')).size, 4);
  });

  it('finds the print whose answer was lost among earlier ones of the same job, and prints once', async () => {
    const jobId = stored('part.gcode');
    const first = result(await printed(wish(jobId, { printKey: 'a' })));
    simulator.faults.add({ endpoint: 'print', when: 'after', reset: true });
    const second = result(await printed(wish(jobId, { printKey: 'b' })));
    assert.notEqual(second.clusterJobId, first.clusterJobId);
    assert.deepEqual([second.printed, second.duplicate, printings(jobId).length], [true, false, 2]);
  });

  it('waits for the end of the print', async () => {
    await deploy({ waitFor: 'finished' });
    const jobId = stored('part.gcode');
    const work = printed(wish(jobId));
    await Promise.race([flow.listen('progress').find(({ topic }) => topic === 'dispatched'), work]);
    simulator.world.advance(3600);
    const got = result(await work);
    assert.deepEqual([got.status, got.job?.state, got.job?.jobId], ['finished', 'finished', jobId]);
  });

  it('only reads in a dry run', async () => {
    const jobId = stored('part.gcode');
    const got = result(await printed(wish(jobId, { dryRun: true })));
    assert.deepEqual([got.jobId, got.status, got.printed, got.dryRun], [jobId, 'uploaded', false, true]);
    await failed(wish('no-such', { dryRun: true }), 'NOT_FOUND');
    assert.equal(count('print'), 0);
  });

  it('answers with the record if it does not print', async () => {
    await deploy({ print: false });
    const jobId = stored('part.gcode');
    const message = await printed({ jobId });
    const { jobName, fileSize, contentType, status, printed: isPrinted, reusedUpload } = result(message);
    assert.deepEqual(
      [jobName, fileSize, contentType, status, isPrinted, reusedUpload],
      ['part.gcode', 1234, 'text/plain', 'uploaded', false, true],
    );
    assert.equal((message.raw as { job_id: string }).job_id, jobId);
  });
});
