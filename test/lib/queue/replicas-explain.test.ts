import assert from 'node:assert/strict';
import { OFFLINE, QueueFarm, refusal, type Life, type Runtime } from '../../helpers/queue-farm';

const MINUTE = 60_000;
/** A print that lasts for an hour. */
const LONG: Life = [
  [0, 'printing'],
  [3_600, 'finished'],
];

describe('queue: what a runtime that does not plan says', () => {
  let all: QueueFarm;
  let planner: Runtime;
  let other: Runtime;

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  const begin = async (rules: Parameters<QueueFarm['start']>[0] = {}) => {
    planner = await all.begin(rules);
    other = await all.begin(rules);
  };
  const textOf = ({ code, text }: { code: string | null; text: unknown }) => `${code} ${String(text)}`;
  /** Everything that a runtime says about why an item waits, and about its printers. */
  const saidBy = async (runtime: Runtime, queueKey: string) => {
    const [explained] = await runtime.ask((queue) => queue.explain({ queueKey }));
    const board = await runtime.ask((queue) => queue.board());
    return {
      explain: explained?.waitingFor.map((reason) => `${reason.clusterId} ${textOf(reason)}`),
      list: (await runtime.item(queueKey)).waitingFor.map((reason) => `${reason.printers} ${textOf(reason)}`),
      state: (await runtime.item(queueKey)).state,
      printers: (await runtime.printers()).map((printer) => `${printer.clusterId} ${textOf(printer)}`),
      board: board.printers.map((printer) => `${printer.clusterId} ${textOf(printer)} ${printer.state}`),
    };
  };
  /** Compares both, and returns the reasons of the one that plans. */
  const agreed = async (queueKey: string): Promise<string[]> => {
    const said = await saidBy(planner, queueKey);
    assert.deepEqual(await saidBy(other, queueKey), said);
    return said.explain ?? [];
  };
  const codesOf = (reasons: readonly string[]) => reasons.map((reason) => reason.split(' ', 2).join(' '));

  it('is the same where somebody else’s prints have begun since the last poll', async () => {
    await begin();
    for (const clusterId of ['C1', 'C2']) all.farm.printByHand(clusterId, LONG);
    await planner.add('a');
    await all.clock.advance(5_000);
    assert.deepEqual(codesOf(await agreed('a')), ['C1 BUSY', 'C2 BUSY']);
  });

  it('is the same where the printers have gone offline since the last poll', async () => {
    await begin();
    for (const clusterId of ['C1', 'C2']) all.farm.changes.set(clusterId, OFFLINE);
    await other.add('a');
    await all.clock.advance(5_000);
    assert.deepEqual(codesOf(await agreed('a')), ['C1 OFFLINE', 'C2 OFFLINE']);
  });

  it('is the same where the printer became another model since the last poll', async () => {
    const showModel = (machine_variant: string) => {
      const printers = [{ uuid: 'P', status: 'idle', enabled: true, machine_variant }];
      all.farm.changes.set('C1', { printers });
    };
    showModel('Model');
    await begin({ printers: ['C1'] });
    showModel('Other');
    await planner.add('a', { require: { models: ['Model'] } });
    await all.clock.advance(5_000);
    assert.ok(codesOf(await agreed('a')).includes('C1 MODEL'));
  });

  it('is the same where the one that plans can’t read the printers', async () => {
    await begin();
    planner.isCutOff = true;
    await other.add('a');
    await all.clock.advance(5_000);
    const reasons = await agreed('a');
    assert.deepEqual(codesOf(reasons), ['C1 BUSY', 'C2 BUSY']);
    assert.match(reasons[0] ?? '', /could not be read/);
  });

  it('is the same once a pause has ended, although no printer was read since', async () => {
    for (const clusterId of ['C1', 'C2']) all.farm.changes.set(clusterId, OFFLINE);
    await begin();
    await planner.add('a');
    await planner.pause(null, null, all.clock.now() + 60_000);
    assert.ok((await agreed('a')).some((reason) => reason.includes('QUEUE_PAUSED')));
    await all.clock.advance(60_000);
    assert.deepEqual(codesOf(await agreed('a')), ['C1 OFFLINE', 'C2 OFFLINE']);
  });

  describe('if it has lived for longer than the one that plans', () => {
    /** The first runtime plans for half an hour, in which nothing is written. Then another one takes over. */
    const beginAndSwap = async (rules: Parameters<QueueFarm['start']>[0]) => {
      other = await all.begin(rules);
      await all.pass(1_800);
      planner = await all.begin(rules);
      other.memory.cutOff();
      await all.pass(60);
      other.memory.reconnect();
      await all.pass(60);
      assert.notEqual(planner.queue.figures(), null, 'the planning was not taken over');
    };

    it('is the same about a printer that was not free', async () => {
      await beginAndSwap({ printers: ['C1'] });
      all.farm.refusing.set('C1', refusal(409));
      await planner.add('a');
      assert.deepEqual(codesOf(await agreed('a')), ['C1 BUSY']);
    });

    it('ends no span of the one that plans early', async () => {
      await beginAndSwap({ printers: ['C1'], startWithin: 15 * MINUTE });
      all.farm.lives.push([[0, 'queued']]);
      await planner.add('a');
      await all.pass(60);
      await other.add('b');
      await all.pass(600);
      assert.equal(all.farm.removals, 0);
      await all.pass(400);
      assert.equal(all.farm.removals, 1);
    });
  });

  it('leaves the reads that failed at one planner to the next one', async () => {
    await begin({ printers: ['C1'] });
    planner.isCutOff = true;
    await other.add('a');
    await all.pass(10);
    all.kill(planner);
    await all.pass(40);
    assert.equal(all.farm.prints.length, 1);
  });
});
