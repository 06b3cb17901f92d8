import type { PrintJob } from '../service/print-job';
import { candidates, type PrintAttempt } from './attempt';
import type { Dispatched, Ledger } from './ledger';

/**
 * Claims the attempt's printing if it is in the list and no other attempt owns it. Rejects if the claims can't be read.
 */
export async function claim(
  { claims }: Ledger,
  attempt: PrintAttempt,
  printings: PrintJob[],
): Promise<Dispatched | undefined> {
  const jobs = candidates(attempt, printings);
  if (jobs.length === 0) return undefined;
  const ids = jobs.flatMap(({ clusterJobId }) => clusterJobId ?? []);
  const claimed = await claims.claimFirst(attempt.clusterId, attempt.jobId, ids, attempt.id);
  return printOf(
    attempt,
    jobs.find(({ clusterJobId }) => clusterJobId === claimed),
  );
}

/** The most likely printing of an attempt, without a look into the claims. */
export const likeliest = (attempt: PrintAttempt, printings: PrintJob[]): Dispatched | undefined =>
  printOf(attempt, candidates(attempt, printings)[0]);

const printOf = ({ jobId }: PrintAttempt, job: PrintJob | undefined): Dispatched | undefined =>
  job && { jobId, clusterJobId: job.clusterJobId, status: job.status };
