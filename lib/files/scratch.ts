import { createHash, randomBytes } from 'node:crypto';
import { lstat, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { systemClock } from '../time/clock';

/** Machine, process and start of that process: enough to tell whether anybody still works on what bears the name. */
const MACHINE = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
const STARTED = Math.round(performance.timeOrigin).toString(36);
const NAME = /^\.?remote-printing-([\da-f]{8})-(\d+)-([\da-z]+)-[\da-f]{8}\.(part|note)$/;
/** What another machine left in a shared folder, or whose process number was given away again, goes after this, ms. */
const ABANDONED_AFTER = 24 * 3600 * 1000;

/** A name for a file or folder that only lives while this process works on it; `sweepScratch` knows it by that. */
export const scratchName = (): string =>
  `remote-printing-${MACHINE}-${process.pid}-${STARTED}-${randomBytes(4).toString('hex')}.part`;

/**
 * Notes in the temporary folder that `path` (of a scratch name) is unfinished, so that it is found after a crash wherever
 * it lies. The returned function takes the note back. Neither ever fails: without a note the file's own folder remembers it.
 */
export async function noteScratch(path: string): Promise<() => Promise<void>> {
  const note = join(tmpdir(), basename(path).replace(/\.part$/, '.note'));
  await writeFile(note, path, { flag: 'wx', mode: 0o600 }).catch(() => undefined);
  return () => rm(note, { force: true }).catch(() => undefined);
}

/** Removes from a folder what crashed processes left there, and what their notes there tell of. Never fails. */
export async function sweepScratch(folder: string = tmpdir()): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    if (!NAME.test(name) || !(await isAbandoned(path))) continue;
    if (name.endsWith('.note')) {
      const noted = await readFile(path, 'utf8').catch(() => '');
      // A note speaks for its own file only, whoever may have written it.
      if (basename(noted) === name.replace(/\.note$/, '.part')) await remove(noted);
    }
    await remove(path);
  }
}

async function isAbandoned(path: string): Promise<boolean> {
  const [, machine, pid, started] = NAME.exec(basename(path)) ?? [];
  if (machine === MACHINE) {
    if (Number(pid) === process.pid) return started !== STARTED;
    if (!isAlive(Number(pid))) return true;
  }
  const found = await lstat(path).catch(() => null);
  return found !== null && systemClock.now() - found.mtimeMs > ABANDONED_AFTER;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

const remove = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
