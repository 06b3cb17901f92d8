import assert from 'node:assert/strict';
import fc from 'fast-check';
import { advance } from '../../../lib/events/advance';
import type { Checkpoint } from '../../../lib/events/checkpoint';
import type { PrintEvent } from '../../../lib/events/print-event';
import { eventsFor } from '../../../lib/events/edges';
import type { ClusterIdentity } from '../../../lib/service/cluster';
import { answer, at, minute, NO_THRESHOLDS, observation, type Wire } from './observations';
import { EMPTY_BAYS, freeSlot, slot, stationPrinter } from '../../helpers/station';
import { pluck } from '../../helpers/pluck';

const FULL = 1000;
const RED = { guid: 'red', brand: 'Generic', material: 'PLA', color: 'Red' };
const BLUE = { guid: 'blue', brand: 'Generic', material: 'PLA', color: 'Blue' };
const EMPTY = { material: 'empty' };
const thresholds = { ...NO_THRESHOLDS, lowMaterial: 10, plateWait: 30 };

const extruder = (left: number | undefined, material: Wire | undefined = RED, core: string | undefined = 'AA 0.4') => ({
  ...{ extruder_index: 0, print_core_id: core, material, estimated_material_volume: left },
  original_material_volume: left === undefined ? undefined : FULL,
});
const loaded = (configuration: Wire[], more: Wire = {}): Wire =>
  answer({ printers: [{ uuid: 'P1', friendly_name: 'Left', status: 'idle', configuration }], ...more });
const needing = (uuid: string, status: string, volume: number): Wire =>
  at(uuid, status, 20, {
    printer_uuid: 'P1',
    configuration: [{ extruder_index: 0, material: RED, estimated_material_volume: volume }],
  });

interface Poll {
  wire: Wire;
  listed?: Partial<ClusterIdentity>;
  time?: number;
}

/** The events of each poll, of one printer that is polled once a minute unless a poll has its own time. */
function eventsOf(polls: (Wire | Poll)[], of = thresholds, before: Checkpoint | null = null): PrintEvent[][] {
  let checkpoint = before;
  return polls.map((poll, index) => {
    const { wire, listed, time = index } = 'wire' in poll ? (poll as Poll) : { wire: poll };
    const step = advance(checkpoint, observation(wire, time, listed));
    checkpoint = JSON.parse(JSON.stringify(step.checkpoint)) as Checkpoint;
    return eventsFor(step.drafts, of);
  });
}
const typesOf = (polls: (Wire | Poll)[], of = thresholds) =>
  eventsOf(polls, of).map((all) => all.map(({ type }) => type));

