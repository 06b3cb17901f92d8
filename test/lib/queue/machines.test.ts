import assert from 'node:assert/strict';
import { type PlateGate, plateOf } from '../../../lib/queue/model/gate';
import { reservationOf, Reservations } from '../../../lib/queue/records/items';
import { QueueStore } from '../../../lib/queue/records/records';
import { systemClock } from '../../../lib/time/clock';
import { OFFLINE, QueueFarm, type Runtime, SCOPE } from '../../helpers/queue-farm';
import { answer, at, job, type Wire } from '../events/observations';

const MODES = ['confirm', 'printer', 'automatic'] as const;
const NIL = '00000000-0000-0000-0000-000000000000';

const printer = (uuid: string, more: Wire = {}): Wire => ({
  uuid,
  friendly_name: `Printer ${uuid}`,
  status: 'idle',
  ...more,
});
const alone = (uuid: string, more: Wire = {}): Wire => ({ printers: [printer(uuid)], ...more });
const group = (...uuids: string[]): Wire => ({ printers: uuids.map((uuid) => printer(uuid)) });
const past = (...jobs: Wire[]): Wire => ({ recently_completed: jobs });
const on = (uuid: string, of: Wire): Wire => ({ ...of, printer_uuid: uuid, printed_on_uuid: uuid });
const failed = (uuid: string, id = 'x'): Wire => on(uuid, at(id, 'failed', 50));
/** A print of this queue whose answer and job are lost. */
const lose = (all: QueueFarm) => {
  all.farm.dispatch = 'lost';
  all.farm.isHidden = true;
};

