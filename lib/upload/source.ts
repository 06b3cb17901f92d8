import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import type { Deadline } from '../time/deadline';
import { bytesContent, fileContent, type Content } from './content';
import { guard } from '../time/guard';
import { streamContent } from './stream-content';

/** Source of the bytes to upload. */
export type Source =
  | { kind: 'file'; path: string }
  | { kind: 'bytes'; bytes: Buffer; name: string }
  /** `size` in bytes; a stream doesn't show it. */
  | { kind: 'stream'; stream: Readable; size: number; name: string };

/** The file name, without folders. */
export const fileNameOf = (source: Source): string =>
  source.kind === 'file' ? basename(source.path) : afterSlashes(source.name);

const afterSlashes = (name: string): string => name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1);

/**
 * Opens the source and checks that it is readable and not empty. The caller closes it. The deadline ends every wait.
 */
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

/** Guards a stream that has no reader yet; the returned function destroys it, as an abort does. */
export function holdStream(stream: Readable, signal: AbortSignal): () => void {
  // The flow owns the stream, so its `destroy` may do anything.
  const destroy = guard(() => void stream.destroy());
  // An unhandled error event would end the whole process.
  stream.on('error', () => undefined);
  signal.addEventListener('abort', destroy, { once: true });
  return () => {
    signal.removeEventListener('abort', destroy);
    destroy();
  };
}
