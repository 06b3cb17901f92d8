import type { PrintJob } from '../service/print-job';
import { waitBefore, WORK_IN_PROGRESS } from '../time/backoff';
import { LockLostError } from '../state/store';
import type { Deadline } from '../time/deadline';
import type { PrintAttempt } from './attempt';
import { claim, likeliest } from './claim';
import type { Dispatched, Ledger } from './ledger';
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
}

/** Searches the cluster for the printing of an attempt. Never throws. The job's lock must be held. */
export async function search(deps: SearchDeps, attempt: PrintAttempt, deadline: Deadline): Promise<Search> {
  const { clock } = deadline;
  const end = clock.monotonic() + (deps.outcome ? SEARCH_LONGER : SEARCH_FOR);
  let polled: PrintJob[] = [];
  const stop = deps.jobListReader.listen(attempt.clusterId, ({ printings }) => (polled = printings));
  try {
    for (let turn = 0; ; turn++) {
      const isLast = clock.monotonic() >= end;
      const limit = deadline.within(READ_FOR);
      const listing = await deps.jobListReader
        .read(attempt.clusterId, limit)
        .catch(() => null)
        .finally(() => limit.end());
      const printings = [...(listing?.printings ?? []), ...polled];
      const print = await claim(deps.ledger, attempt, printings).catch((error: unknown) => {
        // The lock's present holder decides about the printing.
        if (error instanceof LockLostError) return undefined;
        // A full disk must not make an existing print look absent.
        deps.warn(phrase`A print that was found could not be saved: check the state folder or the database.`);
        return likeliest(attempt, printings);
      });
      if (print) return { end: 'found', print };
      const written = await deps.outcome?.().catch(() => null);
      if (written) return { end: 'found', print: written };
      if (isLast) return { end: listing?.current && written !== null ? 'absent' : 'cut' };
      const wait = Math.min(waitBefore(turn, WORK_IN_PROGRESS), Math.max(0, end - clock.monotonic()));
      if (!(await sleeps(deadline, wait))) return { end: 'cut' };
    }
  } finally {
    stop();
  }
}

const sleeps = (deadline: Deadline, ms: number): Promise<boolean> =>
  deadline.sleep(ms).then(
    () => true,
    () => false,
  );
