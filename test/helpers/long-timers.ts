/** Timers of at least this many ms count as long: grace periods, limits and retries, but no turn of the network. */
const LONG = 1_000;

/**
 * Records the long timers that are set and fire from now until `end`. A piece of work that none of them served did not
 * wait for time to pass. Unlike a measured duration, that does not depend on how busy the machine is.
 */
export function recordLongTimers(): { fired: number[]; end: () => void } {
  const plain = globalThis.setTimeout;
  const fired: number[] = [];
  let isOver = false;
  const recording = (action: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
    plain(() => {
      if (ms >= LONG && !isOver) fired.push(ms);
      action(...args);
    }, ms);
  globalThis.setTimeout = Object.assign(recording, plain) as typeof setTimeout;
  const end = () => {
    isOver = true;
    globalThis.setTimeout = plain;
  };
  return { fired, end };
}
