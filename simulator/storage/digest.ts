import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createGunzip, type Gunzip } from 'node:zlib';
import { materialNeeds } from '../world/gcode-materials';
import { printTarget } from '../world/gcode-target';
import { guessSeconds, printSeconds } from '../world/gcode-time';
import type { Arrived } from '../world/library';
import { toolpathHeader } from '../world/toolpath-header';

/** Content type of a container, whose toolpath is read once it is stored. */
export const UFP = 'application/x-ufp';
const END_BYTES = 64 * 1024;
/** Largest gzip or UFP file to unpack, bytes; the printing time of larger ones is guessed. */
export const UNPACKED_UP_TO = 64 * 1024 * 1024;

/** Computes size, hash, printing time and material of a file while its bytes pass. */
export class Digest {
  private readonly hash = createHash('sha256');
  private readonly ends = new FileEnds();
  private readonly packed: Unpacking | undefined;
  private size = 0;

  constructor(private readonly about: { contentType: string; size: number }) {
    if (about.contentType === 'application/gzip' && about.size <= UNPACKED_UP_TO) this.packed = unpackInto(this.ends);
  }

  async add(chunk: Buffer): Promise<void> {
    this.size += chunk.length;
    this.hash.update(chunk);
    if (this.packed) await this.packed.write(chunk);
    else if (this.about.contentType !== UFP) this.ends.add(chunk);
  }

  /** `toolpath` is the content of a UFP file; null for one without a toolpath. */
  async end(toolpath?: Buffer | null): Promise<Arrived> {
    await this.packed?.end();
    for (let at = 0; toolpath && at < toolpath.length; at += END_BYTES)
      this.ends.add(toolpath.subarray(at, at + END_BYTES));
    const comments = this.ends.text();
    const stated = printSeconds(comments);
    return {
      size: this.size,
      sha256: this.hash.digest('hex'),
      printSeconds: stated ?? guessSeconds(this.size, !this.about.contentType.startsWith('text/')),
      parsed: stated !== undefined,
      needs: materialNeeds(comments),
      target: printTarget(comments),
      header: toolpath === null ? 'broken' : toolpathHeader(comments),
    };
  }

  /** Releases resources; call it after success and failure. */
  drop(): void {
    this.packed?.drop();
  }
}

/** The first and last 64 KiB of a stream, where slicers write their comments. */
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

/** Unpacks a stream into its ends. An invalid gzip has no ends, which is no error. */
interface Unpacking {
  write(chunk: Buffer): Promise<void>;
  end(): Promise<void>;
  drop(): void;
}

function unpackInto(ends: FileEnds): Unpacking {
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
