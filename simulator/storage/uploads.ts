import type { IncomingHttpHeaders } from 'node:http';
import { Refusal } from '../http/refusals';
import type { Answer, Call } from '../http/server';
import type { StoredFile, UploadMode } from '../world/state';
import type { World } from '../world/world';
import { contentRange } from './content-range';
import type { Sessions } from './sessions';
import type { StoredBytes } from './stored-bytes';

export interface UploadParts {
  world: World;
  bytes: StoredBytes;
  sessions: Sessions;
}

type Receive = (call: Call, file: StoredFile, parts: UploadParts) => Promise<Answer>;

/** Handles a PUT by the kind of its upload address (interface, Upload to the storage location). */
export const UPLOADS: Record<UploadMode, Receive> = {
  /** Accepts the whole file in one request, with exactly the announced headers. */
  async 'one-time'(call, file, parts) {
    const { headers } = call.request;
    if (headers['content-range'] !== undefined)
      throw new Refusal(400, 'InvalidRequest', 'Content-Range is not part of the announced upload.');
    checkUnused(file);
    check(headers, { contentType: file.contentType, length: file.fileSize, origin: file.origin });
    return store(call, file, parts);
  },

  /**
   * Stores the first body, whatever it is, and ignores ranges: it stores a progress query as an empty object and
   * answers 200. Only the whole file gets the status `uploaded`.
   */
  async plain(call, file, parts) {
    const { headers } = call.request;
    checkUnused(file);
    if (headers['content-length'] !== '0') check(headers, { contentType: file.contentType, origin: file.origin });
    return store(call, file, parts);
  },

  /** Keeps the received part of an interrupted upload, reports its size, and accepts the rest (wire facts 4.2). */
  async session(call, file, { world, bytes, sessions }) {
    const { request, body } = call;
    const { key, fileSize: total, contentType, origin } = file;
    const range = contentRange(request.headers['content-range']);
    if (range && range.total !== total)
      throw new Refusal(400, 'InvalidArgument', 'The Content-Range header contradicts the announced size.');
    return sessions.alone(key, request, async () => {
      if (range && 'question' in range) {
        check(request.headers, { length: 0, origin });
        if (file.usedAt !== null) return { status: 200 };
      } else {
        checkUnused(file);
        const { first, last } = range ?? { first: 0, last: total - 1 };
        check(request.headers, { contentType, length: last - first + 1, origin });
        if (first > (await sessions.kept(key, total)))
          throw new Refusal(400, 'InvalidRange', 'The bytes before this range are missing.');
        await sessions.add(key, body, { first, total });
      }
      const kept = await sessions.kept(key, total);
      if (kept < total) return { status: 308, headers: kept === 0 ? {} : { range: `bytes=0-${kept - 1}` } };
      world.stored(file, await bytes.adopt(key, sessions.path(key), { contentType, size: total }));
      return { status: 200 };
    });
  },
};

async function store({ body }: Call, file: StoredFile, { world, bytes }: UploadParts): Promise<Answer> {
  const arrived = await bytes.store(file.key, body, { contentType: file.contentType, size: file.fileSize });
  // Of two simultaneous uploads, the first complete one wins.
  checkUnused(file);
  world.stored(file, arrived);
  return { status: 200 };
}

/** Throws unless the headers match; an `origin` of null means that there must be none. */
function check(
  headers: IncomingHttpHeaders,
  expected: { contentType?: string; length?: number; origin: string | null },
): void {
  const { contentType, length, origin } = expected;
  const wrong = [
    ...(contentType === undefined || headers['content-type'] === contentType ? [] : ['Content-Type']),
    ...(length === undefined || headers['content-length'] === String(length) ? [] : ['Content-Length']),
    ...(headers.origin === (origin ?? undefined) ? [] : ['Origin']),
  ];
  if (wrong.length > 0) throw new Refusal(403, 'SignatureDoesNotMatch', `${wrong.join(', ')} not as announced.`);
}

function checkUnused(file: StoredFile): void {
  if (file.usedAt !== null) throw new Refusal(403, 'AccessDenied', 'The address was used before.');
}
