import assert from 'node:assert/strict';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { clustersOf, codeOf, NodeBench } from './support';

const NODES = {
  'upload-and-print': { type: 'remote-printing-upload-and-print' },
  'library-file': { type: 'remote-printing-library-file', operation: 'upload', kind: 'job' },
};

for (const [name, settings] of Object.entries(NODES))
  describe(`nodes/${name}: the stream of an HTTP request as the payload`, () => {
    const bench = new NodeBench({ id: 'print', ...settings, source: 'payload', timeout: 20, wires: [['sent'], []] });
    let server: Server;

    beforeEach(async () => {
      await bench.start();
      await bench.deploy();
      server = createServer((req, res) => void take(req, res));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    });
    afterEach(async () => {
      server.closeAllConnections();
      server.close();
      await bench.stop();
    });

    /** Sends a request through the node, and answers it when the message has ended, as a flow does. */
    async function take(req: IncomingMessage, res: ServerResponse): Promise<void> {
      const { searchParams } = new URL(req.url ?? '', 'http://localhost');
      const fileSize = Number(req.headers['content-length']);
      const clusterId = searchParams.get('cluster') ?? clustersOf(bench.simulator)[0]?.clusterId;
      const [filename, printKey] = [searchParams.get('name'), searchParams.get('key') ?? ''];
      const msg = { req, res, payload: req, fileSize, filename, clusterId, printKey };
      const { error } = await bench.run(msg);
      res.end(error ? codeOf(error) : 'done');
    }
    const send = (query: string, size: number): Promise<string> =>
      new Promise((resolve, reject) => {
        const { port } = server.address() as AddressInfo;
        const options = { port, path: `/?${query}`, method: 'PUT', agent: false };
        const sent = request({ ...options, headers: { 'content-length': size } }, (answer) => {
          let text = '';
          answer.on('data', (part: Buffer) => (text += part.toString()));
          answer.on('end', () => resolve(text)).on('error', reject);
        });
        sent.on('error', reject);
        sent.end(Buffer.alloc(size, 'G28\n'));
      });

    for (const size of [2_000, 3_000_000])
      it(`leaves a request of ${size} bytes to be answered, however its message ends`, async () => {
        assert.equal(await send('name=a.gcode&key=k', size), 'done');
        assert.equal(await send('name=a.gcode&key=k', size), 'done');
        assert.equal(await send('name=a.stl', size), 'UNSUPPORTED_FILE_TYPE');
        const unknown = name === 'upload-and-print' ? 'NOT_FOUND' : 'done';
        assert.equal(await send('name=b.gcode&cluster=nobody', size), unknown);
      });

    it('leaves a request to be answered that was read in part', async () => {
      bench.simulator.faults.add({ endpoint: 'storagePut', times: 'always', status: 400 });
      assert.equal(await send('name=a.gcode', 3_000_000), 'UPLOAD_FAILED');
    });
  });