describe('advance: material and print cores', () => {
  it('makes no events of a printer that is seen for the first time', () => {
    const printing = loaded([extruder(5)], { print_jobs: [needing('a', 'printing', 500)] });
    assert.deepEqual(typesOf([printing, printing]), [[], []]);
  });

  it('reports another material with the one before', () => {
    const [event] = eventsOf([loaded([extruder(500)]), loaded([extruder(900, BLUE)])]).flat();
    assert.equal(event?.type, 'material.changed');
    assert.equal(event.printerId, 'P1');
    assert.deepEqual(
      [event.previous, event.value].map((loads) => {
        const { extruder: index, material } = loads as { extruder: number; material: { color: string } };
        return [index, material.color];
      }),
      [
        [0, 'Red'],
        [0, 'Blue'],
      ],
    );
  });

  it('reports a removed material once two polls in a row lack it, and its return', () => {
    const polls = [extruder(500), extruder(undefined, EMPTY), extruder(undefined, EMPTY), extruder(900)];
    assert.deepEqual(typesOf(polls.map((one) => loaded([one]))), [[], [], ['material.changed'], ['material.changed']]);
  });

  it('makes no events when one poll lacks the material, the core, the extruder or the printer', () => {
    const full = loaded([extruder(500)]);
    for (const odd of [
      loaded([{ ...extruder(500), material: undefined }]),
      loaded([{ ...extruder(500), print_core_id: undefined }]),
      loaded([]),
      answer({ printers: [] }),
      answer({ is_online: false, printers: null }),
    ])
      assert.deepEqual(typesOf([full, odd, full, odd, full]).flat(), [], JSON.stringify(odd));
  });

  it('compares materials by GUID, and by their words where one has none', () => {
    const { guid: _, ...nameless } = RED;
    const renamed = { ...RED, brand: 'generic', color: 'Bright red' };
    assert.deepEqual(typesOf([loaded([extruder(500)]), loaded([extruder(500, renamed)])]).flat(), []);
    assert.deepEqual(typesOf([loaded([extruder(500)]), loaded([extruder(500, nameless)])]).flat(), []);
    const other = { ...nameless, color: 'Green' };
    assert.deepEqual(typesOf([loaded([extruder(500)]), loaded([extruder(500, other)])]).flat(), ['material.changed']);
  });

  it('reports another print core, and a removed one once two polls in a row lack it', () => {
    const core = (id: string | undefined) => loaded([{ ...extruder(500), print_core_id: id }]);
    const polls = eventsOf([core('AA 0.4'), core('BB 0.4'), core(undefined), core(undefined)]);
    assert.deepEqual(
      polls.flat().map(({ type, previous, value }) => [type, previous, value]),
      [
        ['printcore.changed', { extruder: 0, printCore: 'AA 0.4' }, { extruder: 0, printCore: 'BB 0.4' }],
        ['printcore.changed', { extruder: 0, printCore: 'BB 0.4' }, { extruder: 0, printCore: null }],
      ],
    );
  });

  it('reports low material once per spool, below the share of the subscriber', () => {
    const polls = [500, 100, 99, 60, 20].map((left) => loaded([extruder(left)]));
    assert.deepEqual(typesOf(polls), [[], [], ['material.low'], [], []]);
    assert.deepEqual(typesOf(polls, { ...thresholds, lowMaterial: 5 }), [[], [], [], [], ['material.low']]);
    assert.deepEqual(typesOf(polls, NO_THRESHOLDS).flat(), []);
    const event = eventsOf(polls).flat()[0]!;
    const { material, ...value } = event.value as Record<string, unknown>;
    assert.deepEqual(value, { extruder: 0, volumeLeft: 99, volumeFull: FULL, needed: null, below: 10 });
    assert.equal((material as typeof RED).color, 'Red');
  });

  it('reports low material again for another spool, of the same material or of another', () => {
    const polls = [500, 50, 1000, 50].map((left) => loaded([extruder(left)]));
    assert.deepEqual(typesOf(polls), [[], ['material.low'], [], ['material.low']]);
    const [first, second] = eventsOf(polls).flat();
    assert.notEqual(first?.id, second?.id);
    const change = [extruder(500), extruder(50), extruder(40, BLUE)].map((one) => loaded([one]));
    assert.deepEqual(typesOf(change), [[], ['material.low'], ['material.changed', 'material.low']]);
  });

  it('reports low material once when the estimate wavers', () => {
    const polls = [120, 95, 105, 98, 110, 90].map((left) => loaded([extruder(left)]));
    assert.deepEqual(typesOf(polls).flat(), ['material.low']);
  });

  it('makes no event of an estimate that was unknown before', () => {
    const polls = [extruder(undefined), extruder(50), extruder(40)].map((one) => loaded([one]));
    assert.deepEqual(typesOf(polls).flat(), []);
  });

  it('reports a print that needs more than is left, once per print', () => {
    const printing = (id: string, needed: number) =>
      loaded([extruder(300)], { print_jobs: [needing(id, 'printing', needed)] });
    const polls = eventsOf([
      loaded([extruder(300)]),
      printing('a', 400),
      printing('a', 400),
      printing('b', 200),
      printing('c', 301),
    ]);
    const low = polls.map((all) => all.filter(({ type }) => type === 'material.low'));
    assert.deepEqual(
      low.map((all) => all.map(({ job, value }) => [job?.clusterJobId, (value as { needed: number }).needed])),
      [[], [['a', 400]], [], [], [['c', 301]]],
    );
  });

  it('ignores the need of waiting prints, and of prints on another printer', () => {
    const waiting = loaded([extruder(300)], { print_jobs: [needing('a', 'queued', 400)] });
    const elsewhere = loaded([extruder(300)], {
      print_jobs: [{ ...needing('a', 'printing', 400), printer_uuid: 'P2' }],
    });
    for (const wire of [waiting, elsewhere])
      assert(
        !typesOf([loaded([extruder(300)]), wire])
          .flat()
          .includes('material.low'),
      );
  });

  it('gives an event the same id when it is found again from an older checkpoint', () => {
    const first = advance(null, observation(loaded([extruder(500)]))).checkpoint;
    const poll = { wire: loaded([extruder(50, BLUE, 'BB 0.4')]), time: 1 };
    const later = { ...poll, time: 9 };
    const ids = [poll, later].map((one) =>
      eventsOf([one], thresholds, first)
        .flat()
        .map(({ id }) => id),
    );
    assert.equal(ids[0]?.length, 3);
    assert.deepEqual(ids[0], ids[1]);
  });

  it('follows at most 16 extruders of a printer', () => {
    const many = Array.from({ length: 500 }, (_, index) => ({ ...extruder(500), extruder_index: index }));
    const { checkpoint } = advance(null, observation(loaded(many)));
    assert.equal(checkpoint.printers[0]?.extruders?.length, 16);
  });

  it('never repeats an id, and reports only what changed, in any sequence of spools', () => {
    const colors = ['red', 'blue', 'green'].map((guid) => ({ ...RED, guid, color: guid }));
    const load = fc.record({
      left: fc.option(fc.integer({ min: 0, max: FULL }), { nil: undefined }),
      material: fc.constantFrom(...colors, EMPTY, undefined),
      core: fc.constantFrom('AA 0.4', 'BB 0.4', undefined),
    });
    fc.assert(
      fc.property(fc.array(load, { minLength: 2, maxLength: 12 }), (loads) => {
        const polls = eventsOf(loads.map(({ left, material, core }) => loaded([extruder(left, material, core)])));
        const events = polls.flat();
        assert.equal(new Set(events.map(({ id }) => id)).size, events.length);
        for (const { type, previous, value } of events)
          if (type !== 'material.low') assert.notDeepEqual(previous, value);
        for (const [index, all] of polls.entries())
          for (const { type } of all) if (type === 'material.low') assert((loads[index]?.left ?? FULL) < FULL / 10);
      }),
      { numRuns: 300 },
    );
  });
});

