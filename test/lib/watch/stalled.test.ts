import assert from 'node:assert/strict';
import { answer, at } from '../events/observations';
import { Replicas } from './replicas';
import { broken, ScriptedAccount, type Witness } from './scripted-account';

const MINUTE = 60_000;

describe('a print that stands still while it is watched', () => {
  let account: ScriptedAccount;
  let service: ScriptedAccount['service'];
  let clock: ScriptedAccount['clock'];
  /** Elapsed time of the print in percent, its rise per poll, and its status. */
  let percent: number;
  let pace: number;
  let status: string;

  const watched = (stalled: number, more = {}) => account.watched('C1', { milestones: [], stalled, ...more });
  const values = ({ events }: Witness) => events.filter(({ type }) => type === 'job.stalled').map(({ value }) => value);
  const ids = (...witnesses: Witness[]) =>
    witnesses.flatMap(({ events }) => events.filter(({ type }) => type === 'job.stalled').map(({ id }) => id));

  beforeEach(() => {
    account = new ScriptedAccount();
    ({ service, clock } = account);
    [percent, pace, status] = [10, 0, 'printing'];
    service.cluster('C1', () => answer({ print_jobs: [at('a', status, (percent += pace))] }));
  });
  afterEach(() => account.watcher.close());

  it('is reported to each watch after its own minutes, from the same polls', async () => {
    const [short, long, none] = [await watched(5), await watched(20), await watched(0)];
    const before = service.count('clusterStatus');
    await clock.advance(4.5 * MINUTE);
    assert.deepEqual([short, long, none].map(values), [[], [], []]);
    await clock.advance(MINUTE);
    assert.deepEqual([short, long, none].map(values), [[5], [], []]);
    await clock.advance(15 * MINUTE);
    assert.deepEqual([short, long, none].map(values), [[5], [20], []]);
    await clock.advance(60 * MINUTE);
    assert.deepEqual([short, long, none].map(values), [[5], [20], []]);
    assert.equal(new Set(ids(short, long)).size, 2);
    // One poll more is made at the predicted end.
    assert.equal(service.count('clusterStatus') - before, 81);
  });

  it('is reported once per standstill', async () => {
    const witness = await watched(5);
    for (let standstill = 1; standstill <= 3; standstill++) {
      await clock.advance(20 * MINUTE);
      assert.equal(values(witness).length, standstill);
      pace = 0.1;
      await clock.advance(10 * MINUTE);
      pace = 0;
    }
    assert.equal(new Set(ids(witness)).size, 3);
  });

  it('causes no write but that of its event', async () => {
    let writes = 0;
    const put = account.store.put.bind(account.store);
    account.store.put = async (...given) => {
      writes++;
      await put(...given);
    };
    await watched(5);
    assert.equal(writes, 1);
    pace = 0.1;
    await clock.advance(30 * MINUTE);
    assert.equal(writes, 1);
    pace = 0;
    await clock.advance(60 * MINUTE);
    assert.equal(writes, 2);
    pace = 0.1;
    await clock.advance(30 * MINUTE);
    assert.equal(writes, 2);
  });

  it('counts from the arrival of the first answer that shows it, however long that took', async () => {
    const slow = answer({ print_jobs: [at('a', status, percent)] });
    const late = new Promise((resolve) => clock.after(30 * 1000, () => resolve(slow)));
    service.cluster('C1', () => late);
    const watch = watched(2);
    await clock.advance(30 * 1000);
    const witness = await watch;
    service.cluster('C1', () => slow);
    await clock.advance(2 * MINUTE - 1000);
    assert.deepEqual(values(witness), []);
    await clock.advance(MINUTE + 1000);
    assert.deepEqual(values(witness), [2]);
  });

  it('does not count the time in which polls fail', async () => {
    const witness = await watched(10);
    await clock.advance(5 * MINUTE);
    service.fails = () => broken();
    await clock.advance(6 * 60 * MINUTE);
    service.fails = () => undefined;
    await clock.advance(4 * MINUTE);
    assert.deepEqual(values(witness), []);
    await clock.advance(20 * MINUTE);
    assert.deepEqual(values(witness), [10]);
  });

  it('is reported although every other poll fails', async () => {
    let polls = 0;
    service.fails = (call) => (call.includes('clusterStatus') && ++polls % 2 === 0 ? broken() : undefined);
    const witness = await watched(10);
    await clock.advance(60 * MINUTE);
    assert.deepEqual(values(witness), [10]);
  });

  it('does not count the time in which nothing watches it', async () => {
    const first = await watched(10);
    await clock.advance(5 * MINUTE);
    first.close();
    await clock.advance(6 * 60 * MINUTE);
    const second = await watched(10);
    await clock.advance(4 * MINUTE);
    assert.deepEqual(values(second), []);
    await clock.advance(4 * MINUTE);
    assert.deepEqual([values(first), values(second)], [[], [10]]);
  });

  it('does not count the time in which its printer is gone, and counts on under another cluster id', async () => {
    const witness = await watched(10);
    const status = service.statuses.get('C1');
    await clock.advance(5 * MINUTE);
    service.remove('C1');
    await clock.advance(6 * 60 * MINUTE);
    service.cluster('N1', status, { host_guid: 'G-C1' });
    await clock.advance(30 * MINUTE);
    assert.deepEqual(values(witness), [10]);
    const [moved, told] = ['cluster.rebound', 'job.stalled'].map((kind) =>
      Date.parse(witness.events.find(({ type }) => type === kind)?.at ?? ''),
    );
    assert.ok((told as number) - (moved as number) >= 4 * MINUTE);
  });

  for (const [what, restart] of [
    ['a restart', () => account.restart()],
    [
      'a deploy',
      async () => {
        await account.watcher.close();
        account.deploy();
      },
    ],
  ] as const)
    it(`continues over ${what}, and is reported once`, async () => {
      const first = await watched(10, { key: 'node' });
      await clock.advance(6 * MINUTE);
      await restart();
      const second = await watched(10, { key: 'node' });
      await clock.advance(6 * MINUTE);
      assert.deepEqual([first, second].map(values), [[], [10]]);
      await restart();
      const third = await watched(10, { key: 'node' });
      await clock.advance(60 * MINUTE);
      assert.deepEqual(values(third), []);
    });

  it('is reported with the same id if the process is killed while the disk is full', async () => {
    const first = await watched(5);
    const put = account.store.put.bind(account.store);
    account.store.put = () => Promise.reject(new Error('ENOSPC'));
    await clock.advance(10 * MINUTE);
    await account.watcher.close();
    account.store.put = put;
    account.start();
    const second = await watched(5);
    await clock.advance(10 * MINUTE);
    assert.deepEqual([first, second].map(values), [[5], [5]]);
    assert.deepEqual(ids(first), ids(second));
  });

  it('is reported by the time that the runtime lived, whatever its clock says', async () => {
    const witness = await watched(10);
    await clock.advance(5 * MINUTE);
    for (const hours of [48, -96, 48]) {
      clock.set(clock.now() + hours * 60 * MINUTE);
      await clock.advance(MINUTE);
    }
    assert.deepEqual(values(witness), []);
    await clock.advance(5 * MINUTE);
    assert.deepEqual(values(witness), [10]);
  });
});

