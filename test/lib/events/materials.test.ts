import assert from 'node:assert/strict';
import fc from 'fast-check';
import { advance } from '../../../lib/events/advance';
import type { Checkpoint } from '../../../lib/events/checkpoint';
import type { PrintEvent } from '../../../lib/events/print-event';
import { eventsFor } from '../../../lib/events/edges';
import type { ClusterIdentity } from '../../../lib/service/cluster';
import { answer, at, minute, NO_THRESHOLDS, observation, type Wire } from './observations';
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
