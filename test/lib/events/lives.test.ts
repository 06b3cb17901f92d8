import assert from 'node:assert/strict';
import fc from 'fast-check';
import { advance, openQuestions } from '../../../lib/events/advance';
import type { PrintEvent } from '../../../lib/events/print-event';
import type { JobAnswer } from '../../../lib/events/job-edges';
import { eventsFor } from '../../../lib/events/edges';
import type { Checkpoint } from '../../../lib/events/checkpoint';
import {
  history,
  JOBS,
  MILESTONES,
  NAMED_ENDS,
  plausible,
  UNDER_WAY,
  view,
  WAITING,
  wireOf,
  type Frame,
  type Moment,
} from './histories';
import { observation, own, withMilestones } from './observations';

const END_TYPES = ['job.finished', 'job.failed', 'job.aborted', 'job.ended'];

/** Advances through a whole history; `between` changes the checkpoint between two polls. */
function deliver(frames: Frame[], between: (checkpoint: Checkpoint) => Checkpoint = (checkpoint) => checkpoint) {
  let checkpoint: Checkpoint | null = null;
  const polls: PrintEvent[][] = [];
  frames.forEach((frame, time) => {
    const seen = observation(view(frame), time);
    const answers = new Map<string, JobAnswer>();
    for (const id of openQuestions(checkpoint, seen)) {
      const moment = frame.moments[JOBS.indexOf(id)];
      assert(moment);
      answers.set(id, moment.answer === 'record' ? own(wireOf(id, moment)) : moment.answer);
    }
    const frozen: string = JSON.stringify(checkpoint);
    const step = advance(checkpoint, seen, { answers });
    assert.equal(JSON.stringify(checkpoint), frozen, 'the checkpoint given is left alone');
    // The same answers again make no events, except for the second observation that a vanished job and being online
    // need.
    const again = advance(step.checkpoint, seen, { answers });
    const events = eventsFor(again.drafts, withMilestones(...MILESTONES));
    const vanished = new Set(events.filter(({ type }) => type === 'job.ended').map(({ job }) => job?.clusterJobId));
    const anew = events.filter(
      ({ type, job }) => !/^printer\.o(n|ff)line$/.test(type) && !vanished.has(job?.clusterJobId),
    );
    assert.deepEqual(anew, []);
    polls.push(eventsFor(step.drafts, withMilestones(...MILESTONES)));
    checkpoint = between(step.checkpoint);
  });
  return polls;
}

