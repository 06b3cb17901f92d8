import type { IncomingHttpHeaders } from 'node:http';
import { Refusal } from './refusals';
import { BreakOff, type Route } from './server';
import type { SignedUrls } from './signed-urls';
import type { StoredJob } from './state';
import type { StoredBytes } from './stored-bytes';
import type { World } from './world';

/** The object store: signed addresses only, errors in XML (wire facts 4.2). */
export function storageRoutes(parts: { world: World; urls: SignedUrls; bytes: StoredBytes }): Route[] {
  const { world, urls, bytes } = parts;
  const jobOfKey = (key: string): StoredJob => {
    const job = world.storedJobs().find((other) => other.key === key);
    if (!job) throw new Refusal(404, 'NoSuchKey', 'The object does not exist.');
    return job;
  };

  return [
    {
      endpoint: 'storagePut',
      method: 'PUT',
      path: '/upload/{key}',
      async handle({ request, params, query, resetAtByte }) {
        urls.check('upload', params.key!, query);
        const job = jobOfKey(params.key!);
        checkUploadHeaders(request.headers, job);
        const arrived = await bytes.store(
          job.key,
          request,
          { contentType: job.contentType, size: job.fileSize },
          (received) => {
            if (resetAtByte !== undefined && received >= resetAtByte) throw new BreakOff();
          },
        );
        // Of two uploads at the same time, the first to be complete has used the address.
        checkUnused(job);
        world.arrived(job, arrived);
        return { status: 200 };
      },
    },
    {
      endpoint: 'storageGet',
      method: 'GET',
      path: '/download/{key}',
      handle({ request, params, query }) {
        urls.check('download', params.key!, query);
        const job = jobOfKey(params.key!);
        refuseAuthorization(request.headers);
        const stream = bytes.read(job.key);
        if (!stream) throw new Refusal(404, 'NoSuchKey', 'The object does not exist.');
        return {
          status: 200,
          headers: { 'content-type': job.contentType, 'content-length': String(job.fileSize) },
          stream,
        };
      },
    },
  ];
}

function checkUploadHeaders(headers: IncomingHttpHeaders, job: StoredJob): void {
  refuseAuthorization(headers);
  checkUnused(job);
  if (headers['content-encoding'] !== undefined)
    throw new Refusal(400, 'InvalidRequest', 'Content-Encoding is not part of the announced upload.');
  if (headers['content-length'] === undefined)
    throw new Refusal(411, 'MissingContentLength', 'The Content-Length header is missing.');
  const expected: [name: string, given: string | undefined, announced: string | undefined][] = [
    ['Content-Type', headers['content-type'], job.contentType],
    ['Content-Length', headers['content-length'], String(job.fileSize)],
    ['Origin', headers.origin, job.origin ?? undefined],
  ];
  for (const [name, given, announced] of expected)
    if (given !== announced) throw new Refusal(403, 'SignatureDoesNotMatch', `${name} is not the announced one.`);
}

function checkUnused(job: StoredJob): void {
  if (job.arrivedAt !== null) throw new Refusal(403, 'AccessDenied', 'The address was used before.');
}

/** A signed address and a token at once are two ways of proving oneself (wire facts 15.33). */
function refuseAuthorization(headers: IncomingHttpHeaders): void {
  if (headers.authorization !== undefined)
    throw new Refusal(400, 'InvalidArgument', 'Only one way of authorization is allowed.');
}
