import assert from 'node:assert/strict';
import { AccountMetrics } from '../../../lib/metrics/account-metrics';
import { scrape } from '../../../lib/metrics/scrape';
import type { QueueReading, QueueMeter, QueueSource } from '../../../lib/queue/model/types';
import { answer, CLUSTER, observation } from '../events/observations';
import { ManualClock } from '../../helpers/manual-clock';

const ITEMS = { waiting: 3, active: 1, held: 0, blocked: 2, finished: 40, failed: 0, cancelled: 0 };
const LEFT = 'account="a1",cluster="C1",printer="P1",name="Left"';
const figuresOf = (...printers: Partial<QueueReading['printers'][number]>[]): QueueReading => ({
  items: ITEMS,
  printers: printers.map((printer) => ({
    ...{ clusterId: CLUSTER, printerId: null, isPlateWaiting: false, isIdle: false },
    ...printer,
  })),
});

describe('metrics of print queues', () => {
  let metrics: AccountMetrics;
  let meter: QueueMeter;

  beforeEach(() => {
    metrics = new AccountMetrics('a1', new ManualClock());
    meter = metrics.queues;
  });

  const see = (...ids: string[]) => {
    const printers = ids.map((uuid) => ({ uuid, friendly_name: 'Left', status: 'idle' }));
    metrics.observed(CLUSTER, observation(answer({ printers }), 0, { name: 'Left' }).status);
  };
  const open = (figures: QueueReading | null, { queueId = 'q1', name = 'Farm' }: Partial<QueueSource> = {}) =>
    meter.attach({ queueId, name, figures: () => figures });
  const lines = (name: string) =>
    [...scrape([{ metrics, name: 'Farm', simulated: false }], 'prometheus')]
      .join('')
      .split('\n')
      .filter((line) => line.startsWith(`remote_printing_${name}{`))
      .map((line) => line.slice(`remote_printing_${name}`.length));

  it('shows the items of a queue by state', () => {
    open(figuresOf());
    assert.deepEqual(
      lines('queue_items'),
      Object.entries(ITEMS).map(([state, count]) => `{account="a1",queue="q1",name="Farm",state="${state}"} ${count}`),
    );
  });

  it('names a queue by its id where it has no name', () => {
    open(figuresOf(), { name: null });
    assert.match(lines('queue_items')[0] ?? '', /queue="q1",name="q1"/);
  });

  it('shows plates and idle printers with the labels of the printer', () => {
    see('P1');
    open(figuresOf({ isPlateWaiting: true }));
    open(figuresOf({ isIdle: true }), { queueId: 'q2' });
    assert.deepEqual(lines('plate_waiting'), [`{${LEFT},queue="q1"} 1`, `{${LEFT},queue="q2"} 0`]);
    assert.deepEqual(lines('queue_printer_idle'), [`{${LEFT},queue="q1"} 0`, `{${LEFT},queue="q2"} 1`]);
  });

  it('distinguishes the printers of a group', () => {
    see('P1', 'P2');
    open(figuresOf({ printerId: 'P2', isPlateWaiting: true }, { printerId: 'P1' }));
    assert.deepEqual(
      lines('plate_waiting').map((line) => /printer="(\w+)".*(\d)$/.exec(line)?.slice(1)),
      [
        ['P2', '1'],
        ['P1', '0'],
      ],
    );
  });

  it('has no sample for a plate that is not known, and for a printer without a status', () => {
    open(figuresOf({ isPlateWaiting: true }));
    assert.deepEqual([lines('plate_waiting'), lines('queue_printer_idle')], [[], []]);
    see('P1');
    assert.equal(lines('plate_waiting').length, 1);
    open(figuresOf({ isPlateWaiting: null }));
    assert.deepEqual([lines('plate_waiting').length, lines('queue_printer_idle').length], [0, 1]);
  });

  it('counts the waits of copies from one deploy to the next, for each queue', () => {
    const close = open(figuresOf());
    meter.waited('q1', 59_000);
    meter.waited('q1', -5_000);
    close();
    assert.deepEqual(lines('queue_wait_seconds_count'), []);
    meter.waited('q1', 7_200_000);
    open(figuresOf());
    open(figuresOf(), { queueId: 'q2' });
    const labels = (queueId: string) => `account="a1",queue="${queueId}",name="Farm"`;
    assert.deepEqual(lines('queue_wait_seconds_count'), [`{${labels('q1')}} 3`, `{${labels('q2')}} 0`]);
    assert.equal(lines('queue_wait_seconds_sum')[0], `{${labels('q1')}} 7259`);
    const below = (le: string) => lines('queue_wait_seconds_bucket').find((line) => line.includes(`le="${le}"`));
    assert.deepEqual([below('60.0')?.slice(-1), below('14400.0')?.slice(-1)], ['2', '3']);
  });

  it('shows the waits alone while another Node-RED plans the queue', () => {
    open(null);
    meter.waited('q1', 1_000);
    assert.deepEqual([lines('queue_items'), lines('queue_wait_seconds_count').length], [[], 1]);
  });

  it('shows a queue with several instances once, by the one that plans', () => {
    open(null);
    open(figuresOf());
    open(null);
    assert.equal(lines('queue_items').length, Object.keys(ITEMS).length);
    assert.equal(lines('queue_wait_seconds_count').length, 1);
  });
});
