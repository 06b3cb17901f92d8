import assert from 'node:assert/strict';
import type { Answer } from '../../../lib/account/api-client';
import { Dispatcher, type DispatchRequest } from '../../../lib/print/dispatcher';
import { Ledger, type Entry } from '../../../lib/print/ledger';
import { JobListReader, type Listing } from '../../../lib/print/job-list-reader';
import { readClusterStatus } from '../../../lib/service/cluster';
import { asPrintingError, PrintingError } from '../../../lib/service/errors';
import type { Change, Key, PutOptions } from '../../../lib/state/store';
import { sleep } from '../../../lib/time/clock';
import { Deadline } from '../../../lib/time/deadline';
import { FaultyStore, type StoreFault } from '../../helpers/faulty-store';
import { limit } from '../../helpers/limits';
import { ManualClock, settle } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';
import { ScriptedService } from '../../helpers/scripted-service';
import { phrase } from '../../../lib/words/sentence';

const SCOPE = ['account', 'https://api.example', 'workspace'] as const;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.parse('2026-01-01T00:00:00.000Z');

const iso = (ms: number) => new Date(ms).toISOString();
const lost = () => new PrintingError('NETWORK', phrase`Reset.`, { outcome: 'unknown' });
const down = () => new PrintingError('SERVICE_ERROR', phrase`Down.`, { outcome: 'unknown', statusCode: 500 });
const refused = () => new PrintingError('NOT_ACCEPTED', phrase`Busy.`, { outcome: 'refused', statusCode: 409 });

