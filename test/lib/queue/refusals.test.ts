import assert from 'node:assert/strict';
import { type Life, QueueFarm, refusal, type Runtime } from '../../helpers/queue-farm';

const MINUTE = 60;
const QUEUED: Life = [[0, 'queued']];
const CHANGES = [{ type_of_change: 'material_change', origin_id: 'a', target_id: 'b', is_overridable: true }];
/** A group of two printers. */
const GROUP = {
  printers: ['P1', 'P2'].map((uuid) => ({ uuid, status: 'idle', enabled: true })),
};

describe('queue: refusals of the service', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  const add = async (...keys: string[]) => {
    for (const key of keys) await one.add(key, { jobId: key });
  };
  /** Number of calls that were to print a job, or any. */
  const tries = (jobId?: string) =>
    all.farm.calls.filter(({ endpoint, ids }) => endpoint === 'print' && (jobId ?? ids?.job_id) === ids?.job_id).length;

  for (const statusCode of [400, 403, 404])
    it(`concern the item at that printer, which takes the next one at once: ${statusCode}`, async () => {
      one = await all.begin({ printers: ['C1'] });
      all.farm.refusing.set('a', refusal(statusCode));
      await add('a', 'b');
      await all.pass(20);
      assert.deepEqual(all.farm.sent, ['C1 b']);
      await all.pass(70);
      assert.deepEqual([(await one.item('a')).state, await one.codes('a')], ['waiting', ['REFUSED']]);
      assert.equal((await one.printers())[0]?.free, true);
      const [{ text } = assert.fail()] = (await one.item('a')).waitingFor;
      assert.equal(String(text), 'The service refused the item at this printer: Too busy.');
    });

  it('send the item to another printer at once', async () => {
    one = await all.begin();
    all.farm.refusing.set('C1', refusal(403));
    await add('a');
    await all.pass(20);
    assert.deepEqual(all.farm.sent, ['C2 a']);
  });

  it('are followed by another try after pauses that grow up to a quarter of an hour, and at once after a retry', async () => {
    one = await all.begin({ printers: ['C1'] });
    all.farm.refusing.set('a', refusal(400));
    await add('a');
    const pauses: number[] = [];
    for (let [count, since, now] = [tries(), 0, 0]; now < 60 * MINUTE && pauses.length < 6; now++) {
      await all.clock.advance(1000);
      if (now % 30 === 0) all.poll('C1');
      if (tries() === count) continue;
      pauses.push(Math.round((now - since) / MINUTE));
      [count, since] = [tries(), now];
    }
    assert.deepEqual(pauses, [1, 2, 4, 8, 15, 15]);
    all.farm.refusing.clear();
    await one.does('retry', 'a');
    await all.pass(10);
    assert.deepEqual(all.farm.sent, ['C1 a']);
  });

  it('are followed by another try at once after a retry at a runtime that does not plan', async () => {
    one = await all.begin({ printers: ['C1'] });
    const other = await all.begin({ printers: ['C1'] });
    all.farm.refusing.set('a', refusal(400));
    await add('a');
    // The second pause lasts two minutes.
    await all.pass(90);
    all.farm.refusing.clear();
    await other.does('retry', 'a');
    assert.deepEqual(all.farm.sent, ['C1 a']);
    assert.deepEqual([await one.codes('a'), await other.codes('a')], [[], []]);
  });

  it('do not keep the printer from an item that others could take, although the refused one has no other', async () => {
    one = await all.begin();
    all.farm.refusing.set('a', refusal(400));
    await one.add('a', { jobId: 'a', require: { printers: ['C1'] } });
    await all.pass(10);
    await one.pause('C2');
    await add('b');
    await all.pass(20);
    assert.deepEqual(all.farm.sent, ['C1 b']);
  });

  describe('of three items in a row with the same code', () => {
    const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    for (const [title, printers] of [
      ['a printer', undefined],
      ['a group', GROUP],
    ] as const)
      it(`have ${title} tried with one item at a time, with growing pauses`, async () => {
        if (printers) all.farm.changes.set('C1', printers);
        one = await all.begin({ printers: ['C1'] });
        all.farm.refusing.set('C1', refusal(403));
        await one.pause();
        await add(...KEYS);
        await one.resume();
        await all.pass(10);
        const first = tries();
        assert.ok(first <= 4, `${first} tries`);
        const [{ code, text } = assert.fail()] = await one.printers();
        assert.equal(code, 'REFUSED');
        assert.match(String(text), /one item after the other/);
        await all.pass(30 * MINUTE);
        // After 1, 3, 7, 15 and 30 minutes.
        assert.ok(tries() >= first + 4 && tries() <= first + 5, `${tries() - first} tries`);
        all.farm.refusing.clear();
        for (let minute = 0; minute < 30; minute++) {
          await all.pass(MINUTE);
          // Nobody sees which member of the group prints, so a person clears both plates.
          for (const { plate, printerId } of await one.printers())
            if (plate === 'awaiting') await one.clear(true, 'C1', printerId);
        }
        assert.deepEqual(new Set(all.farm.sent.map((sent) => sent.slice(3))), new Set(KEYS));
      });

    it('are not in a row with another code between them, or with a print', async () => {
      one = await all.begin({ printers: ['C1'] });
      const codes = [403, 403, 400, 403, 403];
      for (const [at, key] of KEYS.slice(0, 5).entries()) all.farm.refusing.set(key, refusal(codes[at] ?? 0));
      await add(...KEYS.slice(0, 6));
      await all.pass(20);
      assert.deepEqual(all.farm.sent, ['C1 f']);
    });
  });

  describe('that ask for changes in a group', () => {
    beforeEach(async () => {
      all.farm.changes.set('C1', GROUP);
      one = await all.begin({ choose: 'list' });
      all.farm.lives.push(QUEUED);
      all.farm.waiting.set('C1', { configuration_changes_required: CHANGES });
    });

    it('send the copy elsewhere at once', async () => {
      await add('a');
      await all.pass(MINUTE);
      assert.deepEqual(all.farm.sent, ['C1 a', 'C2 a']);
    });

    it('keep the item from it until a member has changed', async () => {
      await one.pause('C2');
      await add('a');
      await all.pass(3 * MINUTE);
      assert.deepEqual(all.farm.sent, ['C1 a']);
      const configuration = [{ extruder_index: 0, print_core_id: 'AA 0.4' }];
      const printers = GROUP.printers.map((printer, at) => (at === 0 ? printer : { ...printer, configuration }));
      all.farm.changes.set('C1', { printers });
      await all.pass(30);
      assert.deepEqual(all.farm.sent, ['C1 a', 'C1 a']);
    });
  });

  for (const choose of ['list', 'fewest-hours'] as const)
    it(`prefer, like recalls, another printer for the copy: ${choose}`, async () => {
      one = await all.begin({ choose, startWithin: MINUTE * 1000 });
      all.farm.lives.push(QUEUED);
      await one.add('a', { jobId: 'a' });
      await all.pass(2 * MINUTE);
      assert.deepEqual(all.farm.sent, ['C1 a', 'C2 a']);
    });
});
