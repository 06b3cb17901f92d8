import assert from 'node:assert/strict';
import type { PollResult } from '../../../../lib/watch/polling/types';
import { changed, type Round } from '../../../../lib/watch/views/rounds';
import { NodeWatch, type WatchContext } from '../../../../lib/watch/views/watch';
import { ManualClock } from '../../../helpers/manual-clock';
import { answer, at, observation } from '../../events/observations';

const status = (percent: number, more: Record<string, unknown> = {}, time = 0) =>
  observation(answer({ print_jobs: [at('a', 'printing', percent)], ...more }), time).status;

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
        add: () => undefined,
        remove: () => undefined,
      };
      const context = {
        clock,
        watches: new Set(),
        pollers: { of: () => poller } as unknown as WatchContext['pollers'],
        standbyOf: () => null,
        guard: (callback) => void callback(),
      } as Partial<WatchContext> as WatchContext;
      const watch = new NodeWatch(
        {
          clusterId: 'C1',
          interval: 60,
          milestones: [],
          onRound: (round) => rounds.push(round),
          onEvents: () => undefined,
          onTrouble: () => undefined,
        },
        context,
      );
      await clock.advance(90_000);
      assert.equal(rounds.length, isHandedOver ? 0 : 1);
      assert.equal(watch.state.overdue, !isHandedOver);
      watch.close();
      assert.equal(clock.waiting, 0);
    });
});

describe('watch/views/rounds, a change of a status', () => {
  it('ignores times, temperatures and less than a whole percent of progress', () => {
    const plate = (temperature: number) => ({
      printers: [{ uuid: 'P1', build_plate: { type: 'glass', temperature } }],
    });
    assert(!changed(status(10, plate(60)), status(10.9, plate(65), 3)));
  });

  it('ignores the age of an air filter, but not its state', () => {
    const air = (filter_age: number, filter_status = 'ok') => ({
      printers: [{ uuid: 'P1', air_manager: { supported: true, filter_age, filter_status } }],
    });
    assert(!changed(status(10, air(1)), status(10, air(2))));
    assert(changed(status(10, air(1)), status(10, air(1, 'worn'))));
  });

  it('ignores the order of printers and of their parts, and no other one', () => {
    const parts = [{ extruder_index: 0 }, { extruder_index: 1, print_core_id: 'BB 0.4' }];
    const printers = [{ uuid: 'P1', configuration: parts }, { uuid: 'P2' }];
    const turned = [{ uuid: 'P2' }, { uuid: 'P1', configuration: parts.toReversed() }];
    assert(!changed(status(10, { printers }), status(10, { printers: turned })));
    const print_jobs = [at('a', 'queued', 0), at('b', 'queued', 0)];
    assert(changed(status(10, { print_jobs }), status(10, { print_jobs: print_jobs.toReversed() })));
  });

  it('detects a whole percent, a state, a new job, a fault and an outage', () => {
    const before = status(10);
    assert(changed(before, status(11)));
    assert(changed(before, status(10, { print_jobs: [at('a', 'paused', 10)] })));
    assert(changed(before, status(10, { print_jobs: [at('a', 'printing', 10), at('b', 'queued', 0)] })));
    assert(changed(before, status(10, { printers: [{ uuid: 'P1', faults: [{ code: 'DOOR' }] }] })));
    assert(changed(before, { ...before, stale: true }));
    assert(changed(before, status(10, { is_online: false })));
  });

  it('detects progress that appears or disappears', () => {
    assert(changed({ progress: null }, { progress: 0.5 }));
    assert(changed(undefined, status(10)));
    assert(changed([], {}));
    assert(!changed(null, null));
  });
});