describe('print/dispatcher', () => {
  let clock: ManualClock;
  let service: ScriptedService;
  let disk: MemoryStore;
  let broken: (step: 'read' | 'write', kind: string) => StoreFault;
  let ledger: Ledger;
  let jobListReader: JobListReader;
  let dispatcher: Dispatcher;
  let warnings: string[];
  /** The cluster's lists at the service. */
  let queue: { uuid: string; cloud_job_id: string | null; created_at?: string; status: string; sent_from?: string }[];
  let status: () => unknown;
  let print: (options: unknown) => unknown;

  beforeEach(() => {
    clock = new ManualClock(START);
    queue = [];
    status = () => ({ is_online: true, generated_time: iso(clock.now()), print_jobs: queue, recently_completed: [] });
    print = () => accepted('p1');
    service = new ScriptedService({ clusterStatus: [() => status()], print: [(options: unknown) => print(options)] });
    disk = new MemoryStore();
    broken = () => undefined;
    const store = new FaultyStore(
      disk,
      (step, [kind]) => broken(step, kind),
      () => undefined,
    );
    ledger = new Ledger(store, SCOPE);
    jobListReader = new JobListReader(service);
    warnings = [];
    dispatcher = new Dispatcher({ service, jobListReader, clock, warn: (sentence) => warnings.push(String(sentence)) });
  });

  /** Adds a print that the service has accepted to its lists. */
  function accepted(uuid: string, jobId = 'job', createdAt = clock.now()): unknown {
    queue.push({ uuid, cloud_job_id: jobId, created_at: iso(createdAt), status: 'queued' });
    return { job_id: jobId, job_instance_uuid: uuid, status: 'queued' };
  }
  const key = (printKey: string) => ({ clusterId: 'cluster', printKey });
  const dispatch = (printKey: string, changes: Partial<DispatchRequest> = {}) =>
    dispatcher.dispatch(ledger, {
      clusterId: 'cluster',
      jobId: 'job',
      startNow: true,
      printKey,
      note: { made: 'first' },
      ...changes,
      deadline: changes.deadline ?? limit(clock, { seconds: 600 }),
    });
  /** Runs the clock until the work has settled; resolves with its result or error code. */
  async function outcome<T>(work: Promise<T>): Promise<T | string> {
    let ended = false;
    const end = work.then(
      (value) => value,
      (thrown: unknown) => asPrintingError(thrown).code,
    );
    void end.finally(() => (ended = true));
    await settle();
    while (!ended) await clock.advance(clock.next ?? 0);
    return end;
  }
  /** The same for work that ends in a print. */
  async function printed<T>(work: Promise<T>): Promise<NonNullable<T>> {
    const found = await outcome(work);
    assert.ok(typeof found === 'object' && found, String(found));
    return found;
  }
  const again = (printKey: string, seconds = 600) =>
    ledger
      .find(key(printKey))
      .then((entry) => dispatcher.searchAgain(ledger, key(printKey), entry as Entry, limit(clock, { seconds })));
  const listing = (): Listing => {
    const { jobs, history, hasHistory } = readClusterStatus(status() as Record<string, unknown>, {
      clusterId: 'cluster',
      receivedAt: iso(clock.now()),
      identity: null,
    });
    return { jobs, history, hasHistory, current: true, at: clock.now() };
  };
  const poll = (printKey: string, what = listing()) => dispatcher.settle(ledger, key(printKey), what, limit(clock));
  /** Polls for some hours after a lost answer; resolves with the last state of the key. */
  async function pollFor(hours: number, printKey = 'k'): Promise<string> {
    let state = '';
    for (let minutes = 0; minutes < hours * 60; minutes += 4) {
      await clock.advance(4 * 60_000);
      state = await poll(printKey);
    }
    return state;
  }
  /** Dispatches a print whose answer is lost and which, if it exists, can't be found. */
  async function loseAnswer(printKey: string, before: () => void = () => undefined): Promise<void> {
    const seen = status;
    print = () => {
      before();
      status = down;
      return lost();
    };
    assert.equal(await outcome(dispatch(printKey)), 'PRINT_OUTCOME_UNKNOWN');
    status = seen;
    print = () => accepted('p-new');
  }

  it('gives one key’s printing to no other key, even if a poll lists it before the answer arrives', async () => {
    await loseAnswer('a');
    let answer: (data: unknown) => void = () => undefined;
    print = () => new Promise((resolve) => (answer = resolve));
    const b = dispatch('b');
    await settle();
    const data = accepted('b1');
    const a = poll('a');
    await settle();
    answer(data);
    assert.equal((await b).clusterJobId, 'b1');
    assert.equal(await a, 'open');
    assert.equal((await ledger.find(key('a')))?.done, undefined);
  });

  it('finds no earlier print that somebody else began of the same file', async () => {
    accepted('foreign', 'job', clock.now() - 60_000);
    print = () => lost();
    const found = await outcome(dispatch('k'));
    assert.equal(found, 'PRINT_OUTCOME_UNKNOWN');
  });

  it('finds a print that a poll has listed, even if its own reads fail', async () => {
    print = () => {
      accepted('p1');
      status = down;
      return lost();
    };
    const seen = readClusterStatus(
      { is_online: true, print_jobs: [{ uuid: 'p1', cloud_job_id: 'job', status: 'queued' }] },
      { clusterId: 'cluster', receivedAt: iso(START), identity: null },
    );
    const work = dispatch('k');
    await settle();
    jobListReader.publish('cluster', seen);
    const found = await printed(work);
    assert.deepEqual([found.clusterJobId, found.duplicate, found.note], ['p1', false, { made: 'first' }]);
  });

  const unreliable: [string, () => unknown][] = [
    ['an offline cluster’s old list', () => ({ is_online: false, print_jobs: [], recently_completed: [] })],
    ['an answer without lists', () => ({ is_online: true })],
    ['an empty answer', () => null],
    ['a failure', down],
  ];
  for (const [name, answer] of unreliable)
    it(`does not treat ${name} as proof that a print is absent`, async () => {
      await loseAnswer('k');
      status = answer;
      assert.equal(await outcome(again('k')), 'PRINT_OUTCOME_UNKNOWN');
    });

  describe('where statuses lack the history', () => {
    /** Prints of the job that have ended; null: the status has no history. */
    let past: typeof queue | null;

    beforeEach(() => {
      past = [];
      status = () => ({
        ...{ is_online: true, generated_time: iso(clock.now()), print_jobs: queue },
        ...(past && { recently_completed: past }),
      });
    });

    for (const missing of ['is missing', 'is null', 'can’t be read'])
      it(`sends nothing again while the history ${missing}, as the print may have ended`, async () => {
        await loseAnswer('k');
        const whole = status;
        const history = missing === 'is null' ? null : missing === 'is missing' ? undefined : [null];
        status = () => ({ ...(whole() as object), recently_completed: history });
        assert.equal(await outcome(again('k')), 'PRINT_OUTCOME_UNKNOWN');
        assert.equal(await outcome(dispatch('k')), 'PRINT_OUTCOME_UNKNOWN');
        assert.equal(service.count('print'), 1);
        await pollFor(2);
        status = whole;
        past = [{ uuid: 'p1', cloud_job_id: 'job', created_at: iso(START), status: 'finished' }];
        assert.equal((await printed(again('k'))).clusterJobId, 'p1', 'no time counts as lived without a history');
      });

    it('does not take an old print for the lost one where only later statuses have a history', async () => {
      past = null;
      await loseAnswer('k');
      past = [{ uuid: 'old', cloud_job_id: 'job', created_at: iso(START - 2 * DAY), status: 'finished' }];
      assert.equal(await outcome(again('k')), 'PRINT_OUTCOME_UNKNOWN');
      assert.equal((await ledger.find(key('k')))?.done, undefined);
    });

    it('finds the lost print in the history where only later statuses have one', async () => {
      past = null;
      await loseAnswer('k');
      past = [{ uuid: 'p1', cloud_job_id: 'job', created_at: iso(START + 60_000), status: 'finished' }];
      assert.equal((await printed(again('k'))).clusterJobId, 'p1');
    });

    it('prints again with firmware that never has a history', async () => {
      past = null;
      await loseAnswer('k');
      assert.equal(await outcome(again('k')), undefined);
      assert.equal((await printed(dispatch('k'))).clusterJobId, 'p-new');
    });

    it('keeps the claims of printings that only the history shows', async () => {
      for (let count = 0; count < 8; count++) {
        print = () => {
          past?.push({ uuid: `p${count}`, cloud_job_id: 'job', created_at: iso(START), status: 'finished' });
          return { job_id: 'job', status: 'queued', job_instance_uuid: `p${count}` };
        };
        await printed(dispatch(`key ${count}`));
      }
      past = null;
      print = () => accepted('p8');
      await printed(dispatch('another key'));
      assert.equal((await ledger.claims.of('cluster', 'job')).length, 9);
    });
  });

  describe('where a status names no job', () => {
    it('sends nothing again while a new printing may be the lost one', async () => {
      await loseAnswer('k', () => accepted('p1'));
      queue[0]!.cloud_job_id = null;
      assert.equal(await outcome(again('k')), 'PRINT_OUTCOME_UNKNOWN');
      queue = [];
      assert.equal(await outcome(again('k')), 'PRINT_OUTCOME_UNKNOWN', 'the list no longer shows it');
      accepted('p1', 'other');
      assert.equal(await outcome(again('k')), undefined, 'it is one of another job');
    });

    for (const sentFrom of ['usb', 'network'])
      it(`does not mistake a print from ${sentFrom} for the lost one`, async () => {
        await loseAnswer('k');
        queue = [{ uuid: 'local', cloud_job_id: null, sent_from: sentFrom, status: 'printing' }];
        assert.equal(await outcome(again('k')), undefined);
      });

    it('finds no print that was listed before the call without its job', async () => {
      queue = [{ uuid: 'foreign', cloud_job_id: null, created_at: iso(START), status: 'printing' }];
      print = () => {
        queue[0]!.cloud_job_id = 'job';
        return lost();
      };
      assert.equal(await outcome(dispatch('k')), 'PRINT_OUTCOME_UNKNOWN');
      assert.equal((await ledger.find(key('k')))?.done, undefined);
    });
  });

  it('reports an absent print only after a complete search', async () => {
    await loseAnswer('k');
    assert.equal(await outcome(again('k', 29)), 'PRINT_OUTCOME_UNKNOWN');
    const began = clock.monotonic();
    assert.equal(await outcome(again('k')), undefined);
    assert.ok(clock.monotonic() - began >= 30_000);
  });

  it('searches for the lost print in the listing that a new attempt starts from', async () => {
    await loseAnswer('k');
    assert.equal(await outcome(again('k')), undefined);
    // The first print appears during the upload.
    accepted('p1');
    const found = await printed(dispatch('k', { note: { made: 'second' } }));
    assert.deepEqual([found.clusterJobId, found.duplicate, found.note], ['p1', true, { made: 'first' }]);
    assert.equal(service.count('print'), 1);
  });

  it('searches for the lost print even if the new attempt is for another job', async () => {
    await loseAnswer('k');
    accepted('p1');
    const found = await printed(dispatch('k', { jobId: 'other' }));
    assert.deepEqual([found.clusterJobId, found.jobId, found.duplicate], ['p1', 'job', true]);
    assert.equal(service.count('print'), 1);
  });

  it('keeps an outcome open when a later attempt is refused', async () => {
    await loseAnswer('k');
    assert.equal(await outcome(again('k')), undefined);
    print = refused;
    assert.equal(await outcome(dispatch('k')), 'NOT_ACCEPTED');
    accepted('p1');
    assert.equal(await poll('k'), 'settled');
    assert.equal((await ledger.find(key('k')))?.done?.clusterJobId, 'p1');
  });

  it('frees a key whose only attempt was refused, and removes it from the index', async () => {
    print = refused;
    assert.equal(await outcome(dispatch('k')), 'NOT_ACCEPTED');
    assert.deepEqual([await ledger.find(key('k')), await ledger.openKeys()], [undefined, []]);
  });

  it('treats an internal error as a lost answer, as it may have occurred after the call', async () => {
    print = () => {
      accepted('p1');
      return new TypeError('undefined is not a function');
    };
    assert.equal((await printed(dispatch('k'))).clusterJobId, 'p1');
  });

  it('returns the printing of a crashed attempt to it, even if its outcome was not written', async () => {
    broken = (step, kind) => (step === 'write' && kind === 'print-key' && queue.length > 0 ? 'unwritable' : undefined);
    await printed(dispatch('k'));
    assert.equal(warnings.length, 1);
    broken = () => undefined;
    // The claim was written.
    assert.deepEqual(await ledger.claims.of('cluster', 'job'), ['p1']);
    assert.equal((await printed(again('k'))).clusterJobId, 'p1');
  });

  it('leaves a key open while the claims can’t be read', async () => {
    await loseAnswer('k', () => accepted('p1'));
    broken = (_step, kind) => (kind === 'claims' ? 'unreadable' : undefined);
    await assert.rejects(poll('k'), { code: 'FILE_NOT_READABLE' });
    broken = () => undefined;
    assert.equal((await ledger.find(key('k')))?.done, undefined);
    assert.equal(await poll('k'), 'settled');
  });

  for (const kind of ['print-key', 'claims', 'open-prints', 'dispatch-lock'])
    it(`sends nothing while the ${kind} can’t be read`, async () => {
      await loseAnswer('k');
      broken = (_step, other) => (other === kind ? 'unreadable' : undefined);
      // Only a new key needs the index.
      assert.equal(await outcome(dispatch(kind === 'open-prints' ? 'new' : 'k')), 'FILE_NOT_READABLE');
      assert.equal(service.count('print'), 1);
    });

  for (const value of ['odd', 7, {}, { attempt: { id: 'x' } }, { done: { jobId: 'job' } }])
    it(`prints no more with a key whose record is ${JSON.stringify(value)}, and says why`, async () => {
      await loseAnswer('k');
      await disk.put(['print-key', ...SCOPE, 'cluster', 'k'], value);
      await assert.rejects(dispatch('k'), { code: 'PRINT_OUTCOME_UNKNOWN', message: /print key is damaged/ });
      assert.equal(service.count('print'), 1);
      // No poll can settle it.
      assert.equal(await poll('k'), 'hopeless');
      assert.deepEqual(await ledger.openKeys(), []);
      await printed(dispatch('other'));
      assert.equal(service.count('print'), 2);
    });

  for (const kind of ['open-prints', 'claims'])
    for (const value of ['odd', 7, {}, [null, 7, { clusterJobId: 1 }]])
      it(`prints although the saved ${kind} are ${JSON.stringify(value)}`, async () => {
        await disk.put(kind === 'claims' ? ['claims', ...SCOPE, 'cluster', 'job'] : [kind, ...SCOPE], value);
        assert.equal((await printed(dispatch('k'))).clusterJobId, 'p1');
        assert.deepEqual(await ledger.claims.of('cluster', 'job'), ['p1']);
        assert.deepEqual(await ledger.openKeys(), []);
      });

  it('waits for its job’s lock no longer than its deadline', async () => {
    const slow = new Promise<Answer['data']>(() => undefined);
    print = () => slow;
    void dispatch('a').catch(() => undefined);
    await settle();
    const began = clock.monotonic();
    const work = dispatch('b', { deadline: limit(clock, { seconds: 5 }) }).catch(asPrintingError);
    await clock.advance(5_000);
    const error = (await work) as PrintingError;
    assert.deepEqual([error.code, error.outcome, clock.monotonic() - began], ['TIMEOUT', 'not-sent', 5_000]);
    assert.equal(await ledger.find(key('b')), undefined);
  });

  const noAnswers: [string, unknown][] = [
    ['no content', null],
    ['an empty object', {}],
    ['an array', []],
    ['errors', { errors: [{ code: 'unexpectedError', http_status: '500' }] }],
    ['a text', 'OK'],
    ['blank fields', { job_id: '', status: null }],
  ];
  for (const [name, answer] of noAnswers)
    it(`searches for the print after an answer with ${name}, and reports an unknown outcome`, async () => {
      print = () => answer;
      assert.equal(await outcome(dispatch('k')), 'PRINT_OUTCOME_UNKNOWN');
      assert.deepEqual([await ledger.openKeys(), service.count('print')], [[key('k')], 1]);

      print = () => {
        accepted('p1');
        return answer;
      };
      assert.equal((await printed(dispatch('other'))).clusterJobId, 'p1');
    });

  it('is confirmed by an answer in an array (trap 29)', async () => {
    print = () => [{ job_id: 'job', status: 'queued', job_instance_uuid: 'p1' }];
    assert.equal((await printed(dispatch('k'))).clusterJobId, 'p1');
    assert.deepEqual(await ledger.openKeys(), []);
  });

  it('adds a printing’s id that the answer lacked as soon as a poll lists it', async () => {
    print = () => ({ job_id: 'job', status: 'queued' });
    const first = await printed(dispatch('k'));
    assert.deepEqual([first.clusterJobId, (await ledger.find(key('k')))?.done?.clusterJobId], [null, null]);
    accepted('p1');
    assert.equal(await poll('k'), 'settled');
    assert.equal((await ledger.find(key('k')))?.done?.clusterJobId, 'p1');
    assert.deepEqual(await ledger.openKeys(), []);
  });

  it('sends nothing again while no entry of the queue can be read', async () => {
    await loseAnswer('k');
    status = () => ({ is_online: true, print_jobs: [null, 'p1'], recently_completed: [] });
    assert.equal(await outcome(again('k')), 'PRINT_OUTCOME_UNKNOWN');
  });

  it('finds its own printing where the answer names an earlier one', async () => {
    await printed(dispatch('a'));
    print = () => (accepted('p2'), { job_id: 'job', status: 'queued', job_instance_uuid: 'p1' });
    assert.equal((await printed(dispatch('b'))).clusterJobId, 'p2');
    print = () => ({ job_id: 'job', status: 'queued', job_instance_uuid: 'p2' });
    assert.equal((await printed(dispatch('c'))).clusterJobId, null);
    assert.equal((await ledger.find(key('b')))?.done?.clusterJobId, 'p2');
  });

  it('removes keys without an entry from the index', async () => {
    await loseAnswer('k');
    await disk.delete(['print-key', ...SCOPE, 'cluster', 'k']);
    await disk.put(['open-prints', ...SCOPE], [key('k')]);
    assert.equal(await poll('k'), 'settled');
    assert.deepEqual(await ledger.openKeys(), []);
  });

  describe('despite differing clocks', () => {
    const shifts: [string, number][] = [
      ['is right', 0],
      ['is three days behind', -3 * DAY],
      ['stands in 1970', 1 - START],
      ['is three days ahead', 3 * DAY],
    ];
    for (const [name, shift] of shifts)
      it(`finds the lost print if the runtime’s clock ${name}`, async () => {
        // The clock of the service and its lists.
        const serviceNow = () => START + clock.monotonic();
        clock = new ManualClock(START + shift);
        dispatcher = new Dispatcher({
          service,
          jobListReader,
          clock,
          warn: (sentence) => assert.fail(String(sentence)),
        });
        status = () => ({ is_online: true, generated_time: iso(serviceNow()), print_jobs: queue });
        await loseAnswer('k', () => accepted('p1', 'job', serviceNow()));
        assert.equal((await printed(again('k'))).clusterJobId, 'p1');
      });

    it('finds the lost print if the runtime’s clock jumps either way during the call', async () => {
      for (const jump of [-10 * DAY, 10 * DAY]) {
        const printKey = `k${jump}`;
        await loseAnswer(printKey, () => accepted(printKey));
        const { now } = clock;
        clock.now = () => now() + jump;
        const shown = status;
        status = () => ({ is_online: true, generated_time: iso(now()), print_jobs: queue });
        assert.equal((await printed(again(printKey))).clusterJobId, printKey);
        clock.now = now;
        status = shown;
      }
    });

    for (const [name, shift] of shifts.slice(1))
      it(`does not treat the lost print as absent if only a clock that ${name} dates it`, async () => {
        clock = new ManualClock(START + shift);
        dispatcher = new Dispatcher({ service, jobListReader, clock, warn: () => undefined });
        // Without a time and without lists.
        status = () => ({ is_online: true });
        await loseAnswer('k', () => accepted('p1', 'job', START));
        status = () => ({ is_online: true, generated_time: iso(START), print_jobs: queue });
        assert.equal(await outcome(again('k')), 'PRINT_OUTCOME_UNKNOWN');
        // Another attempt owns the printing.
        await ledger.claims.claimFirst({ ...(await ledger.find(key('k')))!.attempt, id: 'other' }, ['p1']);
        assert.equal(await outcome(again('k')), undefined);
      });

    for (const [name, shift] of [...shifts, ['is two hours behind', -2 * HOUR] as const])
      it(`finds the lost print by what was not listed before the call, where every clock but that of jobs ${name}`, async () => {
        clock = new ManualClock(START + shift);
        dispatcher = new Dispatcher({ service, jobListReader, clock, warn: () => undefined });
        await loseAnswer('k', () => accepted('p1', 'job', clock.now() - shift));
        assert.equal((await printed(again('k'))).clusterJobId, 'p1');
      });

    it('sends nothing again, and finds nothing, where a printing of the job appears after an hour', async () => {
      await loseAnswer('k');
      await pollFor(2);
      accepted('a reprint');
      assert.equal(await outcome(again('k')), 'PRINT_OUTCOME_UNKNOWN');
      assert.equal((await ledger.find(key('k')))?.done, undefined);
      queue = [];
      assert.equal(await outcome(again('k')), 'PRINT_OUTCOME_UNKNOWN', 'the list no longer shows it');
      await ledger.claims.claimFirst({ ...(await ledger.find(key('k')))!.attempt, id: 'other' }, ['a reprint']);
      assert.equal(await outcome(again('k')), undefined, 'another attempt owns it');
    });

    it('counts only the hours in which the printer could be read', async () => {
      await loseAnswer('k', () => accepted('p1', 'job', START + DAY));
      await clock.advance(5 * HOUR);
      assert.equal((await printed(again('k'))).clusterJobId, 'p1');
    });

    it('adds up the hours over restarts', async () => {
      await loseAnswer('k');
      for (let life = 0; life < 4; life++) {
        await pollFor(0.6);
        dispatcher = new Dispatcher({ service, jobListReader, clock, warn: () => undefined });
      }
      accepted('a reprint', 'job', START);
      assert.equal(await outcome(again('k')), 'PRINT_OUTCOME_UNKNOWN');
    });

    it('does not mistake an old, unlisted print for a new one', async () => {
      const shown = status;
      // The listing before the call shows no prints.
      status = () => ({ is_online: false });
      accepted('old', 'job', START - DAY);
      print = () => {
        status = shown;
        return lost();
      };
      assert.equal(await outcome(dispatch('k')), 'PRINT_OUTCOME_UNKNOWN');
    });
  });

  describe('with an outcome that stays open', () => {
    it('gives up when no current list shows the print for an hour', async () => {
      await loseAnswer('k');
      assert.equal(await poll('k'), 'open');
      await clock.advance(2 * HOUR);
      assert.equal(await poll('k', { ...listing(), current: false }), 'open');
      assert.equal(await pollFor(0.8), 'open');
      assert.equal(await pollFor(0.3), 'settled', 'it was hopeless before');
      assert.deepEqual(await ledger.openKeys(), []);
    });

    it('gives up when its cluster has been unreachable for a week', async () => {
      await loseAnswer('k');
      await clock.advance(8 * DAY);
      assert.equal(await poll('k', { ...listing(), current: false, at: null }), 'hopeless');
    });
  });

  it('waits at most 10 s in all to save the claim and the outcome of a late print', async () => {
    class SlowStore extends MemoryStore {
      wait = 0;
      override async put<T>(key: Key, value: T): Promise<void> {
        if (this.wait > 0) await sleep(clock, this.wait);
        return super.put(key, value);
      }
      override async update<T>(key: Key, change: Change<T>, options?: PutOptions): Promise<T | undefined> {
        if (key[0] === 'claims' && this.wait > 0) await sleep(clock, this.wait);
        return super.update(key, change, options);
      }
    }
    const store = new SlowStore();
    ledger = new Ledger(store, SCOPE);
    print = () => {
      store.wait = 8_000;
      return accepted('p1');
    };
    const deadline = limit(clock, { seconds: 1 });
    const result = await printed(dispatch('k', { deadline }));
    assert.deepEqual([result.clusterJobId, clock.monotonic()], ['p1', 10_000]);
    assert.match(warnings.join(), /outcome of a print could not be saved yet/);
    store.wait = 0;
    while (clock.next !== undefined) await clock.advance(clock.next);
    await settle();
    assert.equal((await ledger.find(key('k')))?.done?.clusterJobId, 'p1', 'the started write continues');
  });

  it('ends soon after its deadline if freeing the key of a refused print lasts longer', async () => {
    class SlowStore extends MemoryStore {
      override async delete(key: Key): Promise<void> {
        await sleep(clock, 8_000);
        return super.delete(key);
      }
    }
    ledger = new Ledger(new SlowStore(), SCOPE);
    print = () => {
      throw new PrintingError('SERVICE_ERROR', phrase`No.`, { outcome: 'refused' });
    };
    const deadline = limit(clock, { seconds: 1 });
    assert.equal(await outcome(dispatch('k', { deadline })), 'SERVICE_ERROR');
    assert.ok(clock.monotonic() <= 2_000, `${clock.monotonic()} ms`);
    while (clock.next !== undefined) await clock.advance(clock.next);
    await settle();
    assert.equal(await ledger.find(key('k')), undefined, 'the started write continues');
  });

  it('cancels a call in flight at its timeout, but not when the node closes', async () => {
    const closing = new AbortController();
    const deadline = new Deadline(clock, { ms: 60_000, parent: closing.signal });
    let underWay: Deadline | undefined;
    print = (options) => {
      underWay = (options as { underWay: Deadline }).underWay;
      closing.abort(new PrintingError('TIMEOUT', phrase`Closed.`, { outcome: 'unknown' }));
      assert.ok(deadline.signal.aborted);
      assert.ok(!underWay.signal.aborted);
      return accepted('p1');
    };
    assert.equal((await dispatch('k', { deadline })).clusterJobId, 'p1');
    assert.equal(underWay?.until, 60_000);
    assert.equal(clock.waiting, 0);
  });
});
