import { readFileSync } from 'node:fs';

/**
 * Processor time that the calling thread has used so far, ms. The time of the whole process would count the garbage
 * collector's threads and the compiler's, and vary with what else the machine does.
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
