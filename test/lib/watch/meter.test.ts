import assert from 'node:assert/strict';
import type { WatchMeter } from '../../../lib/watch/watcher';
import { answer, at } from '../events/observations';
import { broken, ScriptedAccount } from './scripted-account';

const MINUTE = 60_000;

describe('watch/watcher, figures of the polls', () => {
  let account: ScriptedAccount;
  let lags: number[];
  let ends: string[];

  beforeEach(() => {
    account = new ScriptedAccount();
    [lags, ends] = [[], []];
    const meter: WatchMeter = {
      turnStarted: (lag) => lags.push(lag),
      derived: (clusterId, drafts) =>
        drafts.forEach(
          ({ event }) => event.type === 'job.finished' && ends.push(`${clusterId} ${event.job?.clusterJobId}`),
        ),
    };
    account.meter = meter;
    account.deploy();
    account.service.cluster('C1', answer({ print_jobs: [at('a', 'printing', 50)] }));
  });
  afterEach(() => account.watcher.close());

  const finish = () => account.service.cluster('C1', answer({ recently_completed: [at('a', 'finished', 100)] }));

  it('measures the delay of a poll that was due, but not of a requested one', async () => {
    const { poll } = await account.watched('C1');
    await account.clock.advance(MINUTE);
    assert.ok(lags.length > 1 && lags.every((lag) => lag >= 0 && lag < 200), String(lags));
    lags = [];
    await poll();
    assert.deepEqual(lags, []);
    await account.clock.stall(MINUTE + 3_000);
    assert.ok(Math.max(...lags) >= 3_000, String(lags));
  });

  it('reports the end of a print that a node watches once', async () => {
    await account.watched('C1');
    finish();
    await account.clock.advance(5 * MINUTE);
    assert.deepEqual(ends, ['C1 a']);
  });

  it('reports the end of a print once that no node watches', async () => {
    const release = account.watcher.hold('C1');
    await account.clock.advance(MINUTE);
    finish();
    await account.clock.advance(5 * MINUTE);
    assert.deepEqual(ends, ['C1 a']);
    release();
  });

  it('names the clusters that are polled, and those that cannot be read', async () => {
    account.service.cluster('C2');
    assert.deepEqual([...account.watcher.polled()], []);
    const one = account.watch('C1');
    account.watch('C2');
    await account.clock.advance(MINUTE);
    const polled = () => [...account.watcher.polled()].map(({ clusterId, isStale }) => `${clusterId} ${isStale}`);
    assert.deepEqual(polled(), ['C1 false', 'C2 false']);
    account.service.fails = (call) => (call === 'clusterStatus C2' ? broken() : undefined);
    await account.clock.advance(2 * MINUTE);
    assert.deepEqual(polled(), ['C1 false', 'C2 true']);
    one.pause();
    assert.deepEqual(polled(), ['C2 true']);
    one.resume();
    account.signIn.become('sign-in-needed');
    assert.deepEqual(polled(), ['C1 true', 'C2 true']);
  });
});
