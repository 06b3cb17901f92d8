import assert from 'node:assert/strict';
import type { NodeMessage } from 'node-red';
import type { Board, QueueItem } from '../../lib/queue/model/types';
import { startSimulator, type Simulator } from '../../simulator';
import { catchNode, Flow, helperNode, type Inbox } from '../helpers/flow';
import { systemClock } from '../../lib/time/clock';
import { TurnedTime } from '../helpers/turned-time';
import { codeOf } from './support';

const GCODE = ';FLAVOR:Marlin\n;TIME:600\nG28\nG1 X1 Y1 E1\n';

/** A farm that is led by the board alone: every press is an answer of the board, sent back as it is. */
describe('nodes: parts on a board', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;
  let answers: Inbox;
  let events: Inbox;
  let caught: Inbox;

  beforeEach(async () => {
    time = new TurnedTime();
    simulator = await startSimulator({ autoApprove: true, now: time.now, accessTokenLifetime: 1e7 });
    flow = await Flow.start(simulator);
    const queue = {
      ...{ id: 'queue', type: 'remote-printing-queue', account: 'account', name: 'Farm' },
      ...{ match: 'lenient', material: 'any', gate: 'confirm' },
    };
    const node = {
      ...{ id: 'node', type: 'remote-printing-print-queue', queue: 'queue', action: 'msg.action', source: 'payload' },
      wires: [['answers'], ['events']],
    };
    await time.until(
      flow.deploy([node, ...['answers', 'events', 'caught'].map(helperNode), catchNode(['caught'])], { more: [queue] }),
    );
    [answers, events, caught] = ['answers', 'events', 'caught'].map((id) => flow.listen(id)) as [Inbox, Inbox, Inbox];
  });
  afterEach(async () => {
    await time.until(flow.stop());
    await simulator.close();
    time.restore();
  });

  const ask = async (msg: NodeMessage): Promise<NodeMessage> => {
    const [before, failed] = [answers.all.length, caught.all.length];
    flow.send('node', msg);
    return time.until(Promise.race([answers.at(before), caught.at(failed)]));
  };
  const pass = (ms: number) => time.until(new Promise<void>((resolve) => void systemClock.after(ms, resolve)));
  const board = async () => (await ask({ action: 'board' })).payload as Board;
  /** Waits for a plate to judge, and returns what the board offers. */
  const plate = async () => {
    for (let tries = 0; tries < 200; tries++) {
      const [need] = (await board()).todo.filter(({ kind }) => kind === 'plate');
      if (need) return need;
      await pass(10_000);
    }
    return assert.fail('no plate');
  };

  it('are printed until enough are good, one answer of the board after the other', async () => {
    const { payload } = await ask({ action: 'add', payload: GCODE, filename: 'cube.gcode', wanted: 3, perPrint: 2 });
    assert.deepEqual((payload as QueueItem).parts, { wanted: 3, perPrint: 2, good: 0, rejected: 0, owed: 3 });
    const itemNow = async () => ((await ask({ action: 'list' })).payload as QueueItem[])[0] ?? assert.fail('no item');
    let isFirst = true;
    while ((await itemNow()).state !== 'finished') {
      const { answers: offered, text } = await plate();
      assert.match(String(text), /take off cube\.gcode/);
      const [good] = offered;
      assert.equal(good?.label, 'Good');
      assert.equal(good.properties.goodParts, 2);
      // The first print makes one good part.
      const press: NodeMessage = { action: good.action, ...good.properties, goodParts: isFirst ? 1 : 2 };
      isFirst = false;
      await ask(press);
      // A second press does nothing, and one that contradicts it is refused.
      assert.equal((await ask(press)).error, undefined);
      assert.equal(codeOf(await ask({ ...press, goodParts: 0 })), 'NOT_ACCEPTED');
      await pass(1_000);
    }
    const { parts, prints } = await itemNow();
    assert.deepEqual([parts?.good, parts?.rejected, parts?.owed], [2 * prints.length - 1, 1, 0]);
    assert.ok(parts && parts.good >= 3);
    assert.equal(simulator.requests.count('print'), prints.length);
    assert.equal(events.all.filter(({ topic }) => topic === 'item.finished').length, 1);
  });
});
