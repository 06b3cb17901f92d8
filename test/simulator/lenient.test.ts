import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { Simulator } from '../../simulator/index';
import { Bench, call, form, REDIRECT, SCOPE, type Reply, type Wire } from './support';

const CLIENT = { id: 'registered', secret: 'its-secret', redirectUris: [REDIRECT] };
const LOCAL = 'http://localhost:32118/callback';
/** A verifier whose challenge has both characters that differ between the alphabets. */
const VERIFIER = Array.from({ length: 1000 }, (_, number) => `verifier-${number}`).find((text) =>
  ['+', '/'].every((sign) => challengeOf(text).includes(sign)),
)!;

function challengeOf(verifier: string): string {
  return createHash('sha512').update(verifier).digest('base64');
}

describe('simulator: a lenient service', () => {
  let strict: Bench;
  let lenient: Bench;
  before(async () => {
    strict = await Bench.start({ autoApprove: true, client: CLIENT });
    lenient = await Bench.start({ autoApprove: true, client: CLIENT, lenient: true });
  });
  after(() => Promise.all([strict.simulator.close(), lenient.simulator.close()]));

  const authorize = ({ authUrl }: Simulator, values: Record<string, string> = {}): Promise<Reply> =>
    call(
      `${authUrl}/authorize?${String(
        new URLSearchParams({
          ...{ client_id: CLIENT.id, redirect_uri: REDIRECT, scope: SCOPE, state: 'a+/b==', response_type: 'code' },
          ...values,
        }),
      )}`,
    );
  const token = ({ authUrl }: Simulator, values: Record<string, string>): Promise<Reply> =>
    call(`${authUrl}/token`, form({ client_id: CLIENT.id, ...values }));
  /** Signs in with a challenge; returns the address that the browser was sent to. */
  const consent = async (simulator: Simulator, values: Record<string, string> = {}): Promise<URL> =>
    new URL((await authorize(simulator, values)).headers.location!);
  const pkce = { code_challenge: challengeOf(VERIFIER), code_challenge_method: 'S512' };
  const exchange = async (
    simulator: Simulator,
    values: Record<string, string> = {},
    challenge = pkce,
  ): Promise<Reply> =>
    token(simulator, {
      ...{ grant_type: 'authorization_code', redirect_uri: REDIRECT, scope: SCOPE, code_verifier: VERIFIER },
      code: (await consent(simulator, challenge)).searchParams.get('code')!,
      ...values,
    });

  for (const [what, secret] of [
    ['no client secret', {}],
    ['an empty client secret', { client_secret: '' }],
  ] as const)
    it(`signs in a public client with ${what}, in either alphabet of the challenge`, async () => {
      assert.equal((await exchange(strict.simulator, secret)).status, 400);
      const other = { ...pkce, code_challenge: challengeOf(VERIFIER).replaceAll('+', '_').replaceAll('/', '-') };
      for (const challenge of [pkce, other]) {
        const { status, json } = await exchange(lenient.simulator, secret, challenge);
        assert.equal(status, 200);
        for (const more of [{}, { redirect_uri: REDIRECT }, { scope: SCOPE }]) {
          const values = { grant_type: 'refresh_token', refresh_token: json.refresh_token, ...more };
          const refreshed = await token(lenient.simulator, values);
          assert.equal(refreshed.status, 200, JSON.stringify(more));
          json.refresh_token = refreshed.json.refresh_token;
        }
      }
    });

  it('does not do so without a challenge, with a wrong verifier, or with a wrong secret', async () => {
    const { simulator } = lenient;
    const code = (await consent(simulator)).searchParams.get('code')!;
    assert.equal((await exchange(simulator, { code })).json.error, 'invalid_client');
    assert.equal((await exchange(simulator, { code_verifier: 'x' })).json.error, 'invalid_grant');
    assert.equal((await exchange(simulator, { client_secret: 'x' })).json.error, 'invalid_client');
    assert.equal((await exchange(simulator, { redirect_uri: LOCAL })).json.error, 'invalid_grant');
  });

  it('redirects a registered client to any port of its machine', async () => {
    assert.equal((await authorize(strict.simulator, { redirect_uri: LOCAL })).status, 400);
    const { host, searchParams } = await consent(lenient.simulator, { redirect_uri: LOCAL });
    assert.deepEqual([host, searchParams.get('state')], ['localhost:32118', 'a+/b==']);
    for (const other of ['http://localhost/callback', 'http://localhost:1/else', 'http://example.org:80/callback'])
      assert.equal((await authorize(lenient.simulator, { redirect_uri: other })).status, 400, other);
  });

  const answers = async (method: string, path: string, data: unknown): Promise<number[]> => [
    (await strict.api(method, path, { data })).status,
    (await lenient.api(method, path, { data })).status,
  ];

  it('accepts the name of a job without extension, and the project files of slicers', async () => {
    const job = { job_name: 'part', file_size: 10, content_type: 'text/plain' };
    assert.deepEqual(await answers('PUT', '/slicer/v1/jobs/upload', job), [400, 200]);
    const file = { file_name: 'part.3mf', file_size: 10, content_type: 'application/vnd.slicer.project+3mf' };
    assert.deepEqual(await answers('PUT', '/slicer/v1/files/upload', file), [400, 200]);
  });

  it('accepts a report with the empty field that one client sends', async () => {
    const dates = { start_date: '2030-01-01T00:00:00Z', end_date: '2030-01-02T00:00:00Z', generated_time: null };
    const order = { cluster_ids: [strict.clusterId()], report_type: 'print_jobs', ...dates };
    assert.deepEqual(await answers('PUT', '/report/v1/reports', order), [400, 201]);
  });

  it('takes the host of a printer for its host printer in an action, whatever the brand', async () => {
    for (const number of [1, 4, 5]) {
      const { clusterId, hostGuid } = lenient.simulator.world.cluster(number);
      const path = `/connect/v1/clusters/${clusterId}/printers/${hostGuid}/action`;
      assert.deepEqual(await answers('POST', `${path}/get_webcam_snapshot`, {}), [404, 201]);
      const { json } = await lenient.api('POST', `${path}/rename`, { data: { name: `Renamed ${number}` } });
      lenient.pass(1);
      assert.equal((await lenient.actionStatus(json.data.action_id, number)).status, 'success');
      const names = (await lenient.status(number)).printers.map((printer: Wire) => printer.friendly_name);
      assert.equal(names[0], `Renamed ${number}`);
      assert.equal(new Set(names).size, names.length);
    }
  });

  it('lists the clusters under the path that one client uses', async () => {
    const path = '/connect/v1/cluster';
    assert.equal((await strict.api('GET', path)).status, 404);
    const { data, meta } = (await lenient.api('GET', `${path}?limit=2`)).json;
    assert.deepEqual([data.length, data[0].cluster_id, meta.page.total_count], [2, lenient.clusterId(), 5]);
  });

  it('is still strict about everything else', async () => {
    const job = { job_name: 'a:b', file_size: 10, content_type: 'text/plain' };
    assert.deepEqual(await answers('PUT', '/slicer/v1/jobs/upload', job), [400, 400]);
    assert.deepEqual(await answers('PUT', '/slicer/v1/projects', { display_name: 'x', color: 'red' }), [400, 400]);
  });
});

describe('simulator: the prefix of the storage', () => {
  it('moves the calls of storage and library, with their description', async () => {
    const bench = await Bench.start({ storagePath: '/store/v2' });
    try {
      const data = { job_name: 'part.gcode', file_size: 3, content_type: 'text/plain' };
      assert.equal((await bench.api('PUT', '/store/v2/jobs/upload', { data })).status, 200);
      for (const path of ['jobs', 'projects', 'feature_budgets']) {
        assert.equal((await bench.api('GET', `/store/v2/${path}`)).status, 200, path);
        assert.equal((await bench.api('GET', `/slicer/v1/${path}`)).status, 404, path);
      }
      assert.equal((await call(`${bench.simulator.apiUrl}/store/v2`)).json.data.ok, true);
      assert.ok((await bench.api('GET', '/store/v2/spec')).json.paths['/jobs/upload'].put);
    } finally {
      await bench.simulator.close();
    }
  });

  for (const storagePath of ['', '/', 'store', '/store/', '/a b', '/connect/v1', '/{x}'])
    it(`can not be "${storagePath}"`, async () => {
      await assert.rejects(Bench.start({ storagePath }), TypeError);
    });
});
