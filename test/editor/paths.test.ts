import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import vm from 'node:vm';
import { readOverrides } from '../../lib/service/paths';
import { root } from '../../scripts/node-red.mjs';

type Validator = (this: object, value: string, opt: object) => true | string;

/** The editor's own check of the account's `paths`, without an editor around it. */
function editorCheck(): Validator {
  const window = {} as { RemotePrinting?: { validators: { paths(): Validator } } };
  const script = readFileSync(join(root, 'resources', 'remote-printing-editor.js'), 'utf8');
  vm.runInNewContext(script, { window, RED: { _: (key: string) => key }, URL });
  return window.RemotePrinting!.validators.paths();
}

describe('paths in the account’s form', () => {
  const check = editorCheck();
  const inForm = (paths: string) => check.call({ _: (key: string) => key }, paths, {});
  const atStart = (paths: string) => {
    try {
      readOverrides(paths);
      return true;
    } catch {
      return false;
    }
  };
  const one = (call: unknown, name = 'currentUser') => JSON.stringify({ [name]: call });

  const good = [
    ...['', '{}', one('GET {auth_url}/users/current'), one('POST /x/{cluster_id}/y/{action}', 'jobAction')],
    ...[one('DELETE {storage}/jobs/{job_id}', 'deleteJob'), one('GET /', 'printJobs'), one('PUT /a%20b/c;d=1')],
    one('GET /a..b/.c'),
  ];
  for (const paths of good)
    it(`takes ${paths || 'nothing'}, as the runtime does`, () => {
      assert.equal(inForm(paths), true);
      assert.equal(atStart(paths), true);
    });

  const bad = [
    ...[
      '{',
      '[]',
      'null',
      '7',
      '"x"',
      one('GET /x', 'clusters'),
      one('GET /x', 'toString'),
      one('GET /x', '__proto__'),
    ],
    ...[one(7), one(null), one({}), one(''), one('GET'), one('/x'), one('get /x'), one('PATCH /x'), one('GET x')],
    ...[one('GET https://evil.example/'), one('GET //evil.example/'), one('GET {api_url}/x'), one('GET {auth_url}x')],
    ...[one('GET /x/{job}'), one('GET /x/{cluster_id'), one('GET /x/{}'), one('GET /a b'), one('GET /x?y=1')],
    ...[
      one('GET /x#y'),
      one('GET /a/../b'),
      one('GET /..'),
      one('GET /a/%2e%2e/b'),
      one('GET /a%2fb'),
      one('GET /a\\b'),
    ],
    ...[one('GET /é'), one('GET /100%'), one('GET /a%0d'), one('GET /a\nb'), one('GET  /x'), one(' GET /x')],
  ];
  for (const paths of bad)
    it(`refuses ${paths}, as the runtime does`, () => {
      assert.match(String(inForm(paths)), /^label\.paths: ./);
      assert.equal(atStart(paths), false);
    });
});
