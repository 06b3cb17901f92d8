import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  atLimit,
  dispatchAction,
  followAction,
  meaning,
  type Action,
  type ActionRequest,
} from '../../../lib/action/action';
import { PrintingError } from '../../../lib/service/errors';
import { ManualClock } from '../../helpers/manual-clock';
import { ScriptedService } from '../../helpers/scripted-service';
import { limit } from '../../helpers/limits';
import { phrase } from '../../../lib/words/sentence';

describe('action', () => {
  const clock = () => new ManualClock();
  const controller = () => new AbortController();
  const request = (time: ManualClock, signal: AbortSignal): ActionRequest => ({
    endpoint: 'printerAction',
    ids: { cluster_id: 'c', printer_id: 'p', action: 'wave' },
    data: { times: 2 },
    what: phrase`the wave`,
    deadline: limit(time, { signal }),
  });
  const pending = { action_id: 'a', status: 'pending' };
  const statuses = (seen: Action[]) => seen.map(({ status }) => status);

  /** Dispatches and follows an action; returns its end, and the states on the way. */
  async function run(script: ConstructorParameters<typeof ScriptedService>[0], ms = 120_000) {
    const time = clock();
    const end = controller();
    const service = new ScriptedService(script);
    const seen: Action[] = [];
    const wanted = request(time, end.signal);
    const work = dispatchAction(service, wanted).then((dispatched) =>
      followAction(service, wanted, dispatched, (action) => seen.push(action)),
    );
    const outcome = work.then(
      (done) => ({ done, error: undefined }),
      (error: unknown) => ({ done: undefined, error: error as PrintingError }),
    );
    await time.advance(ms);
    end.abort(new PrintingError('TIMEOUT', phrase`Over.`));
    return { ...(await outcome), seen, service, time };
  }

  it('sends the ids, the name and the data, and polls by the id in the answer', async () => {
    const { service, done } = await run({
      printerAction: [pending],
      actionStatus: [{ ...pending, status: 'success', status_details: { type: 't', value: { x: 1 } } }],
    });
    const [first, second] = service.calls;
    assert.deepEqual(
      [first?.endpoint, first?.ids, first?.data],
      ['printerAction', { cluster_id: 'c', printer_id: 'p', action: 'wave' }, { times: 2 }],
    );
    assert.deepEqual([second?.endpoint, second?.ids], ['actionStatus', { cluster_id: 'c', action_id: 'a' }]);
    assert.deepEqual(done?.details, { type: 't', value: { x: 1 } });
    assert.deepEqual([done?.actionId, done?.status], ['a', 'success']);
    assert.deepEqual(done?.raw, { ...pending, status: 'success', status_details: { type: 't', value: { x: 1 } } });
  });

  it('waits for an action that the service does not find yet, but not for one that is gone', async () => {
    const missing = new PrintingError('NOT_FOUND', phrase`No such action.`, { outcome: 'refused' });
    const success = { action_id: 'a', status: 'success' };
    const found = await run({ printerAction: [pending], actionStatus: [missing, missing, success] });
    assert.equal(found.done?.status, 'success');
    const gone = await run({ printerAction: [pending], actionStatus: [missing] }, 20_000);
    assert.equal(gone.error?.code, 'NOT_FOUND');
  });

  it('polls at short intervals first, then at longer ones', async () => {
    const time = clock();
    const at: number[] = [];
    const service = new ScriptedService({ actionStatus: [() => (at.push(time.monotonic()), { status: 'sent' })] });
    const end = controller();
    const first = { actionId: 'a', status: 'pending', details: null, raw: null };
    const work = followAction(service, request(time, end.signal), first, () => undefined);
    work.catch(() => undefined);
    await time.advance(30_000);
    end.abort(new Error('over'));
    await assert.rejects(work, /over/);
    const gaps = at.map((ms, index) => ms - (at[index - 1] ?? 0));
    assert.equal(gaps[0], 500);
    assert.ok(gaps.every((gap, index) => gap >= (gaps[index - 1] ?? 0)));
    assert.equal(gaps.at(-1), 5000);
    assert.equal(time.waiting, 0, 'a timer was left behind');
  });

  it('accepts success in the first answer', async () => {
    const { service, done } = await run({ printerAction: [{ status: 'success', action_id: 'a' }] });
    assert.equal(done?.actionId, 'a');
    assert.equal(service.count('actionStatus'), 0);
    assert.equal((await run({ printerAction: [{ status: 'SUCCESS' }] })).done?.actionId, null);
  });

  it('keeps the id if later answers lack it, and reads an answer in an array', async () => {
    const { done } = await run({ printerAction: [[pending]], actionStatus: [null, {}, [], [{ status: 'success' }]] });
    assert.deepEqual([done?.actionId, done?.status], ['a', 'success']);
  });

  for (const word of ['failed', 'unknown', 'Failed'])
    it(`fails at once with ACTION_FAILED at ${word}`, async () => {
      const { error, service } = await run({
        printerAction: [pending],
        actionStatus: [{ status: 'sent' }, { status: word }],
      });
      assert.equal(error?.code, 'ACTION_FAILED');
      assert.match(error?.message ?? '', new RegExp(word));
      assert.equal(service.count('actionStatus'), 2);
      assert.equal((await run({ printerAction: [{ ...pending, status: word }] })).error?.code, 'ACTION_FAILED');
    });

  it('keeps polling through unknown statuses', async () => {
    const { done, seen } = await run({
      printerAction: [pending],
      actionStatus: [{ status: 'sent' }, { status: 'on_its_way' }, { status: 'success' }],
    });
    assert.deepEqual(statuses(seen), ['pending', 'sent', 'on_its_way', 'success']);
    assert.ok(done);
  });

  it('polls through pending and sent until its deadline', async () => {
    const { error, time } = await run({ printerAction: [pending], actionStatus: [{ status: 'sent' }] });
    assert.equal(error?.code, 'TIMEOUT');
    assert.equal(time.waiting, 0);
  });

  it('rejects an answer without an action id', async () => {
    for (const data of [{}, null, [], 'text', { status: 'pending' }, { action_id: 7, status: 'pending' }]) {
      const { error } = await run({ printerAction: [data] });
      assert.equal(error?.code, 'SERVICE_ERROR');
      assert.equal(error?.outcome, 'unknown');
    }
  });

  it('sends the action only once', async () => {
    const { error, service } = await run({
      printerAction: [new PrintingError('NETWORK', phrase`Broken.`, { outcome: 'unknown' })],
    });
    assert.equal(error?.code, 'NETWORK');
    assert.equal(service.calls.length, 1);
  });

  it('reports an action with an unknown status at the deadline as failed, any other as a timeout', () => {
    const late = new PrintingError('TIMEOUT', phrase`Too late.`);
    for (const word of [null, 'pending', 'sent']) assert.equal(atLimit(late, word, phrase`x`), late);
    assert.equal(atLimit(late, 'on_its_way', phrase`x`).code, 'ACTION_FAILED');
    const other = new PrintingError('NETWORK', phrase`Broken.`);
    assert.equal(atLimit(other, 'on_its_way', phrase`x`), other);
  });

  it('assigns a meaning to every status', () => {
    fc.assert(
      fc.property(fc.string(), (word) => {
        const known = ['pending', 'sent', 'success', 'failed', 'unknown'].includes(word.toLowerCase());
        assert.equal(meaning(word) === 'new', !known);
      }),
    );
    assert.deepEqual(['pending', 'sent', 'success', 'failed', 'unknown', null].map(meaning), [
      'open',
      'open',
      'success',
      'failed',
      'failed',
      'open',
    ]);
  });

  it('handles any answer', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.jsonValue(), async (first, second) => {
        const { done, error } = await run({ printerAction: [first], actionStatus: [second] }, 10_000);
        assert.ok(done ?? error instanceof PrintingError);
      }),
      { numRuns: 50 },
    );
  });
});
