import fc from 'fast-check';
import type { JobAnswer } from '../../../lib/events/job-edges';
import { answer, at, type Wire } from './observations';

export const WAITING = ['queued', 'wait_approval', 'wait_user_action', 'sent_to_printer', 'pre_print'];
export const UNDER_WAY = ['printing', 'pausing', 'paused', 'resuming', 'post_print', 'printing'];
const ENDS = ['finished', 'failed', 'error', 'aborted'];
const ODD = ['none', 'a_new_word', 'aborting', 'wait_cleanup', null];
export const MILESTONES = [10, 25, 50, 75, 100];

/** State of one job at one moment. */
export interface Moment {
  status: string | null;
  percent: number | null;
  place: 'queue' | 'history' | 'both' | 'nowhere';
  answer: JobAnswer | 'record';
}

/** A cluster at one moment: the state of each job, or the reason why it shows none. */
export interface Frame {
  online: boolean | null;
  queue: 'listed' | 'missing';
  history: 'listed' | 'missing';
  moments: Moment[];
}

export const JOBS = ['a', 'b', 'c'];

const pick = <T>(...values: T[]) => fc.constantFrom(...values);

/** A plausible history of a job: waiting, under way with rising progress, ended. */
export const plausible: fc.Arbitrary<Moment[]> = fc
  .record({
    waiting: fc.array(pick(...WAITING), { maxLength: 3 }),
    working: fc.array(fc.tuple(pick(...UNDER_WAY), fc.integer({ min: 0, max: 100 })), { maxLength: 5 }),
    end: pick(...ENDS, 'wait_cleanup', 'vanishes'),
    place: pick<Moment['place']>('queue', 'history', 'both', 'nowhere'),
    answer: pick<Moment['answer']>('record', 'gone', 'unanswered'),
  })
  .map(({ waiting, working, end, place, answer }) => {
    const rising = working.map(([, percent]) => percent).sort((x, y) => x - y);
    const moments: Moment[] = [
      ...waiting.map((status) => ({ status, percent: null, place: 'queue' as const, answer })),
      ...working.map(([status], index) => ({ status, percent: rising[index] ?? 0, place: 'queue' as const, answer })),
    ];
    const percent = rising.at(-1) ?? 0;
    moments.push({
      status: end === 'vanishes' ? 'printing' : end,
      percent,
      place: end === 'vanishes' ? 'nowhere' : place,
      answer,
    });
    return moments;
  });

/** Arbitrary states in any order. */
const implausible: fc.Arbitrary<Moment[]> = fc.array(
  fc.record({
    status: pick(...WAITING, ...UNDER_WAY, ...ENDS, ...ODD),
    percent: fc.option(fc.integer({ min: -10, max: 150 })),
    place: pick('queue', 'queue', 'history', 'both', 'nowhere'),
    answer: pick('record', 'gone', 'unanswered'),
  }),
  { minLength: 1, maxLength: 10 },
);

export const history = fc
  .record({
    lives: fc.tuple(...JOBS.map(() => fc.tuple(fc.oneof(plausible, implausible), fc.nat(4)))),
    weather: fc.array(
      fc.record({
        online: pick(true, true, true, false, null),
        queue: pick('listed', 'listed', 'listed', 'missing'),
        history: pick('listed', 'listed', 'missing'),
      }) as fc.Arbitrary<Omit<Frame, 'moments'>>,
      { minLength: 14, maxLength: 14 },
    ),
    /** The moments at which a poll runs, and those before which the runtime restarts. */
    seen: fc.array(fc.boolean(), { minLength: 14, maxLength: 14 }),
  })
  .map(({ lives, weather, seen }): { frames: Frame[] } => {
    const frames = weather.map((sky, time): Frame => {
      const moments = lives.map(([life, offset]): Moment => {
        const before: Moment = { status: null, percent: null, place: 'nowhere', answer: 'gone' };
        return time < offset ? before : (life[Math.min(time - offset, life.length - 1)] ?? before);
      });
      return { ...sky, moments };
    });
    return { frames: frames.filter((_, time) => seen[time]) };
  });

export const wireOf = (id: string, { status, percent }: Moment): Wire =>
  percent === null ? { uuid: id, status } : at(id, status ?? '', percent, { status });

export function view(frame: Frame) {
  const shown = (...places: Moment['place'][]) =>
    frame.moments.flatMap((moment, index) =>
      places.includes(moment.place) ? [wireOf(JOBS[index] ?? '', moment)] : [],
    );
  return answer({
    is_online: frame.online,
    print_jobs: frame.queue === 'listed' ? shown('queue', 'both') : undefined,
    recently_completed: frame.history === 'listed' ? shown('history', 'both') : undefined,
  });
}
