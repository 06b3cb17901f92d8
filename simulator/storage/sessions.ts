import { constants } from 'node:fs';
import { mkdir, open, rm, stat } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';

/** Size of the blocks that an incomplete file is kept in, bytes (wire facts 4.2). */
const BLOCK = 256 * 1024;

/** Partial files of resumable uploads; they survive a restart. */
export class Sessions {
  private readonly running = new Map<string, { request: IncomingMessage; ended: Promise<unknown> }>();

  constructor(private readonly folder: string) {}

  path(key: string): string {
    return join(this.folder, `${key}.session`);
  }

  /** Runs one request per file at a time: ends the previous one, which its client has abandoned. */
  async alone<T>(key: string, request: IncomingMessage, work: () => Promise<T>): Promise<T> {
    const before = this.running.get(key);
    before?.request.destroy();
    const ended = (before?.ended ?? Promise.resolve()).then(work);
    const entry = { request, ended: ended.catch(() => undefined) };
    this.running.set(key, entry);
    try {
      return await ended;
    } finally {
      if (this.running.get(key) === entry) this.running.delete(key);
    }
  }

  /** Returns the number of bytes kept. */
  async kept(key: string, total: number): Promise<number> {
    const size = await stat(this.path(key)).then(
      (file) => file.size,
      () => 0,
    );
    return wholeBlocks(size, total);
  }

  /** Adds bytes from `first` on, which must not leave a gap; skips those that are already kept. */
  async add(
    key: string,
    bytes: AsyncIterable<Buffer>,
    { first, total }: { first: number; total: number },
  ): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const kept = await this.kept(key, total);
    const file = await open(this.path(key), constants.O_CREAT | constants.O_RDWR, 0o600);
    let at = first;
    try {
      for await (const chunk of bytes) {
        const fresh = chunk.subarray(Math.max(0, kept - at));
        await file.write(fresh, 0, fresh.length, at + chunk.length - fresh.length);
        at += chunk.length;
      }
    } finally {
      try {
        await file.truncate(wholeBlocks(Math.max(kept, at), total));
      } finally {
        await file.close();
      }
    }
  }

  async remove(key: string): Promise<void> {
    await rm(this.path(key), { force: true });
  }
}

const wholeBlocks = (size: number, total: number): number => (size === total ? total : size - (size % BLOCK));
