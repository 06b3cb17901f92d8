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

type Take = (call: Call, file: StoredFile, parts: UploadParts) => Promise<Answer>;

/** What a PUT to an upload address does, by what kind of address it is (interface, Upload to the storage location). */
export const UPLOADS: Record<UploadMode, Take> = {
  /** The whole file at once, with exactly the headers that were announced. */
  async 'one-time'(call, file, parts) {
    const { headers } = call.request;
    if (headers['content-range'] !== undefined)
      throw new Refusal(400, 'InvalidRequest', 'Content-Range is not part of the announced upload.');
    checkUnused(file);
    check(headers, { contentType: file.contentType, length: file.fileSize, origin: file.origin });
    return store(call, file, parts);
  },

  /**
   * Takes whatever comes as the object, once, and knows no ranges: the question how far a file came is stored as an empty
   * object and answered 200. The record says `uploaded` for the whole file alone.
   */
  async plain(call, file, parts) {
    const { headers } = call.request;
    checkUnused(file);
    if (headers['content-length'] !== '0') check(headers, { contentType: file.contentType, origin: file.origin });
    return store(call, file, parts);
  },

  /** Keeps what came before a break, says how much that is, and takes the rest (wire facts 4.2). */
  async session(call, file, { world, bytes, sessions }) {
    const { request, body } = call;
    const { key, fileSize: total, contentType, origin } = file;
    const range = contentRange(request.headers['content-range']);
    if (range && range.total !== total)
      throw new Refusal(400, 'InvalidArgument', 'The Content-Range header is not about the announced size.');
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
  // Of two uploads at the same time, the first to be complete has used the address.
  checkUnused(file);
  world.stored(file, arrived);
  return { status: 200 };
}

/** Throws unless the headers are those expected; `origin` null: there must be none. */
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
