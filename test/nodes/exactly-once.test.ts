import assert from 'node:assert/strict';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import type { NodeMessage } from 'node-red';
import { systemClock } from '../../lib/time/clock';
import type { Simulator, SimulatorOptions } from '../../simulator';
import type { Definition, Flow, Inbox } from '../helpers/flow';
import { pluck } from '../helpers/pluck';
import type { TurnedTime } from '../helpers/turned-time';
import {
  breakState,
  breakStateAt,
  codeOf,
  GCODE,
  partsOf,
  printNode,
  result,
  struck,
  TimedBench,
  type End,
  type Result,
} from './support';

describe('nodes/upload-and-print: exactly once, whatever fails', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;

  const bench = new TimedBench('results', 'progress');
  const { progress } = bench.inboxes as { progress: Inbox };
  const deploy = (...nodes: Definition[]) => bench.deploy(nodes);
  async function start(options?: SimulatorOptions): Promise<void> {
    ({ time, simulator, flow } = await bench.start(options));
    await deploy(printNode());
  }
  /** Lists a print only after so many seconds. */
  async function listLate(printVisibleAfter: number): Promise<void> {
    await bench.stop();
    await start({ printVisibleAfter });
  }
  const payload = (changes: NodeMessage) => ({
    payload: GCODE,
    filename: 'cube.gcode',
    clusterId: clusterId(),
    ...changes,
  });
  const send = (changes: NodeMessage, id = 'print') => bench.send(id, payload(changes));
  const run = (changes: NodeMessage, id = 'print') => time.until(send(changes, id));
  async function printed(changes: NodeMessage): Promise<Result> {
    const { sent, error } = await run(changes);
    assert.deepEqual([error?.error, sent.length], [undefined, 1]);
    return result(sent[0]);
  }
  async function failed(changes: NodeMessage, code: string): Promise<End> {
    const end = await run(changes);
    assert.equal(codeOf(end.error), code, String((end.error?.error as Error | undefined)?.message));
    return end;
  }
  /** Sends a message that is a repeat: it reports the print with this id, and prints nothing. */
  async function repeats(clusterJobId?: string | null): Promise<void> {
    const repeat = await printed({ printKey: 'k' });
    assert.deepEqual([repeat.duplicate, repeat.clusterJobId, calls()], [true, clusterJobId, 1]);
  }
  /** Sends a message that prints, because its key is free. */
  async function printsAnew(): Promise<void> {
    assert.deepEqual([(await printed({ printKey: 'k' })).duplicate, queue().length], [false, 1]);
  }
  const clusterId = () => simulator.world.cluster(1).clusterId;
  const calls = () => simulator.requests.count('print');
  const queue = () => simulator.world.cluster(1).queue;
  /**
   * Loses the answer to the next print after or before the service accepts it; the cluster's status fails from then on.
   */
  function loseSight(when: 'before' | 'after'): void {
    simulator.faults.add({ endpoint: 'print', when, reset: true });
    simulator.faults.add({ endpoint: 'clusterStatus', after: 2, times: 'always', status: 503 });
  }

  beforeEach(() => start());
  afterEach(() => bench.stop());

  it("doesn't mistake an outage for an empty queue, and prints once", async () => {
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
    await listLate(100);
    await deploy(printNode({ timeout: 20 }));
    simulator.faults.add({ endpoint: 'print', when: 'after', reset: true });
    for (const message of ['first', 'second', 'third']) {
      const { took } = await failed({ printKey: 'k' }, 'PRINT_OUTCOME_UNKNOWN');
      assert.ok(took < 21, `${message} took ${took} s`);
    }
    assert.equal(calls(), 1);
    await time.pass(100);
    await repeats(queue()[0]?.uuid);
  });

  it("reports an accepted print although its outcome can't be saved", async () => {
    const mend = breakStateAt(bench, { endpoint: 'print' });
    const first = await printed({ printKey: 'k' });
    assert.deepEqual([first.printed, first.clusterJobId], [true, queue()[0]?.uuid]);
    await mend();
    await repeats(first.clusterJobId);
  });

  it("reports why a print was refused although its key can't be freed on disk", async () => {
    const refusal = { endpoint: 'print', status: 409, code: 'printerNotAcceptingJobs', delay: 200 } as const;
    const fault = simulator.faults.add(refusal);
    const work = send({ printKey: 'k' });
    await struck(fault);
    const mend = breakState(flow);
    const { error } = await time.until(work);
    assert.equal(codeOf(error), 'NOT_ACCEPTED');
    await mend();
    await printsAnew();
  });

  it('finds a print whose answer was lost although the disk can be neither read nor written', async () => {
    simulator.faults.add({ endpoint: 'print', when: 'after', reset: true });
    const mend = breakStateAt(bench, { endpoint: 'clusterStatus', after: 2 });
    const first = await printed({ printKey: 'k' });
    assert.equal(first.clusterJobId, queue()[0]?.uuid);
    await mend();
    assert.deepEqual([(await printed({ printKey: 'k' })).duplicate, calls()], [true, 1]);
  });

  it("sends nothing while the state can't be read", async () => {
    await printed({ printKey: 'k' });
    const mend = breakState(flow);
    await failed({ printKey: 'k' }, 'FILE_NOT_READABLE');
    await mend();
    assert.deepEqual([(await printed({ printKey: 'k' })).duplicate, calls()], [true, 1]);
  });

  it("doesn't print, and keeps the key free, when its node is removed during the wait after a 429", async () => {
    const fault = simulator.faults.add({ endpoint: 'print', status: 429, retryAfter: 120 });
    flow.send('print', payload({ printKey: 'k' }));
    await struck(fault);
    await time.settled();
    await deploy();
    await time.pass(300);
    assert.equal(calls(), 1);
    await deploy(printNode());
    await printsAnew();
  });

  it('prints once when the answer arrives after a deploy and the print is listed late', async () => {
    await listLate(300);
    const late = () => new Promise<void>((resolve) => void systemClock.after(20_000, resolve));
    const fault = simulator.faults.add({ endpoint: 'print', when: 'after', until: late });
    flow.send('print', payload({ printKey: 'k' }));
    await struck(fault);
    await time.until(deploy(printNode()));
    await repeats(queue()[0]?.uuid);
  });

  it('waits no longer than its timeout for another message with the same key', async () => {
    await deploy(printNode(), printNode({ id: 'hasty', timeout: 10 }));
    const fault = simulator.faults.add({ endpoint: 'print', status: 429, retryAfter: 110 });
    const first = send({ printKey: 'k' });
    await struck(fault);
    const second = await run({ printKey: 'k' }, 'hasty');
    assert.equal(codeOf(second.error), 'TIMEOUT');
    assert.ok(second.took < 11, `${second.took} s`);
    assert.equal((await time.until(first)).sent.length, 1);
    assert.equal(queue().length, 1);
  });

  describe('background search for unresolved prints', () => {
    it('resolves a print after a restart', async () => {
      loseSight('after');
      await failed({ printKey: 'k' }, 'PRINT_OUTCOME_UNKNOWN');
      const [lost] = queue();
      ({ flow } = await bench.restart(() => simulator.faults.clear()));
      await deploy(printNode());
      await time.pass(120);
      // By now no list contains the print.
      simulator.world.vanish(1, lost?.uuid);
      await repeats(lost?.uuid);
    });

    it('resolves a print after a lost answer, and then stops', async () => {
      loseSight('after');
      await failed({ printKey: 'k' }, 'PRINT_OUTCOME_UNKNOWN');
      const [lost] = queue();
      simulator.faults.clear();
      await time.pass(120);
      simulator.world.vanish(1, lost?.uuid);
      const reads = simulator.requests.count('clusterStatus');
      await time.pass(600);
      assert.equal(simulator.requests.count('clusterStatus'), reads);
      await repeats(lost?.uuid);
    });

    it('ends after some hours without a print; the next message with the key prints', async () => {
      simulator.faults.add({ endpoint: 'print', when: 'before', reset: true });
      await failed({ printKey: 'k' }, 'PRINT_OUTCOME_UNKNOWN');
      await time.pass(3 * 3600);
      const reads = simulator.requests.count('clusterStatus');
      await time.pass(3600);
      assert.equal(simulator.requests.count('clusterStatus'), reads);
      await printsAnew();
    });
  });

  it("doesn't mistake a print that another user starts hours later for its own", async () => {
    const watching = { id: 'watch', type: 'remote-printing-cluster-status', account: 'account', interval: 600 };
    await deploy(printNode(), { ...watching, cluster: clusterId(), clusterType: 'str', wires: [[], []] });
    simulator.faults.add({ endpoint: 'print', when: 'before', reset: true });
    await failed({ printKey: 'a' }, 'PRINT_OUTCOME_UNKNOWN');
    await time.pass(2 * 3600);
    const [stored] = simulator.world.storedJobs();
    assert.ok(stored);
    simulator.world.print(simulator.world.cluster(1), stored, simulator.users[0]?.userId ?? '', true);
    await time.pass(1200);
    // It may be the lost one after all, so nothing is sent until a person decides.
    await failed({ printKey: 'a' }, 'PRINT_OUTCOME_UNKNOWN');
    assert.equal(calls(), 1);
  });

  describe('stream of a message', () => {
    it('survives a stream that fails while another message holds the key', async () => {
      const fault = simulator.faults.add({ endpoint: 'print', status: 429, retryAfter: 60 });
      const first = send({ printKey: 'k' });
      await struck(fault);
      const stream = new PassThrough();
      const second = send({ printKey: 'k', payload: stream, fileSize: 10 });
      await time.settled();
      stream.destroy(new Error('the tape broke'));
      const ends = await time.until(Promise.all([first, second]));
      assert.deepEqual(pluck(ends, 'error'), [undefined, undefined]);
      assert.deepEqual(
        pluck(
          ends.map(({ sent }) => result(sent[0])),
          'duplicate',
        ),
        [false, true],
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
        await printed({ printKey: 'k' });
        const stream = Readable.from([Buffer.from(GCODE)]);
        const { error } = await run({ payload: stream, fileSize: GCODE.length, ...changes });
        assert.equal(codeOf(error), code);
        assert.ok(stream.destroyed);
      });
  });

  describe('one result per cluster', () => {
    const indexes = ({ sent }: End) => sent.map((msg) => `${partsOf(msg)?.index} of ${partsOf(msg)?.count}`).sort();

    it('sends one result per cluster when the upload fails', async () => {
      await deploy(printNode({ source: 'file' }));
      const ids = bench.clusterIds;
      const end = await run({ clusterId: ids, filename: '/no/such.gcode' });
      assert.equal(codeOf(end.error), 'FILE_NOT_READABLE');
      assert.deepEqual(indexes(end), ['0 of 3', '1 of 3', '2 of 3']);
      assert.ok(end.sent.every((msg) => result(msg).error?.code === 'FILE_NOT_READABLE' && !result(msg).printed));
      assert.deepEqual(end.sent.map((msg) => msg.clusterId).sort(), [...ids].sort());
    });

    it('sends one result per cluster when all clusters are unknown', async () => {
      const end = await run({ clusterId: ['one', 'two'] });
      assert.deepEqual([codeOf(end.error), indexes(end)], ['NOT_FOUND', ['0 of 2', '1 of 2']]);
      assert.equal(simulator.requests.count('registerUpload'), 0);
    });

    it('sends one result per cluster when one is a repeat and the upload for the others fails', async () => {
      await deploy(printNode({ reuseUpload: false }));
      await printed({ printKey: 'k' });
      simulator.faults.add({ endpoint: 'storagePut', status: 403, times: 'always' });
      const end = await run({ printKey: 'k', clusterId: bench.clusterIds });
      assert.equal(codeOf(end.error), 'UPLOAD_FAILED');
      const outcomes = end.sent.map((msg) => [result(msg).printed, result(msg).error?.code]);
      assert.deepEqual(outcomes.sort(), [
        [false, 'UPLOAD_FAILED'],
        [false, 'UPLOAD_FAILED'],
        [true, undefined],
      ]);
    });

    it('sends one result per cluster when the outcome on one is unknown', async () => {
      loseSight('before');
      await failed({ printKey: 'k' }, 'PRINT_OUTCOME_UNKNOWN');
      simulator.faults.clear();
      simulator.faults.add({ endpoint: 'clusterStatus', path: clusterId(), times: 'always', status: 503 });
      const ids = bench.clusterIds;
      const end = await run({ printKey: 'k', clusterId: ids });
      assert.equal(codeOf(end.error), 'PRINT_OUTCOME_UNKNOWN');
      const printed = ids.map((id) => result(end.sent.find((msg) => msg.clusterId === id)).printed);
      assert.deepEqual(printed, [false, true, true]);
    });

    it('sends one result per cluster when a setting is invalid', async () => {
      const end = await run({ clusterId: ['one', 'two'], printKey: ['no text'] });
      assert.deepEqual([codeOf(end.error), indexes(end)], ['INVALID_INPUT', ['0 of 2', '1 of 2']]);
    });
  });

  it('answers a repeat of a print that has ended, although the service no longer lists it', async () => {
    await deploy(printNode({ waitFor: 'finished' }));
    const first = await printed({ printKey: 'k' });
    assert.equal(first.status, 'finished');
    // The service no longer lists the print, and the state folder keeps only its key.
    simulator.world.vanish(1, first.clusterJobId ?? '');
    const folder = join(flow.userDir, 'remote-printing');
    await bench.restart(async () => {
      for (const kind of await readdir(folder))
        if (!['folder-id', 'grant', 'print-key'].includes(kind)) await rm(join(folder, kind), { recursive: true });
    });
    await deploy(printNode({ waitFor: 'finished' }));
    const began = systemClock.monotonic();
    const repeat = await printed({ printKey: 'k' });
    assert.deepEqual(
      [repeat.status, repeat.duplicate, repeat.job?.state, systemClock.monotonic() - began],
      ['finished', true, 'finished', 0],
    );
  });

  for (const dryRun of ['true', 'yes', 1, {}])
    it(`refuses msg.dryRun = ${JSON.stringify(dryRun)}, and prints nothing`, async () => {
      await failed({ dryRun }, 'INVALID_INPUT');
      assert.equal(calls(), 0);
      assert.equal((await printed({ dryRun: false })).printed, true);
    });
});
