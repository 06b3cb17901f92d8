import assert from 'node:assert/strict';
import type { OutgoingHttpHeaders } from 'node:http';
import { Bench, call, form, REDIRECT, SCOPE, type Wire } from './support';

const JSON_HEADERS = { 'content-type': 'application/json' };

function assertErrors(json: Wire, status: number, code: string): void {
  const [error] = json.errors;
  assert.deepEqual(Object.keys(json), ['errors']);
  assert.equal(error.code, code);
  assert.equal(error.http_status, String(status));
  assert.match(error.id, /^[0-9a-f-]{36}$/);
  assert.ok(error.title.length > 0);
}

describe('simulator: as strict as the interface', () => {
  let bench: Bench;
  let jobId: string;
  before(async () => {
    bench = await Bench.start();
    jobId = await bench.upload(';TIME:600\n');
  });
  after(() => bench.simulator.close());

  describe('API', () => {
    const good = { job_name: 'part.gcode', file_size: 10, content_type: 'text/plain' };
    const NAMES = [
      ...['a', '.g', ' part.gcode', '..part.gcode', 'a/b.gcode', 'a\\b.gcode', 'a:b.gcode', 'a*.gcode', 'a?.gcode'],
      ...[
        'a".gcode',
        '<a.gcode',
        'a>.gcode',
        'a|b.gcode',
        'CON.gcode',
        'com1.gcode',
        'part',
        `${'a'.repeat(250)}.gcode`,
      ],
    ];
    const uploads: [what: string, body: unknown, code: string, field?: string][] = [
      ['no envelope', good, 'requiredField', 'data'],
      ['two envelopes', { data: good, more: 1 }, 'unexpectedField', 'more'],
      ['a list as data', { data: [good] }, 'invalidValue', 'data'],
      ['no name', { data: { ...good, job_name: undefined } }, 'requiredField', 'job_name'],
      ['no size', { data: { ...good, file_size: undefined } }, 'requiredField', 'file_size'],
      ['no type', { data: { ...good, content_type: undefined } }, 'requiredField', 'content_type'],
      ['an unknown field', { data: { ...good, file_name: 'a.gcode' } }, 'unexpectedField', 'file_name'],
      ['a size as text', { data: { ...good, file_size: '10' } }, 'invalidValue', 'file_size'],
      ['an empty file', { data: { ...good, file_size: 0 } }, 'invalidValue', 'file_size'],
      ['more than 1 GiB', { data: { ...good, file_size: 1073741825 } }, 'invalidValue', 'file_size'],
      ['half a byte', { data: { ...good, file_size: 1.5 } }, 'invalidValue', 'file_size'],
      ['a mesh', { data: { ...good, content_type: 'model/stl' } }, 'invalidValue', 'content_type'],
      ['a charset', { data: { ...good, content_type: 'text/plain; charset=utf-8' } }, 'invalidValue', 'content_type'],
      ['an origin with a path', { data: { ...good, origin: 'https://example.org/' } }, 'invalidValue', 'origin'],
      ['an empty project', { data: { ...good, library_project_id: '' } }, 'invalidValue', 'library_project_id'],
      ...NAMES.map((name): [string, unknown, string, string] => [
        `the name ${name.slice(0, 20)}`,
        { data: { ...good, job_name: name } },
        'invalidValue',
        'job_name',
      ]),
    ];
    for (const [what, body, code, field] of uploads)
      it(`registers no upload with ${what}`, async () => {
        const reply = await bench.api('PUT', '/slicer/v1/jobs/upload', body);
        assert.equal(reply.status, 400);
        assertErrors(reply.json, 400, code);
        assert.equal(reply.json.errors[0].meta.field_name, field);
      });

    it('accepts valid names and origins', async () => {
      for (const name of ['a.g', 'Ünï çødé.gcode.gz', 'console.gcode', 'a..b.ufp', `${'a'.repeat(249)}.gcode`])
        assert.equal((await bench.register(Buffer.from('x'), { job_name: name })).status, 'uploading', name);
      const record = await bench.register(Buffer.from('x'), { origin: 'https://example.org:8443' });
      assert.equal(record.origin, 'https://example.org:8443');
      assert.match(record.job_id, /^[\w-]+={0,3}$/);
      assert.equal(record.job_id.length, 44);
    });

    const UPLOAD = 'PUT /slicer/v1/jobs/upload';
    const NONE = `${'a'.repeat(43)}=`;
    const json = JSON_HEADERS['content-type'];
    const authorization = (value: string | undefined) => ({ authorization: value });
    /** What differs from a correct request, the request, and the refusal; `TOKEN` stands for the valid token. */
    const calls: [what: string, call: string, status: number, code: string, OutgoingHttpHeaders?, body?: string][] = [
      ['no token', 'GET /connect/v1/clusters', 401, 'noBearerToken', authorization(undefined)],
      ['an unknown token', 'GET /connect/v1/clusters', 401, 'invalidToken', authorization('Bearer abc')],
      ['a forged token', 'GET /connect/v1/clusters', 401, 'invalidToken', authorization('Bearer TOKENx')],
      ['another scheme', 'GET /connect/v1/clusters', 401, 'invalidToken', authorization('Token TOKEN')],
      ['a path that is none', 'GET /connect/v1/printers', 404, 'recordNotFound'],
      ['a path that is no text', 'GET /connect/v1/clusters/%zz', 404, 'recordNotFound'],
      ['a slash too many', 'GET /connect/v1//clusters', 404, 'recordNotFound'],
      ['POST to register', 'POST /slicer/v1/jobs/upload', 405, 'methodNotAllowed', { 'content-type': json }, '{}'],
      ['PUT to print', 'PUT /connect/v1/clusters/CLUSTER/print/JOB', 405, 'methodNotAllowed'],
      ['a body that is no JSON', UPLOAD, 400, 'invalidJson', { 'content-type': json }, '{'],
      ['a form', UPLOAD, 415, 'unsupportedMediaType', form({}).headers ?? {}, 'a=b'],
      ['a body without type', UPLOAD, 415, 'unsupportedMediaType', {}, '{"data":{}}'],
      ['no body', UPLOAD, 400, 'requiredField'],
      ['an unknown job', `GET /slicer/v1/jobs/${NONE}`, 404, 'recordNotFound'],
      ['an unknown cluster', `GET /connect/v1/clusters/${NONE}/status`, 404, 'recordNotFound'],
      ['a page 0', 'GET /connect/v1/clusters?page=0', 400, 'invalidValue'],
      ['the stored job for its printing', 'GET /connect/v1/clusters/CLUSTER/print_jobs/JOB', 404, 'recordNotFound'],
    ];
    for (const [what, called, status, code, changes = {}, body] of calls)
      it(`refuses ${what}`, async () => {
        const filled = called.replace('CLUSTER', bench.clusterId()).replace('JOB', jobId);
        const [method = '', path = ''] = filled.split(' ');
        const given = Object.entries({ authorization: 'Bearer TOKEN', ...changes }).filter(([, value]) => value);
        const headers = Object.fromEntries(
          given.map(([key, value]) => [key, String(value).replace('TOKEN', bench.token)]),
        );
        const reply = await call(bench.simulator.apiUrl + path, { method, headers, ...(body && { body }) });
        assert.equal(reply.status, status);
        assertErrors(reply.json, status, code);
        if (status === 405) assert.ok(reply.headers.allow);
      });

    it('accepts a static API token', async () => {
      const token = bench.simulator.users[0]!.apiToken;
      assert.match(token, /^[\w-]+\|\w+$/);
      const headers = { authorization: `Bearer ${token}` };
      const reply = await call(`${bench.simulator.apiUrl}/connect/v1/clusters`, { headers });
      assert.equal(reply.json.data.length, 5);
    });

    it("shows only the contents of the token's workspace", async () => {
      const teacher = bench.simulator.users[1]!;
      const headers = { authorization: `Bearer ${teacher.apiToken}` };
      const { json } = await call(`${bench.simulator.apiUrl}/connect/v1/clusters`, { headers });
      assert.equal(json.data.length, 1);
      assert.equal(json.data[0].organization_id, teacher.organizations[0]!.organizationId);
      for (const path of [`/connect/v1/clusters/${bench.clusterId()}`, `/slicer/v1/jobs/${jobId}`])
        assert.equal((await call(bench.simulator.apiUrl + path, { headers })).status, 404);
    });

    it('paginates lists by absolute links', async () => {
      const first = (await bench.api('GET', '/connect/v1/clusters?limit=3')).json;
      assert.equal(first.data.length, 3);
      assert.deepEqual(first.meta, { page: { total_count: 5, total_pages: 2 }, limit_reached: false });
      assert.equal('prev' in first.links, false);
      const next = new URL(first.links.next);
      assert.equal(next.origin, bench.simulator.apiUrl);
      const second = (await bench.api('GET', next.pathname + next.search)).json;
      assert.equal(second.data.length, 2);
      assert.equal('next' in second.links, false);
    });

    it('answers the uptime call without a token', async () => {
      const { apiUrl, authUrl } = bench.simulator;
      for (const url of [`${apiUrl}/connect/v1`, `${apiUrl}/slicer/v1`, `${authUrl}/`])
        assert.equal((await call(url)).json.data.ok, true);
    });
  });

  describe('print', () => {
    const path = (number = 1): string => `/connect/v1/clusters/${bench.clusterId(number)}/print/${jobId}`;
    afterEach(() => {
      const { world } = bench.simulator;
      world.setOnline(2, true);
      world.setEnabled(2, true);
    });

    it('answers ids, status and time, and creates a new print for each call', async () => {
      const [one, two] = [await bench.api('POST', path()), await bench.api('POST', path(), { data: {} })];
      assert.deepEqual(Object.keys(one.json.data), ['job_id', 'job_instance_uuid', 'status', 'generated_time']);
      assert.equal(one.json.data.status, 'queued');
      assert.equal(one.json.data.job_id, two.json.data.job_id);
      assert.notEqual(one.json.data.job_instance_uuid, two.json.data.job_instance_uuid);
      const job = `print_jobs/${one.json.data.job_instance_uuid}`;
      const { json } = await bench.api('GET', `/connect/v1/clusters/${bench.clusterId()}/${job}`);
      assert.equal(json.data.source.job_id, jobId);
      assert.equal(json.data.cloud_job_id, jobId);
    });

    it('refuses a cluster that is offline', async () => {
      bench.simulator.world.setOnline(2, false);
      assertErrors((await bench.api('POST', path(2))).json, 409, 'printerInactive');
    });

    it('refuses printers without the queue capability', async () => {
      bench.simulator.world.setEnabled(2, false);
      assertErrors((await bench.api('POST', path(2))).json, 409, 'printerNotAcceptingJobs');
    });

    it('refuses a file before its upload', async () => {
      const { job_id: unsent } = await bench.register(Buffer.from('abc'));
      const reply = await bench.api('POST', `/connect/v1/clusters/${bench.clusterId()}/print/${unsent}`);
      assertErrors(reply.json, 409, 'jobNotUploaded');
    });

    it("refuses unknown fields and a start_now that isn't a boolean", async () => {
      assertErrors((await bench.api('POST', path(), { data: { summary: 'x' } })).json, 400, 'unexpectedField');
      assertErrors((await bench.api('POST', path(), { data: { start_now: 'yes' } })).json, 400, 'invalidValue');
    });

    it('refuses a busy printer without a queue, and a full queue', async () => {
      const { world } = bench.simulator;
      world.setCapabilities(2, ['status']);
      assert.equal((await bench.api('POST', path(2))).status, 200);
      assertErrors((await bench.api('POST', path(2))).json, 409, 'printerNotAcceptingJobs');
      world.setCapabilities(2, []);
      for (let waiting = 0; waiting < 10; waiting++) assert.equal((await bench.api('POST', path(2))).status, 200);
      assertErrors((await bench.api('POST', path(2))).json, 409, 'printerQueueFull');
    });
  });

  describe('storage', () => {
    const body = Buffer.from('G28\nG1 X1\n');
    const refusals: [what: string, headers: OutgoingHttpHeaders, status: number, code: string][] = [
      ['another Content-Type', { 'content-type': 'text/plain; charset=utf-8' }, 403, 'SignatureDoesNotMatch'],
      ['another Content-Length', { 'content-length': body.length - 1 }, 403, 'SignatureDoesNotMatch'],
      ['another Origin', { origin: 'https://example.com' }, 403, 'SignatureDoesNotMatch'],
      ['Content-Encoding', { 'content-encoding': 'gzip' }, 400, 'InvalidRequest'],
      ['a token', { authorization: 'Bearer x' }, 400, 'InvalidArgument'],
    ];
    for (const [what, headers, status, code] of refusals)
      it(`refuses ${what}, and accepts the correct request afterwards`, async () => {
        const record = await bench.register(body, { origin: 'https://example.org' });
        const sent = headers['content-length'] === undefined ? body : body.subarray(0, -1);
        const reply = await bench.put(record, sent, { origin: 'https://example.org', ...headers });
        assert.equal(reply.status, status);
        assert.match(String(reply.headers['content-type']), /xml/);
        assert.match(reply.text, new RegExp(`<Code>${code}</Code>`));
        assert.equal((await bench.put(record, body, { origin: 'https://example.org' })).status, 200);
      });

    it('refuses an unannounced Origin, and a missing announced one', async () => {
      const without = await bench.register(body);
      assert.equal((await bench.put(without, body, { origin: 'https://example.org' })).status, 403);
      const given = await bench.register(body, { origin: 'https://example.org' });
      assert.equal((await bench.put(given, body)).status, 403);
    });

    it('refuses a chunked body', async () => {
      const record = await bench.register(body);
      const headers = { 'content-type': 'text/plain', 'transfer-encoding': 'chunked' };
      assert.equal((await call(record.upload_url, { method: 'PUT', headers, body })).status, 411);
    });

    it('accepts each address once', async () => {
      const record = await bench.register(body);
      assert.equal((await bench.put(record, body)).status, 200);
      assert.match((await bench.put(record, body)).text, /AccessDenied/);
    });

    it('refuses forged and expired addresses', async () => {
      const record = await bench.register(body);
      const forged = { ...record, upload_url: record.upload_url.replace('expires=', 'expires=1') };
      assert.equal((await bench.put(forged, body)).status, 403);
      bench.pass(901);
      assert.match((await bench.put(record, body)).text, /expired/);
    });

    it('returns the file at its download_url, without a token', async () => {
      const id = await bench.upload(body);
      const { json } = await bench.api('GET', `/slicer/v1/jobs/${id}`);
      assert.equal(json.data.status, 'uploaded');
      assert.equal('upload_url' in json.data, false);
      const reply = await call(json.data.download_url);
      assert.equal(reply.text, body.toString());
      assert.equal(reply.headers['content-type'], 'text/plain');
      const headers = { authorization: `Bearer ${bench.token}` };
      assert.equal((await call(json.data.download_url, { headers })).status, 400);
    });

    it('reports uploaded only after a slow confirmation', async () => {
      const slow = await Bench.start({ uploadConfirmDelay: 3000 });
      try {
        const id = await slow.upload(body);
        const status = async (): Promise<string> => (await slow.api('GET', `/slicer/v1/jobs/${id}`)).json.data.status;
        assert.equal(await status(), 'uploading');
        slow.pass(3);
        assert.equal(await status(), 'uploaded');
      } finally {
        await slow.simulator.close();
      }
    });
  });

  describe('token endpoint', () => {
    const grant = (): string => {
      const [user] = bench.simulator.users;
      const { organizationId } = user!.organizations[0]!;
      const about = { organizationId, redirectUri: REDIRECT, scope: SCOPE };
      return bench.simulator.tokens.grant({ userId: user!.userId, ...about });
    };
    const fields = (code: string): Record<string, string> => ({
      ...{ client_id: 'simulator', client_secret: 'simulator-secret', redirect_uri: REDIRECT },
      ...{ grant_type: 'authorization_code', scope: SCOPE, code },
    });
    const url = (): string => `${bench.simulator.authUrl}/token`;

    for (const name of ['client_id', 'client_secret', 'redirect_uri', 'grant_type', 'scope', 'code'])
      it(`refuses a request without ${name}`, async () => {
        const { [name]: _, ...rest } = fields(grant());
        const reply = await call(url(), form(rest));
        assert.equal(reply.status, 400);
        assert.deepEqual(reply.json, { error: 'invalid_request', error_description: `${name} is missing.` });
      });

    const wrong: [what: string, values: Record<string, string>, status: number, error: string][] = [
      ['an unknown client', { client_id: 'other' }, 401, 'invalid_client'],
      ['a wrong secret', { client_secret: 'other' }, 401, 'invalid_client'],
      ['another redirect_uri', { redirect_uri: `${REDIRECT}/` }, 400, 'invalid_grant'],
      ['an unknown code', { code: 'other' }, 400, 'invalid_grant'],
      ['a wider scope', { scope: `${SCOPE} report.read` }, 400, 'invalid_scope'],
      ['another grant type', { grant_type: 'password' }, 400, 'unsupported_grant_type'],
    ];
    for (const [what, values, status, error] of wrong)
      it(`refuses ${what}`, async () => {
        const reply = await call(url(), form({ ...fields(grant()), ...values }));
        assert.equal(reply.status, status);
        assert.equal(reply.json.error, error);
      });

    it('accepts only a form with unique fields', async () => {
      const reply = await call(url(), { method: 'POST', headers: JSON_HEADERS, body: JSON.stringify(fields(grant())) });
      assert.equal(reply.json.error, 'invalid_request');
      const { body, ...request } = form(fields(grant()));
      assert.equal((await call(url(), { ...request, body: `${String(body)}&scope=x` })).json.error, 'invalid_request');
      assert.equal((await call(`${url()}?code=x`)).status, 405);
    });
  });
});
