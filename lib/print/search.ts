import type { PrintJob } from '../service/print-job';
import { LockLostError } from '../state/membership';
import { AGAIN, pollUntil, WORK_IN_PROGRESS } from '../time/retry';
import { underDeadline, type Deadline } from '../time/deadline';
import { type Dispatched, type Ledger, likeliest, type PrintAttempt } from './ledger';
import type { JobListReader } from './job-list-reader';
import { phrase, type Sentence } from '../words/sentence';

/** Duration of the search for a print whose answer was lost (reference 3.4), ms. */
const SEARCH_FOR = 30_000;
/** Duration if another runtime may still hold the answer, ms: the service may list a new print late. */
const SEARCH_LONGER = 150_000;
/** Timeout of a single read, ms. */
const READ_FOR = 30_000;

/**
 * Outcome of a search. `absent` needs a complete search: its full duration and a successful last read. `cut` is
 * inconclusive.
 */
export type Search = { end: 'found'; print: Dispatched } | { end: 'absent' } | { end: 'cut' };

interface SearchDeps {
  jobListReader: JobListReader;
  ledger: Ledger;
  warn: (sentence: Sentence) => void;
  /**
   * Reads the outcome that another runtime has written; that runtime made the attempt and may still hold its answer.
   * Rejects if it can't be read.
   */
  outcome?: (() => Promise<Dispatched | undefined>) | undefined;
  /** Time for which earlier searches with `outcome` have lasted, ms. */
  searchedFor?: number | undefined;
}

/** Searches the cluster for the printing of an attempt. Never throws. The job's lock must be held. */
export async function search(deps: SearchDeps, attempt: PrintAttempt, deadline: Deadline): Promise<Search> {
  const { jobListReader, ledger, outcome, searchedFor = 0, warn } = deps;
  let polled: PrintJob[] = [];
  const look = async (): Promise<Search> => {
    const listing = await underDeadline(deadline.clock, { ms: READ_FOR, parent: deadline }, (limit) =>
      jobListReader.read(attempt.clusterId, limit),
    ).catch(() => null);
    const printings = [...(listing?.printings ?? []), ...polled];
    const print = await ledger.claims.claim(attempt, printings).catch((error: unknown) => {
      // The lock's present holder decides about the printing.
      if (error instanceof LockLostError) return undefined;
      // A full disk must not make an existing print look absent.
      warn(phrase`A print that was found could not be saved: check the state folder or the database.`);
      return likeliest(attempt, printings);
    });
    if (print) return { end: 'found', print };
    const written = await outcome?.().catch(() => null);
    if (written) return { end: 'found', print: written };
    if (!listing?.current || written === null) return { end: 'cut' };
    return { end: (await ledger.claims.isDoubtful(attempt, printings).catch(() => true)) ? 'cut' : 'absent' };
  };
  const found = async () => {
    const seen = await look();
    return seen.end === 'found' ? seen : AGAIN;
  };
  const stop = jobListReader.listen(attempt.clusterId, ({ printings }) => (polled = printings));
  const limit = deadline.within(outcome ? Math.max(SEARCH_FOR, SEARCH_LONGER - searchedFor) : SEARCH_FOR);
  try {
    // The last look follows when the time is up.
    return await pollUntil(limit, WORK_IN_PROGRESS, found).catch(() => (deadline.aborted ? { end: 'cut' } : look()));
  } finally {
    limit.end();
    stop();
  }
}