describe('advance: slots of a material station', () => {
  const GREEN = { ...RED, guid: 'green', color: 'Green' };
  /** A printer that holds red and blue for its first extruder; idle, that one is empty. */
  const station = (slots: Wire[], inExtruder: Wire = EMPTY, left?: number): Wire =>
    answer({
      printers: [
        stationPrinter(slots, {
          uuid: 'P1',
          configuration: [{ ...extruder(left, inExtruder), original_material_volume: FULL }],
        }),
      ],
    });
  const two = (red: Wire | null = RED, more: Wire = {}) => [slot(0, 0, red, more), slot(1, 0, BLUE)];
  const share = (remaining: number) => two(RED, { material_remaining: remaining });

  it('makes no events of what a station loads for a print and takes back', () => {
    const loads = [EMPTY, RED, RED, EMPTY, EMPTY, BLUE, BLUE, RED, EMPTY, EMPTY];
    for (const first of [EMPTY, RED])
      assert.deepEqual(typesOf([first, ...loads].map((material) => station(two(), material, 500))).flat(), []);
  });

  it('makes no events of the unloading where the spool was taken from its slot meanwhile', () => {
    const polls = [
      [RED, EMPTY],
      [RED, RED],
      [null, RED],
      [null, RED],
      [GREEN, RED],
      [GREEN, EMPTY],
      [GREEN, EMPTY],
    ] as const;
    assert.deepEqual(
      eventsOf(polls.map(([inSlot, inExtruder]) => station(two(inSlot), inExtruder))).map((all) =>
        all.map(({ type, value }) => [type, (value as { slot?: number }).slot]),
      ),
      [[], [], [], [['material.changed', 0]], [['material.changed', 0]], [], []],
    );
  });

  it('makes no events when an answer lacks the station', () => {
    const bare = loaded([extruder(500, RED)]);
    assert.deepEqual(typesOf([station(two()), station(two(), RED), bare, bare, station(two(), RED)]).flat(), []);
  });

  it('reports another material in a slot, and a removed one once two polls in a row lack it', () => {
    for (const bay of EMPTY_BAYS) {
      const empty = two(bay, { material_empty: false });
      const events = eventsOf([two(), two(GREEN), empty, empty, two()].map((slots) => station(slots)));
      assert.deepEqual(pluck(events, 'length'), [0, 1, 0, 1, 1]);
      const shown = events.flat().map(({ type, printerId, previous, value }) => {
        const [from, to] = [previous, value].map((about) => {
          const { extruder: index, slot: at, material } = about as { extruder: number; slot: number; material: Wire };
          return [index, at, material?.color];
        });
        return [type, printerId, from, to];
      });
      assert.deepEqual(shown, [
        ['material.changed', 'P1', [0, 0, 'Red'], [0, 0, 'Green']],
        ['material.changed', 'P1', [0, 0, 'Green'], [0, 0, undefined]],
        ['material.changed', 'P1', [0, 0, undefined], [0, 0, 'Red']],
      ]);
    }
  });

  it('reports a spool by hand in an extruder, which no slot holds', () => {
    const [event] = eventsOf([station(two()), station(two(), GREEN)]).flat();
    const { extruder: index, slot: at, material } = event!.value as Wire & { material: Wire };
    assert.deepEqual([event?.type, index, at, material.color], ['material.changed', 0, undefined, 'Green']);
  });

  it('reports a slot that becomes free without a low material', () => {
    const free = [freeSlot(0), slot(1, 0, BLUE)];
    const gone = [station(two()), station(free), station(free)];
    const [event, ...others] = eventsOf(gone).flat();
    assert.deepEqual([event?.type, others], ['material.changed', []]);
    assert.deepEqual(event?.value, { extruder: null, slot: 0, material: null });
    const empty = two(null, { material_remaining: 0 });
    assert.deepEqual(typesOf([station(two()), station(empty), station(empty)]).flat(), ['material.changed']);
  });

  it('reports low material once per spool and share, however often the station loads it', () => {
    const prints = [0.12, 0.09, 0.08, 0.04].flatMap((left) => [
      station(share(left)),
      station(share(left), RED, left * FULL),
      station(share(left), RED, left * FULL),
      station(share(left)),
      station(share(left)),
    ]);
    const low = eventsOf(prints).flat();
    assert.deepEqual(pluck(low, 'type'), ['material.low']);
    const { material, ...value } = low[0]!.value as Record<string, unknown>;
    assert.deepEqual(value, { extruder: 0, slot: 0, volumeLeft: 90, volumeFull: FULL, needed: null, below: 10 });
    assert.equal((material as typeof RED).color, 'Red');
    const again = [...prints, station(share(1)), station(share(0.09))];
    assert.deepEqual(pluck(eventsOf(again).flat(), 'type'), ['material.low', 'material.low']);
  });

  it('reports it once by the estimate in the extruder, where the share in the slot is unknown', () => {
    const idle = station(share(-1));
    const prints = [120, 90, 80].flatMap((left) => [idle, station(share(-1), RED, left), idle, idle]);
    const low = eventsOf(prints).flat();
    assert.deepEqual(
      low.map(({ type, value }) => [
        type,
        (value as { slot: number }).slot,
        (value as { volumeLeft: number }).volumeLeft,
      ]),
      [['material.low', 0, 90]],
    );
  });

  it('compares shares in whole percent as they are written', () => {
    const polls = [0.5, 0.29, 0.28].map((left) => station(share(left)));
    assert.deepEqual(typesOf(polls, { ...thresholds, lowMaterial: 29 }), [[], [], ['material.low']]);
  });

  it('continues from a checkpoint of before slots were followed', () => {
    for (const inExtruder of [RED, EMPTY]) {
      const old = advance(null, observation(loaded([extruder(120, inExtruder)]))).checkpoint;
      const polls = [station(share(0.12), RED, 120), station(share(0.12)), station(share(0.12)), station(share(0.09))];
      assert.deepEqual(pluck(eventsOf(polls, thresholds, old), 'length'), [0, 0, 0, 1]);
    }
  });

  it('reports no change of a material, and no id twice, in any sequence of loads', () => {
    const load = fc.record({
      inSlots: fc.tuple(...[0, 1].map(() => fc.constantFrom(RED, BLUE, GREEN, null))),
      loads: fc.constantFrom(0, 1, null),
      left: fc.integer({ min: 0, max: 100 }),
    });
    fc.assert(
      fc.property(fc.array(load, { minLength: 2, maxLength: 12 }), (loads) => {
        const events = eventsOf(
          loads.map(({ inSlots, loads: from, left }) => {
            const slots = inSlots.map((material, at) => slot(at, 0, material, { material_remaining: left / 100 }));
            const inExtruder = from === null ? null : inSlots[from];
            return station(slots, inExtruder ?? EMPTY, inExtruder ? left * 10 : undefined);
          }),
        ).flat();
        assert.equal(new Set(events.map(({ id }) => id)).size, events.length);
        for (const { type, value } of events)
          assert.equal(typeof (value as { slot: unknown }).slot, 'number', `${type} of the extruder`);
      }),
      { numRuns: 300 },
    );
  });
});

