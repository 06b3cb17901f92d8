import { threadTime } from './thread-time';

/**
 * CPU time in nominal milliseconds, the time that the work would need on the reference machine. A fixed piece of work
 * defines the unit and is measured in the same thread right before and right after. Other processes, the host and V8's
 * coverage slow both alike.
 */

/**
 * Nominal ms of the reference work, which define the unit. A machine's own cost is the divisor, so its speed and load
 * cancel out: on a loaded AMD EPYC, the minimum of 2,000 rounds is 31 ms, and one nominal ms is 1.5 ms there.
 */
const REFERENCE = 21;
/** Work that costs less is not converted: it is short on any machine, ms. */
const CHEAP = 30;
/** Number of tries. The shortest counts, because a garbage collection or a context switch can fall into one. */
const TRIES = 5;

const LETTERS = 'a,b;"c\td\n{e}[f]\\ü/'.repeat(55_556).slice(0, 1_000_000);

/**
 * Reads 1 MB of characters three times. This takes about as long as work at the limit, so that disturbances affect both
 * alike.
 */
function referenceWork(): number {
  let found = 0;
  for (let round = 0; round < 3; round++) {
    for (let at = 0; at < LETTERS.length; at++) {
      const code = LETTERS.charCodeAt(at);
      if (code === 0x2c || code === 0x3b) found++;
      else if (code > 0x7f) found += 2;
    }
    found += (JSON.parse(JSON.stringify(LETTERS)) as string).length;
  }
  return found;
}

/** The shortest time of the reference work so far, ms; Infinity before the first, which needs a warm-up. */
let fastest = Infinity;
function reference(): number {
  if (fastest === Infinity) for (let round = 0; round < 4; round++) referenceWork();
  const before = threadTime();
  referenceWork();
  const spent = threadTime() - before;
  fastest = Math.min(fastest, spent);
  return spent;
}

/** Returns the CPU time of `measured` in nominal ms; `measured` returns it in ms of this machine. */
async function scaled(measured: () => number | Promise<number>): Promise<number> {
  const before = reference();
  const spent = await measured();
  return (spent / Math.min(before, reference())) * REFERENCE;
}

/** Converts CPU time that this thread has just spent into nominal ms. */
export const nominal = (spent: number): number => (spent / Math.min(reference(), reference())) * REFERENCE;

/** The shortest of several tries, nominal ms; those after one below `enough` are saved. */
async function shortest(measured: () => number | Promise<number>, enough: number): Promise<number> {
  let least = await measured();
  if (least < CHEAP) return least;
  // Half of the limit, as the machine may have become faster since that moment.
  const rough = fastest < Infinity ? (least / fastest) * REFERENCE : Infinity;
  if (rough < enough / 2) return rough;
  least = Infinity;
  for (let tries = 0; tries < TRIES && least >= enough; tries++) least = Math.min(least, await scaled(measured));
  return least;
}

/** CPU time of `work` on the thread that it begins in; a cost below `enough` needs no second try. */
export const nominalTime = (work: () => unknown, enough = CHEAP): Promise<number> =>
  shortest(async () => {
    const before = threadTime();
    await work();
    return threadTime() - before;
  }, enough);

/** Longest time for which `work` blocks the event loop; one below `enough` needs no second try. */
export const nominalStand = (work: () => Promise<unknown>, enough = CHEAP): Promise<number> =>
  shortest(async () => {
    let [longest, over, before] = [0, false, threadTime()];
    const turn = () => {
      const now = threadTime();
      longest = Math.max(longest, now - before);
      before = now;
      if (!over) setImmediate(turn);
    };
    setImmediate(turn);
    await work();
    over = true;
    turn();
    return longest;
  }, enough);
