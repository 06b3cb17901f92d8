import assert from 'node:assert/strict';

import type { Evidence, Hazard, QueuePrinting } from './replicas/evidence';
import { RULES } from './replicas/rules';

const NOW = 1_000_000;
/** Nothing has happened for a long time. */
const QUIET: Evidence = {
  ...{ since: 0, now: NOW, told: [], printings: [], asked: [], refreshes: [], expired: [], hazards: [], stuck: [] },
  ...{ signIns: [], failedSignIns: [], signedOut: [], followed: [], late: [], lost: [], reuseDetections: 0 },
  ...{ states: [], shares: null, polls: new Map() },
  queues: {
    added: [],
    clearings: [],
    dispatches: [],
    printings: [],
    printers: [],
    members: new Map(),
    lists: [],
    settled: new Set(),
  },
};

const broken = (name: string, seen: Partial<Evidence>): number => {
  const rule = RULES.find((one) => one.name === name);
  assert.ok(rule);
  return rule.broken({ ...QUIET, ...seen }).length;
};

describe('the rules for three replicas', () => {
  describe('about polls', () => {
    const name = 'leaves no printer unpolled for longer than its interval plus a lease';
    /** A printer that was polled every 10 s, and once only after a gap. */
    const polled = (gap: number) => {
      const times = Array.from({ length: 11 }, (_, at) => at * 10_000 + (at > 5 ? gap - 10_000 : 0));
      const polls = new Map([['C1', times.map((at) => ({ at, by: 'replica 1' }))]]);
      return { polls, now: times.at(-1) ?? 0 };
    };

    it('allow the takeover of a printer', () => assert.equal(broken(name, polled(34_000)), 0));

    it('are broken by a longer gap', () => assert.equal(broken(name, polled(36_000)), 1));

    it('are broken by it although the service had to wait at other times', () =>
      assert.equal(broken(name, { ...polled(36_000), late: [{ from: 20_000, to: 24_000 }] }), 1));

    it('allow a longer gap while the service had to wait for a processor', () => {
      assert.equal(broken(name, { ...polled(36_000), late: [{ from: 60_000, to: 62_000 }] }), 0);
      assert.equal(broken(name, { ...polled(36_000), late: [{ from: 60_000, to: 60_500 }] }), 1);
    });
  });

  describe('about pollers', () => {
    const name = 'polls a printer from one replica at a time';
    /** A printer that was polled twice within half a second. */
    const polledTwice = (...by: [string, string]) => ({
      polls: new Map([['C1', by.map((replica, at) => ({ at: 500_000 + at * 500, by: replica }))]]),
    });

    it('are broken by two polls at a time', () => {
      assert.equal(broken(name, polledTwice('replica 1', 'replica 2')), 1);
      assert.equal(broken(name, polledTwice('replica 1', 'replica 1')), 1);
    });

    it('allow two polls after a sign-in, but not long after it', () => {
      const signIns = [{ from: 490_000, to: 499_900 }];
      const longAgo = [{ from: 400_000, to: 410_000 }];
      for (const by of ['replica 1', 'replica 2']) {
        assert.equal(broken(name, { ...polledTwice('replica 1', by), signedOut: signIns }), 0);
        assert.equal(broken(name, { ...polledTwice('replica 1', by), signIns }), 0);
        assert.equal(broken(name, { ...polledTwice('replica 1', by), signedOut: longAgo, signIns: longAgo }), 1);
      }
    });
  });

  describe('about plates', () => {
    const name = 'sends no print of a queue to a plate that is not clear';
    const print = (printerId: string, createdAt: number, endedAt: number) =>
      ({ key: 'a', clusterId: 'C1', printerId, createdAt, startedAt: createdAt + 5_000, endedAt }) as QueuePrinting;
    const seen = (members: number, ...printings: QueuePrinting[]) => ({
      queues: {
        ...QUIET.queues,
        printers: ['C1'],
        members: new Map([['C1', members]]),
        printings: printings.map((one) => ({ ...one, outcome: 'finished' as const })),
      },
    });
    const first = print('P1', 0, 100_000);
    const next = print('P1', 98_000, 200_000);

    it('are broken by a print that is sent before the end of the one before', () =>
      assert.equal(broken(name, seen(1, first, next)), 1));

    it('allow it in a group with a free member, as the service chooses the member later', () =>
      assert.equal(broken(name, seen(2, first, next)), 0));

    it('are broken by it in a group without a free member', () =>
      assert.equal(broken(name, seen(2, first, print('P2', 10_000, 150_000), next)), 1));
  });

  describe('about the planner', () => {
    const name = 'plans a queue at one replica, as long as no hazard hits it';
    const dispatched = (at: number, by: string) => ({ clusterId: 'C1', at, by });
    const printed = (createdAt: number) => ({ clusterId: 'C1', key: 'a', createdAt }) as QueuePrinting;
    const queues = {
      ...QUIET.queues,
      added: [{ queue: 'left', key: 'a' } as Evidence['queues']['added'][number]],
      dispatches: [dispatched(500_000, 'replica 3'), dispatched(530_000, 'replica 2')],
      printings: [printed(500_000), printed(530_000)],
    };
    const hazard = (replica: number): Hazard => ({ kind: 'deaf', replica, from: 510_000, to: 520_000 });

    it('are broken by a queue that another replica plans', () => assert.equal(broken(name, { queues }), 1));

    it('are broken by it although a hazard hit a third replica', () =>
      assert.equal(broken(name, { queues, hazards: [hazard(1)] }), 1));

    it('allow it after a hazard at the planner', () => assert.equal(broken(name, { queues, hazards: [hazard(3)] }), 0));

    it('allow it after a sign-out, but not long after it', () => {
      assert.equal(broken(name, { queues, signedOut: [{ from: 510_000, to: 512_000 }] }), 0);
      assert.equal(broken(name, { queues, signedOut: [{ from: 410_000, to: 412_000 }] }), 1);
    });
  });
});
