import assert from 'node:assert/strict';
import { type Life, QueueFarm, type Runtime } from '../../helpers/queue-farm';

/** A print whose end is named 30 s after its start; it cools for 30 s, and its plate waits until a person clears it. */
const ending = (kind: string): Life => [
  [0, 'printing'],
  [30, `${kind}_post_print`],
  [60, `${kind}_wait_cleanup`],
];

describe('queue at printers that name the end of a print', () => {
  let all: QueueFarm;
  let queue: Runtime;

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  const begin = async (gate: 'printer' | 'confirm' | 'automatic', life: Life) => {
    queue = await all.begin({ printers: ['C1'], gate });
    all.farm.lives.push(life);
    await queue.add('a');
    await queue.add('b');
  };
  const printer = async () => (await queue.printers())[0] ?? assert.fail();
  const reason = async () => {
    const { code, text } = await printer();
    return `${code} ${String(text)}`;
  };
  const printEvents = () => queue.events.map(({ type }) => type).filter((type) => /^(print|plate)\./.test(type));

  for (const kind of ['aborted', 'failed'] as const)
    it(`ends a copy that ${kind} at once, and prints the next one only when its plate was cleared`, async () => {
      await begin('printer', ending(kind));
      await all.pass(30);
      assert.equal((await queue.item('a')).prints[0]?.state, kind);
      assert.equal(await reason(), 'BUSY The print on the printer has ended, but the printer is not free yet.');
      await all.pass(40);
      assert.equal((await printer()).code, 'PLATE_NOT_CLEARED');
      await all.pass(300);
      assert.deepEqual(all.farm.sent, ['C1 job']);
      all.farm.become(all.farm.prints[0], kind);
      await all.pass(30);
      assert.deepEqual(all.farm.sent, ['C1 job', 'C1 job']);
      await all.pass(100);
      assert.deepEqual(printEvents(), [
        ...['print.dispatched', 'print.started', `print.${kind}`, 'plate.awaiting'],
        ...['print.dispatched', 'plate.cleared', 'print.started', 'print.finished'],
      ]);
      assert.equal((await queue.item('b')).state, 'finished');
    });

  it('keeps the next copy away while the printer waits for an answer at its display', async () => {
    await begin('automatic', [
      [0, 'printing'],
      [30, 'failed_wait_user_action'],
    ]);
    await all.pass(30);
    await queue.clear(true);
    await all.pass(300);
    assert.equal((await printer()).code, 'BUSY');
    assert.deepEqual(all.farm.sent, ['C1 job']);
    all.farm.become(all.farm.prints[0], 'failed');
    await all.pass(30);
    assert.equal(all.farm.sent.length, 2);
  });

  it('opens the gate only by a person who confirms, in the mode confirm', async () => {
    await begin('confirm', ending('aborted'));
    await all.pass(100);
    all.farm.become(all.farm.prints[0], 'aborted');
    await all.pass(60);
    assert.equal((await printer()).plate, 'awaiting');
    assert.equal(all.farm.sent.length, 1);
    await queue.clear(true);
    await all.pass(20);
    assert.equal(all.farm.sent.length, 2);
  });

  it('sends nothing to a printer that shows a word of which only the end is known', async () => {
    await begin('automatic', [[0, 'odd_wait_cleanup']]);
    await all.pass(20);
    for (const { end } of queue.followed) end({ outcome: 'finished', job: null });
    await all.pass(120);
    assert.equal((await printer()).code, 'PLATE_NOT_CLEARED');
    assert.equal(all.farm.sent.length, 1);
  });

  it('sends nothing to a printer whose only job has an unknown word', async () => {
    queue = await all.begin({ printers: ['C1'], gate: 'automatic' });
    all.farm.changes.set('C1', {
      printers: [{ uuid: 'P', status: 'idle', enabled: true }],
      print_jobs: [{ uuid: 'odd', status: 'a_new_word', printer_uuid: 'P' }],
    });
    await all.pass(20);
    await queue.add('a');
    await all.pass(60);
    assert.equal((await printer()).code, 'BUSY');
    assert.deepEqual(all.farm.sent, []);
  });

  it('closes the gate at the first sight of a printer whose print was aborted', async () => {
    all.farm.printByHand('C1', [[0, 'aborted_post_print']]);
    queue = await all.begin({ printers: ['C1'], gate: 'automatic' });
    await queue.add('a');
    all.farm.become(all.farm.prints[0], 'aborted');
    await all.pass(60);
    assert.equal((await printer()).code, 'PLATE_NOT_CLEARED');
    assert.deepEqual(all.farm.sent, []);
  });

  it('says what keeps the first job from beginning, whoever has sent it', async () => {
    const problem = { impediments_to_printing: [{ translation_key: 'does_not_fit_in_build_volume', severity: '3' }] };
    all.farm.waiting.set('C1', problem);
    await begin('automatic', [[0, 'queued']]);
    await all.pass(20);
    assert.equal(await reason(), 'BUSY A print waits in the printer: The print does not fit in the printer.');
    await all.close();
    all = new QueueFarm();
    all.farm.waiting.set('C1', problem);
    all.farm.printByHand('C1', [[0, 'queued']]);
    queue = await all.begin({ printers: ['C1'] });
    assert.equal(
      await reason(),
      'FOREIGN_JOB Another job waits in the printer: The print does not fit in the printer.',
    );
  });

  it('records why a print failed', async () => {
    await begin('automatic', ending('failed'));
    all.farm.ended.set('C1', {
      impediments_to_printing: [{ translation_key: 'a_key', severity: 1 }],
      status_message: { body: 'No filament.' },
    });
    await all.pass(90);
    const [print] = (await queue.item('a')).prints;
    assert.equal(String(print?.reason), 'The printer can’t print this job: a_key; “No filament”.');
    const failed = queue.events.find(({ type }) => type === 'print.failed');
    assert.equal(String(failed?.print?.reason), String(print?.reason));
    assert.equal((await queue.item('b')).prints[0]?.reason ?? null, null);
  });
});
