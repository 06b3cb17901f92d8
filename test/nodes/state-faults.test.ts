import assert from 'node:assert/strict';
import promises, { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeMessage } from 'node-red';
import { createSandbox } from 'sinon';
import type { PrintResult } from '../../lib/print/print-request';
import { startSimulator, type Simulator } from '../../simulator';
import { catchNode, Flow, helperNode, type Inbox } from '../helpers/flow';
import { pluck } from '../helpers/pluck';
import { TurnedTime } from '../helpers/turned-time';
import { GCODE, printNode, watchNode } from './support';

const HOUR = 3600;
const YEAR = 365 * 24 * HOUR;

describe('nodes: stored state survives faults', function () {
  const sandbox = createSandbox();
  let time: TurnedTime;
  /** Error of the machine's clock, ms. */
  let offset: number;
  /** Correct time, which the service uses. */
  const truth = () => time.now() - offset;
  let simulator: Simulator;
  let flow: Flow;
  let results: Inbox;
  let events: Inbox;
  let caught: Inbox;
  let turns = 0;

  const clusterId = () => simulator.world.cluster(1).clusterId;
  const calls = () => simulator.requests.count('print');

  /** Starts Node-RED on this user directory, with a clock that is wrong by so many seconds. */
  async function start({ userDir, wrong = 0 }: { userDir?: string; wrong?: number } = {}): Promise<void> {
    const now = truth();
    time.restore();
    offset = wrong * 1000;
    time = new TurnedTime(now + offset);
    flow = await Flow.start(simulator, userDir);
  }
  async function deploy(options: { signIn?: boolean } = {}): Promise<void> {
    const names = ['results', 'progress', 'status', 'events', 'caught'];
    await flow.deploy(
      [printNode(), watchNode({ cluster: clusterId(), interval: 60 }), ...names.map(helperNode), catchNode(['caught'])],
      options,
    );
    [results, events, caught] = [flow.listen('results'), flow.listen('events'), flow.listen('caught')];
    await time.settled();
  }
  /** Restarts Node-RED with nothing but the contents of its disk. */
  async function restart(wrong = 0): Promise<void> {
    const disk = await mkdtemp(join(tmpdir(), 'restarted-'));
    await time.until(flow.stop({ keep: true }));
    await cp(flow.userDir, disk, { recursive: true });
    await rm(flow.userDir, { recursive: true, force: true });
    await start({ userDir: disk, wrong });
  }
  async function printed(): Promise<PrintResult> {
    const turn = ++turns;
    const isIt = (msg: NodeMessage) => msg.turn === turn;
    const ended = Promise.race([results.find(isIt), caught.find(isIt)]);
    flow.send('print', { payload: GCODE, filename: 'cube.gcode', clusterId: clusterId(), printKey: 'k', turn });
    const { error, payload } = await time.until(ended);
    if (error) throw error as Error;
    return payload as PrintResult;
  }

  beforeEach(async () => {
    time = new TurnedTime();
    offset = 0;
    simulator = await startSimulator({ autoApprove: true, now: truth });
  });
  afterEach(async () => {
    sandbox.restore();
    await time.until(flow.stop());
    await simulator.close();
    time.restore();
  });

  /** Fails every read of this kind of state with EMFILE until mended. */
  function openTooMany(kind: string): { failed: number; mend(): void } {
    const folder = join(flow.userDir, 'remote-printing', kind);
    const { readFile } = promises;
    const fault = { failed: 0, mend: () => sandbox.restore() };
    const read = (...args: Parameters<typeof readFile>) => {
      if (!String(args[0]).startsWith(folder)) return readFile(...args);
      fault.failed++;
      return Promise.reject(Object.assign(new Error('EMFILE: too many open files, open'), { code: 'EMFILE' }));
    };
    sandbox.replace(promises, 'readFile', read as typeof readFile);
    return fault;
  }

  describe('a moment with too many open files', () => {
    let first: PrintResult;
    beforeEach(async () => {
      await start();
      await deploy();
      first = await printed();
      await time.pass(30);
      await restart();
    });

    it('keeps the account signed in', async () => {
      const signIns = simulator.requests.count('authorize');
      const fault = openTooMany('grant');
      await deploy({ signIn: false });
      await time.pass(5);
      assert.ok(fault.failed > 0);
      fault.mend();
      await time.pass(60);
      const { state } = (await flow.get('accounts/account').expect(200)).body as { state: string };
      assert.deepEqual([state, simulator.requests.count('authorize')], ['signed-in', signIns]);
    });

    it('shows that the sign-in is awaited, and asks nobody to sign in', async () => {
      const fault = openTooMany('grant');
      await deploy({ signIn: false });
      await time.pass(5);
      const shown = ['print', 'watch'].map((id) => pluck(flow.statuses(id), 'text'));
      assert.deepEqual(shown, [['status.signInUnread'], ['status.signInUnread']]);
      fault.mend();
      await time.pass(60);
      assert.deepEqual(pluck(flow.statuses('print'), 'text').slice(1), ['status.idle']);
    });

    it('shows no missing sign-in to Status nodes after a deploy', async () => {
      await deploy();
      await deploy({ signIn: false });
      await time.pass(5);
      assert.deepEqual(pluck(flow.statuses('print'), 'text'), ['status.idle']);
    });

    it("doesn't make a print key available again", async () => {
      const fault = openTooMany('print-key');
      await deploy();
      await assert.rejects(printed(), { code: 'FILE_NOT_READABLE' });
      assert.ok(fault.failed > 0);
      fault.mend();
      const repeat = await printed();
      assert.deepEqual([repeat.duplicate, repeat.clusterJobId, calls()], [true, first.clusterJobId, 1]);
    });

    it("doesn't prevent the report of a print's end", async () => {
      // The print ends while Node-RED is down.
      simulator.world.advance(2 * HOUR);
      const fault = openTooMany('checkpoint');
      await deploy();
      await time.pass(120);
      assert.ok(fault.failed > 0);
      fault.mend();
      await time.pass(120);
      const ended = events.all.filter(({ clusterJobId }) => clusterJobId === first.clusterJobId);
      assert.deepEqual(pluck(ended, 'topic'), ['job.finished']);
    });
  });

  describe('wrong clock', () => {
    const SINCE_1970 = HOUR - Date.now() / 1000;
    /** Outlasts the removal of outdated state. */
    const LONG = 1.2 * HOUR;
    async function printsNothing(original: PrintResult): Promise<void> {
      const repeat = await printed();
      assert.deepEqual([repeat.duplicate, repeat.clusterJobId, calls()], [true, original.clusterJobId, 1]);
    }

    it('keeps print keys when it shows 1970 until it is corrected', async () => {
      await start({ wrong: SINCE_1970 });
      await deploy();
      const original = await printed();
      time.set(truth());
      offset = 0;
      await time.pass(LONG);
      await deploy();
      await printsNothing(original);
    });

    for (const [what, before, after] of [
      ['shows 1970 and is correct after a restart', SINCE_1970, 0],
      ['is ten years ahead after a restart', 0, 10 * YEAR],
    ] as const)
      it(`keeps print keys when it ${what}`, async () => {
        await start({ wrong: before });
        await deploy();
        const original = await printed();
        await restart(after);
        await deploy();
        await time.pass(LONG);
        await deploy();
        await printsNothing(original);
      });
  });
});
