import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import helper from 'node-red-node-test-helper';
import { startSimulator, type Simulator } from '../../simulator';
import { followTo } from '../helpers/browser';
import { catchNode, Flow, helperNode, REDIRECT, type Definition } from '../helpers/flow';
import { pluck } from '../helpers/pluck';
import { testPostgres } from '../helpers/postgres';
import { printNode, SIGNED_OUT, struck, watchNode } from './support';

const around = ['status', 'events', 'results', 'progress', 'caught'].map(helperNode).concat(catchNode(['caught']));

/** Entries of Node-RED's log so far. */
const logged = (): { level: number; msg: unknown }[] =>
  (helper.log() as unknown as { args: [{ level: number; msg: unknown }][] }).args.map(([entry]) => entry);

describe('nodes/account', () => {
  let simulator: Simulator;
  let flow: Flow;

  beforeEach(async () => {
    simulator = await startSimulator({ autoApprove: true });
    flow = await Flow.start(simulator);
  });
  afterEach(async () => {
    await flow.stop();
    await simulator.close();
  });

  const state = async (id = 'account') => (await flow.get(`accounts/${id}`).expect(200)).body;
  const works = async (id = 'account') =>
    assert.equal((await flow.get(`accounts/${id}/clusters`).expect(200)).body.length, 5);
  it('is signed out at first, signed in after the round trip, and signed out again', async () => {
    await flow.deploy([], { signIn: false });
    assert.deepEqual(await state(), SIGNED_OUT);
    await flow.signIn();
    const signedIn = await state();
    assert.equal(signedIn.state, 'signed-in');
    assert.equal(signedIn.user, simulator.users[0]?.username);
    assert.equal(signedIn.organizationId, simulator.users[0]?.organizations[0]?.organizationId);
    assert.ok(Date.parse(signedIn.expiresAt) > Date.now());
    await flow.post('accounts/account/sign-out').expect(200);
    assert.deepEqual(await state(), SIGNED_OUT);
  });

  it('forgets a deleted account at once, even during a slow renewal', async () => {
    await flow.deploy([watchNode()]);
    simulator.tokens.expireAccessTokens();
    const slow = simulator.faults.add({ endpoint: 'token', delay: 60_000 });
    flow.send('watch', { payload: 1 });
    await struck(slow);
    const other = { ...flow.account, id: 'other' };
    await flow.deploy([], { account: other, credentials: { other: flow.credentials.account }, signIn: false });
    await flow.get('accounts/account').expect(404);
    assert.deepEqual(await readdir(join(flow.userDir, 'remote-printing', 'grant')), []);
  });

  it('reads a number from the variables of a tab as text', async () => {
    const env = [{ name: 'ID', value: '12345', type: 'num' }];
    const { account } = flow.credentials;
    await flow.deploy([], {
      more: [{ id: 'tab', type: 'tab', label: 'tab', env }],
      account: { ...flow.account, z: 'tab' },
      credentials: { account: { ...account, clientId: '${ID}' } },
      signIn: false,
    });
    assert.deepEqual(await state(), SIGNED_OUT);
    const { body } = await flow.post('accounts/account/sign-in', { redirectUri: REDIRECT }).expect(200);
    assert.equal(new URL(body.authorizeUrl).searchParams.get('client_id'), '12345');
  });

  it('signs in before the first deploy with a pasted address', async () => {
    const { authUrl, apiUrl, client } = simulator;
    await flow.get('accounts/new').expect(404);
    const typed = { authUrl, apiUrl, clientId: client.id, clientSecret: client.secret, redirectUri: REDIRECT };
    const { body } = await flow.post('accounts/new/sign-in', typed).expect(200);
    assert.equal(body.redirectUri, REDIRECT);
    const back = await followTo(body.authorizeUrl, REDIRECT);
    await flow.post('accounts/new/sign-in/complete', { url: back.href }).expect(200);
    const early = await state('new');
    assert.equal(early.state, 'signed-in');
    assert.equal(early.user, simulator.users[0]?.username);
    const account = { ...flow.account, id: 'new' };
    await flow.deploy([], { account, credentials: { new: flow.credentials.account }, signIn: false });
    assert.equal((await state('new')).state, 'signed-in');
    await works('new');
  });

  it('needs a sign-in after the service revoked the old one, and works after a new sign-in', async () => {
    await flow.deploy([watchNode(), ...around]);
    await works();
    // Only a node that has polled shows since when its figures are stale.
    while (/^(status\.(polling|signIn))?$/.test(flow.statuses('watch').at(-1)?.text ?? '')) await turn();
    simulator.tokens.revokeGrants();
    const { body } = await flow.get('accounts/account/workspaces').expect(400);
    assert.equal(body.code, 'NOT_SIGNED_IN');
    const ended = await state();
    assert.equal(ended.state, 'sign-in-needed');
    assert.equal(ended.expiresAt, null);
    assert.match(ended.error, /sign in again/);
    while (flow.statuses('watch').at(-1)?.text !== 'status.signInSince') await turn();
    const before = simulator.requests.count();
    await flow.get('accounts/account/clusters').expect(400);
    assert.equal(simulator.requests.count(), before);
    await flow.signIn();
    assert.equal((await state()).state, 'signed-in');
    await works();
  });

  it('keeps its sign-in across a restart of the runtime', async () => {
    await flow.deploy([]);
    await flow.stop({ keep: true });
    flow = await Flow.start(simulator, flow.userDir);
    await flow.deploy([], { signIn: false });
    await works();
    assert.equal(simulator.tokens.exchanges, 1);
  });

  it('keeps its sign-in and its printers while the simulator is deployed temporarily', async () => {
    const nodes = [watchNode(), ...around];
    const reported: string[] = [];
    const seen = async (account: Definition, simulated: boolean) => {
      await flow.deploy(nodes, { account });
      const [statuses, events] = [flow.listen('status'), flow.listen('events')];
      // Polls twice, since a cluster counts as removed only when a second list lacks it.
      for (let asked = 0; asked < 2; asked++) {
        const before = statuses.all.length;
        flow.send('watch', { asked });
        await statuses.find((msg) => msg.asked === asked);
        assert.ok(statuses.all.length > before);
      }
      assert.equal(statuses.all.at(-1)?.simulated === true, simulated);
      reported.push(...events.all.map(({ topic }) => String(topic)));
    };
    await seen(flow.account, false);
    await seen({ ...flow.account, service: 'simulator' }, true);
    await seen(flow.account, false);
    assert.ok(!reported.some((topic) => topic.startsWith('cluster.')));
    assert.equal((await state()).state, 'signed-in');
    assert.equal(simulator.tokens.exchanges, 1, 'no second sign-in');
  });

  describe('with a static token', () => {
    const byToken = (apiToken: string | undefined) =>
      flow.deploy([watchNode(), ...around], {
        account: { ...flow.account, signIn: 'token' },
        credentials: { account: { apiToken } },
      });

    it('is unchecked at first, then signed in', async () => {
      simulator.faults.add({ endpoint: '*', delay: 50, times: 'always' });
      await byToken(simulator.users[0]?.apiToken);
      assert.equal((await state()).state, 'unchecked');
      simulator.faults.clear();
      await works();
      assert.equal((await state()).state, 'signed-in');
      assert.equal(simulator.requests.count('token'), 0);
    });

    it('needs another token after a refusal, and recovers together with the service', async () => {
      await byToken('not-a-token');
      const caught = flow.listen('caught');
      const { body } = await flow.get('accounts/account/clusters').expect(400);
      assert.equal(body.code, 'NOT_SIGNED_IN');
      const { state: now, error } = await state();
      assert.equal(now, 'sign-in-needed');
      assert.match(error, /API token/);
      flow.send('watch', { payload: 1 });
      const { error: failure } = await caught.find((msg) => msg.payload === 1);
      assert.equal((failure as { code?: string }).code, 'NOT_SIGNED_IN');
      await byToken(simulator.users[0]?.apiToken);
      await works();
      // Fails every endpoint, since a successful poll would restore the state.
      simulator.faults.add({ endpoint: '*', status: 401, times: 'always' });
      await flow.get('accounts/account/stored-jobs?search=new').expect(400);
      assert.equal((await state()).state, 'sign-in-needed');
      simulator.faults.clear();
      await works();
      assert.equal((await state()).state, 'signed-in');
    });

    it('is signed out without a token', async () => {
      await byToken('');
      assert.equal((await state()).state, 'signed-out');
      const { body } = await flow.get('accounts/account/clusters').expect(400);
      assert.equal(body.code, 'NOT_SIGNED_IN');
    });
  });

  describe('misconfigured', () => {
    const CASES: [what: string, account: object | null, credentials: object, names: RegExp][] = [
      ['the account host is missing', { authUrl: '' }, {}, /account host/],
      ['the account host is malformed', { authUrl: 'account.example' }, {}, /account host/],
      ['the API host is missing', { apiUrl: undefined }, {}, /API host/],
      ['the API host is remote and on plain http', { apiUrl: 'http://api.example' }, {}, /API host/],
      ['the client id is missing', {}, { clientId: '' }, /client ID/],
      ['the client secret is missing', {}, { clientSecret: undefined }, /client secret/],
      ['the storage path is malformed', { storagePath: 'x y' }, {}, /storage path/],
      ['the origin is malformed', { origin: 'here' }, {}, /origin/],
      ['the paths are malformed', { paths: '{' }, {}, /paths/],
      [
        'the token contains a line break',
        { signIn: 'token' },
        { apiToken: 'a\nb' },
        /setting apiToken contains a blank/,
      ],
      ['the account is missing', { id: 'other' }, {}, /Choose an account/],
      ['the account is disabled', { d: true }, {}, /Choose an account/],
    ];
    for (const [what, changes, credentials, names] of CASES)
      it(`ends every message in NOT_CONFIGURED when ${what}`, async () => {
        const account = { ...flow.account, ...changes };
        await flow.deploy([watchNode(), printNode(), ...around], {
          account,
          credentials: { account: { ...flow.credentials.account, ...credentials } },
          signIn: false,
        });
        const caught = flow.listen('caught');
        for (const id of ['watch', 'print']) {
          flow.send(id, { payload: id, filename: 'a.gcode', clusterId: 'c' });
          const { error } = await caught.find(({ payload }) => payload === id);
          const { code, message } = error as { code?: string; message: string };
          assert.equal(code, 'NOT_CONFIGURED');
          assert.match(message, names);
          assert.equal(flow.statuses(id).at(-1)?.text, 'status.error.NOT_CONFIGURED');
        }
        assert.equal(caught.all.length, 2);
        assert.equal(simulator.requests.count(), 0);
      });

    for (const [name, settings] of [
      ['clientSecret', {}],
      ['apiToken', { signIn: 'token' }],
      ['apiUrl', { apiUrl: '$(TEST_UNSET)' }],
    ] as const)
      it(`names the environment variable of ${name} that is not set`, async () => {
        const before = simulator.requests.count();
        const account = { ...flow.account, ...settings };
        const unused = name === 'apiToken' ? { clientSecret: '${TEST_UNUSED}' } : { apiToken: '${TEST_UNUSED}' };
        const credentials = {
          ...flow.credentials.account,
          ...unused,
          ...(name === 'apiUrl' ? {} : { [name]: '${TEST_UNSET}' }),
        };
        await flow.deploy([printNode(), ...around], { account, credentials: { account: credentials }, signIn: false });
        const caught = flow.listen('caught');
        flow.send('print', { payload: 'G28', filename: 'part.gcode', clusterId: 'any' });
        const error = (await caught.at(0)).error as { code: string; message: string };
        assert.equal(error.code, 'NOT_CONFIGURED');
        const sentence = `The setting ${name} names the environment variable TEST_UNSET, which is not set`;
        assert.ok(error.message.startsWith(sentence), error.message);
        assert.ok(String((await state()).error).startsWith(sentence));
        const { body } = await flow.post('accounts/account/test').expect(400);
        assert.ok(body.error.startsWith(sentence), body.error);
        assert.equal(simulator.requests.count(), before);
      });

    for (const [what, changes] of [
      ['a printer', { cluster: '${TEST_UNSET}' }],
      ['a printer, as a variable', { cluster: 'TEST_UNSET', clusterType: 'env' }],
      ['a timeout', { timeout: '${TEST_UNSET}' }],
      ['a choice', { source: '${TEST_UNSET}' }],
    ] as const)
      it(`names the environment variable of a node's setting that is not set: ${what}`, async () => {
        await flow.deploy([printNode(changes), ...around]);
        const caught = flow.listen('caught');
        flow.send('print', { payload: 'G28', filename: 'part.gcode', clusterId: 'any' });
        const error = (await caught.at(0)).error as { code: string; message: string };
        assert.equal(error.code, 'NOT_CONFIGURED');
        const [name] = Object.keys(changes);
        const sentence = `The setting ${name} names the environment variable TEST_UNSET, which is not set`;
        assert.ok(error.message.startsWith(sentence), error.message);
      });

    it('shows the fault in the editor', async () => {
      await flow.deploy([], { account: { ...flow.account, apiUrl: '' }, signIn: false });
      const { state: now, error } = await state();
      assert.equal(now, 'signed-out');
      assert.match(error, /API host/);
      for (const path of ['clusters', 'workspaces', 'diagnostics']) {
        const { body } = await flow.get(`accounts/account/${path}`).expect(400);
        assert.equal(body.code, 'NOT_CONFIGURED');
      }
    });

    it('works after a deploy that corrects the setting', async () => {
      await flow.deploy([watchNode(), ...around], { account: { ...flow.account, apiUrl: '' }, signIn: false });
      await flow.deploy([watchNode(), ...around]);
      await works();
    });
  });

  describe('with credentials changed by a deploy', () => {
    const redeploy = (changes: object) =>
      flow.deploy([], { credentials: { account: { ...flow.credentials.account, ...changes } }, signIn: false });
    beforeEach(() => flow.deploy([]));

    it('keeps the sign-in with another secret, and needs a new one when the service refuses that secret', async () => {
      await redeploy({ clientSecret: 'another' });
      assert.equal((await state()).state, 'signed-in');
      simulator.tokens.expireAccessTokens();
      const { body } = await flow.get('accounts/account/clusters').expect(400);
      assert.equal(body.code, 'NOT_SIGNED_IN');
      const { state: now, error } = await state();
      assert.equal(now, 'sign-in-needed');
      assert.match(error, /client secret|client ID/i);
      await redeploy({});
      assert.equal((await state()).state, 'signed-in');
      await works();
      assert.equal(simulator.tokens.refreshes, 1);
    });

    it('sends the tokens for no other client, and uses them again for the old one', async () => {
      const before = simulator.requests.count();
      await redeploy({ clientId: 'another' });
      assert.equal((await state()).state, 'signed-out');
      await flow.get('accounts/account/clusters').expect(400);
      assert.equal(simulator.requests.count(), before);
      await redeploy({});
      await works();
    });

    it('sends the tokens to no other host', async () => {
      const other = await startSimulator({ autoApprove: true });
      try {
        await flow.deploy([], {
          account: { ...flow.account, authUrl: other.authUrl, apiUrl: other.apiUrl },
          signIn: false,
        });
        assert.equal((await state()).state, 'signed-out');
        await flow.get('accounts/account/clusters').expect(400);
        assert.equal(other.requests.count(), 0);
      } finally {
        await other.close();
      }
    });
  });

  describe('redeployed during a token refresh', () => {
    for (const type of ['full', 'flows', 'nodes'] as const)
      for (const changed of ['account', 'watch'] as const)
        it(`refreshes once and stays signed in (${type} deploy, ${changed} changed)`, async () => {
          const deploy = (name: string) =>
            flow.deploy([watchNode({ name: changed === 'watch' ? name : '' }), ...around], {
              account: { ...flow.account, name: changed === 'account' ? name : '' },
              type,
              signIn: false,
            });
          await deploy('before');
          await flow.signIn();
          simulator.tokens.expireAccessTokens();
          const slow = simulator.faults.add({ endpoint: 'token', delay: 300 });
          flow.send('watch', { payload: 1 });
          await struck(slow);
          await flow.closesAtOnce(() => deploy('after'));
          assert.equal((await state()).state, 'signed-in');
          await works();
          assert.equal(simulator.tokens.refreshes, 1);
          assert.equal(simulator.tokens.reuseDetections, 0);
        });

    it('stores the refreshed tokens when Node-RED stops', async () => {
      await flow.deploy([watchNode(), ...around]);
      simulator.tokens.expireAccessTokens();
      const slow = simulator.faults.add({ endpoint: 'token', delay: 200 });
      flow.send('watch', { payload: 1 });
      await struck(slow);
      await flow.stop({ keep: true });
      flow = await Flow.start(simulator, flow.userDir);
      await flow.deploy([], { signIn: false });
      await works();
      assert.equal(simulator.tokens.refreshes, 1);
    });
  });

  describe('with the simulated service', () => {
    const simulated: Definition = { id: 'account', type: 'remote-printing-account', service: 'simulator' };
    const deploy = (nodes: Definition[] = []) => flow.deploy(nodes, { account: simulated, credentials: {} });

    it('offers its printers to the form of a new account, although the state is in a database', async () => {
      process.env.REMOTE_PRINTING_STATE_STORE = await (await testPostgres()).fresh();
      try {
        // Starts a process: each user directory has one.
        await flow.stop();
        flow = await Flow.start(simulator);
        await flow.deploy([], { signIn: false });
        const { body } = await flow.post('accounts/new/typed/clusters', { service: 'simulator' }).expect(200);
        assert.equal(body.length, 5);
      } finally {
        delete process.env.REMOTE_PRINTING_STATE_STORE;
      }
    });

    it('signs itself in, and marks everything as simulated', async () => {
      await deploy([watchNode(), ...around]);
      const status = flow.listen('status');
      const now = await state();
      assert.equal(now.state, 'signed-in');
      assert.equal(now.simulated, true);
      await works();
      flow.send('watch', {});
      assert.equal((await status.at(0)).simulated, true);
      const { body } = await flow.get('accounts/account/diagnostics').expect(200);
      assert.equal(body.simulated, true);
      for (const url of [body.settings.apiUrl, body.settings.authUrl]) assert.equal(new URL(url).hostname, '127.0.0.1');
      assert.match(flow.statuses('watch').at(-1)?.text ?? '', /status\.simulated$/);
    });

    it('sends no request to a real service', async () => {
      await flow.deploy([], { account: { ...flow.account, service: 'simulator' } });
      await works();
      assert.equal(simulator.requests.count(), 0);
    });

    it('keeps the simulated world across a redeploy and a restart', async () => {
      const nodes = [watchNode(), printNode(), ...around];
      await deploy(nodes);
      const [{ clusterId }] = (await flow.get('accounts/account/clusters').expect(200)).body;
      const caught = flow.listen('caught');
      const result = flow.listen('results');
      flow.send('print', { payload: ';TIME:7200\nG28\n', filename: 'kept.gcode', clusterId });
      const printed = await Promise.race([result.at(0), caught.at(0)]);
      assert.equal((printed.payload as { printed?: boolean }).printed, true, inspect(printed.error));
      const names = async () => {
        const status = flow.listen('status');
        flow.send('watch', { asked: true });
        const { payload } = await status.find(({ asked, topic }) => asked === true && topic === clusterId);
        return (payload as { jobs: { name: string }[] }).jobs.map(({ name }) => name);
      };
      // The simulator lists a new print with a delay.
      while ((await names()).length === 0);
      await deploy(nodes);
      assert.deepEqual(await names(), ['kept.gcode']);
      await flow.stop({ keep: true });
      flow = await Flow.start(simulator, flow.userDir);
      await deploy(nodes);
      assert.deepEqual(await names(), ['kept.gcode']);
    });

    it('can be signed out, and signs itself in again at the next deploy', async () => {
      await deploy();
      await flow.post('accounts/account/sign-out').expect(200);
      assert.equal((await state()).state, 'signed-out');
      await deploy();
      await works();
    });

    describe('a second account with the simulated service', () => {
      const second: Definition = { ...simulated, id: 'second' };
      const pageOf = async (id: string) => (await flow.get(`accounts/${id}`).expect(200)).body.simulatorUrl as string;
      const reach = async (page: string) => (await fetch(page)).status;

      it('shares one world, which stops with the last account', async () => {
        await flow.deploy([], { account: simulated, more: [second], credentials: {} });
        await works();
        await works('second');
        const page = await pageOf('account');
        assert.equal(await pageOf('second'), page);

        await flow.deploy([], { account: second, credentials: {}, type: 'nodes' });
        await flow.get('accounts/account').expect(404);
        await works('second');
        assert.equal(await pageOf('second'), page);
        assert.equal(await reach(page), 200);

        await flow.deploy([], { account: flow.account, signIn: false });
        await assert.rejects(reach(page));
      });

      it('signs in again after its world was deleted', async () => {
        await deploy();
        await flow.stop({ keep: true });
        await rm(join(flow.userDir, 'remote-printing-simulator'), { recursive: true });
        flow = await Flow.start(simulator, flow.userDir);
        await deploy();
        await works();
      });
    });

    it('starts with a week of prints', async () => {
      const node = { account: 'account', type: 'remote-printing-query', wires: [['status']] };
      const query = { ...node, id: 'query', query: 'print-jobs' };
      const report = { ...node, id: 'report', type: 'remote-printing-report-generator', wires: [['results']] };
      await deploy([query, report, ...around]);
      const [jobs, rows] = [flow.listen('status'), flow.listen('results')];
      flow.send('query', {});
      flow.send('report', {});
      const listed = (await jobs.at(0)).payload as { state: string; clusterJobId: string }[];
      const lines = (await rows.at(0)).payload as { job_uuid: string }[];
      const reported = new Set(lines.map((line) => line.job_uuid));
      for (const end of ['finished', 'failed', 'aborted']) {
        const ids = pluck(
          listed.filter(({ state }) => state === end),
          'clusterJobId',
        );
        assert.notEqual(ids.length, 0, end);
        assert.equal(ids.some((id) => reported.has(id)) ? end : '', end);
      }
    });
  });

  describe('a secret', () => {
    it('never appears in flows, statuses, messages, answers or the log', async () => {
      const secrets = new Set<string>([simulator.client.secret]);
      simulator.faults.add({
        endpoint: 'token',
        times: 'always',
        transform: (body) => {
          const { access_token: access, refresh_token: refresh } = body as Record<string, string>;
          for (const secret of [access, refresh]) if (secret) secrets.add(secret);
          return body;
        },
      });
      await flow.deploy([watchNode(), printNode(), ...around]);
      const inboxes = ['status', 'results', 'caught'].map((id) => flow.listen(id));
      const answers: unknown[] = [];
      simulator.tokens.expireAccessTokens();
      flow.send('watch', { turn: 1 });
      await inboxes[0]?.find(({ turn }) => turn === 1);
      for (const path of ['', '/clusters', '/workspaces', '/diagnostics'])
        answers.push((await flow.get(`accounts/account${path}`)).body);
      simulator.tokens.revokeGrants();
      flow.send('watch', { turn: 2 });
      await inboxes[2]?.find(({ turn }) => turn === 2);
      answers.push(await state());
      assert.equal(secrets.size, 5);

      const flows: unknown = (helper as unknown as { _redNodes: { getFlows(): unknown } })._redNodes.getFlows();
      const statuses = ['watch', 'print'].map((id) => flow.statuses(id));
      const messages = inboxes.map(({ all }) =>
        all.map(({ error, ...msg }) => [msg, inspect(error, { depth: Infinity, showHidden: true })]),
      );
      for (const [where, found] of Object.entries({ flows, statuses, messages, answers, log: logged() })) {
        const text = inspect(found, { depth: Infinity, maxArrayLength: Infinity, maxStringLength: Infinity });
        for (const secret of secrets) assert.ok(!text.includes(secret), `A secret stands in the ${where}.`);
      }
      assert.ok(logged().length > 0);
    });
  });

  describe('state on disk', () => {
    const folder = () => join(flow.userDir, 'remote-printing');
    const grantFile = async () => {
      const [name = ''] = await readdir(join(folder(), 'grant'));
      return join(folder(), 'grant', name);
    };
    let secret: string;
    /** Sets settings of the runtime. */
    const useSettings = (settings: Record<string, unknown>) =>
      Object.assign(helper.settings(undefined as never), { get: (name: string) => settings[name] });
    const useSecret = () =>
      useSettings({
        get credentialSecret() {
          return secret;
        },
      });

    it('is readable by its owner only', async () => {
      await flow.deploy([]);
      const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
      assert.equal(await mode(join(folder(), 'grant')), '700');
      assert.equal(await mode(await grantFile()), '600');
    });

    it('is encrypted with the key of the active project, also after another project was opened', async () => {
      const keyOf = (name: string) => ({ credentialSecret: `the key of ${name}` });
      const projects = { first: keyOf('first'), second: keyOf('second'), third: {} };
      const open = (activeProject: string) => useSettings({ projects: { activeProject, projects } });
      for (const activeProject of ['second', 'first', 'third']) {
        open(activeProject);
        await flow.deploy([], activeProject === 'second' ? {} : { signIn: false });

        assert.equal((await state()).state, 'signed-in', activeProject);
        const content = await readFile(await grantFile(), 'utf8');
        for (const token of simulator.tokens.refreshTokens) assert.ok(!content.includes(token));
      }
      const warned = logged().filter(({ msg }) => String(msg).includes('are stored unencrypted'));
      assert.equal(warned.length, 0);
    });

    it('is announced once if nothing encrypts it', async () => {
      useSettings({});
      await flow.deploy([]);
      await flow.deploy([], { signIn: false });
      const warned = logged().filter(({ msg }) => String(msg).includes('are stored unencrypted'));
      assert.deepEqual([warned.length, (await readFile(await grantFile(), 'utf8')).includes('accessToken')], [1, true]);
    });

    it('is encrypted with the credential secret, and is set aside with a warning under another secret', async () => {
      secret = 'first secret';
      useSecret();
      await flow.deploy([]);
      const content = await readFile(await grantFile(), 'utf8');
      // Searches for long words only: a short one can occur in the ciphertext by chance.
      for (const token of [...simulator.tokens.refreshTokens, 'accessToken', 'refreshToken'])
        assert.ok(!content.includes(token));
      secret = 'second secret';
      await flow.deploy([], { signIn: false });
      assert.equal((await state()).state, 'signed-out');
      const names = await readdir(join(folder(), 'grant'));
      assert.ok(names.some((name) => name.includes('.damaged-')));
      assert.ok(logged().some(({ msg }) => String(msg).includes('decrypted')));
    });

    for (const [what, content] of [
      ['empty', ''],
      ['cut', '{"version":1,"key":["grant"'],
      ['of another kind', '[]'],
    ] as const)
      it(`is set aside when a file is ${what}; the account continues signed out`, async () => {
        await flow.deploy([]);
        const file = await grantFile();
        await writeFile(file, content);
        await flow.deploy([], { signIn: false });
        assert.equal((await state()).state, 'signed-out');
        assert.ok(!(await readdir(join(folder(), 'grant'))).some((name) => name.endsWith('.json')));
        assert.ok(logged().some(({ msg }) => String(msg).includes('set aside')));
        await flow.signIn();
        await works();
      });

    for (const value of [null, {}, [], 'x', 5, { byService: [] }, { byService: { service: null } }])
      it(`is set aside with another shape, ${JSON.stringify(value)}; the account continues signed out`, async () => {
        useSettings({});
        await flow.deploy([]);
        const file = await grantFile();
        await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), value }));
        await flow.deploy([], { signIn: false });
        assert.deepEqual(await state(), SIGNED_OUT);
        assert.ok(logged().some(({ msg }) => String(msg).includes('The saved grant is damaged; it was set aside')));
        await flow.signIn();
        await works();
      });

    for (const [what, leave] of [
      ['leaves an empty mount point', mkdir],
      ['is not there', () => Promise.resolve()],
    ] as const)
      it(`is unreadable while its folder ${what}, and is used again when the folder is back`, async () => {
        await flow.deploy([]);
        await rename(folder(), `${folder()}-away`);
        await leave(folder());
        simulator.tokens.expireAccessTokens();
        const { body } = await flow.get('accounts/account/clusters').expect(400);
        assert.equal(body.code, 'FILE_NOT_READABLE');
        assert.match(String(body.error), /is away or was replaced/);
        await rm(folder(), { recursive: true, force: true });
        await rename(`${folder()}-away`, folder());
        // The renewal is repeated within seconds.
        while ((await flow.get('accounts/account/clusters')).status !== 200) await pause(100);
      });

    it('is used as soon as the share of its folder is mounted, also if that is after the start', async () => {
      const room = await mkdtemp(join(tmpdir(), 'share-'));
      const share = join(room, 'share');
      await mkdir(share);
      process.env.REMOTE_PRINTING_STATE_STORE = join(share, 'printing');
      try {
        /** Starts a process: each user directory has one. */
        const again = async (signIn: boolean) => {
          await flow.stop();
          flow = await Flow.start(simulator);
          await flow.deploy([watchNode(), ...around], { signIn });
        };
        await again(true);
        await rename(share, `${share}-away`);
        await again(false);
        const { body } = await flow.get('accounts/account/clusters').expect(400);
        assert.equal(body.code, 'FILE_NOT_READABLE');
        assert.ok(logged().some(({ msg }) => /The parent folder of the state folder .+ is missing/.test(String(msg))));
        await rename(`${share}-away`, share);
        // The sign-in is read again within seconds.
        while ((await state()).state !== 'signed-in') await pause(100);
        while (flow.statuses('watch').at(-1)?.text !== 'status.clusters') await pause(100);
        await works();
      } finally {
        delete process.env.REMOTE_PRINTING_STATE_STORE;
        await rm(room, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
      }
    });
  });
});
