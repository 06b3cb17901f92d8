import { LockLostError } from '../state/membership';
import { AGAIN, pollUntil, WORK_IN_PROGRESS } from '../time/retry';
import { underDeadline, type Deadline } from '../time/deadline';
import { type Dispatched, type Entry, isWhole, type Ledger, likeliest } from './ledger';
import type { JobListReader, Listing, Printings } from './job-list-reader';
import { phrase, type Sentence } from '../words/sentence';

/** Duration of the search for a print whose answer was lost (reference 3.4), ms. */
const SEARCH_FOR = 30_000;
/** Duration if another runtime may still hold the answer, ms: the service may list a new print late. */
const SEARCH_LONGER = 150_000;
/** Timeout of a single read, ms. */
const READ_FOR = 30_000;

/**
 * Outcome of a search. `absent` needs a complete search: its full duration and a last read of whole lists. `cut` and
 * `doubtful` are inconclusive; `doubtful`: a printing was seen that may be another one of the same job.
 */
export type Search =
  | { end: 'found'; print: Dispatched }
  | { end: 'absent' }
  | { end: 'cut' }
  | { end: 'doubtful'; printings: string[] };

/** A search for the print of another runtime, which may still hold the answer. */
export interface Elsewhere {
  /** Reads the outcome that the other runtime has written. Rejects if it can't be read. */
  outcome: () => Promise<Dispatched | undefined>;
  /** Time for which earlier searches have lasted, ms. */
  searchedFor: number;
}

interface SearchDeps {
  jobListReader: JobListReader;
  warn: (sentence: Sentence) => void;
  /** Time for which whole listings were read since the call of an attempt, with this one, ms. */
  lived: (entry: Entry, listing: Listing | null) => number;
}

/** Searches the cluster for the printing of an attempt. Never throws. The job's lock must be held. */
export async function search(
  { jobListReader, warn, lived }: SearchDeps,
  { claims }: Ledger,
  entry: Entry,
  deadline: Deadline,
  elsewhere?: Elsewhere,
): Promise<Search> {
  const { attempt } = entry;
  let polled: Printings = { jobs: [], history: [] };
  const searchOnce = async (): Promise<Search> => {
    const listing = await underDeadline(deadline.clock, { ms: READ_FOR, parent: deadline }, (limit) =>
      jobListReader.read(attempt.clusterId, limit),
    ).catch(() => null);
    const printings = {
      jobs: [...(listing?.jobs ?? []), ...polled.jobs],
      history: [...(listing?.history ?? []), ...polled.history],
    };
    const age = lived(entry, listing);
    const print = await claims.claim(attempt, printings, age).catch((error: unknown) => {
      // The lock's present holder decides about the printing.
      if (error instanceof LockLostError) return undefined;
      // A full disk must not make an existing print look absent.
      warn(phrase`A print that was found could not be saved: check the state folder or the database.`);
      return likeliest(attempt, printings, age);
    });
    if (print) return { end: 'found', print };
    const written = await elsewhere?.outcome().catch(() => null);
    if (written) return { end: 'found', print: written };
    if (!listing || !isWhole(attempt, listing) || written === null) return { end: 'cut' };
    const doubts = await claims.doubts(entry, printings).catch(() => null);
    if (doubts === null) return { end: 'cut' };
    return doubts.length > 0 ? { end: 'doubtful', printings: doubts } : { end: 'absent' };
  };
  const untilFound = async () => {
    const seen = await searchOnce();
    return seen.end === 'found' ? seen : AGAIN;
  };
  const stop = jobListReader.listen(attempt.clusterId, (listing) => (polled = listing));
  const limit = deadline.within(elsewhere ? Math.max(SEARCH_FOR, SEARCH_LONGER - elsewhere.searchedFor) : SEARCH_FOR);
  try {
    return await pollUntil(limit, WORK_IN_PROGRESS, untilFound).catch(() =>
      // The last read follows when the time is up.
      deadline.aborted ? { end: 'cut' } : searchOnce(),
    );
  } finally {
    limit.end();
    stop();
  }
}