describe('advance: maintenance', () => {
  const due = (maintenanceDue: boolean | null): Poll => ({ wire: answer(), listed: { maintenanceDue } });

  it('reports due maintenance once, and again after it was carried out', () => {
    const polls = [false, true, true, null, true, false, true].map(due);
    const events = eventsOf(polls);
    assert.deepEqual(
      events.map((all) => all.map(({ type }) => type)),
      [[], ['maintenance.due'], [], [], [], [], ['maintenance.due']],
    );
    const [first, second] = events.flat();
    assert.notEqual(first?.id, second?.id);
    assert.equal(first?.printerId, 'P1');
  });

  it('makes no event of maintenance that is due at first sight, or before the list was read', () => {
    assert.deepEqual(typesOf([due(true), due(true)]).flat(), []);
    assert.deepEqual(typesOf([due(null), due(true)]).flat(), []);
  });
});

describe('advance: plates', () => {
  const printing = answer({ print_jobs: [at('a', 'printing', 99)] });
  const waiting = answer({ print_jobs: [at('a', 'wait_cleanup', 100)] });
  const poll = (wire: Wire, time: number): Poll => ({ wire, time });
  const plates = (polls: Poll[], of = thresholds) =>
    eventsOf(polls, of).map((all) => all.filter(({ type }) => type === 'plate.awaiting'));

  it('reports a plate once that was not cleared within the time of the subscriber', () => {
    const polls = [poll(printing, 0), poll(waiting, 1), poll(waiting, 30), poll(waiting, 31), poll(waiting, 90)];
    const found = plates(polls);
    assert.deepEqual(
      found.map((all) => all.map(({ job, value }) => [job?.clusterJobId, value])),
      [[], [], [], [['a', 30]], []],
    );
    assert.equal(found.flat()[0]?.at, minute(31));
    assert.deepEqual(pluck(plates(polls, { ...thresholds, plateWait: 60 }), 'length'), [0, 0, 0, 0, 1]);
    assert.deepEqual(plates(polls, NO_THRESHOLDS).flat(), []);
  });

  it('does not report a plate that was cleared in time', () => {
    assert.deepEqual(plates([poll(printing, 0), poll(waiting, 1), poll(answer(), 20), poll(answer(), 90)]).flat(), []);
  });

  it('does not report a plate that waited at first sight', () => {
    assert.deepEqual(plates([poll(waiting, 0), poll(waiting, 31), poll(waiting, 1000)]).flat(), []);
  });

  it('continues the wait over a poll without the list of jobs, and over a clock that goes back', () => {
    const odd = { ...answer(), print_jobs: undefined };
    const polls = [poll(printing, 0), poll(waiting, 10), poll(odd, 20), poll(waiting, 5), poll(waiting, 40)];
    assert.deepEqual(pluck(plates(polls), 'length'), [0, 0, 0, 0, 1]);
  });
});
