import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, type Gunzip } from 'node:zlib';
import { guessSeconds, printSeconds } from '../world/gcode-time';
import type { Arrived } from '../world/library';

const END_BYTES = 64 * 1024;
/** Bigger packed files are not unpacked: their time is guessed. */
const UNPACKED_UP_TO = 64 * 1024 * 1024;

/** The bytes of uploaded files, in a folder or (for benchmarks) nowhere. No file is ever held in memory. */
export class StoredBytes {
  private parts = 0;

  constructor(
    private readonly folder: string,
    private readonly keep: boolean,
  ) {}

  /** Takes all the bytes, then has the file there at once; nothing is left of one that broke off. */
  async store(
    key: string,
    source: Readable,
    about: { contentType: string; size: number },
    onBytes: (received: number) => void,
  ): Promise<Arrived> {
    const hash = createHash('sha256');
    const ends = new FileEnds();
    const packed =
      about.contentType === 'application/gzip' && about.size <= UNPACKED_UP_TO ? unpackInto(ends) : undefined;
    let size = 0;
    async function* look(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of chunks) {
        size += chunk.length;
        onBytes(size);
        hash.update(chunk);
        if (packed) await packed.write(chunk);
        else ends.add(chunk);
        yield chunk;
      }
    }
    try {
      if (this.keep) await this.write(key, source, look);
      else for await (const _ of look(source)) continue;
      await packed?.end();
    } finally {
      packed?.drop();
    }
    const stated = printSeconds(ends.text());
    return {
      size,
      sha256: hash.digest('hex'),
      printSeconds: stated ?? guessSeconds(size, about.contentType !== 'text/plain'),
      parsed: stated !== undefined,
    };
  }

  /** `undefined` where no bytes are kept. */
  read(key: string): Readable | undefined {
    return this.keep ? createReadStream(join(this.folder, key)) : undefined;
  }

  async remove(key: string): Promise<void> {
    if (this.keep) await rm(join(this.folder, key), { force: true });
  }

  /** What an earlier run left of uploads that it did not see to their end. */
  async removeParts(): Promise<void> {
    const names = await readdir(this.folder).catch(() => []);
    for (const name of names) if (name.endsWith('.part')) await rm(join(this.folder, name), { force: true });
  }

  private async write(
    key: string,
    source: Readable,
    look: (chunks: AsyncIterable<Buffer>) => AsyncGenerator<Buffer>,
  ): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const part = join(this.folder, `${key}.${this.parts++}.part`);
    const file = createWriteStream(part, { mode: 0o600, highWaterMark: 1024 * 1024 });
    const closed = new Promise<void>((resolve) => file.once('close', () => resolve()));
    try {
      await pipeline(source, look, file);
      await rename(part, join(this.folder, key));
    } catch (error) {
      // An open that is still under way would bring the file back.
      await closed;
      await rm(part, { force: true });
      throw error;
    }
  }
}

/** Remembers the first and the last 64 KiB of what passes: there the slicers write. */
class FileEnds {
  private head: Buffer[] = [];
  private headSize = 0;
  private tail: Buffer[] = [];
  private tailSize = 0;

  add(chunk: Buffer): void {
    if (this.headSize < END_BYTES) {
      this.head.push(chunk);
      this.headSize += chunk.length;
      return;
    }
    this.tail.push(chunk);
    this.tailSize += chunk.length;
    while (this.tailSize - this.tail[0]!.length >= END_BYTES) this.tailSize -= this.tail.shift()!.length;
  }

  text(): string {
    return Buffer.concat([...this.head, ...this.tail]).toString('latin1');
  }
}

/** Unpacks while the bytes pass. A file that is no gzip has no ends: that is the file's affair, not an error. */
function unpackInto(ends: FileEnds): { write(chunk: Buffer): Promise<void>; end(): Promise<void>; drop(): void } {
  const gunzip: Gunzip = createGunzip();
  const closed = once(gunzip, 'close').catch(() => undefined);
  let broken = false;
  gunzip.on('error', () => {
    broken = true;
  });
  gunzip.on('data', (chunk: Buffer) => ends.add(chunk));
  return {
    async write(chunk) {
      if (broken || gunzip.write(chunk)) return;
      await Promise.race([once(gunzip, 'drain').catch(() => undefined), closed]);
    },
    async end() {
      if (!broken) gunzip.end();
      await closed;
    },
    drop: () => void gunzip.destroy(),
  };
}
