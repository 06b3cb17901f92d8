import type { IncomingHttpHeaders } from 'node:http';
import { pictureAnswer } from './picture/picture';
import { Refusal } from '../http/refusals';
import { csv } from './report-csv';
import { reportLines } from '../world/report-lines';
import { reportFileName } from '../world/report';
import { BreakOff, type Answer, type Call, type Route } from '../http/server';
import type { SignedUrls } from './signed-urls';
import type { StoredFile } from '../world/state';
import type { StoredBytes } from './stored-bytes';
import type { World } from '../world/world';

/** The object store: signed addresses only, errors in XML (wire facts 4.2). */
export function storageRoutes(parts: { world: World; urls: SignedUrls; bytes: StoredBytes }): Route[] {
  const { world, urls, bytes } = parts;

  const get = (
    endpoint: string,
    purpose: 'download' | 'image' | 'report',
    handle: (key: string, call: Call) => Answer | Promise<Answer>,
  ): Route => ({
    endpoint,
    method: 'GET',
    path: `/${purpose}/{key}`,
    handle(call) {
      const key = call.params.key!;
      urls.check(purpose, key, call.query);
      refuseAuthorization(call.request.headers);
      return handle(key, call);
    },
  });

  return [
    {
      endpoint: 'storagePut',
      method: 'PUT',
      path: '/upload/{key}',
      async handle({ request, params, query, resetAtByte }) {
        urls.check('upload', params.key!, query);
        const file = exists(world.fileOfKey(params.key!));
        checkUploadHeaders(request.headers, file);
        const arrived = await bytes.store(
          file.key,
          request,
          { contentType: file.contentType, size: file.fileSize },
          (received) => {
            if (resetAtByte !== undefined && received >= resetAtByte) throw new BreakOff();
          },
        );
        // Of two uploads at the same time, the first to be complete has used the address.
        checkUnused(file);
        world.arrived(file, arrived);
        return { status: 200 };
      },
    },
    get('storageGet', 'download', (key) => {
      const file = exists(world.fileOfKey(key));
      const stream = exists(bytes.read(file.key));
      return {
        status: 200,
        headers: { 'content-type': file.contentType, 'content-length': String(file.fileSize) },
        stream,
      };
    }),
    get('imageGet', 'image', (actionId) => {
      const { cluster, action } = exists(world.picture(actionId));
      return pictureAnswer(action.scene!, cluster.pictureSwitch);
    }),
    get('reportGet', 'report', (key) => {
      const report = exists(world.reportOfKey(key));
      const headers = {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': `attachment; filename="${reportFileName(report)}"`,
      };
      const lines = reportLines(report, world.clusters(report.organizationId));
      return { status: 200, headers, stream: csv(lines, report.made) };
    }),
  ];
}

function exists<T>(found: T | undefined): T {
  if (found === undefined) throw new Refusal(404, 'NoSuchKey', 'The object does not exist.');
  return found;
}

function checkUploadHeaders(headers: IncomingHttpHeaders, file: StoredFile): void {
  refuseAuthorization(headers);
  checkUnused(file);
  if (headers['content-encoding'] !== undefined)
    throw new Refusal(400, 'InvalidRequest', 'Content-Encoding is not part of the announced upload.');
  if (headers['content-length'] === undefined)
    throw new Refusal(411, 'MissingContentLength', 'The Content-Length header is missing.');
  const expected: [name: string, given: string | undefined, announced: string | undefined][] = [
    ['Content-Type', headers['content-type'], file.contentType],
    ['Content-Length', headers['content-length'], String(file.fileSize)],
    ['Origin', headers.origin, file.origin ?? undefined],
  ];
  for (const [name, given, announced] of expected)
    if (given !== announced) throw new Refusal(403, 'SignatureDoesNotMatch', `${name} is not the announced one.`);
}

function checkUnused(file: StoredFile): void {
  if (file.arrivedAt !== null) throw new Refusal(403, 'AccessDenied', 'The address was used before.');
}

/** A signed address and a token at once are two ways of proving oneself (wire facts 15.33). */
function refuseAuthorization(headers: IncomingHttpHeaders): void {
  if (headers.authorization !== undefined)
    throw new Refusal(400, 'InvalidArgument', 'Only one way of authorization is allowed.');
}
