import assert from 'node:assert/strict';
import { answer } from '../events/observations';
import { Replicas } from './replicas';
import { broken, limited, ScriptedAccount } from './scripted-account';

const MINUTE = 60_000;

describe('Watcher: a held cluster', () => {
  let account: ScriptedAccount;
  let service: ScriptedAccount['service'];
  let clock: ScriptedAccount['clock'];
  let told: string[];

  beforeEach(() => {
    account = new ScriptedAccount();
    ({ service, clock } = account);
    told = [];
    service.cluster('C1');
  });
  afterEach(async () => {
    await account.watcher.close();
    assert.equal(clock.waiting, 0, 'no timer remains');
  });

  const hold = (clusterId = 'C1') => {
    account.watcher.onObservation((id) => void told.push(`${id} seen`));
    return account.watcher.hold(clusterId, {
      missing: (since) => void told.push(Number.isFinite(since) ? `missing for ${clock.monotonic() - since}` : 'moved'),
      listed: ({ online, stale }) =>
        void told.push(`listed, ${online ? 'online' : 'offline'}, ${stale ? 'stale' : ''}`),
    });
  };
  const toldAfter = async (ms: number) => {
    told.length = 0;
    await clock.advance(ms);
    return told;
  };

  it('is missing once two polls in a row have not found it, and is seen again with the first that does', async () => {
    hold();
    assert.equal((await toldAfter(MINUTE))[0], 'C1 seen');
    service.remove('C1');
    assert.deepEqual(await toldAfter(MINUTE), []);
    assert.match((await toldAfter(2 * MINUTE)).join(), /^missing for \d+$/);
    service.cluster('C1');
    assert.equal((await toldAfter(5 * MINUTE))[0], 'C1 seen');
    service.remove('C1');
    assert.deepEqual(await toldAfter(MINUTE), []);
  });

  it('is missing although it was never seen', async () => {
    hold('C9');
    assert.match((await toldAfter(4 * MINUTE)).join(), /missing/);
  });

  it('is not missing after any number of other failures, nor after two polls apart that did not find it', async () => {
    const failures = [broken(), limited(1), broken(), limited(1), broken()];
    hold();
    await clock.advance(MINUTE);
    service.fails = (call) => (call === 'clusterStatus C1' ? (failures.shift() ?? broken()) : undefined);
    assert.deepEqual(await toldAfter(60 * MINUTE), []);
    service.fails = () => undefined;
    await clock.advance(16 * MINUTE);
    for (let nth = 0; nth < 3; nth++) {
      service.remove('C1');
      assert.deepEqual(await toldAfter(MINUTE), [], String(nth));
      service.cluster('C1');
      await clock.advance(3 * MINUTE);
    }
  });

  it('is not missing while the list can’t be read, or has it', async () => {
    hold();
    await clock.advance(MINUTE);
    service.statuses.delete('C1');
    service.fails = (call) => (call.startsWith('clusters') ? broken() : undefined);
    assert.deepEqual(await toldAfter(30 * MINUTE), []);
    service.fails = () => undefined;
    const listed = await toldAfter(20 * MINUTE);
    assert.ok(listed.length > 0 && listed.every((what) => what.startsWith('listed')), listed.join());
  });

  it('is missing under an old id, and keeps polled under its new one', async () => {
    hold();
    await clock.advance(MINUTE);
    service.remove('C1');
    service.cluster('N1', answer(), { host_guid: 'G-C1' });
    const seen = await toldAfter(2 * MINUTE);
    assert.ok(seen.includes('moved') && seen.includes('N1 seen'), seen.join());
  });

  it('is polled within a minute after a list has it again, however rare its polls have become', async () => {
    hold();
    service.remove('C1');
    await clock.advance(3 * 60 * MINUTE);
    const polls = service.count('clusterStatus');
    while (service.count('clusterStatus') === polls) await clock.advance(MINUTE);
    await clock.advance(MINUTE);
    service.cluster('C1');
    await account.watcher.clusterList.read(0);
    assert.ok((await toldAfter(MINUTE)).includes('C1 seen'));
  });

  it('is missing at each of several runtimes by its own polls, until the one that polls it has read it', async () => {
    const replicas = new Replicas();
    const found: string[][] = [];
    for (const replica of [replicas.start(), replicas.start()]) {
      const here: string[] = [];
      found.push(here);
      replica.account.watcher.onObservation((id) => void here.push(`${id} seen`));
      replica.account.watcher.hold('C1', {
        missing: () => void here.push('missing'),
        listed: () => void here.push('listed'),
      });
    }
    await replicas.clock.advance(30 * MINUTE);
    for (const here of found) assert.deepEqual([...new Set(here.splice(0))], ['missing']);
    replicas.service.cluster('C1');
    await replicas.clock.advance(30 * MINUTE);
    for (const here of found)
      assert.deepEqual([...new Set(here.slice(here.indexOf('C1 seen')))], ['C1 seen'], here.join());
    for (const replica of replicas.all) await replica.close();
  });

  it('is told nothing after its release', async () => {
    const release = hold();
    release();
    service.remove('C1');
    assert.deepEqual(await toldAfter(10 * MINUTE), []);
  });
});
