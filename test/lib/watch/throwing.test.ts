import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import sinon from 'sinon';
import { SingleFlight } from '../../../lib/time/concurrency';
import { Changes } from '../../../lib/sign-in/sign-in-state';
import { systemClock } from '../../../lib/time/clock';
import { Deadline } from '../../../lib/time/deadline';
import { holdStream } from '../../../lib/upload/content';
import { Scheduler } from '../../../lib/watch/polling/scheduler';
import type { Round } from '../../../lib/watch/views/rounds';
import type { WatchOptions } from '../../../lib/watch/views/watch';
import { handle } from '../../../nodes/shared/admin/handle';
import { whenFlowsStarted } from '../../../nodes/shared/flows-started';
import { limit } from '../../helpers/limits';
import { ManualClock, settle } from '../../helpers/manual-clock';
import { answer, at, job } from '../events/observations';
import { broken, ScriptedAccount } from './scripted-account';

const MINUTE = 60_000;
const fails = () => {
  throw new TypeError('not ours');
};
const rejects = () => Promise.reject(new TypeError('not ours'));
const CALLBACKS = { throws: fails, rejects } as unknown as Record<string, () => never>;

/** An uncaught exception or an unhandled rejection fails the test too: mocha reports both. */
describe('a failing callback', () => {
  let warned: sinon.SinonStub;
  beforeEach(() => (warned = sinon.stub(process, 'emitWarning')));
  afterEach(() => sinon.restore());
  const warnings = () => warned.getCalls().filter(({ args }) => args[1] === 'RemotePrinting').length;

  for (const [how, callback] of Object.entries(CALLBACKS)) {
    it(`does not stop other timers if a timer ${how}`, async () => {
      const timers = sinon.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const after = sinon.spy();
      systemClock.after(5, callback);
      systemClock.after(5, after);
      timers.tick(10);
      await settle();
      assert.deepEqual([after.callCount, warnings()], [1, 1]);
    });

    it(`does not stop other listeners if a listener to the sign-in ${how}`, async () => {
      const changes = new Changes();
      const other = sinon.spy();
      changes.on(callback);
      changes.on(other);
      changes.notify();
      await settle();
      assert.deepEqual([other.callCount, warnings()], [1, 1]);
    });

    it(`does not stop other followers if a follower of a signal or a deadline ${how}`, async () => {
      const controller = new AbortController();
      const deadline = new Deadline(new ManualClock(), { parent: controller.signal });
      const others = [sinon.spy(), sinon.spy()] as const;
      const other = new Deadline(new ManualClock(), { parent: controller.signal });
      deadline.whenOver(callback);
      deadline.whenOver(others[0]);
      other.whenOver(callback);
      other.whenOver(others[1]);
      controller.abort(new Error('over'));
      await settle();
      assert.deepEqual([...others.map(({ callCount }) => callCount), warnings()], [1, 1, 2]);
    });

    it(`does not stop other watches if every callback of a watch ${how}`, async () => {
      const { clock, service, signIn, ...account } = new ScriptedAccount();
      const { watcher, reports } = account;
      service.cluster('C1', answer({ print_jobs: [job('a', 'queued')] }));
      signIn.listeners.add(callback);
      const options: WatchOptions = {
        clusterId: 'C1',
        interval: 60,
        milestones: [50],
        onRound: callback,
        onEvents: callback,
        onTrouble: callback,
        onStandby: callback,
      };
      watcher.watch(options);
      watcher.watch({ ...options, clusterId: null });
      watcher.onObservation(callback);
      const followed = watcher.follow('C1', 'a', { onProgress: callback });
      const rounds: Round[] = [];
      const events: string[] = [];
      const troubles: string[] = [];
      watcher.watch({
        ...options,
        onRound: (round) => rounds.push(round),
        onEvents: (all) => events.push(...all.map(({ type }) => type)),
        onTrouble: ({ code }) => troubles.push(code),
      });
      await clock.advance(MINUTE);
      service.cluster('C1', answer({ print_jobs: [at('a', 'printing', 60)] }));
      await clock.advance(MINUTE);
      service.fails = () => broken();
      await clock.advance(2 * MINUTE);
      service.fails = () => undefined;
      service.cluster('C1', answer({ recently_completed: [at('a', 'finished', 100)] }));
      await clock.advance(5 * MINUTE);
      assert.ok(rounds.length >= 5, `${rounds.length}`);
      assert.deepEqual(events, ['job.started', 'job.progress', 'job.finished']);
      assert.deepEqual(troubles, ['SERVICE_ERROR']);
      assert.equal((await followed).outcome, 'finished');
      assert.ok(reports.filter(({ kind }) => kind === 'fault').length >= 5);
      await watcher.close();
    });

    it(`does not stop watching where the account's log ${how}`, async () => {
      const account = new ScriptedAccount();
      const { clock, service } = account;
      account.onReport = callback;
      service.cluster('C1');
      const { rounds, troubles } = account.watch('C1', { onEvents: callback });
      service.fails = () => broken();
      await clock.advance(5 * MINUTE);
      service.fails = () => undefined;
      await clock.advance(10 * MINUTE);
      assert.deepEqual(troubles, ['SERVICE_ERROR']);
      assert.equal(rounds.at(-1)?.error, null);
      assert.ok(warnings() >= 2, `${warnings()}`);
      await account.watcher.close();
    });

    it(`does not stop other polls if a poll ${how}`, async () => {
      const clock = new ManualClock();
      const fault = sinon.spy();
      const scheduler = new Scheduler({
        clock,
        memory: { pausedUntil: 0 },
        usable: () => true,
        onJump: callback,
        fault,
      });
      scheduler.plan({ run: callback }, 10);
      const other = sinon.fake.resolves(0);
      scheduler.plan({ run: other }, 2_000);
      await clock.advance(MINUTE);
      assert.deepEqual([fault.callCount, other.callCount], [1, 1]);
    });

    it(`does not stop shared work if a progress listener ${how}`, async () => {
      const shared = new SingleFlight<number, string>();
      const listener = sinon.spy();
      const work = async (_: Deadline, report: (progress: string) => void) => {
        report('half');
        return 1;
      };
      const results = [callback, listener].map((onProgress) =>
        shared.join('k', work, { deadline: limit(), onProgress }),
      );
      assert.deepEqual(await Promise.all(results), [1, 1]);
      await settle();
      assert.deepEqual([listener.callCount, warnings()], [1, 1]);
    });

    it(`does not stop other nodes if a node's first work after a deploy ${how}`, async () => {
      const started: (() => void)[] = [];
      const RED = { events: { once: (_: string, listener: () => void) => started.push(listener) } };
      const other = sinon.spy();
      whenFlowsStarted(RED as never, callback);
      whenFlowsStarted(RED as never, other);
      started.forEach((listener) => listener());
      await settle();
      assert.deepEqual([other.callCount, warnings()], [1, 1]);
    });
  }

  it('stays a warning if the stream of a message throws on destroy', async () => {
    const stream = new Readable({ read: () => undefined });
    stream.destroy = fails;
    const controller = new AbortController();
    const release = holdStream(stream, controller.signal);
    controller.abort();
    release();
    await settle();
    assert.equal(warnings(), 2);
  });

  it('closes the connection if an answer to the editor can’t be written', async () => {
    const destroy = sinon.spy();
    const response = { set: () => undefined, type: fails, status: fails, destroy };
    const request = { get: () => undefined, acceptsLanguages: () => [] };
    handle(async () => 1)(request as never, response as never);
    handle(rejects)(request as never, response as never);
    await settle();
    assert.equal(destroy.callCount, 2);
  });
});
