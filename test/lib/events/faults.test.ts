import assert from 'node:assert/strict';
import { answer, Story, type Wire } from './observations';

const printer = (lists: Wire) => answer({ printers: [{ uuid: 'P1', status: 'idle', ...lists }] });
/** A fault of the code `DOOR`. */
const door = (uuid?: string): Wire => ({ code: 'DOOR', ...(uuid !== undefined && { uuid }) });

/** Numbers of faults that are told at each of these answers, after an answer without any. */
function told(...answers: Wire[]): number[] {
  const story = new Story();
  story.poll(printer({ faults: [], errors: [] }));
  return answers.map((lists) => story.poll(printer(lists)).length);
}
const toldOfFaults = (...lists: Wire[][]) => told(...lists.map((faults) => ({ faults })));

describe('events/faults', () => {
  for (const [what, first, second] of [
    ['lacks its uuid in the second answer', door('U1'), door()],
    ['lacks its uuid in the first answer', door(), door('U1')],
  ] as const)
    it(`reports a fault once that ${what}, and again after its end`, () => {
      assert.deepEqual(toldOfFaults([first], [second], [first], [], [second], [first]), [1, 0, 0, 0, 1, 0]);
    });

  it('reports a fault of the same code under another uuid, also after an answer without uuids', () => {
    assert.deepEqual(toldOfFaults([door('U1')], [door('U2')], [door()], [door('U2')], [door('U3')]), [1, 1, 0, 0, 1]);
    assert.deepEqual(toldOfFaults([door()], [door('U1'), door('U2')], [door(), door()], [door('U1')]), [1, 1, 0, 0]);
  });

  it('counts two faults of one code as two while an answer lacks their uuids', () => {
    const both = [door('U1'), door('U2')];
    assert.deepEqual(toldOfFaults(both, [door(), door()], both, [door('U1'), door()], both), [2, 0, 0, 0, 0]);
  });

  it('reports a further fault of a known code without a uuid, and the end of one of two', () => {
    assert.deepEqual(toldOfFaults([door('U1')], [door('U1'), door()], [door('U1'), door('U2')]), [1, 1, 0]);
    assert.deepEqual(toldOfFaults([door('U1'), door('U2')], [door()], [door('U1'), door('U2')]), [2, 0, 1]);
  });

  it('reports faults of one code without uuids once', () => {
    assert.deepEqual(toldOfFaults([door(), door()], [door()], [door(), door(), door()], [], [door()]), [1, 0, 0, 0, 1]);
  });

  it('takes no fault for one of another code', () => {
    assert.deepEqual(toldOfFaults([door('U1')], [{ code: 'BED' }], [{ uuid: 'U2', code: 'BED' }]), [1, 1, 0]);
    assert.deepEqual(toldOfFaults([{ uuid: 'U1' }], [door()], [{ uuid: 'U1' }]), [1, 1, 1]);
  });

  it('reports a fault once that both lists show, one of them without its uuid', () => {
    const [withId, without] = [[door('U1')], [door()]];
    assert.deepEqual(
      told(
        { faults: withId, errors: without },
        { faults: without, errors: withId },
        { faults: without, errors: without },
        { errors: withId },
        { faults: withId },
        { faults: withId, errors: without },
      ),
      [1, 0, 0, 0, 0, 0],
    );
    assert.deepEqual(told({ faults: without, errors: withId }, { faults: withId, errors: [] }), [1, 0]);
  });

  it('reports the second of two faults that were one without a uuid, whichever list shows it', () => {
    assert.deepEqual(told({ faults: [door()], errors: [] }, { faults: [door('U1')], errors: [door('U2')] }), [1, 1]);
    assert.deepEqual(
      told({ faults: [], errors: [door()] }, { faults: [door('U1')] }, { faults: [door('U1')], errors: [door('U2')] }),
      [1, 0, 1],
    );
  });

  it('reports no known fault again after an earlier version has stored it without its code', () => {
    const story = new Story();
    story.poll(printer({ faults: [door('U1'), { code: 'BED' }] }));
    const [stored] = story.checkpoint?.printers ?? [];
    assert.deepEqual(stored?.codes, { U1: 'DOOR' });
    delete stored.codes;
    assert.deepEqual(story.poll(printer({ faults: [door('U1'), { uuid: 'U2', code: 'BED' }] })), []);
    assert.deepEqual(story.poll(printer({ faults: [door(), { code: 'BED' }] })), []);
  });
});
