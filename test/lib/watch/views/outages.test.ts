import assert from 'node:assert/strict';
import { Replicas } from '../replicas';
import { broken, ScriptedAccount } from '../scripted-account';
import { PrintingError } from '../../../../lib/service/errors';
import { phrase } from '../../../../lib/words/sentence';
import { pluck } from '../../../helpers/pluck';

const MINUTE = 60_000;

describe('the notice of an outage', () => {
  for (const end of ['leave', 'kill'] as const)
    it(`is not repeated by the runtime that polls a printer after a ${end} of the first one`, async () => {
      const replicas = new Replicas();
      const { clock, service } = replicas;
      const notices: string[] = [];
      service.cluster('C1');
      const [first, second] = [replicas.start(), replicas.start()];
      for (const replica of [first, second])
        replica.watch('C1', 60, {
          audience: 'flow',
          onTrouble: ({ code }) => replica.isAlive && notices.push(`${replica.name} ${code}`),
        });
      await clock.advance(5 * MINUTE);
      service.fails = () => broken();
      await clock.advance(5 * MINUTE);
      assert.equal(notices.length, 1, notices.join());
      const [owner, other] = notices[0]?.startsWith(first.name) ? [first, second] : [second, first];
      await owner[end]();
      await clock.advance(60 * MINUTE);
      assert.equal(notices.length, 1, notices.join());
      assert.ok(
        replicas.polls.some(({ by }) => by === other.name),
        'the other runtime polls',
      );
      service.fails = () => undefined;
      await clock.advance(30 * MINUTE);
      service.fails = () => broken();
      await clock.advance(5 * MINUTE);
      assert.deepEqual(notices.slice(1), [`${other.name} SERVICE_ERROR`], 'the next outage');
      await replicas.close();
    });

  for (const count of [1, 5])
    it(`is not repeated while the failures of ${count} printers change their kind in turn`, async () => {
      const account = new ScriptedAccount();
      const { clock, service } = account;
      for (let id = 1; id <= count; id++) service.cluster(`C${id}`);
      const all = await account.watched(null);
      await clock.advance(2 * MINUTE);
      const forbidden = () => new PrintingError('FORBIDDEN', phrase`No.`, { statusCode: 403, outcome: 'refused' });
      let polls = 0;
      service.fails = (call) => {
        if (!call.startsWith('clusterStatus')) return undefined;
        return Math.floor(polls++ / count) % 2 ? forbidden() : broken();
      };
      await clock.advance(240 * MINUTE);
      assert.ok(polls > 4 * count);
      assert.deepEqual(all.troubles, ['SERVICE_ERROR', 'FORBIDDEN']);
      service.fails = () => undefined;
      await clock.advance(30 * MINUTE);
      assert.deepEqual(pluck(account.reports, 'kind'), ['outage', 'outage', 'recovered', 'recovered']);
      await account.watcher.close();
    });

  it('is not repeated for a printer that was read by a poll from before the outage', async () => {
    const { clock, service, watcher, ...account } = new ScriptedAccount();
    const notices: string[] = [];
    for (const clusterId of ['C1', 'C2']) {
      service.cluster(clusterId);
      watcher.watch({
        ...{ clusterId, interval: 60, milestones: [], audience: 'flow' },
        onRound: () => undefined,
        onEvents: () => undefined,
        onTrouble: ({ message }) => notices.push(message),
      });
    }
    await clock.advance(2 * MINUTE + 1_000);
    const open = service.hold();
    while (service.underWay === 0) await clock.advance(1_000);
    service.gate = Promise.resolve();
    let failures = 0;
    service.fails = (call) => (call === 'clusterStatus C1' && ++failures ? broken() : undefined);
    while (failures === 0) await clock.advance(1_000);
    open();
    await clock.advance(1_000);
    service.fails = () => broken();
    await clock.advance(10 * MINUTE);
    assert.equal(notices.length, 1, notices.join('\n'));
    assert.deepEqual(pluck(account.reports, 'kind'), ['outage']);
    await watcher.close();
  });
});
