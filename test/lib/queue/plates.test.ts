import assert from 'node:assert/strict';
import { OFFLINE, QueueFarm, type Runtime } from '../../helpers/queue-farm';
import { answer, at, job, type Wire } from '../events/observations';

const MODES = ['printer', 'confirm', 'automatic'] as const;

/**
 * A status of a printer, or: a person clears its plate, the process starts anew, polls fail for so many seconds, or statuses
 * come 10 s apart for so long.
 */
type Step = Wire | 'clear' | 'restart' | { unread: number } | { again: number };

const printing = (id: string) => at(id, 'printing', 50);
const finished = (id: string) => at(id, 'finished', 100);
const past = (...jobs: Wire[]) => ({ recently_completed: jobs });
const BUSY = { printers: [{ uuid: 'P1', status: 'printing' }] };
const under = (id: string, ...before: Wire[]) => ({ ...BUSY, print_jobs: [printing(id)], ...past(...before) });
const cleanup = (id: string, percent = 100, ...before: Wire[]) => ({
  ...{ ...BUSY, print_jobs: [at(id, 'wait_cleanup', percent)], ...past(...before) },
});
/** A print that is seen under way, and then in the history. */
const print = (end: Wire, ...before: Wire[]) => [under(String(end.uuid), ...before), past(end, ...before)];
const idle = { uuid: 'P1', status: 'idle' };

