import { advance, openQuestions } from '../../../lib/events/advance';
import type { PrintEvent } from '../../../lib/events/print-event';
import type { JobAnswer } from '../../../lib/events/job-edges';
import { observe, type Observation } from '../../../lib/events/observation';
import type { Checkpoint } from '../../../lib/events/checkpoint';
import { eventsFor, type Thresholds } from '../../../lib/events/edges';
import type { ClusterIdentity } from '../../../lib/service/cluster';
import { readPrintJob } from '../../../lib/service/print-job';

export type Wire = Record<string, unknown>;

export const CLUSTER = 'C1';
const START = Date.parse('2026-01-01T00:00:00.000Z');
export const minute = (count: number): string => new Date(START + count * 60_000).toISOString();

/** A status answer; lists are empty unless given. */
export const answer = (wire: Wire = {}): Wire => ({
  is_online: true,
  printers: [{ uuid: 'P1', friendly_name: 'Left', status: 'idle' }],
  print_jobs: [],
  recently_completed: [],
  ...wire,
});

export const job = (uuid: string, status: string, more: Wire = {}): Wire => ({
  uuid,
  status,
  created_at: minute(1),
  ...more,
});

/** A job at `percent` of 1000 s. */
export const at = (uuid: string, status: string, percent: number, more: Wire = {}): Wire =>
  job(uuid, status, { time_elapsed: percent * 10, time_total: 1000, ...more });

export const own = (wire: Wire): JobAnswer => readPrintJob(wire, CLUSTER);

/** Thresholds of a subscriber without settings: no step becomes an event. */
export const NO_THRESHOLDS: Thresholds = { milestones: [], lowMaterial: 0, plateWait: 0, stalled: 0 };

export const withMilestones = (...milestones: number[]): Thresholds => ({ ...NO_THRESHOLDS, milestones });

const IDENTITY = {
  ...{ name: 'Workshop', hostGuid: 'G1', model: null, authorized: true, capabilities: null, note: null },
  ...{ maintenanceDue: null, displayStatus: null },
};

/** An observation at a minute; `listed`: facts of the list of printers. */
export function observation(wire: Wire, time = 0, listed: Partial<ClusterIdentity> = {}): Observation {
  const identity = { ...IDENTITY, ...listed };
  const seen = observe(
    { generated_time: minute(time), ...wire },
    { clusterId: CLUSTER, receivedAt: minute(time), identity, lived: time * 60_000, arrived: time * 60_000 },
  );
  if (!seen) throw new Error('no status');
  return seen;
}

/** A checkpoint that advances with observations, one per minute. */
export class Story {
  checkpoint: Checkpoint | null = null;
  asked: string[] = [];
  #time = 0;

  constructor(private readonly thresholds: Thresholds = withMilestones(25, 50, 75)) {}

  /** The events of the next poll. `answers` are the records that it can read; every other record is unanswered. */
  events(wire: Wire, answers: Record<string, JobAnswer> = {}, late = false): PrintEvent[] {
    const seen = observation(wire, this.#time++);
    this.asked = openQuestions(this.checkpoint, seen);
    const given = this.asked.map((id) => [id, answers[id] ?? 'unanswered'] as const);
    const step = advance(this.checkpoint, seen, { answers: new Map(given), late });
    this.checkpoint = JSON.parse(JSON.stringify(step.checkpoint)) as Checkpoint;
    return eventsFor(step.drafts, this.thresholds);
  }

  /** Skips so many minutes without a poll. */
  skip(minutes: number): void {
    this.#time += minutes;
  }

  /** The events of the next poll in short form: `type subject=value`. */
  poll(wire: Wire, answers: Record<string, JobAnswer> = {}): string[] {
    return this.events(wire, answers).map(short);
  }
}

export function short({ type, job: about, value }: PrintEvent): string {
  const subject = about?.clusterJobId ? ` ${about.clusterJobId}` : '';
  const said = value === null || typeof value === 'object' ? '' : `=${JSON.stringify(value).replaceAll('"', '')}`;
  return `${type}${subject}${said}`;
}
