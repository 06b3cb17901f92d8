import assert from 'node:assert/strict';
import { callInUse, compare, describedCalls } from '../../../lib/connection/paths-check';
import type { Overridable } from '../../../lib/rules/paths';
import { systemClock } from '../../../lib/time/clock';
import { Turns } from '../../../lib/time/concurrency';

type Paths = Record<string, unknown>;
const call = {};

const described = (document: unknown, base: string, host: 'api' | 'auth' = 'api') =>
  describedCalls(document, host, base, new Turns(systemClock));

async function said(name: Overridable, base: string, paths: Paths, { overrides = {}, about = {} } = {}) {
  const host = base === '' ? 'auth' : 'api';
  const calls = await described({ openapi: '3.0.0', ...about, paths }, base, host);
  const result = compare(name, { overrides, storagePath: '/slicer/v1' }, calls ?? []);
  return result === callInUse(name, overrides) ? 'same' : (result ?? 'none');
}

describe('connection/compare', () => {
  describe('the call in use', () => {
    const there: Paths = { '/print_jobs': { get: call } };
    for (const [what, about, paths] of [
      ['below the description’s own path', {}, there],
      ['below a server', { servers: [{ url: 'https://h/connect/v1/' }] }, there],
      ['below a server without a host', { servers: [{ url: '/connect/v1' }] }, there],
      ['below a server behind a proxy', { servers: [{ url: 'http://pod:80/' }] }, there],
      ['below a basePath', { swagger: '2.0', basePath: '/connect/v1' }, there],
      ['by its whole path', { servers: [{ url: '/' }] }, { '/connect/v1/print_jobs': { get: call } }],
    ] as const)
      it(`finds the call in use ${what}`, async () =>
        assert.equal(await said('printJobs', '/connect/v1', paths, { about }), 'same'));

    it('finds the call in use with any names of parameters', async () => {
      const paths = { '/clusters/{id}/action_status/{uuid}': { get: call } };
      assert.equal(await said('actionStatus', '/connect/v1', paths), 'same');
    });

    it('finds the call in use on the account host, and in the storage', async () => {
      assert.equal(await said('currentUser', '', { '/users/current': { get: call } }), 'same');
      assert.equal(await said('deleteJob', '/slicer/v1', { '/jobs/{id}': { delete: call } }), 'same');
    });

    it('finds the call of an override', async () => {
      const overrides = { printJobs: 'GET /connect/v1/all_jobs' };
      assert.equal(await said('printJobs', '/connect/v1', { '/all_jobs': { get: call } }, { overrides }), 'same');
    });
  });

  describe('a similar call', () => {
    for (const [name, base, path, method, wanted] of [
      ['printJobs', '/connect/v1', '/printJobs', 'get', 'GET /connect/v1/printJobs'],
      ['printJobs', '/connect/v1', '/jobs', 'get', 'GET /connect/v1/jobs'],
      [
        ...(['actionStatus', '/connect/v1', '/clusters/{clusterId}/actions/{id}/status', 'get'] as const),
        'GET /connect/v1/clusters/{cluster_id}/actions/{action_id}/status',
      ],
      [
        ...(['actionStatus', '/connect/v1', '/action-status/{action_id}/{cluster_id}', 'get'] as const),
        'GET /connect/v1/action-status/{action_id}/{cluster_id}',
      ],
      ['createReport', '/report/v1', '/reports', 'post', 'POST /report/v1/reports'],
      ['deleteFile', '/slicer/v1', '/file/{file}', 'delete', 'DELETE {storage}/file/{file_id}'],
      ['currentUser', '', '/current_user', 'get', 'GET {auth_url}/current_user'],
      [
        ...([
          'printerAction',
          '/connect/v1',
          '/clusters/{c}/printer/{cluster_printer_id}/actions/{a}',
          'post',
        ] as const),
        'POST /connect/v1/clusters/{cluster_id}/printer/{printer_id}/actions/{action}',
      ],
    ] as const)
      it(`suggests ${wanted} for ${name}`, async () => {
        assert.equal(await said(name, base, { [path]: { [method]: call } }), wanted);
      });

    it('suggests a call even if an undescribed override is in use', async () => {
      const overrides = { printJobs: 'GET /connect/v1/x' };
      assert.equal(
        await said('printJobs', '/connect/v1', { '/print_jobs': { get: call } }, { overrides }),
        'GET /connect/v1/print_jobs',
      );
    });
  });

  describe('an unsuitable call', () => {
    for (const [why, name, base, paths] of [
      ['for an empty description', 'printJobs', '/connect/v1', {}],
      [
        'that changes something, for a call that reads',
        'printJobs',
        '/connect/v1',
        { '/jobs': { post: call, delete: call } },
      ],
      [
        'that creates something, for a call that deletes',
        'deleteJob',
        '/slicer/v1',
        { '/jobs/{job_id}': { put: call } },
      ],
      ['that deletes something else', 'deleteJob', '/slicer/v1', { '/files/{job_id}': { delete: call } }],
      ['that is another call of ours', 'deleteJob', '/slicer/v1', { '/files/{x}': { delete: call } }],
      ['with other parameters', 'deleteJob', '/slicer/v1', { '/job/{file_id}': { delete: call } }],
      ['with more parameters', 'deleteJob', '/slicer/v1', { '/job/{a}/{b}': { delete: call } }],
      [
        ...(['with another meaning', 'maintenance', '/connect/v1'] as const),
        { '/clusters/{cluster_id}/maintenance/completed': { get: call } },
      ],
      [
        'if two calls are equally similar',
        'printJobs',
        '/connect/v1',
        { '/jobs': { get: call }, '/job': { get: call } },
      ],
      ['that can’t be an override', 'printJobs', '/connect/v1', { '/print jobs': { get: call } }],
      ['that leaves the host', 'printJobs', '/connect/v1', { '/../print_jobs': { get: call } }],
    ] as const)
      it(`suggests nothing ${why}`, async () => assert.equal(await said(name, base, paths as Paths), 'none'));
  });

  it('reads at most 500 paths, and none of more than 300 characters', async () => {
    const paths = Object.fromEntries(Array.from({ length: 1_200 }, (_, nth) => [`/a/${nth}`, { get: call }]));
    assert.equal((await described({ paths }, '/connect/v1'))?.length, 500);
    assert.equal((await described({ paths: { [`/${'a'.repeat(300)}`]: { get: call } } }, '/x'))?.length, 0);
  });

  it('lets the event loop turn while it reads a long description', async () => {
    const paths = Object.fromEntries(Array.from({ length: 500 }, (_, nth) => [`/a/${nth}`, { get: call }]));
    let ms = 0;
    let turns = 0;
    const turn = () => {
      turns++;
      waiting = setImmediate(turn);
    };
    let waiting = setImmediate(turn);
    // Each path takes a millisecond.
    await describedCalls({ paths }, 'api', '/connect/v1', new Turns({ monotonic: () => ms++ }));
    clearImmediate(waiting);
    assert.ok(turns >= 40, `${turns} turns`);
  });

  it('ignores anything that is not a description', async () => {
    for (const document of [undefined, null, 'x', [], {}, { paths: [] }, { paths: 'x' }, { data: {} }])
      assert.equal(await described(document, '/connect/v1'), null);
    const paths = { '/a': null, '/b': 7, '/c': { get: 7, put: call, patch: call }, d: { get: call } };
    const odd = await described({ servers: 'x', paths }, '/connect/v1');
    assert.deepEqual(
      odd?.map(({ method, parts }) => `${method} ${parts.join('/')}`),
      ['PUT connect/v1/c', 'GET connect/v1/d'],
    );
    assert.equal((await described({ data: { paths: { '/a': { get: call } } } }, '/x'))?.length, 1);
  });
});
