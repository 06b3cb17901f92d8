import assert from 'node:assert/strict';
import { printerEntry, type PrinterEntry, readCluster } from '../../../lib/service/cluster';
import { PrintingError } from '../../../lib/service/errors';
import type { Json } from '../../../lib/service/json-readers';
import { freeSlot, slot, spool, stationPrinter } from '../../helpers/station';
import { threadTime } from '../../helpers/thread-time';
import { matches, misfitOf, noneMatches, readPrinterFilter } from '../../../lib/service/printer-filter';

const HOST = {
  uuid: 'p1',
  friendly_name: 'Left',
  machine_variant: 'Brand Model X',
  status: 'idle',
  enabled: true,
  configuration: [
    { extruder_index: 0, material: { guid: 'G1', brand: 'Generic', material: 'PLA', color: 'Red' } },
    { extruder_index: 1, material: { material: 'empty' } },
  ],
};

/** An idle printer with red PLA, with changes to the cluster's record and to the host's. */
function printer(cluster: Json = {}, host: Json | null = {}): PrinterEntry {
  const record = {
    cluster_id: 'c',
    friendly_name: 'Workshop',
    printer_type: 'brand_model_x',
    is_online: true,
    status: 'active',
    host_print_job_count: 0,
    note: { note: 'door side #food-safe, and #PETG#only #' },
    ...(host && { host_printer: { ...HOST, ...host } }),
    ...cluster,
  };
  const read = readCluster(record);
  assert.ok(read);
  return printerEntry(read);
}
const fits = (filter: unknown, one = printer()) => matches(readPrinterFilter(filter), one);

