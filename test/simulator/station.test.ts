import assert from 'node:assert/strict';
import fc from 'fast-check';
import { SPOOL } from '../../simulator/world/spools';
import type { NewCluster, NewSlot, World } from '../../simulator/index';
import { pluck } from '../helpers/pluck';
import { Bench, call, type Wire } from './support';

/** Second form of an empty bay (wire facts 6.2). */
const EMPTY = { guid: '00000000-0000-0000-0000-000000000000', brand: 'empty', material: 'empty', color: 'empty' };
const RED: NewSlot = { extruder: 0, material: { color: 'Red' }, remaining: 0.5 };
const GREEN: NewSlot = { extruder: 0, material: { color: 'Green' }, remaining: 0.25 };
const BLACK: NewSlot = { extruder: 1, material: { color: 'Black' }, remaining: null };
const FAR: NewSlot = { extruder: 1, material: { material: 'ABS' }, compatible: false };

const station = (slots: NewSlot[], more: NewCluster = {}): NewCluster => ({
  ...{ model: 'simulated_maker_duo', slots },
  ...more,
});

describe('simulator: a material station', () => {
  let bench: Bench;
  let world: World;
  const start = async (...farm: NewCluster[]): Promise<void> => {
    bench = await Bench.start(farm.length === 0 ? {} : { farm });
    ({ world } = bench.simulator);
  };
  afterEach(() => bench.simulator.close());

  const printer = async (number = 1): Promise<Wire> => (await bench.status(number)).printers[0];
  const slots = async (number = 1): Promise<Wire[]> => (await printer(number)).material_station.material_slots;
  const colors = async (): Promise<(string | undefined)[]> =>
    (await printer()).configuration.map((extruder: Wire) => extruder.material.color);
  const guidOf = (color: string, material = 'PLA'): string =>
    world
      .clusters()
      .flatMap(({ printers }) => printers.flatMap((one) => one.slots ?? []))
      .find((slot) => slot.material?.color === color && slot.material.material === material)!.material!.guid;
  /** A file of 600 s that needs 6,000 mm³ of materials, one per extruder. */
  const file = (...guids: (string | null)[]): string =>
    [
      ';START_OF_HEADER',
      ';PRINT.TIME:600',
      ...guids.flatMap((guid, extruder) =>
        guid === null
          ? []
          : [
              `;EXTRUDER_TRAIN.${extruder}.MATERIAL.GUID:${guid}`,
              `;EXTRUDER_TRAIN.${extruder}.MATERIAL.VOLUME_USED:6000`,
            ],
      ),
      ';END_OF_HEADER\n',
    ].join('\n');

  it('has in a new world full, unknown, incompatible, empty and free slots, of which two feed one extruder', async () => {
    await start();
    const { configuration, material_station: record } = await printer(3);
    assert.deepEqual(
      configuration.map((extruder: Wire) => extruder.material),
      [EMPTY, EMPTY],
    );
    assert.equal(
      configuration.some((extruder: Wire) => 'estimated_material_volume' in extruder),
      false,
    );
    assert.deepEqual([record.supported, record.status], [true, 'available']);
    assert.deepEqual(
      record.material_slots.map((slot: Wire) => [
        ...[slot.slot_index, slot.extruder_index, slot.print_core_id, slot.material?.material],
        ...[slot.material_empty, slot.compatible],
      ]),
      [
        [0, 0, 'AA 0.4', 'PLA', false, true],
        [1, 0, 'AA 0.4', 'PLA', false, true],
        [2, 1, 'AA 0.8', 'PLA', false, true],
        [3, 1, 'AA 0.8', 'ABS', false, false],
        [4, 1, 'AA 0.8', 'empty', true, true],
        [5, -1, null, undefined, false, false],
      ],
    );
    assert.equal(record.material_slots[2].material_remaining, -1);
    assert.deepEqual(record.material_slots[4].material, EMPTY);
    assert.deepEqual(record.material_slots[5], {
      ...{ slot_index: 5, extruder_index: -1, print_core_id: null, material: null },
      ...{ material_empty: false, material_remaining: -1, compatible: false },
    });
  });

  it('loads what a print needs before the print, and takes it back when the work on it ends', async () => {
    await start(station([RED, GREEN, BLACK]));
    await bench.print(await bench.upload(file(guidOf('Green'), null)));
    assert.deepEqual(await colors(), ['empty', 'empty']);
    bench.pass(6);
    assert.deepEqual(await colors(), ['Green', 'empty']);
    const [{ estimated_material_volume: left }] = (await printer()).configuration;
    assert.equal(left, SPOOL / 4);
    bench.pass(90 + 600 + 58);
    assert.deepEqual(pluck(await slots(), 'material_remaining').slice(0, 3), [0.5, 0.25, -1]);
    bench.pass(1);
    assert.equal((await bench.status()).print_jobs[0].status, 'wait_cleanup');
    assert.deepEqual(await colors(), ['empty', 'empty']);
    assert.deepEqual(pluck(await slots(), 'material_remaining').slice(0, 3), [0.5, 0.25 - 6000 / SPOOL, -1]);
  });

  it('feeds two extruders at once, and never reports a rest that it does not know', async () => {
    await start(station([RED, BLACK]));
    await bench.print(await bench.upload(file(guidOf('Red'), guidOf('Black'))));
    bench.pass(100);
    assert.deepEqual(await colors(), ['Red', 'Black']);
    const { configuration } = await printer();
    assert.deepEqual(
      configuration.map((extruder: Wire) => 'estimated_material_volume' in extruder),
      [true, false],
    );
    bench.pass(3600);
    assert.deepEqual(pluck(await slots(), 'material_remaining').slice(0, 2), [0.5 - 6000 / SPOOL, -1]);
  });

  for (const [how, stop] of [
    ['is aborted', () => world.abort(1)],
    ['fails', () => world.fail(1)],
    ['fails on a printer with the short words', () => (world.setEndWords(1, 'short'), world.fail(1))],
    ['vanishes', () => world.vanish(1)],
  ] as const)
    it(`takes the material back from a print that ${how}`, async () => {
      await start(station([RED]));
      await bench.print(await bench.upload(file(guidOf('Red'))));
      bench.pass(95 + 150);
      assert.deepEqual(await colors(), ['Red', 'empty']);
      stop();
      bench.pass(3600);
      assert.deepEqual(await colors(), ['empty', 'empty']);
      assert.equal((await slots())[0].material_remaining, 0.5 - 1500 / SPOOL);
    });

  it('offers a print every compatible spool that feeds its extruder, and no other', async () => {
    await start(station([RED, GREEN, FAR]));
    const changes = async (...guids: (string | null)[]): Promise<string[]> => {
      await bench.print(await bench.upload(file(...guids)));
      const { configuration_changes_required: required } = (await bench.status()).print_jobs.at(-1);
      world.removeJob(1, world.cluster(1).queue.at(-1)!.uuid);
      return required.map((change: Wire) => `${change.type_of_change} ${change.index} ${change.is_overridable}`);
    };
    assert.deepEqual(await changes(guidOf('Red')), []);
    assert.deepEqual(await changes(guidOf('Green')), []);
    assert.deepEqual(await changes(guidOf('Silver', 'ABS')), ['material_change 0 true']);
    assert.deepEqual(await changes(null, guidOf('Silver', 'ABS')), ['material_insert 1 false']);
    // A person puts it into a free slot.
    world.setSlot(1, 5, { extruder: 1, material: { material: 'ABS' } });
    assert.deepEqual(await changes(null, guidOf('Silver', 'ABS')), []);
  });

  it('gets the material of a waiting print into a slot by its release', async () => {
    await start(station([RED]));
    const green = world.addCluster(station([GREEN]));
    await bench.print(await bench.upload(file(null, guidOf('Green'))));
    world.removeCluster(green);
    bench.pass(3600);
    assert.equal((await bench.status()).print_jobs[0].status, 'queued');
    world.release(1);
    const [, second] = await slots();
    assert.deepEqual([second.extruder_index, second.material.color, second.material_remaining], [1, 'Green', 1]);
    bench.pass(60);
    assert.deepEqual(await colors(), ['empty', 'Green']);
  });

  it('is filled and emptied through the control host, except for the spool that prints', async () => {
    await start(station([RED]));
    const act = async (name: string, body: Record<string, unknown>): Promise<number> =>
      (
        await call(`${bench.simulator.controlUrl}/world/${name}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ cluster: 1, ...body }),
        })
      ).status;
    assert.equal(await act('slot', { slot: 4, extruder: 1, material: 'PETG Black', remaining: 0.1 }), 200);
    const slot = (await slots())[4];
    assert.deepEqual(
      [slot.extruder_index, slot.material.material, slot.material_remaining, slot.compatible],
      [1, 'PETG', 0.1, true],
    );
    assert.equal(await act('load', { extruder: 1, material: 'ABS' }), 200);
    assert.equal((await slots())[4].material.material, 'ABS');
    assert.equal(await act('load', { extruder: 1, material: null }), 200);
    assert.deepEqual([(await slots())[4].material_empty, (await slots())[4].material], [true, EMPTY]);
    assert.equal(await act('slot', { slot: 4, extruder: null }), 200);
    assert.equal((await slots())[4].extruder_index, -1);
    world.printLocally(1, { name: 'part.gcode', seconds: 600 });
    bench.pass(100);
    assert.equal(await act('slot', { slot: 0, extruder: null }), 409);
    assert.equal(await act('load', { extruder: 0, material: 'ABS' }), 409);
    for (const [body, status] of [
      [{ slot: 6, extruder: 0 }, 404],
      [{ slot: 1, extruder: 2 }, 404],
      [{ slot: 1 }, 400],
      [{ slot: 1, extruder: 0, remaining: 2 }, 400],
      [{ slot: 1, extruder: 0, colour: 'Red' }, 400],
    ] as const)
      assert.equal(await act('slot', body), status, JSON.stringify(body));
  });

  it('is shown on the page of the control host, with the slot in use', async () => {
    await start(station([RED, BLACK, FAR, { extruder: 1 }]));
    world.printLocally(1, { name: 'part.gcode', seconds: 600 });
    bench.pass(100);
    const { clusters } = (await call(`${bench.simulator.controlUrl}/overview`)).json;
    const view = (about: Record<string, unknown>, index: number) => ({
      ...{ number: index + 1, extruder: null, material: null, left: null, compatible: true, printing: false },
      ...about,
    });
    assert.deepEqual(
      clusters[0].printers[0].slots,
      [
        { extruder: 1, material: 'PLA Red', left: 50, printing: true },
        { extruder: 2, material: 'PLA Black' },
        { extruder: 2, material: 'ABS Silver', left: 100, compatible: false },
        { extruder: 2 },
        { compatible: false },
        { compatible: false },
      ].map(view),
    );
  });

  it('appears in reports with what each print used', async () => {
    await start(station([RED, BLACK]));
    await bench.print(await bench.upload(file(guidOf('Red'))));
    bench.pass(3600);
    assert.deepEqual(world.cluster(1).log[0]!.materials, ['Generic PLA Red', null]);
  });

  it('loses exactly what its prints use, and holds nothing in its extruders between them', async () => {
    await start(station([RED]));
    const spool = fc.record({
      extruder: fc.nat(1),
      color: fc.constantFrom('Red', 'Green', 'Black'),
      remaining: fc.option(fc.constantFrom(0.2, 0.5, 1)),
      compatible: fc.boolean(),
    });
    const print = fc.record({
      color: fc.constantFrom('Red', 'Green', 'Black'),
      extruder: fc.nat(1),
      share: fc.nat(10),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.option(spool), { maxLength: 6 }),
        fc.array(print, { maxLength: 4 }),
        async (listed, prints) => {
          const given = listed.map((one): NewSlot => one && { ...one, material: { color: one.color } });
          const clusterId = world.addCluster(station(given));
          const expected = given.map((slot) => slot?.remaining ?? null);
          for (const { color, extruder, share } of prints) {
            const { guid } = await material(color);
            await bench.api(
              'POST',
              `/connect/v1/clusters/${clusterId}/print/${await bench.upload(file(...(extruder ? [null, guid] : [guid])))}`,
            );
            bench.pass(5 + 90 + 60 * share);
            const offers = listed.flatMap((slot, index) =>
              slot?.extruder === extruder && slot.compatible ? [{ index, color: slot.color }] : [],
            );
            const used = offers.find((one) => one.color === color) ?? offers[0];
            const now = world.cluster(clusterId).printers[0]!.extruders;
            if (share < 10) assert.equal(now[extruder]!.slot, used?.index);
            if (share < 10) world.abort(clusterId);
            bench.pass(3600);
            assert.deepEqual(pluck(world.cluster(clusterId).printers[0]!.extruders, 'material'), [null, null]);
            if (used && expected[used.index] !== null) expected[used.index]! -= (600 * share) / SPOOL;
          }
          const left = world.cluster(clusterId).printers[0]!.slots!.map(({ volumeLeft }) => volumeLeft);
          for (const [index, share] of expected.entries())
            if (share === null) assert.equal(left[index], null);
            else assert.ok(Math.abs(left[index]! - share * SPOOL) < 3, `${left[index]} ${share * SPOOL}`);
          world.removeCluster(clusterId);
        },
      ),
      { numRuns: 60 },
    );

    async function material(color: string): Promise<{ guid: string }> {
      world.setSlot(1, 5, { extruder: 0, material: { color } });
      return (await slots())[5].material;
    }
  });
});
