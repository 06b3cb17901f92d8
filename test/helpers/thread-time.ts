import { readFileSync } from 'node:fs';

/**
 * Returns the processor time of the calling thread so far, ms. The time of the whole process would include the garbage
 * collector's and the compiler's threads, and vary with the machine's load.
 */
export function threadTime(): number {
  // Brings the thread's account up to date, which the kernel does by itself only every few milliseconds.
  const { user, system } = process.cpuUsage();
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return (user + system) / 1000;
  }
}
