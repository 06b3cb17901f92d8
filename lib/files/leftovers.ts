import { createHash } from 'node:crypto';
import { constants, type BigIntStats } from 'node:fs';
import { lstat, mkdir, open, readdir, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, isAbsolute, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { codeOf } from '../http/retry';
import { record, text } from '../service/json-readers';
import type { Clock } from '../time/clock';
import { Deadline, underDeadline } from '../time/deadline';
import { FileCalls } from './file-calls';

const NAME = /^\.remote-printing-([\da-f]{32})\.part$/;
const NOTE = /^[\da-f]{32}\.note$/;
/** Most bytes of a note; its path is the longest part. */
const LONGEST_NOTE = 16 * 1024;
const SWEEP_FOR = 60_000;

/** Identity of this process. A process number is reused, and in a container it is always the same. */
const MACHINE = createHash('sha256').update(hostname()).digest('hex').slice(0, 16);
const STARTED = String(Math.round(performance.timeOrigin));

/** Name of an unfinished file. It lies beside its target, because a rename must stay within one file system. */
export const partName = (id: string): string => `.remote-printing-${id}.part`;

/**
 * Notes of unfinished files in an owner-only folder, so that the leftovers of a crash are removed wherever they are.
 * Other folders are never searched.
 */
export class Leftovers {
  constructor(
    private readonly folder: string,
    private readonly clock: Clock,
  ) {}

  /**
   * Records the path of an unfinished file before the file exists, so that a crash at any point leaves a note. The
   * returned function removes the note. Continues without a note if it can't be written. Throws the deadline's reason.
   */
  async note(path: string, deadline: Deadline): Promise<() => Promise<void>> {
    const [, id = ''] = NAME.exec(basename(path)) ?? [];
    const note = join(this.folder, `${id}.note`);
    const content = JSON.stringify({ path, machine: MACHINE, pid: process.pid, started: STARTED });
    const calls = new FileCalls(note, deadline);
    const written = calls.runUnlessStalled(
      () => this.#write(note, content),
      () => unlink(note),
    );
    await written.catch(() => deadline.throwIfOver());
    return () => calls.release(() => unlink(note));
  }

  /** Removes the leftovers of crashed processes. Never fails, and never waits long for a file system. */
  async sweep(): Promise<void> {
    await underDeadline(this.clock, { ms: SWEEP_FOR }, async (deadline) => {
      const calls = new FileCalls(join(this.folder, 'note'), deadline);
      const names = await calls.runUnlessStalled(() => readdir(this.folder));
      for (const name of names.filter((name) => NOTE.test(name))) {
        const path = join(this.folder, name);
        const note = await calls.runUnlessStalled(() => readNote(path)).catch(() => null);
        if (note && basename(note.path) !== partName(name.replace('.note', ''))) continue;
        if (!note || !isAbandoned(note)) continue;
        // The next sweep tries again.
        const isGone = await new FileCalls(note.path, deadline).runUnlessStalled(() => remove(note)).catch(() => false);
        if (isGone) await calls.release(() => unlink(path));
      }
    }).catch(() => undefined);
  }

  async #write(note: string, content: string): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await writeFile(note, content, { flag: 'wx', mode: 0o600 });
  }
}

interface Note {
  path: string;
  machine: string;
  pid: number;
  started: string;
}

/** Reads a note; null if the file isn't one of ours. Never blocks on a pipe, and reads no more than a note's size. */
async function readNote(path: string): Promise<Note | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const found = await file.stat({ bigint: true });
    if (!found.isFile() || found.size > LONGEST_NOTE || !isOurs(found)) return null;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LONGEST_NOTE), 0, LONGEST_NOTE, 0);
    const fields = record(JSON.parse(buffer.toString('utf8', 0, bytesRead)));
    const [wanted, machine, started] = [text(fields?.path), text(fields?.machine), text(fields?.started)];
    const pid = fields?.pid;
    if (!wanted || !machine || !started || typeof pid !== 'number') return null;
    return isAbsolute(wanted) ? { path: wanted, machine, started, pid } : null;
  } finally {
    await file.close();
  }
}

/**
 * Whether the writing process has ended. A process on another machine can't be checked, but this folder belongs to one
 * Node-RED.
 */
function isAbandoned({ machine, pid, started }: Note): boolean {
  if (machine !== MACHINE) return true;
  if (pid === process.pid) return started !== STARTED;
  try {
    return !process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/**
 * Removes the noted file; its random name belongs to no other file. Returns true if it is gone, or if the name belongs
 * to a link, a folder or another user's file.
 */
async function remove({ path }: Note): Promise<boolean> {
  try {
    const found = await lstat(path, { bigint: true });
    if (found.isFile() && isOurs(found)) await unlink(path);
    return true;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return true;
    throw error;
  }
}

const isOurs = ({ uid }: BigIntStats): boolean => process.getuid === undefined || uid === BigInt(process.getuid());
