import assert from 'node:assert/strict';
import type { World } from '../../simulator/index';
import { Bench, type Wire } from './support';

describe('simulator: a file that does not suit the printer', () => {
  let bench: Bench;
  let world: World;
  beforeEach(async () => {
    bench = await Bench.start({ farm: [{ buildPlate: 'glass' }, { printers: 2, model: 'simulated_maker_one' }] });
    ({ world } = bench.simulator);
  });
  afterEach(() => bench.simulator.close());

  const loaded = (number = 1): string => world.cluster(number).printers[0]!.extruders[0]!.material!.guid;
  /** A file with a Griffin header; without a field, it fits the first printer. */
  const file = (fields: { machine?: string; core?: string; guid?: string; plate?: string } = {}): string =>
    [
      ';START_OF_HEADER',
      ';FLAVOR:Griffin',
      `;TARGET_MACHINE.NAME:${fields.machine ?? 'Simulated Maker One'}`,
      ';EXTRUDER_TRAIN.0.MATERIAL.VOLUME_USED:5000',
      `;EXTRUDER_TRAIN.0.MATERIAL.GUID:${fields.guid ?? loaded()}`,
      `;EXTRUDER_TRAIN.0.NOZZLE.NAME:${fields.core ?? 'AA 0.4'}`,
      `;BUILD_PLATE.TYPE:${fields.plate ?? 'glass'}`,
      ';PRINT.TIME:600',
      ';END_OF_HEADER',
      '',
    ].join('\n');
  /** Sends a file to a cluster; returns the answer and the job some time later. */
  const send = async (text: string, number = 1): Promise<{ answer: Wire; job: Wire }> => {
    const jobId = await bench.upload(text);
    const reply = await bench.api('POST', `/connect/v1/clusters/${bench.clusterId(number)}/print/${jobId}`);
    assert.equal(reply.status, 200, reply.text);
    bench.pass(10);
    return { answer: reply.json.data, job: (await bench.status(number)).print_jobs.at(-1) };
  };
  const first = async (number = 1): Promise<Wire> => (await bench.status(number)).print_jobs[0];
  const remove = async (uuid: string): Promise<Wire> => {
    const reply = await bench.action(`print_jobs/${uuid}/action/remove`);
    bench.pass(1);
    return reply.status === 201 ? (await bench.actionStatus(reply.json.data.action_id)).status : reply.status;
  };

  it('is printed at once if it suits', async () => {
    const { job } = await send(file());
    assert.deepEqual([job.status, job.configuration_changes_required], ['pre_print', []]);
  });

  const GUID = '11111111-2222-4333-a444-555555555555';
  const cases: { what: string; fields: Parameters<typeof file>[0]; empty?: boolean; change: Wire; mend: () => void }[] =
    [
      {
        what: 'another material',
        fields: { guid: GUID },
        change: { type_of_change: 'material_change', is_overridable: true, target_id: GUID },
        mend: () => world.load(1, 0, { guid: GUID }),
      },
      {
        what: 'a material where none is loaded',
        fields: { guid: GUID },
        empty: true,
        change: { type_of_change: 'material_insert', is_overridable: false, target_id: GUID },
        mend: () => world.load(1, 0, { guid: GUID }),
      },
      {
        what: 'another print core',
        fields: { core: 'CC 0.6' },
        change: { type_of_change: 'print_core_change', is_overridable: true, origin_id: 'AA 0.4', target_id: 'CC 0.6' },
        mend: () => world.setPrintCore(1, 0, 'CC 0.6'),
      },
      {
        what: 'another build plate',
        fields: { plate: 'pei' },
        change: { type_of_change: 'buildplate_change', is_overridable: false, origin_id: 'glass', target_id: 'pei' },
        mend: () => world.setBuildPlate(1, 'pei'),
      },
    ];
  for (const { what, fields, empty, change, mend } of cases) {
    it(`is accepted and waits for ${what} until somebody changes the printer`, async () => {
      const text = file(fields);
      if (empty) world.load(1, 0, null);
      const { answer, job } = await send(text);
      assert.equal(answer.status, 'queued');
      assert.deepEqual([job.status, job.state], ['queued', 'waiting']);
      const [required, ...more] = job.configuration_changes_required;
      assert.deepEqual([{ ...required, ...change }, more], [required, []]);
      assert.equal(job.impediments_to_printing[0].translation_key, change.type_of_change);
      bench.pass(3600);
      assert.equal((await first()).status, 'queued');
      mend();
      bench.pass(6);
      const changed = await first();
      assert.deepEqual([changed.status, changed.configuration_changes_required], ['pre_print', []]);
    });

    it(`is ${change.is_overridable ? 'started' : 'not started'} by force in spite of ${what}`, async () => {
      const text = file(fields);
      if (empty) world.load(1, 0, null);
      const { job } = await send(text);
      const reply = await bench.action(`print_jobs/${job.uuid}/action/force`);
      assert.equal(reply.status, change.is_overridable ? 201 : 409);
      bench.pass(10);
      assert.equal((await first()).status, change.is_overridable ? 'pre_print' : 'queued');
    });
  }

  it('needs several changes at once, which a release makes on the printer', async () => {
    const { job } = await send(file({ guid: GUID, core: 'CC 0.6', plate: 'pei' }));
    assert.deepEqual(
      job.configuration_changes_required.map((change: Wire) => change.type_of_change),
      ['print_core_change', 'material_change', 'buildplate_change'],
    );
    assert.deepEqual(
      [job.configuration[0].print_core_id, job.configuration[0].material.guid, job.build_plate.type],
      ['CC 0.6', GUID, 'pei'],
    );
    world.release(1);
    bench.pass(6);
    const { printers, print_jobs: jobs } = await bench.status();
    assert.equal(jobs[0].status, 'pre_print');
    const [extruder] = printers[0].configuration;
    assert.deepEqual(
      [extruder.print_core_id, extruder.material.guid, printers[0].build_plate.type],
      ['CC 0.6', GUID, 'pei'],
    );
  });

  it('can be removed from the queue, and lets others pass', async () => {
    const { job } = await send(file({ guid: GUID }));
    const { job: other } = await send(file());
    assert.equal(other.status, 'pre_print');
    assert.equal(await remove(job.uuid), 'success');
    assert.deepEqual(
      (await bench.status()).print_jobs.map(({ uuid }: Wire) => uuid),
      [other.uuid],
    );
  });

  it('waits for another model with an error that nobody can resolve, and can be removed', async () => {
    const { answer, job } = await send(file({ machine: 'Another Printer' }));
    assert.equal(answer.status, 'queued');
    assert.deepEqual(
      [job.status, job.state, job.machine_variant, job.impediments_to_printing],
      ['error', 'waiting', 'Another Printer', [{ translation_key: 'machine_variant', severity: '3' }]],
    );
    assert.throws(() => world.release(1), /state/);
    bench.pass(3600);
    assert.equal((await first()).status, 'error');
    assert.equal(await remove(job.uuid), 'success');
    assert.deepEqual((await bench.status()).print_jobs, []);
  });

  it('shows its error after the approval', async () => {
    world.setDispatch(1, 'wait_approval');
    const { answer, job } = await send(file({ machine: 'Another Printer' }));
    assert.deepEqual([answer.status, job.status], ['wait_approval', 'wait_approval']);
    world.approve(1);
    assert.equal((await first()).status, 'error');
  });

  it('waits at a printer that receives it, out of reach of removal, until somebody acts there', async () => {
    world.setMismatch(1, 'wait_user_action');
    const { job } = await send(file({ plate: 'pei' }));
    assert.deepEqual([job.status, job.started], ['wait_user_action', false]);
    bench.pass(3600);
    const { printers, print_jobs: jobs } = await bench.status();
    assert.deepEqual([printers[0].status, jobs[0].status], ['pre_print', 'wait_user_action']);
    assert.deepEqual([await remove(job.uuid), (await send(file())).job.status], [409, 'queued']);
    world.release(1);
    assert.equal((await first()).status, 'pre_print');
  });

  it('can be aborted at the printer where it waits', async () => {
    world.setMismatch(1, 'wait_user_action');
    const { job } = await send(file({ guid: GUID }));
    world.abort(1);
    bench.pass(400);
    const [ended] = (await bench.status()).recently_completed;
    assert.deepEqual([ended.uuid, ended.status, ended.time_elapsed], [job.uuid, 'aborted', 0]);
  });

  it('goes to the printer of a group that suits, even behind a job for another', async () => {
    world.load(2, 0, { guid: GUID }, undefined, 2);
    const plain = await send(file({ guid: loaded(2) }), 2);
    const other = await send(file({ guid: GUID }), 2);
    const [one, two] = world.cluster(2).printers;
    assert.deepEqual([plain.job.printer_uuid, other.job.printer_uuid], [one!.uuid, two!.uuid]);
    const waiting = await send(file({ guid: GUID }), 2);
    assert.deepEqual([waiting.job.status, waiting.job.configuration_changes_required], ['queued', []]);
    world.abort(2, plain.job.uuid);
    bench.pass(400);
    assert.equal((await first(2)).uuid, other.job.uuid);
    assert.equal((await bench.status(2)).print_jobs[1].status, 'queued');
  });

  it('is printed nevertheless where mismatches are ignored', async () => {
    const { job } = await send(file({ machine: 'Another Printer', guid: GUID }));
    assert.equal(job.status, 'error');
    world.setMismatch(1, 'ignored');
    bench.pass(6);
    assert.equal((await first()).status, 'pre_print');
  });
});
