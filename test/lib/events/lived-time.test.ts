import assert from 'node:assert/strict';
import { readCheckpoint } from '../../../lib/events/checkpoint';
import { advance } from '../../../lib/events/advance';
import { eventsFor } from '../../../lib/events/edges';
import { answer, at, minute, NO_THRESHOLDS, observation, own, Story, type Wire } from './observations';

const waiting = answer({ print_jobs: [at('a', 'aborted_wait_cleanup', 50)] });
const printing = answer({ print_jobs: [at('a', 'printing', 50)] });
const dated = (wire: Wire, time: number) => ({ ...wire, generated_time: minute(time) });

describe('a plate that waits', () => {
  const story = () => new Story({ ...NO_THRESHOLDS, plateWait: 30 });
  const plates = (events: string[]) => events.filter((event) => event.startsWith('plate'));

  it('is reported once where the queue lists its job twice', () => {
    const [job] = waiting.print_jobs as Wire[];
    const twice = answer({ print_jobs: [job, job] });
    const one = story();
    one.poll(printing);
    one.poll(twice);
    one.skip(29);
    assert.deepEqual(plates(one.poll(twice)), ['plate.awaiting a=30']);
  });

  for (const [what, odd] of [
    ['says offline', answer({ is_online: false })],
    ['lists no jobs', answer()],
    ['lacks the queue', { ...answer(), print_jobs: undefined }],
    ['lacks the status of its job', answer({ print_jobs: [{ ...at('a', '', 50), status: undefined }] })],
  ] as const)
    it(`is reported once where a single answer ${what}`, () => {
      const one = story();
      one.poll(printing);
      one.poll(waiting);
      one.skip(10);
      one.poll(odd);
      one.skip(18);
      assert.deepEqual(plates(one.poll(waiting)), ['plate.awaiting a=30']);
      one.poll(odd);
      one.skip(40);
      assert.deepEqual(plates(one.poll(waiting)), []);
    });

  it('is reported where the record of its job could be read only later', () => {
    const unnamed = answer({ print_jobs: [{ ...at('a', 'wait_cleanup', 50), time_total: null }] });
    const one = story();
    one.poll(printing);
    one.poll(unnamed);
    assert.deepEqual(one.asked, ['a']);
    one.skip(5);
    one.poll(unnamed, { a: own(at('a', 'aborted', 50)) });
    one.skip(24);
    assert.deepEqual(plates(one.poll(unnamed)), ['plate.awaiting a=30']);
  });
});

describe('a checkpoint that states dates in the place of lived times', () => {
  it('continues the wait of a plate with the minutes that it has waited', () => {
    const first = advance(null, observation(printing)).checkpoint;
    const { checkpoint } = advance(first, observation(waiting, 1));
    const { lived: _lived, begun: _begun, newestAtFirst: _newest, ...stored } = checkpoint;
    const plates = [{ id: 'a', since: minute(1), minutes: 20 }];
    const jobs = [{ ...first.jobs[0], id: 'b', missingSince: minute(1), missingFrom: undefined }];
    const restored = readCheckpoint({ ...stored, plates, jobs: JSON.parse(JSON.stringify(jobs)) as unknown });
    assert.ok(restored);
    assert.deepEqual(restored.plates, [{ id: 'a', from: -20 * 60_000, minutes: 20 }]);
    assert.deepEqual([restored.jobs[0]?.missingFrom, restored.begun], [0, checkpoint.since]);
    const later = advance(restored, observation(dated(waiting, 500), 10));
    assert.deepEqual(
      eventsFor(later.drafts, { ...NO_THRESHOLDS, plateWait: 30 }).map(({ type }) => type),
      ['plate.awaiting'],
    );
  });
});