describe('queue/plates', () => {
  let all: QueueFarm;

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  const A = finished('a');
  const B = finished('b');
  const FAILED_A = at('a', 'failed', 60);
  const ABORTED_A = at('a', 'aborted', 60);
  const QUEUED = { print_jobs: [job('a', 'queued')] };
  const VANISHED = [{}, under('a'), {}, {}];
  const CLEANED = [{}, cleanup('a'), past(A)];
  const { uuid: _, ...NAMELESS } = at('', 'printing', 50);
  const AWAY = { is_online: false, print_jobs: [printing('x')] };
  const LEAVING = { ...BUSY, print_jobs: [at('a', 'failed_post_print', 60)] };
  const NAMED = { ...BUSY, print_jobs: [at('a', 'failed_wait_cleanup', 60)] };
  const like = (status: string, ...jobs: Wire[]) => ({ printers: [{ ...idle, status }], print_jobs: jobs });
  const SHOWN = [...CLEANED, 'clear', under('b', A)] as const;

  /**
   * Whether each mode (`printer`, `confirm`, `automatic`) opens the plate after these statuses of its printer, and the
   * events of the plate in `confirm`: it awaits a person (A), it was cleared (C).
   */
  const GATES: [title: string, result: string, ...steps: Step[]][] = [
    ['is open at the first sight', 'open open open ', {}],
    ['needs a person at the first sight with a history', 'open closed open A', past(A), past(A)],
    ['closes after a print that finished', 'closed closed open A', {}, ...print(A)],
    ['closes after a print that failed', 'closed closed closed A', {}, ...print(FAILED_A)],
    ['closes after a print that was aborted', 'closed closed closed A', {}, ...print(ABORTED_A)],
    ['opens when a person clears it', 'open open open AC', {}, ...print(ABORTED_A), 'clear'],
    ['closes after a print found under way', 'closed closed open A', ...print(B, A)],
    ['closes once a print has vanished', 'closed closed closed A', ...VANISHED],
    ['is that of a print while the printer prints', 'busy busy busy ', {}, under('a'), BUSY, BUSY, BUSY],
    ['closes after an end out of sight', 'closed closed open ACA', ...VANISHED, 'clear', under('a'), past(A)],
    ['closes after a print between two polls', 'closed closed open ACA', past(A), 'clear', past(B, A)],
    ['closes after each of two prints', 'closed closed open ACA', {}, past(A), past(B, A)],
    ['closes after a print that failed at once', 'closed closed closed A', {}, QUEUED, past(job('a', 'failed'))],
    [
      'stays closed after a failed print when the history shows an older one late',
      'closed closed closed A',
      ...[{}, past(at('b', 'failed', 60)), past(at('b', 'failed', 60), A)],
    ],
    [
      'needs a person when the history shows an older print late, after the cleanup of the last one',
      'closed closed closed ACA',
      ...[...CLEANED, 'clear', past(A, B)],
    ],
    ['stays open after a job that never began', 'open open open ', {}, QUEUED, past(job('a', 'aborted'))],
    ['stays closed during the cleanup', 'closed closed closed A', {}, cleanup('a', 60)],
    ['opens by the printer after the cleanup', 'open closed closed A', {}, cleanup('a', 60), past(ABORTED_A)],
    ['stays closed until the printer is idle', 'closed closed busy A', {}, cleanup('a'), { ...BUSY, ...past(A) }],
    ['opens without a cleanup where one was shown before', 'open closed open ACA', ...CLEANED, ...print(B, A)],
    [
      'stays closed then after a failed print',
      'closed closed closed ACA',
      ...CLEANED,
      ...print(at('b', 'failed', 50), A),
    ],
    ['stays closed over an offline time', 'closed closed open A', {}, ...print(A), AWAY, {}, {}],

    // Before the cleanup, and during it
    ['is closed while its printer cools down after the end', 'closed closed closed A', {}, LEAVING],
    ['is closed while a finished print is not cleaned up', 'closed closed busy A', {}, cleanup('a')],
    ['is closed while a failed print is not cleaned up', 'closed closed closed A', {}, NAMED],
    ['opens after the cleanup of a finished print', 'open closed open A', ...CLEANED],
    ['opens by the printer after the cleanup of a failed print', 'open closed closed A', {}, NAMED, past(FAILED_A)],
    [
      'is closed after a cleanup of which the end is unknown',
      'closed closed closed A',
      ...[{}, { print_jobs: [job('a', 'odd_wait_cleanup')] }, AWAY, {}],
    ],

    // Seen to be over
    ['opens over a status without jobs', 'open closed open A', {}, cleanup('a'), { print_jobs: null }, past(A)],
    ...[null, undefined, 'none', 5].map((print_jobs): [string, string, ...Step[]] => [
      `stays closed in a cleanup whose status has ${JSON.stringify(print_jobs)} in place of its jobs`,
      'closed closed busy A',
      ...[{}, cleanup('a'), { print_jobs }],
    ]),
    ['opens over a single failed poll', 'open closed open A', {}, cleanup('a'), { unread: 10 }, past(A)],
    ['opens over so many failed polls as last 110 s', 'open closed open A', {}, cleanup('a'), { unread: 100 }, past(A)],
    ['stays closed if nobody watched for longer', 'closed closed open A', {}, cleanup('a'), { unread: 130 }, past(A)],
    ['stays closed after a start in between', 'closed closed open A', {}, cleanup('a'), 'restart', past(A)],
    ['stays closed after a power cycle', 'closed closed open A', {}, cleanup('a'), OFFLINE, past(A)],
    [
      'stays closed after a failed print and a power cycle',
      'closed closed closed A',
      {},
      NAMED,
      OFFLINE,
      past(FAILED_A),
    ],
    [
      'stays closed if the printer was unreachable meanwhile',
      'closed closed open A',
      ...[{}, cleanup('a'), like('unreachable', at('a', 'wait_cleanup', 100)), past(A)],
    ],
    [
      'stays closed if the printer booted meanwhile',
      'closed closed open A',
      {},
      cleanup('a'),
      like('booting'),
      past(A),
    ],
    [
      'stays closed if the status lacked the printer',
      'closed closed open A',
      {},
      cleanup('a'),
      { printers: [] },
      past(A),
    ],
    [
      'opens if the cleanup is shown again after a gap',
      'open closed open A',
      {},
      cleanup('a'),
      OFFLINE,
      ...CLEANED.slice(1),
    ],
    ['opens once the printer is idle', 'open closed open A', {}, cleanup('a'), like('error'), past(A)],
    [
      'stays closed after a gap before the printer is idle',
      'closed closed open A',
      {},
      cleanup('a'),
      like('error'),
      OFFLINE,
      past(A),
    ],

    // A cleanup that nobody saw
    [
      'needs a person after a gap where a cleanup was shown before',
      'closed closed open ACA',
      ...SHOWN,
      { unread: 130 },
      past(B, A),
    ],
    [
      'needs a person after a start where a cleanup was shown before',
      'closed closed open ACA',
      ...SHOWN,
      'restart',
      past(B, A),
    ],
    [
      'needs a person after an offline time where a cleanup was shown before',
      'closed closed open ACA',
      ...SHOWN,
      OFFLINE,
      past(B, A),
    ],

    // By the printer's status alone
    ['is closed while the printer prints without a job', 'busy busy busy ', {}, BUSY],
    ['closes after a print without a job', 'closed closed closed A', {}, BUSY, {}, {}],
    ['closes after a print without a job that was found under way', 'closed closed closed A', BUSY, {}, {}],
    [
      'closes after a print without a job that follows a cleanup',
      'closed closed closed ACA',
      {},
      cleanup('a'),
      { ...BUSY, ...past(A) },
      { ...BUSY, ...past(A) },
      past(A),
      past(A),
    ],
    [
      'closes after a print without a job behind a finished one',
      'closed closed closed ACA',
      {},
      under('a'),
      { ...BUSY, ...past(A) },
      { again: 130 },
      past(A),
      past(A),
    ],
    [
      'takes a late status of the printer for the end of its print',
      'closed closed open A',
      {},
      under('a'),
      { ...BUSY, ...past(A) },
      past(A),
    ],
    [
      'takes an early status of the printer for the beginning of a print',
      'open closed open A',
      {},
      BUSY,
      under('a'),
      ...CLEANED.slice(1),
    ],
    [
      'closes after a print that the lists never show as begun',
      'closed closed closed A',
      {},
      { print_jobs: [job('a', 'queued')], ...BUSY },
      {},
      {},
    ],

    // Out of sight
    [
      'closes after a print that only statuses without printers have listed',
      'closed closed closed A',
      ...[{}, { printers: [], print_jobs: [printing('a')] }, { printers: [] }, {}, {}],
    ],
    [
      'closes once after a print that a status without printers still lists after its end',
      'closed closed open A',
      ...[{}, ...print(A), { printers: [], print_jobs: [printing('a')] }, past(A), past(A)],
    ],
    [
      'closes after a print that ended while statuses had no printers',
      'closed closed open A',
      ...[{}, { printers: [], print_jobs: [printing('a')] }, { printers: [], ...past(A) }, past(A)],
    ],
    [
      'closes after a print that only the history of a status without printers has listed',
      'closed closed closed A',
      ...[{}, { printers: [], ...past(FAILED_A) }, {}, {}],
    ],
    [
      'closes after a print that finished, and that only the history of a status without printers has listed',
      'closed closed open ACA',
      ...[...SHOWN.slice(0, 4), { printers: [], ...past(B, A) }, past(B, A)],
    ],
    [
      'closes after a print whose cleanup only a status without printers has listed',
      'closed closed closed A',
      ...[{}, { printers: [], print_jobs: [at('a', 'wait_cleanup', 100)] }, {}, {}],
    ],
    [
      'closes after a print without an id that only a status without printers has listed',
      'closed closed closed A',
      ...[{}, { printers: [], print_jobs: [NAMELESS] }, {}, {}],
    ],
    [
      'closes once over a cleanup that a status without printers has listed too',
      'open closed closed A',
      ...[{}, NAMED, { ...NAMED, printers: [] }, NAMED, past(FAILED_A)],
    ],

    // A print whose job has no id
    ...['pre_print', 'printing', 'failed_post_print', 'wait_cleanup', 'odd_word'].flatMap((status) =>
      [idle, BUSY.printers[0]].map((printer): [string, string, ...Step[]] => [
        `closes after a print in ${status} whose job has no id, on a printer that is ${printer?.status}`,
        'closed closed closed A',
        ...[{}, { printers: [printer], print_jobs: [{ status }] }, {}, {}],
      ]),
    ),
    [
      'stays open after a queued job without an id',
      'open open open ',
      {},
      { print_jobs: [{ status: 'queued' }] },
      {},
      {},
    ],

    ['is closed while a job without an id prints', 'busy busy busy ', {}, { ...BUSY, print_jobs: [NAMELESS] }],
    [
      'closes after a print without an id that was found under way',
      'closed closed closed A',
      ...[{ print_jobs: [NAMELESS] }, {}, {}],
    ],
    [
      'closes after a print without an id beside a queued job',
      'closed closed closed A',
      ...[{}, { print_jobs: [NAMELESS, job('a', 'queued')] }, { print_jobs: [job('a', 'queued')] }, {}, {}],
    ],

    // What counts as begun
    [
      'closes after a print whose record says that it began',
      'closed closed closed A',
      {},
      past(job('a', 'aborted', { started: true })),
    ],
    [
      'stays open after a failed job that is known not to have begun',
      'open open open ',
      {},
      past(job('a', 'failed', { started: false })),
    ],
    [
      'closes after a print that only heated',
      'closed closed closed A',
      {},
      { print_jobs: [job('a', 'pre_print')] },
      past(job('a', 'aborted')),
    ],
    [
      'closes after a print whose record shows later that it began',
      'closed closed closed A',
      {},
      past(job('a', 'aborted')),
      past(ABORTED_A),
    ],

    // First sight
    ['closes at the first sight of a cleanup', 'closed closed busy A', cleanup('a')],
    ['opens after the cleanup that the first sight showed', 'open closed open A', cleanup('a'), past(A)],
    ['closes at the first sight of an end before the cleanup', 'closed closed closed A', LEAVING, past(FAILED_A)],
    ['opens at the first sight of a printer that booted before', 'open open open ', like('booting'), {}],
    ['stays as its first sight left it over a start', 'open closed open A', past(A), 'restart', past(A)],
    [
      'needs no second confirmation after a start',
      'open open open AC',
      {},
      ...print(FAILED_A),
      'clear',
      'restart',
      past(FAILED_A),
    ],
    ['stays closed over a start', 'closed closed closed A', {}, ...print(FAILED_A), 'restart', past(FAILED_A)],
    ['stays that of a print over a start', 'busy busy busy ', {}, under('a'), 'restart', under('a')],
    ['closes after a print that ended while nothing ran', 'closed closed open A', {}, under('a'), 'restart', past(A)],
    [
      'closes after a print that vanished while nothing ran',
      'closed closed closed A',
      {},
      under('a'),
      'restart',
      {},
      {},
    ],
  ];

  for (const [title, result, ...steps] of GATES)
    it(title, async () => {
      all.farm.changes.set('C1', OFFLINE);
      const start = () => MODES.map((gate) => all.start({ gate, printers: ['C1'] }, { queueId: gate }));
      let queues = start();
      const events: string[] = [];
      const told = () => events.push(...(queues[1]?.types('plate').splice(0) ?? []));
      await all.pass(10);
      for (const step of steps) {
        if (step === 'clear') await queues[1]?.clear(true);
        else if (step === 'restart') {
          told();
          for (const queue of queues) all.kill(queue);
          queues = start();
        } else if ('unread' in step) {
          all.farm.unreadable.add('C1');
          await all.pass(Number(step.unread) - 10);
        } else if ('again' in step) await all.pass(Number(step.again) - 10);
        else all.farm.changes.set('C1', answer(step));
        await all.pass(10);
        all.farm.unreadable.clear();
      }
      const seen: unknown[] = [];
      for (const queue of queues) {
        const [{ plate, free } = assert.fail()] = await queue.printers();
        seen.push(plate === 'awaiting' ? 'closed' : free ? 'open' : 'busy');
      }
      told();
      const shown = events.map((type) => (type === 'plate.awaiting' ? 'A' : 'C'));
      assert.equal(`${seen.join(' ')} ${shown.join('')}`, result);
    });

  describe('of one queue', () => {
    let one: Runtime;
    /** Shows the statuses of a cluster, one poll each. Returns the states of its printers' plates. */
    const see = async (clusterId: string, ...wires: Wire[]) => {
      for (const wire of wires) {
        all.farm.changes.set(clusterId, answer(wire));
        await all.pass(10);
      }
      return (await one.printers()).filter((one) => one.clusterId === clusterId).map(({ plate }) => plate);
    };
    const FAILED = past(at('a', 'failed', 50));

    it('stays that of a print while a single answer lacks it', async () => {
      one = all.start({ printers: ['C1'] });
      await see('C1', {}, under('a'), {}, under('a'), {});
      assert.deepEqual(one.types('plate'), []);
      await see('C1', {});
      assert.deepEqual(one.types('plate'), ['plate.awaiting']);
    });

    for (const gate of MODES)
      it(`is not given to a print in the mode ${gate} while the newest status shows no printer`, async () => {
        one = all.start({ gate, printers: ['C1'] });
        await see('C1', {}, { printers: [] });
        await one.add('a');
        await all.pass(60);
        assert.deepEqual([all.farm.sent, (await one.printers())[0]?.code], [[], 'STALE']);
        assert.deepEqual([(await one.item('a')).state, await one.codes('a')], ['waiting', ['STALE']]);
        await see('C1', {});
        assert.equal(all.farm.sent.length, 1);
      });

    it('is not given to a print if the read just before its departure shows no printer', async () => {
      one = all.start({ printers: ['C1'] });
      await see('C1', {});
      all.farm.onRead = () => void all.farm.changes.set('C1', answer({ printers: [] }));
      await one.add('a');
      assert.equal(all.farm.count('clusterStatus C1'), 1);
      assert.deepEqual(all.farm.sent, []);
    });

    it('is that of its own cluster where two printers have neither an id nor a GUID of their own', async () => {
      const nil = '00000000-0000-0000-0000-000000000000';
      const nameless = (wire: Wire) => ({ printers: [{ uuid: nil, status: 'idle' }], ...wire });
      all.farm.clusters.set('C1', { host_guid: nil }).set('C2', { host_guid: nil });
      one = all.start({ gate: 'printer', printers: [] });
      await see('C2', nameless({}), nameless({}));
      assert.deepEqual(await see('C1', nameless({}), nameless(FAILED)), ['awaiting']);
      assert.deepEqual(await see('C2', nameless({}), nameless({})), ['clear']);
      assert.deepEqual(await see('C1', nameless(FAILED)), ['awaiting']);
    });

    it('stays closed when the machine is connected anew under another id, also after a restart', async () => {
      const { clusters } = all.farm;
      clusters.set('C1', { host_guid: 'machine' }).set('C2', { host_guid: 'other' });
      one = all.start({ gate: 'printer', printers: [] });
      assert.deepEqual(await see('C1', {}, FAILED), ['awaiting']);
      assert.deepEqual(await see('C2', { printers: [{ ...idle, uuid: 'P2' }] }), ['clear']);
      all.kill(one);
      clusters.delete('C1');
      clusters.set('C3', { host_guid: 'machine' });
      one = all.start({ gate: 'printer', printers: [] });
      assert.deepEqual(await see('C3', {}, FAILED), ['awaiting']);
      await one.clear(true, 'C3');
      assert.deepEqual(await see('C3', FAILED), ['clear']);
    });

    it('is cleared by the id of its own printer alone, and in a group by no other', async () => {
      const group = {
        printers: [
          { ...idle, uuid: 'P2' },
          { ...idle, uuid: 'P3' },
        ],
      };
      all.farm.changes.set('C2', answer(group));
      one = all.start({ gate: 'confirm' });
      await see('C1', {}, FAILED);
      await assert.rejects(one.clear(true, 'C1', 'P3'), { code: 'NOT_FOUND' });
      await assert.rejects(one.clear(true, 'C9'), { code: 'NOT_FOUND' });
      await one.clear(true, 'C1', 'P1');
      assert.deepEqual(await see('C1', FAILED), ['clear']);
      await one.add('a', { require: { printers: ['C2'] } });
      const end = { ...group, ...past(at('print-1', 'finished', 100, { printer_uuid: 'P3', printed_on_uuid: 'P3' })) };
      assert.deepEqual(await see('C2', end), ['clear', 'awaiting']);
      await assert.rejects(one.clear(true, 'C2'), { code: 'INVALID_INPUT' });
      await one.clear(true, 'C2', 'P3');
      assert.deepEqual(await see('C2', end), ['clear', 'clear']);
    });

    it('is not known to be open while what was seen can’t be written', async () => {
      one = all.start({ printers: ['C1'] });
      await see('C1', {});
      one.beforeUpdates(([kind]) => {
        if (kind === 'queue-plate') throw new Error('The disk is full');
      });
      await see('C1', FAILED);
      assert.equal((await one.printers())[0]?.code, 'STALE');
    });

    it('waits for the verdict on its print although the history shows an older one late', async () => {
      one = all.start({ gate: 'confirm', printers: ['C1'] });
      await one.add('k');
      await all.pass(90);
      const { recently_completed: shown } = all.farm.status('C1');
      all.farm.changes.set('C1', past(...shown, A));
      await all.pass(20);
      assert.equal(await one.outcome('k'), 'active: finished; 1 active');
      assert.deepEqual(one.types('plate'), ['plate.awaiting']);
      await one.clear(false);
      assert.ok(one.types().includes('print.rejected'));
    });

    it('is cleared by nobody while the printer prints', async () => {
      one = all.start({ gate: 'confirm', printers: ['C1'] });
      await see('C1', {}, ...print(A), under('b', A));
      await assert.rejects(one.clear(false), { code: 'NOT_ACCEPTED' });
    });

    it('is clear once a person clears it before the printer is free, which gets nothing until then', async () => {
      one = all.start({ gate: 'confirm', printers: ['C1'] });
      await see('C1', {}, under('a'), LEAVING);
      await one.clear(true);
      await one.add('b');
      assert.deepEqual(await see('C1', LEAVING), ['clear']);
      assert.deepEqual(await see('C1', { is_online: false, printers: [] }), ['clear']);
      assert.deepEqual(one.types('plate'), ['plate.awaiting', 'plate.cleared']);
      assert.deepEqual(all.farm.sent, []);
      assert.deepEqual(await see('C1', past(FAILED_A)), ['clear']);
      assert.equal(all.farm.sent.length, 1);
    });

    it('is announced where the mode does not open it at once, also after another end than it seemed', async () => {
      one = all.start({ gate: 'automatic', printers: ['C1'] });
      await see('C1', {}, past(A));
      assert.deepEqual(one.types('plate'), []);
      await see('C1', past(ABORTED_A));
      assert.deepEqual(one.types('plate'), ['plate.awaiting']);
    });

    it('is announced under another id when it waits again under another mode', async () => {
      const deploy = async (gate: 'confirm' | 'automatic') => {
        await all.close();
        all.runtimes = [];
        one = await all.begin({ gate, printers: ['C1'] });
        return one.events.map(({ type }) => type);
      };
      one = all.start({ gate: 'confirm', printers: ['C1'] });
      await see('C1', {}, past(A));
      const [first] = one.events;
      assert.deepEqual(await deploy('automatic'), ['plate.cleared']);
      assert.deepEqual(await deploy('confirm'), ['plate.awaiting']);
      assert.notEqual(one.events[0]?.id, first?.id);
      await one.clear(true);
      assert.deepEqual(
        one.events.map(({ id }) => id.split('/').at(-1)),
        Array(2).fill(one.events[0]?.id.split('/').at(-1)),
      );
    });

    describe('on a printer that the queue does not use any more', () => {
      const deploy = async (...printers: string[]) => {
        await all.close();
        all.runtimes = [];
        one = await all.begin({ gate: 'confirm', printers });
      };

      it('is announced for the part that waits for its verdict, until another print follows', async () => {
        one = await all.begin({ gate: 'confirm', printers: ['C1'] });
        await one.add('a');
        await all.pass(30);
        await deploy('C2');
        await all.pass(60);
        assert.deepEqual(one.types('plate'), ['plate.awaiting']);
        await one.clear(true, 'C1');
        assert.deepEqual(one.types('plate'), ['plate.awaiting', 'plate.cleared']);
        all.farm.printByHand('C1');
        await all.pass(120);
        assert.deepEqual(one.types('plate'), ['plate.awaiting', 'plate.cleared']);
      });

      it('is announced as cleared if it was announced before', async () => {
        one = await all.begin({ gate: 'confirm', printers: ['C1', 'C2'] });
        all.farm.printByHand('C1');
        await all.pass(90);
        assert.deepEqual(one.types('plate'), ['plate.awaiting']);
        await deploy('C2');
        await one.clear(true, 'C1');
        assert.deepEqual(one.types('plate'), ['plate.cleared']);
      });
    });

    it('is announced as cleared by another queue, unless that was before the queue saw it', async () => {
      const start = (queueId: string) => (one = all.start({ gate: 'confirm', printers: ['C1'] }, { queueId }));
      const other = start('other');
      start('queue');
      await see('C1', {});
      all.kill(one);
      one = other;
      await see('C1', past(A));
      await other.clear(true);
      start('queue');
      await all.pass(60);
      assert.deepEqual(one.types('plate'), ['plate.awaiting', 'plate.cleared']);
      start('third');
      await all.pass(20);
      assert.deepEqual(one.types('plate'), []);
    });

    it('is announced once although another queue applies later what it saw before the end', async () => {
      one = all.start({ gate: 'automatic', printers: ['C1'] });
      await see('C1', {});
      const late = all.start({ gate: 'automatic', printers: ['C1'] }, { queueId: 'other' });
      await see('C1', {});
      let isFull = true;
      late.beforeUpdates(([kind]) => {
        if (isFull && kind === 'queue-plate') throw new Error('The disk is full');
      });
      await see('C1', under('a'), past(FAILED_A));
      isFull = false;
      assert.deepEqual(await see('C1', past(FAILED_A), past(FAILED_A)), ['awaiting']);
      assert.deepEqual(one.types('plate'), ['plate.awaiting']);
    });

    /** Ends of prints, and clearings, while no runtime plans the queue; the events of their plates come afterwards. */
    const MISSED: [title: string, gate: (typeof MODES)[number], told: string, ...steps: (Wire | 'clear')[]][] = [
      ['each of two prints that ended', 'confirm', 'ACAC', past(A), 'clear', past(B, A), 'clear'],
      ['the first of them that nobody cleared', 'confirm', 'ACA', past(A), past(B, A)],
      ['a failed print before a finished one', 'automatic', 'AC', past(FAILED_A), 'clear', past(B, FAILED_A)],
      ['a failed print during the next one', 'automatic', 'AC', past(FAILED_A), 'clear', under('b', FAILED_A)],
      ['no finished print that needs nobody', 'automatic', '', past(A), past(B, A)],
      ['a cleanup that was confirmed at the printer', 'printer', 'AC', cleanup('a'), past(A)],
      ['both cleanups', 'printer', 'ACAC', cleanup('a'), past(A), cleanup('b', 100, A), past(B, A)],
      ['prints that nobody watched', 'confirm', 'ACACA', past(at('c', 'finished', 100), B, A)],
    ];
    for (const [title, gate, told, ...steps] of MISSED)
      it(`is announced although the queue was not planned meanwhile: ${title}`, async () => {
        const start = (queueId: string) => (one = all.start({ gate, printers: ['C1'] }, { queueId }));
        const other = start('other');
        start('queue');
        await see('C1', {});
        all.kill(one);
        one = other;
        for (const step of steps)
          if (step === 'clear') await other.clear(true);
          else await see('C1', step);
        start('queue');
        await all.pass(60);
        assert.equal(
          one
            .types('plate')
            .map((type) => (type === 'plate.awaiting' ? 'A' : 'C'))
            .join(''),
          told,
        );
        const ids = one.events.filter(({ type }) => type.startsWith('plate')).map(({ id }) => id);
        assert.deepEqual(ids, [...new Set(ids)]);
      });
  });
});
