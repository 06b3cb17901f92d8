import { randomUUID } from 'node:crypto';
import type { PrintJob } from '../service/print-job';
import type { Listing } from './job-list-reader';

/** One call that prints, and what its printing is known by. Times are milliseconds since 1970. */
export interface PrintAttempt {
  id: string;
  clusterId: string;
  jobId: string;
  /** By the service's clock, where it says. */
  begunAt: number;
  /** The printing was created between these; the bounds allow for clocks that differ. */
  earliest: number;
  latest: number;
  /** Printings of the job that are not this one. */
  known: string[];
}

/** How far the clocks of service and runtime may differ, and how long the service may take over a call, ms. */
const TOLERANCE = 60 * 60 * 1000;
/** No attempt takes longer, ms. */
const LONGEST = 24 * 60 * 60 * 1000;

/** An attempt that begins now, on a cluster that shows `listing`; `claimed` are printings that are accounted for. */
export function newAttempt(
  { clusterId, jobId }: { clusterId: string; jobId: string },
  { listing, claimed, now, mayTake }: { listing: Listing; claimed: string[]; now: number; mayTake: number },
): PrintAttempt {
  const begunAt = listing.at ?? now;
  const listed = listing.printings.filter((printing) => printing.jobId === jobId);
  return {
    id: randomUUID(),
    clusterId,
    jobId,
    begunAt,
    // What a current listing shows is known by its id; else only its age can tell an older printing.
    earliest: listing.current ? 0 : Math.min(begunAt, now) - TOLERANCE,
    // Either clock may be behind.
    latest: Math.max(begunAt, now) + Math.min(mayTake, LONGEST) + TOLERANCE,
    known: [...new Set([...listed.flatMap(({ clusterJobId }) => clusterJobId ?? []), ...claimed])],
  };
}

/** Printings that may have come of an attempt, the likeliest first. */
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
