import assert from 'node:assert/strict';
import fc from 'fast-check';
import { PrintingError, type ErrorCode } from '../../../lib/service/errors';
import { ENDPOINTS, readOverrides, target, type EndpointName } from '../../../lib/service/paths';

const settings = { storagePath: '/slicer/v1', overrides: {} };
const is = (code: ErrorCode, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof PrintingError);
  assert.equal(error.code, code);
  assert.match(error.message, words);
  return true;
};

describe('service/paths', () => {
  it('fills the path parameters of every call', () => {
    const ids = {
      ...{ cluster_id: 'C', printer_id: 'P', action: 'A', action_id: 'AI', cluster_job_id: 'CJ', report_id: 'R' },
      ...{ job_id: 'J', file_id: 'F' },
    };
    const calls = Object.fromEntries(
      (Object.keys(ENDPOINTS) as EndpointName[]).map((name) => {
        const { method, host, path } = target(name, ids, settings);
        assert.doesNotMatch(path, /[{}]/, name);
        return [name, `${method} ${host} ${path}`];
      }),
    );
    const expected = {
      ...{ registerUpload: 'PUT api /slicer/v1/jobs/upload', storedJob: 'GET api /slicer/v1/jobs/J' },
      ...{ clusters: 'GET api /connect/v1/clusters', clusterStatus: 'GET api /connect/v1/clusters/C/status' },
      print: 'POST api /connect/v1/clusters/C/print/J',
      ...{ printJob: 'GET api /connect/v1/clusters/C/print_jobs/CJ', currentUser: 'GET auth /users/current' },
      printerAction: 'POST api /connect/v1/clusters/C/printers/P/action/A',
      actionStatus: 'GET api /connect/v1/clusters/C/action_status/AI',
      jobAction: 'POST api /connect/v1/clusters/C/print_jobs/CJ/action/A',
      ...{ createReport: 'PUT api /report/v1/reports', getReport: 'GET api /report/v1/reports/R' },
      ...{ deleteJob: 'DELETE api /slicer/v1/jobs/J', deleteFile: 'DELETE api /slicer/v1/files/F' },
      printJobs: 'GET api /connect/v1/print_jobs',
      maintenance: 'GET api /connect/v1/clusters/C/maintenance/pending',
    };
    for (const [name, call] of Object.entries(expected)) assert.equal(calls[name], call, name);
  });

  it('uses the account’s storage path, with or without a trailing slash', () => {
    for (const storagePath of ['/other/v2', '/other/v2/', '/other/v2//'])
      assert.equal(target('storedJob', { job_id: 'J' }, { storagePath, overrides: {} }).path, '/other/v2/jobs/J');
  });

  it('keeps the characters of ids, even `=`, and encodes those that are illegal in a path', () => {
    assert.equal(target('storedJob', { job_id: 'aB-_9==' }, settings).path, '/slicer/v1/jobs/aB-_9==');
    assert.equal(target('storedJob', { job_id: 'a b?c#d%' }, settings).path, '/slicer/v1/jobs/a%20b%3Fc%23d%25');
  });

  it('rejects ids that are missing or would lead elsewhere', () => {
    assert.throws(() => target('storedJob', {}, settings), is('INVALID_INPUT', /job ID is missing/));
    assert.throws(() => target('storedJob', { job_id: '' }, settings), is('INVALID_INPUT', /job ID is missing/));
    for (const id of ['a/b', 'a\\b', '..', 'a..b', '.'])
      assert.throws(
        () => target('clusterStatus', { cluster_id: id }, settings),
        is('INVALID_INPUT', /printer ID must not contain/),
      );
  });

  it('gives a path the same shape for any id', () => {
    fc.assert(
      fc.property(fc.string(), (id) => {
        let path;
        try {
          ({ path } = target('storedJob', { job_id: id }, settings));
        } catch (error) {
          assert.ok(error instanceof PrintingError && error.code === 'INVALID_INPUT');
          return;
        }
        const url = new URL(path, 'https://api.example');
        assert.equal(url.pathname, path);
        assert.equal(`${url.search}${url.hash}`, '');
        assert.deepEqual(path.split('/').length, 5);
        assert.equal(decodeURIComponent(path.split('/')[4] ?? ''), id);
      }),
    );
  });

  describe('an override', () => {
    it('replaces method and path', () => {
      const overrides = readOverrides(
        '{"deleteJob": "POST {storage}/jobs/{job_id}/remove", "currentUser": "GET /me/v2"}',
      );
      const changed = { storagePath: '/s/v1', overrides };
      assert.deepEqual(target('deleteJob', { job_id: 'J' }, changed), {
        method: 'POST',
        host: 'api',
        path: '/s/v1/jobs/J/remove',
      });
      assert.deepEqual(target('currentUser', {}, changed), { method: 'GET', host: 'api', path: '/me/v2' });
      const onAuth = readOverrides({ printJobs: 'GET {auth_url}/jobs' });
      assert.deepEqual(target('printJobs', {}, { storagePath: '', overrides: onAuth }), {
        method: 'GET',
        host: 'auth',
        path: '/jobs',
      });
    });

    it('is optional', () => {
      for (const none of [undefined, null, '', '{}', {}]) assert.deepEqual(readOverrides(none), {});
    });

    it('is rejected with the fault', () => {
      const wrong: [unknown, RegExp][] = [
        ['{', /not JSON/],
        ['[]', /must be a JSON object/],
        [7, /must be a JSON object/],
        [{ print: 'POST /x' }, /"print" is not a name/],
        [{ toString: 'GET /x' }, /"toString" is not a name/],
        [{ __proto__x: 'GET /x' }, /is not a name/],
        [{ printJobs: 'PATCH /x' }, /"printJobs" must look like/],
        [{ printJobs: 'GET x' }, /must look like/],
        [{ printJobs: 'GET https://elsewhere.example/x' }, /must look like/],
        [{ printJobs: 'GET /x?y' }, /must look like/],
        [{ printJobs: 7 }, /must look like/],
        [{ printJobs: 'GET /x/{what}' }, /unknown path parameter \{what\}/],
      ];
      for (const [paths, words] of wrong) assert.throws(() => readOverrides(paths), is('NOT_CONFIGURED', words));
    });
  });
});
