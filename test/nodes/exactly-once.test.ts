import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import type { NodeMessage } from 'node-red';
import type { PrintResult } from '../../lib/print/print-request';
import { systemClock } from '../../lib/time/clock';
import { startSimulator, type SimulatorOptions, type Simulator } from '../../simulator';
import { catchNode, Flow, helperNode, type Definition, type Inbox } from '../helpers/flow';
import { TurnedTime } from '../helpers/turned-time';

const GCODE = ';FLAVOR:Marlin\n;TIME:600\nG28\nG1 X1 Y1 E1\n';
const SECOND = 1000;

type Result = PrintResult & { error?: { code: string; message: string } };
const result = (msg: NodeMessage) => msg.payload as Result;
const codeOf = (msg: NodeMessage | undefined) => (msg?.error as { code?: string } | undefined)?.code;

/** Outcome of one message. */
interface End {
  results: NodeMessage[];
  error: NodeMessage | undefined;
  /** Seconds from the message to its end. */
  took: number;
}

describe('nodes/upload-and-print: exactly once, whatever fails', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;
  let results: Inbox;
  let progress: Inbox;
  let caught: Inbox;
  let completed: Inbox;
  let turns = 0;

  const node = (changes = {}): Definition => ({
    id: 'print',
    type: 'remote-printing-upload-and-print',
    account: 'account',
    source: 'payload',
    timeout: 600,
    wires: [['results'], ['progress']],
    ...changes,
  });
  async function start(options: SimulatorOptions = {}): Promise<void> {
    time = new TurnedTime();
    simulator = await startSimulator({ autoApprove: true, now: time.now, accessTokenLifetime: 1e7, ...options });
    flow = await Flow.start(simulator);
  }
  async function deploy(...nodes: Definition[]): Promise<void> {
    const names = ['results', 'progress', 'caught', 'completed'];
    const complete = { id: 'complete', type: 'complete', scope: nodes.map(({ id }) => id), wires: [['completed']] };
    await flow.deploy([...nodes, ...names.map(helperNode), catchNode(['caught']), complete]);
    [results, progress, caught, completed] = names.map((id) => flow.listen(id)) as [Inbox, Inbox, Inbox, Inbox];
  }
  /** Sends a message; resolves once it has ended. */
  function send(changes: NodeMessage = {}, id = 'print'): Promise<End> {
    const turn = ++turns;
    const began = systemClock.monotonic();
    const isIt = (other: NodeMessage) => other.turn === turn;
    flow.send(id, { payload: GCODE, filename: 'cube.gcode', clusterId: clusterId(), ...changes, turn });
    return Promise.race([completed.find(isIt).then(() => undefined), caught.find(isIt).then((error) => error)]).then(
      (error) => ({
        results: results.all.filter(isIt),
        error,
        took: (systemClock.monotonic() - began) / SECOND,
      }),
    );
  }
  const run = (changes: NodeMessage = {}, id = 'print') => time.until(send(changes, id));
  async function printed(changes: NodeMessage = {}): Promise<Result> {
    const { results: sent, error } = await run(changes);
    assert.equal(error?.error, undefined);
    assert.equal(sent.length, 1);
    return result(sent[0] as NodeMessage);
  }
  async function failed(changes: NodeMessage, code: string): Promise<End> {
    const end = await run(changes);
    assert.equal(codeOf(end.error), code, String((end.error?.error as Error | undefined)?.message));
    return end;
  }
  const clusters = () => simulator.world.clusters(simulator.users[0]?.organizations[0]?.organizationId);
  const clusterId = () => clusters()[0]?.clusterId ?? '';
  const calls = () => simulator.requests.count('print');
  const queue = () => simulator.world.cluster(1).queue;
  const struck = async (fault: { hits: number }) => {
    while (fault.hits === 0) await new Promise((resolve) => setImmediate(resolve));
  };
  /**
   * Loses the answer to the next print after or before the service accepts it; the cluster's status fails from then on.
   */
  function loseSight(when: 'before' | 'after'): void {
    simulator.faults.add({ endpoint: 'print', when, reset: true });
    simulator.faults.add({ endpoint: 'clusterStatus', after: 2, times: 'always', status: 503 });
  }
  /** Blocks the state folder like a broken disk; the returned function restores it. */
  function breakState(): () => Promise<void> {
    const folder = join(flow.userDir, 'remote-printing');
    renameSync(folder, `${folder}-away`);
    writeFileSync(folder, '');
    return async () => {
      await rm(folder);
      await rename(`${folder}-away`, folder);
    };
  }

  beforeEach(() => (turns = 0));
  afterEach(async () => {
    await time.until(flow.stop());
    await simulator.close();
    time.restore();
  });

  it("doesn't mistake an outage for an empty queue, and prints once", async () => {
    await start();
    await deploy(node());
    loseSight('after');
    await failed({ printKey: 'k' }, 'PRINT_OUTCOME_UNKNOWN');
    // Restores the cluster's status if the second message continues after its search.
    const continues = progress.find(({ turn, topic }) => turn === 2 && topic === 'preparing');
    void continues.then(() => simulator.faults.clear());
    await failed({ printKey: 'k' }, 'PRINT_OUTCOME_UNKNOWN');
    simulator.faults.clear();
    const third = await printed({ printKey: 'k' });
    assert.deepEqual([third.duplicate, calls()], [true, 1]);
  });

  it("doesn't mistake a search that was cut short by its timeout for a complete one", async () => {
    await start({ printVisibleAfter: 100 });
    await deploy(node({ timeout: 20 }));
    simulator.faults.add({ endpoint: 'print', when: 'after', reset: true });
    for (const message of ['first', 'second', 'third']) {
      const { took } = await failed({ printKey: 'k' }, 'PRINT_OUTCOME_UNKNOWN');
      assert.ok(took < 21, `${message} took ${took} s`);
    }
    assert.equal(calls(), 1);
    await time.pass(100);
    const last = await printed({ printKey: 'k' });
    assert.deepEqual([last.duplicate, last.clusterJobId, calls()], [true, queue()[0]?.uuid, 1]);
  });

  it("reports an accepted print although its outcome can't be saved", async () => {
    await start();
    await deploy(node());
    let mend: () => Promise<void> = () => Promise.resolve();
    simulator.faults.add({
      endpoint: 'print',
      transform: (body) => {
        mend = breakState();
        return body;
      },
    });
    const first = await printed({ printKey: 'k' });
    assert.deepEqual([first.printed, first.clusterJobId], [true, queue()[0]?.uuid]);
    await mend();
    const repeat = await printed({ printKey: 'k' });
    assert.deepEqual([repeat.duplicate, repeat.clusterJobId, calls()], [true, first.clusterJobId, 1]);
  });

  it("reports why a print was refused although its key can't be freed on disk", async () => {
    await start();
    await deploy(node());
    const refusal = { endpoint: 'print', status: 409, code: 'printerNotAcceptingJobs', delay: 200 } as const;
    const fault = simulator.faults.add(refusal);
    const work = send({ printKey: 'k' });
    await struck(fault);
    const mend = breakState();
    const { error } = await time.until(work);
    assert.equal(codeOf(error), 'NOT_ACCEPTED');
    await mend();
    assert.deepEqual([(await printed({ printKey: 'k' })).duplicate, queue().length], [false, 1]);
  });

  it('finds a print whose answer was lost although the disk can be neither read nor written', async () => {
    await start();
    await deploy(node());
    simulator.faults.add({ endpoint: 'print', when: 'after', reset: true });
    let mend: (() => Promise<void>) | undefined;
    simulator.faults.add({
      endpoint: 'clusterStatus',
      after: 2,
      transform: (body) => {
        mend = breakState();
        return body;
      },
    });
    const first = await printed({ printKey: 'k' });
    assert.equal(first.clusterJobId, queue()[0]?.uuid);
    await mend?.();
    assert.deepEqual([(await printed({ printKey: 'k' })).duplicate, calls()], [true, 1]);
  });

  it("sends nothing while the state can't be read", async () => {
    await start();
    await deploy(node());
    await printed({ printKey: 'k' });
    const mend = breakState();
    await failed({ printKey: 'k' }, 'FILE_NOT_READABLE');
    await mend();
    assert.deepEqual([(await printed({ printKey: 'k' })).duplicate, calls()], [true, 1]);
  });

  it("doesn't print, and keeps the key free, when its node is removed during the wait after a 429", async () => {
    await start();
    await deploy(node());
    const fault = simulator.faults.add({ endpoint: 'print', status: 429, retryAfter: 120 });
    flow.send('print', { payload: GCODE, filename: 'cube.gcode', clusterId: clusterId(), printKey: 'k' });
    await struck(fault);
    await time.settled();
    await deploy();
    await time.pass(300);
    assert.equal(calls(), 1);
    await deploy(node());
    assert.deepEqual([(await printed({ printKey: 'k' })).duplicate, queue().length], [false, 1]);
  });

  it('prints once when the answer arrives after a deploy and the print is listed late', async () => {
    await start({ printVisibleAfter: 300 });
    await deploy(node());
    const late = () => new Promise<void>((resolve) => void systemClock.after(20 * SECOND, resolve));
    const fault = simulator.faults.add({ endpoint: 'print', when: 'after', until: late });
    flow.send('print', { payload: GCODE, filename: 'cube.gcode', clusterId: clusterId(), printKey: 'k' });
    await struck(fault);
    await time.until(deploy(node()));
    const repeat = await printed({ printKey: 'k' });
    assert.deepEqual([repeat.duplicate, repeat.clusterJobId, calls()], [true, queue()[0]?.uuid, 1]);
  });

  it('waits no longer than its timeout for another message with the same key', async () => {
    await start();
    await deploy(node(), node({ id: 'hasty', timeout: 10 }));
    simulator.faults.add({ endpoint: 'print', status: 429, retryAfter: 110 });
    const first = send({ printKey: 'k' });
    while (calls() === 0) await new Promise((resolve) => setImmediate(resolve));
    const second = await run({ printKey: 'k' }, 'hasty');
    assert.equal(codeOf(second.error), 'TIMEOUT');
    assert.ok(second.took < 11, `${second.took} s`);
    assert.equal((await time.until(first)).results.length, 1);
    assert.equal(queue().length, 1);
  });

  describe('background search for unresolved prints', () => {
    it('resolves a print after a restart', async () => {
      await start();
      await deploy(node());
      loseSight('after');
      await failed({ printKey: 'k' }, 'PRINT_OUTCOME_UNKNOWN');
      const [lost] = queue();
      await time.until(flow.stop({ keep: true }));
      simulator.faults.clear();
      flow = await Flow.start(simulator, flow.userDir);
      await deploy(node());
      await time.pass(120);
      // By now no list contains the print.
      simulator.world.vanish(1, lost?.uuid);
      const repeat = await printed({ printKey: 'k' });
      assert.deepEqual([repeat.duplicate, repeat.clusterJobId, calls()], [true, lost?.uuid, 1]);
    });

    it('resolves a print after a lost answer, and then stops', async () => {
      await start();
      await deploy(node());
      loseSight('after');
      await failed({ printKey: 'k' }, 'PRINT_OUTCOME_UNKNOWN');
      const [lost] = queue();
      simulator.faults.clear();
      await time.pass(120);
      simulator.world.vanish(1, lost?.uuid);
      const reads = simulator.requests.count('clusterStatus');
      await time.pass(600);
      assert.equal(simulator.requests.count('clusterStatus'), reads);
      const repeat = await printed({ printKey: 'k' });
      assert.deepEqual([repeat.duplicate, repeat.clusterJobId, calls()], [true, lost?.uuid, 1]);
    });

    it('ends after some hours without a print; the next message with the key prints', async () => {
      await start();
      await deploy(node());
      simulator.faults.add({ endpoint: 'print', when: 'before', reset: true });
      await failed({ printKey: 'k' }, 'PRINT_OUTCOME_UNKNOWN');
      await time.pass(3 * 3600);
      const reads = simulator.requests.count('clusterStatus');
      await time.pass(3600);
      assert.equal(simulator.requests.count('clusterStatus'), reads);
      assert.deepEqual([(await printed({ printKey: 'k' })).duplicate, queue().length], [false, 1]);
    });
  });

  it("doesn't mistake a print that another user starts hours later for its own", async () => {
    await start();
    const watching = { id: 'watch', type: 'remote-printing-cluster-status', account: 'account', interval: 600 };
    await deploy(node(), { ...watching, cluster: clusterId(), clusterType: 'str', wires: [[], []] });
    simulator.faults.add({ endpoint: 'print', when: 'before', reset: true });
    await failed({ printKey: 'a' }, 'PRINT_OUTCOME_UNKNOWN');
    await time.pass(2 * 3600);
    const [stored] = simulator.world.storedJobs();
    assert.ok(stored);
    const others = simulator.world.print(simulator.world.cluster(1), stored, simulator.users[0]?.userId ?? '', true);
    await time.pass(1200);
    const late = await printed({ printKey: 'a' });
    assert.deepEqual([late.duplicate, calls()], [false, 2]);
    assert.notEqual(late.clusterJobId, others.uuid);
  });

  describe('stream of a message', () => {
    it('survives a stream that fails while another message holds the key', async () => {
      await start();
      await deploy(node());
      simulator.faults.add({ endpoint: 'print', status: 429, retryAfter: 60 });
      const first = send({ printKey: 'k' });
      while (calls() === 0) await new Promise((resolve) => setImmediate(resolve));
      const stream = new PassThrough();
      const second = send({ printKey: 'k', payload: stream, fileSize: 10 });
      await time.settled();
      stream.destroy(new Error('the tape broke'));
      const ends = await time.until(Promise.all([first, second]));
      assert.deepEqual(
        ends.map(({ results: [sent], error }) => [error, sent && result(sent).duplicate]),
        [
          [undefined, false],
          [undefined, true],
        ],
      );
    });

    const ways: [string, NodeMessage, string | undefined][] = [
      ['a repeat of a spent key', { printKey: 'k' }, undefined],
      ['an unknown cluster', { clusterId: 'no-such' }, 'NOT_FOUND'],
      ['invalid input', { clusterId: 5 }, 'INVALID_INPUT'],
      ['a refused name', { jobName: 'a/b.gcode' }, 'INVALID_INPUT'],
      ['a missing size', { fileSize: undefined }, 'INVALID_INPUT'],
    ];
    for (const [name, changes, code] of ways)
      it(`destroys the stream after ${name}`, async () => {
        await start();
        await deploy(node());
        await printed({ printKey: 'k' });
        const stream = Readable.from([Buffer.from(GCODE)]);
        const { error } = await run({ payload: stream, fileSize: GCODE.length, ...changes });
        assert.equal(codeOf(error), code);
        assert.ok(stream.destroyed);
      });
  });

  describe('one result per cluster', () => {
    const indexes = ({ results: sent }: End) =>
      sent
        .map(({ parts }) => parts as { index: number; count: number })
        .map(({ index, count }) => `${index} of ${count}`);

    it('sends one result per cluster when the upload fails', async () => {
      await start();
      await deploy(node({ source: 'file' }));
      const ids = clusters().map((cluster) => cluster.clusterId);
      const end = await run({ clusterId: ids, filename: '/no/such.gcode' });
      assert.equal(codeOf(end.error), 'FILE_NOT_READABLE');
      assert.deepEqual(indexes(end).sort(), ['0 of 3', '1 of 3', '2 of 3']);
      assert.ok(end.results.every((msg) => result(msg).error?.code === 'FILE_NOT_READABLE' && !result(msg).printed));
      assert.deepEqual(end.results.map((msg) => msg.clusterId).sort(), [...ids].sort());
    });

    it('sends one result per cluster when all clusters are unknown', async () => {
      await start();
      await deploy(node());
      const end = await run({ clusterId: ['one', 'two'] });
      assert.deepEqual([codeOf(end.error), indexes(end).sort()], ['NOT_FOUND', ['0 of 2', '1 of 2']]);
      assert.equal(simulator.requests.count('registerUpload'), 0);
    });

    it('sends one result per cluster when one is a repeat and the upload for the others fails', async () => {
      await start();
      await deploy(node({ reuseUpload: false }));
      await printed({ printKey: 'k' });
      simulator.faults.add({ endpoint: 'storagePut', status: 403, times: 'always' });
      const end = await run({ printKey: 'k', clusterId: clusters().map((cluster) => cluster.clusterId) });
      assert.equal(codeOf(end.error), 'UPLOAD_FAILED');
      const outcomes = end.results.map((msg) => [result(msg).printed, result(msg).error?.code]);
      assert.deepEqual(outcomes.sort(), [
        [false, 'UPLOAD_FAILED'],
        [false, 'UPLOAD_FAILED'],
        [true, undefined],
      ]);
    });

    it('sends one result per cluster when the outcome on one is unknown', async () => {
      await start();
      await deploy(node());
      loseSight('before');
      await failed({ printKey: 'k' }, 'PRINT_OUTCOME_UNKNOWN');
      simulator.faults.clear();
      simulator.faults.add({ endpoint: 'clusterStatus', path: clusterId(), times: 'always', status: 503 });
      const ids = clusters().map((cluster) => cluster.clusterId);
      const end = await run({ printKey: 'k', clusterId: ids });
      assert.equal(codeOf(end.error), 'PRINT_OUTCOME_UNKNOWN');
      const byId = new Map(end.results.map((msg) => [msg.clusterId, result(msg).printed]));
      assert.deepEqual(
        ids.map((id) => byId.get(id)),
        [false, true, true],
      );
    });

    it('sends one result per cluster when a setting is invalid', async () => {
      await start();
      await deploy(node());
      const end = await run({ clusterId: ['one', 'two'], printKey: ['no text'] });
      assert.deepEqual([codeOf(end.error), indexes(end).sort()], ['INVALID_INPUT', ['0 of 2', '1 of 2']]);
    });
  });

  it('answers a repeat of a print that has ended, although the service no longer lists it', async () => {
    await start();
    await deploy(node({ waitFor: 'finished' }));
    const first = await printed({ printKey: 'k' });
    assert.equal(first.status, 'finished');
    // The service no longer lists the print, and the state folder keeps only its key.
    simulator.world.vanish(1, first.clusterJobId ?? '');
    await time.until(flow.stop({ keep: true }));
    const folder = join(flow.userDir, 'remote-printing');
    for (const kind of await readdir(folder))
      if (!['grant', 'print-key'].includes(kind)) await rm(join(folder, kind), { recursive: true });
    flow = await Flow.start(simulator, flow.userDir);
    await deploy(node({ waitFor: 'finished' }));
    const began = systemClock.monotonic();
    const repeat = await printed({ printKey: 'k' });
    assert.deepEqual(
      [repeat.status, repeat.duplicate, repeat.job?.state, systemClock.monotonic() - began],
      ['finished', true, 'finished', 0],
    );
  });

  for (const dryRun of ['true', 'yes', 1, {}])
    it(`refuses msg.dryRun = ${JSON.stringify(dryRun)}, and prints nothing`, async () => {
      await start();
      await deploy(node());
      await failed({ dryRun }, 'INVALID_INPUT');
      assert.equal(calls(), 0);
      assert.equal((await printed({ dryRun: false })).printed, true);
    });
});
