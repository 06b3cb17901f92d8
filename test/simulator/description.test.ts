import assert from 'node:assert/strict';
import { startSimulator } from '../../simulator/index';
import { Bench, call } from './support';

describe('simulator: OpenAPI description', () => {
  let bench: Bench;
  before(async () => (bench = await Bench.start({ paths: { printJobs: 'GET /connect/v1/jobs' } })));
  after(() => bench.simulator.close());

  const described = async (base: string, version = '') => bench.api('GET', `${base}/spec?version=${version}`);

  it('lists the calls below each base, with methods and parameters', async () => {
    const { status, json } = await described('/connect/v1');
    assert.equal(status, 200);
    assert.match(json.openapi, /^3\./);
    assert.deepEqual(json.servers, [{ url: '/connect/v1' }]);
    assert.deepEqual(Object.keys(json.paths['/clusters/{cluster_id}/maintenance']), ['put']);
    const [parameter] = json.paths['/clusters/{cluster_id}/status'].get.parameters;
    assert.deepEqual([parameter.name, parameter.in], ['cluster_id', 'path']);
    assert.equal(json.paths['/reports'], undefined);
    assert.ok((await described('/report/v1')).json.paths['/reports'].put);
    assert.deepEqual(Object.keys((await described('/slicer/v1')).json.paths['/jobs/{job_id}']), ['get', 'delete']);
  });

  it('describes the account host without its pages', async () => {
    const { authUrl } = bench.simulator;
    const { json } = await call(`${authUrl}/spec`, { headers: { authorization: `Bearer ${bench.token}` } });
    assert.deepEqual(Object.keys(json.paths), ['/token', '/users/current', '/check-token']);
  });

  it('is available as versions 2 and 3 only', async () => {
    const { json } = await described('/connect/v1', '2.0');
    assert.equal(json.swagger, '2.0');
    assert.equal(json.basePath, '/connect/v1');
    const other = await described('/connect/v1', '4');
    assert.equal(other.status, 400);
    assert.equal(other.json.errors[0].code, 'openApiVersionNotSupported');
  });

  it('requires a token and GET', async () => {
    assert.equal((await call(`${bench.simulator.apiUrl}/connect/v1/spec`)).status, 401);
    assert.equal((await bench.api('POST', '/connect/v1/spec', {})).status, 405);
  });

  it('follows relocated calls', async () => {
    const { paths } = (await described('/connect/v1')).json;
    assert.ok(paths['/jobs'].get);
    assert.equal(paths['/print_jobs'], undefined);
    assert.ok(Array.isArray((await bench.api('GET', '/connect/v1/jobs')).json.data));
    assert.equal((await bench.api('GET', '/connect/v1/print_jobs')).status, 404);
  });

  for (const [name, place] of [
    ['nothing', 'GET /x'],
    ['uptime', 'GET /x'],
    ['printJobs', 'PATCH /x'],
    ['printJobs', '/x'],
    ['printJobs', 'GET /x/{id}'],
    ['getReport', 'GET /report/v1/reports'],
  ] as const)
    it(`refuses to relocate ${name} to ${place}`, async () => {
      await assert.rejects(startSimulator({ paths: { [name]: place } }), TypeError);
    });
});
