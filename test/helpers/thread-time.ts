import { openSync, readSync } from 'node:fs';

const text = Buffer.alloc(100);
/** The kernel's account of the calling thread, open for all readings; undefined on a system without it. */
const account = open();

function open(): number | undefined {
  try {
    return openSync('/proc/thread-self/schedstat', 'r');
  } catch {
    return undefined;
  }
}

/**
 * Returns the processor time of the calling thread so far, ms. The time of the whole process would include the garbage
 * collector's and the compiler's threads, and vary with the machine's load.
 */
export function threadTime(): number {
  // Brings the thread's account up to date, which the kernel does by itself only every few milliseconds.
  const { user, system } = process.cpuUsage();
  if (account === undefined) return (user + system) / 1000;
  const length = readSync(account, text, 0, text.length, 0);
  return Number(text.toString('latin1', 0, length).split(' ')[0]) / 1e6;
}
