import { randomUUID } from 'node:crypto';
import type { PrintJob } from '../service/print-job';
import type { Listing } from './job-list-reader';

/** One call that prints, with the data that identifies its printing later. Times are milliseconds since 1970. */
export interface PrintAttempt {
  id: string;
  clusterId: string;
  jobId: string;
  /** By the service's clock; by the runtime's where the service reports no time. */
  begunAt: number;
  /** Whether only the runtime's clock, which may be wrong by years, dates the attempt. */
  undated?: true;
  /** The printing was created between these times; the bounds allow for clocks that differ. */
  earliest: number;
  latest: number;
  /** Printings of the job that belong to other attempts. */
  known: string[];
}

/** A stored job and its printing: the first result, which every repeat of the print key returns. */
export interface Dispatched {
  jobId: string;
  /** Null: the service accepted the print without naming the printing. */
  clusterJobId: string | null;
  /** The print's status as the service reported it. */
  status: string | null;
}

/** Greatest difference between the clocks of service and runtime, plus the longest processing time of a call, ms. */
const TOLERANCE = 60 * 60 * 1000;
/** Longest attempt, ms. */
const LONGEST = 24 * 60 * 60 * 1000;

/** Returns an attempt that begins now on the cluster of `listing`; `claimed` are printings that other attempts own. */
export function newAttempt(
  { clusterId, jobId }: { clusterId: string; jobId: string },
  { listing, claimed, now, maxDuration }: { listing: Listing; claimed: string[]; now: number; maxDuration: number },
): PrintAttempt {
  const begunAt = listing.at ?? now;
  const listed = listing.printings.filter((printing) => printing.jobId === jobId);
  return {
    id: randomUUID(),
    clusterId,
    jobId,
    begunAt,
    ...(listing.at === null && { undated: true as const }),
    // A current listing shows every older printing by its id. Without one, only the age excludes older printings.
    earliest: listing.current ? 0 : Math.min(begunAt, now) - TOLERANCE,
    // Either clock may be slow.
    latest: Math.max(begunAt, now) + Math.min(maxDuration, LONGEST) + TOLERANCE,
    known: [...new Set([...listed.flatMap(({ clusterJobId }) => clusterJobId ?? []), ...claimed])],
  };
}

/** Ids of printings that the attempt may have created if its time is wrong. */
export const doubtful = ({ jobId, undated, known }: PrintAttempt, printings: PrintJob[]): string[] =>
  printings
    .filter((job) => undated && job.jobId === jobId)
    .flatMap(({ clusterJobId }) => clusterJobId ?? [])
    .filter((id) => !known.includes(id));

/** Printings that the attempt may have created, the likeliest first. */
export function candidates(
  { jobId, begunAt, earliest, latest, known }: PrintAttempt,
  printings: PrintJob[],
): PrintJob[] {
  const createdAt = (job: PrintJob) => (job.createdAt === null ? begunAt : Date.parse(job.createdAt));
  const distance = (job: PrintJob) => Math.abs(createdAt(job) - begunAt);
  return printings
    .filter((job) => job.jobId === jobId && job.clusterJobId !== null && !known.includes(job.clusterJobId))
    .filter((job) => createdAt(job) >= earliest && createdAt(job) <= latest)
    .sort((one, other) => distance(one) - distance(other));
}
