import assert from 'node:assert/strict';
import fc from 'fast-check';
import { advance } from '../../../lib/events/advance';
import type { Checkpoint } from '../../../lib/events/checkpoint';
import { fingerprint, isSettled } from '../../../lib/events/fingerprint';
import type { Observation } from '../../../lib/events/observation';
import { figuresOf, withFigures } from '../../../lib/watch/checkpoints/figures';
import { history, view } from './histories';
import { slot } from '../../helpers/station';
import { answer, at, job, minute, observation, type Wire } from './observations';

/** Times of an observation, and figures that are rewritten without an event until one passes a threshold. */
const FIGURES = new Set(['generatedAt', 'receivedAt', 'progress', 'timeElapsed', 'timeTotal', 'timeRemaining']);
/** Names of a material, which its GUID stands for. */
const NAMES = /materials\.\d+\.(brand|type|color|weight|extruder)$/;

type Node = Record<string, unknown>;

/** Stands for an entry of a list that is missing. */
const REMOVED = Symbol('removed');

/** Every value in an observation that another one can replace, by its path. */
function* leavesOf(node: unknown, path: string[] = [], seen = new Set<unknown>()): Generator<string[]> {
  if (typeof node !== 'object' || node === null) return yield path;
  if (seen.has(node)) return;
  seen.add(node);
  if (path.length > 0) yield path;
  if (node instanceof Map)
    for (const [key, value] of node as Map<string, unknown>) yield* leavesOf(value, [...path, key], seen);
  else for (const [key, value] of Object.entries(node)) yield* leavesOf(value, [...path, key], seen);
}

const child = (node: unknown, key: string): unknown =>
  node instanceof Map ? (node as Map<string, unknown>).get(key) : (node as Node)[key];

/** The observation with another value at a path. Jobs that are in two of its lists change in both. */
function changed(seen: Observation, path: string[], value: unknown): Observation {
  const copy = structuredClone(seen);
  const last = path.at(-1) ?? '';
  const parent = path.slice(0, -1).reduce<unknown>(child, copy);
  if (value === REMOVED && Array.isArray(parent)) parent.splice(Number(last), 1);
  else if (value === REMOVED && parent instanceof Map) parent.delete(last);
  else if (parent instanceof Map) parent.set(last, value);
  else (parent as Node)[last] = value;
  return copy;
}

/** The part of a checkpoint that an equal fingerprint must leave as it is. */
const lasting = (checkpoint: Checkpoint): string =>
  JSON.stringify(checkpoint, (key, value: unknown) => (FIGURES.has(key) || key === 'minutes' ? undefined : value));

const OTHERS = [true, false, null, 'other', minute(500), 0, 7, 99];

/** Fails for each value of an observation whose change causes an event, or another checkpoint, but no other fingerprint. */
function check(seen: Observation): number {
  let before: Checkpoint | null = null;
  for (let poll = 0; poll < 3; poll++) before = advance(before, seen).checkpoint;
  assert(before);
  if (!isSettled(before, seen)) return 0;
  let found = 0;
  for (const path of leavesOf(seen)) {
    const isList = path.length === 1 && path[0] !== 'hostPrinterId';
    if (isList || FIGURES.has(path.at(-1) ?? '') || NAMES.test(path.join('.'))) continue;
    const value = path.reduce<unknown>(child, seen);
    const parent = path.slice(0, -1).reduce<unknown>(child, seen);
    const isEntry = typeof value === 'object' && value !== null;
    if (isEntry && !Array.isArray(parent) && !(parent instanceof Map)) continue;
    for (const other of isEntry ? [REMOVED] : OTHERS) {
      // A word that was read is a string.
      const isWord = path.at(-1) === 'status' && other !== null;
      // A list of faults that an answer lacks is null.
      const isLack = path[0] === 'faults' && value === null && path.length === 3;
      if (other === value || isLack || (isWord && typeof other !== 'string')) continue;
      const next = changed(seen, path, other);
      const { checkpoint, drafts } = advance(before, next);
      if (drafts.length === 0 && lasting(checkpoint) === lasting(before)) continue;
      assert.notEqual(fingerprint(next), fingerprint(seen), `${path.join('.')} = ${String(other)}`);
      found++;
    }
  }
  return found;
}

