import assert from 'node:assert/strict';
import { startSimulator, type Simulator } from '../../simulator';
import { Flow } from '../helpers/flow';

const TOKEN = 'a token of ${its} own';
const watch = { id: 'watch', type: 'remote-printing-cluster-status', account: 'account', interval: 60 };

describe('nodes/metrics', () => {
  let simulator: Simulator;
  let flow: Flow;

  before(async () => {
    simulator = await startSimulator({ autoApprove: true, printers: 3 });
  });
  after(() => simulator.close());
  beforeEach(async () => {
    flow = await Flow.start(simulator);
  });
  afterEach(() => flow.stop());

  const deploy = (account: object, token = '', nodes: Parameters<Flow['deploy']>[0] = []) => {
    const { account: credentials } = flow.credentials;
    return flow.deploy(nodes, {
      account: { ...flow.account, ...account },
      credentials: { account: { ...credentials, ...(token && { metricsToken: token }) } },
    });
  };
  const metrics = (token?: string) => {
    const request = flow.get('metrics');
    return token === undefined ? request : request.set('Authorization', `Bearer ${token}`);
  };
  /** The text of the metrics once it fulfils the condition. */
  const until = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const { text } = await metrics().expect(200);
      if (pattern.test(text)) return text;
    }
  };

  it('answers 404 while no account has its metrics on', async () => {
    await metrics().expect(404);
    await deploy({});
    await metrics().expect(404);
    await deploy({}, 'token');
    await metrics('token').expect(404);
  });

  it('shows the printers that are polled, without a request of its own', async () => {
    await deploy({ metrics: true, name: 'Farm' }, '', [watch]);
    // No poll is under way any more once all printers were polled.
    const text = await until(
      /(remote_printing_printer_online\{account="account",cluster="[^"]+",printer="[^"]+",name="[^"]+"\} 1\n){3}/,
    );
    assert.match(text, /account_info\{account="account",name="Farm",simulated="false"\} 1\n/);
    assert.match(text, /sign_in_state\{account="account",state="signed-in"\} 1\n/);
    assert.match(text, /requests_total\{account="account",code="200"\} \d+\n/);
    assert.match(text, /poll_lag_seconds_count\{account="account"\} [1-9]/);
    assert.match(text, /store_seconds_count\{account="account",operation="write"\} [1-9]/);
    const before = simulator.requests.count();
    for (let nth = 0; nth < 10; nth++) await metrics().expect(200);
    assert.equal(simulator.requests.count(), before);
  });

  it('answers in the format that the client accepts', async () => {
    await deploy({ metrics: true });
    const prometheus =
      'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
    for (const [accept, type, end] of [
      [prometheus, 'application/openmetrics-text; version=1.0.0; charset=utf-8', true],
      ['text/plain', 'text/plain; version=0.0.4; charset=utf-8', false],
      ['*/*', 'text/plain; version=0.0.4; charset=utf-8', false],
      ['image/png', 'text/plain; version=0.0.4; charset=utf-8', false],
    ] as const) {
      const response = await metrics()
        .set('Accept', accept)
        .buffer(true)
        .parse((answer, done) => {
          let body = '';
          answer.setEncoding('utf8');
          answer.on('data', (piece: string) => (body += piece));
          answer.on('end', () => done(null, body));
        })
        .expect(200);
      assert.equal(response.headers['content-type'], type, accept);
      assert.equal((response.body as string).endsWith('# EOF\n'), end, accept);
      assert.equal(response.headers['cache-control'], 'no-store');
    }
  });

  it("shows an account with a token to that token's holder only", async () => {
    const token = TOKEN.replaceAll(/[^a-z]/g, '-');
    await deploy({ metrics: true }, token);
    const refused = await metrics().expect(401);
    assert.equal(refused.headers['www-authenticate'], 'Bearer');
    for (const wrong of ['', 'x', token.slice(1), token.slice(0, -1), `${token}x`, token.toUpperCase()])
      await metrics(wrong).expect(401);
    await metrics(token).expect(200);
    await flow.get('metrics').set('Authorization', `bearer ${token}`).expect(200);
    await flow.get('metrics').set('Authorization', `Basic ${token}`).expect(401);
  });

  it('shows each of two accounts by its own token, and one without a token to all', async () => {
    const other = { ...flow.account, id: 'other', metrics: true };
    const open = { ...flow.account, id: 'open', metrics: true };
    const { account: credentials } = flow.credentials;
    await flow.deploy([], {
      account: { ...flow.account, metrics: true },
      more: [other, open],
      credentials: {
        account: { ...credentials, metricsToken: 'first' },
        other: { ...credentials, metricsToken: 'second' },
        open: credentials,
      },
    });
    const shown = async (token?: string) =>
      [...(await metrics(token).expect(200)).text.matchAll(/account_info\{account="(\w+)"/g)].map(([, id]) => id);
    assert.deepEqual(await shown('first'), ['account']);
    assert.deepEqual(await shown('second'), ['other']);
    assert.deepEqual(await shown(), ['open']);
    await metrics('third').expect(401);
  });

  it('keeps its counts over a deploy', async () => {
    await deploy({ metrics: true }, '', [watch]);
    await until(/requests_total\{account="account",code="200"\} [1-9]/);
    const count = async () => Number(/code="200"\} (\d+)/.exec((await metrics().expect(200)).text)?.[1]);
    const before = await count();
    await deploy({ metrics: true, name: 'again' });
    assert.ok((await count()) >= before);
  });
});
