import assert from 'node:assert/strict';
import type { World } from '../../simulator/index';
import { Bench, type Wire } from './support';

/** Kinds of printers of a new world. */
const KINDS = [1, 2, 3, 4, 5];
const SECOND_BRAND = 5;

/** Fields without which a slicer refuses the whole answer, by record. A name in `dates` has a date with a fraction. */
interface Model {
  fields: string[];
  dates?: string[];
  /** Records within, by field: one, or a list; they may be missing or null. */
  within?: Record<string, Model>;
}

const EXTRUDER: Model = { fields: ['extruder_index'] };
const SLOT: Model = { fields: ['slot_index', 'extruder_index', 'compatible', 'material_remaining'] };
const PRINTER: Model = {
  fields: [],
  within: { configuration: EXTRUDER, material_station: { fields: ['status'], within: { material_slots: SLOT } } },
};
const JOB: Model = {
  fields: [
    ...['created_at', 'force', 'machine_variant', 'name', 'started', 'status', 'time_total', 'uuid'],
    ...['configuration', 'constraints'],
  ],
  within: {
    configuration: EXTRUDER,
    configuration_changes_required: { fields: ['type_of_change', 'target_id', 'origin_id'] },
    impediments_to_printing: { fields: ['translation_key', 'severity'] },
  },
};
const STATUS: Model = {
  fields: ['printers', 'print_jobs'],
  dates: ['generated_time'],
  within: { printers: PRINTER, print_jobs: JOB, recently_completed: JOB },
};
const CLUSTER: Model = {
  fields: ['cluster_id', 'host_guid', 'host_name', 'is_online', 'status'],
  within: { host_printer: PRINTER, host_current_print_job: JOB },
};
const PRINT: Model = { fields: ['job_id', 'status'], dates: ['generated_time'] };
const UPLOAD: Model = { fields: ['job_id', 'status', 'upload_url', 'content_type'] };
const FILE: Model = {
  fields: ['client_id', 'content_type', 'file_id', 'file_name', 'library_project_id', 'status', 'user_id', 'username'],
  dates: ['uploaded_at'],
};
const PROJECT: Model = {
  fields: ['library_project_id', 'display_name', 'username', 'organization_shared'],
  dates: ['created_at', 'last_updated'],
};
const ERROR: Model = { fields: ['id', 'code', 'title', 'http_status'] };

const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,6}Z$/;

/** Paths of what a record lacks. */
function lacking(record: Wire, { fields, dates = [], within = {} }: Model, path = ''): string[] {
  return [
    ...fields.filter((name) => record[name] === undefined || record[name] === null).map((name) => path + name),
    ...dates.filter((name) => !DATE.test(record[name])).map((name) => path + name),
    ...Object.entries(within).flatMap(([name, model]) =>
      [record[name] ?? []].flat().flatMap((entry: Wire) => lacking(entry, model, `${path}${name}.`)),
    ),
  ];
}

