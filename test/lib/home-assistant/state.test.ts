import assert from 'node:assert/strict';
import { deviceState, STATES, type SentState } from '../../../lib/home-assistant/state';
import { readClusterStatus } from '../../../lib/service/cluster';
import type { Json } from '../../../lib/service/json-readers';

const NOW = Date.parse('2026-11-26T10:00:00.000Z');

const extruder = (changes: Json = {}): Json => ({
  ...{ extruder_index: 0, temperature: 205.2, estimated_material_volume: 500, original_material_volume: 1000 },
  material: { guid: 'g', brand: 'Acme', material: 'PLA', color: 'Red' },
  ...changes,
});
const printer = (changes: Json = {}): Json => ({
  ...{ uuid: 'one', friendly_name: 'One', status: 'idle', configuration: [extruder()], faults: [], errors: [] },
  ...changes,
});
const job = (changes: Json = {}): Json => ({
  ...{ uuid: 'job', name: 'vase.gcode', status: 'printing', time_elapsed: 600, time_total: 3600, time_remaining: 3000 },
  printer_uuid: 'one',
  ...changes,
});
const statusOf = (wire: Json = {}, receivedAt = NOW) =>
  readClusterStatus(
    { is_online: true, printers: [printer()], print_jobs: [], ...wire },
    { clusterId: 'c', receivedAt: new Date(receivedAt).toISOString(), identity: null },
  );
const read = (wire: Json = {}, before: SentState | null = null, now = NOW) => deviceState(statusOf(wire, now), before);
const stateOf = (wire: Json = {}) => read(wire).state;