const material = (guid: string) => ({ guid, brand: 'Acme', material: 'PLA', color: 'Red' });
const extruder = (index: number): Wire => ({
  ...{ extruder_index: index, print_core_id: 'AA 0.4', material: material(`M${index}`) },
  ...{ estimated_material_volume: 500, original_material_volume: 1000 },
});

describe('events/fingerprint', () => {
  const printer = (uuid: string): Wire => ({
    ...{ uuid, friendly_name: 'Left', status: 'printing', firmware_version: '1', latest_available_firmware: '2' },
    ...{ firmware_update_status: 'update_available', configuration: [extruder(0), extruder(1)] },
    material_station: { material_slots: [slot(0, 0, material('M0')), slot(1, 1, material('M2')), slot(2, 1, null)] },
    ...{ faults: [{ code: 'E1', message: 'jam', severity: 'error', at: minute(1) }], errors: [] },
  });
  const full = answer({
    printers: [printer('P1'), { ...printer('P2'), firmware_update_status: 'up_to_date' }],
    print_jobs: [
      at('a', 'printing', 40, { assigned_to: 'P1', configuration: [{ extruder_index: 0, material_volume: 400 }] }),
      at('b', 'paused', 30, { assigned_to: 'P2' }),
      job('c', 'queued', { configuration_changes_required: [{ type_of_change: 'material', index: 0 }] }),
    ],
    recently_completed: [at('d', 'finished', 100), at('e', 'aborted', 20)],
  });

  it('changes with every value whose change causes an event', () => {
    assert.ok(check(observation(full, 0, { maintenanceDue: false })) > 100);
  });

  it('changes with every value that matters before the first complete status', () => {
    const offline = answer({
      is_online: false,
      print_jobs: [at('a', 'finished', 100)],
      recently_completed: [job('b', 'queued')],
    });
    assert.ok(check(observation(offline, 0)) > 10);
  });

  it('changes with every value whose change causes an event, whatever the printer shows', () => {
    const frames = history.chain(({ frames }) => fc.constantFrom(...frames));
    fc.assert(
      fc.property(frames, (frame) => void check(observation({ ...full, ...view(frame) }))),
      { numRuns: 15 },
    );
  });

  it('names everything of a status but the figures', () => {
    const station = { ...printer('P1'), build_plate: { type: 'glass', temperature: 60 }, chamber: { temperature: 30 } };
    const { printers: _, ...rest } = full as { printers: unknown };
    const air = { supported: true, filter_status: 'ok', filter_age: 3, filter_max_age: 9 };
    const seen = observation(answer({ ...rest, printers: [{ ...station, air_manager: air }] }), 0);
    let figures = 0;
    for (const path of leavesOf(seen.status, ['status'])) {
      const [, list] = path;
      // The history is stored with the checkpoint, which names its ends.
      if (path.length === 1 || list === 'history' || list === 'clusterId' || NAMES.test(path.join('.'))) continue;
      const value = path.reduce<unknown>(child, seen);
      if (typeof value === 'object' && value !== null) continue;
      for (const other of [...OTHERS, 12.5]) {
        // A word that was read is a string.
        const isNoWord = path.at(-1) === 'status' && other !== null && typeof other !== 'string';
        if (other === value || isNoWord) continue;
        const next = changed(seen, path, other);
        if (fingerprint(next) !== fingerprint(seen)) continue;
        figures++;
        assert.deepEqual(
          withFigures(seen.status, figuresOf(next.status)),
          next.status,
          `${path.join('.')}: ${String(other)}`,
        );
      }
    }
    assert.ok(figures > 50, `${figures}`);
  });

  it('ignores less than a percent of a spool', () => {
    const left = (volume: number) =>
      fingerprint(
        observation(
          answer({
            printers: [{ uuid: 'P1', configuration: [{ ...extruder(0), estimated_material_volume: volume }] }],
          }),
        ),
      );
    assert.equal(left(504), left(500));
    assert.notEqual(left(490), left(500));
  });
});
