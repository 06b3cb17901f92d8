import assert from 'node:assert/strict';
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
});
