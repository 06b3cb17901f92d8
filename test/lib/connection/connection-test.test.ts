import assert from 'node:assert/strict';
import type { AccountConfig } from '../../../lib/account/settings';
import type { Client } from '../../../lib/client';
import type { Check } from '../../../lib/connection/check';
import { systemClock, type Clock } from '../../../lib/time/clock';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../../simulator';
import { MemoryStore } from '../../helpers/memory-store';
import { signedInClient } from '../../helpers/simulated-client';
import { TurnedTime } from '../../helpers/turned-time';
import { pluck } from '../../helpers/pluck';

const NEED_TOKEN = [
  ...['user', 'workspace', 'clusters', 'path.currentUser'],
  ...['path.storedJobs', 'path.printJobs', 'path.maintenance', 'path.actionStatus', 'path.getReport'],
];

describe('connection/connection-test', () => {
  let simulator: Simulator;
  let clients: Client[] = [];
  before(async () => (simulator = await startSimulator({ printers: 3 })));
  after(() => simulator.close());
  afterEach(async () => {
    simulator.faults.clear();
    await Promise.all(clients.map((client) => client.close()));
    clients = [];
  });

  async function test(config: AccountConfig = {}, { at = simulator, clock = systemClock } = {}) {
    const client = await signedInClient(at, { store: new MemoryStore(), clock, config });
    clients.push(client);
    const checks = (await client.testConnection()).map((check) => ({ ...check, detail: String(check.detail) }));
    for (const { detail } of checks) assert.match(detail, /^\S.*\.$/);
    assert.equal(new Set(checks.map(({ name }) => name)).size, checks.length);
    const find = (name: string) => checks.find((check) => check.name === name) ?? assert.fail(name);
    return { checks, find };
  }
  /** The checks that are not ok. */
  const wrong = (checks: Pick<Check, 'name' | 'ok'>[]) => checks.filter(({ ok }) => ok !== true);

  /** Runs `test` against a simulator of its own. */
  async function testOf(options: SimulatorOptions, config?: AccountConfig) {
    const own = await startSimulator(options);
    try {
      const { find } = await test(config, { at: own });
      return find;
    } finally {
      for (const client of clients.splice(0)) await client.close();
      await own.close();
    }
  }

  it('finds everything right, in the order of the lines, and changes nothing at the service', async () => {
    const since = simulator.requests.count();
    const { checks, find } = await test();
    assert.deepEqual(wrong(checks), []);
    assert.deepEqual(pluck(checks.slice(0, 14), 'name'), [
      'apiHost',
      'accountHost',
      'clock',
      'token',
      ...NEED_TOKEN,
      'description',
    ]);
    assert.match(find('user').detail, new RegExp(simulator.users[0]!.name));
    assert.match(find('workspace').detail, new RegExp(simulator.users[0]!.organizations[0]!.organizationName));
    assert.match(find('clusters').detail, /^3 printers found: /);
    assert.equal(checks.filter(({ name }) => name.startsWith('described.')).length, 11);
    assert.ok(simulator.requests.list().slice(since).length > 10);
    assert.ok(
      simulator.requests
        .list()
        .slice(since)
        .every(({ method }) => method === 'GET'),
    );
  });

  it('accepts a static token, even without an account host', async () => {
    const apiToken = simulator.users[0]!.apiToken;
    assert.deepEqual(wrong((await test({ signIn: 'token', apiToken })).checks), []);
    const { find } = await test({ signIn: 'token', apiToken, authUrl: '' });
    assert.equal(find('token').ok, true);
    assert.equal(find('clusters').ok, true);
    assert.equal(find('accountHost').ok, null);
    assert.match(find('path.currentUser').detail, /no account host/);
  });

  it('names the host that is not reached, and the checks that were skipped', async () => {
    const gone = await startSimulator();
    await gone.close();
    const noApi = await test({ apiUrl: gone.apiUrl });
    assert.equal(noApi.find('apiHost').ok, false);
    assert.match(noApi.find('apiHost').detail, /127\.0\.0\.1:\d+ was not reached \(ECONNREFUSED\)/);
    assert.equal(noApi.find('accountHost').ok, true);
    assert.equal(noApi.find('clock').ok, true);
    for (const name of ['token', ...NEED_TOKEN])
      assert.deepEqual(noApi.find(name), { name, ok: null, detail: 'Not checked: the API host was not reached.' });
    const apiToken = simulator.users[0]!.apiToken;
    const noAccount = await test({ signIn: 'token', apiToken, authUrl: gone.authUrl });
    assert.equal(noAccount.find('accountHost').ok, false);
    assert.equal(noAccount.find('clusters').ok, true);
    assert.equal(noAccount.find('path.currentUser').ok, false);
  });

  it('distinguishes a wrong API host from a right one', async () => {
    const { find } = await test({ apiUrl: simulator.authUrl });
    assert.equal(find('apiHost').ok, false);
    assert.match(find('apiHost').detail, /status 404, but not like the service: check that it is the API host/);
    assert.equal(find('clusters').ok, false);
  });

  it('reports how far the clock is off', async () => {
    const clock: Clock = { ...systemClock, now: () => Date.now() + 600_000 };
    const { find } = await test({}, { clock });
    assert.equal(find('clock').ok, false);
    assert.match(find('clock').detail, /10 min ahead of/);
  });

  it('reports a missing sign-in and a refused token', async () => {
    const signedOut = await test({ clientId: 'another' });
    assert.match(signedOut.find('token').detail, /Nobody is signed in/);
    const refused = await test({ signIn: 'token', apiToken: 'wrong-token-1234' });
    assert.match(refused.find('token').detail, /refused the API token/);
    for (const { find } of [signedOut, refused]) {
      assert.equal(find('token').ok, false);
      for (const name of NEED_TOKEN) assert.equal(find(name).ok, null);
    }
  });

  it('reports a sign-in to another workspace than the configured one', async () => {
    const other = simulator.users[0]!.organizations[1]!.organizationId;
    const { find } = await test({ organizationId: other });
    assert.equal(find('workspace').ok, false);
    assert.match(find('workspace').detail, /not the workspace in the settings/);
    const own = await test({ organizationId: simulator.users[0]!.organizations[0]!.organizationId });
    assert.equal(own.find('workspace').ok, true);
  });

  it('counts the printers, and names some of them', async () => {
    assert.match((await testOf({ printers: 7 }))('clusters').detail, /^7 printers found: (.+, ){4}.+ and 2 more\.$/);
    const none = await testOf({ printers: 0 });
    assert.equal(none('clusters').ok, true);
    assert.match(none('clusters').detail, /no printers/);
    assert.equal(none('path.printJobs').ok, true);
  });

  it('considers a token valid if only the list is refused', async () => {
    simulator.faults.add({ endpoint: 'clusters', status: 403, times: 'always' });
    const { find } = await test();
    assert.equal(find('token').ok, true);
    assert.equal(find('clusters').ok, false);
    assert.equal(find('user').ok, true);
  });

  it('reports a failing service, not an invalid token', async () => {
    simulator.faults.add({ endpoint: 'clusters', status: 429, retryAfter: 900, times: 'always' });
    const { find } = await test();
    assert.equal(find('token').ok, null);
    assert.equal(find('clusters').ok, false);
    assert.equal(find('path.printJobs').ok, null);
  });

  describe('a path', () => {
    const MOVED: [name: string, endpoint: string, call: string][] = [
      ['printJobs', 'printJobs', 'GET /connect/v1/jobs'],
      ['storedJobs', 'jobs', 'GET /slicer/v1/stored_jobs'],
      ['maintenance', 'pendingMaintenance', 'GET /connect/v1/clusters/{cluster_id}/pending_maintenance'],
      ['actionStatus', 'actionStatus', 'GET /connect/v1/clusters/{cluster_id}/actions/{action_id}'],
      ['getReport', 'getReport', 'GET /report/v1/report/{report_id}'],
      ['currentUser', 'currentUser', 'GET /user/current'],
    ];
    for (const [name, endpoint, call] of MOVED)
      it(`reports a wrong path of ${name}, and suggests the right one`, async () => {
        const own = await startSimulator({ paths: { [endpoint]: call } });
        try {
          const { find } = await test({}, { at: own });
          assert.notEqual(find(`path.${name}`).ok, true);
          const { ok, suggestion } = find(`described.${name}`);
          assert.equal(ok, false);
          assert.equal(suggestion?.name, name);
          const { checks } = await test({ paths: JSON.stringify({ [name]: suggestion?.value }) }, { at: own });
          assert.deepEqual(wrong(checks), []);
        } finally {
          for (const client of clients.splice(0)) await client.close();
          await own.close();
        }
      });

    for (const [name, endpoint, call, used] of [
      ['createReport', 'createReport', 'POST /report/v1/reports', 'POST /report/v1/reports'],
      ['deleteJob', 'deleteJob', 'DELETE /slicer/v1/job/{job_id}', 'DELETE {storage}/job/{job_id}'],
    ] as const)
      it(`suggests the right path of ${name} without trying it`, async () => {
        const find = await testOf({ paths: { [endpoint]: call } });
        assert.deepEqual(find(`described.${name}`).suggestion, { name, value: used });
      });

    it('tries only calls that read', async () => {
      const since = simulator.requests.count();
      const paths = { printJobs: 'POST /connect/v1/print_jobs', currentUser: 'DELETE /connect/v1/me' };
      const { find } = await test({ paths: JSON.stringify(paths) });
      for (const name of ['printJobs', 'currentUser']) {
        assert.equal(find(`path.${name}`).ok, null);
        assert.match(find(`path.${name}`).detail, /not tried/);
      }
      const sent = simulator.requests.list().slice(since);
      assert.ok(sent.every(({ method }) => method === 'GET'));
    });

    it('is undecided if the service answers all missing things alike', async () => {
      simulator.faults.add({ endpoint: 'actionStatus', status: 404, times: 'always' });
      assert.equal((await test()).find('path.actionStatus').ok, null);
    });

    for (const [what, fault, ok] of [
      ['fails', { status: 500 }, false],
      ['is refused', { status: 403, code: 'forbidden' }, false],
      ['is rate-limited', { status: 429 }, null],
      ['answers with a page', { html: true, status: 200 }, false],
      ['answers with a missing page', { html: true, status: 404 }, false],
      ['breaks the connection', { reset: true }, false],
      ['needs another method', { status: 405 }, false],
    ] as const)
      it(`reports a path that ${what}`, async () => {
        simulator.faults.add({ endpoint: 'printJobs', ...fault, times: 'always' });
        assert.equal((await test()).find('path.printJobs').ok, ok);
      });

    it('reports a wrong user path if neither host knows it', async () => {
      const find = await testOf({ paths: { currentUser: 'GET /no-such-path' } });
      assert.equal(find('path.currentUser').ok, false);
      assert.equal(find('user').ok, null);
      // The token contains the workspace.
      assert.equal(find('workspace').ok, true);
    });
  });

  describe('the description', () => {
    it('is undecided if the service has none', async () => {
      simulator.faults.add({ endpoint: 'spec', status: 404, times: 'always' });
      const { checks, find } = await test();
      assert.equal(find('description').ok, null);
      assert.deepEqual(pluck(wrong(checks), 'name'), ['description']);
    });

    for (const [what, fault] of [
      ['not JSON', { html: true, status: 200 }],
      ['something else', { transform: () => ({ data: [1] }) }],
      ['too large', { transform: () => ({ paths: { '/a': { get: 'x'.repeat(2 * 2 ** 20) } } }) }],
      ['truncated', { cut: 'body' }],
    ] as const)
      it(`is ignored if it is ${what}`, async () => {
        simulator.faults.add({ endpoint: 'spec', ...fault, times: 'always' });
        assert.equal((await test()).find('description').ok, null);
      });

    it('is compared for its base if another base has none', async () => {
      simulator.faults.add({ endpoint: 'spec', path: '/connect', status: 500, times: 'always' });
      const { checks, find } = await test();
      assert.equal(find('description').ok, true);
      assert.ok(!checks.some(({ name }) => name === 'described.printJobs'));
      assert.equal(find('described.createReport').ok, true);
    });
  });

  for (const [endpoint, name, seconds] of [
    ['uptime', 'apiHost', 10],
    ['clusters', 'clusters', 15],
    ['printJobs', 'path.printJobs', 10],
  ] as const)
    it(`waits ${seconds} s for a hanging ${endpoint}, and reports it`, async () => {
      const time = new TurnedTime();
      try {
        simulator.faults.add({ endpoint, hang: true, times: 'always' });
        const began = systemClock.monotonic();
        const { find } = await time.until(test());
        assert.equal(find(name).ok, false);
        assert.match(find(name).detail, new RegExp(`No result within ${seconds} s`));
        assert.equal(systemClock.monotonic() - began, seconds * 1000);
      } finally {
        time.restore();
      }
    });

  it('never repeats credentials, even if the service does', async () => {
    const apiToken = simulator.users[0]!.apiToken;
    simulator.faults.add({
      endpoint: 'clusters',
      status: 403,
      code: 'x',
      detail: `no ${apiToken} here`,
      times: 'always',
    });
    const { checks, find } = await test({ signIn: 'token', apiToken });
    assert.match(find('clusters').detail, /no \(secret\) here/);
    assert.ok(!JSON.stringify(checks).includes(apiToken));
  });
});
