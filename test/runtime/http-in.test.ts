import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { startRealNodeRed, type RealNodeRed } from '../helpers/real-node-red';

const DATA = { words: 'fünf Drucker', list: [1, 2, 3] };
const JSON_TYPE = { 'content-type': 'application/json', 'x-own': 'kept' };

/** Ways in which a service, or a proxy in front of it, may send the same answer. */
const ways: Record<string, RequestListener> = {
  'with its length': (_, response) => {
    const body = Buffer.from(JSON.stringify({ data: DATA }));
    response.writeHead(200, { ...JSON_TYPE, 'content-length': body.length }).end(body);
  },
  'in chunks': (_, response) => {
    response.writeHead(200, JSON_TYPE).write('{"data":');
    response.end(`${JSON.stringify(DATA)}}`);
  },
  'over a connection that it names headers of': (_, response) => {
    const headers = { connection: 'close, x-hop', 'x-hop': 'this one', 'keep-alive': 'timeout=1', trailer: 'x-sum' };
    response.writeHead(200, { ...JSON_TYPE, ...headers }).end(JSON.stringify({ data: DATA }));
  },
};

describe('a printing request between http in and http response', function () {
  let service: Server;
  let answer: RequestListener;
  let nodeRed: RealNodeRed;

  before(async () => {
    service = createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1');
    await once(service, 'listening');
    const apiUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
    const at = { z: 'tab', x: 1, y: 1 };
    nodeRed = await startRealNodeRed({
      flows: [
        { id: 'tab', type: 'tab', label: 'test' },
        { id: 'account', type: 'remote-printing-account', service: 'remote', signIn: 'token', apiUrl },
        { id: 'in', type: 'http in', url: '/printers', method: 'get', wires: [['request']], ...at },
        {
          ...{ id: 'request', type: 'remote-printing-request', account: 'account', wires: [['out']], ...at },
          ...{ method: 'GET', path: '/connect/v1/clusters', pathType: 'str' },
        },
        { id: 'out', type: 'http response', wires: [], ...at },
        { id: 'catch', type: 'catch', wires: [['out']], ...at },
      ],
      credentials: { account: { apiToken: 'token' } },
    });
  });
  after(async () => {
    await nodeRed.kill();
    service.close();
    service.closeAllConnections();
  });

  for (const [how, send] of Object.entries(ways))
    it(`forwards to the browser an answer that the service sends ${how}`, async () => {
      answer = send;
      const response = await fetch(`${nodeRed.url}printers`, { signal: AbortSignal.timeout(120_000) });
      assert.equal(response.status, 200);
      assert.deepEqual(await response.json(), DATA);
      assert.equal(response.headers.get('x-own'), 'kept');
      assert.equal(response.headers.get('x-hop'), null);
    });
});
