import fc from 'fast-check';
import type { JobAnswer } from '../../../lib/events/job-edges';
import { answer, at, type Wire } from './observations';

export const WAITING = ['queued', 'wait_approval', 'wait_user_action', 'sent_to_printer', 'pre_print'];
export const UNDER_WAY = ['printing', 'pausing', 'paused', 'resuming', 'post_print', 'printing'];
const ENDS = ['finished', 'failed', 'error', 'aborted'];
/** Words that name the end of a print while its job is still in the queue. */
export const NAMED_ENDS = ['aborted', 'failed'].flatMap((kind) =>
  ['post_print', 'wait_user_action', 'wait_cleanup', 'for_a_reason'].map((rest) => `${kind}_${rest}`),
);
const ODD = ['none', 'a_new_word', 'aborting', 'wait_cleanup', 'cancelled_wait_cleanup', null];
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
    end: pick(...ENDS, ...NAMED_ENDS, 'wait_cleanup', 'vanishes'),
    /** How many of the words before its last one the printer names the end in; only where it names it. */
    named: fc.nat(3),
    place: pick<Moment['place']>('queue', 'history', 'both', 'nowhere'),
    answer: pick<Moment['answer']>('record', 'gone', 'unanswered'),
  })
  .map(({ waiting, working, end, named, place, answer }) => {
    const rising = working.map(([, percent]) => percent).sort((x, y) => x - y);
    const moments: Moment[] = [
      ...waiting.map((status) => ({ status, percent: null, place: 'queue' as const, answer })),
      ...working.map(([status], index) => ({ status, percent: rising[index] ?? 0, place: 'queue' as const, answer })),
    ];
    const percent = rising.at(-1) ?? 0;
    const kind = /^(aborted|failed)/.exec(end)?.[0];
    const words = kind ? NAMED_ENDS.filter((word) => word.startsWith(kind)).slice(0, named) : [];
    for (const status of words) moments.push({ status, percent, place: 'queue', answer });
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
    status: pick(...WAITING, ...UNDER_WAY, ...ENDS, ...NAMED_ENDS, ...ODD),
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

/** The printer of a job in the group: the first two jobs share one. */
const printerOf = (id: string): string => (id === JOBS[2] ? 'P2' : 'P1');

export const wireOf = (id: string, { status, percent }: Moment): Wire => {
  const on = { status, printer_uuid: printerOf(id) };
  return percent === null ? { uuid: id, ...on } : at(id, status ?? '', percent, on);
};

export function view(frame: Frame) {
  const shown = (...places: Moment['place'][]) =>
    frame.moments.flatMap((moment, index) =>
      places.includes(moment.place) ? [wireOf(JOBS[index] ?? '', moment)] : [],
    );
  return answer({
    printers: ['P1', 'P2'].map((uuid) => ({ uuid, friendly_name: uuid, status: 'idle' })),
    is_online: frame.online,
    print_jobs: frame.queue === 'listed' ? shown('queue', 'both') : undefined,
    recently_completed: frame.history === 'listed' ? shown('history', 'both') : undefined,
  });
}
