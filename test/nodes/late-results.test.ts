import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { NodeMessage } from 'node-red';
import type { PrintResult } from '../../lib/print/print-request';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../simulator';
import { catchNode, Flow, helperNode, type Definition, type Inbox } from '../helpers/flow';
import { TurnedTime } from '../helpers/turned-time';

const GCODE = ';FLAVOR:Marlin\n;TIME:600\nG28\nG1 X1 Y1 E1\n';
const HOUR = 3600;

type Result = PrintResult & { error?: { code: string; message: string } };
const result = (msg: NodeMessage | undefined) => msg?.payload as Result;
const codeOf = (msg: NodeMessage | undefined) => (msg?.error as { code?: string } | undefined)?.code;
const NAMES = ['results', 'progress', 'caught'];

describe('nodes/upload-and-print: waiting for the end of a print', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;
  /** Messages since the last deploy. */
  let results: Inbox;
  let progress: Inbox;
  let caught: Inbox;
  const folders: string[] = [];

  const node = (changes = {}): Definition => ({
    id: 'print',
    type: 'remote-printing-upload-and-print',
    account: 'account',
    source: 'payload',
    waitFor: 'finished',
    timeout: 600,
    wires: [['results'], ['progress']],
    ...changes,
  });
  async function start(options: SimulatorOptions = {}): Promise<void> {
    time = new TurnedTime();
    simulator = await startSimulator({ autoApprove: true, now: time.now, accessTokenLifetime: 1e7, ...options });
    flow = await Flow.start(simulator);
    await deploy(node());
  }
  async function deploy(print: Definition | null, options: Parameters<Flow['deploy']>[1] = {}): Promise<void> {
    const others = [...NAMES.map(helperNode), catchNode(['caught'])];
    await time.until(flow.deploy([...(print ? [print] : []), ...others], options));
    const inboxes = NAMES.map((id) => flow.listen(id));
    [results, progress, caught] = inboxes as [Inbox, Inbox, Inbox];
  }
  const clusters = () => simulator.world.clusters(simulator.users[0]?.organizations[0]?.organizationId);
  const clusterIds = () => clusters().map(({ clusterId }) => clusterId);
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
  /** Restarts Node-RED on the same state or on a copy. */
  async function restart(userDir = flow.userDir): Promise<void> {
    await time.until(flow.stop({ keep: true }));
    flow = await Flow.start(simulator, userDir);
    await deploy(node());
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

  afterEach(async () => {
    await time.until(flow.stop());
    await simulator.close();
    time.restore();
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
  });

  for (const [what, before] of [
    ['after a restart', () => restart()],
    ['without a restart', () => Promise.resolve()],
  ] as const)
    it(`shows ${what} how old its figures are, and that a sign-in is needed`, async () => {
      await start();
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
    ['a full deploy', () => deploy(node())],
    ['a deploy of the node', () => deploy(node({ name: 'other' }), { type: 'nodes' })],
    ['a deploy of its flow', () => deploy(node({ name: 'other' }), { type: 'flows' })],
    ['two deploys at once', () => deploy(node({ name: 'a' }), { type: 'nodes' }).then(() => deploy(node()))],
    ['a restart', () => restart()],
    [
      'a crash',
      async () => {
        // Copies the current disk, without the writes of an orderly close.
        const copy = await mkdtemp(join(tmpdir(), 'node-red-'));
        folders.push(flow.userDir);
        await cp(flow.userDir, copy, { recursive: true });
        await restart(copy);
      },
    ],
  ];
  for (const [name, interrupt] of interruptions)
    it(`survives ${name}`, async () => {
      await start();
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
    await start();
    await waiting({ turn: 5 });
    // Records the calls of `done`: during a deploy, no Complete node sends.
    const closing = flow.node('print') as unknown as { _complete: (msg: NodeMessage, error: unknown) => void };
    const ended: [unknown, unknown][] = [];
    closing._complete = ({ turn }, error) => ended.push([turn, error]);
    const before = [results, caught] as const;
    await deploy(node({ name: 'other' }), { type: 'nodes' });
    assert.deepEqual(
      flow.statuses('print').filter(({ fill }) => fill === 'red'),
      [],
    );
    assert.equal((await lateResult()).late, true);
    assert.deepEqual(ended, [[5, undefined]]);
    assert.deepEqual(
      before.map(({ all }) => all.length),
      [1, 0],
    );
  });

  it('sends the result of a print that ended while Node-RED was stopped', async () => {
    await start();
    await waiting({ order: 7 });
    await time.until(flow.stop({ keep: true }));
    await time.pass(5 * HOUR);
    flow = await Flow.start(simulator, flow.userDir);
    await deploy(node());
    const late = await lateResult();
    assert.deepEqual([late.late, late.order, result(late).job?.state], [true, 7, 'finished']);
  });

  it('reports an unknown end when the print has left every list meanwhile', async () => {
    await start();
    await waiting({ order: 7 });
    await time.until(flow.stop({ keep: true }));
    simulator.world.vanish(1, simulator.world.cluster(1).queue[0]?.uuid);
    flow = await Flow.start(simulator, flow.userDir);
    await deploy(node());
    const late = await time.until(caught.at(0));
    assert.deepEqual([codeOf(late), late.late, late.order], ['PRINT_FAILED', true, 7]);
    await nothingLeft();
  });

  it('reports a failure to Catch nodes, with the stored properties', async () => {
    await start();
    await waiting({ order: 7 });
    await deploy(node());
    const [job] = simulator.world.cluster(1).queue;
    simulator.world.fail(1, job?.uuid);
    const late = await time.until(caught.at(0));
    await time.pass(HOUR);
    assert.deepEqual([codeOf(late), late.late, late.order], ['PRINT_FAILED', true, 7]);
    assert.deepEqual([late.clusterJobId, late.clusterId], [job?.uuid, clusterIds()[0]]);
    assert.deepEqual([results.all.length, caught.all.length], [0, 1]);
    await nothingLeft();
    await deploy(node());
    await time.pass(HOUR);
    assert.deepEqual([results.all.length, caught.all.length], [0, 0]);
  });

  it('survives a deploy with several clusters, each with its parts', async () => {
    await start();
    const ids = clusterIds();
    await waiting({ clusterId: ids, order: 7 }, ids.length);
    const parts = new Set<unknown>();
    await deploy(node());
    simulator.world.fail(2, simulator.world.cluster(2).queue[0]?.uuid);
    await time.until(results.at(ids.length - 1));
    await time.pass(HOUR);
    for (const late of results.all) {
      const { id, index, count } = late.parts as { id: string; index: number; count: number };
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
    await start();
    const ids = clusterIds().slice(0, 2);
    await waiting({ clusterId: ids }, 2);
    simulator.world.abort(1, simulator.world.cluster(1).queue[0]?.uuid);
    const first = await time.until(results.at(0));
    assert.equal(first.late, undefined);
    await time.settled();
    await deploy(node());
    const late = await lateResult();
    assert.equal((late.parts as { index: number }).index, 1);
    assert.equal((late.parts as { id: string }).id, (first.parts as { id: string }).id);
  });

  it('survives a deploy that happens before the print is answered', async () => {
    await start();
    const fault = simulator.faults.add({ endpoint: 'print', delay: 200 });
    flow.send('print', payload({ order: 7 }));
    while (fault.hits === 0) await new Promise((resolve) => setImmediate(resolve));
    await deploy(node({ name: 'other' }), { type: 'nodes' });
    const late = await lateResult();
    assert.deepEqual([late.late, late.order, result(late).status], [true, 7, 'finished']);
  });

  it('removes the stored state of an uninterrupted wait', async () => {
    await start();
    await waiting();
    assert.equal((await keptMessages()).length, 1);
    const done = await time.until(results.at(0));
    assert.equal(done.late, undefined);
    await nothingLeft();
    await deploy(node());
    await time.pass(HOUR);
    assert.equal(results.all.length, 0);
  });

  it('survives a clock that was 200 days slow until a restart', async () => {
    await start();
    await waiting({ order: 7 });
    await time.settled();
    await time.until(flow.stop({ keep: true }));
    // Equivalent to a clock that is corrected during the restart.
    const behind = (value: unknown): unknown =>
      JSON.parse(JSON.stringify(value), (name, entry: unknown) =>
        ['at', 'until', 'since'].includes(name) && typeof entry === 'number' ? entry - 200 * 24 * HOUR * 1000 : entry,
      );
    const kept = [...(await files('kept-waits')), ...(await files('kept-message'))];
    assert.equal(kept.length, 2);
    for (const path of kept) await writeFile(path, JSON.stringify(behind(JSON.parse(await readFile(path, 'utf8')))));
    flow = await Flow.start(simulator, flow.userDir);
    await deploy(node());
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
    await start();
    await waiting();
    assert.equal((await keptMessages()).length, 1);
    await deploy(null);
    await nothingLeft();
    await deploy(node());
    await time.pass(HOUR);
    assert.deepEqual([results.all.length, caught.all.length], [0, 0]);
  });

  it('survives a disabled node', async () => {
    await start();
    await waiting({ order: 7 });
    await deploy(node({ d: true }));
    await time.pass(2 * HOUR);
    assert.equal(results.all.length, 0);
    await deploy(node());
    assert.equal((await lateResult()).order, 7);
  });

  it('stores only plain JSON of the message', async () => {
    await start();
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
    await deploy(node());
    const late = await lateResult();
    assert.deepEqual([late.flag, late.none, late.list], [false, null, [1, { two: 2 }]]);
    for (const name of ['req', 'res', 'headers', 'picture', 'stream', 'when', 'mixed'])
      assert.ok(!(name in late), name);
    assert.equal(late.raw, null);
  });

  it('stores up to 64 kB of the message, and leaves out larger properties whole', async () => {
    await start();
    await waiting({ topic: 't', small: 'x'.repeat(30_000), big: 'x'.repeat(40_000), huge: 'x'.repeat(1e6), id: 5 });
    const [kept] = await keptMessages();
    assert.ok(JSON.stringify((kept as { message: unknown }).message).length <= 65_536);
    await deploy(node());
    const late = await lateResult();
    assert.deepEqual([late.topic, late.id, (late.small as string).length], ['t', 5, 30_000]);
    assert.ok(!('big' in late) && !('huge' in late));
  });

  describe('with a broken state folder', () => {
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

    it('continues in memory when the folder breaks before the wait starts', async () => {
      await start();
      let mend: () => Promise<void> = () => Promise.resolve();
      simulator.faults.add({
        endpoint: 'print',
        transform: (body) => {
          mend = breakState();
          return body;
        },
      });
      await waiting({ order: 7 });
      const done = await time.until(results.at(0));
      assert.deepEqual([done.late, done.order, result(done).status], [undefined, 7, 'finished']);
      await mend();
      await time.pass(HOUR);
      assert.deepEqual([results.all.length, caught.all.length], [1, 0]);
    });

    it('resumes from memory after a deploy when the wait was never stored', async () => {
      await start();
      // Makes writing fail; reading finds nothing.
      const message = join(flow.userDir, 'remote-printing', 'kept-message');
      writeFileSync(message, '');
      await waiting({ order: 7 });
      await deploy(node());
      const late = await time.until(results.at(0));
      assert.deepEqual([late.late, late.order], [true, 7]);
      await rm(message);
    });

    it("tries again when the stored waits can't be read", async () => {
      await start();
      await waiting({ order: 7 });
      await time.until(flow.stop({ keep: true }));
      const waits = join(flow.userDir, 'remote-printing', 'kept-waits');
      await rename(waits, `${waits}-away`);
      writeFileSync(waits, '');
      flow = await Flow.start(simulator, flow.userDir);
      await deploy(node());
      await time.pass(HOUR);
      assert.equal(results.all.length, 0);
      await rm(waits);
      await rename(`${waits}-away`, waits);
      assert.equal((await lateResult()).order, 7);
    });
  });
});
