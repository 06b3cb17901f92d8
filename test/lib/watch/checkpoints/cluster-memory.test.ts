import assert from 'node:assert/strict';
import fc from 'fast-check';
import { advance, openQuestions } from '../../../../lib/events/advance';
import type { Checkpoint } from '../../../../lib/events/checkpoint';
import type { JobAnswer } from '../../../../lib/events/job-edges';
import type { Observation } from '../../../../lib/events/observation';
import { eventsFor } from '../../../../lib/events/edges';
import type { Fault } from '../../../../lib/service/printer';
import { ClusterMemory } from '../../../../lib/watch/checkpoints/memory';
import { history, JOBS, MILESTONES, view, wireOf, type Frame } from '../../events/histories';
import { answer, at, NO_THRESHOLDS, observation, own, withMilestones } from '../../events/observations';

/** One poll of the history: its observation, and whether events are delivered. */
interface Poll {
  frame: Frame;
  seen: Observation;
  isDelivered: boolean;
}

/** Polls of a history. Each moment appears several times, with a little more progress. */
const polls = fc
  .tuple(
    history,
    fc.array(fc.record({ times: fc.integer({ min: 1, max: 4 }), isDelivered: fc.boolean() }), {
      minLength: 14,
      maxLength: 14,
    }),
  )
  .map(([{ frames }, how]): Poll[] =>
    frames.flatMap((frame, index) =>
      Array.from({ length: how[index]?.times ?? 1 }, (_, more) => {
        const moments = frame.moments.map((moment) => ({
          ...moment,
          percent: moment.percent === null ? null : moment.percent + more,
        }));
        return {
          frame,
          seen: observation(view({ ...frame, moments }), index * 5 + more),
          isDelivered: index === 0 || (how[index]?.isDelivered ?? true),
        };
      }),
    ),
  );

const answersTo = (open: string[], { moments }: Frame): Map<string, JobAnswer> =>
  new Map(
    open.map((id) => {
      const moment = moments[JOBS.indexOf(id)];
      assert(moment);
      return [id, moment.answer === 'record' ? own(wireOf(id, moment)) : moment.answer];
    }),
  );

const THRESHOLDS = { ...withMilestones(...MILESTONES), stalled: 3 };

