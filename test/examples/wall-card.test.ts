import assert from 'node:assert/strict';
import vm from 'node:vm';
import { readClusterStatus } from '../../lib/service/cluster';
import type { Json } from '../../lib/service/json-readers';
import { EMPTY_BAYS, extruder, freeSlot, FULL, slot, spool, stationPrinter } from '../helpers/station';
import { textOf } from '../helpers/sources';

const RED = spool('Red');
const BLUE = spool('Blue');

interface FlowNode {
  type: string;
  name?: string;
  func: string;
}

interface Card {
  job: string;
  also: string[];
  queue: string[];
  materials: string[];
}

/** The wall's card for the answer of a cluster. */
function cardOf(cluster: Json): Card {
  const nodes = JSON.parse(textOf('examples/05-wall-dashboard.json')) as FlowNode[];
  const { func } = nodes.find(({ type, name }) => type === 'function' && name === 'card') ?? assert.fail();
  const payload = readClusterStatus(cluster, { clusterId: 'C1', receivedAt: '', identity: null });
  const [{ payload: card }] = vm.runInNewContext(`(function () {\n${func}\n})()`, { msg: { payload } }) as [
    { payload: Card },
  ];
  return card;
}

/** The materials on the wall's card of a printer. */
function materialsOf(slots: Json[], configuration: Json[]): string {
  const { materials } = cardOf({ is_online: true, printers: [stationPrinter(slots, { configuration })] });
  return materials.join(', ').replaceAll('\u00a0', ' ');
}

describe('example 05: the materials of a printer with a station', () => {
  const slots = [slot(0, 0, RED, { material_remaining: 0.05 }), slot(1, 0, BLUE)];

  it('are those in its slots, whether it is idle or has loaded one of them', () => {
    for (const inExtruder of [...EMPTY_BAYS, RED]) {
      const configuration = [extruder(0, inExtruder, { estimated_material_volume: FULL / 20 }), extruder(1)];
      assert.equal(materialsOf(slots, configuration), '⚠ Red PLA 5 %, Blue PLA 50 %');
    }
  });

  it('leave out what no extruder can print, what is unknown, and free slots', () => {
    const others = [slot(2, 1, RED, { compatible: false }), slot(3, 1, BLUE, { material_remaining: -1 }), freeSlot(4)];
    assert.equal(materialsOf([...slots, ...others], []), '⚠ Red PLA 5 %, Blue PLA 50 %');
  });

  it('include what somebody has put into an extruder', () => {
    const configuration = [extruder(0), extruder(1, spool('Natural', 'PVA'), { estimated_material_volume: FULL })];
    assert.equal(materialsOf(slots, configuration), 'Natural PVA 100 %, ⚠ Red PLA 5 %, Blue PLA 50 %');
  });
});

describe('example 05: the prints of a group', () => {
  it('are next only while they wait', () => {
    const jobs = ['printing', 'paused', 'queued', 'wait_approval'].map((status) => ({
      uuid: status,
      name: `${status}.gcode`,
      status,
    }));
    const { job, also, queue } = cardOf({ is_online: true, printers: [], print_jobs: jobs });
    assert.equal(job, 'printing.gcode');
    assert.equal(also.join(), 'paused: paused.gcode');
    assert.equal(queue.join(), 'queued.gcode,wait_approval.gcode');
  });
});
