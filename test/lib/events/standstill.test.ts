import assert from 'node:assert/strict';
import { advance } from '../../../lib/events/advance';
import { type Checkpoint, readCheckpoint } from '../../../lib/events/checkpoint';
import { eventsFor } from '../../../lib/events/edges';
import { answer, at, NO_THRESHOLDS, observation, Story, type Wire } from './observations';

const thresholds = { ...NO_THRESHOLDS, stalled: 10 };
const printing = (percent: number, more: Wire = {}) => answer({ print_jobs: [at('a', 'printing', percent, more)] });
const inState = (status: string) => answer({ print_jobs: [at('a', status, 50)] });

/** Polls the same answer for so many minutes; returns each event with the minute of its poll, from 1. */
function during(story: Story, minutes: number, wire: Wire): string[] {
  return Array.from({ length: minutes }, (_, minute) =>
    story.poll(wire).map((event) => `${minute + 1}: ${event}`),
  ).flat();
}

const stalls = (events: string[]) => events.filter((event) => event.includes('stalled'));

describe('a print that stands still', () => {
  let story: Story;
  beforeEach(() => {
    story = new Story(thresholds);
    story.poll(answer());
    for (const percent of [48, 49, 50]) story.poll(printing(percent));
  });

  it('is reported once, after its minutes without progress', () => {
    assert.deepEqual(during(story, 100, printing(50)), ['10: job.stalled a=10']);
  });

  it('is reported again only after it made progress', () => {
    const told = during(story, 11, printing(50));
    story.poll(printing(51));
    assert.deepEqual([told, during(story, 30, printing(51))], [['10: job.stalled a=10'], ['10: job.stalled a=10']]);
  });

  it('is reported after parts of a minute', () => {
    const short = new Story({ ...NO_THRESHOLDS, stalled: 1.5 });
    assert.deepEqual(during(short, 10, printing(50)), ['3: job.stalled a=1.5']);
  });

  it('has an id that names the job and its elapsed time', () => {
    story.skip(9);
    assert.deepEqual(
      story.events(printing(50)).map(({ id, value, job }) => [id, value, job?.timeElapsed]),
      [['C1/job.stalled/a/500/10', 10, 500]],
    );
  });

  it('is reported by the elapsed time of the print where its whole time is unknown', () => {
    const endless = printing(50, { time_total: null });
    assert.deepEqual(during(story, 20, endless), ['10: job.stalled a=10']);
    assert.deepEqual(during(new Story(thresholds), 20, printing(50, { time_elapsed: null })), []);
  });

  it('is not reported where the elapsed time rises by a second per poll', () => {
    for (let second = 1; second < 50; second++) assert.deepEqual(story.poll(printing(50 + second / 10)), []);
  });

  it('counts from the first observation where it prints at first sight', () => {
    assert.deepEqual(during(new Story(thresholds), 20, printing(50)), ['11: job.stalled a=10']);
  });

  for (const status of ['paused', 'pre_print', 'post_print', 'queued', 'wait_approval', 'wait_user_action', 'riddle'])
    it(`does not count the time in which it is in the state ${status}`, () => {
      during(story, 4, printing(50));
      assert.deepEqual(stalls(during(story, 60, inState(status))), []);
      // The minutes around a change of state are in doubt.
      assert.deepEqual(stalls(during(story, 20, printing(50))), ['7: job.stalled a=10']);
    });

  it('does not count the time at the end of the whole time', () => {
    assert.deepEqual(during(story, 60, printing(100)), []);
  });

  for (const [what, odd] of [
    ['the printer is offline', { ...printing(50), is_online: false }],
    ['the printer is offline and lists nothing', answer({ is_online: false })],
    ['answers lack the queue', { ...answer(), print_jobs: undefined, recently_completed: undefined }],
    ['the elapsed time is missing', printing(50, { time_elapsed: null })],
  ] as const)
    it(`does not count the time in which ${what}`, () => {
      during(story, 4, printing(50));
      assert.deepEqual(stalls(during(story, 60, odd)), []);
      assert.deepEqual(stalls(during(story, 20, printing(50))), ['7: job.stalled a=10']);
    });

  it('does not count the time in which polls failed', () => {
    let checkpoint = story.checkpoint;
    const poll = (minute: number, staleFrom?: number) => {
      const step = advance(checkpoint, { ...observation(printing(50), minute), staleFrom });
      checkpoint = step.checkpoint;
      return eventsFor(step.drafts, thresholds).map(({ type }) => type);
    };
    assert.deepEqual(poll(8), []);
    assert.deepEqual(poll(300, 9 * 60_000), []);
    assert.deepEqual(poll(303), []);
    assert.deepEqual(poll(304), ['job.stalled']);
  });

  for (const [what, odd] of [
    ['shows it further on', printing(90)],
    ['shows it further back', printing(10)],
    ['says that it is paused', inState('paused')],
    ['lists no jobs', answer()],
    ['says offline', answer({ is_online: false })],
    ['lists it twice', answer({ print_jobs: [at('a', 'printing', 50), at('a', 'printing', 50)] })],
  ] as const) {
    it(`is reported once, where a single answer ${what}`, () => {
      const told = [];
      for (let minute = 1; minute < 100; minute++) told.push(...story.poll(minute % 5 === 0 ? odd : printing(50)));
      assert.deepEqual(stalls(told), ['job.stalled a=10']);
    });

    it(`is not reported while it makes progress, where a single answer ${what}`, () => {
      const told = [];
      for (let minute = 1; minute < 49; minute++)
        told.push(...story.poll(minute % 5 === 0 ? odd : printing(50 + minute)));
      assert.deepEqual(stalls(told), []);
    });
  }

  it('is reported where it stands still after a single answer that showed it further on', () => {
    story.poll(printing(90));
    story.poll(printing(51));
    story.poll(printing(52));
    assert.deepEqual(during(story, 20, printing(52)), ['10: job.stalled a=10']);
  });

  it('is not reported twice where its checkpoint is stored and read', () => {
    during(story, 9, printing(50));
    const restored = readCheckpoint(JSON.parse(JSON.stringify(story.checkpoint)));
    assert.deepEqual(restored?.jobs[0]?.standstill, story.checkpoint?.jobs[0]?.standstill);
    story.checkpoint = restored;
    assert.deepEqual(during(story, 30, printing(50)), ['1: job.stalled a=10']);
  });

  for (const standstill of [undefined, null, 'long', 7, {}, { at: 'x', from: 1, stood: 0, minutes: 0 }, { at: 500 }])
    it(`begins anew where the stored standstill is ${JSON.stringify(standstill)}`, () => {
      const stored = structuredClone(story.checkpoint) as unknown as { jobs: Wire[] };
      Object.assign(stored.jobs[0]!, { standstill });
      story.checkpoint = readCheckpoint(stored) as Checkpoint;
      assert.deepEqual(during(story, 30, printing(50)), ['11: job.stalled a=10']);
    });
});
