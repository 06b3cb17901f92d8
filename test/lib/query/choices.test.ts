import assert from 'node:assert/strict';
import { Choices } from '../../../lib/query/choices';
import { collectGarbage } from '../../helpers/collect-garbage';
import { ManualClock } from '../../helpers/manual-clock';
import { ScriptedService } from '../../helpers/scripted-service';

const signIn = { onChange: () => () => undefined };

describe('query/choices', () => {
  it('requests one list a second for any number of dialogs', async () => {
    const service = new ScriptedService([[{ cluster_id: 'c' }]]);
    const clock = new ManualClock();
    const choices = new Choices({ service, clock, overrides: {}, signIn, closing: new AbortController().signal });
    const ids = async () => (await choices.clusters()).map(({ clusterId }) => clusterId);
    const opened = await Promise.all(Array.from({ length: 60 }, ids));
    assert.deepEqual(opened.flat(), Array(60).fill('c'));
    assert.equal(service.calls.length, 1);
    await clock.advance(1_000);
    await ids();
    assert.equal(service.calls.length, 2);
  });

  it('requests one list at a time, however long it takes', async () => {
    let answer = (_: object[]): void => undefined;
    const service = new ScriptedService([() => new Promise<object[]>((resolve) => (answer = resolve))]);
    const clock = new ManualClock();
    const choices = new Choices({ service, clock, overrides: {}, signIn, closing: new AbortController().signal });
    const asked = [choices.printers()];
    for (let second = 0; second < 20; second++) {
      await clock.advance(1_000);
      asked.push(choices.printers());
    }
    assert.equal(service.calls.length, 1);
    answer([{ cluster_id: 'c' }]);
    assert.deepEqual(
      (await Promise.all(asked)).map(([printer]) => printer?.clusterId),
      Array(21).fill('c'),
    );
    await clock.advance(0);
    void choices.printers();
    await clock.advance(0);
    assert.equal(service.calls.length, 2);
  });

  it('keeps no list in memory once it serves no other dialog', async () => {
    const service = new ScriptedService([[{ cluster_id: 'c' }]]);
    const clock = new ManualClock();
    const choices = new Choices({ service, clock, overrides: {}, signIn, closing: new AbortController().signal });
    const listed = async () => new WeakRef(await choices.clusters());
    const list = await listed();
    await clock.advance(1_000);
    collectGarbage();
    assert.equal(list.deref(), undefined);
  });

  it('offers the newest 1,000 print jobs of all printers', async () => {
    const dated = (nth: number) => new Date(Date.UTC(2026, 0, 1) + nth * 1000).toISOString();
    const jobs = Array.from({ length: 1_200 }, (_, nth) => ({ uuid: `${nth}`, created_at: dated(nth) }));
    const service = new ScriptedService([[{ uuid: 'undated' }, ...jobs]]);
    const closing = new AbortController().signal;
    const offered = await new Choices({ service, clock: new ManualClock(), overrides: {}, signIn, closing }).jobs(
      undefined,
    );
    assert.deepEqual([offered.length, offered[0]?.clusterJobId, offered.at(-1)?.clusterJobId], [1_000, '1199', '200']);
  });

  it('takes a status that lacks its jobs for an unexpected answer', async () => {
    const jobsIn = (status: object) => {
      const closing = new AbortController().signal;
      const service = new ScriptedService([status]);
      return new Choices({ service, clock: new ManualClock(), overrides: {}, signIn, closing }).jobs('c');
    };
    for (const jobs of [{}, { print_jobs: null }, { print_jobs: [null] }])
      await assert.rejects(jobsIn({ is_online: true, recently_completed: [], ...jobs }), { code: 'SERVICE_ERROR' });
    for (const status of [{ is_online: false }, { is_online: true, print_jobs: [] }])
      assert.deepEqual(await jobsIn(status), []);
  });
});
