import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import type { Http } from '../../../lib/http/http';
import { readPreview, type PreviewOf } from '../../../lib/query/queries';
import { PrintingError } from '../../../lib/service/errors';
import { limit } from '../../helpers/limits';
import { ManualClock } from '../../helpers/manual-clock';
import { ScriptedService } from '../../helpers/scripted-service';
import { pluck } from '../../helpers/pluck';

const PNG = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1');
const ADDRESS = 'https://storage.example/picture?signature=secret';
const PRINT = { clusterId: 'c', clusterJobId: 'p' };

describe('query/preview', () => {
  /** Reads a preview from a record and the storage's answer; also returns the sent requests. */
  async function read(of: PreviewOf, record: unknown, content: Buffer = PNG, answer: object = {}) {
    const sent: { url: string; headers: object }[] = [];
    const http = {
      isLocal: false,
      send: async (request: { url: string; headers: object }) => {
        sent.push(request);
        return { status: 200, headers: {}, body: Readable.from([content]), ...answer };
      },
    } as unknown as Http;
    const service = new ScriptedService([record]);
    const preview = await readPreview({ service, http }, of, limit(new ManualClock(), { seconds: 60 }));
    return { preview, sent, calls: service.calls };
  }
  const refused = (work: Promise<unknown>, code: string, words: RegExp) =>
    assert.rejects(work, (error: PrintingError) => {
      assert.equal(error.code, code);
      assert.match(error.message, words);
      assert.ok(!error.message.includes('storage.example') && !error.message.includes('secret'));
      return true;
    });

  it('reads one record and downloads the picture without a bearer', async () => {
    const { preview, sent, calls } = await read(PRINT, { uuid: 'p', preview_url: ADDRESS });
    assert.deepEqual(pluck(calls, 'endpoint'), ['printJob']);
    assert.deepEqual(pluck(sent, 'url'), [ADDRESS]);
    assert.deepEqual(Object.keys(sent[0]?.headers ?? {}).sort(), ['accept', 'accept-encoding']);
    assert.deepEqual([preview.bytes, preview.contentType], [PNG, 'image/png']);
    assert.deepEqual(preview.raw, { uuid: 'p', preview_url: ADDRESS });
  });

  it('uses the picture of the file if a print has none of its own', async () => {
    const { preview } = await read(PRINT, { uuid: 'p', source: { preview_image_url: ADDRESS } });
    assert.equal(preview.contentType, 'image/png');
    const stored = await read({ jobId: 'j' }, [{ job_id: 'j', preview_image_url: ADDRESS }]);
    assert.deepEqual(pluck(stored.calls, 'endpoint'), ['storedJob']);
  });

  it('is NOT_FOUND without an address, or if the storage has lost the picture', async () => {
    for (const record of [{ uuid: 'p' }, { preview_url: '' }, { preview_url: 3 }])
      await refused(read(PRINT, record), 'NOT_FOUND', /UFP/);
    await refused(read(PRINT, { preview_url: ADDRESS }, PNG, { status: 404 }), 'NOT_FOUND', /UFP/);
  });

  it('is SERVICE_ERROR for an answer without a record', async () => {
    for (const record of [{}, null, []]) {
      await refused(read(PRINT, record), 'SERVICE_ERROR', /something unexpected/);
      await refused(read({ jobId: 'j' }, record), 'SERVICE_ERROR', /is empty/);
    }
  });

  it('refuses other content by its bytes, and a picture that is too large', async () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>');
    const headers = { 'content-type': 'image/png' };
    await refused(read(PRINT, { preview_url: ADDRESS }, svg, { headers }), 'SERVICE_ERROR', /not a picture/);
    const large = { headers: { 'content-length': String(20 * 1024 * 1024 + 1) } };
    await refused(read(PRINT, { preview_url: ADDRESS }, PNG, large), 'TOO_LARGE', /more than 20 MB: upload/);
    await refused(read(PRINT, { preview_url: 'file:///etc/passwd' }), 'SERVICE_ERROR', /valid address/);
  });
});
