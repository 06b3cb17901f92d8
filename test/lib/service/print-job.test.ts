import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { JobState } from '../../../lib/service/job-words';
import { describeReason, type PrintJob, readPrintJob } from '../../../lib/service/print-job';
import { EMPTY_BAYS } from '../../helpers/station';

const full = {
  ...{ uuid: '6f1c0d5a-0000-4000-8000-000000000001', cloud_job_id: 'stored', cluster_id: 'cluster' },
  ...{ name: 'bracket.gcode', status: 'printing', state: 'in_progress', time_total: 3600, time_elapsed: 1234 },
  ...{ time_remaining: 2366, printer_uuid: 'printer', printed_on_uuid: 'other', printer_name: 'Left' },
  ...{ owner: 'Ada', sent_from: 'cloud', created_at: '2026-01-01T07:15:00.250Z' },
  ...{ preview_url: 'https://storage.example/preview?signature=secret', note: 'for Ada' },
  configuration: [
    {
      extruder_index: 0,
      estimated_material_volume: 8000,
      material: { guid: 'M1', brand: 'Generic', material: 'PLA', color: 'Red' },
    },
    { extruder_index: 1, material: { material: 'empty' } },
  ],
  configuration_changes_required: [],
};

describe('readPrintJob', () => {
  it('reads a whole record', () => {
    assert.deepEqual(readPrintJob(full), {
      ...{ clusterJobId: full.uuid, jobId: 'stored', clusterId: 'cluster', name: 'bracket.gcode' },
      ...{
        status: 'printing',
        serviceState: 'in_progress',
        state: 'printing',
        progress: 34.3,
        timeElapsed: 1234,
        timeTotal: 3600,
      },
      ...{
        timeRemaining: 2366,
        started: null,
        printerId: 'printer',
        printerName: 'Left',
        owner: 'Ada',
        sentFrom: 'cloud',
      },
      ...{ createdAt: '2026-01-01T07:15:00.250Z', deletedAt: null, assignedTo: null, estimatedTime: null },
      materials: [{ extruder: 0, guid: 'M1', brand: 'Generic', type: 'PLA', color: 'Red', volume: 8000, weight: null }],
      ...{ hasPreview: true, note: 'for Ada', changesRequired: [] },
      ...{ problems: [], statusMessage: null, statusDetail: null },
    });
  });

  it('completes the materials and the time from the metadata of the file', () => {
    const metadata = {
      print: { estimated_time: 3500 },
      extruders: [
        { extruder_index: 0, estimated_material_volume: 8100, material: { guid: 'M1', weight: 10.2 } },
        { extruder_index: 1, estimated_material_volume: -1 },
        { extruder_index: 2, estimated_material_volume: 500, material: { material: 'PVA' } },
      ],
    };
    const { materials, estimatedTime } = readPrintJob({ ...full, source: { metadata } });
    assert.equal(estimatedTime, 3500);
    const nothing = { guid: null, brand: null, color: null, weight: null };
    assert.deepEqual(materials, [
      { extruder: 0, guid: 'M1', brand: 'Generic', type: 'PLA', color: 'Red', volume: 8100, weight: 10.2 },
      { ...nothing, extruder: 2, type: 'PVA', volume: 500 },
    ]);
  });

  it('needs nothing of an extruder that the file lists with a volume of 0', () => {
    const [pla, pva] = [{ guid: 'M1' }, { guid: 'M2', weight: 0 }];
    const configuration = [
      { extruder_index: 0, material: pla, estimated_material_volume: 8100 },
      { extruder_index: 1, material: pva, estimated_material_volume: 0 },
    ];
    const extruders = (read: PrintJob) => read.materials.map(({ extruder, volume }) => [extruder, volume]);
    assert.deepEqual(extruders(readPrintJob({ configuration })), [[0, 8100]]);
    const loaded = configuration.map((one) => ({ ...one, estimated_material_volume: null }));
    const job = { configuration: loaded, source: { metadata: { extruders: configuration } } };
    assert.deepEqual(extruders(readPrintJob(job)), [[0, 8100]]);
  });

  it('does not know the volumes of a file that lists 0 for each extruder', () => {
    const configuration = ['M1', 'M2'].map((guid, at) => ({
      ...{ extruder_index: at, material: { guid, weight: 0 }, estimated_material_volume: 0 },
    }));
    const amounts = readPrintJob({ configuration }).materials.map(({ guid, volume, weight }) => [guid, volume, weight]);
    assert.deepEqual(amounts, [
      ['M1', null, null],
      ['M2', null, null],
    ]);
  });

  for (const [at, material] of EMPTY_BAYS.entries())
    it(`needs nothing in an extruder that has form ${at + 1} of an empty bay`, () => {
      const unused = { extruder_index: 1, material, estimated_material_volume: 0 };
      const job = { configuration: [unused], source: { metadata: { extruders: [unused] } } };
      assert.deepEqual(readPrintJob(job).materials, []);
    });

  it('reads a note as text or as an object, and never the signed address of a preview', () => {
    assert.equal(readPrintJob({ note: { note: 'for Ada' } }).note, 'for Ada');
    assert.equal(readPrintJob({ preview_url: '' }).hasPreview, false);
    assert.doesNotMatch(JSON.stringify(readPrintJob(full)), /secret/);
  });

  it('leaves missing fields null', () => {
    const { state, changesRequired, problems, materials, hasPreview, ...rest } = readPrintJob({});
    assert.equal(state, 'unknown');
    assert.deepEqual([changesRequired, problems, materials, hasPreview], [[], [], [], false]);
    assert.deepEqual([...new Set(Object.values(rest))], [null]);
  });

  it('falls back to the cluster it was read from, and to older names of the id', () => {
    assert.equal(readPrintJob({}, 'asked').clusterId, 'asked');
    assert.equal(readPrintJob({ job_instance_uuid: 'a' }).clusterJobId, 'a');
    assert.equal(readPrintJob({ cluster_job_id: 'b' }).clusterJobId, 'b');
    assert.equal(readPrintJob({ printed_on_uuid: 'c' }).printerId, 'c');
    assert.equal(readPrintJob({ cloud_job_id: '' }).jobId, null);
  });

  const states: [status: string | null, state: JobState, coarse?: string][] = [
    ['queued', 'waiting'],
    ['wait_approval', 'approval'],
    ['wait_user_action', 'attention'],
    ['wait_for_configuration', 'attention'],
    ['sent_to_printer', 'preparing'],
    ['pre_print', 'preparing'],
    ['printing', 'printing'],
    ['pausing', 'paused'],
    ['paused', 'paused'],
    ['resuming', 'paused'],
    ['post_print', 'finishing'],
    ['aborting', 'aborted'],
    ['aborted', 'aborted'],
    ['finished', 'finished'],
    ['failed', 'failed'],
    ['error', 'failed'],
    ['none', 'unknown'],
    ['a_new_word', 'unknown'],
    ['constructor', 'unknown'],
    [null, 'approval', 'wait_approval'],
    ['a_new_word', 'preparing', 'sending'],
    ['none', 'waiting', 'waiting'],
    [null, 'printing', 'in_progress'],
    [null, 'unknown', 'history'],
    ['printing', 'printing', 'waiting'],
  ];
  for (const [status, state, coarse] of states) {
    it(`maps status ${status ?? '(none)'}${coarse ? ` in ${coarse}` : ''} to ${state}, and keeps the status`, () => {
      const job = readPrintJob({ status, state: coarse });
      assert.equal(job.state, state);
      assert.equal(job.status, status);
    });
  }

  it('settles wait_cleanup by its times (trap 20)', () => {
    const state = (elapsed: unknown, total: unknown) =>
      readPrintJob({ status: 'wait_cleanup', time_elapsed: elapsed, time_total: total }).state;
    assert.equal(state(950, 1000), 'finished');
    assert.equal(state(1200, 1000), 'finished');
    assert.equal(state(949, 1000), 'aborted');
    assert.equal(state(null, 1000), 'finishing');
    assert.equal(state(10, 0), 'finishing');
  });

  it('shows a queued job with required changes as attention, with the changes', () => {
    const change = {
      ...{ type_of_change: 'material_change', index: 0, origin_id: 'o', origin_name: 'PLA', target_id: 't' },
      ...{ target_name: 'ABS', is_overridable: true },
    };
    const job = readPrintJob({ status: 'queued', configuration_changes_required: [change] });
    assert.equal(job.state, 'attention');
    assert.deepEqual(job.changesRequired, [
      {
        ...{ type: 'material_change', index: 0, originId: 'o', originName: 'PLA', targetId: 't' },
        ...{ targetName: 'ABS', overridable: true },
      },
    ]);
    assert.equal(readPrintJob({ status: 'printing', configuration_changes_required: [change] }).state, 'printing');
  });

  it('keeps progress within its limits (trap 22)', () => {
    const progress = (elapsed: unknown, total: unknown) =>
      readPrintJob({ time_elapsed: elapsed, time_total: total }).progress;
    assert.equal(progress(undefined, 100), null);
    assert.equal(progress(50, 0), null);
    assert.equal(progress(150, 100), 100);
    assert.equal(progress(-1, 100), null);
    assert.equal(progress(1, 3), 33.3);
    assert.equal(progress('30', '120'), 25);
  });

  it('reads anything without throwing, progress within 0 to 100', () => {
    const wire = fc.record(
      Object.fromEntries(Object.keys(full).map((name) => [name, fc.oneof(fc.jsonValue(), fc.double(), fc.string())])),
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(wire, (record) => {
        const { progress } = readPrintJob(record);
        assert(progress === null || (progress >= 0 && progress <= 100));
      }),
    );
  });

  it('reads why a job does not print, with a sentence for each impediment', () => {
    const job = readPrintJob({
      impediments_to_printing: [
        { translation_key: 'does_not_fit_in_build_volume', severity: 'UNFIXABLE' },
        { translation_key: 'a_new_key', severity: 3 },
        ...[{}, 'no record'],
      ],
      status_message: { body: 'Too big.\nUse the other one', username: null },
      status_detail: 'a_detail',
      ...{ assigned_to: 'Left', deleted_at: '2026-01-01T07:15:00.250Z' },
    });
    assert.deepEqual(job.problems, [
      { code: 'does_not_fit_in_build_volume', severity: 'UNFIXABLE', text: 'The print does not fit in the printer.' },
      { code: 'a_new_key', severity: '3', text: 'The printer can’t print this job: a_new_key.' },
      { code: null, severity: null, text: 'The printer can’t print this job.' },
    ]);
    const { statusMessage, statusDetail, assignedTo, deletedAt } = job;
    assert.deepEqual(
      [statusMessage, statusDetail, assignedTo, deletedAt],
      ['Too big. Use the other one', 'a_detail', 'Left', '2026-01-01T07:15:00.250Z'],
    );
    assert.equal(
      String(describeReason({ ...job, problems: job.problems.slice(0, 1) })),
      'The print does not fit in the printer; “Too big. Use the other one”; a_detail.',
    );
    assert.equal(describeReason(readPrintJob({})), null);
  });

  it('limits the number of impediments, and the length of their texts', () => {
    const wire = Array.from({ length: 1000 }, () => ({ translation_key: 'x'.repeat(5000), severity: 'y\u0007' }));
    const { problems } = readPrintJob({ impediments_to_printing: wire });
    assert.equal(problems.length, 20);
    assert.deepEqual([problems[0]?.severity, problems[0]?.code?.length], ['y', 300]);
  });
});