describe('queue: the plate of a machine', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  const start = async (rules: Parameters<QueueFarm['start']>[0] = {}) => {
    one = await all.begin({ printers: ['C1', 'C2'], gate: 'automatic', ...rules });
  };
  /** Shows statuses of a cluster, one poll each. Returns its plates by printer. */
  const see = async (clusterId: string, ...wires: Wire[]): Promise<Record<string, string>> => {
    for (const wire of wires) {
      all.farm.changes.set(clusterId, answer(wire));
      await all.pass(10);
    }
    const here = (await one.printers()).filter((shown) => shown.clusterId === clusterId);
    return Object.fromEntries(here.map(({ printerId, plate }) => [printerId ?? 'only', plate]));
  };
  const restart = async (rules: Parameters<QueueFarm['start']>[0] = {}) => {
    all.kill(one);
    await start(rules);
  };
  const store = () => all.shared.runtime().store;
  const gateKey = (gateId: string) => ['queue-plate', ...SCOPE, gateId] as const;
  const onlyC1 = { printers: ['C1'] };

  describe('under another name', () => {
    it('stays closed in a group, and after the group has shrunk to it', async () => {
      all.farm.changes.set('C1', answer(alone('P1')));
      await start(onlyC1);
      assert.deepEqual(await see('C1', alone('P1', past(failed('P1')))), { only: 'awaiting' });
      const both = { ...group('P1', 'P2'), ...past(failed('P1')) };
      assert.deepEqual(await see('C1', both), { P1: 'awaiting', P2: 'clear' });
      await one.add('a');
      await all.pass(60);
      assert.deepEqual(all.farm.sent, []);
      const [, second] = await one.printers();
      assert.equal(second?.code, 'PLATE_NOT_CLEARED');
      assert.match(String(second.text), /the plate of Printer P1 was not cleared/);
      assert.deepEqual(await see('C1', alone('P1', past(failed('P1')))), { only: 'awaiting' });
      await one.clear(true, 'C1');
      assert.equal(all.farm.sent.length, 1);
    });

    it('stays closed as that of the member that is left of a group', async () => {
      all.farm.changes.set('C1', answer(group('P1', 'P2')));
      await start(onlyC1);
      await see('C1', { ...group('P1', 'P2'), ...past(failed('P2')) });
      assert.deepEqual(await see('C1', alone('P2', past(failed('P2')))), { only: 'awaiting' });
      await restart(onlyC1);
      assert.deepEqual(await see('C1', alone('P2', past(failed('P2')))), { only: 'awaiting' });
      assert.deepEqual(await see('C1', alone('P1')), { only: 'clear' });
      assert.deepEqual(await see('C1', group('P1', 'P2')), { P1: 'clear', P2: 'awaiting' });
    });

    it('stays closed as that of the member that is left, whatever another one has printed last', async () => {
      all.farm.changes.set('C1', answer(group('P1', 'P2')));
      await start(onlyC1);
      await see('C1', { ...group('P1', 'P2'), ...past(failed('P1')) });
      const left = alone('P1', past(on('P2', at('y', 'finished', 100)), failed('P1')));
      assert.deepEqual(await see('C1', left, left), { only: 'awaiting' });
    });

    it('is not that of another printer whose host has the nil GUID as well', async () => {
      all.farm.clusters.set('C1', { host_guid: NIL }).set('C2', { host_guid: NIL });
      for (const clusterId of ['C1', 'C2']) all.farm.changes.set(clusterId, answer(alone(NIL)));
      await start();
      assert.deepEqual(await see('C1', alone(NIL, past(failed(NIL)))), { only: 'awaiting' });
      assert.deepEqual(await see('C2', alone(NIL)), { only: 'clear' });
    });

    it('is not that of a member with a clear plate that has left the group', async () => {
      all.farm.changes.set('C1', answer(group('P1', 'P2')));
      await start({ ...onlyC1, gate: 'confirm' });
      assert.deepEqual(await see('C1', group('P1', 'P2')), { P1: 'clear', P2: 'clear' });
      all.kill(one);
      for (const gateId of ['P1', 'P2']) await store().delete(gateKey(gateId));
      const members = { printers: [printer('P1'), printer('P2', { status: 'unreachable' })] };
      all.farm.changes.set('C1', answer(members));
      await start({ ...onlyC1, gate: 'confirm' });
      await all.pass(10);
      await one.clear(true, 'C1', 'P1');
      assert.deepEqual(await see('C1', alone('P2')), { only: 'awaiting' });
    });

    it('stays closed when it moves to another cluster', async () => {
      all.farm.changes.set('C1', answer(alone('P1'))).set('C2', answer(alone('P2')));
      await start();
      await see('C1', alone('P1', past(failed('P1'))));
      all.farm.changes.set('C1', answer(OFFLINE));
      assert.deepEqual(await see('C2', group('P2', 'P1')), { P1: 'awaiting', P2: 'clear' });
    });

    for (const [what, later] of [
      ['a factory reset', { guid: 'G', uuid: 'new' }],
      ['new electronics', { guid: 'new', uuid: 'P1' }],
    ] as const)
      it(`stays closed after ${what}`, async () => {
        all.farm.clusters.set('C1', { host_guid: 'G' });
        all.farm.changes.set('C1', answer(alone('P1')));
        await start({ printers: [] });
        await see('C1', alone('P1', past(failed('P1'))));
        all.farm.clusters.delete('C1');
        all.farm.clusters.set('C3', { host_guid: later.guid });
        // The queue reads the list every two minutes.
        await all.pass(130);
        assert.deepEqual(await see('C3', alone(later.uuid)), { only: 'awaiting' });
      });

    for (const canWrite of [true, false])
      it(`is one plate after an id that changed during a print${canWrite ? '' : ', while nothing could be written'}`, async () => {
        all.farm.clusters.set('C1', { host_guid: 'G' });
        all.farm.changes.set('C1', answer(alone('P1')));
        await start({ ...onlyC1, gate: 'confirm' });
        await one.add('a');
        await all.pass(40);
        let isFull = !canWrite;
        one.beforeUpdates(([kind]) => {
          if (isFull && kind === 'queue-plate') throw new Error('The disk is full');
        });
        const [print] = all.farm.prints;
        all.farm.become(print, '');
        const ended = { uuid: print?.uuid, name: 'job', status: 'finished', started: true, printer_uuid: 'new' };
        await see('C1', alone('new', past(ended)));
        isFull = false;
        assert.deepEqual(await see('C1', alone('new', past(ended))), { only: 'awaiting' });
        await one.clear(true, 'C1');
        assert.deepEqual(await see('C1', alone('new', past(ended))), { only: 'clear' });
        assert.equal(all.shared.values('queue-plate').size, 1);
      });

    it('is found by the GUID of the host in a group, and not taken for that of another member', async () => {
      all.farm.clusters.set('C1', { host_guid: 'G' });
      all.farm.changes.set('C1', answer(alone('P1')));
      await start(onlyC1);
      await see('C1', alone('P1', past(failed('P1'))));
      all.farm.changes.set('C1', answer(group('new', 'P2')));
      one.readList();
      assert.deepEqual(await see('C1', group('new', 'P2')), { new: 'awaiting', P2: 'clear' });
    });

    it('closes each new member of a group whose host nobody knows', async () => {
      all.farm.clusters.set('C1', { host_guid: 'G' });
      all.farm.changes.set('C1', answer(alone('P1')));
      await start(onlyC1);
      await see('C1', alone('P1', past(failed('P1'))));
      assert.deepEqual(await see('C1', group('new', 'P2')), { new: 'awaiting', P2: 'awaiting' });
    });

    it('is one for all members without an id of their own', async () => {
      all.farm.clusters.set('C1', { host_guid: 'G' });
      all.farm.changes.set('C1', answer(group(NIL, NIL)));
      await start(onlyC1);
      await see('C1', { ...group(NIL, NIL), ...past(failed(NIL)) });
      await one.add('a');
      await all.pass(60);
      assert.deepEqual(all.farm.sent, []);
      assert.deepEqual(await see('C1', alone(NIL)), { only: 'awaiting' });
      await one.clear(true, 'C1');
      assert.equal(all.farm.sent.length, 1);
    });

    it('is that of its cluster without both ids', async () => {
      all.farm.changes.set('C1', answer({ printers: [{ status: 'idle' }] }));
      await start(onlyC1);
      const ended = { printers: [{ status: 'idle' }], ...past(at('x', 'failed', 50)) };
      await see('C1', ended);
      await restart(onlyC1);
      assert.deepEqual(await see('C1', { printers: [{ status: 'idle' }] }), { only: 'awaiting' });
      assert.deepEqual(await see('C1', alone('P1')), { only: 'awaiting' });
    });

    it('is told once, whatever the name', async () => {
      all.farm.changes.set('C1', answer(alone('P1')));
      await start({ ...onlyC1, gate: 'confirm' });
      await see(
        'C1',
        alone('P1', past(failed('P1'))),
        { ...group('P1', 'P2'), ...past(failed('P1')) },
        alone('P1', past(failed('P1'))),
      );
      assert.deepEqual(one.types('plate'), ['plate.awaiting']);
    });
  });

  describe('whose gate can’t be read', () => {
    const seen = async (rules: Parameters<QueueFarm['start']>[0] = onlyC1) => {
      all.farm.changes.set('C1', answer(alone('P1')));
      await start(rules);
      assert.deepEqual(await see('C1', alone('P1')), { only: 'clear' });
      all.kill(one);
    };

    for (const gate of MODES)
      it(`is closed if the record was lost, in the mode ${gate}`, async () => {
        await seen();
        await store().delete(gateKey('P1'));
        await start({ ...onlyC1, gate });
        assert.deepEqual(await see('C1', alone('P1')), { only: 'awaiting' });
        await one.add('a');
        await all.pass(60);
        assert.deepEqual(all.farm.sent, []);
        await one.clear(true, 'C1');
        assert.equal(all.farm.sent.length, 1);
      });

    it('stays clear after a person has cleared it, when the end of a print in doubt is reported again', async () => {
      await start(onlyC1);
      all.farm.lives.push([
        [0, 'printing'],
        [20, ''],
      ]);
      await one.add('a');
      await all.pass(80);
      assert.equal(await one.outcome('a'), 'blocked: unknown; 1 unknown');
      assert.deepEqual(await see('C1', alone('P of C1')), { only: 'awaiting' });
      await one.clear(true, 'C1');
      all.kill(one);
      await store().delete(gateKey('P of C1'));
      await start(onlyC1);
      assert.deepEqual(await see('C1', alone('P of C1')), { only: 'awaiting' });
      await one.clear(true, 'C1');
      assert.equal(one.followed.size, 1);
      for (const { end } of one.followed) end({ outcome: 'ended', job: null });
      assert.deepEqual(await see('C1', alone('P of C1')), { only: 'clear' });
    });

    for (const outcome of ['ended', 'finished'] as const)
      it(`stays clear after a person has cleared it, when a print from before is reported as ${outcome}`, async () => {
        await start({ ...onlyC1, gate: 'confirm' });
        all.farm.lives.push([
          [0, 'printing'],
          [20, ''],
        ]);
        await one.add('a');
        await all.pass(10);
        assert.equal(await one.outcome('a'), 'active: printing; 1 active');
        all.kill(one);
        await store().delete(gateKey('P of C1'));
        await all.pass(20);
        await start({ ...onlyC1, gate: 'confirm' });
        assert.deepEqual(await see('C1', alone('P of C1')), { only: 'awaiting' });
        await one.clear(true, 'C1');
        for (const { end } of one.followed) end({ outcome, job: null });
        assert.deepEqual(await see('C1', alone('P of C1')), { only: 'clear' });
        assert.equal(one.types('plate.awaiting').length, 1);
      });

    it('is closed by a print that was sent after a person has cleared it, though nobody has seen it begin', async () => {
      await store().put(['checkpoint', ...SCOPE, 'C1'], { gates: ['P of C1'] });
      await start({ ...onlyC1, gate: 'confirm' });
      assert.deepEqual(await see('C1', alone('P of C1')), { only: 'awaiting' });
      await one.clear(true, 'C1');
      all.farm.isHidden = true;
      await one.add('a');
      await all.pass(1);
      assert.equal(await one.outcome('a'), 'active: dispatched; 1 active');
      await restart({ ...onlyC1, gate: 'confirm' });
      for (const { end } of one.followed) end({ outcome: 'finished', job: null });
      assert.deepEqual(await see('C1', alone('P of C1')), { only: 'awaiting' });
    });

    for (const [print, minutes, plate] of [
      ['a print that was sent before', -20, 'awaiting'],
      ['a print that was sent later', 5, 'awaiting'],
      ['a print of an unknown time', null, 'awaiting'],
    ] as const)
      it(`is ${plate} at the first sight after a person has cleared it, if ${print} ended there`, async () => {
        await start({ ...onlyC1, gate: 'confirm' });
        await one.add('a');
        await all.pass(80);
        all.kill(one);
        await store().delete(gateKey('P of C1'));
        all.farm.changes.set('C1', answer(OFFLINE));
        await start({ ...onlyC1, gate: 'confirm' });
        await one.clear(true, 'C1');
        const sentAt = minutes === null ? null : new Date(all.clock.now() + minutes * 60_000).toISOString();
        await all.pass(600);
        const foreign = on('P of C1', at('x', 'finished', 100, { created_at: sentAt }));
        assert.deepEqual(await see('C1', alone('P of C1', past(foreign))), { only: plate });
      });

    it('is closed if an attempt of the queue names the printer', async () => {
      await start({ ...onlyC1, gate: 'automatic' });
      await one.add('a');
      await all.pass(80);
      assert.equal((await one.item('a')).state, 'finished');
      all.kill(one);
      await store().delete(gateKey('P of C1'));
      await store().delete(['checkpoint', ...SCOPE, 'C1']);
      await start(onlyC1);
      assert.deepEqual(await see('C1', alone('P of C1')), { only: 'awaiting' });
    });

    it('is closed if the record is damaged, whatever had ended there before', async () => {
      await seen();
      await store().put(gateKey('P1'), 'odd');
      const history = past(on('P1', at('x', 'finished', 100)));
      all.farm.changes.set('C1', answer(alone('P1', history)));
      await start({ ...onlyC1, gate: 'automatic' });
      assert.deepEqual(await see('C1', alone('P1', history), alone('P1', history)), { only: 'awaiting' });
      const next = past(on('P1', at('y', 'finished', 100)), on('P1', at('x', 'finished', 100)));
      assert.deepEqual(await see('C1', alone('P1', next)), { only: 'clear' });
    });

    for (const [what, isListed] of [
      ['was lost, and the history shows the print', true],
      ['was lost, and the history is empty', false],
      ['is damaged, and the history shows the print', true],
    ] as const)
      it(`asks for the verdict that a copy awaits if the record ${what}`, async () => {
        await start({ ...onlyC1, gate: 'confirm' });
        await one.add('a');
        await all.pass(80);
        const [print] = (await one.item('a')).prints;
        assert.equal(print?.state, 'finished');
        all.kill(one);
        if (what.startsWith('was lost')) await store().delete(gateKey('P of C1'));
        else await store().put(gateKey('P of C1'), 'odd');
        const shown = isListed ? past(on('P of C1', at(String(print.clusterJobId), 'finished', 100))) : {};
        all.farm.changes.set('C1', answer(alone('P of C1', shown)));
        await start({ ...onlyC1, gate: 'confirm' });
        assert.deepEqual(await see('C1', alone('P of C1', shown)), { only: 'awaiting' });
        await one.clear(true, 'C1');
        await all.pass(10);
        assert.equal((await one.item('a')).state, 'finished');
      });

    for (const record of ['lost', 'damaged'] as const)
      describe(`because the record is ${record}, while a copy waits for its verdict`, () => {
        const confirm = { ...onlyC1, gate: 'confirm' } as const;
        /** A copy that lies printed on the plate of C1; then the record of the gate goes. Returns its print. */
        const lostAfterPrint = async (queueId?: string) => {
          one = await all.begin(confirm, { queueId });
          await one.add('a');
          await all.pass(80);
          assert.equal(await one.outcome('a'), 'active: finished; 1 active');
          const { itemId } = await one.item('a');
          all.kill(one);
          if (record === 'lost') await store().delete(gateKey('P of C1'));
          else await store().put(gateKey('P of C1'), 'odd');
          return { itemId, copy: 1, attempt: 1 };
        };
        const show = (more: Wire = {}) => all.farm.changes.set('C1', answer(alone('P of C1', more)));
        const isFinished = async () => assert.equal(await one.outcome('a'), 'finished: finished; 1 good');
        const handPrint = on('P of C1', at('by-hand', 'printing', 50));

        it('counts the copy as good if a print by hand begins before anybody has seen the printer', async () => {
          await lostAfterPrint();
          show({ print_jobs: [handPrint] });
          await start(confirm);
          await all.pass(20);
          await isFinished();
          assert.deepEqual(await see('C1', alone('P of C1', past(on('P of C1', at('by-hand', 'finished', 100))))), {
            only: 'awaiting',
          });
        });

        it('counts the copy as good if a print by hand begins later', async () => {
          await lostAfterPrint();
          show();
          await start(confirm);
          show({ print_jobs: [handPrint] });
          await all.pass(20);
          await isFinished();
        });

        it('counts the copy as good if the history shows a later print', async () => {
          await lostAfterPrint();
          const [print] = all.farm.prints;
          show(past(...['by-hand', print?.uuid ?? ''].map((id) => on('P of C1', at(id, 'finished', 100)))));
          await start(confirm);
          await all.pass(20);
          await isFinished();
          assert.equal((await one.printers())[0]?.plate, 'awaiting');
        });

        for (const [state, naming] of [
          ['idle', 'the print'],
          ['idle', 'what explain names'],
          ['idle', 'nothing'],
          ['offline', 'the print'],
          ['offline', 'nothing'],
        ] as const)
          for (const good of [true, false])
            it(`takes a ${good ? 'good' : 'bad'} verdict that names ${naming}, ${state} and without a history`, async () => {
              const print = await lostAfterPrint();
              all.farm.changes.set('C1', answer(state === 'idle' ? alone('P of C1') : OFFLINE));
              await start(confirm);
              await all.pass(20);
              const judges = (await one.printers())[0]?.judges ?? '';
              await one.judge(good, { 'the print': { print }, 'what explain names': { judges }, nothing: {} }[naming]);
              await all.pass(10);
              if (good) await isFinished();
              else assert.match(await one.outcome('a'), /^(waiting|active): rejected/);
            });

        it('takes the verdict if another queue has seen the printer first', async () => {
          const print = await lostAfterPrint();
          show();
          one = await all.begin(confirm, { queueId: 'other' });
          await all.pass(20);
          assert.equal((await one.printers())[0]?.plate, 'awaiting');
          await start(confirm);
          await all.pass(20);
          await one.judge(true, { print });
          await isFinished();
        });

        it('takes the verdict that was given at another queue', async () => {
          await lostAfterPrint();
          show();
          one = await all.begin(confirm, { queueId: 'other' });
          await all.pass(20);
          await one.clear(false);
          await start(confirm);
          await all.pass(20);
          assert.match(await one.outcome('a'), /^(waiting|active): rejected/);
        });

        it('takes the verdict if the print has closed the place as well, before its machine was known', async () => {
          const print = await lostAfterPrint();
          const none = { hostGuid: null, printerId: null, clusterName: null, printing: null, clearedAt: null };
          const end = { id: all.farm.prints[0]?.uuid, outcome: 'finished', source: 'settled', at: 1, stage: 'idle' };
          const ended = { ...end, ...none, hasShownCleanup: false, hadShownCleanup: false, hasGap: false };
          const place = {
            version: 2,
            gateId: 'C1',
            ownIds: [],
            clusterId: 'C1',
            ...none,
            ended,
            closings: 1,
            begun: 0,
          };
          await store().put(gateKey('C1'), { ...place, hasShownCleanup: false, known: [], verdicts: [] });
          show();
          await start(confirm);
          await all.pass(20);
          await one.judge(true, { print });
          await isFinished();
        });

        it('offers answers on the board that the queue accepts', async () => {
          const print = await lostAfterPrint();
          show();
          await start(confirm);
          await all.pass(20);
          const { todo } = await one.ask((queue) => queue.board());
          const [answer] = todo.find(({ kind }) => kind === 'plate')?.answers ?? [];
          assert.deepEqual(answer?.properties, { clusterId: 'C1', ...print, good: true });
          await one.judge(true, { print });
          await isFinished();
        });

        it('tells each plate under an id of its own, also after more restarts', async () => {
          const told: Runtime['events'] = [];
          const leave = () => {
            told.push(...one.events);
            all.kill(one);
          };
          await start(confirm);
          await one.add('b', { copies: 2 });
          for (let copy = 1; copy <= 2; copy++) {
            await all.pass(80);
            await one.clear(true);
          }
          await all.pass(10);
          leave();
          await lostAfterPrint();
          told.push(...one.events);
          show();
          for (let restarts = 0; restarts < 2; restarts++) {
            await start(confirm);
            await all.pass(20);
            if (restarts === 0) leave();
          }
          await one.clear(true);
          await all.pass(10);
          const ids = [...told, ...one.events].flatMap(({ id, type }) => (type.startsWith('plate.') ? [id] : []));
          assert.deepEqual(ids, [...new Set(ids)]);
          const types = ids.map((id) => id.split('/')[1]);
          assert.deepEqual(
            types,
            ids.map((_, nth) => (nth % 2 === 0 ? 'plate.awaiting' : 'plate.cleared')),
            String(ids),
          );
          assert.equal(ids.length, 6);
        });
      });

    it('is closed if a print of another queue has reserved the printer', async () => {
      await store().put(['queue-printer', ...SCOPE, 'C1'], { clusterId: 'C1', holders: ['["other","item",1]'] });
      all.farm.changes.set('C1', answer(alone('P1')));
      await start(onlyC1);
      assert.deepEqual(await see('C1', alone('P1')), { only: 'awaiting' });
    });

    it('is open at the first sight of a printer of which there is only an event checkpoint', async () => {
      await store().put(['checkpoint', ...SCOPE, 'C1'], { version: 2, printers: [{ id: 'P1' }] });
      all.farm.changes.set('C1', answer(alone('P1')));
      await start(onlyC1);
      assert.deepEqual(await see('C1', alone('P1')), { only: 'clear' });
    });

    for (const [what, value] of [
      ['nothing but words', 'odd'],
      ['another shape', { version: 2, gateId: 'P1', clusterId: 'C1', ended: { id: 7 } }],
      [
        'no list of jobs',
        { version: 2, gateId: 'P1', ownIds: ['P1'], hostGuid: null, clusterId: 'C1', printerId: null },
      ],
      ['a newer version', { version: 3, gateId: 'P1', clusterId: 'C1', printerId: null }],
    ] as const)
      it(`is closed if the record has ${what}`, async () => {
        await seen();
        await store().put(gateKey('P1'), value);
        await start(onlyC1);
        await one.add('a');
        await see('C1', alone('P1'), alone('P1'));
        assert.deepEqual(all.farm.sent, []);
        const isNewer = what === 'a newer version';
        const cleared = one.clear(true, 'C1');
        if (isNewer) {
          await assert.rejects(cleared, { code: 'FILE_NOT_READABLE' });
          assert.deepEqual(await store().get(gateKey('P1')), value);
        } else await cleared;
        assert.equal(all.farm.sent.length, isNewer ? 0 : 1);
        assert.equal(one.queue.figures() !== null, true);
      });

    it('is closed over the history of a status without printers', async () => {
      await seen();
      const damaged = { version: 2, gateId: 'P1', ownIds: ['P1'], hostGuid: null, clusterId: 'C1', printerId: null };
      await store().put(gateKey('P1'), damaged);
      const older = past(at('x', 'finished', 100));
      all.farm.changes.set('C1', answer({ printers: [], ...older }));
      await start(onlyC1);
      assert.deepEqual(await see('C1', alone('P1', older)), { only: 'awaiting' });
    });

    it('is closed after a print that was seen only while nothing could be written', async () => {
      all.farm.changes.set('C1', answer(alone('P1')));
      await start(onlyC1);
      await see('C1', alone('P1'));
      let isFull = true;
      one.beforeUpdates(([kind]) => {
        if (isFull && kind === 'queue-plate') throw new Error('The disk is full');
      });
      await see('C1', alone('P1', { print_jobs: [at('x', 'printing', 50)] }), alone('P1'));
      isFull = false;
      await see('C1', alone('P1'), alone('P1'));
      assert.deepEqual(await see('C1', alone('P1')), { only: 'awaiting' });
    });
  });

  describe('that 1.0.0-rc.1 has saved', () => {
    const ended = { id: 'x', outcome: 'failed', at: 1, cleanup: 'unseen', hadShownCleanup: false, clearedAt: null };
    const old = (clusterId: string, printerId: string | null, more: object = {}) => ({
      ...{
        version: 1,
        clusterId,
        printerId,
        clusterName: clusterId,
        hostGuid: 'G',
        closings: 1,
        printing: null,
        ended,
      },
      ...{ hasShownCleanup: false, known: ['x'], verdicts: [], ...more },
    });
    const save = (record: ReturnType<typeof old>) =>
      store().put(['queue-plate', ...SCOPE, record.clusterId, record.printerId ?? ''], record);
    const gates = () => [...all.shared.values('queue-plate').values()] as { version: number; gateId?: string }[];

    beforeEach(() => void all.farm.clusters.set('C1', { host_guid: 'G' }));

    it('stays closed, also in a group, and has its new record', async () => {
      await save(old('C1', null));
      all.farm.changes.set('C1', answer(group('P1', 'P2')));
      await start(onlyC1);
      assert.deepEqual(await see('C1', group('P1', 'P2')), { P1: 'awaiting', P2: 'clear' });
      assert.deepEqual(
        gates()
          .map(({ version, gateId }) => [version, gateId])
          .sort(),
        [
          [2, 'G'],
          [2, 'P2'],
        ],
      );
    });

    it('stays open if a person has cleared it', async () => {
      await save(old('C1', null, { ended: { ...ended, clearedAt: 2 } }));
      all.farm.changes.set('C1', answer(alone('P1', past(failed('P1')))));
      await start({ ...onlyC1, gate: 'confirm' });
      assert.deepEqual(await see('C1', alone('P1', past(failed('P1')))), { only: 'clear' });
    });

    it('is cleared while the printer is offline', async () => {
      await save(old('C1', null));
      all.farm.changes.set('C1', answer(OFFLINE));
      await start(onlyC1);
      assert.equal((await one.printers())[0]?.plate, 'awaiting');
      await one.clear(true, 'C1');
      assert.deepEqual(await see('C1', alone('P1')), { only: 'clear' });
    });

    it('stays that of a member of a group', async () => {
      await save(old('C1', 'P2'));
      all.farm.changes.set('C1', answer(group('P1', 'P2')));
      await start(onlyC1);
      assert.deepEqual(await see('C1', group('P1', 'P2')), { P1: 'clear', P2: 'awaiting' });
    });

    it('is closed if it is damaged', async () => {
      await save({ ...old('C1', null), ended: 'odd' as never });
      all.farm.changes.set('C1', answer(alone('P1')));
      await start(onlyC1);
      assert.deepEqual(await see('C1', alone('P1')), { only: 'awaiting' });
    });

    it('is closed if it had shown no end of the cleanup before the upgrade', async () => {
      await save(old('C1', null, { ended: { ...ended, outcome: 'finished', cleanup: 'seen' } }));
      all.farm.changes.set('C1', answer(alone('P1')));
      await start({ ...onlyC1, gate: 'printer' });
      assert.deepEqual(await see('C1', alone('P1')), { only: 'awaiting' });
    });
  });

  describe('of a print that was settled as printed', () => {
    const two = () => all.farm.changes.set('C1', answer(group('P1', 'P2')));

    it('closes all members of a group that could have taken it', async () => {
      two();
      await start(onlyC1);
      lose(all);
      await one.add('a');
      await all.pass(200);
      assert.equal(await one.outcome('a'), 'blocked: unknown; 1 unknown');
      await one.settle('a', 'printed');
      all.farm.dispatch = 'accepted';
      await one.add('b');
      await all.pass(60);
      assert.deepEqual(await see('C1', group('P1', 'P2')), { P1: 'awaiting', P2: 'awaiting' });
      assert.equal(all.farm.prints.length, 1);
      await one.clear(true, 'C1', 'P1');
      assert.equal(all.farm.prints.length, 1);
      await one.clear(true, 'C1', 'P2');
      assert.equal(all.farm.prints.length, 2);
    });

    it('keeps the idle members of its group from other copies, and calls them not busy, until it is settled', async () => {
      two();
      await start(onlyC1);
      lose(all);
      await one.add('a');
      await all.pass(200);
      all.farm.dispatch = 'accepted';
      assert.deepEqual(
        (await one.printers()).map(({ code, free }) => [code, free]),
        [
          ['OUTCOME_UNKNOWN', false],
          ['OUTCOME_UNKNOWN', false],
        ],
      );
      await one.add('b', { copies: 2 });
      await all.pass(60);
      assert.equal(all.farm.prints.length, 1, 'the service might choose the member where the part lies');
      assert.deepEqual(await one.codes('b'), ['OUTCOME_UNKNOWN']);
      await one.settle('a', 'not-printed');
      await all.pass(60);
      assert.equal(all.farm.prints.length, 3);
    });

    for (const isRestarted of [false, true])
      it(`keeps its group from other copies while nothing shows it${isRestarted ? ', also after a restart' : ''}`, async () => {
        two();
        await start(onlyC1);
        all.farm.isHidden = true;
        await one.add('a');
        await all.pass(isRestarted ? 0.5 : 60);
        assert.equal(await one.outcome('a'), 'active: dispatched; 1 active');
        if (isRestarted) await restart(onlyC1);
        await one.add('b');
        await all.pass(60);
        assert.deepEqual(all.farm.sent, ['C1 job'], 'its part may lie on either plate');
        assert.deepEqual(await one.codes('b'), ['BUSY']);
        const shown = on('P1', at(all.farm.prints[0]?.uuid ?? '', 'printing', 10));
        all.farm.changes.set('C1', answer({ ...group('P1', 'P2'), print_jobs: [shown] }));
        await all.pass(60);
        assert.deepEqual(all.farm.sent, ['C1 job', 'C1 job']);
      });

    it('keeps copies of another queue from its group', async () => {
      two();
      await start(onlyC1);
      const other = await all.begin({ ...onlyC1, gate: 'automatic' }, { queueId: 'other' });
      lose(all);
      await one.add('a');
      await all.pass(200);
      assert.equal(await one.outcome('a'), 'blocked: unknown; 1 unknown');
      all.farm.dispatch = 'accepted';
      await other.add('b');
      await all.pass(60);
      assert.equal(all.farm.prints.length, 1, 'the service might choose the member where the part lies');
      await one.settle('a', 'not-printed');
      await all.pass(120);
      assert.ok(all.farm.prints.length > 1);
    });

    it('keeps copies of another queue from its group while nothing shows it', async () => {
      two();
      await start(onlyC1);
      const other = await all.begin({ ...onlyC1, gate: 'automatic' }, { queueId: 'other' });
      await one.add('a');
      await all.pass(70);
      assert.equal(await one.outcome('a'), 'active: dispatched; 1 active');
      await other.add('b');
      await all.pass(60);
      assert.deepEqual(all.farm.sent, ['C1 job'], 'its part may lie on either plate');
      const shown = on('P1', at(all.farm.prints[0]?.uuid ?? '', 'printing', 10));
      all.farm.changes.set('C1', answer({ ...group('P1', 'P2'), print_jobs: [shown] }));
      await all.pass(120);
      assert.deepEqual(all.farm.sent, ['C1 job', 'C1 job']);
    });

    it('keeps its group from other copies if a member joins that can’t have taken it', async () => {
      all.farm.changes.set('C1', answer(group('P1')));
      await start(onlyC1);
      lose(all);
      await one.add('a');
      await all.pass(200);
      all.farm.dispatch = 'accepted';
      two();
      await one.add('b');
      await all.pass(60);
      assert.equal(all.farm.prints.length, 1);
      assert.deepEqual(await one.codes('b'), ['OUTCOME_UNKNOWN', 'PLATE_NOT_CLEARED']);
      await one.settle('a', 'not-printed');
      await all.pass(60);
      assert.equal(all.farm.prints.length, 3);
    });

    it('leaves members of another model alone', async () => {
      const other = printer('P2', { machine_variant: 'Other' });
      const members = { printers: [printer('P1', { machine_variant: 'Maker' }), other] };
      all.farm.changes.set('C1', answer(members));
      await start(onlyC1);
      lose(all);
      await one.add('a', { require: { models: ['Maker'] } });
      await all.pass(200);
      await one.settle('a', 'printed');
      assert.deepEqual(await see('C1', members), { P1: 'awaiting', P2: 'clear' });
    });

    it('closes the gate of the member alone that showed the print', async () => {
      two();
      await start(onlyC1);
      all.farm.lives.push([[0, 'queued']]);
      await one.add('a');
      const printing = { ...group('P1', 'P2'), print_jobs: [on('P2', at('print-1', 'printing', 50))] };
      await see('C1', printing, group('P1', 'P2'), group('P1', 'P2'));
      for (const { end } of one.followed) end({ outcome: 'ended', job: null });
      await all.pass(20);
      assert.equal(await one.outcome('a'), 'blocked: unknown; 1 unknown');
      await one.settle('a', 'printed');
      assert.deepEqual(await see('C1', group('P1', 'P2')), { P1: 'clear', P2: 'awaiting' });
    });

    for (const [seen, ...wires] of [
      ['printing', [on('P2', at('print-1', 'printing', 50))], []],
      ['only as ended', []],
    ] as const)
      it(`is that of the member where the print was seen ${seen}, and its item names that member`, async () => {
        two();
        await start({ ...onlyC1, gate: 'confirm' });
        for (const id of ['P1', 'P2']) await one.clear(true, 'C1', id);
        all.farm.lives.push([[0, 'queued']]);
        await one.add('a');
        for (const print_jobs of wires) await see('C1', { ...group('P1', 'P2'), print_jobs });
        const ended = { ...group('P1', 'P2'), ...past(on('P2', at('print-1', 'finished', 100))) };
        assert.deepEqual(await see('C1', ended), { P1: 'clear', P2: 'awaiting' });
        const [shown] = (await one.printers()).filter(({ printerId }) => printerId === 'P2');
        const { prints } = await one.item('a');
        assert.deepEqual([prints[0]?.printerId, prints[0]?.state, shown?.current?.copy], ['P2', 'finished', 1]);
      });

    it('leaves a gate alone where a print began later', async () => {
      two();
      await start(onlyC1);
      lose(all);
      await one.add('a');
      await all.pass(200);
      const later = past(failed('P1', 'later'));
      await see('C1', { ...group('P1', 'P2'), ...later });
      await one.clear(true, 'C1', 'P1');
      await one.settle('a', 'printed');
      assert.deepEqual(await see('C1', { ...group('P1', 'P2'), ...later }), { P1: 'clear', P2: 'awaiting' });
    });

    it('closes the gate of a printer that has another cluster id since', async () => {
      all.farm.changes.set('C1', answer(alone('P1')));
      all.farm.changes.set('C2', answer(alone('P2')));
      await start();
      await one.pause('C2');
      lose(all);
      await one.add('a');
      await all.pass(200);
      assert.equal(await one.outcome('a'), 'blocked: unknown; 1 unknown');
      await see('C1', alone('P2'));
      await see('C2', alone('P1'));
      await one.settle('a', 'printed');
      assert.deepEqual(await see('C2', alone('P1')), { only: 'awaiting' });
      assert.deepEqual(await see('C1', alone('P2')), { only: 'clear' });
    });

    it('counts as good where a print began later, as nobody is asked about it', async () => {
      all.farm.changes.set('C1', answer(alone('P1')));
      await start({ ...onlyC1, gate: 'confirm' });
      lose(all);
      await one.add('a');
      await all.pass(200);
      await see('C1', alone('P1', past(failed('P1', 'later'))));
      await one.clear(true, 'C1');
      await one.settle('a', 'printed');
      await all.pass(60);
      assert.equal((await one.item('a')).state, 'finished');
    });

    for (const gate of MODES)
      it(`stays closed in the mode ${gate}, although the printer has shown cleanups`, async () => {
        const cleanup = { print_jobs: [at('x', 'wait_cleanup', 100)] };
        all.farm.changes.set('C1', answer(alone('P1')));
        await start({ ...onlyC1, gate });
        await see('C1', alone('P1', cleanup), alone('P1', past(at('x', 'finished', 100))));
        await one.clear(true, 'C1');
        lose(all);
        await one.add('a');
        await all.pass(200);
        await one.settle('a', 'printed');
        all.farm.dispatch = 'accepted';
        await one.add('b');
        await all.pass(100);
        assert.equal((await one.printers())[0]?.plate, 'awaiting');
        assert.equal(all.farm.prints.length, 1);
      });

    it('closes all members after a job that ended without a printer', async () => {
      two();
      await start(onlyC1);
      const ended = { ...group('P1', 'P2'), ...past(at('x', 'finished', 100)) };
      assert.deepEqual(await see('C1', ended), { P1: 'awaiting', P2: 'awaiting' });
      await one.clear(true, 'C1', 'P1');
      await one.clear(true, 'C1', 'P2');
      assert.deepEqual(await see('C1', ended), { P1: 'clear', P2: 'clear' });
    });

    it('stays closed after the printer is left alone with the prints of its group', async () => {
      const cleanup = { print_jobs: [on('P1', at('a', 'wait_cleanup', 100))] };
      const done = past(on('P2', at('b', 'finished', 100)), on('P1', at('a', 'finished', 100)));
      all.farm.changes.set('C1', answer(group('P1', 'P2')));
      await start({ ...onlyC1, gate: 'printer' });
      await see(
        'C1',
        { ...group('P1', 'P2'), ...cleanup },
        { is_online: false, printers: [] },
        { ...group('P1', 'P2'), ...done },
      );
      await one.clear(true, 'C1', 'P2');
      const left = past(at('b', 'finished', 100), at('a', 'finished', 100));
      assert.deepEqual(await see('C1', alone('P1', left)), { only: 'awaiting' });
    });

    it('leaves the others of a group open after a member has left it with its print', async () => {
      all.farm.changes.set('C1', answer(group('P1', 'P2', 'P3')));
      await start(onlyC1);
      await see('C1', { ...group('P1', 'P2', 'P3'), ...past(failed('P3')) });
      // Without the member, its job has lost its printer.
      const left = { ...group('P1', 'P2'), ...past(at('x', 'failed', 50)) };
      assert.deepEqual(await see('C1', left), { P1: 'clear', P2: 'clear' });
    });
  });

  describe('in a group', () => {
    it('keeps prints from all members while it is not known', async () => {
      all.farm.changes.set('C1', answer(group('P1')));
      await start(onlyC1);
      let isFull = true;
      one.beforeUpdates(([kind, ...words]) => {
        if (isFull && kind === 'queue-plate' && words.at(-1) === 'P2') throw new Error('The disk is full');
      });
      await one.pause();
      await one.add('a');
      all.farm.changes.set('C1', answer(group('P1', 'P2')));
      await one.resume();
      await all.pass(60);
      assert.deepEqual(all.farm.sent, []);
      isFull = false;
      await all.pass(120);
      assert.equal(all.farm.sent.length, 1);
    });

    for (const gate of MODES)
      for (const isRestarted of [false, true])
        it(`keeps prints from the others while a single status lacks its printer, in the mode ${gate}${isRestarted ? ', also after a restart' : ''}`, async () => {
          all.farm.changes.set('C1', answer(group('P1', 'P2')));
          await start({ ...onlyC1, gate });
          const plates = await see('C1', { ...group('P1', 'P2'), ...past(failed('P2')) });
          assert.deepEqual(plates, { P1: 'clear', P2: 'awaiting' });
          if (isRestarted) {
            all.kill(one);
            all.farm.changes.set('C1', OFFLINE);
            await start({ ...onlyC1, gate });
          }
          await one.add('a');
          await see('C1', alone('P1', past(failed('P2'))));
          assert.deepEqual([all.farm.sent, await one.codes('a')], [[], ['PLATE_NOT_CLEARED']]);
          await see('C1', { ...group('P1', 'P2'), ...past(failed('P2')) });
          await see('C1', alone('P1', past(failed('P2'))));
          assert.deepEqual(all.farm.sent, []);
          await see('C1', alone('P1', past(failed('P2'))));
          assert.equal(all.farm.sent.length, 1);
        });

    it('keeps a print from the group if the read just before its departure lacks its printer', async () => {
      const cleanup = { ...group('P1', 'P2'), print_jobs: [on('P2', at('x', 'failed_wait_cleanup', 50))] };
      all.farm.changes.set('C1', answer(group('P1', 'P2')));
      await start(onlyC1);
      await see('C1', cleanup);
      all.farm.onRead = () => void all.farm.changes.set('C1', answer(alone('P1', past(failed('P2')))));
      await one.add('a');
      assert.deepEqual([all.farm.count('clusterStatus C1'), all.farm.sent], [1, []]);
    });

    it('keeps prints of two queues from the others while the status that both follow lacks its printer', async () => {
      all.farm.changes.set('C1', answer(group('P1', 'P2')));
      await start(onlyC1);
      const other = await all.begin(onlyC1, { queueId: 'other' });
      await see('C1', { ...group('P1', 'P2'), ...past(failed('P2')) });
      for (const queue of [one, other]) await queue.add('a');
      await see('C1', alone('P1', past(failed('P2'))));
      assert.deepEqual(all.farm.sent, []);
    });

    it('keeps prints from the other member while each status lists another one of the two', async () => {
      all.farm.changes.set('C1', answer(group('P1', 'P2')));
      await start(onlyC1);
      await see('C1', { ...group('P1', 'P2'), ...past(failed('P1')) });
      await see('C1', alone('P1', past(failed('P1'))));
      await one.add('a');
      await see('C1', alone('P2', past(failed('P1'))));
      assert.deepEqual(all.farm.sent, []);
    });

    it('lets others print while the printer itself asks for a clear plate', async () => {
      const asking = { ...group('P1', 'P2'), print_jobs: [on('P1', at('x', 'failed_wait_cleanup', 50))] };
      all.farm.changes.set('C1', answer(group('P1', 'P2')));
      await start(onlyC1);
      await see('C1', asking);
      await one.add('a');
      assert.equal(all.farm.sent.length, 1);
    });
  });

  describe('after a change of the mode', () => {
    const printed = async () => {
      await start({ ...onlyC1, gate: 'confirm' });
      await one.add('a');
      await all.pass(80);
      assert.equal(await one.outcome('a'), 'active: finished; 1 active');
    };

    for (const gate of ['printer', 'automatic'] as const)
      it(`counts what was printed as good at the start in the mode ${gate}`, async () => {
        await printed();
        await restart({ ...onlyC1, gate });
        await all.pass(30);
        assert.equal(await one.outcome('a'), 'finished: finished; 1 good');
        assert.equal(one.types('item.finished').length, 1);
      });

    it('judges a print under way by the mode at its end', async () => {
      await start({ ...onlyC1, gate: 'confirm' });
      await one.add('a');
      await all.pass(30);
      await restart({ ...onlyC1, gate: 'automatic' });
      await all.pass(80);
      assert.equal(await one.outcome('a'), 'finished: finished; 1 good');
    });

    it('counts a part as rejected that a person rejected meanwhile', async () => {
      await printed();
      await one.pause();
      await one.clear(false);
      await restart({ ...onlyC1, gate: 'automatic' });
      assert.equal(await one.outcome('a'), 'waiting: rejected; 1 waiting, 1 rejected');
    });

    it('follows a print at a printer that the queue does not use any more', async () => {
      await start({ printers: ['C1'] });
      all.farm.lives.push([[0, 'printing']]);
      await one.add('a');
      await restart({ printers: ['C2'] });
      all.farm.become(all.farm.prints[0], 'finished');
      await all.pass(30);
      assert.equal(await one.outcome('a'), 'finished: finished; 1 good');
    });
  });

  describe('by the table', () => {
    type Ended = NonNullable<PlateGate['ended']>;
    const END: Ended = {
      ...{ id: 'x', outcome: 'finished', source: 'job', at: 1, stage: 'idle' },
      ...{ hasShownCleanup: false, hadShownCleanup: false, hasGap: false, clearedAt: null },
    };
    const printing = { id: 'y', missingSince: null, isUnlisted: false };
    const FAILURES = ['failed', 'aborted', 'unknown'] as const;
    const ROWS: [row: string, result: string, ...gates: (Partial<Ended> | 'printing' | 'untouched')[]][] = [
      ['a print under way', 'closed closed closed', 'printing'],
      [
        'an end before the cleanup',
        'closed closed closed',
        ...FAILURES.map((outcome) => ({ outcome, stage: 'leaving' as const })),
      ],
      [
        'a finished print in its cleanup',
        'pc closed open',
        { stage: 'cleanup' },
        { stage: 'cleanup', hasShownCleanup: true },
      ],
      [
        'another end in its cleanup',
        'pc closed pc',
        ...FAILURES.map((outcome) => ({ outcome, stage: 'cleanup' as const })),
      ],
      ['a finished print, seen to be cleared', 'pc open open', { hasShownCleanup: true }],
      ['a finished print between two polls', 'pc open open', { hadShownCleanup: true }],
      [
        'a finished print after a gap',
        'pc pc open',
        { hasShownCleanup: true, hasGap: true },
        { hadShownCleanup: true, hasGap: true },
      ],
      ['a finished print without a cleanup ever', 'pc pc open', {}],
      [
        'another end, seen to be cleared',
        'pc open pc',
        ...FAILURES.map((outcome) => ({ outcome, hasShownCleanup: true })),
      ],
      [
        'another end, otherwise',
        'pc pc pc',
        ...FAILURES.flatMap((outcome) => [
          { outcome },
          { outcome, hadShownCleanup: true },
          { outcome, hasShownCleanup: true, hasGap: true },
        ]),
      ],
      [
        'what only the record says',
        'pc pc pc',
        ...(['vanished', 'status', 'settled', 'lost', 'damaged'] as const).map((source) => ({
          source,
          hasShownCleanup: true,
          hadShownCleanup: true,
        })),
      ],
      ['a first sight', 'open open open', 'untouched'],
      ['a first sight with a history', 'pc open open', { source: 'earlier', outcome: 'unknown' }],
      ['a confirmed plate', 'open open open', { clearedAt: 2, outcome: 'failed' }, { clearedAt: 2, source: 'lost' }],
    ];
    for (const [row, result, ...gates] of ROWS)
      it(`has a row for ${row}`, () => {
        for (const given of gates) {
          const ended = typeof given === 'object' ? { ...END, ...given } : null;
          const gate = { printing: given === 'printing' ? printing : null, ended };
          assert.equal(MODES.map((mode) => plateOf(gate, mode)).join(' '), result, JSON.stringify(given));
        }
      });
  });

  it('is not written by a poll that changes nothing', async () => {
    all.farm.changes.set('C1', answer(alone('P1', { ...past(failed('P1')), print_jobs: [job('q', 'queued')] })));
    await start({ ...onlyC1, gate: 'confirm' });
    await all.pass(60);
    let writes = 0;
    one.beforeUpdates(() => void writes++);
    await all.pass(120);
    assert.equal(writes, 0);
  });

  describe('that has another cluster id', () => {
    it('stays closed after a failed print when the history where it comes lists an older one', async () => {
      all.farm.changes.set('C2', answer(OFFLINE));
      await start();
      assert.deepEqual(await see('C1', alone('P1'), alone('P1', past(failed('P1')))), { only: 'awaiting' });
      await see('C1', alone('P3'));
      const older = alone('P1', past(on('P1', at('y', 'finished', 100))));
      assert.deepEqual(await see('C2', older, older), { only: 'awaiting' });
    });

    it('is closed if its record was lost, as the checkpoint of its former cluster names it', async () => {
      all.farm.changes.set('C1', answer(alone('P1'))).set('C2', answer(OFFLINE));
      await start();
      assert.deepEqual(await see('C1', alone('P1')), { only: 'clear' });
      all.kill(one);
      await store().delete(gateKey('P1'));
      all.farm.changes.set('C1', answer(OFFLINE)).set('C2', answer(alone('P1')));
      await start();
      assert.deepEqual(await see('C2', alone('P1')), { only: 'awaiting' });
    });

    it('is closed if its record was lost, and the service does not list its former cluster any more', async () => {
      await store().put(['checkpoint', ...SCOPE, 'C0'], { movedTo: 'C2', gates: ['P1'] });
      all.farm.changes.set('C2', answer(alone('P1')));
      await start();
      assert.deepEqual(await see('C2', alone('P1')), { only: 'awaiting' });
    });

    /** Sends a print to P1 at C1, which no status shows. P2 at C2 is paused. */
    const sendUnseen = async () => {
      all.farm.changes.set('C1', answer(alone('P1'))).set('C2', answer(alone('P2')));
      await start();
      await one.pause('C2');
      all.farm.isHidden = true;
      await one.add('a');
      await all.pass(60);
    };

    it('is closed alone by its print, and not with the printer in its former place', async () => {
      all.farm.changes.set('C1', answer(alone('P1'))).set('C2', answer(alone('P2')));
      await start({ gate: 'confirm' });
      await one.pause('C2');
      all.farm.lives.push([[0, 'queued']]);
      await one.add('a');
      await see('C1', alone('P1', { print_jobs: [on('P1', at('print-1', 'printing', 50))] }));
      assert.equal(await one.outcome('a'), 'active: printing; 1 active');
      all.farm.isHidden = true;
      const ended = alone('P1', past(on('P1', at('print-1', 'finished', 100))));
      all.farm.changes.set('C1', answer(alone('P2'))).set('C2', answer(ended));
      await all.pass(60);
      assert.equal(await one.outcome('a'), 'blocked: unknown; 1 unknown');
      assert.deepEqual(await see('C1', alone('P2')), { only: 'clear' });
      await one.settle('a', 'printed');
      assert.deepEqual(await see('C1', alone('P2')), { only: 'clear' });
      assert.deepEqual(await see('C2', ended), { only: 'awaiting' });
      await one.clear(true, 'C2');
      assert.equal(await one.outcome('a'), 'finished: finished; 1 good');
    });

    for (const [what, again] of [
      ['', () => Promise.resolve()],
      [', also after a restart', restart],
    ] as const)
      it(`gets nothing while nobody knows the end of the print that it has got before${what}`, async () => {
        all.farm.changes.set('C1', answer(alone('P1'))).set('C2', answer(OFFLINE));
        await start();
        all.farm.isHidden = true;
        await one.add('a');
        await all.pass(60);
        assert.equal(await one.outcome('a'), 'active: dispatched; 1 active');
        all.farm.unreadable.add('C1');
        await again();
        assert.deepEqual(await see('C2', alone('P1')), { only: 'awaiting' });
        await one.clear(true, 'C2');
        assert.deepEqual(await see('C2', alone('P1')), { only: 'clear' });
        await one.add('b');
        await all.pass(60);
        assert.equal(all.farm.sent.length, 1);
        assert.deepEqual((await one.printers()).map(({ code }) => code).at(-1), 'BUSY');
        await all.pass(1_100);
        assert.equal(await one.outcome('a'), 'blocked: unknown; 1 unknown');
        assert.deepEqual((await one.printers()).map(({ code }) => code).at(-1), 'OUTCOME_UNKNOWN');
        await one.settle('a', 'printed');
        assert.deepEqual(await see('C2', alone('P1')), { only: 'awaiting' });
        assert.equal(all.farm.sent.length, 1);
        await one.clear(true, 'C2');
        assert.equal(all.farm.sent.length, 2);
      });

    it('keeps prints from the group that it has joined while nobody knows the end of its own', async () => {
      await sendUnseen();
      all.farm.unreadable.add('C1');
      assert.deepEqual(await see('C2', group('P2', 'P1')), { P2: 'clear', P1: 'awaiting' });
      await one.clear(true, 'C2', 'P1');
      await one.resume('C2');
      await one.add('b');
      await all.pass(60);
      assert.equal(all.farm.sent.length, 1);
      const codes = (await one.printers()).map(({ code, printerId }) => [printerId, code]);
      assert.deepEqual(codes.slice(1), [
        ['P2', 'PLATE_NOT_CLEARED'],
        ['P1', 'BUSY'],
      ]);
      const job = at('print-1', 'finished', 100);
      await see('C2', { ...group('P2', 'P1'), ...past(on('P1', job)) });
      await one.clear(true, 'C2', 'P1');
      assert.equal(all.farm.sent.length, 2);
    });

    it('is closed by the end of its print, of which its former cluster tells, and not the printer in its former place', async () => {
      await sendUnseen();
      all.farm.changes.set('C2', answer(OFFLINE));
      await see('C1', alone('P2'));
      assert.deepEqual(await see('C2', alone('P1')), { only: 'clear' });
      for (const { end } of one.followed) end({ outcome: 'failed', job: null });
      await all.pass(10);
      assert.equal(await one.outcome('a'), 'failed: failed; 1 failed');
      assert.deepEqual(await see('C1', alone('P2')), { only: 'clear' });
      assert.deepEqual(await see('C2', alone('P1')), { only: 'awaiting' });
    });

    it('gets the verdict on its print after its record was lost, and not the printer in its former place', async () => {
      all.farm.changes.set('C1', answer(alone('P1'))).set('C2', answer(alone('P2')));
      await start({ gate: 'confirm' });
      await one.pause('C2');
      all.farm.lives.push([[0, 'queued']]);
      await one.add('a');
      await see('C1', alone('P1', { print_jobs: [at('print-1', 'printing', 50)] }));
      await see('C1', alone('P1', past(at('print-1', 'finished', 100))));
      assert.equal(await one.outcome('a'), 'active: finished; 1 active');
      all.kill(one);
      await store().delete(gateKey('P1'));
      all.farm.changes.set('C1', answer(alone('P2'))).set('C2', answer(OFFLINE));
      await start({ gate: 'confirm' });
      await see('C1', alone('P2'));
      assert.deepEqual(await see('C2', alone('P1')), { only: 'awaiting' });
      assert.deepEqual(await see('C1', alone('P2')), { only: 'clear' });
      await one.clear(true, 'C2');
      await all.pass(10);
      assert.equal(await one.outcome('a'), 'finished: finished; 1 good');
    });

    it('gets the verdict on a print that came in doubt after the record of the plate was lost', async () => {
      all.farm.changes.set('C1', answer(alone('P1'))).set('C2', answer(OFFLINE));
      await start({ gate: 'confirm' });
      all.farm.isHidden = true;
      await one.add('a');
      await all.pass(60);
      all.kill(one);
      await store().delete(gateKey('P1'));
      all.farm.unreadable.add('C1');
      await start({ gate: 'confirm' });
      await all.pass(1_100);
      await one.settle('a', 'printed');
      assert.equal(await one.outcome('a'), 'active: finished; 1 active');
      assert.deepEqual(await see('C2', alone('P1')), { only: 'awaiting' });
      await one.clear(true, 'C2');
      await all.pass(10);
      assert.equal(await one.outcome('a'), 'finished: finished; 1 good');
    });

    it('gets the verdict on a print that was settled in its group, after the records of the plates were lost', async () => {
      all.farm.changes.set('C1', answer(group('P1', 'P2'))).set('C2', answer(OFFLINE));
      await start({ gate: 'confirm' });
      lose(all);
      await one.add('a');
      await all.pass(200);
      await one.settle('a', 'printed');
      assert.equal(await one.outcome('a'), 'active: finished; 1 active');
      all.kill(one);
      for (const gateId of ['P1', 'P2']) await store().delete(gateKey(gateId));
      all.farm.changes.set('C1', answer(OFFLINE)).set('C2', answer(group('P1', 'P2')));
      await start({ gate: 'confirm' });
      assert.deepEqual(await see('C2', group('P1', 'P2')), { P1: 'awaiting', P2: 'awaiting' });
      await one.clear(true, 'C2', 'P2');
      assert.equal(await one.outcome('a'), 'finished: finished; 1 good');
    });
  });

  describe('that has left its group', () => {
    const startGroup = async (rules: Parameters<QueueFarm['start']>[0] = {}) => {
      all.farm.changes.set('C1', answer(group('P1', 'P2'))).set('C2', answer(OFFLINE));
      await start(rules);
    };
    /** A copy of unknown outcome at the group. Returns its job, as a history shows it. */
    const loseInGroup = async (): Promise<Wire> => {
      lose(all);
      await one.add('a');
      await all.pass(200);
      assert.equal(await one.outcome('a'), 'blocked: unknown; 1 unknown');
      all.farm.dispatch = 'accepted';
      const [print] = all.farm.prints;
      return at(String(print?.uuid), 'finished', 100, { cloud_job_id: print?.jobId });
    };

    for (const members of [['P1'], ['P1', 'P3']])
      it(`is closed with the ${members.length} other(s) after a print that ended without a printer`, async () => {
        all.farm.changes.set('C1', answer(group(...members, 'P2'))).set('C2', answer(OFFLINE));
        await start();
        const rest = members.length === 1 ? alone('P1') : group(...members);
        const plates = Object.values(await see('C1', { ...rest, ...past(at('x', 'finished', 100)) }));
        assert.deepEqual(plates, Array(members.length).fill('awaiting'));
        assert.deepEqual(await see('C2', alone('P2')), { only: 'awaiting' });
      });

    it('is closed once the store can be written again', async () => {
      await startGroup();
      let isFull = true;
      one.beforeUpdates(([kind, ...words]) => {
        if (isFull && kind === 'queue-plate' && words.at(-1) === 'P2') throw new Error('The disk is full');
      });
      const left = alone('P1', past(at('x', 'finished', 100)));
      await see('C1', left);
      isFull = false;
      await see('C1', left);
      assert.deepEqual(await see('C2', alone('P2')), { only: 'awaiting' });
    });

    it('stays open after a print that a member shows as its own', async () => {
      await startGroup();
      const printing = on('P1', at('x', 'printing', 50));
      await see('C1', { ...group('P1', 'P2'), print_jobs: [printing] });
      await see('C1', alone('P1', past(at('x', 'finished', 100))));
      assert.deepEqual(await see('C2', alone('P2')), { only: 'clear' });
    });

    it('stays open after later prints of the others', async () => {
      await startGroup();
      await see('C1', alone('P1'), alone('P1', past(at('x', 'finished', 100))));
      assert.deepEqual(await see('C2', alone('P2')), { only: 'clear' });
    });

    it('is closed by a print in doubt that ended, wherever it was seen meanwhile', async () => {
      await startGroup();
      const job = await loseInGroup();
      await see('C1', alone('P1'));
      assert.deepEqual(await see('C2', alone('P2')), { only: 'clear' });
      const left = alone('P1', past(job));
      assert.deepEqual(await see('C1', left, left), { only: 'awaiting' });
      assert.equal(await one.outcome('a'), 'finished: finished; 1 good');
      assert.deepEqual(await see('C2', alone('P2')), { only: 'awaiting' });
    });

    it('gets no print while a copy is in doubt that it may have printed', async () => {
      await startGroup();
      await loseInGroup();
      await see('C1', alone('P1'));
      await see('C2', alone('P2'));
      await one.add('b', { copies: 2 });
      await all.pass(60);
      assert.equal(all.farm.sent.length, 1);
      assert.deepEqual(await one.codes('b'), ['OUTCOME_UNKNOWN']);
      await one.settle('a', 'not-printed');
      await all.pass(60);
      assert.ok(all.farm.sent.length > 1);
    });

    it('alone gets the verdict on its print after its record was lost', async () => {
      await startGroup({ gate: 'confirm' });
      all.farm.lives.push([[0, 'queued']]);
      await one.add('a');
      await see('C1', { ...group('P1', 'P2'), print_jobs: [on('P2', at('print-1', 'printing', 50))] });
      await see('C1', { ...group('P1', 'P2'), ...past(on('P2', at('print-1', 'finished', 100))) });
      all.kill(one);
      await store().delete(gateKey('P2'));
      all.farm.changes.set('C1', answer(alone('P1'))).set('C2', answer(alone('P2')));
      await start({ gate: 'confirm' });
      assert.deepEqual(await see('C1', alone('P1')), { only: 'clear' });
      assert.deepEqual(await see('C2', alone('P2')), { only: 'awaiting' });
      await one.clear(true, 'C2');
      await all.pass(10);
      assert.equal(await one.outcome('a'), 'finished: finished; 1 good');
    });

    it('is closed if its record is lost, and an attempt in the group names it', async () => {
      await startGroup({ gate: 'confirm' });
      all.farm.lives.push([[0, 'queued']]);
      await one.add('a');
      await see('C1', { ...group('P1', 'P2'), print_jobs: [on('P2', at('print-1', 'printing', 50))] });
      await see('C1', { ...group('P1', 'P2'), ...past(on('P2', at('print-1', 'finished', 100))) });
      all.kill(one);
      await store().delete(gateKey('P2'));
      all.farm.changes.set('C1', answer(alone('P1'))).set('C2', answer(alone('P2')));
      await start();
      assert.deepEqual(await see('C2', alone('P2')), { only: 'awaiting' });
    });
  });

  describe('that has got a print of one queue', () => {
    /** P1 may have got a print of one queue at C1, of which no status tells, and leaves for C2, which another queue uses. */
    const move = async (): Promise<Runtime> => {
      all.farm.changes.set('C1', answer(group('P1', 'P3'))).set('C2', answer(OFFLINE));
      await start(onlyC1);
      const other = await all.begin({ printers: ['C2'], gate: 'automatic' }, { queueId: 'other' });
      all.farm.isHidden = true;
      await one.add('a');
      await all.pass(60);
      assert.equal(await one.outcome('a'), 'active: dispatched; 1 active');
      all.farm.changes.set('C1', answer(alone('P3')));
      await all.pass(10);
      return other;
    };

    it('gets none of another queue where it has moved, until the first queue knows the end', async () => {
      const other = await move();
      all.farm.changes.set('C2', answer(alone('P1')));
      await all.pass(10);
      await other.add('b');
      await all.pass(60);
      const [shown] = await other.printers();
      assert.deepEqual([shown?.plate, shown?.code], ['clear', 'BUSY']);
      assert.deepEqual(all.farm.sent, ['C1 job']);
      // The first queue recalls its print.
      await all.pass(1_100);
      assert.ok(all.farm.sent.includes('C2 job'));
    });

    it('is free for another queue once the prints from before it left have ended, whatever its group prints then', async () => {
      const copies = ['a', 'b'].map((itemId) => reservationOf('queue', itemId, 1));
      const [first = '', second = ''] = copies;
      let here = ['P1', 'P3'];
      const records = new QueueStore(store(), SCOPE);
      const own = new Reservations(records, 'queue', systemClock, () => here);
      const others = new Reservations(records, 'other', systemClock, () => here);
      const room = { printers: 2, free: 2, known: new Set<string>() };
      await own.reserve('C1', first, room);
      here = ['P3'];
      await own.reserve('C1', second, room);
      await others.load();
      assert.ok(others.isTaken('P1', 'C2'));
      assert.deepEqual([...others.machinesAt('C1')].toSorted(), ['P1', 'P3']);
      await own.release('C1', first);
      await others.reload('C1');
      assert.ok(!others.isTaken('P1', 'C2'));
      assert.ok(others.isTaken('P3', 'C2'));
    });

    it('keeps prints of another queue from the group that it has joined, also after a restart', async () => {
      const other = await move();
      all.farm.changes.set('C2', answer(group('P1', 'P2')));
      await all.pass(10);
      all.kill(other);
      const again = await all.begin({ printers: ['C2'], gate: 'automatic' }, { queueId: 'other' });
      await again.add('b');
      await all.pass(60);
      const shown = (await again.printers()).map(({ plate, code }) => [plate, code]);
      assert.deepEqual(shown, [
        ['clear', 'BUSY'],
        ['clear', 'PLATE_NOT_CLEARED'],
      ]);
      assert.deepEqual(all.farm.sent, ['C1 job']);
    });
  });

  describe('that has moved while nobody could read its cluster', () => {
    const ended = past(at('x', 'finished', 100));
    const placed = past(on('P2', at('x', 'finished', 100)));
    /** P2 of the group at C1, which can't be read any more, appears at C2. Returns its plate there. */
    const move = async (rules: Parameters<QueueFarm['start']>[0] = {}): Promise<string | undefined> => {
      all.farm.changes.set('C1', answer(group('P1', 'P2'))).set('C2', answer(OFFLINE));
      await start({ printers: [], ...rules });
      all.farm.unreadable.add('C1');
      return (await see('C2', alone('P2'))).only;
    };
    const readAgain = (...wires: Wire[]) => {
      all.farm.unreadable.delete('C1');
      return see('C1', ...wires);
    };

    for (const gate of MODES)
      it(`gets nothing until its former cluster can be read, in the mode ${gate}`, async () => {
        assert.equal(await move({ gate }), 'awaiting');
        await one.add('a', { copies: 2 });
        await all.pass(60);
        assert.deepEqual(all.farm.sent, []);
        assert.equal((await one.printers()).find(({ clusterId }) => clusterId === 'C2')?.code, 'PLATE_NOT_CLEARED');
        await readAgain(alone('P1'));
        assert.deepEqual(await see('C2', alone('P2')), { only: 'clear' });
        await all.pass(60);
        assert.deepEqual(all.farm.sent.toSorted(), ['C1 job', 'C2 job']);
      });

    for (const gate of MODES)
      it(`stays closed after a failed print when its former cluster lists one that finished, in the mode ${gate}`, async () => {
        await move({ gate });
        const plate = past(failed('P2', 'y'));
        assert.deepEqual(await see('C2', alone('P2', plate)), { only: 'awaiting' });
        await readAgain({ ...alone('P1'), ...placed });
        assert.deepEqual(await see('C2', alone('P2', plate), alone('P2', plate)), { only: 'awaiting' });
        await one.clear(true, 'C2');
        assert.deepEqual(await see('C2', alone('P2', plate)), { only: 'clear' });
      });

    for (const [what, wire] of [
      ['with its printer', placed],
      ['without a printer', ended],
    ] as const)
      it(`stays closed if its former cluster then lists a print ${what}`, async () => {
        await move({ gate: 'printer' });
        await readAgain({ ...alone('P1'), ...wire });
        assert.deepEqual(await see('C2', alone('P2'), alone('P2')), { only: 'awaiting' });
        assert.deepEqual(one.types('plate').at(-1), 'plate.awaiting');
        await one.clear(true, 'C2');
        assert.deepEqual(await see('C2', alone('P2')), { only: 'clear' });
      });

    it('is closed by a print that its former cluster lists before it appears elsewhere', async () => {
      all.farm.changes.set('C1', answer(group('P1', 'P2'))).set('C2', answer(OFFLINE));
      await start();
      await see('C1', { ...alone('P1'), ...placed });
      assert.deepEqual(await see('C2', alone('P2')), { only: 'clear' });
    });

    it('stays closed after a restart', async () => {
      await move();
      await restart({ printers: [] });
      assert.deepEqual(await see('C2', alone('P2')), { only: 'awaiting' });
      await readAgain(alone('P1'));
      assert.deepEqual(await see('C2', alone('P2')), { only: 'clear' });
    });

    it('shows a need that a person can meet', async () => {
      await move();
      const plate = async () => (await one.ask((queue) => queue.board())).todo.find(({ kind }) => kind === 'plate');
      const need = await plate();
      assert.equal(need?.clusterId, 'C2');
      const judges = String(need.answers[0]?.properties.judges);
      await one.judge(true, { judges }, 'C2');
      assert.equal(await plate(), undefined);
      assert.deepEqual(await see('C2', alone('P2')), { only: 'clear' });
      // The part of a print that its former cluster lists later has been taken off.
      await readAgain({ ...alone('P1'), ...placed });
      assert.deepEqual(await see('C2', alone('P2')), { only: 'clear' });
    });

    it('opens once the service does not know its former cluster any more', async () => {
      all.farm.changes.set('C1', answer(alone('P2'))).set('C2', answer(OFFLINE));
      await start({ printers: [] });
      all.farm.unreadable.add('C1');
      assert.deepEqual(await see('C2', alone('P2')), { only: 'awaiting' });
      all.farm.unreadable.delete('C1');
      all.farm.clusters.delete('C1');
      await all.pass(260);
      assert.deepEqual(await see('C2', alone('P2')), { only: 'clear' });
    });

    for (const gate of MODES)
      it(`stays closed without a person if a print had the time to end there unseen, in the mode ${gate}`, async () => {
        all.farm.changes.set('C1', answer(alone('P2'))).set('C2', answer(OFFLINE));
        await start({ printers: [], gate });
        await one.clear(true, 'C1');
        all.farm.unreadable.add('C1');
        await all.pass(150);
        all.farm.unreadable.delete('C1');
        all.farm.clusters.delete('C1');
        await all.pass(260);
        assert.deepEqual(await see('C2', alone('P2')), { only: 'awaiting' });
        assert.equal(one.types('plate').at(-1), 'plate.awaiting');
        await one.add('a');
        await all.pass(30);
        assert.deepEqual(all.farm.sent, []);
        await one.clear(true, 'C2');
        await all.pass(30);
        assert.deepEqual(all.farm.sent, ['C2 job']);
      });

    for (const isLater of [false, true])
      it(`is closed by a print of its former cluster under a new id, ${isLater ? 'after' : 'before'} it appears`, async () => {
        all.farm.changes.set('C1', answer(group('P1', 'P2'))).set('C2', answer(OFFLINE));
        await start({ printers: [] });
        all.farm.clusters.delete('C1');
        all.farm.clusters.set('C3', {});
        if (isLater) await see('C2', alone('P2'));
        all.farm.changes.set('C3', answer({ ...alone('P1'), ...ended }));
        await all.pass(260);
        assert.deepEqual(await see('C2', alone('P2')), { only: 'awaiting' });
        await one.clear(true, 'C2');
        assert.deepEqual(await see('C2', alone('P2')), { only: 'clear' });
      });

    it('is free although two clusters show it', async () => {
      all.farm.changes.set('C1', answer(alone('P2'))).set('C2', answer(alone('P2')));
      await start({ printers: [] });
      await all.pass(30);
      assert.deepEqual(
        (await one.printers()).map(({ plate }) => plate),
        ['clear', 'clear'],
      );
    });

    it('stays closed after a verdict on its last print', async () => {
      all.farm.changes.set('C1', answer(group('P1', 'P2'))).set('C2', answer(OFFLINE));
      await start({ gate: 'confirm', printers: [] });
      await see('C1', { ...group('P1', 'P2'), ...past(on('P2', at('y', 'finished', 100))) });
      all.farm.unreadable.add('C1');
      assert.deepEqual(await see('C2', alone('P2')), { only: 'awaiting' });
      await one.judge(true, { judges: 'y' }, 'C2');
      assert.deepEqual(await see('C2', alone('P2')), { only: 'awaiting' });
      await one.clear(true, 'C2');
      assert.deepEqual(await see('C2', alone('P2')), { only: 'clear' });
    });
  });
});
