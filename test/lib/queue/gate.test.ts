import assert from 'node:assert/strict';
import { closedBy, confirmed, isClear, observed, type PlateGate } from '../../../lib/queue/model/gate';
import { answer, at, job, observation, type Wire } from '../events/observations';
import { NOW } from './items';

const printing = (id: string) => at(id, 'printing', 50);
const finished = (id: string) => at(id, 'finished', 100);
const busy = { printers: [{ uuid: 'P1', status: 'printing' }] };

/** A gate that follows the statuses of its printer. */
class Plate {
  gate: PlateGate | null = null;

  see(wire: Wire = {}, printerId?: string): this {
    const { status } = observation(answer(wire));
    const printer = status.printers.find((one) => printerId === undefined || one.printerId === printerId);
    if (printer) this.gate = observed(this.gate, status, printer, NOW);
    return this;
  }

  /** A print that is seen under way and then in the history. */
  print(id: string, end = finished(id), before: Wire[] = []): this {
    this.see({ ...busy, print_jobs: [printing(id)], recently_completed: before });
    return this.see({ recently_completed: [end, ...before] });
  }

  get modes(): boolean[] {
    const { gate } = this;
    return gate ? (['printer', 'confirm', 'automatic'] as const).map((mode) => isClear(gate, mode)) : [];
  }

  confirm(good = true): this {
    if (this.gate) this.gate = confirmed(this.gate, good, NOW);
    return this;
  }
}

