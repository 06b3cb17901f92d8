import assert from 'node:assert/strict';
import { Http } from '../../../lib/http/http';
import { fetchImage } from '../../../lib/picture/image';
import { OtherStorage } from '../../helpers/other-storage';

const PNG = Buffer.from('89504e470d0a1a0a0000000d', 'hex');
const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';

describe('picture/image', () => {
  let storage: OtherStorage;
  let http: Http;
  let body: Buffer | string;
  let type: string;

  beforeEach(async () => {
    http = new Http(undefined, { isLocal: true });
    storage = await OtherStorage.start((_, response) => void response.setHeader('content-type', type).end(body));
  });
  afterEach(async () => {
    await http.close();
    await storage.stop();
  });
  const fetched = () =>
    fetchImage(http, storage.url, { signal: new AbortController().signal, maxBytes: 1e6, onPercent: () => undefined });

  for (const [what, bytes] of [
    ['an SVG after 300 line ends', '\n'.repeat(300) + SVG],
    ['an SVG in UTF-16', Buffer.from(`\uFEFF${SVG}`, 'utf16le')],
    ['an SVG after a comment', `<!--${' '.repeat(500)}-->${SVG}`],
    ['an empty file', ''],
    ['a text that begins like a bitmap', `BM${SVG}`],
  ] as const)
    it(`rejects ${what}, whatever its declared type`, async () => {
      body = bytes;
      for (type of ['image/svg+xml', 'image/png', 'application/octet-stream'])
        await assert.rejects(fetched(), { code: 'SERVICE_ERROR' });
    });

  it('returns the type of the bytes', async () => {
    body = PNG;
    for (type of ['image/svg+xml', 'image/jpeg', 'application/octet-stream'])
      assert.equal((await fetched()).contentType, 'image/png');
  });
});
