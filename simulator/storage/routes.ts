import type { IncomingHttpHeaders } from 'node:http';
import { pictureAnswer } from './picture/picture';
import { Refusal } from '../http/refusals';
import { csv } from './report-csv';
import { previewOf } from '../world/scene';
import { reportLines } from '../world/report-lines';
import { reportFileName } from '../world/report';
import type { Answer, Call, Route } from '../http/server';
import type { SignedUrls } from './signed-urls';
import { UPLOADS, type UploadParts } from './uploads';

/** Routes of the object store: signed addresses only, errors in XML (wire facts 4.2). */
export function storageRoutes(parts: UploadParts & { urls: SignedUrls }): Route[] {
  const { world, urls, bytes } = parts;

  const get = (
    endpoint: string,
    purpose: 'download' | 'image' | 'preview' | 'report',
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
      handle(call) {
        const key = call.params.key!;
        urls.check('upload', key, call.query);
        const file = exists(world.fileOfKey(key));
        const { headers } = call.request;
        refuseAuthorization(headers);
        if (headers['content-encoding'] !== undefined)
          throw new Refusal(400, 'InvalidRequest', 'Content-Encoding is not part of the announced upload.');
        if (headers['content-length'] === undefined)
          throw new Refusal(411, 'MissingContentLength', 'The Content-Length header is missing.');
        return UPLOADS[file.uploadMode](call, file, parts);
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
    get('previewGet', 'preview', (key) => {
      const file = exists(world.fileOfKey(key));
      return pictureAnswer(previewOf(file, world.moment().now));
    }),
    get('reportGet', 'report', (key) => {
      const report = exists(world.reportOfKey(key));
      const headers = {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': `attachment; filename="${reportFileName(report)}"`,
      };
      const lines = reportLines(report, world.clusters(report.organizationId), world.moment());
      return { status: 200, headers, stream: csv(lines, report.made) };
    }),
  ];
}

function exists<T>(found: T | undefined): T {
  if (found === undefined) throw new Refusal(404, 'NoSuchKey', 'The object does not exist.');
  return found;
}

/** Refuses a token beside a signed address: the store accepts one kind of authorization only (wire facts 15.33). */
function refuseAuthorization(headers: IncomingHttpHeaders): void {
  if (headers.authorization !== undefined)
    throw new Refusal(400, 'InvalidArgument', 'Only one way of authorization is allowed.');
}