describe('queue/gate', () => {
  let plate: Plate;
  beforeEach(() => (plate = new Plate()));

  it('is open at the first sight, except with a history where the plate is to be confirmed', () => {
    assert.deepEqual(plate.see().modes, [true, true, true]);
    plate = new Plate();
    assert.deepEqual(plate.see({ recently_completed: [finished('a')] }).modes, [true, false, true]);
    assert.equal(plate.gate?.closings, 1);
    assert.equal(plate.see({ recently_completed: [finished('a')] }).gate?.closings, 1, 'announced once');
  });

  it('does not exist before the printer was seen online', () => {
    assert.equal(plate.see({ is_online: false }).gate, null);
  });

  it('follows a print that is found under way like any other', () => {
    plate.print('a', finished('a'), [finished('old')]);
    assert.deepEqual([plate.modes, plate.gate?.closings], [[false, false, true], 1]);
  });

  it('closes after every print, however it ended, and opens by itself only after a finished one', () => {
    for (const end of ['finished', 'failed', 'aborted']) {
      plate = new Plate().see().print('a', at('a', end, 60));
      assert.deepEqual(plate.modes, [false, false, end === 'finished'], end);
      assert.deepEqual(plate.confirm().modes, [true, true, true], end);
    }
  });

  it('closes after a print that was only seen to vanish, in two answers', () => {
    plate
      .see()
      .see({ ...busy, print_jobs: [printing('a')] })
      .see();
    assert.deepEqual([plate.gate?.closings, plate.modes], [0, [false, false, false]]);
    plate.see();
    assert.deepEqual(
      [plate.gate?.closings, plate.gate?.ended?.outcome, plate.modes],
      [1, 'vanished', [false, false, false]],
    );
  });

  it('does not take a print for vanished while the printer says that it prints', () => {
    plate
      .see()
      .see({ ...busy, print_jobs: [printing('a')] })
      .see(busy)
      .see(busy)
      .see(busy);
    assert.equal(plate.gate?.closings, 0);
  });

  it('closes after a print that began and ended between two looks', () => {
    plate.see({ recently_completed: [finished('old')] }).confirm();
    plate.see({ recently_completed: [finished('a'), finished('old')] });
    assert.deepEqual([plate.gate?.ended?.id, plate.gate?.closings, plate.modes[1]], ['a', 2, false]);
  });

  it('closes after a print that failed in its first second, so that its record shows no time', () => {
    plate.see().see({ print_jobs: [job('a', 'queued')] });
    plate.see({ recently_completed: [job('a', 'failed')] });
    assert.deepEqual([plate.gate?.closings, plate.modes], [1, [false, false, false]]);
  });

  it('stays open after a job that was removed before it began', () => {
    plate.see().see({ print_jobs: [job('a', 'queued')] });
    plate.see({ recently_completed: [job('a', 'aborted')] });
    assert.deepEqual(plate.modes, [true, true, true]);
  });

  it('opens in the mode "printer" when the cleanup state of the print was seen and is over', () => {
    plate.see().see({ ...busy, print_jobs: [at('a', 'wait_cleanup', 60)] });
    assert.deepEqual([plate.modes, plate.gate?.ended?.outcome], [[false, false, false], 'aborted']);
    plate.see({ ...busy, recently_completed: [at('a', 'aborted', 60)] });
    assert.equal(plate.modes[0], false, 'the printer is not idle yet');
    plate.see({ recently_completed: [at('a', 'aborted', 60)] });
    assert.deepEqual([plate.modes, plate.gate?.closings], [[true, false, false], 1]);
  });

  it('opens in the mode "printer" after an unseen cleanup only if the print finished there and the state is known', () => {
    plate.see().print('a');
    assert.equal(plate.modes[0], false, 'it never showed the state');
    plate.see({ ...busy, print_jobs: [at('b', 'wait_cleanup', 100)], recently_completed: [finished('a')] });
    const b = finished('b');
    plate.see({ recently_completed: [b] }).print('c', finished('c'), [b]);
    assert.equal(plate.modes[0], true);
    plate.print('d', at('d', 'failed', 50), [b]);
    assert.equal(plate.modes[0], false);
  });

  it('stays closed over offline times, stale lists and a lost power', () => {
    plate.see().print('a');
    const { gate } = plate;
    plate
      .see({ is_online: false, print_jobs: [printing('x')] })
      .see({ recently_completed: [] })
      .see();
    assert.deepEqual(plate.gate, gate);
  });

  it('keeps the verdict on a part until the next print begins', () => {
    plate.see().print('a').confirm().confirm();
    assert.deepEqual(plate.gate?.verdicts, [{ id: 'a', good: true, at: NOW }]);
    plate.confirm(false).confirm(true);
    assert.deepEqual(plate.gate?.verdicts, [{ id: 'a', good: false, at: NOW }]);
    plate.see({ ...busy, print_jobs: [printing('b')], recently_completed: [finished('a')] });
    assert.throws(() => plate.confirm(false), /printing/);
  });

  it('closes by what the queue knows of a print, once', () => {
    plate.see();
    const gate = plate.gate as PlateGate;
    const once = closedBy(gate, 'a', 'finished', NOW);
    assert.deepEqual([once.closings, closedBy(once, 'a', 'finished', NOW)], [1, once]);
    plate.gate = once;
    assert.equal(plate.see({ recently_completed: [finished('a')] }).gate?.closings, 1);
  });

  it('counts a print again that was only out of sight', () => {
    plate
      .see()
      .see({ ...busy, print_jobs: [printing('a')] })
      .see()
      .see()
      .confirm();
    plate.see({ ...busy, print_jobs: [printing('a')] }).see({ recently_completed: [finished('a')] });
    assert.deepEqual([plate.gate?.closings, plate.modes], [2, [false, false, true]]);
  });

  it('distinguishes the printers of a group', () => {
    const printers = [
      { uuid: 'P1', status: 'idle' },
      { uuid: 'P2', status: 'idle' },
    ];
    const other = new Plate();
    const see = (wire: Wire) => [plate.see({ printers, ...wire }, 'P1'), other.see({ printers, ...wire }, 'P2')];
    see({});
    see({ print_jobs: [at('a', 'printing', 50, { printer_uuid: 'P2' })] });
    see({ recently_completed: [at('a', 'finished', 100, { printed_on_uuid: 'P2' })] });
    assert.deepEqual([plate.modes[1], other.modes[1]], [true, false]);
  });
});
