import assert from 'node:assert/strict';
import { PrintingError } from '../../../lib/service/errors';
import { isoTime } from '../../../lib/time/clock';
import { phrase } from '../../../lib/words/sentence';
import { QueueFarm, type Life, type Runtime } from '../../helpers/queue-farm';

const MINUTE = 60_000;
/** A print that waits in its printer for long. */
const WAITING: Life = [
  [0, 'queued'],
  [9_000, 'printing'],
];

describe('queue: the time of several runtimes', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  const begin = async (rules: Parameters<QueueFarm['start']>[0] = {}) => {
    one = await all.begin({ printers: ['C1'], ...rules });
  };
  /** Another runtime takes over, whose wall clock is ahead. */
  const takeOver = async (lead: number, rules: Parameters<QueueFarm['start']>[0] = {}) => {
    const next = all.start({ printers: ['C1'], ...rules });
    next.memory.lead = lead;
    await all.pass(30);
    all.kill(one);
    one = next;
    await all.pass(60);
  };
  const refused = () => new PrintingError('SERVICE_ERROR', phrase`No.`, { statusCode: 400, outcome: 'refused' });

  for (const lead of [20 * MINUTE, -20 * MINUTE])
    it(`recalls no print early or late by the clock of the next planner, ${lead / MINUTE} minutes ahead`, async () => {
      await begin();
      all.farm.lives.push(WAITING);
      await one.add('a');
      await all.pass(60);
      await takeOver(lead);
      await all.pass(600);
      assert.equal(await one.outcome('a'), 'active: dispatched; 1 active');
      await all.pass(400);
      assert.equal(all.farm.removals, 1);
    });

  it('adds up how long a print has waited over planners that are closed', async () => {
    await begin();
    all.farm.lives.push(WAITING);
    await one.add('a');
    for (let n = 0; n < 4; n++) {
      await all.pass(200);
      void one.queue.close();
      await all.pass(20);
      all.kill(one);
      one = all.start({ printers: ['C1'] });
      await all.pass(20);
    }
    assert.equal(all.farm.removals, 0);
    await all.pass(120);
    assert.equal(all.farm.removals, 1);
  });

  it('counts no time in which a process stood still', async () => {
    await begin();
    all.farm.lives.push(WAITING);
    await one.add('a');
    await all.pass(60);
    one.memory.pause();
    await all.clock.advance(30 * MINUTE);
    one.memory.resume();
    await all.pass(300);
    assert.equal(all.farm.removals, 0);
    await all.pass(700);
    assert.equal(all.farm.removals, 1);
  });

  it('keeps two starts apart although the next planner’s clock is ahead', async () => {
    const rules = { printers: ['C1', 'C2'], stagger: 10 * MINUTE };
    await begin(rules);
    await one.add('a', { copies: 2 });
    await all.pass(60);
    await takeOver(20 * MINUTE, rules);
    await all.pass(240);
    assert.equal(all.farm.sent.length, 1);
    await all.pass(400);
    assert.equal(all.farm.sent.length, 2);
  });

  it('explains a refusal alike at every runtime, and the next planner continues its pause', async () => {
    await begin();
    const other = await all.begin({ printers: ['C1'] });
    all.farm.refusing.set('C1', refused());
    let calls = 0;
    const { call } = all.farm;
    all.farm.call = (endpoint, options) => {
      calls += endpoint === 'print' ? 1 : 0;
      return call.call(all.farm, endpoint, options);
    };
    await one.add('a');
    await all.pass(100);
    const explained = async (runtime: Runtime) =>
      (await runtime.ask((queue) => queue.explain({ queueKey: 'a' })))[0]?.waitingFor.map(
        ({ code, text }) => `${code} ${text.toString()}`,
      );
    assert.deepEqual(await explained(one), ['REFUSED The service refused the item at this printer: No.']);
    assert.deepEqual(await explained(other), await explained(one));
    const before = calls;
    all.kill(one);
    one = other;
    await all.pass(50);
    assert.equal(calls, before, 'the pause of two minutes is not over');
    await all.pass(120);
    assert.equal(calls, before + 1);
  });

  it('explains that a printer was not free alike at every runtime', async () => {
    await begin();
    const other = await all.begin({ printers: ['C1'] });
    all.farm.refusing.set(
      'C1',
      new PrintingError('NOT_ACCEPTED', phrase`Busy.`, { statusCode: 409, outcome: 'refused' }),
    );
    await one.add('a');
    await all.pass(10);
    assert.deepEqual(await one.codes('a'), ['BUSY']);
    assert.deepEqual(await other.codes('a'), ['BUSY']);
  });

  it('goes on printing on statuses that the service dates an hour back', async () => {
    await begin();
    const date = (ms: number) =>
      all.farm.changes.set('C1', { ...all.farm.changes.get('C1'), generated_time: isoTime(all.clock.now() + ms) });
    date(0);
    await all.pass(60);
    date(-50 * MINUTE);
    await one.add('a');
    await all.pass(200);
    assert.deepEqual(all.farm.sent, ['C1 job']);
    all.farm.changes.set('C1', {
      is_online: false,
      printers: [],
      generated_time: isoTime(all.clock.now() - 55 * MINUTE),
    });
    await one.add('b');
    await all.pass(60);
    assert.deepEqual([await one.codes('b'), all.farm.sent.length], [['OFFLINE'], 1]);
  });
});