describe('a print that stands still while several runtimes watch it', () => {
  const stalls = (replicas: Replicas) => replicas.delivered.filter(({ type }) => type === 'job.stalled');

  for (const way of ['close', 'kill'] as const)
    it(`is reported once, although the runtime that polls it ends by a ${way}`, async () => {
      const replicas = new Replicas();
      const { clock, service } = replicas;
      service.cluster('C1', answer({ print_jobs: [at('a', 'printing', 10)] }));
      for (let count = 0; count < 2; count++) replicas.start().watch('C1', 60, { stalled: 10 });
      await clock.advance(6 * MINUTE);
      const owner = replicas.all.find(({ name }) => name === replicas.polls.at(-1)?.by);
      assert.ok(owner);
      if (way === 'close') await owner.leave();
      else owner.kill();
      await clock.advance(30 * MINUTE);
      assert.deepEqual(
        stalls(replicas).map(({ value, by }) => [value, by === owner.name]),
        [[10, false]],
      );
      await replicas.close();
      await clock.advance(0);
    });
});

describe('a plate that waits while it is watched', () => {
  it('is reported by its time since the arrival of the first answer that shows it, however long that took', async () => {
    const account = new ScriptedAccount();
    const { service, clock } = account;
    const waiting = answer({ print_jobs: [at('a', 'finished_wait_cleanup', 100)] });
    service.cluster('C1', () => answer({ print_jobs: [at('a', 'printing', 90)] }));
    const witness = await account.watched('C1', { milestones: [], plateWait: 2 });
    const plates = () => witness.events.filter(({ type }) => type === 'plate.awaiting').length;
    service.cluster('C1', () => new Promise((resolve) => clock.after(40 * 1000, () => resolve(waiting))));
    await clock.advance(MINUTE + 40 * 1000);
    service.cluster('C1', () => waiting);
    await clock.advance(2 * MINUTE - 1000);
    assert.equal(plates(), 0);
    await clock.advance(MINUTE + 1000);
    assert.equal(plates(), 1);
    await account.watcher.close();
  });
});