describe('simulator: fields that a slicer requires', () => {
  let bench: Bench;
  let world: World;
  beforeEach(async () => {
    bench = await Bench.start();
    ({ world } = bench.simulator);
  });
  afterEach(() => bench.simulator.close());

  const complete = (record: Wire, model: Model): void => assert.deepEqual(lacking(record, model), []);

  /** Starts a print on each printer; `seconds` pass. */
  const printAll = async (seconds: number): Promise<void> => {
    const toolpath = await bench.upload(';TIME:600\n');
    const other = await bench.upload('x'.repeat(600_000), {
      job_name: 'part.makerbot',
      content_type: 'application/x-makerbot',
    });
    for (const number of KINDS) await bench.print(number === SECOND_BRAND ? other : toolpath, number);
    bench.pass(seconds);
    for (const number of KINDS) await bench.status(number);
  };
  const JAM = { translation_key: 'filament_jam', severity: 'UNFIXABLE' };

  /** Situations of all printers, with the words of their jobs, each once. */
  const SITUATIONS: Record<string, { arrange: () => Promise<void> | void; words: string[] }> = {
    'without a print': { arrange: () => undefined, words: [] },
    'that print': { arrange: () => printAll(200), words: ['printing'] },
    'that cool after an abort': {
      async arrange() {
        await printAll(200);
        for (const number of KINDS) world.abort(number);
        bench.pass(30);
      },
      words: ['aborted_post_print', 'wait_cleanup'],
    },
    'whose print failed and had obstacles': {
      async arrange() {
        await printAll(200);
        for (const number of KINDS) {
          world.setJobDetails(number, { impediments: [JAM], statusDetail: 'stopped', statusMessage: 'Oh.' });
          world.fail(number);
        }
        bench.pass(70);
      },
      words: ['failed_wait_cleanup'],
    },
    'whose prints have ended': { arrange: () => printAll(7200), words: [] },
    'whose print waits for an approval': {
      async arrange() {
        for (const number of KINDS) world.setDispatch(number, 'wait_approval');
        await printAll(10);
      },
      words: ['wait_approval'],
    },
    'that must be changed for a print': {
      async arrange() {
        for (const number of KINDS) world.setRequiredChanges(number);
        await printAll(10);
      },
      words: ['queued'],
    },
    'that went offline during a print': {
      async arrange() {
        await printAll(200);
        for (const number of KINDS) world.setOnline(number, false);
      },
      words: ['printing'],
    },
  };
  for (const [what, { arrange, words }] of Object.entries(SITUATIONS))
    it(`are in the list, the status and the jobs of all kinds of printers ${what}`, async () => {
      await arrange();
      const seen = new Set<string>();
      for (const number of KINDS) {
        const status = await bench.status(number);
        complete(status, STATUS);
        for (const job of status.print_jobs) {
          seen.add(job.status);
          complete((await bench.api('GET', `${path(number)}/print_jobs/${job.uuid}`)).json.data, JOB);
        }
      }
      assert.deepEqual([...seen].sort(), words);
      for (const cluster of (await bench.api('GET', '/connect/v1/clusters')).json.data) complete(cluster, CLUSTER);
      for (const job of (await bench.api('GET', '/connect/v1/print_jobs')).json.data) complete(job, JOB);
    });
  const path = (number: number): string => `/connect/v1/clusters/${bench.clusterId(number)}`;

  it('are in the answers to an upload and a print', async () => {
    complete(await bench.register(Buffer.from('part')), UPLOAD);
    const jobId = await bench.upload('part');
    for (const dispatch of ['queued', 'wait_approval', 'failed'] as const) {
      world.setDispatch(1, dispatch);
      const { data } = (await bench.api('POST', `${path(1)}/print/${jobId}`)).json;
      assert.equal(data.status, dispatch);
      complete(data, PRINT);
    }
  });

  it('are in projects and their files, also before the upload', async () => {
    const made = (await bench.api('PUT', '/slicer/v1/projects', { data: { display_name: 'Demo' } })).json.data;
    complete(made, PROJECT);
    for (const project of (await bench.api('GET', '/slicer/v1/projects')).json.data) complete(project, PROJECT);
    const data = {
      ...{ file_name: 'part.3mf', content_type: 'application/vnd.ms-package.3dmanufacturing-3dmodel+xml' },
      ...{ file_size: 4, library_project_id: made.library_project_id },
    };
    const file = (await bench.api('PUT', '/slicer/v1/files/upload', { data })).json.data;
    complete(file, FILE);
    await bench.put(file, Buffer.from('part'));
    const [listed] = (await bench.api('GET', `/slicer/v1/projects/${made.library_project_id}/files`)).json.data;
    assert.equal(listed.status, 'uploaded');
    complete(listed, FILE);
  });

  it('are in errors', async () => {
    const { errors } = (await bench.api('GET', `/connect/v1/clusters/${'x'.repeat(44)}/status`)).json;
    complete(errors[0], ERROR);
  });
});
