import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import type { Deadline } from '../time/deadline';
import { bytesContent, fileContent, type Content } from './content';
import { guard } from '../time/guard';
import { streamContent } from './stream-content';

/** Where the bytes to upload come from. */
export type Source =
  | { kind: 'file'; path: string }
  | { kind: 'bytes'; bytes: Buffer; name: string }
  /** `size` in bytes: nobody can tell it from a stream. */
  | { kind: 'stream'; stream: Readable; size: number; name: string };

/** The file name, without folders. */
export const nameOf = (source: Source): string =>
  source.kind === 'file' ? basename(source.path) : afterSlashes(source.name);

const afterSlashes = (name: string): string => name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1);

/** Checks that the source is there, readable and not empty. Close what it gives. The deadline ends every wait for it. */
export async function openContent(source: Source, deadline: Deadline): Promise<Content> {
  switch (source.kind) {
    case 'file':
      return fileContent(source.path, deadline);
    case 'bytes':
      return bytesContent(source.bytes, source.name);
    case 'stream':
      return streamContent(source.stream, source.size, source.name, deadline);
  }
}

/** Looks after a stream that nobody may be reading yet; the returned function ends it, as an abort does. */
export function holdStream(stream: Readable, signal: AbortSignal): () => void {
  // The stream is the flow's own: its `destroy` may do anything.
  const destroy = guard(() => void stream.destroy());
  // A failure that nobody listens for would end the whole process.
  stream.on('error', () => undefined);
  signal.addEventListener('abort', destroy, { once: true });
  return () => {
    signal.removeEventListener('abort', destroy);
    destroy();
  };
}
