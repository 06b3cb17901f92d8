import assert from 'node:assert/strict';
import { feedsOf } from '../../../lib/service/feeds';
import { type Json } from '../../../lib/service/json-readers';
import { readPrinter } from '../../../lib/service/printer';
import { extruder, freeSlot, FULL, slot, spool, stationPrinter } from '../../helpers/station';

const RED = spool('Red');
const BLUE = spool('Blue');

/** What each extruder can be fed: `print core: place color, …`, with `-` for the extruder itself. */
function feeds(slots: Json[], configuration: unknown = [extruder(0), extruder(1)]): string[] {
  return feedsOf(readPrinter(stationPrinter(slots, { configuration }))).map(({ printCore, sources }) => {
    const each = sources.map(({ slot: place, material }) => `${place ?? '-'} ${material?.color ?? 'nothing'}`);
    return `${printCore ?? 'none'}: ${each.join(', ')}`;
  });
}

/** Volumes in the sources of the first extruder. */
const volumes = (slots: Json[], first: Json) =>
  feedsOf(readPrinter(stationPrinter(slots, { configuration: [first] })))[0]?.sources.map(
    ({ volumeLeft }) => volumeLeft,
  );

describe('service/feeds', () => {
  it('feeds an empty extruder from every full, compatible slot that names it', () => {
    const slots = [slot(0, 0, RED), slot(1, 1, RED), slot(2, 0, BLUE), slot(3, 0, null), freeSlot(4)];
    assert.deepEqual(feeds([...slots, slot(5, 0, BLUE, { compatible: false })]), [
      'AA 0.4: 0 Red, 2 Blue',
      'AA 0.4: 1 Red',
    ]);
  });

  it('lists what is in the extruder before the slots, and an empty one without slots alone', () => {
    assert.deepEqual(feeds([slot(0, 0, BLUE)], [extruder(0, RED), extruder(1)]), [
      'AA 0.4: - Red, 0 Blue',
      'AA 0.4: - nothing',
    ]);
  });

  it('finds extruders by their number, and those that only slots name', () => {
    assert.deepEqual(feeds([], [extruder(1, BLUE), extruder(0, RED)]), ['AA 0.4: - Red', 'AA 0.4: - Blue']);
    assert.deepEqual(feeds([slot(0, 1, RED)], null), ['none: - nothing', 'AA 0.4: 0 Red']);
  });

  it('counts a slot once, and ignores extruders that no printer has', () => {
    assert.deepEqual(feeds([slot(0, 0, RED), slot(0, 1, RED)]), ['AA 0.4: 0 Red', 'AA 0.4: - nothing']);
    const odd = [slot(0, 0.5, RED), slot(1, 1e9, RED), slot(2, -1, RED, { compatible: true })];
    assert.deepEqual(feeds([...odd, slot(3, NaN, RED)], []), []);
  });

  it('knows the volume in a slot where both its share and a full spool are known', () => {
    const shares = [0.25, -1, null, 2].map((share, at) => slot(at, 0, RED, { material_remaining: share }));
    assert.deepEqual(volumes(shares, extruder(0)), [FULL / 4, null, null, FULL]);
    for (const original of [undefined, -1, 0])
      assert.deepEqual(volumes(shares.slice(0, 1), extruder(0, null, { original_material_volume: original })), [null]);
  });
});
