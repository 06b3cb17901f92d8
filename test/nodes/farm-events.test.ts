import assert from 'node:assert/strict';
import type { NodeMessage } from 'node-red';
import type { PrintEvent } from '../../lib/events/print-event';
import type { ClusterStatus } from '../../lib/service/cluster';
import type { Simulator } from '../../simulator';
import type { Json } from '../../lib/service/json-readers';
import { EMPTY_BAYS, extruder, freeSlot, slot, spool, stationPrinter } from '../helpers/station';
import type { Definition, Flow, Inbox } from '../helpers/flow';
import { pluck } from '../helpers/pluck';
import type { TurnedTime } from '../helpers/turned-time';
import { TimedBench, watchNode } from './support';

const MINUTE = 60;
/** Volume of the simulator's full spool, mm³. */
const SPOOL = 604_800;
const eventOf = (msg: NodeMessage) => msg.payload as PrintEvent;
const statusOf = (msg: NodeMessage | undefined) => msg?.payload as ClusterStatus;

describe('nodes/cluster-status: materials, maintenance and plates', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;
  const bench = new TimedBench('status', 'events', 'others');
  const { status, events, others } = bench.inboxes as Record<'status' | 'events' | 'others', Inbox>;

  const firstId = () => simulator.world.cluster(1).clusterId;
  const node = (changes = {}) => watchNode({ cluster: firstId(), ...changes });
  /** A second node on the same printer, with thresholds of its own. */
  const other = (changes = {}) => node({ id: 'other', wires: [[], ['others']], ...changes });
  const watch = async (nodes: Definition[] = [node()], options: Parameters<Flow['deploy']>[1] = {}) => {
    await bench.deploy(nodes, options);
    await time.settled();
  };
  /** Restarts Node-RED; `meanwhile` happens while it is down. */
  const restart = async (meanwhile: () => unknown, nodes?: Definition[]) => {
    ({ flow } = await bench.restart(meanwhile));
    await watch(nodes);
  };

  beforeEach(async () => {
    ({ time, simulator, flow } = await bench.start());
    await flow.deploy([]);
    reload(80);
  });
  afterEach(() => bench.stop());

  /** Sets the rest on the spool of an extruder, percent; its material stays. */
  const reload = (percent: number, extruder = 0) => {
    const { material } = simulator.world.cluster(1).printers[0]!.extruders[extruder]!;
    simulator.world.load(1, extruder, material, (percent / 100) * SPOOL);
  };
  const print = (seconds = 100) => simulator.world.printLocally(1, { name: 'part.gcode', seconds });
  const of = (type: string, inbox = events) => inbox.all.map(eventOf).filter((event) => event.type === type);
  const valuesOf = (type: string, inbox = events) => pluck(of(type, inbox), 'value') as Record<string, unknown>[];
  const shares = (inbox = events) => pluck(valuesOf('material.low', inbox), 'below');
  const poll = (polls = 1) => time.pass(12 * polls);
  const maintenance = (number = 1) => {
    const { clusterId, model } = simulator.world.cluster(number);
    simulator.world.setMaintenanceDue(clusterId, [`${model}_clean_fans`]);
  };

  describe('status messages', () => {
    it('shows in a status what is loaded, how much is left, and the state of the printer', async () => {
      const { clusterId } = simulator.world.cluster(3);
      const red = { guid: 'red', color: 'Red', material: 'PETG' };
      simulator.world.setNote(3, 'Nozzle replaced on Monday');
      simulator.world.setSlot(3, 0, { extruder: 0, material: red, remaining: 0.25 });
      simulator.world.setSlot(3, 1, null);
      simulator.world.printLocally(3, { name: 'part.gcode', seconds: 6000 });
      await time.pass(60);
      simulator.world.addFault(3, { code: 'DOOR_OPEN', severity: 'error' });
      simulator.world.setTrouble(3, 'error');
      maintenance(3);
      await watch([node({ cluster: clusterId })]);
      const { capabilities, note, maintenanceDue, printers } = statusOf(status.all[0]);
      assert.deepEqual([note, maintenanceDue], ['Nozzle replaced on Monday', true]);
      assert.ok(capabilities?.includes('print_job_action'));
      const [printer] = printers;
      assert.ok(printer);
      const { extruders, slots, chamber, airFilter, faults, errors } = printer;
      const material = { guid: 'red', brand: 'Generic', name: 'PETG', color: 'Red', diameter: null, density: null };
      const [{ temperature: _, ...first }] = extruders as [(typeof extruders)[0]];
      assert.deepEqual(first, { index: 0, printCore: 'AA 0.4', volumeLeft: SPOOL / 4, volumeFull: SPOOL, material });
      assert.equal(slots.length, 6);
      const [fed, free, unknown] = slots;
      assert.deepEqual(fed, {
        ...{ index: 0, extruder: 0, printCore: 'AA 0.4', compatible: true, material, remaining: 0.25 },
      });
      assert.deepEqual([free?.material, unknown?.remaining], [null, null]);
      assert.ok(chamber?.temperature);
      assert.deepEqual(airFilter, { status: 'peak_performance', age: 0, limit: 1500 * 3600 });
      assert.deepEqual([faults.length, errors.map(({ code }) => code)], [1, ['DOOR_OPEN']]);
    });

    it('shows in a status what a print needs, its note, its picture and the changes that it requires', async () => {
      simulator.world.setRequiredChanges(1);
      const [user] = simulator.users;
      const about = {
        organizationId: user!.organizations[0]!.organizationId,
        userId: user!.userId,
        fileSize: 3,
        contentType: 'text/plain',
        origin: null,
        libraryProjectId: null,
      };
      const stored = simulator.world.register({ ...about, jobName: 'part.gcode', sourceFileId: null });
      const needs = [{ extruder: 1, volume: 1500, guid: null, printCore: null }];
      simulator.world.stored(stored, { size: 3, sha256: 'x', printSeconds: 600, parsed: true, needs });
      const job = simulator.world.print(simulator.world.cluster(1), stored, user!.userId, true);
      simulator.world.setJobNote(1, 'For the fair', job.uuid);
      await time.pass(60);
      await watch();
      const [shown] = statusOf(status.all[0]).jobs;
      assert.ok(shown);
      const { note, hasPreview, materials, changesRequired } = shown;
      assert.deepEqual([note, hasPreview, materials.length], ['For the fair', true, 1]);
      const [{ extruder, type, volume } = assert.fail()] = materials;
      assert.deepEqual([extruder, type, volume], [1, 'PLA', 1500]);
      const [change] = changesRequired as { type: string; text?: string }[];
      assert.equal(change?.type, 'material_change');
      assert.equal(change.text, 'Load Generic ABS instead of Generic PLA in extruder 1.');
      assert.equal(JSON.stringify(status.all[0]?.payload).includes('signature'), false);
    });
  });

  describe('material.changed and printcore.changed', () => {
    it('reports another material and another print core once, and nothing at first sight', async () => {
      await watch([node(), other()]);
      assert.deepEqual(events.all, []);
      simulator.world.load(1, 0, { guid: 'blue', color: 'Blue', material: 'PETG' });
      simulator.world.setPrintCore(1, 1, 'CC 0.6');
      await poll(5);
      for (const inbox of [events, others]) {
        const [material, core] = inbox.all.map(eventOf);
        assert.deepEqual(pluck(inbox.all, 'topic'), ['material.changed', 'printcore.changed']);
        const loads = [material?.previous, material?.value] as { extruder: number; material: { name: string } }[];
        assert.deepEqual(pluck(loads, 'extruder'), [0, 0]);
        assert.deepEqual(pluck(pluck(loads, 'material'), 'name'), ['PLA', 'PETG']);
        assert.deepEqual(core?.previous, { extruder: 1, printCore: 'BB 0.4' });
        assert.deepEqual(core?.value, { extruder: 1, printCore: 'CC 0.6' });
        const { uuid, name } = simulator.world.cluster(1).printers[0]!;
        assert.deepEqual([material?.printerId, material?.printerName, material?.late], [uuid, name, false]);
        assert.equal(inbox.all[0]?.printerId, uuid);
      }
      const [mine, theirs] = [events, others].map((inbox) => inbox.all.map((msg) => eventOf(msg).id));
      assert.deepEqual(mine, theirs);
    });

    it('reports the removal of a material or a print core after two polls without it, and its return', async () => {
      await watch();
      const { material, printCore } = simulator.world.cluster(1).printers[0]!.extruders[0]!;
      simulator.world.load(1, 0, null);
      simulator.world.setPrintCore(1, 0, null);
      flow.send('watch', {});
      await time.settled();
      assert.deepEqual(events.all, []);
      await poll(2);
      assert.deepEqual(valuesOf('material.changed'), [{ extruder: 0, material: null }]);
      assert.deepEqual(valuesOf('printcore.changed'), [{ extruder: 0, printCore: null }]);
      simulator.world.load(1, 0, material);
      simulator.world.setPrintCore(1, 0, printCore);
      await poll(2);
      assert.deepEqual([of('material.changed').length, of('printcore.changed').length], [2, 2]);
      assert.equal(new Set(events.all.map((msg) => eventOf(msg).id)).size, events.all.length);
    });
  });

  describe('material.low', () => {
    it("reports low material once per spool, below each node's own share", async () => {
      await watch([node({ lowMaterial: 10 }), other({ lowMaterial: '50' })]);
      const both = () => [shares(), shares(others)];
      reload(50);
      await poll(2);
      assert.deepEqual(both(), [[], []]);
      reload(40);
      await poll(2);
      assert.deepEqual(both(), [[], [50]]);
      reload(9);
      await poll(2);
      reload(3);
      await poll(2);
      assert.deepEqual(both(), [[10], [50]]);
      const [{ material, ...low }] = valuesOf('material.low') as [{ material: { name: string } }];
      const left = { volumeLeft: 0.09 * SPOOL, volumeFull: SPOOL, needed: null, below: 10 };
      assert.deepEqual(low, { extruder: 0, ...left });
      assert.equal(material.name, 'PLA');

      reload(100);
      await poll(2);
      reload(2);
      await poll(2);
      assert.deepEqual(both(), [
        [10, 10],
        [50, 50],
      ]);
      const ids = [...of('material.low'), ...of('material.low', others)].map(({ id }) => id);
      assert.equal(new Set(ids).size, 4);
    });

    it('reports low material after a print that used it', async () => {
      reload(10.2);
      await watch();
      print(1000);
      await time.pass(1000 + 200);
      const [low] = valuesOf('material.low');
      assert.deepEqual([low?.volumeLeft, low?.below], [Math.round(0.102 * SPOOL) - 4000, 10]);
      assert.equal(of('material.low').length, 1);
    });

    for (const lowMaterial of [undefined, ''])
      it(`reports low material below a tenth of a spool when the setting is ${lowMaterial === '' ? 'blank' : 'missing'}`, async () => {
        await watch([node({ lowMaterial })]);
        for (const percent of [11, 9, 0]) {
          reload(percent);
          await poll();
        }
        assert.deepEqual(shares(), [10]);
      });

    it('reports a print that needs more than is left, once to each node, whatever their shares', async () => {
      reload(0.5);
      await watch([node({ lowMaterial: 0.1 }), other({ lowMaterial: 50 })]);
      const { uuid } = print(1000);
      await time.pass(150);
      for (const inbox of [events, others]) {
        const [event, ...more] = of('material.low', inbox);
        assert.ok(event);
        assert.deepEqual(more, []);
        const { volumeLeft, needed, below } = event.value as Record<string, unknown>;
        assert.deepEqual([event.job?.clusterJobId, volumeLeft, needed, below], [uuid, 0.005 * SPOOL, 4000, null]);
      }
      assert.deepEqual(of('material.low')[0]?.id, of('material.low', others)[0]?.id);
      assert.equal(events.all.find(({ topic }) => topic === 'material.low')?.clusterJobId, uuid);
      await time.pass(800);
      assert.equal(of('material.low').length, 1);
    });

    it('reports nothing of a spool that was low, and of a print that was short of material, at first sight', async () => {
      reload(0.5);
      print(1000);
      await time.pass(200);
      await watch();
      await poll(3);
      assert.deepEqual(events.all, []);
    });
  });

  describe('a material station', () => {
    const RED = spool('Red');
    const GREEN = spool('Green');
    /** Shows the first printer with slots for its first extruder, and what the station has loaded there. */
    const shows = (slots: Json[], loaded: Json | null = null) => {
      const configuration = [extruder(0, loaded), extruder(1)];
      simulator.faults.clear();
      simulator.faults.add({
        ...{ endpoint: 'clusterStatus', times: 'always' },
        transform: (body) => {
          const { data } = body as { data: { printers: Json[] } };
          data.printers = data.printers.map((printer) => ({ ...printer, ...stationPrinter(slots, { configuration }) }));
          return body;
        },
      });
    };
    const holding = (remaining: number, ...others: Json[]) => [
      slot(0, 0, RED, { material_remaining: remaining }),
      slot(1, 1, EMPTY_BAYS[1] ?? null, { material_empty: false }),
      slot(2, 0, GREEN, { compatible: false }),
      freeSlot(3),
      ...others,
    ];

    it('shows each slot, and no material in an empty or a free one', async () => {
      shows(holding(0.5), EMPTY_BAYS[1]);
      await watch();
      const [printer] = statusOf(status.all[0]).printers;
      assert.deepEqual(pluck(printer!.extruders, 'material'), [null, null]);
      assert.deepEqual(
        printer!.slots.map(({ material, ...slotOf }) => ({ ...slotOf, material: material?.color ?? null })),
        [
          { index: 0, extruder: 0, printCore: 'AA 0.4', compatible: true, remaining: 0.5, material: 'Red' },
          { index: 1, extruder: 1, printCore: 'AA 0.4', compatible: true, remaining: 0.5, material: null },
          { index: 2, extruder: 0, printCore: 'AA 0.4', compatible: false, remaining: 0.5, material: 'Green' },
          { index: 3, extruder: null, printCore: null, compatible: false, remaining: null, material: null },
        ],
      );
    });

    it('reports no change while it loads for prints, one of a slot, and low material once per spool', async () => {
      shows(holding(0.12));
      await watch([node({ lowMaterial: 10 })]);
      const low: unknown[] = [];
      for (const remaining of [0.09, 0.08, 0.07]) {
        for (const loaded of [RED, null]) {
          shows(holding(remaining), loaded);
          await poll(3);
        }
        assert.deepEqual(of('material.changed'), []);
        low.push(valuesOf('material.low').map(({ slot: at, below }) => [at, below]));
        await restart(() => undefined, [node({ lowMaterial: 10 })]);
      }
      assert.deepEqual(low, [[[0, 10]], [], []]);
      shows([...holding(0.07), slot(4, 1, null)]);
      await poll(2);
      shows([...holding(0.07), slot(4, 1, GREEN)]);
      await poll(2);
      const [value, ...more] = valuesOf('material.changed');
      const { material, ...place } = value as { material: { color: string } };
      assert.deepEqual([place, material.color, more], [{ extruder: 1, slot: 4 }, 'Green', []]);
    });
  });

  describe('maintenance.due', () => {
    const lists = () => simulator.requests.count('clusters');

    it('reports maintenance of one printer within about ten minutes, each time that it becomes due', async () => {
      await watch();
      const before = lists();
      for (const round of [1, 2]) {
        maintenance();
        await time.pass(11 * MINUTE);
        assert.equal(of('maintenance.due').length, round);
        await time.pass(20 * MINUTE);
        assert.equal(of('maintenance.due').length, round);
        assert.equal(statusOf(status.all.at(-1)).maintenanceDue, true);
        simulator.world.setMaintenanceDue(1, []);
        await time.pass(11 * MINUTE);
        assert.equal(statusOf(status.all.at(-1)).maintenanceDue, false);
      }
      assert.ok(lists() - before <= 9, `${lists() - before} lists in 84 minutes`);
      const [first, second] = of('maintenance.due');
      assert.notEqual(first?.id, second?.id);
      assert.deepEqual([first?.printerId, first?.job], [simulator.world.cluster(1).printers[0]!.uuid, null]);
    });

    it('reports maintenance of all printers with the next list', async () => {
      await watch([node({ cluster: '', interval: 60 })]);
      await time.pass(5 * MINUTE);
      assert.deepEqual(events.all, []);
      maintenance(2);
      await time.pass(2 * MINUTE);
      assert.deepEqual(pluck(of('maintenance.due'), 'clusterId'), [simulator.world.cluster(2).clusterId]);
    });

    it('reports no maintenance that was due before the first list arrived', async () => {
      maintenance();
      simulator.faults.add({ endpoint: 'clusters', status: 503, times: 'always' });
      await watch();
      await poll(3);
      assert.deepEqual([status.all.length > 1, statusOf(status.all.at(-1)).maintenanceDue], [true, null]);
      simulator.faults.clear();
      await time.pass(25 * MINUTE);
      assert.equal(statusOf(status.all.at(-1)).maintenanceDue, true);
      assert.deepEqual(of('maintenance.due'), []);
    });

    it('reports no maintenance that was due at first sight', async () => {
      maintenance();
      await watch();
      await time.pass(25 * MINUTE);
      assert.deepEqual(events.all, []);
      assert.equal(statusOf(status.all.at(-1)).maintenanceDue, true);
    });
  });

  describe('plate.awaiting', () => {
    const PRINT = 5 + 90 + 100 + 60;
    beforeEach(() => simulator.world.setCleaning(1, 'manual'));

    it("reports a plate after each node's own minutes, once per print", async () => {
      await watch([node({ plateWait: 5, interval: 20 }), other({ plateWait: '2', interval: 20 })]);
      const waits = () => [events, others].map((inbox) => of('plate.awaiting', inbox).map(({ value }) => value));
      for (const round of [1, 2]) {
        const { uuid } = print();
        await time.pass(PRINT + 1.5 * MINUTE);
        assert.equal(statusOf(status.all.at(-1)).jobs[0]?.status, 'wait_cleanup');
        assert.deepEqual(waits(), round === 1 ? [[], []] : [[5], [2]]);
        await time.pass(1 * MINUTE);
        assert.deepEqual(waits(), round === 1 ? [[], [2]] : [[5], [2, 2]]);
        await time.pass(3 * MINUTE);
        const [first, last] = [of('plate.awaiting')[round - 1], of('plate.awaiting', others)[round - 1]];
        assert.deepEqual([first?.value, last?.value, first?.job?.clusterJobId], [5, 2, uuid]);
        await time.pass(20 * MINUTE);
        simulator.world.clean(1);
        await poll(2);
      }
      assert.deepEqual(waits(), [
        [5, 5],
        [2, 2],
      ]);
      assert.equal(new Set([...of('plate.awaiting'), ...of('plate.awaiting', others)].map(({ id }) => id)).size, 4);
    });

    it('reports a plate after half an hour without a setting', async () => {
      await watch([node({ interval: 60 })]);
      print();
      await time.pass(PRINT + 28 * MINUTE);
      assert.deepEqual(of('plate.awaiting'), []);
      await time.pass(40 * MINUTE);
      assert.deepEqual(pluck(of('plate.awaiting'), 'value'), [30]);
    });

    it('reports nothing of a plate that is cleared in time, or that waited at first sight', async () => {
      print();
      await time.pass(PRINT);
      await watch([node({ plateWait: 5 })]);
      await time.pass(20 * MINUTE);
      assert.deepEqual(of('plate.awaiting'), []);
      simulator.world.clean(1);
      print();
      await time.pass(PRINT + 4 * MINUTE);
      simulator.world.clean(1);
      await time.pass(20 * MINUTE);
      assert.deepEqual(of('plate.awaiting'), []);
    });
  });

  describe('deploys and restarts', () => {
    const settings = { lowMaterial: 10, plateWait: 5 };
    const KINDS = ['maintenance.due', 'material.changed', 'material.low', 'plate.awaiting', 'printcore.changed'];
    const kinds = () => events.all.map(({ topic }) => String(topic)).filter((type) => KINDS.includes(type));
    /** Causes one event of each kind; the plate waits from now on. */
    const cause = () => {
      print(3);
      simulator.world.advance(5 + 90 + 3 + 60);
      simulator.world.load(1, 1, { guid: 'new', material: 'ABS' });
      simulator.world.setPrintCore(1, 1, 'CC 0.6');
      reload(5);
      maintenance();
    };
    beforeEach(() => simulator.world.setCleaning(1, 'manual'));

    it('repeats no event after a deploy or a restart', async () => {
      await watch([node(settings)]);
      cause();
      await time.pass(15 * MINUTE);
      assert.deepEqual(kinds().sort(), KINDS);
      for (const type of ['full', 'flows', 'nodes'] as const) {
        await watch([node({ ...settings, name: type })], { type });
        await time.pass(12 * MINUTE);
        assert.deepEqual(kinds(), [], type);
      }
      await restart(() => undefined, [node(settings)]);
      await time.pass(12 * MINUTE);
      assert.deepEqual(kinds(), []);
    });

    it('reports what happened during a restart once, as late', async () => {
      await watch([node(settings)]);
      await poll(2);
      const off = async () => {
        cause();
        await time.pass(3 * MINUTE);
      };
      await restart(off, [node(settings)]);
      await time.pass(15 * MINUTE);
      assert.deepEqual(kinds().sort(), KINDS);
      const late = events.all.map(eventOf).filter(({ type }) => KINDS.includes(type));
      const known = KINDS.filter((type) => type !== 'plate.awaiting');
      assert.deepEqual(
        pluck(
          late.filter((event) => event.late),
          'type',
        ).sort(),
        known,
      );
    });

    it('continues the wait for a plate after a restart', async () => {
      await watch([node(settings)]);
      print(3);
      simulator.world.advance(5 + 90 + 3 + 60);
      await time.pass(4 * MINUTE);
      assert.deepEqual(of('plate.awaiting'), []);
      await restart(() => time.pass(30), [node(settings)]);
      assert.deepEqual(of('plate.awaiting'), []);
      await time.pass(MINUTE);
      assert.deepEqual(pluck(of('plate.awaiting'), 'value'), [5]);
    });
  });
});
