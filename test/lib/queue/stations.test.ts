import assert from 'node:assert/strict';
import type { Json } from '../../../lib/service/json-readers';
import { QueueFarm, type Runtime } from '../../helpers/queue-farm';
import { EMPTY_BAYS, extruder, freeSlot, FULL, slot, spool, stationPrinter } from '../../helpers/station';

const RED = spool('Red');
const BLUE = spool('Blue');
const NEED_RED = { guid: RED.guid };
const NEED_BLUE = { guid: BLUE.guid };

/** A printer whose station has two materials for the first extruder, one for the second, and two slots of no use. */
const SLOTS = [
  slot(0, 0, RED),
  slot(1, 0, BLUE),
  slot(2, 1, spool('Natural', 'PVA'), { print_core_id: 'BB 0.4' }),
  slot(3, 1, spool('Black', 'CPE'), { compatible: false }),
  freeSlot(4),
];
const EXTRUDERS = [extruder(0), extruder(1, null, { print_core_id: 'BB 0.4' })];

describe('queue: printers with a material station', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  /** Begins with one idle printer with a station, and adds an item. */
  async function add(slots: Json[], needs: object, { configuration = EXTRUDERS, volumes = [] as number[] } = {}) {
    all.farm.changes.set('C1', { printers: [stationPrinter(slots, { configuration })] });
    const extruders = volumes.map((volume, index) => ({ extruder_index: index, estimated_material_volume: volume }));
    all.farm.metadata.set('job', { machine_variant: 'Maker', extruders });
    one = await all.begin({ printers: ['C1'], match: 'strict', material: 'guid' });
    await one.add('a', { require: needs });
    await all.pass(30);
    const { waitingFor } = await one.item('a');
    return { sent: all.farm.sent.length, codes: waitingFor.map(({ code }) => code) };
  }

  const reasonOf = async (code: string) => {
    const [item] = await one.ask((queue) => queue.explain({ queueKey: 'a' }));
    return item?.waitingFor.find((reason) => reason.code === code)?.text.toString();
  };

  for (const [title, needs] of [
    ['the first slot of an extruder holds', { materials: [NEED_RED] }],
    ['another slot of the extruder holds', { materials: [NEED_BLUE] }],
    ['slots of both extruders hold', { printCores: ['AA 0.4', 'BB 0.4'], materials: [NEED_BLUE, { type: 'PVA' }] }],
  ] as const)
    it(`gives an idle printer what ${title}`, async () => {
      assert.deepEqual((await add(SLOTS, needs)).sent, 1);
    });

  for (const [title, slots, needs, code] of [
    ['is in a slot of the other extruder', SLOTS, { materials: [{ type: 'PVA' }] }, 'MATERIAL'],
    [
      'is in one slot and needed twice',
      [slot(0, 0, RED), slot(1, 1, BLUE)],
      { materials: [NEED_RED, NEED_RED] },
      'MATERIAL',
    ],
    ['is not compatible', SLOTS, { materials: [null, { type: 'CPE' }] }, 'MATERIAL'],
    ['is in a slot that feeds no extruder', [slot(0, -1, RED)], { materials: [NEED_RED] }, 'MATERIAL'],
    [
      'is in a slot marked as empty',
      [slot(0, 0, RED, { material_empty: true })],
      { materials: [NEED_RED] },
      'MATERIAL',
    ],
    [
      'is served by another print core',
      [slot(0, 0, RED, { print_core_id: 'AA 0.8' })],
      { printCores: ['AA 0.4'], materials: [NEED_RED] },
      'PRINT_CORE',
    ],
  ] as const)
    it(`blocks an item whose material ${title}`, async () => {
      const { sent, codes } = await add([...slots], needs);
      assert.deepEqual([sent, codes], [0, ['NO_PRINTER', code]]);
    });

  it('names what the slots of the extruder hold', async () => {
    await add(SLOTS, { materials: [{ type: 'PLA', color: 'Green' }] });
    assert.equal(
      await reasonOf('MATERIAL'),
      'Extruder 1 needs the material PLA Green; its slots hold 1: Generic PLA Red, 2: Generic PLA Blue.',
    );
  });

  it('never names the second form of an empty bay', async () => {
    for (const [at, bay] of EMPTY_BAYS.entries()) {
      all = new QueueFarm();
      await add(
        [slot(0, 0, bay, { material_empty: false })],
        { materials: [NEED_RED] },
        {
          configuration: [extruder(0, bay)],
        },
      );
      assert.equal(
        await reasonOf('MATERIAL'),
        `Extruder 1 needs the material ${RED.guid}; it has none that is known.`,
        `form ${at + 1}`,
      );
      if (at === 0) await all.close();
    }
  });

  describe('compares the share in a slot with what a print needs', () => {
    const low = [slot(0, 0, RED, { material_remaining: 0.1 })];
    const volumes = [0.2 * FULL];
    const needs = { materials: [NEED_RED] };

    it('and names the fullest slot', async () => {
      const { sent, codes } = await add([...low, slot(1, 0, RED, { material_remaining: 0.15 })], needs, { volumes });
      assert.deepEqual([sent, codes], [0, ['NO_PRINTER', 'MATERIAL_LOW']]);
      assert.equal(
        await reasonOf('MATERIAL_LOW'),
        'Extruder 1 needs 60.0 cm³ of material; its fullest slot has 45.0 cm³.',
      );
    });

    for (const [title, slots, configuration] of [
      ['another slot of the material has enough', [...low, slot(1, 0, RED)], EXTRUDERS],
      [
        'the share in another slot of the material is unknown',
        [...low, slot(1, 0, RED, { material_remaining: -1 })],
        EXTRUDERS,
      ],
      ['the volume of a full spool is unknown', low, [extruder(0, null, { original_material_volume: undefined })]],
    ] as const)
      it(`but prints if ${title}`, async () => {
        assert.equal((await add([...slots], needs, { volumes, configuration: [...configuration] })).sent, 1);
      });

    it('and does not count a full slot of another material', async () => {
      const { codes } = await add([...low, slot(1, 0, BLUE, { material_remaining: 1 })], needs, { volumes });
      assert.deepEqual(codes, ['NO_PRINTER', 'MATERIAL_LOW']);
    });
  });

  it('prints copy after copy while the station loads and unloads the extruder', async () => {
    const station = (material: Json | null, status: string) =>
      all.farm.changes.set('C1', {
        printers: [stationPrinter(SLOTS, { status, configuration: [extruder(0, material), extruder(1)] })],
      });
    all.farm.onPrint = () => station(BLUE, 'printing');
    await add(SLOTS, { materials: [NEED_BLUE] });
    await one.update('a', { copies: 3 });
    for (let copy = 1; copy <= 3; copy++) {
      assert.equal(all.farm.sent.length, copy);
      await all.pass(70);
      station(null, 'idle');
      await all.pass(20);
    }
    assert.equal((await one.item('a')).state, 'finished');
  });

  it('sends to a refused printer again only after its slots were changed', async () => {
    all.farm.waiting.set('C1', { configuration_changes_required: [{ type_of_change: 'buildplate_change', index: 0 }] });
    all.farm.lives.push([[0, 'queued']]);
    await add(SLOTS, { materials: [NEED_RED] });
    all.farm.waiting.clear();
    const loaded = [extruder(0, RED), EXTRUDERS[1] as Json];
    for (const configuration of [loaded, EXTRUDERS, loaded]) {
      all.farm.changes.set('C1', { printers: [stationPrinter(SLOTS, { configuration })] });
      await all.pass(100);
      assert.deepEqual([all.farm.sent.length, await one.codes('a')], [1, ['NO_PRINTER', 'REFUSED']]);
    }
    all.farm.changes.set('C1', { printers: [stationPrinter([slot(0, 0, RED), slot(1, 0, spool('Green'))])] });
    await all.pass(30);
    assert.equal(all.farm.sent.length, 2);
  });
});
