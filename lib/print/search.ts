import type { PrintJob } from '../service/print-job';
import { waitBefore, WORK_IN_PROGRESS } from '../time/backoff';
import { LockLostError } from '../state/store';
import type { Deadline } from '../time/deadline';
import type { PrintAttempt } from './attempt';
import { claim, likeliest } from './claim';
import type { Dispatched, Ledger } from './ledger';
import type { JobListReader } from './job-list-reader';
import { phrase, type Sentence } from '../words/sentence';

/** How long a print whose answer was lost is looked for (reference 3.4), ms. */
const SEARCH_FOR = 30_000;
/** The same where another runtime may still have the answer: a new print may be listed late, ms. */
const SEARCH_LONGER = 150_000;
/** No single read takes longer, ms. */
const READ_FOR = 30_000;

/**
 * What came of a search. Only one that was whole, with its full time and a last read that succeeded, can say `absent`;
 * `cut` says nothing.
 */
export type Search = { end: 'found'; print: Dispatched } | { end: 'absent' } | { end: 'cut' };

interface SearchDeps {
  listings: JobListReader;
  ledger: Ledger;
  warn: (sentence: Sentence) => void;
  /**
   * Reads what another runtime, which made the attempt and may still have its answer, has written of the outcome.
   * It rejects where that can't be read.
   */
  outcome?: (() => Promise<Dispatched | undefined>) | undefined;
}

/** Looks on the cluster for the printing of an attempt. Never throws. The job's lock must be held. */
export async function search(deps: SearchDeps, attempt: PrintAttempt, deadline: Deadline): Promise<Search> {
  const { clock } = deadline;
  const end = clock.monotonic() + (deps.outcome ? SEARCH_LONGER : SEARCH_FOR);
  let heard: PrintJob[] = [];
  const stop = deps.listings.listen(attempt.clusterId, ({ printings }) => (heard = printings));
  try {
    for (let turn = 0; ; turn++) {
      const isLast = clock.monotonic() >= end;
      const limit = deadline.within(READ_FOR);
      const listing = await deps.listings
        .read(attempt.clusterId, limit)
        .catch(() => null)
        .finally(() => limit.end());
      const printings = [...(listing?.printings ?? []), ...heard];
      const print = await claim(deps.ledger, attempt, printings).catch((error: unknown) => {
        // Whose it is, is for who holds the lock now.
        if (error instanceof LockLostError) return undefined;
        // A print that is there must not look like one that isn't, for want of a disk.
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
