import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Arrived } from '../world/library';
import { Digest, UFP, UNPACKED_UP_TO } from './digest';
import { ufpToolpath } from './ufp';

interface About {
  contentType: string;
  size: number;
}

/** Bytes of uploaded files, in a folder or (for benchmarks) discarded. Never holds a whole file in memory. */
export class StoredBytes {
  private parts = 0;

  constructor(
    private readonly folder: string,
    private readonly keep: boolean,
  ) {}

  /** Stores a file atomically; leaves nothing of an interrupted one. */
  async store(key: string, source: AsyncIterable<Buffer>, about: About): Promise<Arrived> {
    const digest = new Digest(about);
    async function* digested(): AsyncGenerator<Buffer> {
      for await (const chunk of source) {
        await digest.add(chunk);
        yield chunk;
      }
    }
    try {
      if (this.keep) await this.write(key, digested());
      else for await (const _ of digested()) continue;
      return await digest.end(await this.toolpath(key, about));
    } finally {
      digest.drop();
    }
  }

  /** Moves a complete file into the store. */
  async adopt(key: string, path: string, about: About): Promise<Arrived> {
    const digest = new Digest(about);
    try {
      for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) await digest.add(chunk);
      if (this.keep) await rename(path, join(this.folder, key));
      else await rm(path);
      return await digest.end(await this.toolpath(key, about));
    } finally {
      digest.drop();
    }
  }

  /** Opens a file; `undefined` if files are discarded. */
  read(key: string): Readable | undefined {
    return this.keep ? createReadStream(join(this.folder, key)) : undefined;
  }

  async remove(key: string): Promise<void> {
    if (this.keep) await rm(join(this.folder, key), { force: true });
  }

  /** Removes partial uploads of an earlier run. */
  async removeParts(): Promise<void> {
    const names = await readdir(this.folder).catch(() => []);
    for (const name of names) if (name.endsWith('.part')) await rm(join(this.folder, name), { force: true });
  }

  /** Toolpath in a stored UFP file; null if it has none, `undefined` for other files. */
  private async toolpath(key: string, { contentType, size }: About): Promise<Buffer | null | undefined> {
    if (contentType !== UFP || size > UNPACKED_UP_TO || !this.keep) return undefined;
    return (await ufpToolpath(join(this.folder, key))) ?? null;
  }

  private async write(key: string, source: AsyncIterable<Buffer>): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const part = join(this.folder, `${key}.${this.parts++}.part`);
    const file = createWriteStream(part, { mode: 0o600, highWaterMark: 1024 * 1024 });
    const closed = new Promise<void>((resolve) => file.once('close', () => resolve()));
    try {
      await pipeline(source, file);
      await rename(part, join(this.folder, key));
    } catch (error) {
      // Waits, since a pending open would create the file again.
      await closed;
      await rm(part, { force: true });
      throw error;
    }
  }
}
