import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { NodeMessage } from 'node-red';
import type { Simulator } from '../../simulator';
import type { Definition, Flow, Inbox } from '../helpers/flow';
import { pluck } from '../helpers/pluck';
import type { TurnedTime } from '../helpers/turned-time';
import { breakStateAt, codeOf, GCODE, partsOf, printNode, result, struck, TimedBench } from './support';

const HOUR = 3600;

describe('nodes/upload-and-print: waiting for the end of a print', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;
  const bench = new TimedBench('results', 'progress');
  const { results, progress, caught } = bench.inboxes as Record<'results' | 'progress' | 'caught', Inbox>;
  const folders: string[] = [];

  const node = (changes = {}) => printNode({ waitFor: 'finished', ...changes });
  const deploy = (print: Definition | null = node(), options: Parameters<Flow['deploy']>[1] = {}) =>
    time.until(bench.deploy(print ? [print] : [], options));
  const clusterIds = () => bench.clusterIds;
  const payload = (changes: NodeMessage = {}): NodeMessage => ({
    payload: GCODE,
    filename: 'cube.gcode',
    clusterId: clusterIds()[0],
    ...changes,
  });
  /** Sends a message, then advances time until the node waits for so many prints. */
  async function waiting(changes: NodeMessage = {}, prints = 1): Promise<void> {
    const seen = new Set<unknown>();
    const isLast = (msg: NodeMessage) => {
      if (msg.topic === 'printing') seen.add(msg.clusterJobId);
      return seen.size === prints;
    };
    const wait = progress.find(isLast);
    flow.send('print', payload(changes));
    await time.until(wait);
    await time.settled();
  }
  /** Restarts Node-RED on the same state or on a copy; `meanwhile` happens while it is down. */
  async function restart(meanwhile?: () => unknown, userDir?: string): Promise<void> {
    ({ flow } = await bench.restart(meanwhile, userDir));
    await deploy();
  }
  const files = async (kind: string): Promise<string[]> => {
    const folder = join(flow.userDir, 'remote-printing', kind);
    return (await readdir(folder).catch(() => [])).map((name) => join(folder, name));
  };
  /** Messages in the state folder, once every write has ended. */
  const keptMessages = async () => {
    await time.settled();
    const paths = await files('kept-message');
    return Promise.all(
      paths.map(async (path) => (JSON.parse(await readFile(path, 'utf8')) as { value: unknown }).value),
    );
  };
  async function nothingLeft(): Promise<void> {
    await time.settled();
    assert.deepEqual([...(await files('kept-waits')), ...(await files('kept-message'))], []);
  }
  /** Returns the late result; checks that nothing else arrives for an hour. */
  async function lateResult(): Promise<NodeMessage> {
    const message = await time.until(results.at(0));
    await time.pass(HOUR);
    assert.deepEqual([results.all.length, caught.all.length], [1, 0]);
    await nothingLeft();
    return message;
  }

  beforeEach(async () => {
    ({ time, simulator, flow } = await bench.start());
    await deploy();
  });
  afterEach(async () => {
    await bench.stop();
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
  });

  for (const [what, before] of [
    ['after a restart', () => restart()],
    ['without a restart', () => Promise.resolve()],
  ] as const)
    it(`shows ${what} how old its figures are, and that a sign-in is needed`, async () => {
      await waiting({ payload: GCODE.replace('600', '60000') });
      await before();
      const text = () => flow.statuses('print').at(-1)?.text;
      await time.pass(120);
      assert.equal(text(), 'status.printing');
      const fault = simulator.faults.add({ endpoint: '*', status: 503, times: 'always' });
      await time.pass(150);
      assert.equal(text(), 'status.stale');
      fault.remove();
      await time.pass(240);
      assert.equal(text(), 'status.printing');
      simulator.tokens.revokeGrants();
      simulator.tokens.expireAccessTokens();
      await time.pass(120);
      assert.equal(text(), 'status.signInSince');
    });

  const interruptions: [string, () => Promise<void>][] = [
    ['a full deploy', () => deploy()],
    ['a deploy of the node', () => deploy(node({ name: 'other' }), { type: 'nodes' })],
    ['a deploy of its flow', () => deploy(node({ name: 'other' }), { type: 'flows' })],
    ['two deploys at once', () => deploy(node({ name: 'a' }), { type: 'nodes' }).then(() => deploy())],
    ['a restart', () => restart()],
    [
      'a crash',
      async () => {
        // Copies the current disk, without the writes of an orderly close.
        const copy = await mkdtemp(join(tmpdir(), 'node-red-'));
        folders.push(flow.userDir);
        await cp(flow.userDir, copy, { recursive: true });
        await restart(undefined, copy);
      },
    ],
  ];
  for (const [name, interrupt] of interruptions)
    it(`survives ${name}`, async () => {
      await waiting({ order: { number: 7, tags: ['a', null] }, topic: 'mine' });
      const clusterJobId = simulator.world.cluster(1).queue[0]?.uuid;
      await interrupt();
      const late = await lateResult();
      assert.equal(late.late, true);
      assert.deepEqual([late.order, late.topic], [{ number: 7, tags: ['a', null] }, 'mine']);
      assert.deepEqual([late.clusterJobId, late.clusterId], [clusterJobId, clusterIds()[0]]);
      const got = result(late);
      assert.deepEqual(
        [got.status, got.printed, got.job?.state, got.jobName, got.clusterJobId],
        ['finished', true, 'finished', 'cube.gcode', clusterJobId],
      );
    });

  it('ends the interrupted message once, without a result and without an error', async () => {
    await waiting({ turn: 5 });
    // Records the calls of `done`: during a deploy, no Complete node sends.
    const closing = flow.node('print') as unknown as { _complete: (msg: NodeMessage, error: unknown) => void };
    const ended: [unknown, unknown][] = [];
    closing._complete = ({ turn }, error) => ended.push([turn, error]);
    const before = [results.all, caught.all];
    await deploy(node({ name: 'other' }), { type: 'nodes' });
    assert.ok(!pluck(flow.statuses('print'), 'fill').includes('red'));
    assert.equal((await lateResult()).late, true);
    assert.deepEqual(ended, [[5, undefined]]);
    assert.deepEqual(pluck(before, 'length'), [1, 0]);
  });

  it('sends the result of a print that ended while Node-RED was stopped', async () => {
    await waiting({ order: 7 });
    await restart(() => time.pass(5 * HOUR));
    const late = await lateResult();
    assert.deepEqual([late.late, late.order, result(late).job?.state], [true, 7, 'finished']);
  });

  it('reports an unknown end when the print has left every list meanwhile', async () => {
    await waiting({ order: 7 });
    await restart(() => simulator.world.vanish(1, simulator.world.cluster(1).queue[0]?.uuid));
    const late = await time.until(caught.at(0));
    assert.deepEqual([codeOf(late), late.late, late.order], ['PRINT_FAILED', true, 7]);
    await nothingLeft();
  });

  it('reports a failure to Catch nodes, with the stored properties', async () => {
    await waiting({ order: 7 });
    await deploy();
    const [job] = simulator.world.cluster(1).queue;
    simulator.world.fail(1, job?.uuid);
    const late = await time.until(caught.at(0));
    await time.pass(HOUR);
    assert.deepEqual([codeOf(late), late.late, late.order], ['PRINT_FAILED', true, 7]);
    assert.deepEqual([late.clusterJobId, late.clusterId], [job?.uuid, clusterIds()[0]]);
    assert.deepEqual([results.all.length, caught.all.length], [0, 1]);
    await nothingLeft();
    await deploy();
    await time.pass(HOUR);
    assert.deepEqual([results.all.length, caught.all.length], [0, 0]);
  });

  it('survives a deploy with several clusters, each with its parts', async () => {
    const ids = clusterIds();
    await waiting({ clusterId: ids, order: 7 }, ids.length);
    const parts = new Set<unknown>();
    await deploy();
    simulator.world.fail(2, simulator.world.cluster(2).queue[0]?.uuid);
    await time.until(results.at(ids.length - 1));
    await time.pass(HOUR);
    for (const late of results.all) {
      const { id, index, count } = partsOf(late)!;
      parts.add(id);
      assert.deepEqual([late.late, late.order, count, late.clusterId], [true, 7, ids.length, ids[index]]);
      assert.equal(result(late).error?.code, index === 1 ? 'PRINT_FAILED' : undefined);
      assert.equal(result(late).printed, index !== 1);
    }
    assert.deepEqual([results.all.length, parts.size], [ids.length, 1]);
    assert.deepEqual(caught.all.map(codeOf), ['PRINT_FAILED']);
    await nothingLeft();
  });

  it('survives a deploy with several clusters after one of them has ended', async () => {
    const ids = clusterIds().slice(0, 2);
    await waiting({ clusterId: ids }, 2);
    simulator.world.abort(1, simulator.world.cluster(1).queue[0]?.uuid);
    const first = await time.until(results.at(0));
    assert.equal(first.late, undefined);
    await time.settled();
    await deploy();
    const late = await lateResult();
    assert.equal(partsOf(late)?.index, 1);
    assert.equal(partsOf(late)?.id, partsOf(first)?.id);
  });

  it('survives a deploy that happens before the print is answered', async () => {
    const fault = simulator.faults.add({ endpoint: 'print', delay: 200 });
    flow.send('print', payload({ order: 7 }));
    await struck(fault);
    await deploy(node({ name: 'other' }), { type: 'nodes' });
    const late = await lateResult();
    assert.deepEqual([late.late, late.order, result(late).status], [true, 7, 'finished']);
  });

  it('removes the stored state of an uninterrupted wait', async () => {
    await waiting();
    assert.equal((await keptMessages()).length, 1);
    const done = await time.until(results.at(0));
    assert.equal(done.late, undefined);
    await nothingLeft();
    await deploy();
    await time.pass(HOUR);
    assert.equal(results.all.length, 0);
  });

  it('survives a clock that was 200 days slow until a restart', async () => {
    await waiting({ order: 7 });
    await time.settled();
    // Equivalent to a clock that is corrected during the restart.
    const behind = (value: unknown): unknown =>
      JSON.parse(JSON.stringify(value), (name, entry: unknown) =>
        ['at', 'until', 'since'].includes(name) && typeof entry === 'number' ? entry - 200 * 24 * HOUR * 1000 : entry,
      );
    const kept = [...(await files('kept-waits')), ...(await files('kept-message'))];
    assert.equal(kept.length, 2);
    await restart(async () => {
      for (const path of kept) await writeFile(path, JSON.stringify(behind(JSON.parse(await readFile(path, 'utf8')))));
    });
    await time.settled();
    const now = time.now();
    for (const path of kept) {
      const { until } = JSON.parse(await readFile(path, 'utf8')) as { until: number };
      assert.ok(until > now, 'its retention starts anew');
    }
    const late = await lateResult();
    assert.deepEqual([late.late, late.order, result(late).status], [true, 7, 'finished']);
  });

  it('ends with its node, and removes the stored state', async () => {
    await waiting();
    assert.equal((await keptMessages()).length, 1);
    await deploy(null);
    await nothingLeft();
    await deploy();
    await time.pass(HOUR);
    assert.deepEqual([results.all.length, caught.all.length], [0, 0]);
  });

  it('survives a disabled node', async () => {
    await waiting({ order: 7 });
    await deploy(node({ d: true }));
    await time.pass(2 * HOUR);
    assert.equal(results.all.length, 0);
    await deploy();
    assert.equal((await lateResult()).order, 7);
  });

  describe('while the account does not see the printer', () => {
    /** The service lists no printers, and knows none. */
    const hidden = () => {
      const faults = [
        simulator.faults.add({ endpoint: 'clusterStatus', times: 'always', status: 404 }),
        simulator.faults.add({ endpoint: 'clusters', times: 'always', set: { data: [] } }),
      ];
      return () => faults.forEach((fault) => fault.remove());
    };

    for (const restarts of [false, true])
      it(`rests in another workspace, and goes on afterwards${restarts ? ', with a restart in between' : ''}`, async () => {
        const [own, other] = simulator.users[0]?.organizations.map(({ organizationId }) => organizationId) ?? [];
        await deploy();
        await waiting();
        await time.until(flow.signInAnew('account', { organizationId: other }));
        if (restarts) await restart();
        await time.pass(HOUR);
        assert.deepEqual([results.all.length, caught.all.map(codeOf)], [0, []]);
        await time.until(flow.signInAnew('account', { organizationId: own }));
        const message = await lateResult();
        assert.deepEqual([result(message).status, message.late], ['finished', restarts ? true : undefined]);
      });

    it('goes on for some minutes', async () => {
      await deploy();
      await waiting();
      const show = hidden();
      await time.pass(300);
      show();
      assert.equal(result(await lateResult()).status, 'finished');
    });

    it('ends after two days, and says that the end is unknown', async () => {
      await deploy();
      await waiting();
      hidden();
      await time.pass(47 * HOUR);
      assert.equal(caught.all.length, 0);
      await time.pass(3 * HOUR);
      const [failed, ...others] = caught.all;
      const error = failed?.error as { code?: string; message?: string } | undefined;
      assert.deepEqual([error?.code, others.length], ['PRINT_OUTCOME_UNKNOWN', 0]);
      assert.match(error?.message ?? '', /no longer connected/);
      await nothingLeft();
    });
  });

  it('stores only plain JSON of the message', async () => {
    const req = { headers: { authorization: 'Bearer secret' } };
    await waiting({
      ...{ req, res: {}, headers: { cookie: 'secret' }, raw: { url: 'https://storage/?sig=secret' } },
      ...{
        picture: Buffer.from('x'),
        stream: Readable.from([]),
        when: new Date(0),
        mixed: { deep: [Buffer.from('x')] },
      },
      ...{ flag: false, none: null, list: [1, { two: 2 }] },
    });
    const text = JSON.stringify(await keptMessages());
    assert.doesNotMatch(text, /secret/);
    await deploy();
    const late = await lateResult();
    assert.deepEqual([late.flag, late.none, late.list], [false, null, [1, { two: 2 }]]);
    for (const name of ['req', 'res', 'headers', 'picture', 'stream', 'when', 'mixed'])
      assert.ok(!(name in late), name);
    assert.equal(late.raw, null);
  });

  it('stores up to 64 kB of the message, and leaves out larger properties whole', async () => {
    await waiting({ topic: 't', small: 'x'.repeat(30_000), big: 'x'.repeat(40_000), huge: 'x'.repeat(1e6), id: 5 });
    const [kept] = await keptMessages();
    assert.ok(JSON.stringify((kept as { message: unknown }).message).length <= 65_536);
    await deploy();
    const late = await lateResult();
    assert.deepEqual([late.topic, late.id, (late.small as string).length], ['t', 5, 30_000]);
    assert.ok(!('big' in late) && !('huge' in late));
  });

  describe('with a broken state folder', () => {
    it('continues in memory when the folder breaks before the wait starts', async () => {
      const mend = breakStateAt(bench, { endpoint: 'print' });
      await waiting({ order: 7 });
      const done = await time.until(results.at(0));
      assert.deepEqual([done.late, done.order, result(done).status], [undefined, 7, 'finished']);
      await mend();
      await time.pass(HOUR);
      assert.deepEqual([results.all.length, caught.all.length], [1, 0]);
    });

    it('resumes from memory after a deploy when the wait was never stored', async () => {
      // Makes writing fail; reading finds nothing.
      const message = join(flow.userDir, 'remote-printing', 'kept-message');
      writeFileSync(message, '');
      await waiting({ order: 7 });
      await deploy();
      const late = await time.until(results.at(0));
      assert.deepEqual([late.late, late.order], [true, 7]);
      await rm(message);
    });

    it("tries again when the stored waits can't be read", async () => {
      await waiting({ order: 7 });
      const waits = join(flow.userDir, 'remote-printing', 'kept-waits');
      await restart(async () => {
        await rename(waits, `${waits}-away`);
        writeFileSync(waits, '');
      });
      await time.pass(HOUR);
      assert.equal(results.all.length, 0);
      await rm(waits);
      await rename(`${waits}-away`, waits);
      assert.equal((await lateResult()).order, 7);
    });
  });
});