describe('service/printer-filter', () => {
  it('matches any idle printer of a model with a material in a color', () => {
    const filter = { model: 'X', material: { name: 'pla', color: 'red' }, idle: true };
    const one = printer({}, { machine_variant: 'X' });
    assert.equal(fits(filter, one), true);
    assert.equal(fits(JSON.stringify(filter), one), true);
    for (const change of [{ model: 'Y' }, { material: { name: 'PLA', color: 'blue' } }, { idle: false }])
      assert.equal(fits({ ...filter, ...change }, one), false, JSON.stringify(change));
  });

  it('matches every printer without a criterion', () => {
    for (const filter of [undefined, {}, '{}', { model: [], material: [] }]) assert.equal(fits(filter), true);
  });

  it('compares a model without case, blanks and punctuation, and as a whole', () => {
    for (const model of ['Brand Model X', 'brand_model_x', ['other', 'BRAND MODEL-X']])
      assert.equal(fits({ model }), true);
    for (const model of ['Model', 'Brand Model X2', '_', ['other']])
      assert.equal(fits({ model }), false, String(model));
    assert.equal(fits({ model: 'brand_model_x' }, printer({}, null)), true, 'an offline printer has only the id form');
    assert.equal(fits({ model: '-' }, printer({ printer_type: null }, null)), false, 'an unknown model matches none');
  });

  it('matches the name of the printer or of its cluster', () => {
    for (const name of ['left', 'WORKSHOP ', ['none', 'Left']]) assert.equal(fits({ name }), true);
    for (const name of ['Lef', 'none']) assert.equal(fits({ name }), false);
  });

  it('matches all tags, which are the words of the note that begin with #', () => {
    assert.deepEqual(printer().tags, ['food-safe', 'PETG#only']);
    assert.equal(fits({ tag: 'petg#ONLY' }), true);
    assert.equal(fits({ tag: ['#petg#only', 'food-safe'] }), true);
    assert.equal(fits({ tag: ['petg#only', 'other'] }), false);
    assert.equal(fits({ tag: 'door' }), false);
    assert.equal(fits({ tag: 'door' }, printer({ note: null })), false);
  });

  it('matches a text that names whole fields of a material', () => {
    for (const material of ['red PLA', 'PLA', 'pla  generic', 'G1', ['PLA', 'red']])
      assert.equal(fits({ material }), true);
    for (const material of ['blue PLA', 'Tough PLA', 'PL', 'red PLA 2.85'])
      assert.equal(fits({ material }), false, material);
    const tough = printer({}, { configuration: [{ material: { material: 'Tough PLA', color: 'Red' } }] });
    assert.equal(fits({ material: 'PLA' }, tough), false);
    assert.equal(fits({ material: 'red PLA' }, tough), false);
    assert.equal(fits({ material: 'tough pla' }, tough), true);
  });

  it('requires each field of a material in one extruder or slot, and never matches an unknown value', () => {
    const two = printer(
      {},
      {
        configuration: [
          { material: { material: 'PLA', color: 'Blue' } },
          { material: { material: 'PVA', color: 'Red' } },
        ],
        material_station: {
          material_slots: [{ extruder_index: 0, material: { material: 'ABS' }, material_remaining: 1 }],
        },
      },
    );
    assert.equal(fits({ material: { name: 'PLA', color: 'Red' } }, two), false);
    assert.equal(fits({ material: [{ name: 'PLA' }, { name: 'PVA' }] }, two), true);
    assert.equal(fits({ material: 'abs' }, two), true);
    assert.equal(fits({ material: { name: 'ABS', color: 'Red' } }, two), false);
    assert.equal(fits({ material: { name: 'PLA', color: ' ' } }, two), true, 'a blank field is no criterion');
    assert.equal(fits({ material: 'PLA' }, printer({}, null)), false);
  });

  it('matches no slot that is not compatible, or that feeds no extruder', () => {
    const ABS = spool('Blue', 'ABS');
    const has = (...slots: Json[]) => fits({ material: 'blue ABS' }, printer({}, stationPrinter(slots)));
    assert.equal(has(slot(0, 1, ABS)), true);
    assert.equal(has(slot(0, 1, ABS, { compatible: false }), slot(1, -1, ABS), freeSlot(2)), false);
  });

  it('refuses what it does not know, with the cause', () => {
    const refused = (filter: unknown, words: RegExp) =>
      assert.throws(
        () => readPrinterFilter(filter),
        (error: PrintingError) => error.code === 'INVALID_INPUT' && words.test(error.message),
      );
    refused('idle', /must be an object/);
    refused([], /must be an object/);
    refused(Buffer.from('{}'), /must be an object/);
    refused({ models: 'X' }, /no "models", but model, name/);
    refused({ idle: 'yes' }, /true or false as its idle/);
    refused({ material: { type: 'PLA' } }, /no "type", but guid, brand, name, color/);
    refused({ material: { name: 3 } }, /as its material/);
    refused({ material: [null] }, /as its material/);
    refused({ tag: [3] }, /as its tag/);
    refused({ name: 'x'.repeat(501) }, /more than 500 characters/);
    refused({ material: Array.from({ length: 11 }, () => 'PLA') }, /more than 10 values/);
    refused({ name: Array.from({ length: 1001 }, () => 'x') }, /more than 1000 values/);
  });

  it('matches the largest filter against many printers within 100 ms', () => {
    const long = (length: number, start: string) =>
      Array.from({ length }, (_, index) => `${start} ${index}`.padEnd(500));
    const model = [...long(999, 'model'), 'Brand Model X'];
    const filter = readPrinterFilter({
      model,
      name: [...long(999, 'n'), 'left'],
      tag: Array.from({ length: 1000 }, () => 'a'),
    });
    const tagged = printer({ note: Array.from({ length: 5000 }, () => '#a').join(' ') });
    const began = threadTime();
    for (let count = 0; count < 5000; count++) assert.equal(matches(filter, tagged), true);
    assert.ok(threadTime() - began < 100);
  });

  it('names the criterion that leaves no printer', () => {
    const reason = (filter: unknown, ...printers: PrinterEntry[]) => {
      const misfits = printers.map((one) => misfitOf(readPrinterFilter(filter), one));
      const error = noneMatches(misfits.filter((misfit) => misfit !== null));
      assert.equal(error.code, 'NOT_ACCEPTED');
      return error.message;
    };
    const busy = printer({ host_print_job_count: 1 });
    assert.match(reason({ model: 'Y' }, busy), /of 1\) matches the model/);
    assert.match(
      reason({ model: 'brand model x', material: 'ABS', idle: true }, busy, printer()),
      /of 2\) matches the material/,
    );
    assert.match(reason({ idle: true }, busy), /suitable: 1/);
    assert.match(reason({}), /has no printer/);
  });
});

describe('service/printer-entry', () => {
  it('counts a printer as idle unless something would delay a print', () => {
    assert.equal(printer().idle, true);
    assert.equal(printer({ status: undefined, host_print_job_count: undefined }).idle, true, 'absent fields');
    const cases: [string, Json, Json | null][] = [
      ['offline', { is_online: false }, null],
      ['unknown whether online', { is_online: undefined }, {}],
      ['not authorized', { status: 'inactive' }, {}],
      ['a job waits', { host_print_job_count: 1 }, {}],
      ['a job is current', { host_current_print_job: { uuid: 'j', status: 'wait_cleanup' } }, {}],
      ['no host printer', {}, null],
      ['printing', {}, { status: 'printing' }],
      ['disabled', {}, { enabled: false }],
      ['maintenance', {}, { maintenance_required: true }],
      ['a firmware is being written', {}, { firmware_update_status: 'update_in_progress' }],
      ['a fault that keeps it from printing', {}, { faults: [{ code: 'F', uuid: 'u', severity: 'ERROR' }] }],
      ['an error', {}, { errors: [{ code: 'E', uuid: 'u' }] }],
    ];
    for (const [name, cluster, host] of cases) assert.equal(printer(cluster, host).idle, false, name);
    assert.equal(printer({ maintenance_due: true }, { faults: [{ code: 'F', uuid: 'u' }] }).idle, true, 'warnings');
  });
});
