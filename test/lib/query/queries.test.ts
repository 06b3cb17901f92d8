import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import type { CallOptions } from '../../../lib/account/api-client';
import { Queries, type Query } from '../../../lib/query/queries';
import { Http } from '../../../lib/http/http';
import { readPrinterFilter } from '../../../lib/service/printer-filter';
import { ClusterList } from '../../../lib/watch/polling/cluster-list';
import { PrintingError } from '../../../lib/service/errors';
import type { EndpointName } from '../../../lib/service/paths';
import type { ClusterStatus } from '../../../lib/service/cluster';
import { ManualClock } from '../../helpers/manual-clock';
import { limit } from '../../helpers/limits';
import { ScriptedService, WholeAnswer } from '../../helpers/scripted-service';
import { phrase } from '../../../lib/words/sentence';
import { StatusReader } from '../../../lib/watch/polling/status-reader';
import { pluck } from '../../helpers/pluck';

type Reply = (endpoint: EndpointName, options: CallOptions) => unknown;

describe('query/queries', () => {
  let clock: ManualClock;
  beforeEach(() => {
    clock = new ManualClock();
  });
  afterEach(() => assert.equal(clock.waiting, 0, 'no timer is left'));

  function open(reply: Reply, overrides = {}) {
    const service = new ScriptedService([(options: CallOptions, endpoint: EndpointName) => reply(endpoint, options)]);
    const clusterList = new ClusterList(service, clock, new AbortController().signal);
    const http = new Http(undefined, { isLocal: true });
    const statusReader = new StatusReader(service, clusterList);
    const queries = new Queries({ service, http, clock, clusterList, statusReader, overrides });
    return { queries, calls: service.calls };
  }
  const within = (options = {}) => ({ deadline: limit(clock, options) });
  /** Waits until the call is aborted. */
  const hang: Reply = (_, { deadline: { signal: given } }) =>
    new Promise((_resolve, reject) => given.addEventListener('abort', () => reject(given.reason as Error)));
  const fails = async (work: Promise<unknown>): Promise<PrintingError> => {
    const error = await work.then(
      () => assert.fail('it should fail'),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof PrintingError, String(error));
    return error;
  };

  const all: Query[] = [
    { query: 'clusters' },
    { query: 'cluster-status', clusterId: 'c' },
    { query: 'print-jobs', filter: { status: [], sentFrom: [], clusterIds: [], search: '', privateOnly: false } },
    { query: 'print-job', clusterId: 'c', clusterJobId: 'p' },
    { query: 'stored-job', id: 'j' },
    { query: 'library-file', id: 'f' },
    { query: 'current-user' },
    { query: 'maintenance', clusterId: 'c' },
    { query: 'printers', printers: readPrinterFilter({}) },
    { query: 'materials', printers: readPrinterFilter({}) },
    { query: 'preview', of: { clusterId: 'c', clusterJobId: 'p' } },
    { query: 'preview', of: { jobId: 'j' } },
  ];
  for (const query of all) {
    it(`ends ${query.query} at its deadline`, async () => {
      const { queries } = open(hang);
      const work = fails(queries.ask(query, within({ seconds: 60 })));
      await clock.advance(59_999);
      await clock.advance(1);
      const error = await work;
      assert.equal(error.code, 'TIMEOUT');
      assert.match(error.message, /within 60 s/);
      const { clusterId, clusterJobId, jobId, fileId } = error.ids;
      const ids = [clusterId, clusterJobId, jobId, fileId].filter((id) => id !== undefined);
      const { query: _, filter: __, printers: ___, of, ...given } = { filter: 0, printers: 0, of: {}, ...query };
      assert.deepEqual(ids, Object.values({ ...given, ...of }));
    });

    it(`ends ${query.query} when its node closes, and removes its listener`, async () => {
      const { queries } = open(hang);
      const closing = new AbortController();
      const deadline = limit(clock, { signal: closing.signal });
      const work = fails(queries.ask(query, { deadline }));
      await clock.advance(1);
      const reason = new PrintingError('TIMEOUT', phrase`The node was closed.`);
      closing.abort(reason);
      assert.equal((await work).message, reason.message);
      deadline.end();
      assert.equal(getEventListeners(closing.signal, 'abort').length, 0);
    });
  }

  it('queries each status, and returns a job that moved meanwhile once', async () => {
    const { queries, calls } = open((_, { query }) =>
      query?.status === 'waiting'
        ? [{ uuid: 'a', state: 'waiting' }, { uuid: 'b', state: 'waiting' }, { name: 'no id' }, { name: 'none either' }]
        : [
            { uuid: 'b', state: 'in_progress' },
            { uuid: 'c', state: 'history' },
          ],
    );
    const filter = { status: ['waiting', 'in_progress'], sentFrom: [], clusterIds: [], search: '', privateOnly: false };
    const { payload, raw } = await queries.ask({ query: 'print-jobs', filter }, within());
    assert.deepEqual(pluck(payload as { clusterJobId: string | null }[], 'clusterJobId'), ['a', 'b', null, null]);
    assert.equal((raw as unknown[]).length, 6);
    assert.deepEqual(pluck(calls, 'query'), [
      { limit: '250', status: 'waiting' },
      { limit: '250', status: 'in_progress' },
    ]);
  });

  it('allows one question of several states no more pages than one of a single state', async () => {
    const { queries, calls } = open((_, { query }) => {
      const page = Number(query?.page ?? 1);
      return new WholeAnswer({ data: [{}], ...(page < 400 && { links: { next: `?page=${page + 1}` } }) });
    });
    const status = ['waiting', 'printing', 'paused'];
    const filter = { status, sentFrom: [], clusterIds: [], search: '', privateOnly: false };
    const error = await fails(queries.ask({ query: 'print-jobs', filter }, within()));
    assert.equal(error.code, 'SERVICE_ERROR');
    assert.match(error.message, /more of the print jobs than can be read/);
    assert.equal(calls.length, 1_001);
  });

  it('answers from the list for a listed printer without a status', async () => {
    const missing = new PrintingError('NOT_FOUND', phrase`No such cluster.`);
    const askFor = (clusters: object[]) => {
      const { queries } = open((endpoint) => (endpoint === 'clusters' ? clusters : missing));
      return queries.ask({ query: 'cluster-status', clusterId: 'c' }, within());
    };
    const { payload, raw } = await askFor([{ cluster_id: 'c', friendly_name: 'Left', is_online: false }]);
    const { name, online, stale, printers, jobs } = payload as ClusterStatus;
    assert.deepEqual(
      { name, online, stale, printers, jobs, raw },
      { name: 'Left', online: false, stale: true, printers: [], jobs: [], raw: null },
    );
    assert.equal((await fails(askFor([]))).code, 'NOT_FOUND');
  });

  it('accepts an array in place of an object (trap 29)', async () => {
    const ask = async (query: Query, data: unknown) => (await open(() => data).queries.ask(query, within())).payload;
    const job = await ask({ query: 'print-job', clusterId: 'c', clusterJobId: 'p' }, [{ name: 'cube' }]);
    assert.deepEqual([(job as { name: string }).name, (job as { clusterJobId: string }).clusterJobId], ['cube', 'p']);
    assert.equal(((await ask({ query: 'stored-job', id: 'j' }, [{ job_name: 'a' }])) as { name: string }).name, 'a');
    assert.equal(((await ask({ query: 'current-user' }, [{ user_id: 'u' }])) as { userId: string }).userId, 'u');
    assert.equal(((await ask({ query: 'maintenance', clusterId: 'c' }, { is_due: true })) as unknown[]).length, 1);
  });

  for (const query of all.filter(({ query: kind }) => kind !== 'cluster-status' && kind !== 'preview'))
    it(`makes nothing of an empty object in answer to ${query.query}`, async () => {
      const { queries } = open(() => ({}));
      assert.equal((await fails(queries.ask(query, within()))).code, 'SERVICE_ERROR');
    });

  it('adds what the service found in the file to a stored job, and to no library file', async () => {
    const ask = async (query: 'stored-job' | 'library-file', data: unknown) =>
      (await open(() => data).queries.ask({ query, id: 'a' }, within())).payload as Record<string, unknown>;
    const metadata = { machine_variant: 'Model X' };
    const found = await ask('stored-job', { job_name: 'a', metadata });
    assert.equal((found.metadata as { model: string }).model, 'Model X');
    for (const none of [{}, { metadata: null }, { metadata: 'none' }])
      assert.equal((await ask('stored-job', { job_name: 'a', ...none })).metadata, null);
    assert.equal('metadata' in (await ask('library-file', { file_name: 'a', metadata })), false);
  });

  it('reads the user at the second path if the first is unknown, unless it was set', async () => {
    const unknown = new PrintingError('NOT_FOUND', phrase`Unknown.`, { outcome: 'refused' });
    const reply: Reply = (endpoint) => (endpoint === 'currentUser' ? unknown : { user_id: 'u' });
    const { payload } = await open(reply).queries.ask({ query: 'current-user' }, within());
    assert.equal((payload as { userId: string }).userId, 'u');
    const set = open(reply, { currentUser: 'GET /mine' });
    assert.equal((await fails(set.queries.ask({ query: 'current-user' }, within()))).code, 'NOT_FOUND');
    assert.equal(set.calls.length, 1);
  });
});
