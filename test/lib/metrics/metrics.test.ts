import assert from 'node:assert/strict';
import { AccountMetrics, type MetricsSource } from '../../../lib/metrics/account-metrics';
import { METERED_PRINTERS } from '../../../lib/rules/limits';
import type { TextFormat } from '../../../lib/metrics/exposition';
import { scrape } from '../../../lib/metrics/scrape';
import { type EndType, makeEvent, ofJob } from '../../../lib/events/print-event';
import type { ClusterIdentity } from '../../../lib/service/cluster';
import { readPrintJob } from '../../../lib/service/print-job';
import { answer, at, CLUSTER, observation, type Wire } from '../events/observations';
import { ManualClock } from '../../helpers/manual-clock';
import { slot, stationPrinter } from '../../helpers/station';
import { MemoryStore } from '../../helpers/memory-store';

const extruder = (index: number, left: number) => ({
  extruder_index: index,
  estimated_material_volume: left,
  original_material_volume: 100_000,
});
const printer = (more: Wire = {}) => ({ uuid: 'P1', friendly_name: 'Left', status: 'printing', ...more });

describe('metrics', () => {
  let clock: ManualClock;
  let metrics: AccountMetrics;
  let source: MetricsSource;
  let detach: () => void;

  beforeEach(() => {
    clock = new ManualClock();
    metrics = new AccountMetrics('a1', clock);
    source = {
      signInState: () => 'signed-in',
      polled: () => [{ clusterId: CLUSTER, isStale: false }],
      unresolved: () => 0,
      leaseAge: () => null,
    };
    detach = metrics.attach(source);
  });

  const see = (wire: Wire = {}, listed: Partial<ClusterIdentity> = { name: 'Left' }) =>
    metrics.observed(CLUSTER, observation(answer({ printers: [printer()], ...wire }), 0, listed).status);
  const text = (format: TextFormat = 'prometheus') =>
    [...scrape([{ metrics, name: 'Farm', simulated: false }], format)].join('');
  /** The samples of a metric, by their labels without those of account, cluster, printer and name. */
  const samples = (name: string): Record<string, number> =>
    Object.fromEntries(
      text()
        .split('\n')
        .filter((line) => line.startsWith(`remote_printing_${name}{`))
        .map((line) => {
          const [, labels = '', value] = /\{(.*)\} (\S+)$/.exec(line) ?? [];
          return [labels.replace(/(account|cluster|printer|name)="[^"]*",?/g, '').replace(/,$/, ''), Number(value)];
        }),
    );
  const end = (type: EndType, id: string, more: Wire = {}) => {
    const job = readPrintJob(at(id, 'finished', 100, { printer_uuid: 'P1', ...more }), CLUSTER);
    const scene = { clusterId: CLUSTER, clusterName: null, at: '', late: false };
    metrics.derived(CLUSTER, [{ event: makeEvent(scene, type, id, ofJob(job)) }]);
  };

  it('shows the state, the print and the materials of a printer', () => {
    const jobs = [at('J1', 'printing', 25, { printer_uuid: 'P1', time_remaining: 750 })];
    const configuration = [extruder(0, 40_000), extruder(1, 9_000)];
    see({ printers: [printer({ configuration })], print_jobs: jobs }, { name: 'Left', maintenanceDue: true });
    assert.deepEqual(samples('printer_online'), { '': 1 });
    assert.deepEqual(samples('printer_state'), {
      ...{ 'state="idle"': 0, 'state="printing"': 1, 'state="pre_print"': 0, 'state="maintenance"': 0 },
      ...{ 'state="unreachable"': 0, 'state="error"': 0, 'state="other"': 0 },
    });
    assert.deepEqual(samples('job_progress_ratio'), { '': 0.25 });
    assert.deepEqual(samples('job_remaining_seconds'), { '': 750 });
    assert.deepEqual(samples('material_remaining_mm3'), { 'extruder="0"': 40_000, 'extruder="1"': 9_000 });
    assert.deepEqual(samples('material_full_mm3'), { 'extruder="0"': 100_000, 'extruder="1"': 100_000 });
    assert.deepEqual(samples('maintenance_due'), { '': 1 });
    assert.match(text(), /printer_online\{account="a1",cluster="C1",printer="P1",name="Left"\} 1\n/);
  });

  it('shows the share in each slot of a material station whose material and share are known', () => {
    const PLA = { material: 'PLA' };
    const slots = [slot(0, 0, PLA), slot(1, 1, PLA, { material_remaining: 0.25, compatible: false }), slot(2, 1, null)];
    const free = { ...slot(3, -1, PLA), material_remaining: 1 };
    see({ printers: [stationPrinter([...slots, free, slot(4, 0, PLA, { material_remaining: -1 })])] });
    const shares = { 'extruder="0",slot="0"': 0.5, 'extruder="1",slot="1"': 0.25, 'extruder="",slot="3"': 1 };
    assert.deepEqual(samples('material_slot_remaining_ratio'), shares);
    see({ printers: [printer()] });
    assert.deepEqual(samples('material_slot_remaining_ratio'), {});
  });

  it('has no sample for a figure that is not known', () => {
    see({ is_online: null, printers: [printer({ status: 'dancing' })] });
    for (const name of ['printer_online', 'job_progress_ratio', 'job_remaining_seconds', 'material_remaining_mm3'])
      assert.deepEqual(samples(name), {}, name);
    assert.equal(samples('printer_state')['state="other"'], 1);
  });

  it('shows the job of each printer of a group', () => {
    const printers = [printer(), printer({ uuid: 'P2', friendly_name: 'Right' })];
    see({ printers, print_jobs: [at('J1', 'printing', 40, { printer_uuid: 'P2' })] });
    assert.match(text(), /job_progress_ratio\{account="a1",cluster="C1",printer="P2",name="Right"\} 0\.4\n/);
    assert.doesNotMatch(text(), /job_progress_ratio\{[^}]*printer="P1"/);
  });

  it('shows a printer that is offline and lists no printers as unreachable', () => {
    see();
    see({ is_online: false, printers: [] });
    assert.match(text(), /printer_online\{account="a1",cluster="C1",printer="P1",name="Left"\} 0\n/);
    assert.equal(samples('printer_state')['state="unreachable"'], 1);
  });

  it('counts each end of a print once, also before the first status', () => {
    end('job.finished', 'J1');
    end('job.finished', 'J1');
    see();
    end('job.finished', 'J1');
    end('job.failed', 'J2', { time_elapsed: 30 });
    end('job.aborted', 'J3', { printer_uuid: null, time_elapsed: 20 });
    assert.deepEqual(samples('prints_total'), {
      ...{ 'result="finished"': 1, 'result="failed"': 1, 'result="aborted"': 1, 'result="ended"': 0 },
    });
    assert.deepEqual(samples('print_seconds_total'), { '': 1_050 });
  });

  it('measures how long a plate waits, from the first sight of the print that ended', async () => {
    see({ print_jobs: [at('J1', 'wait_cleanup', 100, { printer_uuid: 'P1' })] });
    await clock.advance(90_000);
    see({ print_jobs: [at('J1', 'wait_cleanup', 100, { printer_uuid: 'P1' })] });
    await clock.advance(30_000);
    assert.deepEqual(samples('plate_waiting_seconds'), { '': 120 });
    see({ print_jobs: [at('J2', 'wait_cleanup', 100, { printer_uuid: 'P1' })] });
    assert.deepEqual(samples('plate_waiting_seconds'), { '': 0 });
    await clock.advance(5_000);
    see();
    assert.deepEqual(samples('plate_waiting_seconds'), { '': 0 });
  });

  it('counts requests by code and renewals by result', () => {
    metrics.requestEnded(200, 60);
    metrics.requestEnded(200, 40);
    metrics.requestEnded(null, 31_000);
    metrics.refreshEnded(true);
    metrics.refreshEnded(false);
    metrics.dispatchUnknown();
    assert.deepEqual(samples('requests_total'), { 'code="200"': 2, 'code="none"': 1 });
    assert.deepEqual(samples('refreshes_total'), { 'result="saved"': 1, 'result="failed"': 1 });
    assert.deepEqual(samples('dispatch_unknown_total'), { '': 1 });
    const buckets = samples('request_seconds_bucket');
    assert.equal(buckets['le="0.05"'], 1);
    assert.equal(buckets['le="0.1"'], 2);
    assert.equal(buckets['le="30.0"'], 2);
    assert.equal(buckets['le="+Inf"'], 3);
    assert.deepEqual(samples('request_seconds_count'), { '': 3 });
    assert.deepEqual(samples('request_seconds_sum'), { '': 31.1 });
  });

  it('escapes hostile names and keeps each sample on one line', () => {
    const name = '\\" } 1\nremote_printing_evil 1\r\u0000\ud800"';
    see({}, { name });
    const line = text()
      .split('\n')
      .find((one) => one.startsWith('remote_printing_printer_online'));
    assert.equal(
      line,
      String.raw`remote_printing_printer_online{account="a1",cluster="C1",printer="P1",name="\\\" } 1 remote_printing_evil 1 \""} 1`,
    );
    assert.doesNotMatch(text(), /^remote_printing_evil/m);
  });

  it("shows a printer's own name while the cluster's is unknown", () => {
    see({}, { name: null });
    assert.match(text(), /printer_online\{[^}]*name="Left"\} 1\n/);
  });

  it('shortens long names', () => {
    see({}, { name: 'x'.repeat(10_000) });
    assert.match(text(), /name="x{199}…"/);
  });

  it('follows the new name of a printer', () => {
    see({ printers: [printer({ configuration: [extruder(0, 1)] })] });
    see({ printers: [printer({ configuration: [extruder(0, 1)] })] }, { name: 'Renamed' });
    assert.doesNotMatch(text(), /name="Left"/);
    assert.match(text(), /material_remaining_mm3\{[^}]*name="Renamed",extruder="0"\} 1\n/);
  });

  it('shows no more than the limit of printers, and counts the others', () => {
    const many = Array.from({ length: METERED_PRINTERS + 5 }, (_, nth) => `C${nth}`);
    source.polled = () => many.map((clusterId) => ({ clusterId, isStale: true }));
    const { status } = observation(answer({ printers: [printer()] }));
    for (const clusterId of many) metrics.observed(clusterId, status);
    assert.equal(text().match(/^remote_printing_printer_online\{/gm)?.length, METERED_PRINTERS);
    assert.deepEqual(samples('clusters'), { '': METERED_PRINTERS + 5 });
    assert.deepEqual(samples('stale_clusters'), { '': METERED_PRINTERS + 5 });
  });

  it('hides a printer that is not polled here, and forgets it after ten minutes', async () => {
    see();
    end('job.finished', 'J1');
    source.polled = () => [];
    assert.deepEqual(samples('printer_online'), {});
    await clock.advance(5 * 60_000);
    source.polled = () => [{ clusterId: CLUSTER, isStale: false }];
    assert.equal(samples('prints_total')['result="finished"'], 1);
    source.polled = () => [];
    await clock.advance(5 * 60_000 + 1);
    text();
    source.polled = () => [{ clusterId: CLUSTER, isStale: false }];
    assert.deepEqual(samples('prints_total'), {});
  });

  it('keeps its counts from one deploy to the next', () => {
    metrics.requestEnded(200, 1);
    detach();
    assert.deepEqual(samples('sign_in_state'), {});
    metrics.attach({ ...source, signInState: () => 'sign-in-needed' });
    assert.equal(samples('sign_in_state')['state="sign-in-needed"'], 1);
    assert.deepEqual(samples('requests_total'), { 'code="200"': 1 });
  });

  it('shows the age of the lease in seconds', () => {
    assert.deepEqual(samples('lease_age_seconds'), {});
    source.leaseAge = () => 4_500;
    assert.deepEqual(samples('lease_age_seconds'), { '': 4.5 });
  });

  it('names counters without their suffix, and ends, in OpenMetrics', () => {
    see();
    assert.match(text('openmetrics'), /# TYPE remote_printing_prints counter\nremote_printing_prints_total\{/);
    assert.match(text('openmetrics'), /\n# EOF\n$/);
    assert.match(text(), /# TYPE remote_printing_prints_total counter\n/);
    assert.doesNotMatch(text(), /# EOF/);
  });

  it('measures the reads and the writes of a store, without the change and the wait for the lock', async () => {
    const inner = new MemoryStore();
    const store = metrics.timed(inner);
    await store.put(['k', '1'], { a: 1 });
    assert.deepEqual(await store.get(['k', '1']), { a: 1 });
    const slow = store.update(['k', '1'], async () => {
      await clock.advance(60_000);
      return { a: 2 };
    });
    assert.deepEqual(await slow, { a: 2 });
    await store.waitForLock(['k', '2'], () => clock.advance(60_000));
    assert.deepEqual(samples('store_seconds_count'), { 'operation="read"': 1, 'operation="write"': 2 });
    assert.deepEqual(samples('store_seconds_sum'), { 'operation="read"': 0, 'operation="write"': 0 });
    assert.equal(store.join, undefined);
  });
});
