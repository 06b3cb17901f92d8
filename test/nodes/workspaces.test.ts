import assert from 'node:assert/strict';
import { startSimulator, type Simulator } from '../../simulator';
import { followTo } from '../helpers/browser';
import { Flow, helperNode, REDIRECT, type Definition, type Inbox } from '../helpers/flow';

describe('nodes/workspaces', () => {
  let simulator: Simulator;
  let flow: Flow;

  beforeEach(async () => {
    simulator = await startSimulator({ autoApprove: true, printers: 3 });
    flow = await Flow.start(simulator);
  });
  afterEach(async () => {
    await flow.stop();
    await simulator.close();
  });

  const workspaces = () => simulator.users[0]?.organizations ?? [];
  const workspaceId = (index: number) => workspaces()[index]?.organizationId ?? '';
  const clusterIds = (index: number) => simulator.world.clusters(workspaceId(index)).map(({ clusterId }) => clusterId);
  const account = (id: string, changes = {}): Definition => ({ ...flow.account, id, ...changes });
  const credentials = (...ids: string[]) => Object.fromEntries(ids.map((id) => [id, flow.credentials.account]));
  const state = async (id: string) => (await flow.get(`accounts/${id}`).expect(200)).body as Record<string, unknown>;
  const listed = async (id: string) =>
    ((await flow.get(`accounts/${id}/clusters`).expect(200)).body as { clusterId: string }[]).map(
      ({ clusterId }) => clusterId,
    );

  it('lists the workspaces of the signed-in user, and names the current one', async () => {
    await flow.deploy([]);
    const { body } = await flow.get('accounts/account/workspaces').expect(200);
    assert.deepEqual(body, [
      { id: workspaceId(0), name: workspaces()[0]?.organizationName },
      { id: workspaceId(1), name: null },
    ]);
    assert.equal((await state('account')).organizationId, workspaceId(0));
  });

  it('lists workspaces by name when the service returns objects', async () => {
    await flow.deploy([]);
    simulator.faults.add({
      endpoint: 'currentUser',
      set: {
        'data.organization_memberships': workspaces().map(({ organizationId, organizationName }) => ({
          id: organizationId,
          name: organizationName,
          role: 'admin',
        })),
      },
    });
    const { body } = await flow.get('accounts/account/workspaces').expect(200);
    const named = workspaces().map(({ organizationId, organizationName }) => ({
      id: organizationId,
      name: organizationName,
    }));
    assert.deepEqual(body, named);
  });

  it('changes the workspace with a sign-in that names another one', async () => {
    await flow.deploy([]);
    assert.deepEqual(await listed('account'), clusterIds(0));
    await flow.signInAnew('account', { organizationId: workspaceId(1) });
    assert.equal((await state('account')).organizationId, workspaceId(1));
    assert.deepEqual(await listed('account'), clusterIds(1));
    // A redeploy keeps the workspace, which belongs to the sign-in.
    await flow.deploy([], { signIn: false });
    assert.deepEqual(await listed('account'), clusterIds(1));
  });

  it('keeps the workspace when the service denies access to the other one', async () => {
    await flow.deploy([]);
    const { body } = await flow.post('accounts/account/sign-in', { redirectUri: REDIRECT, organizationId: 'none' });
    await assert.rejects(followTo((body as { authorizeUrl: string }).authorizeUrl, REDIRECT), /403/);
    assert.equal((await state('account')).organizationId, workspaceId(0));
    assert.deepEqual(await listed('account'), clusterIds(0));
  });

  it('keeps the workspace after a refreshed token that names none, without a repeated print or a lost event', async () => {
    const clusterId = clusterIds(0)[0] ?? '';
    await flow.deploy([
      {
        id: 'print',
        type: 'remote-printing-upload-and-print',
        account: 'account',
        source: 'payload',
        wires: [['out'], []],
      },
      {
        ...{ id: 'watch', type: 'remote-printing-cluster-status', account: 'account', interval: 3600 },
        ...{ cluster: clusterId, clusterType: 'str', wires: [['status'], ['events']] },
      },
      ...['out', 'status', 'events'].map(helperNode),
    ]);
    const [out, status, events] = ['out', 'status', 'events'].map((id) => flow.listen(id)) as [Inbox, Inbox, Inbox];
    const print = async (turn: number) => {
      const GCODE = ';FLAVOR:Marlin\n;TIME:600\nG28\n';
      flow.send('print', { payload: GCODE, filename: 'a.gcode', clusterId, printKey: 'k', turn });
      return (await out.find((msg) => msg.turn === turn)).payload as { duplicate: boolean; clusterJobId: string };
    };
    const look = async (turn: number) => {
      flow.send('watch', { turn });
      await status.find((msg) => msg.turn === turn);
    };
    // A look joins a poll under way; one from before the print would miss it.
    await status.at(0);
    const first = await print(1);
    await look(1);
    Object.assign(simulator.tokens, { userClaims: () => ({}) });
    simulator.tokens.expireAccessTokens();
    simulator.world.advance(2000);
    await look(2);
    const repeat = await print(2);
    assert.equal(simulator.tokens.refreshes, 1);
    assert.deepEqual([repeat.duplicate, repeat.clusterJobId], [true, first.clusterJobId]);
    assert.equal(simulator.requests.count('print'), 1);
    await events.find(({ topic }) => topic === 'job.finished');
    assert.equal(events.all.filter(({ topic }) => topic === 'job.finished').length, 1);
    const { user, organizationId } = await state('account');
    assert.deepEqual([user, organizationId], [simulator.users[0]?.username, workspaceId(0)]);
  });

  describe('each of two accounts in two workspaces', () => {
    const accounts = () => ({
      account: account('account', { organizationId: workspaceId(0) }),
      more: [account('school', { organizationId: workspaceId(1) })],
      credentials: credentials('account', 'school'),
      signIn: false,
    });
    const flowNodes = () => [
      ...['account', 'school'].map((id) => ({
        id: `clusters-of-${id}`,
        type: 'remote-printing-cluster-status',
        account: id,
        cluster: '',
        interval: 60,
        wires: [[`seen-by-${id}`], []],
      })),
      ...['account', 'school'].map((id) => helperNode(`seen-by-${id}`)),
    ];
    const deploy = () => flow.deploy(flowNodes(), accounts());
    /** Clusters of the messages of one poll. */
    const seen = async (id: string, count: number) => {
      const inbox = flow.listen(`seen-by-${id}`);
      flow.send(`clusters-of-${id}`, {});
      await inbox.at(count - 1);
      return inbox.all.map(({ clusterId }) => clusterId);
    };

    beforeEach(async () => {
      await deploy();
      await flow.signInAnew('account');
      await flow.signInAnew('school');
    });

    it('has its own user, clusters and messages', async () => {
      assert.equal((await state('account')).organizationId, workspaceId(0));
      assert.equal((await state('school')).organizationId, workspaceId(1));
      assert.deepEqual(await listed('account'), clusterIds(0));
      assert.deepEqual(await listed('school'), clusterIds(1));
      assert.deepEqual(await seen('account', 3), clusterIds(0));
      assert.deepEqual(await seen('school', 1), clusterIds(1));
    });

    it("can't reach the other's clusters", async () => {
      const foreign = clusterIds(1)[0];
      const request = { id: 'request', type: 'remote-printing-request', method: 'GET', account: 'account' };
      const catching = { id: 'catch', type: 'catch', scope: ['request'], wires: [['caught']] };
      const path = `/connect/v1/clusters/${foreign}/status`;
      await flow.deploy([{ ...request, path, pathType: 'str' }, catching, helperNode('caught')], accounts());
      const caught = flow.listen('caught');
      flow.send('request', {});
      const { code, message } = (await caught.at(0)).error as { code: string; message: string };
      assert.equal(code, 'NOT_FOUND');
      assert.match(message, /^The .*\.$/, 'a sentence without the name of a class');
    });

    it('refreshes its tokens separately', async () => {
      simulator.tokens.expireAccessTokens();
      await Promise.all([listed('account'), listed('school'), listed('account'), listed('school')]);
      assert.equal(simulator.tokens.refreshes, 2);
      assert.equal(simulator.tokens.reuseDetections, 0);
    });

    it('is signed out separately and permanently', async () => {
      await flow.post('accounts/school/sign-out').expect(200);
      assert.equal((await state('school')).state, 'signed-out');
      const { body } = await flow.get('accounts/school/clusters').expect(400);
      assert.equal(body.code, 'NOT_SIGNED_IN');
      assert.deepEqual(await listed('account'), clusterIds(0));
      await deploy();
      assert.equal((await state('school')).state, 'signed-out');
      assert.equal((await state('account')).state, 'signed-in');
      await flow.signInAnew('school');
      assert.deepEqual(await listed('school'), clusterIds(1));
    });

    it('has its own diagnostics, with shortened ids and without secrets', async () => {
      await listed('school');
      const { body } = await flow.get('accounts/school/diagnostics').expect(200);
      assert.equal(body.state, 'signed-in');
      assert.ok(body.counters.requests >= 1);
      assert.equal(body.settings.organizationId, `${workspaceId(1).slice(0, 6)}…`);
      const text = JSON.stringify(body);
      const { secret } = simulator.client;
      for (const hidden of [secret, workspaceId(1), ...clusterIds(1)]) assert.ok(!text.includes(hidden));
      assert.doesNotMatch(text, /eyJ|refresh_token|access_token/);
    });
  });

  describe('an overridden path', () => {
    const paths = { currentUser: 'GET {auth_url}/check-token', printJobs: 'GET /connect/v1/clusters' };

    it('replaces the path of requests', async () => {
      const query = { id: 'query', type: 'remote-printing-query', account: 'account', query: 'print-jobs' };
      await flow.deploy([{ ...query, wires: [['found']] }, helperNode('found')], {
        account: account('account', { paths: JSON.stringify(paths) }),
      });
      simulator.requests.clear();
      await flow.get('accounts/account/workspaces').expect(200);
      const found = flow.listen('found');
      flow.send('query', {});
      await found.at(0);
      assert.deepEqual(
        simulator.requests.list().map(({ origin, method, path }) => `${origin}: ${method} ${path}`),
        ['auth: GET /check-token', 'api: GET /connect/v1/clusters'],
      );
    });

    it('appears in the diagnostics', async () => {
      await flow.deploy([], { account: account('account', { paths: JSON.stringify(paths) }) });
      const { body } = await flow.get('accounts/account/diagnostics').expect(200);
      assert.deepEqual(body.settings.overriddenPaths, ['currentUser', 'printJobs']);
    });

    it('prevents the account from starting when it is invalid, and is named', async () => {
      const wrong: [string, RegExp][] = [
        ['{', /not JSON/],
        ['[]', /JSON object/],
        ['{"clusters":"GET /x"}', /"clusters" is not a name/],
        ['{"currentUser":"PATCH /x"}', /"currentUser" must look like/],
        ['{"currentUser":"GET users"}', /"currentUser" must look like/],
        ['{"currentUser":"GET https://evil.example/"}', /"currentUser" must look like/],
        ['{"currentUser":"GET //evil.example/"}', /"currentUser" contains/],
        ['{"currentUser":"GET /a/../b"}', /"currentUser" contains/],
        ['{"jobAction":"POST /x/{job}"}', /unknown path parameter \{job\}/],
      ];
      for (const [text, says] of wrong) {
        await flow.deploy([], { account: account('account', { paths: text }), signIn: false });
        const { error, state: shown } = await state('account');
        assert.match(String(error), says, text);
        assert.equal(shown, 'signed-out');
        const { body } = await flow.get('accounts/account/clusters').expect(400);
        assert.equal(body.code, 'NOT_CONFIGURED', text);
      }
    });
  });
});
