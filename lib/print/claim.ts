import type { PrintJob } from '../service/print-job';
import { candidates, type PrintAttempt } from './attempt';
import type { Dispatched, Ledger } from './ledger';

/** Takes the printing of an attempt where it is among these and no other attempt's. Rejects where the claims can't be read. */
export async function claim(
  { claims }: Ledger,
  attempt: PrintAttempt,
  printings: PrintJob[],
): Promise<Dispatched | undefined> {
  const jobs = candidates(attempt, printings);
  if (jobs.length === 0) return undefined;
  const ids = jobs.flatMap(({ clusterJobId }) => clusterJobId ?? []);
  const taken = await claims.take(attempt.clusterId, attempt.jobId, ids, attempt.id);
  return printOf(
    attempt,
    jobs.find(({ clusterJobId }) => clusterJobId === taken),
  );
}

/** The same as far as one can tell without the claims. */
export const likeliest = (attempt: PrintAttempt, printings: PrintJob[]): Dispatched | undefined =>
  printOf(attempt, candidates(attempt, printings)[0]);

const printOf = ({ jobId }: PrintAttempt, job: PrintJob | undefined): Dispatched | undefined =>
  job && { jobId, clusterJobId: job.clusterJobId, status: job.status };
