import assert from 'node:assert/strict';
import type { ClusterStatus } from '../../lib/service/cluster';
import { startSimulator, type Simulator } from '../../simulator';
import { catchNode, Flow, helperNode, type Definition, type Inbox } from '../helpers/flow';
import { TurnedTime } from '../helpers/turned-time';

const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
};

describe('nodes: answers that exceed the limits', function () {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;
  let first: Inbox;
  let second: Inbox;
  let caught: Inbox;

  const watch = (id: string, to: string): Definition => ({
    id,
    type: 'remote-printing-cluster-status',
    account: 'account',
    cluster: simulator.world.cluster(1).clusterId,
    interval: 10,
    send: 'always',
    milestones: '',
    wires: [[to], []],
  });
  const stale = (inbox: Inbox) => inbox.all.map(({ payload }) => (payload as ClusterStatus).stale);

  beforeEach(async () => {
    time = new TurnedTime();
    simulator = await startSimulator({ autoApprove: true, now: time.now, accessTokenLifetime: 1e7 });
    flow = await Flow.start(simulator);
    await flow.deploy([
      ...[watch('one', 'first'), watch('two', 'second')],
      ...['first', 'second', 'caught'].map(helperNode),
      catchNode(['caught']),
    ]);
    [first, second, caught] = [flow.listen('first'), flow.listen('second'), flow.listen('caught')];
    await time.settled();
  });
  afterEach(async () => {
    await time.until(flow.stop());
    await simulator.close();
    time.restore();
  });

  const job = (n: number) => ({ uuid: `job-${n}`, status: 'queued', created_at: '2026-01-01T00:00:00Z' });
  for (const [what, transform] of [
    ['with an unknown field nested 3,000 deep', (body: object) => ({ ...body, odd: nested(3_000) })],
    [
      'of 20,000 jobs',
      () => ({ data: { is_online: true, printers: [], print_jobs: Array.from({ length: 20_000 }, (_, n) => job(n)) } }),
    ],
    ['of a million empty objects', () => ({ data: Array.from({ length: 1_000_000 }, () => ({})) })],
  ] as const)
    it(`reports a status ${what} as an outage to every node that shares the poll`, async () => {
      await time.pass(20);
      assert.ok(stale(first).includes(false) && stale(second).includes(false), 'a status before the fault');
      simulator.faults.add({ endpoint: 'clusterStatus', transform: transform as never, times: 'always' });
      const before = [first.all.length, second.all.length] as const;
      await time.pass(120);
      assert.equal(stale(first).slice(before[0]).at(-1), true);
      assert.equal(stale(second).slice(before[1]).at(-1), true);
      assert.deepEqual(
        [...new Set(caught.all.map(({ error }) => (error as { code?: string }).code))],
        ['SERVICE_ERROR'],
      );
    });
});
