import assert from 'node:assert/strict';
import fc from 'fast-check';
import { JobControl, type CommonActionResult } from '../../../lib/control/job-control';
import { readPrinterFilter } from '../../../lib/service/printer-filter';
import { PrintingError } from '../../../lib/service/errors';
import { ClusterList } from '../../../lib/watch/polling/cluster-list';
import { StatusReader } from '../../../lib/watch/polling/status-reader';
import { ManualClock } from '../../helpers/manual-clock';
import { ScriptedService } from '../../helpers/scripted-service';
import { limit } from '../../helpers/limits';
import { phrase } from '../../../lib/words/sentence';
import { pluck } from '../../helpers/pluck';

const ALLOWED: Record<string, string[]> = {
  pause: ['printing'],
  resume: ['paused'],
  abort: ['pre_print', 'printing', 'pausing', 'paused', 'resuming'],
  remove: ['queued', 'error', 'sent_to_printer'],
};
const STATUSES = [
  ...['queued', 'wait_approval', 'wait_user_action', 'wait_for_configuration', 'sent_to_printer', 'pre_print'],
  ...['printing', 'pausing', 'paused', 'resuming', 'post_print', 'wait_cleanup', 'aborting', 'aborted', 'finished'],
  ...['failed', 'error'],
];

describe('control/job-control', () => {
  const success = { action_id: 'a', status: 'success' };
  const jobControl = (service: ScriptedService, clock: ManualClock) =>
    new JobControl(service, new StatusReader(service, new ClusterList(service, clock, new AbortController().signal)));
  async function run(
    action: string,
    script: ConstructorParameters<typeof ScriptedService>[0],
    { timeout = 60, job = 'j' }: { timeout?: number; job?: string | null } = {},
  ) {
    const clock = new ManualClock();
    const service = new ScriptedService({ jobAction: [success], ...script });
    const stages: string[] = [];
    const closing = new AbortController();
    const deadline = limit(clock, { seconds: timeout, signal: closing.signal });
    const work = jobControl(service, clock)
      .run({
        clusterId: 'c',
        clusterJobId: job ?? undefined,
        action,
        data: {},
        deadline,
        onStage: (stage) => stages.push(stage),
      })
      .then(
        (result) => ({ result, error: undefined }),
        (error: unknown) => ({ result: undefined, error: error as PrintingError }),
      );
    await clock.advance(120_000);
    const outcome = await work.finally(() => deadline.end());
    assert.equal(clock.waiting, 0, 'a timer was left behind');
    return { ...outcome, service, stages };
  }

  it('names a printer without a status as the list does', async () => {
    const missing = () => Promise.reject(new PrintingError('NOT_FOUND', phrase`No such cluster.`));
    const codeOf = async (clusters: object[]) => {
      const service = new ScriptedService({ clusterStatus: [missing], clusters: [clusters] });
      const clock = new ManualClock();
      const deadline = limit(clock, { seconds: 60 });
      const job = { clusterId: 'c', clusterJobId: undefined, data: {}, deadline, onStage: () => undefined };
      const work = jobControl(service, clock).run({ ...job, action: 'pause' });
      return work
        .then(
          () => null,
          (error: unknown) => (error as PrintingError).code,
        )
        .finally(() => deadline.end());
    };
    assert.equal(await codeOf([{ cluster_id: 'c', is_online: false }]), 'NOT_ACCEPTED');
    assert.equal(await codeOf([{ cluster_id: 'c', is_online: true }]), 'NOT_FOUND');
    assert.equal(await codeOf([{ cluster_id: 'other', is_online: false }]), 'NOT_FOUND');
  });

  for (const [action, from] of Object.entries(ALLOWED))
    it(`allows ${action} only in the right job states`, async () => {
      for (const status of STATUSES) {
        const { result, error, service } = await run(action, { printJob: [{ status }] });
        if (from.includes(status)) assert.equal(result?.status, 'success');
        else {
          assert.equal(error?.code, 'NOT_ACCEPTED', `${action} in ${status}`);
          assert.match(error?.message ?? '', new RegExp(`"${action}".* is ${status}:`));
          assert.equal(service.count('jobAction'), 0);
        }
      }
    });

  describe('without a print job', () => {
    const codeOf = async (...jobs: object[]) => {
      const print_jobs = jobs.map((one) => ({ status: 'printing', ...one }));
      const script = { clusterStatus: [{ print_jobs }], printJob: [{ status: 'printing' }] };
      const { error, result } = await run('pause', script, { job: null });
      return error?.code ?? result?.clusterJobId;
    };

    it('acts on the print under way, also if it is listed twice', async () =>
      assert.equal(await codeOf({ uuid: 'j' }, { uuid: 'j' }), 'j'));

    it('refuses to choose between two prints, of which one has no id', async () =>
      assert.equal(await codeOf({ uuid: 'j' }, {}), 'NOT_ACCEPTED'));

    it('fails for a print without an id', async () => assert.equal(await codeOf({}), 'SERVICE_ERROR'));
  });

  it('reads nothing before an action without a rule', async () => {
    for (const action of ['force', 'move', 'duplicate', 'approve', 'constructor']) {
      const { result, service } = await run(action, {});
      assert.equal(result?.action, action);
      assert.deepEqual(pluck(service.calls, 'ids'), [{ cluster_id: 'c', cluster_job_id: 'j', action }]);
    }
  });

  it('reports its stages, and returns the ids it found', async () => {
    const { result, stages } = await run('pause', {
      printJob: [{ status: 'printing', cloud_job_id: 'stored', printer_uuid: 'p', is_online: true }],
      jobAction: [{ action_id: 'a', status: 'pending' }],
      actionStatus: [{ status: 'sent' }, { action_id: 'a', status: 'success', extra: 1 }],
    });
    assert.deepEqual(stages, ['sending', 'sent']);
    assert.deepEqual(result, {
      actionId: 'a',
      action: 'pause',
      status: 'success',
      clusterJobId: 'j',
      ids: { clusterId: 'c', clusterJobId: 'j', jobId: 'stored', printerId: 'p', actionId: 'a' },
      raw: { action_id: 'a', status: 'success', extra: 1 },
    });
  });

  it('rejects an action while the printer is offline', async () => {
    const { error } = await run('pause', { printJob: [{ status: 'printing', is_online: false }] });
    assert.equal(error?.code, 'NOT_ACCEPTED');
    assert.match(error?.message ?? '', /offline/);
  });

  it('ends with TIMEOUT for an action without news, and with ACTION_FAILED for an unknown status', async () => {
    const pending = { action_id: 'a', status: 'pending' };
    const script = { printJob: [{ status: 'printing' }], jobAction: [pending] };
    const never = await run('pause', { ...script, actionStatus: [{ status: 'sent' }] }, { timeout: 7 });
    assert.equal(never.error?.code, 'TIMEOUT');
    assert.deepEqual(never.error?.ids, { clusterId: 'c', clusterJobId: 'j', actionId: 'a' });
    const odd = await run('pause', { ...script, actionStatus: [{ status: 'odd' }] }, { timeout: 7 });
    assert.equal(odd.error?.code, 'ACTION_FAILED');
    assert.match(odd.error?.message ?? '', /"pause".*odd/);
  });

  it('reports that an action may have been carried out, and never repeats it', async () => {
    for (const error of [
      new PrintingError('NETWORK', phrase`Broken.`, { outcome: 'unknown' }),
      new PrintingError('SERVICE_ERROR', phrase`Broken.`, { outcome: 'unknown', statusCode: 502, serviceCode: 'x' }),
    ]) {
      const got = await run('duplicate', { jobAction: [error] });
      assert.equal(got.error?.code, error.code);
      assert.match(got.error?.message ?? '', /check the job/);
      assert.deepEqual(
        [got.error?.cause, got.error?.statusCode, got.error?.serviceCode],
        [error, error.statusCode, error.serviceCode],
      );
      assert.equal(got.service.calls.length, 1);
    }
    const unsent = new PrintingError('NETWORK', phrase`No connection.`, { outcome: 'not-sent' });
    assert.equal((await run('duplicate', { jobAction: [unsent] })).error?.message, 'No connection.');
  });

  it('handles any answer', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), async (job, first, next) => {
        const { result, error } = await run(
          'abort',
          { printJob: [job], jobAction: [first], actionStatus: [next] },
          { timeout: 3 },
        );
        assert.ok(result ?? error instanceof PrintingError);
      }),
      { numRuns: 50 },
    );
  });

  describe('on all prints under way', () => {
    const cluster = (cluster_id: string, job: object | null, changes: object = {}) => ({
      cluster_id,
      is_online: true,
      printer_type: 'x',
      ...(job && { host_current_print_job: { uuid: `${cluster_id}-job`, ...job } }),
      ...changes,
    });
    /** Acts on all prints; returns the results by index. */
    async function runAll(action: string, script: ConstructorParameters<typeof ScriptedService>[0], filter = {}) {
      const clock = new ManualClock();
      const service = new ScriptedService({ jobAction: [success], printJob: [{ status: 'printing' }], ...script });
      const deadline = limit(clock, { seconds: 60 });
      const results: CommonActionResult[] = [];
      const counts = new Set<number>();
      const work = jobControl(service, clock)
        .runAll({
          filter: readPrinterFilter(filter),
          action,
          data: {},
          deadline,
          onStage: () => undefined,
          onResult(result, index, count) {
            assert.equal(results[index], undefined, 'once');
            results[index] = result;
            counts.add(count);
          },
        })
        .then(
          (count) => ({ count, error: undefined }),
          (error: unknown) => ({ count: undefined, error: error as PrintingError }),
        );
      await clock.advance(120_000);
      const outcome = await work.finally(() => deadline.end());
      assert.equal(clock.waiting, 0, 'a timer was left behind');
      const acted = service.calls
        .filter(({ endpoint }) => endpoint === 'jobAction')
        .map(({ ids }) => ids?.cluster_job_id);
      return { ...outcome, results, counts: [...counts], service, acted };
    }

    for (const status of STATUSES)
      it(`aborts a job that is ${status} ${ALLOWED.abort?.includes(status) ? 'once' : 'never'}`, async () => {
        const { count, acted } = await runAll('abort', {
          clusters: [[cluster('a', { status }), cluster('b', null)]],
          printJob: [{ status }],
        });
        const isAborted = ALLOWED.abort?.includes(status) ?? false;
        assert.deepEqual([count, acted], isAborted ? [1, ['a-job']] : [0, []]);
      });

    it('leaves waiting and ended jobs alone, whatever the action and the word for their state', async () => {
      for (const job of [{ status: 'queued' }, { status: 'finished' }, { status: 'new_word', state: 'waiting' }, {}])
        for (const action of ['abort', 'duplicate', 'new_action']) {
          const { count, acted } = await runAll(action, { clusters: [[cluster('a', job)]] });
          assert.deepEqual([count, acted], [0, []], `${action} ${JSON.stringify(job)}`);
        }
    });

    it('stops a print in a state that the pack does not know', async () => {
      const job = { status: 'new_word', state: 'in_progress', time_elapsed: 5 };
      const { acted } = await runAll('abort', { clusters: [[cluster('a', job)]], printJob: [job] });
      assert.deepEqual(acted, ['a-job']);
    });

    it('reads the status of groups alone, and acts on all their prints', async () => {
      const group = cluster('g', { status: 'printing' }, { printer_count: 2 });
      const print_jobs = ['printing', 'queued', 'paused', 'finished'].map((status) => ({ uuid: status, status }));
      const { acted, service, counts, results } = await runAll('abort', {
        clusters: [[cluster('a', { status: 'printing' }), group]],
        clusterStatus: [{ print_jobs }],
      });
      assert.deepEqual(acted.sort(), ['a-job', 'paused', 'printing']);
      assert.deepEqual([service.count('clusters'), service.count('clusterStatus')], [1, 1]);
      assert.deepEqual(counts, [3]);
      assert.deepEqual(pluck(results, 'clusterJobId'), ['a-job', 'printing', 'paused']);
    });

    it('tries every print, and throws the first failure of the list afterwards', async () => {
      const refused = new PrintingError('NOT_FOUND', phrase`Gone.`, { outcome: 'refused' });
      const of =
        (bad: string, error: Error) =>
        ({ ids }: { ids: Record<string, string> }) =>
          ids.cluster_id === bad ? error : success;
      const { error, results, acted } = await runAll('pause', {
        clusters: [[...'abc'].map((id) => cluster(id, { status: 'printing' }, id === 'c' ? { printer_count: 2 } : {}))],
        jobAction: [of('b', refused)],
        clusterStatus: [new PrintingError('FORBIDDEN', phrase`Not yours.`, { outcome: 'refused' })],
      });
      assert.deepEqual(acted, ['a-job', 'b-job']);
      assert.deepEqual(
        results.map((result) => [result.ids.clusterId, result.clusterJobId, result.status, result.error?.code]),
        [
          ['a', 'a-job', 'success', undefined],
          ['b', 'b-job', null, 'NOT_FOUND'],
          ['c', null, null, 'FORBIDDEN'],
        ],
      );
      assert.equal(error?.code, 'NOT_FOUND');
    });

    it('acts in a group on the members that a filter matches', async () => {
      const group = cluster('g', { status: 'printing' }, { printer_count: 3, printer_type: 'x' });
      const member = (uuid: string, machine_variant: string | undefined, material: string) => ({
        ...{ uuid, machine_variant, friendly_name: uuid },
        configuration: [{ extruder_index: 0, material: { material } }],
      });
      const printers = [member('one', 'X', 'PLA'), member('two', 'Y', 'ABS'), member('three', undefined, 'ABS')];
      const print_jobs = ['one', 'two', 'three', undefined].map((printer_uuid) => ({
        ...{ uuid: `on-${printer_uuid ?? 'none'}`, printer_uuid, status: 'printing' },
      }));
      const stopped = async (filter: object) => {
        const answers = { clusters: [[group]], clusterStatus: [{ printers, print_jobs }] };
        return (await runAll('abort', answers, filter)).acted.sort();
      };
      assert.deepEqual(await stopped({ model: 'X' }), ['on-one']);
      assert.deepEqual(await stopped({ model: 'Y' }), ['on-two']);
      assert.deepEqual(await stopped({ material: 'ABS' }), ['on-three', 'on-two']);
      assert.deepEqual(await stopped({ name: 'two' }), ['on-two']);
      assert.deepEqual(await stopped({ model: 'Z' }), []);
      assert.deepEqual(await stopped({}), ['on-none', 'on-one', 'on-three', 'on-two']);
    });

    it('acts once on a print that a group lists twice', async () => {
      const group = cluster('g', null, { printer_count: 2 });
      const print_jobs = ['printing', 'queued'].map((status) => ({ uuid: 'twice', status }));
      const { acted, count } = await runAll('duplicate', { clusters: [[group]], clusterStatus: [{ print_jobs }] });
      assert.deepEqual([acted, count], [['twice'], 1]);
    });

    it('acts on the other prints, and fails for one without an id', async () => {
      const clusters = [cluster('a', { status: 'printing', uuid: undefined }), cluster('b', { status: 'printing' })];
      const { acted, error, results } = await runAll('abort', { clusters: [clusters] });
      assert.deepEqual([acted, error?.code], [['b-job'], 'SERVICE_ERROR']);
      assert.equal(results[0]?.ids.clusterId, 'a');
    });

    it('acts on at most 8 prints at a time', async () => {
      let now = 0;
      let most = 0;
      const slow = async () => {
        most = Math.max(most, ++now);
        await new Promise((resolve) => setImmediate(resolve));
        now--;
        return success;
      };
      const many = Array.from({ length: 30 }, (_, index) => cluster(`c${index}`, { status: 'printing' }));
      const { count } = await runAll('abort', { clusters: [many], jobAction: [slow] });
      assert.deepEqual([count, most], [30, 8]);
    });

    it('refuses actions on waiting jobs without a request', async () => {
      for (const action of ['remove', 'force', 'move']) {
        const { error, service } = await runAll(action, { clusters: [[]] });
        assert.equal(error?.code, 'INVALID_INPUT');
        assert.match(error?.message ?? '', /waiting jobs/);
        assert.equal(service.calls.length, 0);
      }
    });
  });
});
