import assert from 'node:assert/strict';
import { systemClock } from '../../lib/time/clock';
import type { Fault, Simulator, SimulatorOptions } from '../../simulator';
import type { Flow } from '../helpers/flow';
import type { TurnedTime } from '../helpers/turned-time';
import { codeOf, TimedBench } from './support';

const LIFETIME = 600;

/** What a user sees of an account while the service answers its renewals badly. */
describe('nodes/account: a renewal that fails', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;
  const bench = new TimedBench('results');
  const query = {
    ...{ id: 'query', type: 'remote-printing-query', account: 'account', query: 'clusters' },
    timeout: 60,
  };

  async function start(options: SimulatorOptions = {}): Promise<void> {
    ({ time, simulator, flow } = await bench.start({ accessTokenLifetime: LIFETIME, ...options }));
    await time.until(bench.deploy([{ ...query, wires: [['results']] }]));
  }
  afterEach(() => bench.stop());

  const ask = async () => {
    const { error, took } = await bench.run('query');
    return { code: codeOf(error) ?? 'answered', took };
  };
  const state = async () => (await time.until(Promise.resolve(flow.get('accounts/account')))).body;
  /** Lets the access token expire, and the next renewals meet this fault. */
  async function failing(fault: Omit<Fault, 'endpoint'>): Promise<{ hits: number }> {
    assert.equal((await ask()).code, 'answered');
    await time.pass(LIFETIME + 1);
    return simulator.faults.add({ endpoint: 'token', ...fault });
  }

  it('delays a message by seconds after one reset', async () => {
    await start();
    await failing({ reset: true });
    const { code, took } = await ask();
    assert.equal(code, 'answered');
    assert.ok(took < 5, `${took} s`);
  });

  it('delays a message by seconds after two resets in a row', async () => {
    await start();
    const fault = await failing({ reset: true, times: 2 });
    const { code, took } = await ask();
    assert.equal(code, 'answered');
    assert.ok(took < 15, `${took} s`);
    assert.deepEqual([fault.hits, simulator.tokens.refreshes], [2, 1]);
  });

  it('shows the error while it lasts, and none 60 s after its end', async () => {
    await start();
    const { authUrl } = simulator;
    await failing({ reset: true, times: 'always' });
    await ask();
    const { state: shown, error } = await state();
    assert.equal(shown, 'signed-in');
    assert.ok(error.includes(new URL(authUrl).host), error);
    simulator.faults.clear();
    await time.pass(60);
    assert.equal((await state()).error, null);
  });

  for (const [name, fault] of [
    ['resets', { reset: true }],
    ['500s', { status: 500 }],
    ['502 pages', { status: 502, html: true }],
  ] as const)
    it(`works again within 60 s of the end of ${name} that lasted for an hour`, async () => {
      await start();
      await failing({ ...fault, times: 'always' });
      assert.notEqual((await ask()).code, 'answered');
      await time.pass(3600);
      simulator.faults.clear();
      await time.pass(60);
      assert.deepEqual(await ask(), { code: 'answered', took: 0 });
      assert.equal(simulator.tokens.refreshes, 1);
    });

  for (const [name, refreshTokenGrace] of [
    ['gives 30 s of grace', 30],
    ['detects no reuse', Infinity],
  ] as const)
    it(`stays signed in if the answers were lost and the service ${name}`, async () => {
      await start({ refreshTokenGrace });
      await failing({ when: 'after', reset: true, times: 2 });
      await ask();
      await time.pass(10);
      assert.equal((await ask()).code, 'answered');
      assert.equal(simulator.tokens.reuseDetections, 0);
    });

  it('shows within 60 s that a sign-in is needed if the lost answer had spent the token', async () => {
    await start();
    await failing({ when: 'after', reset: true });
    const { code, took } = await ask();
    assert.equal(code, 'NOT_SIGNED_IN');
    assert.ok(took < 60, `${took} s`);
    const { state: shown, error } = await state();
    assert.equal(shown, 'sign-in-needed');
    assert.match(error, /sign in again/);
  });

  describe('while a form renews it', () => {
    const FORMS = [
      ['a connection test', 30, () => flow.post('accounts/account/test')],
      ['a picker of undeployed settings', 60, () => flow.post('accounts/account/typed/clusters', { name: 'other' })],
    ] as const;
    const seconds = async (work: () => PromiseLike<unknown>): Promise<number> => {
      const began = systemClock.monotonic();
      await time.until(Promise.resolve(work()));
      return (systemClock.monotonic() - began) / 1000;
    };

    for (const [name, limit, press] of FORMS) {
      it(`ends ${name} in its time, and a sign-out at once, although the account host is silent`, async () => {
        await start();
        await failing({ hang: true, times: 'always' });
        const took = await seconds(press);
        assert.ok(took <= limit, `${took} s`);
        const signedOut = await seconds(() => flow.post('accounts/account/sign-out').expect(200));
        assert.ok(signedOut < 1, `${signedOut} s`);
      });

      it(`sends no request of ${name} during the pause that the service has asked for`, async () => {
        await start();
        const fault = await failing({ status: 429, retryAfter: 600, times: 'always' });
        for (let n = 0; n < 3; n++) await seconds(press);
        assert.equal(fault.hits, 1);
        await time.pass(300);
        await seconds(press);
        assert.equal(fault.hits, 1);
      });
    }
  });
});
