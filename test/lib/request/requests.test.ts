import assert from 'node:assert/strict';
import { MockAgent } from 'undici';
import { readSettings } from '../../../lib/account/settings';
import { AuthenticatedApiClient } from '../../../lib/account/authenticated-api-client';
import { Http } from '../../../lib/http/http';
import { Requests, type OwnRequest } from '../../../lib/request/requests';
import { PrintingError } from '../../../lib/service/errors';
import type { Credentials } from '../../../lib/sign-in/credentials';
import { ManualClock } from '../../helpers/manual-clock';
import { limit } from '../../helpers/limits';

const API = 'https://api.example';
const AUTH = 'https://account.example';

describe('request/requests', () => {
  let agent: MockAgent;
  let clock: ManualClock;
  let bearer: string;
  let requests: Requests;
  let seen: { body: unknown; headers: Record<string, string> }[];

  const credentials = {
    bearer: () => Promise.resolve(bearer),
    refresh: (refused: string) => Promise.resolve((bearer = `${refused}+`)),
    accepted: () => undefined,
  } as unknown as Credentials;
  /** Prepares one answer; records its request in `seen`. */
  const answer = (status: number, body: string, { method = 'GET', path = '/x', headers = {}, host = API } = {}) =>
    agent
      .get(host)
      .intercept({ method, path })
      .reply((asked) => {
        seen.push({ body: asked.body, headers: asked.headers as Record<string, string> });
        return { statusCode: status, data: body, responseOptions: { headers } };
      })
      .times(1);
  const run = (request: Partial<OwnRequest> = {}) =>
    requests.run({ method: 'GET', path: '/x', deadline: limit(clock), ...request });
  const fails = async (work: Promise<unknown>, code: string, statusCode?: number) => {
    await assert.rejects(work, (error: unknown) => {
      assert.ok(error instanceof PrintingError);
      assert.deepEqual([error.code, error.statusCode], [code, statusCode]);
      return true;
    });
  };

  beforeEach(() => {
    agent = new MockAgent();
    agent.disableNetConnect();
    clock = new ManualClock();
    bearer = 'token';
    seen = [];
    const settings = readSettings({ apiUrl: API, authUrl: AUTH, clientId: 'id', clientSecret: 's' });
    const service = new AuthenticatedApiClient({ settings, http: new Http(agent), clock, credentials });
    requests = new Requests(service, settings);
  });
  afterEach(() => agent.close());

  for (const method of ['GET', 'DELETE', 'PUT', 'POST'])
    it(`sends ${method} with the bearer, and with a body only if there is one`, async () => {
      answer(200, '{"data":{"a":1},"meta":{}}', {
        method,
        headers: { 'content-type': 'application/json', 'x-own': '1' },
      });
      assert.deepEqual(await run({ method: method.toLowerCase(), payload: { b: 2 } }), {
        statusCode: 200,
        headers: { 'content-type': 'application/json', 'x-own': '1' },
        data: { a: 1 },
      });
      assert.equal(seen[0]?.headers.authorization, 'Bearer token');
      const takes = method === 'PUT' || method === 'POST';
      assert.equal(seen[0]?.body ?? null, takes ? '{"data":{"b":2}}' : null);
      assert.equal(seen[0]?.headers['content-type'], takes ? 'application/json' : undefined);
    });

  it('returns the whole body if it has no data, text if it is not JSON, and null if it is empty', async () => {
    const json = { 'content-type': 'application/json' };
    const csv = { 'content-type': 'text/csv' };
    const expected: [string, Record<string, string>, unknown][] = [
      ['{"ok":true}', json, { ok: true }],
      ['[1]', json, [1]],
      ['true', json, true],
      ['{"data":null}', json, null],
      ['a;b\n1;2\n', csv, 'a;b\n1;2\n'],
      ['<p>x', { 'content-type': 'text/html' }, '<p>x'],
      ['', csv, null],
      ['', json, null],
      ['{"data":1}', {}, 1],
    ];
    for (const [body, headers, data] of expected) {
      answer(200, body, { headers });
      assert.deepEqual((await run()).data, data, body);
    }
  });

  it('reads again after truncated JSON', async () => {
    answer(200, '{"data":{"a"', { headers: { 'content-type': 'application/json' } });
    answer(200, '{"data":{"a":1}}', { headers: { 'content-type': 'application/json' } });
    assert.deepEqual((await clock.during(5000, run())).data, { a: 1 });
    answer(200, '{"data":{"a"', { method: 'POST', headers: { 'content-type': 'application/vnd.api+json' } });
    await fails(run({ method: 'POST' }), 'SERVICE_ERROR', 200);
  });

  it('returns no headers with credentials', async () => {
    const headers = { 'Set-Cookie': 'session=secret', Authorization: 'Bearer secret', 'X-Page': '1' };
    answer(200, '{}', { headers });
    assert.deepEqual((await run()).headers, { 'x-page': '1' });
  });

  for (const [status, code] of [
    [400, 'SERVICE_ERROR'],
    [302, 'SERVICE_ERROR'],
    [403, 'FORBIDDEN'],
    [404, 'NOT_FOUND'],
    [409, 'NOT_ACCEPTED'],
  ] as const)
    it(`reports ${status} as ${code}, with the service’s own code`, async () => {
      answer(status, '{"errors":[{"code":"theirWord"}]}', { headers: { location: 'https://evil.example/' } });
      await assert.rejects(run(), { code, statusCode: status, serviceCode: 'theirWord' });
    });

  it('waits for a 429, up to a minute', async () => {
    answer(429, '', { method: 'DELETE', headers: { 'retry-after': '50' } });
    answer(204, '', { method: 'DELETE' });
    assert.equal((await clock.during(50_000, run({ method: 'DELETE' }))).statusCode, 204);
    answer(429, '', { headers: { 'retry-after': '61' } });
    await fails(run(), 'RATE_LIMITED', 429);
  });
});