describe('any history of prints, polled at any times', () => {
  const check = (property: (polls: PrintEvent[][], frames: Frame[]) => void) =>
    fc.assert(
      fc.property(history, ({ frames }) => property(deliver(frames), frames)),
      { numRuns: 200 },
    );
  const ofJob = (events: PrintEvent[], id: string) => events.filter((event) => event.job?.clusterJobId === id);

  it('makes no events of the first observation, and at most one end for each printing', () => {
    check((polls) => {
      assert.deepEqual(polls[0] ?? [], []);
      for (const id of JOBS) {
        assert(ofJob(polls.flat(), id).filter(({ type }) => END_TYPES.includes(type)).length <= 1);
      }
    });
  });

  it('makes no events of a job after its end', () => {
    check((polls) => {
      for (const id of JOBS) {
        const types = ofJob(polls.flat(), id).map(({ type }) => type);
        const end = types.findIndex((type) => END_TYPES.includes(type));
        assert(end === -1 || end === types.length - 1, types.join());
      }
    });
  });

  it('never repeats an id', () => {
    check((polls) => {
      const ids = polls.flat().map(({ id }) => id);
      assert.equal(new Set(ids).size, ids.length);
    });
  });

  it('queues and starts a job at most once, in that order, and resumes only a paused one', () => {
    check((polls) => {
      for (const id of JOBS) {
        const types = ofJob(polls.flat(), id).map(({ type }) => type);
        const last = (type: string) => types.lastIndexOf(type as PrintEvent['type']);
        for (const type of ['job.queued', 'job.started'] as const) assert.equal(types.indexOf(type), last(type));
        if (last('job.queued') > -1 && last('job.started') > -1) assert(last('job.queued') < last('job.started'));
        const edges = types.filter((type) => type === 'job.paused' || type === 'job.resumed').join();
        assert.doesNotMatch(edges, /(job\.paused),\1,\1|job\.resumed,job\.resumed/);
      }
    });
  });

  it('makes no events before a job was observed in the state', () => {
    const causes: Partial<Record<PrintEvent['type'], string[]>> = {
      'job.queued': WAITING,
      'job.started': [...UNDER_WAY, 'wait_cleanup', 'cancelled_wait_cleanup'],
      'job.paused': ['pausing', 'paused', 'resuming'],
      'job.resumed': ['printing', 'post_print'],
      'job.attention': ['wait_approval', 'wait_user_action'],
    };
    check((polls, frames) => {
      polls.forEach((events, time) => {
        for (const { type, job } of events) {
          const words = causes[type];
          const status = frames[time]?.moments[JOBS.indexOf(job?.clusterJobId ?? '')]?.status ?? '';
          assert(!words || words.includes(status), `${type} while ${status}`);
        }
      });
    });
  });

  it('reports an end that its word names at once, and as the word names it', () => {
    check((polls, frames) => {
      frames.forEach((frame, time) => {
        if (frame.queue === 'missing') return;
        JOBS.forEach((id, index) => {
          const { status, place } = frame.moments[index] ?? assert.fail();
          if ((place !== 'queue' && place !== 'both') || !NAMED_ENDS.includes(status ?? '')) return;
          const [now = [], ...later] = polls.slice(time).map((events) => ofJob(events, id));
          assert.deepEqual(later.flat(), []);
          const isInHistory = place === 'both' && frame.history === 'listed';
          const [end, ...others] = now.filter(({ type }) => END_TYPES.includes(type));
          if (end && !isInHistory) assert.equal(end.type, `job.${/^[a-z]+/.exec(status ?? '')?.[0]}`);
          assert.deepEqual(others, []);
        });
      });
    });
  });

  it('reports milestones in rising order, each once, at most one per poll, and only once reached', () => {
    check((polls, frames) => {
      for (const id of JOBS) {
        const passed = polls.map((events) => ofJob(events, id).filter(({ type }) => type === 'job.progress'));
        const values = passed.flat().map(({ value }) => value as number);
        assert.deepEqual(
          values,
          [...new Set(values)].sort((x, y) => x - y),
        );
        passed.forEach((events, time) => {
          assert(events.length <= 1);
          const ended = polls[time]?.some(({ type, job }) => type === 'job.finished' && job?.clusterJobId === id);
          for (const { value } of events) {
            const reached = frames.slice(0, time + 1).map(({ moments }) => moments[JOBS.indexOf(id)]?.percent ?? 0);
            assert(ended === true || (value as number) <= Math.max(...reached));
          }
        });
      }
    });
  });

  it('makes the same events with a restart between any two polls', () => {
    fc.assert(
      fc.property(history, ({ frames }) => {
        assert.deepEqual(
          deliver(frames, (checkpoint) => JSON.parse(JSON.stringify(checkpoint)) as Checkpoint),
          deliver(frames),
        );
      }),
      { numRuns: 200 },
    );
  });

  it('makes at most one end per job of growing lists, and no further ends with more polls', () => {
    fc.assert(
      fc.property(fc.tuple(plausible, fc.array(fc.boolean(), { minLength: 20, maxLength: 20 })), ([life, seen]) => {
        const sky = { online: true, queue: 'listed', history: 'listed' } as const;
        const nothing: Moment = { status: null, percent: null, place: 'nowhere', answer: 'gone' };
        const last = life.at(-1) ?? nothing;
        const others = [nothing, nothing];
        const all = [nothing, ...life, last, last].map((moment): Frame => ({ ...sky, moments: [moment, ...others] }));
        const some = all.filter((_, time) => time === 0 || time === all.length - 1 || seen[time]);
        const ends = (frames: Frame[]) =>
          deliver(frames)
            .flat()
            .filter(({ type }) => END_TYPES.includes(type));
        const [every, few] = [ends(all), ends(some)];
        assert(every.length <= 1 && few.length <= every.length);
        // A job that both polls found in a list ended the same way.
        if (few[0] && last.place !== 'nowhere') assert.equal(few[0].type, every[0]?.type);
      }),
      { numRuns: 200 },
    );
  });
});
