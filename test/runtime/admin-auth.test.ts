import assert from 'node:assert/strict';

import { startRealNodeRed, type RealNodeRed } from '../helpers/real-node-red';

/** bcrypt of `correct horse`. */
const password = '$2b$08$wX0xAJlPav/YhoUReR4Bx.bMBMe0NyIQhzBrLvYbuX3QUH3MIzcrC';
const account = {
  id: 'a1',
  type: 'remote-printing-account',
  name: '',
  service: 'simulator',
  signIn: 'oauth',
  paths: '{}',
  metrics: true,
};
const METRICS = { method: 'GET', path: 'remote-printing/metrics' };
const base = 'remote-printing/accounts/a1';

const reads = ['', '/clusters', '/workspaces', '/diagnostics', '/replicas'].map((path) => ({
  method: 'GET',
  path: base + path,
}));
const writes = ['/sign-in', '/sign-in/complete', '/sign-out'].map((path) => ({ method: 'POST', path: base + path }));

describe('admin endpoints behind adminAuth', function () {
  let nodeRed: RealNodeRed;

  before(async () => {
    nodeRed = await startRealNodeRed({
      flows: [{ id: 't', type: 'tab', label: 'empty' }, account, { ...account, id: 'a2' }],
      credentials: { a2: { metricsToken: 'metrics-token' } },
      settings: {
        adminAuth: {
          type: 'credentials',
          users: [
            { username: 'owner', password, permissions: '*' },
            { username: 'guest', password, permissions: 'read' },
          ],
        },
      },
    });
  });
  after(() => nodeRed.kill());

  async function token(username: string, scope: string): Promise<string> {
    const response = await nodeRed.fetch('auth/token', {
      method: 'POST',
      body: new URLSearchParams({
        client_id: 'node-red-admin',
        grant_type: 'password',
        scope,
        username,
        password: 'correct horse',
      }),
    });
    return ((await response.json()) as { access_token: string }).access_token;
  }

  async function status({ method, path }: { method: string; path: string }, bearer?: string): Promise<number> {
    const headers = { 'content-type': 'application/json', ...(bearer ? { authorization: `Bearer ${bearer}` } : {}) };
    const response = await nodeRed.fetch(path, { method, headers, ...(method === 'POST' ? { body: '{}' } : {}) });
    await response.arrayBuffer();
    return response.status;
  }

  for (const endpoint of [...reads, METRICS, ...writes]) {
    it(`rejects ${endpoint.method} ${endpoint.path} without a valid token`, async () => {
      assert.equal(await status(endpoint), 401);
      assert.equal(await status(endpoint, 'made-up'), 401);
    });
  }

  it('lets a user with read permission read, but not sign in or out', async () => {
    const bearer = await token('guest', 'read');
    for (const endpoint of reads) assert.notEqual(await status(endpoint, bearer), 401, endpoint.path);
    for (const endpoint of writes) assert.equal(await status(endpoint, bearer), 401, endpoint.path);
  });

  it('lets a user with all permissions use every endpoint', async () => {
    const bearer = await token('owner', '*');
    assert.equal(await status({ method: 'GET', path: base }, bearer), 200);
    for (const endpoint of [...reads, ...writes]) assert.notEqual(await status(endpoint, bearer), 401, endpoint.path);
  });

  it('shows all metrics to a user with read permission, and those of one account to its metrics token', async () => {
    const shown = async (bearer: string) => {
      const headers = { accept: 'text/plain', authorization: `Bearer ${bearer}` };
      const text = await (await nodeRed.fetch(METRICS.path, { headers })).text();
      return [...text.matchAll(/account_info\{account="(\w+)"/g)].map(([, id]) => id);
    };
    assert.deepEqual(await shown(await token('guest', 'read')), ['a1', 'a2']);
    assert.deepEqual(await shown('metrics-token'), ['a2']);
    assert.equal(await status({ method: 'GET', path: base }, 'metrics-token'), 401);
  });

  it('keeps a metrics token out of the log and the flows', async () => {
    const bearer = await token('owner', '*');
    const flows = await nodeRed.fetch('flows', { headers: { authorization: `Bearer ${bearer}` } });
    assert.doesNotMatch(await flows.text(), /metrics-token/);
    assert.doesNotMatch(nodeRed.log.join('\n'), /metrics-token/);
  });

  it('needs no token for the callback, but rejects a state that it did not issue', async () => {
    for (const query of ['', '?code=x', '?state=made-up', '?code=x&state=made-up']) {
      assert.equal(await status({ method: 'GET', path: `remote-printing/callback${query}` }), 400, query);
    }
  });
});