describe('lib/home-assistant/state', () => {
  for (const [wire, state] of [
    [{}, 'idle'],
    [{ is_online: false, print_jobs: [job()] }, 'offline'],
    [{ printers: [printer({ status: 'unreachable' })] }, 'offline'],
    [{ printers: [printer({ status: 'error' })], print_jobs: [job()] }, 'error'],
    [{ printers: [printer({ errors: [{ code: 'E', uuid: 'u' }] })] }, 'error'],
    [{ printers: [printer({ status: 'maintenance' })] }, 'maintenance'],
    [{ printers: [printer({ firmware_update_status: 'update_in_progress' })] }, 'updating'],
    [{ printers: [printer({ firmware_update_status: 'up_to_date' })] }, 'idle'],
    [{ print_jobs: [job()] }, 'printing'],
    [{ print_jobs: [job({ status: 'paused' })] }, 'paused'],
    [{ print_jobs: [job({ status: 'queued' })] }, 'idle'],
    [{ print_jobs: [job({ status: 'sent_to_printer' })] }, 'preparing'],
  ] as [Json, string][])
    it(`is ${state} for ${JSON.stringify(wire)}`, () => {
      assert.equal(stateOf(wire).state, state);
      assert.ok(STATES.includes(state));
    });

  it('has whole percent, whole minutes and the end of the print', () => {
    const { job: name, progress, time_left, ends_at } = stateOf({ print_jobs: [job()] });
    assert.deepEqual([name, progress, time_left], ['vase.gcode', 17, 50]);
    assert.equal(ends_at, new Date(NOW + 3_000_000).toISOString());
  });

  it('keeps the end of a print that goes as predicted, to the minute', () => {
    let sent = read({ print_jobs: [job()] });
    const { ends_at } = sent.state;
    for (let minute = 1; minute < 50; minute++) {
      const jitter = minute % 2 ? 29 : -29;
      sent = read({ print_jobs: [job({ time_remaining: 3000 - 60 * minute + jitter })] }, sent, NOW + 60_000 * minute);
      assert.equal(sent.state.ends_at, ends_at);
    }
  });

  it('changes the end once the prediction is a minute off the one sent, however slowly it moves', () => {
    let sent = read({ print_jobs: [job()] });
    const ends = new Set<string | null>();
    for (let slip = 0; slip <= 120; slip += 10) {
      sent = read({ print_jobs: [job({ time_remaining: 3000 + slip })] }, sent);
      ends.add(sent.state.ends_at);
    }
    assert.deepEqual(
      [...ends],
      [0, 60, 120].map((slip) => new Date(NOW + (3000 + slip) * 1000).toISOString()),
    );
  });

  it('keeps the end of a print while nothing is read of its printer', () => {
    const wire = { print_jobs: [job()] };
    const first = read(wire);
    const { ends_at } = first.state;
    const later = NOW + 600_000;
    const stale = { ...statusOf(wire), stale: true };
    assert.equal(deviceState(stale, null).state.ends_at, ends_at, 'after a start, too');
    assert.equal(deviceState({ ...stale, receivedAt: '' }, first).state.ends_at, ends_at);
    assert.equal(read({ ...wire, is_online: false }, first, later).state.ends_at, ends_at);
    assert.equal(deviceState({ ...stale, receivedAt: '' }, null).state.ends_at, null);
    const again = read(wire, first, later).state.ends_at;
    assert.equal(again, new Date(later + 3_000_000).toISOString(), 'a new prediction');
  });

  it('has no end while a print is paused, and a new one for another print', () => {
    const first = read({ print_jobs: [job()] });
    assert.equal(read({ print_jobs: [job({ status: 'paused' })] }, first).state.ends_at, null);
    const other = read({ print_jobs: [job({ uuid: 'other', time_remaining: 3030 })] }, first);
    assert.equal(other.state.ends_at, new Date(NOW + 3_030_000).toISOString());
  });

  it('keeps a temperature until it is a degree from the one sent', () => {
    const at = (temperature: number, before: SentState | null) =>
      read({ printers: [printer({ configuration: [extruder({ temperature })] })] }, before);
    let sent = at(200, null);
    for (const [now, shown] of [
      [200.9, 200],
      [199.1, 200],
      [201, 201],
      [200.1, 201],
      [200, 200],
    ] as const) {
      sent = at(now, sent);
      assert.equal(sent.state.temperature_1, shown);
    }
  });

  it('shows materials with colour and rest, by extruder or by slot of a station', () => {
    const { material_1, material_left_1 } = stateOf();
    assert.deepEqual([material_1, material_left_1], ['Acme PLA Red', 50]);
    const slot = {
      slot_index: 1,
      material: { guid: 'g', material: 'ABS' },
      material_remaining: 0.128,
      compatible: true,
    };
    const station = stateOf({ printers: [printer({ material_station: { material_slots: [slot] } })] });
    assert.deepEqual([station.material_1, station.material_2, station.material_left_2], [undefined, 'ABS', 13]);
    assert.equal(station.temperature_1, 205.2, 'of the extruder');
  });

  it('ignores places that no printer has', () => {
    for (const extruder_index of [-1, 1.5, 1e9, Infinity])
      assert.deepEqual(
        Object.keys(stateOf({ printers: [printer({ configuration: [extruder({ extruder_index })] })] })).filter((key) =>
          /\d/.test(key),
        ),
        [],
      );
  });

  it('shortens a text to the 255 letters that Home Assistant accepts', () => {
    const { job: name } = stateOf({ print_jobs: [job({ name: `${'x'.repeat(300)}.gcode` })] });
    assert.equal(name?.length, 255);
  });

  it('names the problems of a printer once each', () => {
    const fault = { code: 'F', message: 'The door is open.', uuid: 'f' };
    const { problem, problem_text } = stateOf({ printers: [printer({ faults: [fault, { ...fault, uuid: 'g' }] })] });
    assert.deepEqual([problem, problem_text], [true, 'The door is open.']);
    assert.deepEqual([stateOf().problem, stateOf().problem_text], [false, null]);
    assert.equal(stateOf({ printers: [] }).problem, null, 'unknown of a printer that was never seen');
  });

  it('does not know the connection while the service is away, and knows an offline printer', () => {
    const connection = (online: boolean, stale: boolean) =>
      deviceState({ ...statusOf(), online, stale }, null).state.connection;
    assert.deepEqual([connection(true, false), connection(true, true), connection(false, true)], [true, null, false]);
  });

  it('lists the members of a group as an attribute, without figures of one of them', () => {
    const members = [printer(), printer({ uuid: 'two', friendly_name: 'Two', status: 'error' })];
    const state = stateOf({ printers: members });
    assert.deepEqual(
      state.members?.map(({ name, status, materials }) => [name, status, materials]),
      [
        ['One', 'idle', ['Acme PLA Red']],
        ['Two', 'error', ['Acme PLA Red']],
      ],
    );
    assert.equal(state.state, 'idle');
    assert.equal('material_1' in state, false);
  });

  it('is the same whatever order the members, the extruders and the slots come in', () => {
    const slot = (slot_index: number) => ({ slot_index, material: { material: `PLA ${slot_index}` } });
    const parts = { configuration: [extruder(), extruder({ extruder_index: 1 })] };
    const station = { material_station: { material_slots: [slot(0), slot(1), slot(2)] } };
    const turned = (wire: Json): Json =>
      JSON.parse(JSON.stringify(wire), (_, value: unknown) => (Array.isArray(value) ? value.reverse() : value)) as Json;
    const one = printer({ ...parts, firmware_version: '1' });
    for (const printers of [
      [one],
      [printer({ ...parts, ...station })],
      [one, printer({ ...station, uuid: 'two', firmware_version: '2' })],
    ])
      assert.equal(JSON.stringify(stateOf(turned({ printers }))), JSON.stringify(stateOf({ printers })));
  });

  it('gives versions of the firmware as they are known', () => {
    const versions = (changes: Json) => stateOf({ printers: [printer(changes)] }).firmware;
    assert.equal(versions({}), null);
    assert.deepEqual(versions({ firmware_version: '1' }), { installed_version: '1' });
    assert.deepEqual(versions({ firmware_version: '1', latest_available_firmware: '2' }), {
      ...{ installed_version: '1', latest_version: '2' },
    });
    assert.deepEqual(versions({ firmware_version: '1', firmware_update_status: 'up_to_date' }), {
      ...{ installed_version: '1', latest_version: '1' },
    });
  });
});
