import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MockAgent } from 'undici';
import { readSettings } from '../../../lib/account/settings';
import { AuthenticatedApiClient } from '../../../lib/account/authenticated-api-client';
import { Http } from '../../../lib/http/http';
import { PrintingError } from '../../../lib/service/errors';
import { Deadline } from '../../../lib/time/deadline';
import type { Credentials } from '../../../lib/sign-in/credentials';
import { ManualClock, settle } from '../../helpers/manual-clock';
import { phrase } from '../../../lib/words/sentence';

const API = 'https://api.example';
const AUTH = 'https://auth.example';
const CLUSTERS = '/connect/v1/clusters';

describe('account/authenticated-api-client', () => {
  let agent: MockAgent;
  let clock: ManualClock;
  let bearer: string;
  let renewals: string[];
  let taken: string[];
  let service: AuthenticatedApiClient;

  const credentials = {
    bearer: () => Promise.resolve(bearer),
    refresh: (refused: string) => {
      renewals.push(refused);
      bearer = `${refused}+`;
      return Promise.resolve(bearer);
    },
    accepted: (token: string) => taken.push(token),
  } as unknown as Credentials;
  const answer = (status: number, body: unknown, { method = 'GET', path = CLUSTERS, headers = {} } = {}) =>
    agent
      .get(API)
      .intercept({ method, path })
      .reply(status, typeof body === 'string' ? body : JSON.stringify(body), { headers });
  const break_ = (code: string, method = 'GET', path = CLUSTERS) =>
    agent
      .get(API)
      .intercept({ method, path })
      .replyWithError(Object.assign(new Error('broken'), { code }));
  const refusal = (code: string) => ({ errors: [{ id: '1', code, http_status: '400', title: 'No.' }] });
  const clusters = (options = {}) =>
    service.call('clusters', { what: phrase`the clusters`, deadline: within(), ...options });
  const print = (options = {}) =>
    service.call('print', {
      ids: { cluster_id: 'c', job_id: 'j' },
      what: phrase`the print`,
      data: {},
      deadline: within(),
      ...options,
    });
  const within = (ms = Infinity, signal?: AbortSignal) => new Deadline(clock, { ms, parent: signal });
  const PRINT = { method: 'POST', path: '/connect/v1/clusters/c/print/j' };

  beforeEach(() => {
    agent = new MockAgent();
    agent.disableNetConnect();
    clock = new ManualClock();
    bearer = 'token';
    renewals = [];
    taken = [];
    const settings = readSettings({ apiUrl: API, authUrl: AUTH, clientId: 'id', clientSecret: 's' });
    service = new AuthenticatedApiClient({ settings, http: new Http(agent), clock, credentials });
  });
  afterEach(() => agent.close());

  it('sends the bearer and returns the data', async () => {
    let seen: Record<string, string> = {};
    agent
      .get(API)
      .intercept({ path: CLUSTERS })
      .reply((options) => {
        seen = options.headers as Record<string, string>;
        return { statusCode: 200, data: '{"data":[1],"meta":{}}' };
      });
    const size = { bytes: 22, elements: 4 };
    assert.deepEqual(await clusters(), { status: 200, data: [1], body: { data: [1], meta: {} }, size });
    assert.equal(seen.authorization, 'Bearer token');
    assert.deepEqual(taken, ['token']);
  });

  it('counts the bearer as taken only after an answer of the service itself', async () => {
    const page = '<!doctype html><html>Sign in to the network</html>';
    for (const [status, body] of [
      [200, page],
      [302, ''],
      [404, page],
      [403, 'No.'],
      [429, { errors: [] }],
      [500, { errors: [] }],
    ] as const) {
      answer(status, body, PRINT);
      await assert.rejects(print({ deadline: within(1_000) }));
      assert.deepEqual(taken, [], String(status));
    }
    answer(404, refusal('notFound'), PRINT);
    await assert.rejects(print());
    answer(204, '', PRINT);
    await print();
    assert.deepEqual(taken, ['token', 'token']);
  });

  it('puts the body of PUT and POST into the data envelope', async () => {
    let seen = '';
    agent
      .get(API)
      .intercept(PRINT)
      .reply((options) => {
        seen = String(options.body);
        return { statusCode: 200, data: '{"data":{}}' };
      });
    await print({ data: { start_now: false } });
    assert.equal(seen, '{"data":{"start_now":false}}');
  });

  it('accepts an answer without an envelope, and an empty one', async () => {
    answer(200, { cluster_id: 'c' });
    answer(200, [1]);
    answer(204, '');
    assert.deepEqual((await clusters()).data, { cluster_id: 'c' });
    assert.deepEqual((await clusters()).data, [1]);
    assert.deepEqual(await clusters(), { status: 204, data: null, body: null });
  });

  it('takes a body without data for what was asked for only if it has an id of it', async () => {
    for (const body of [{ meta: {} }, { message: 'OK', status: 'ok' }, { job_id: 'j' }, {}]) {
      answer(200, body);
      const { data, body: whole } = await clusters();
      assert.deepEqual([data, whole], [null, body]);
    }
    answer(200, { message: 'OK', status: 'ok' }, PRINT);
    assert.equal((await print()).data, null);
  });

  it('reports an answer of errors alone as SERVICE_ERROR of an unknown outcome, although its status is 200', async () => {
    for (const body of [
      { ...refusal('recordNotFound') },
      { ...refusal('recordNotFound'), data: null },
      { ...refusal('recordNotFound'), data: [] },
    ]) {
      answer(200, body, PRINT);
      await assert.rejects(print(), {
        code: 'SERVICE_ERROR',
        outcome: 'unknown',
        statusCode: 200,
        serviceCode: 'recordNotFound',
        message: /answered the print with something unexpected: .*recordNotFound: No\.$/,
      });
    }
    bearer = 'secret';
    answer(200, { errors: [{ title: `No ${bearer}.` }] }, PRINT);
    await assert.rejects(print(), { message: /The service says: No \(secret\)\.$/ });
    answer(200, { ...refusal('x'), data: { job_id: 'j' } }, PRINT);
    assert.deepEqual((await print()).data, { job_id: 'j' });
  });

  for (const [status, body] of [
    [401, ''],
    [401, refusal('noBearerToken')],
    [403, refusal('tokenExpired')],
    [403, refusal('invalidToken')],
  ] as const)
    it(`renews the token once after ${status} ${JSON.stringify(body)} and repeats the call, even a POST`, async () => {
      answer(status, body);
      answer(200, { data: 'ok' });
      answer(status, body, PRINT);
      answer(200, { data: 'printed' }, PRINT);
      assert.equal((await clusters()).data, 'ok');
      assert.equal((await print()).data, 'printed');
      assert.deepEqual(renewals, ['token', 'token+']);
    });

  it('renews again in the same call after a new token that has expired already', async () => {
    answer(401, '');
    answer(401, '');
    answer(200, { data: 'ok' });
    assert.equal((await clusters()).data, 'ok');
    assert.deepEqual(renewals, ['token', 'token+']);
    assert.deepEqual(taken, ['token++']);
  });

  it('renews at most twice per call', async () => {
    answer(401, '');
    answer(403, refusal('tokenExpired'));
    answer(401, '');
    await assert.rejects(clusters(), { code: 'NOT_SIGNED_IN' });
    assert.deepEqual(renewals, ['token', 'token+']);
  });

  it('renews nothing after another 403', async () => {
    answer(403, refusal('insufficientScope'));
    await assert.rejects(clusters(), { code: 'FORBIDDEN', statusCode: 403, serviceCode: 'insufficientScope' });
    assert.deepEqual(renewals, []);
  });

  for (const [status, code] of [
    [404, 'NOT_FOUND'],
    [409, 'NOT_ACCEPTED'],
    [400, 'SERVICE_ERROR'],
    [418, 'SERVICE_ERROR'],
    [302, 'SERVICE_ERROR'],
  ] as const)
    it(`reports ${status} as ${code} without a retry`, async () => {
      answer(status, refusal('x'), { headers: { location: 'https://elsewhere.example/' } });
      await assert.rejects(clusters(), { code, statusCode: status, outcome: 'refused' });
    });

  it('reports another web server’s page as a wrong host, and an unknown path as NOT_FOUND', async () => {
    answer(404, '<!DOCTYPE html>\n<html><h1>Not Found</h1></html>', { headers: { 'content-type': 'text/html' } });
    await assert.rejects(clusters(), {
      code: 'NOT_FOUND',
      statusCode: 404,
      message: /^https:\/\/api\.example does not answer like the service/,
    });
    answer(404, refusal('recordNotFound'));
    await assert.rejects(clusters(), { code: 'NOT_FOUND', message: /does not know the clusters/ });
    for (let n = 0; n < 4; n++) answer(200, '<html>Welcome</html>');
    await assert.rejects(clock.during(30_000, clusters()), {
      code: 'SERVICE_ERROR',
      message: /^https:\/\/api\.example does not answer like the service/,
    });
  });

  for (const [name, fail] of [
    ['a 500', () => answer(500, refusal('unexpectedError'))],
    ['a 503 of a proxy', () => answer(503, '<html>busy</html>')],
    ['a reset', () => break_('ECONNRESET')],
    ['no connection', () => break_('ECONNREFUSED')],
    ['an HTML page', () => answer(200, '<html>log in to the hotel</html>')],
    ['cut-off JSON', () => answer(200, '{"data":[{"clus')],
  ] as const) {
    it(`retries a read after ${name}`, async () => {
      fail();
      fail();
      fail();
      answer(200, { data: 'at last' });
      assert.equal((await clock.during(30_000, clusters())).data, 'at last');
    });

    it(`gives up a read after three retries: ${name}`, async () => {
      for (let n = 0; n < 4; n++) fail();
      await assert.rejects(clock.during(30_000, clusters()), (error: PrintingError) =>
        ['SERVICE_ERROR', 'NETWORK'].includes(error.code),
      );
      agent.assertNoPendingInterceptors();
    });
  }

  it('does not retry after an answer that is too large', async () => {
    answer(200, `[${'{},'.repeat(500_000)}1]`);
    answer(200, { data: 'another' });
    await assert.rejects(clusters(), { code: 'SERVICE_ERROR', outcome: 'refused', message: /larger than any/ });
    assert.equal(agent.pendingInterceptors().length, 1);
    assert.equal((await clusters()).data, 'another');
  });

  it('refuses a status of more than 2 MiB, but not another answer of that size', async () => {
    const data = { a: 'x'.repeat(2 * 1024 * 1024) };
    answer(200, { data }, { method: 'GET', path: '/connect/v1/clusters/c/status' });
    const options = { ids: { cluster_id: 'c' }, what: phrase`the printer`, deadline: within() };
    await assert.rejects(service.call('clusterStatus', options), { code: 'SERVICE_ERROR', message: /larger than any/ });
    answer(200, { data });
    assert.deepEqual((await clusters()).data, data);
  });

  it('never retries a POST', async () => {
    answer(503, '', PRINT);
    await assert.rejects(clock.during(60_000, print()), { code: 'SERVICE_ERROR', outcome: 'unknown' });
    break_('ECONNREFUSED', 'POST', PRINT.path);
    await assert.rejects(clock.during(60_000, print()), { code: 'NETWORK', outcome: 'not-sent' });
    answer(200, '<html>', PRINT);
    await assert.rejects(clock.during(60_000, print()), { code: 'SERVICE_ERROR', outcome: 'unknown' });
  });

  it('waits as a 429 requests, even before repeating a POST', async () => {
    answer(429, '', { ...PRINT, headers: { 'retry-after': '20' } });
    answer(200, { data: 'printed' }, PRINT);
    const work = print();
    await clock.advance(19_999);
    assert.equal(agent.pendingInterceptors().length, 1);
    assert.equal((await clock.during(1, work)).data, 'printed');
  });

  it('reads a date in Retry-After', async () => {
    answer(429, '', { headers: { 'retry-after': new Date(clock.now() + 5_000).toUTCString() } });
    answer(200, { data: 'ok' });
    assert.equal((await clock.during(5_000, clusters())).data, 'ok');
  });

  it('waits until the date that a 429 names, although its own clock is an hour behind', async () => {
    const answeredAt = clock.now() + 3_600_000;
    const headers = {
      'retry-after': new Date(answeredAt + 3_000).toUTCString(),
      date: new Date(answeredAt).toUTCString(),
    };
    answer(429, '', { headers });
    answer(200, { data: 'ok' });
    const call = clusters();
    await clock.advance(3_000);
    assert.equal((await call).data, 'ok');
  });

  it('does not wait for a 429 beyond its deadline, or longer than a minute', async () => {
    answer(429, '', { headers: { 'retry-after': '61' } });
    await assert.rejects(clusters(), { code: 'RATE_LIMITED', retryAfter: 61_000 });
    answer(429, '', { headers: { 'retry-after': '5' } });
    await assert.rejects(clusters({ deadline: within(4_000) }), { code: 'RATE_LIMITED' });
    answer(429, '', { headers: { 'retry-after': '61' } });
    answer(200, { data: 'ok' });
    assert.equal((await clock.during(61_000, clusters({ deadline: within(100_000) }))).data, 'ok');
  });

  it('rejects with the reason of its signal, even during a wait', async () => {
    answer(500, '');
    const controller = new AbortController();
    const work = clusters({ deadline: within(Infinity, controller.signal) });
    work.catch(() => undefined);
    await clock.advance(10);
    controller.abort(new PrintingError('TIMEOUT', phrase`Enough.`));
    await assert.rejects(work, { code: 'TIMEOUT' });
    assert.equal(clock.waiting, 0);
  });

  it('sends nothing, and ends at its deadline, while the database does not secure the lock', async () => {
    const lock = { secure: () => new Promise<never>(() => undefined) };
    await assert.rejects(clock.during(1_000, print({ deadline: within(1_000), underWay: within(1_000), lock })), {
      code: 'TIMEOUT',
      outcome: 'not-sent',
    });
  });

  it('omits URLs and tokens from its errors', async () => {
    answer(500, {
      errors: [{ code: 'x', title: 'see https://signed.example/?key=abc for more', id: '1', http_status: '500' }],
    });
    await assert.rejects(clock.during(0, clusters({ deadline: within(500) })), (error: Error) => {
      assert.ok(!/signed|abc|token/.test(error.message));
      return true;
    });
  });

  it('omits the token from its errors, wherever the service repeats it', async () => {
    bearer = '0c8b9c5c-1111-2222-3333-444455556666';
    const told = `Insufficient scope for access token: ${bearer}`;
    answer(403, { error: bearer, error_description: told });
    answer(400, { errors: [{ code: `no${bearer}`, title: `${'x'.repeat(100)} ${told} ${bearer}.` }] });
    for (let n = 0; n < 2; n++)
      await assert.rejects(clusters(), (error: PrintingError) => {
        assert.match(error.message, /Insufficient scope for access token: \(secret\)/);
        assert.ok(!`${error.message}${error.serviceCode}`.includes(bearer));
        return true;
      });
  });

  it('sends an override to the host that it names', async () => {
    const paths = '{"currentUser":"GET {auth_url}/me"}';
    const settings = readSettings({ apiUrl: API, authUrl: `${AUTH}/`, clientId: 'id', clientSecret: 's', paths });
    service = new AuthenticatedApiClient({ settings, http: new Http(agent), clock, credentials });
    agent.get(AUTH).intercept({ path: '/me' }).reply(200, '{"data":{"user_id":"u"}}');
    assert.deepEqual((await service.call('currentUser', { what: phrase`the user`, deadline: within() })).data, {
      user_id: 'u',
    });
  });

  it('requests uncompressed answers', async () => {
    let asked: Record<string, string> = {};
    agent
      .get(API)
      .intercept({ path: CLUSTERS })
      .reply(({ headers }) => {
        asked = headers as Record<string, string>;
        return { statusCode: 200, data: '{"data":[]}' };
      });
    await clusters();
    assert.equal(asked['accept-encoding'], 'identity');
  });

  it('aborts an answer that trickles on forever, and retries', async () => {
    let served = 0;
    const server = createServer((_, response) => {
      served++;
      response.writeHead(200, { 'content-type': 'application/json' });
      // Writes often and never ends.
      const drip = setInterval(() => response.write(' '), 5);
      response.on('close', () => clearInterval(drip));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const settings = readSettings({ apiUrl, authUrl: AUTH, clientId: 'id', clientSecret: 's' });
    const http = new Http();
    service = new AuthenticatedApiClient({ settings, http, clock, credentials });
    const failed = assert.rejects(clusters(), { code: 'NETWORK', outcome: 'unknown', message: /within a minute/ });
    while (served === 0) await settle(1);
    await clock.advance(60_000);
    await failed;
    assert.equal(clock.waiting, 0);
    await http.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('reports the status and the duration of each request that was sent', async () => {
    const ended: string[] = [];
    const settings = readSettings({ apiUrl: API, authUrl: AUTH, clientId: 'id', clientSecret: 's' });
    const meter = { requestEnded: (status: number | null, ms: number) => ended.push(`${status} ${ms}`) };
    service = new AuthenticatedApiClient({ settings, http: new Http(agent), clock, credentials, meter });
    answer(503, {});
    answer(200, { data: 1 });
    break_('ECONNRESET', 'POST', PRINT.path);
    await clock.during(30_000, clusters());
    await assert.rejects(print());
    const over = new Deadline(clock, { ms: 0 });
    await clock.advance(1);
    await assert.rejects(clusters({ deadline: over }));
    assert.deepEqual(
      ended.map((entry) => entry.split(' ')[0]),
      ['503', '200', 'null'],
    );
  });

  it('counts requests and failures', async () => {
    answer(200, { data: 1 });
    answer(404, '');
    await clusters();
    await clusters().catch(() => undefined);
    assert.deepEqual(service.counters(), { requests: 2, failures: 1, lastAnswer: new Date(clock.now()).toISOString() });
  });
});
