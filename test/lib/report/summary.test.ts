import assert from 'node:assert/strict';
import type { Row } from '../../../lib/report/csv';
import { Summary } from '../../../lib/report/summary';

const summed = (rows: Row[], columns = Object.keys(rows[0] ?? {})) => {
  const summary = new Summary();
  // In parts, as they arrive.
  for (const row of rows) summary.add([row], columns);
  summary.add([], columns);
  return summary.result;
};

describe('lib/report/summary', () => {
  it('counts prints and hours, in all, by printer and by material', () => {
    const row = (printer: string, from: string, to: string, first: string, second = '') => ({
      ...{ printer_name: printer, started_at: `2030-01-01T${from}:00Z`, removed_at: `2030-01-01T${to}:00Z` },
      ...{ extruder_1_material: first, extruder_2_material: second },
    });
    const rows = [
      row('A', '10:00', '11:00', 'PLA'),
      row('B', '10:00', '10:30', 'PLA', 'ABS'),
      row('B', '12:00', '14:00', 'PLA', 'PLA'),
    ];
    assert.deepEqual(summed(rows), {
      ...{ prints: 3, finished: null, failed: null, aborted: null, hours: 3.5 },
      printers: [
        { name: 'B', prints: 2, hours: 2.5 },
        { name: 'A', prints: 1, hours: 1 },
      ],
      materials: [
        { name: 'PLA', prints: 3, hours: 3.5 },
        { name: 'ABS', prints: 1, hours: 0.5 },
      ],
    });
  });

  it('reads times without a zone as UTC, also over a change of the clock', () => {
    const zone = process.env.TZ;
    process.env.TZ = 'Europe/Berlin';
    try {
      const night = { started_at: '2030-03-31T00:00:00', removed_at: '2030-03-31 04:00:00' };
      assert.equal(summed([night]).hours, 4);
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });

  it('counts ends and elapsed seconds where the report names them', () => {
    const rows = ['finished', 'Finished', 'failed', 'aborted', 'odd', ''].map((status) => ({
      ...{ status, time_elapsed: '3600' },
    }));
    assert.deepEqual(summed(rows), {
      ...{ prints: 6, finished: 2, failed: 1, aborted: 1, hours: 6, printers: null, materials: null },
    });
  });

  it('reads the columns in any spelling', () => {
    const row = { 'Printer Name': 'A', Status: 'finished', timeElapsed: '3600', 'Extruder 1 Material': 'PLA' };
    assert.deepEqual(summed([row]), {
      ...{ prints: 1, finished: 1, failed: 0, aborted: 0, hours: 1 },
      printers: [{ name: 'A', prints: 1, hours: 1 }],
      materials: [{ name: 'PLA', prints: 1, hours: 1 }],
    });
  });

  it('counts an end in every word that names it, and no other', () => {
    const aborted = ['aborted_post_print', 'aborted_wait_user_action', 'aborted_wait_cleanup', 'aborted_anyhow'];
    const failed = ['failed_post_print', 'failed_wait_cleanup', 'error', ' Error '];
    const others = ['aborting', 'wait_cleanup', 'printing', 'constructor'];
    const rows = [...aborted, ...failed, ...others].map((status) => ({ status }));
    const { finished, ...ends } = summed(rows);
    assert.deepEqual([finished, ends.failed, ends.aborted], [0, 4, 4]);
  });

  it('has null for what the report lacks, and no time for dates that make no sense', () => {
    const nothing = { finished: null, failed: null, aborted: null, printers: null, materials: null };
    assert.deepEqual(summed([{ a: '1' }]), { ...nothing, prints: 1, hours: null });
    assert.deepEqual(summed([], ['started_at', 'removed_at']), { ...nothing, prints: 0, hours: 0 });
    const odd = { started_at: '2030-01-02', removed_at: '2030-01-01' };
    assert.deepEqual(summed([odd, { started_at: 'x', removed_at: '' }]), { ...nothing, prints: 2, hours: 0 });
    assert.equal(summed([{ time_elapsed: '1e308' }, { time_elapsed: '1e308' }, { time_elapsed: '3600' }]).hours, 1);
  });

  it('sums up 20,000 printers and materials, and refuses a report that names more', () => {
    const rows = Array.from({ length: 20_000 }, (_, nth) => ({ printer_name: `${nth}` }));
    assert.equal(summed(rows).printers?.length, 20_000);
    assert.throws(() => summed([...rows, { printer_name: 'another' }]), { code: 'TOO_LARGE' });
  });

  it('cuts names that no printer has', () => {
    assert.equal(summed([{ printer_name: 'x'.repeat(200_000) }]).printers?.[0]?.name.length, 2_000);
  });
});
