import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { openScratch } from '../files/scratch';
import { codeOf } from '../http/retry';
import { PrintingError } from '../service/errors';
import type { Deadline } from '../time/deadline';
import { changedMeanwhile, exactly, chunksOf, type Content } from './content';
import { phrase } from '../words/sentence';

/**
 * Compresses the content into a private temporary file, as its size must be known before the first byte is sent.
 * Closing deletes the file. `onRead` receives the chunks before compression.
 */
export async function compress(
  content: Content,
  onRead: (chunk: Buffer) => void,
  deadline: Deadline,
): Promise<Content> {
  const scratch = await openScratch(deadline).catch(unwritable);
  const { calls, handle, close } = scratch;
  let size = 0;
  const read = async function* () {
    for await (const chunk of content.chunks()) {
      onRead(chunk);
      yield chunk;
    }
  };
  const write = async (parts: AsyncIterable<Buffer>) => {
    for await (const part of parts) {
      await calls.run(() => handle.writeFile(part));
      size += part.length;
    }
  };
  try {
    const gzip = createGzip({ chunkSize: 256 * 1024 });
    await pipeline(read(), gzip, write, { signal: deadline.signal }).catch(unwritable);
    if (!(await content.unchanged())) throw changedMeanwhile();
    return {
      size,
      repeatable: true,
      isFile: true,
      has: () => true,
      chunks: (from = 0) =>
        exactly(
          size,
          from,
          chunksOf(handle, from, (part) => calls.run(part).catch(unwritable)),
        ),
      stamp: () => Promise.resolve(null),
      unchanged: () => Promise.resolve(true),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function unwritable(cause: unknown): never {
  if (cause instanceof PrintingError) throw cause;
  const sentence = phrase`The compressed file can't be written to the temporary folder (${codeOf(cause)}): free some space or send it uncompressed.`;
  throw new PrintingError('FILE_NOT_WRITABLE', sentence, { cause });
}
