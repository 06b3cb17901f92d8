import assert from 'node:assert/strict';
import { startSimulator, type Simulator } from '../../simulator';
import { followTo } from '../helpers/browser';
import { Flow } from '../helpers/flow';

const REDIRECT = 'http://127.0.0.1:1880/remote-printing/callback';

describe('nodes/account', () => {
  let simulator: Simulator;
  let flow: Flow;

  before(async () => {
    simulator = await startSimulator({ autoApprove: true });
  });
  after(() => simulator.close());
  beforeEach(async () => {
    flow = await Flow.start(simulator);
  });
  afterEach(() => flow.stop());

  it('is signed out at first, signed in after the round trip, and signed out again', async () => {
    await flow.deploy([], { signIn: false });
    const { body: before } = await flow.get('accounts/account').expect(200);
    assert.deepEqual(before, {
      state: 'signed-out',
      user: null,
      organizationId: null,
      expiresAt: null,
      error: null,
      simulated: false,
    });
    await flow.signIn();
    const { body: after } = await flow.get('accounts/account').expect(200);
    assert.equal(after.state, 'signed-in');
    assert.ok(simulator.users.some(({ username }) => username === after.user));
    assert.ok(Date.parse(after.expiresAt) > Date.now());
    await flow.post('accounts/account/sign-out').expect(200);
    const { body: last } = await flow.get('accounts/account');
    assert.equal(last.state, 'signed-out');
  });

  it('signs in before the first deploy, by pasting the address', async () => {
    const { authUrl, apiUrl, client } = simulator;
    await flow.get('accounts/new').expect(404);
    const typed = { authUrl, apiUrl, clientId: client.id, clientSecret: client.secret, redirectUri: REDIRECT };
    const { body } = await flow.post('accounts/new/sign-in', typed).expect(200);
    assert.equal(body.redirectUri, REDIRECT);
    const back = await followTo(body.authorizeUrl, REDIRECT);
    await flow.post('accounts/new/sign-in/complete', { url: back.href }).expect(200);
    const { body: state } = await flow.get('accounts/new').expect(200);
    assert.equal(state.state, 'signed-in');
    await flow.deploy([], {
      account: { ...flow.account, id: 'new' },
      credentials: { new: flow.credentials.account },
      signIn: false,
    });
    const { body: deployed } = await flow.get('accounts/new').expect(200);
    assert.equal(deployed.state, 'signed-in');
    const { body: clusters } = await flow.get('accounts/new/clusters').expect(200);
    assert.equal(clusters.length, 3);
  });
});
