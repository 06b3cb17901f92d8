import assert from 'node:assert/strict';
import { ClusterWatch } from '../../../../lib/watch/views/cluster-watch';
import type { Poller } from '../../../../lib/watch/polling/poller';
import type { PollResult } from '../../../../lib/watch/polling/types';
import type { Round } from '../../../../lib/watch/views/watch';
import { ManualClock } from '../../../helpers/manual-clock';

describe('a node that watches one printer without a poll for an interval and a half', () => {
  for (const [what, isHandedOver] of [
    ['sends the last known figures', false],
    ['sends nothing if the printer was handed over while they were read', true],
  ] as const)
    it(what, async () => {
      const clock = new ManualClock();
      const rounds: Round[] = [];
      const status = { clusterId: 'C1', stale: true } as PollResult['status'];
      const poller = {
        clusterId: 'C1',
        isOurs: true,
        recall: () => {
          poller.isOurs = !isHandedOver;
          return Promise.resolve({ clusterId: 'C1', status, raw: null, error: null });
        },
        remove: () => undefined,
      };
      const watch = new ClusterWatch(
        {
          clusterId: 'C1',
          interval: 60,
          milestones: [],
          onRound: (round) => rounds.push(round),
          onEvents: () => undefined,
          onTrouble: () => undefined,
        },
        poller as unknown as Poller,
        {
          clock,
          guard: (callback) => void callback(),
          closed: () => undefined,
          usable: () => false,
          requestEnded: () => undefined,
          summary: (error) => error,
          standbyOf: () => null,
        },
      );
      await clock.advance(90_000);
      assert.equal(rounds.length, isHandedOver ? 0 : 1);
      assert.equal(watch.state.overdue, !isHandedOver);
      watch.close();
      assert.equal(clock.waiting, 0);
    });
});
