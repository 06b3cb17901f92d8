import assert from 'node:assert/strict';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from 'undici';
import { Http } from '../../../lib/http/http';
import type { Output } from '../../../lib/report/outputs';
import { receive } from '../../../lib/report/reports';

const ROW = `${'x'.repeat(100)}\n`;

describe('report/transfer', () => {
  let server: Server;
  let http: Http;
  let respond: (response: ServerResponse) => void;
  let rows: number;

  const output: Output = {
    most: 2_000,
    rows: (read) => void (rows += read.length),
    end: async () => ({ payload: null, count: rows }),
  };
  const transferred = () =>
    receive(http, `http://127.0.0.1:${(server.address() as AddressInfo).port}/report`, output, {
      signal: new AbortController().signal,
      onRows: () => undefined,
    });

  beforeEach(async () => {
    rows = 0;
    server = createServer((_, response) => respond(response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    http = new Http(new Agent(), { isLocal: true });
  });
  afterEach(async () => {
    await http.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('reads a table up to the limit of its output', async () => {
    respond = (response) => response.end(`job\n${ROW.repeat(19)}`);
    assert.deepEqual(await transferred(), { columns: ['job'], rows: 19 });
    assert.equal(rows, 19);
  });

  it('ends in TOO_LARGE before the first byte when the announced length exceeds the limit', async () => {
    respond = (response) => {
      response.writeHead(200, { 'content-length': 4 + 20 * ROW.length });
      response.write('job\n');
    };
    await assert.rejects(transferred(), { code: 'TOO_LARGE' });
    assert.equal(rows, 0);
  });

  it('ends in TOO_LARGE at the limit when the length was not announced', async () => {
    respond = (response) => {
      const more = () => {
        while (!response.destroyed && response.write(ROW));
      };
      response.write('job\n');
      response.on('drain', more);
      more();
    };
    await assert.rejects(transferred(), { code: 'TOO_LARGE' });
    assert.ok(rows <= 19, `${rows} rows`);
  });
});
