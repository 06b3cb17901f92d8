import assert from 'node:assert/strict';
import type { Check } from '../../lib/connection/check';
import { startSimulator, type Simulator } from '../../simulator';
import { Flow, REDIRECT } from '../helpers/flow';

describe('nodes/admin accounts/:id/test', () => {
  let simulator: Simulator;
  let flow: Flow;
  before(async () => (simulator = await startSimulator({ autoApprove: true, printers: 3 })));
  after(() => simulator.close());
  beforeEach(async () => (flow = await Flow.start(simulator)));
  afterEach(async () => {
    simulator.faults.clear();
    await flow.stop();
  });

  const test = async (typed: object = {}, id = 'account') => {
    const { body } = await flow.post(`accounts/${id}/test`, typed).expect(200);
    const { checks } = body as { checks: Check[] };
    return (name: string) => checks.find((check) => check.name === name) ?? assert.fail(name);
  };
  const typedSettings = (settings: object = {}) => {
    const { authUrl, apiUrl, client } = simulator;
    return { redirectUri: REDIRECT, authUrl, apiUrl, clientId: client.id, clientSecret: client.secret, ...settings };
  };
  /** Error of a test that was refused without a request. */
  const refusal = async (typed: object, id = 'account') => {
    const before = simulator.requests.count();
    const { body } = await flow.post(`accounts/${id}/test`, typed).expect(400);
    assert.equal(simulator.requests.count(), before);
    return (body as { error: string }).error;
  };

  it('names a host that is not the right one before everything that follows from it', async () => {
    const { authUrl, apiUrl } = simulator;
    for (const [settings, host] of [
      [{ authUrl: apiUrl, apiUrl: authUrl }, 'apiHost'],
      [{ authUrl: `${authUrl}/no-such-page` }, 'accountHost'],
    ] as const) {
      await flow.deploy([], { account: { ...flow.account, ...settings }, signIn: false });
      const { body } = await flow.post('accounts/account/test').expect(200);
      const [first] = (body as { checks: Check[] }).checks.filter(({ ok }) => ok === false);
      assert.equal(first?.name, host);
      assert.match(String(first.detail), /answers with status \d+, but not like the service: check that it is the/);
    }
  });

  it('tests a deployed account', async () => {
    await flow.deploy([]);
    const { body } = await flow.post('accounts/account/test').expect(200).expect('cache-control', 'no-store');
    const { checks } = body as { checks: Check[] };
    assert.ok(checks.every(({ ok }) => ok === true));
    for (const check of checks) assert.deepEqual(Object.keys(check), ['name', 'ok', 'detail']);
  });

  it('tests typed settings in place of the deployed ones', async () => {
    await flow.deploy([]);
    const find = await test({ clientSecret: '__PWRD__', paths: '{"printJobs":"GET /connect/v1/elsewhere"}' });
    assert.equal(find('clusters').ok, true);
    assert.equal(find('path.printJobs').ok, false);
    assert.deepEqual(find('described.printJobs').suggestion, {
      name: 'printJobs',
      value: 'GET /connect/v1/print_jobs',
    });
  });

  it('tests an account before its first deploy, even after a sign-in', async () => {
    await flow.deploy([]);
    const out = await test(typedSettings(), 'new');
    assert.equal(out('apiHost').ok, true);
    assert.match(String(out('token').detail), /Nobody is signed in/);
    await flow.signInAnew('new', typedSettings());
    assert.equal((await test(typedSettings(), 'new'))('clusters').ok, true);
  });

  it('tests a static token before the first deploy', async () => {
    await flow.deploy([]);
    const { apiUrl } = simulator;
    const apiToken = simulator.users[0]!.apiToken;
    assert.equal((await test({ signIn: 'token', apiUrl, apiToken }, 'new'))('clusters').ok, true);
  });

  it('keeps the sign-in intact, even when the test refreshes the token', async () => {
    await flow.deploy([]);
    simulator.tokens.expireAccessTokens();
    assert.equal((await test())('clusters').ok, true);
    await flow.get('accounts/account/clusters').expect(200);
    simulator.tokens.expireAccessTokens();
    await flow.get('accounts/account/clusters').expect(200);
    assert.equal((await test())('clusters').ok, true);
  });

  it('tests the simulator of a deployed account', async () => {
    const account = { id: 'account', type: 'remote-printing-account', service: 'simulator' };
    await flow.deploy([], { account, credentials: {} });
    for (const typed of [{}, { service: 'simulator', authUrl: '', apiUrl: '' }]) {
      const find = await test(typed);
      assert.equal(find('clusters').ok, true);
      assert.equal(find('description').ok, true);
    }
    assert.match(await refusal({ service: 'simulator' }, 'new'), /deploy the account/);
  });

  it('answers 404 for an account that is neither deployed nor typed', async () => {
    await flow.deploy([]);
    await flow.post('accounts/other/test').expect(404);
  });

  it('answers 400 for invalid settings', async () => {
    await flow.deploy([]);
    assert.match(await refusal([]), /object/);
    assert.match(await refusal({ apiUrl: 'http://api.example' }), /API host/);
    assert.match(await refusal({ paths: '{' }), /not JSON/);
    assert.match(await refusal({ clientId: '' }), /client ID/);
    assert.match(await refusal({ authUrl: '' }, 'account'), /./);
    assert.match(await refusal({ apiUrl: '${SECRET}' }), /[Ee]nvironment/);
  });

  describe('for a user without access to secrets', () => {
    const elsewhere = () => simulator.apiUrl.replace('127.0.0.1', 'localhost');

    it('sends the stored client secret only to the stored account host', async () => {
      await flow.deploy([]);
      assert.match(await refusal({ authUrl: 'https://evil.example' }), /secret is only sent to the stored/);
    });

    it('sends a stored token only to the stored hosts', async () => {
      const { apiUrl, authUrl, users } = simulator;
      const account = { ...flow.account, signIn: 'token' };
      await flow.deploy([], { account, credentials: { account: { apiToken: users[0]!.apiToken } } });
      assert.equal((await test({ apiToken: '__PWRD__', apiUrl: `${apiUrl}/` }))('clusters').ok, true);
      assert.equal((await test({ authUrl: '' }))('clusters').ok, true);
      assert.match(await refusal({ apiUrl: elsewhere() }), /token is only sent to the stored/);
      assert.match(
        await refusal({ authUrl: authUrl.replace('127.0.0.1', 'localhost') }),
        /token is only sent to the stored/,
      );
      assert.equal((await test({ apiUrl: elsewhere(), apiToken: users[0]!.apiToken }))('clusters').ok, true);
    });

    /** Runs a test that must not use the stored sign-in; returns its detail on the token. */
    const withheld = async (id: string, typed: object): Promise<string> => {
      const before = simulator.requests.count();
      const find = await test(typed, id);
      assert.equal(find('token').ok, false);
      // Only the hosts' availability is requested, without a token.
      const asked = simulator.requests.list().slice(-(simulator.requests.count() - before));
      assert.ok(asked.every(({ endpoint }) => endpoint === 'uptime'));
      return String(find('token').detail);
    };

    it('sends the sign-in of a deployed account only to the deployed hosts', async () => {
      await flow.deploy([]);
      for (const typed of [{ apiUrl: elsewhere() }, typedSettings({ apiUrl: elsewhere() })])
        assert.match(await withheld('account', typed), /only sent to the deployed hosts/);
      const { body } = await flow
        .post('accounts/account/typed/clusters', typedSettings({ apiUrl: elsewhere() }))
        .expect(400);
      assert.equal(body.code, 'NOT_SIGNED_IN');
    });

    it('sends it to the deployed hosts only, although another host was typed at sign-in', async () => {
      await flow.deploy([], { signIn: false });
      await flow.signInAnew('account', typedSettings({ apiUrl: elsewhere() }));
      for (const typed of [{ apiUrl: elsewhere() }, typedSettings({ apiUrl: elsewhere() })])
        assert.match(await withheld('account', typed), /only sent to the deployed hosts/);
      assert.equal((await test())('clusters').ok, true);
    });

    it('sends a sign-in at another account host nowhere before the deploy', async () => {
      const authUrl = simulator.authUrl.replace('127.0.0.1', 'localhost');
      await flow.deploy([], { signIn: false });
      await flow.signInAnew('account', typedSettings({ authUrl }));
      assert.match(await withheld('account', typedSettings({ authUrl })), /only sent to the deployed hosts/);
    });

    it('sends the sign-in of an account before its deploy only to the API host of that sign-in', async () => {
      await flow.deploy([]);
      await flow.signInAnew('new', typedSettings());
      assert.match(await withheld('new', typedSettings({ apiUrl: elsewhere() })), /sign in again for another host/);
    });

    it('sends a sign-in without an API host nowhere', async () => {
      await flow.deploy([]);
      const { apiUrl: _, ...typed } = typedSettings();
      await flow.signInAnew('new', typed);
      assert.match(await withheld('new', typedSettings()), /sign in again for another host/);
    });

    it('tests an account that is deployed without hosts, after a sign-in', async () => {
      await flow.deploy([], { account: { ...flow.account, authUrl: '', apiUrl: '' }, credentials: {}, signIn: false });
      await flow.signInAnew('account', typedSettings());
      assert.equal((await test(typedSettings()))('clusters').ok, true);
    });
  });
});
