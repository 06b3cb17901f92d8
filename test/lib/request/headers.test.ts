import assert from 'node:assert/strict';
import { headersForFlow } from '../../../lib/request/requests';

describe('request/headers', () => {
  it('passes on headers about the answer itself', () => {
    const headers = { 'content-type': 'application/json', 'content-language': 'de', etag: '"1"', 'retry-after': '5' };
    assert.deepEqual(headersForFlow(headers), headers);
  });

  for (const name of ['transfer-encoding', 'connection', 'keep-alive', 'upgrade', 'content-length', 'content-encoding'])
    it(`removes ${name}, which is about the connection`, () => {
      assert.deepEqual(headersForFlow({ [name]: 'x', 'x-own': '1' }), { 'x-own': '1' });
    });

  for (const name of ['set-cookie', 'authorization', 'proxy-authorization'])
    it(`removes ${name}, which holds credentials`, () => {
      assert.deepEqual(headersForFlow({ [name]: 'secret', 'x-own': '1' }), { 'x-own': '1' });
    });

  it('removes the headers that the connection header names', () => {
    const headers = { connection: 'close,  X-Hop ,x-other', 'x-hop': '1', 'x-other': '2', 'x-own': '3' };
    assert.deepEqual(headersForFlow(headers), { 'x-own': '3' });
  });
});
