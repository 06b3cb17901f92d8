import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { scratchName, sweepScratch } from '../files/scratch';
import { codeOf } from '../http/network-error';
import { PrintingError } from '../service/errors';
import { fileContent, type Content } from './content';
import { say } from '../words/say';

/**
 * The content gzipped, in a temporary file that only its owner can read, since the size must be known before the first
 * byte is sent; it is gone when it is closed. `onRead` sees the chunks before they are compressed.
 */
export async function compress(
  content: Content,
  onRead: (chunk: Buffer) => void,
  signal: AbortSignal,
): Promise<Content> {
  await sweepScratch();
  const folder = join(tmpdir(), scratchName());
  await mkdir(folder, { mode: 0o700 }).catch(unwritable);
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 3 });
  const path = join(folder, 'compressed');
  const read = async function* () {
    for await (const chunk of content.chunks()) {
      onRead(chunk);
      yield chunk;
    }
  };
  try {
    const file = createWriteStream(path, { mode: 0o600 });
    await pipeline(read(), createGzip({ chunkSize: 256 * 1024 }), file, { signal }).catch(unwritable);
    const compressed = await fileContent(path);
    const close = async () => {
      await compressed.close();
      await remove();
    };
    return { ...compressed, close };
  } catch (error) {
    await remove();
    throw error;
  }
}

function unwritable(cause: unknown): never {
  if (cause instanceof PrintingError) throw cause;
  const sentence = say`The compressed file can't be written to the temporary folder (${codeOf(cause)}): free some space or send it uncompressed.`;
  throw new PrintingError('FILE_NOT_WRITABLE', sentence, { cause });
}