describe('watch/checkpoints/cluster-memory', () => {
  it('yields the same events and checkpoint as unpacked state, whichever polls it absorbs', () => {
    let absorbed = 0;
    fc.assert(
      fc.property(polls, (seen) => {
        const memory = new ClusterMemory();
        let plain: Checkpoint | null = null;
        for (const poll of seen) {
          assert.deepEqual(memory.checkpoint, plain);
          if (!poll.isDelivered) {
            memory.setStatus(poll.seen.status);
            assert.deepEqual(memory.checkpoint, plain);
            assert.deepEqual(memory.status, poll.seen.status);
            continue;
          }
          const step: ReturnType<typeof advance> = advance(plain, poll.seen, {
            answers: answersTo(openQuestions(plain, poll.seen), poll.frame),
          });
          plain = step.checkpoint;
          const expected = eventsFor(step.drafts, THRESHOLDS);
          if (memory.absorb(poll.seen, [NO_THRESHOLDS, THRESHOLDS])) {
            absorbed++;
            assert.deepEqual(expected, []);
          } else {
            const before = memory.checkpoint;
            const answers = answersTo(openQuestions(before, poll.seen), poll.frame);
            const { checkpoint, drafts } = advance(before, poll.seen, { answers });
            memory.record(checkpoint, poll.seen);
            assert.deepEqual(eventsFor(drafts, THRESHOLDS), expected);
          }
          assert.deepEqual(memory.status, poll.seen.status);
        }
      }),
      { numRuns: 150 },
    );
    assert(absorbed > 50, `absorbed ${absorbed} polls`);
  });

  it('absorbs progress below the next milestone, and counts from the highest progress', () => {
    const memory = new ClusterMemory();
    const see = (percent: number, time: number) =>
      observation(answer({ print_jobs: [at('a', 'printing', percent)] }), time);
    const first = see(10, 0);
    memory.record(advance(null, first).checkpoint, first);
    assert.deepEqual(
      [see(24, 1), see(12, 2), see(23, 3)].map((seen) => memory.absorb(seen, [withMilestones(25)])),
      [true, true, true],
    );
    assert.equal(memory.checkpoint?.jobs[0]?.progress, 24);
    assert.equal(memory.checkpoint.jobs[0].job.progress, 23);
    assert.equal(memory.absorb(see(25, 4), [NO_THRESHOLDS]), true);
    assert.equal(memory.absorb(see(50, 5), [NO_THRESHOLDS, withMilestones(50)]), false);
    assert.equal(memory.status?.jobs[0]?.progress, 25, 'a poll that is not absorbed leaves the state as it is');
  });

  it('absorbs changes of figures only', () => {
    const wire = {
      print_jobs: [
        at('a', 'printing', 10, {
          configuration: [{ extruder_index: 0, estimated_material_volume: 5, material: { guid: 'red' } }],
          configuration_changes_required: [{ type_of_change: 'material_change' }],
          impediments_to_printing: [{ translation_key: 'a_key' }],
        }),
      ],
      recently_completed: [at('b', 'finished', 100)],
    };
    const first = observation(answer(wire));
    /** Whether a poll with only this change is absorbed. */
    const absorbs = (change: (seen: Observation) => void): boolean => {
      const memory = new ClusterMemory();
      memory.record(advance(null, first).checkpoint, first);
      const seen = structuredClone(first);
      change(seen);
      return memory.absorb(seen, [NO_THRESHOLDS]);
    };
    assert.equal(
      absorbs(() => undefined),
      true,
    );
    const figures = ['progress', 'timeElapsed', 'timeTotal', 'timeRemaining'];
    for (const [field, before] of Object.entries(first.status.jobs[0] ?? {})) {
      const set = (value: unknown) => absorbs(({ status }) => Object.assign(status.jobs[0] ?? {}, { [field]: value }));
      if (before !== null) assert.equal(set(Array.isArray(before) ? [] : null), false, `${field} goes`);
      const isFigure = before !== null && figures.includes(field);
      assert.equal(set(figures.includes(field) ? 11 : [{ guid: 'else' }]), isFigure, `${field} changes`);
    }
    for (const field of ['clusterJobId', 'state', 'status', 'timeElapsed', 'timeTotal'])
      assert.equal(
        absorbs(({ status }) => Object.assign(status.history[0] ?? {}, { [field]: 'else' })),
        false,
        `${field} of the history`,
      );
    for (const field of ['printerId', 'name', 'status'])
      assert.equal(
        absorbs(({ status }) => Object.assign(status.printers[0] ?? {}, { [field]: 'else' })),
        false,
        `${field} of the printer`,
      );
    for (const field of ['version', 'latest', 'updateStatus'])
      assert.equal(
        absorbs(({ status }) => Object.assign(status.printers[0]?.firmware ?? {}, { [field]: 'else' })),
        false,
        `${field} of the firmware`,
      );
    for (const field of ['name', 'hostGuid', 'online'])
      assert.equal(
        absorbs(({ status }) => Object.assign(status, { [field]: 'else' })),
        false,
        field,
      );
    const printerId = first.status.printers[0]?.printerId ?? assert.fail();
    const fault = { level: 'error', message: 'hot' } as unknown as Fault;
    assert.equal(
      absorbs((seen) => (seen.faults = new Map([[printerId, { faults: [{ uuid: 'hot', fault }], errors: null }]]))),
      false,
      'a fault',
    );
    assert.equal(
      absorbs((seen) => (seen.withoutChanges = new Set(['J']))),
      false,
      'a record without changes',
    );
    assert.equal(
      absorbs((seen) => (seen.hostPrinterId = 'else')),
      false,
      'the host',
    );
  });

  it('absorbs no poll while an event may be pending', () => {
    const memory = new ClusterMemory();
    const seen = observation(answer());
    assert.equal(memory.absorb(seen, [NO_THRESHOLDS]), false, 'the first poll');
    memory.record(advance(null, seen).checkpoint, seen);
    assert.equal(memory.absorb(seen, [NO_THRESHOLDS]), false, 'an empty history that was shown once');
    memory.record(advance(memory.checkpoint, seen).checkpoint, seen);
    assert.equal(memory.absorb(seen, [NO_THRESHOLDS]), true);
    memory.recordUnwatched(0, 60_000);
    memory.recordReturn(10 * 60_000);
    assert.equal(memory.absorb(seen, [NO_THRESHOLDS]), false, 'the first poll after a time without subscribers');
    memory.recordWatched();
    const offline = observation(answer({ is_online: false }), 1);
    assert.equal(memory.absorb(offline, [NO_THRESHOLDS]), false);
    memory.record(advance(memory.checkpoint, offline).checkpoint, offline);
    assert.equal(memory.absorb(offline, [NO_THRESHOLDS]), false, 'a second poll confirms the event');
  });
});
