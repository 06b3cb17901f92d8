import assert from 'node:assert/strict';
import { answer, at, CLUSTER, job, minute, own, Story, withMilestones, type Wire } from './observations';
import { pluck } from '../../helpers/pluck';

const jobs = (...print_jobs: Wire[]) => answer({ print_jobs });
const past = (...recently_completed: Wire[]) => answer({ recently_completed });

/** Returns a story after its first observation. */
const begun = (wire = answer()) => {
  const story = new Story();
  story.poll(wire);
  return story;
};

describe('advance: first observation', () => {
  it('makes no events, whatever exists', () => {
    const story = new Story();
    const all = answer({
      printers: [
        {
          ...{ uuid: 'P1', status: 'printing', firmware_version: '1', latest_available_firmware: '2' },
          faults: [{ uuid: 'F1', code: 'DOOR' }],
        },
      ],
      print_jobs: [at('a', 'printing', 60), job('b', 'queued'), at('c', 'wait_cleanup', 99), job('d', 'aborting')],
      recently_completed: [job('x', 'finished'), job('y', 'a_new_word')],
    });
    assert.deepEqual(story.poll(all), []);
    assert.deepEqual(story.asked, []);
    assert.deepEqual(story.poll(all), []);
  });

  it('records the passed milestones, and reports the later ones', () => {
    const story = new Story();
    story.poll(jobs(at('a', 'printing', 60)));
    assert.deepEqual(story.poll(jobs(at('a', 'printing', 80))), ['job.progress a=75']);
  });

  it('makes no events of a printer’s first observation', () => {
    const story = begun();
    const printer = { uuid: 'P2', status: 'error', faults: [{ code: 'DOOR' }], latest_available_firmware: '2' };
    assert.deepEqual(story.poll(answer({ printers: [printer] })), []);
  });

  it('treats a cluster’s first history as old, except for jobs it knows', () => {
    const story = new Story();
    story.poll(answer({ is_online: false, recently_completed: undefined, print_jobs: [job('known', 'queued')] }));
    const first = past(job('old', 'finished'), job('known', 'finished'));
    assert.deepEqual(story.poll(first), ['job.finished known']);
    assert.deepEqual(story.poll(past(job('new', 'failed'))), ['printer.online=true', 'job.failed new']);
  });

  it('treats a history entry from before the first observation as old', () => {
    const story = begun();
    assert.deepEqual(story.poll(past(job('old', 'finished', { created_at: '2025-12-31T00:00:00.000Z' }))), []);
    assert.deepEqual(story.poll(past(job('new', 'finished'))), ['job.finished new']);
  });

  it('reports an end right after the first observation although the printer’s clock is two days ahead', () => {
    const ahead = { generated_time: '2026-01-03T00:00:00.000Z' };
    const story = begun(answer(ahead));
    const old = job('old', 'finished', { created_at: '2025-12-31T00:00:00.000Z' });
    assert.deepEqual(story.poll({ ...past(job('new', 'finished'), old), ...ahead }), ['job.finished new']);
  });

  it('reports the ends that only the history shows, although a first job is dated a year ahead', () => {
    const ahead = job('ahead', 'finished', { created_at: '2027-01-01T00:00:00.000Z' });
    const story = begun(past(ahead, job('old', 'finished', { created_at: '2025-12-31T00:00:00.000Z' })));
    assert.deepEqual(story.poll(past(ahead, job('new', 'finished'))), ['job.finished new']);
    const older = job('older', 'finished', { created_at: '2025-12-30T00:00:00.000Z' });
    assert.deepEqual(story.poll(past(ahead, older)), []);
  });

  it('treats the first queue of a cluster that was offline as old, except for newer jobs', () => {
    const story = new Story();
    story.poll(answer({ is_online: false, printers: [], print_jobs: undefined }));
    const queue = jobs(job('old', 'printing', { created_at: '2025-12-31T00:00:00.000Z' }), job('new', 'printing'));
    assert.deepEqual(story.poll(queue), ['job.started new']);
  });
});

describe('advance: edges of a job', () => {
  const cases: [what: string, states: Wire[], expected: string[][]][] = [
    [
      'reports a job that is queued, then printing',
      [job('a', 'queued'), job('a', 'printing')],
      [['job.queued a'], ['job.started a']],
    ],
    ['queues a job that is first observed preparing', [job('a', 'pre_print')], [['job.queued a']]],
    ['only starts a job that is first observed printing', [at('a', 'printing', 60)], [['job.started a']]],
    ['starts a job that is first observed finishing', [job('a', 'post_print')], [['job.started a']]],
    [
      'starts and pauses a job that is first observed paused',
      [at('a', 'paused', 60)],
      [['job.started a', 'job.paused a']],
    ],
    [
      'reports the milestones of a job found printing at 30 %',
      [job('a', 'queued'), at('a', 'printing', 30)],
      [['job.queued a'], ['job.started a', 'job.progress a=25']],
    ],
    [
      'starts and pauses a job found paused',
      [job('a', 'queued'), job('a', 'paused')],
      [['job.queued a'], ['job.started a', 'job.paused a']],
    ],
    [
      'reports two pauses and two resumes',
      ['printing', 'pausing', 'paused', 'resuming', 'printing', 'paused', 'printing'].map((status) => job('a', status)),
      [['job.started a'], ['job.paused a'], [], [], ['job.resumed a'], ['job.paused a'], ['job.resumed a']],
    ],
    [
      'resumes a print although a person was needed in between',
      ['printing', 'paused', 'wait_user_action', 'printing'].map((status) => job('a', status)),
      [['job.started a'], ['job.paused a'], ['job.attention a'], ['job.resumed a']],
    ],
    [
      'resumes a print although it was prepared in between',
      ['printing', 'paused', 'pre_print', 'printing', 'printing'].map((status) => job('a', status)),
      [['job.started a'], ['job.paused a'], [], ['job.resumed a'], []],
    ],
    [
      'resumes a paused print that is next seen near its end, and none whose plate waits',
      ['printing', 'paused', 'post_print', 'paused', 'wait_cleanup'].map((status) => job('a', status)),
      [['job.started a'], ['job.paused a'], ['job.resumed a'], ['job.paused a'], []],
    ],
    [
      'reports required changes',
      [job('a', 'queued', { configuration_changes_required: [{ index: 0 }] })],
      [['job.queued a', 'job.attention a']],
    ],
    ['reports an awaited approval', [job('a', 'wait_approval')], [['job.queued a', 'job.attention a']]],
    [
      'reports attention that is needed, given and needed again',
      ['queued', 'wait_user_action', 'queued', 'wait_user_action'].map((status) => job('a', status)),
      [['job.queued a'], ['job.attention a'], [], ['job.attention a']],
    ],
    [
      'reports a required change after an approval',
      [job('a', 'wait_approval'), job('a', 'wait_user_action')],
      [['job.queued a', 'job.attention a'], ['job.attention a']],
    ],
    [
      'makes no event of an unknown status',
      ['printing', 'paused', 'a_new_word', 'paused', 'a_new_word', 'printing'].map((status) => job('a', status)),
      [['job.started a'], ['job.paused a'], [], [], [], ['job.resumed a']],
    ],
    [
      'queues a job when its unknown state becomes known',
      ['a_new_word', 'a_new_word', 'queued', 'printing'].map((status) => job('a', status)),
      [[], [], ['job.queued a'], ['job.started a']],
    ],
    [
      'starts a job only once',
      ['printing', 'queued', 'printing'].map((status) => job('a', status)),
      [['job.started a'], [], []],
    ],
  ];
  for (const [what, states, expected] of cases) {
    it(what, () => {
      const story = begun();
      assert.deepEqual(
        states.map((state) => story.poll(jobs(state))),
        expected,
      );
    });
  }

  it('includes the job, its printer and the names', () => {
    const story = begun();
    const wire = jobs(at('a', 'printing', 10, { name: 'x.gcode', printer_uuid: 'P1', printer_name: 'Left' }));
    const [event] = story.events(wire);
    assert(event);
    const { job: about, id, ...rest } = event;
    assert.equal(about?.name, 'x.gcode');
    assert.equal(id, `${CLUSTER}/job.started/a`);
    assert.deepEqual(rest, {
      ...{ type: 'job.started', at: minute(1), late: false, clusterId: CLUSTER, clusterName: 'Workshop' },
      ...{ printerId: 'P1', printerName: 'Left', previous: null, value: null },
    });
  });

  it('detects a pause by the job, not by the printer (trap 19)', () => {
    const story = begun();
    const printing = { printers: [{ uuid: 'P1', status: 'printing' }] };
    story.poll(answer({ ...printing, print_jobs: [job('a', 'printing')] }));
    assert.deepEqual(story.poll(answer({ ...printing, print_jobs: [job('a', 'paused')] })), ['job.paused a']);
  });
});

describe('advance: more jobs than any printer has', () => {
  const queue = (count: number, start = 0) =>
    answer({ print_jobs: Array.from({ length: count }, (_, nth) => job(`j${start + nth}`, 'queued')) });

  it('follows 200 jobs, each with its events once, and forgets no listed one', () => {
    const story = new Story();
    story.poll(answer());
    assert.equal(story.poll(queue(900)).length, 200);
    assert.deepEqual(story.poll(queue(900)), []);
    assert.equal(story.checkpoint?.jobs.length, 200);
  });

  it('reports at most 20 faults and 20 errors of a printer in one observation', () => {
    const faults = (from: number) => Array.from({ length: 5_000 }, (_, index) => ({ code: `${from}-${index}` }));
    const printer = (from: number) => ({ uuid: 'P1', status: 'idle', faults: faults(from), errors: faults(from + 1) });
    const story = begun(answer({ printers: [printer(0)] }));
    assert.equal(story.poll(answer({ printers: [printer(2)] })).length, 40);
  });

  it('keeps at most 50 unlisted ends of a printer that has no history', () => {
    const story = begun(answer({ recently_completed: undefined }));
    for (let index = 0; index < 300; index++) {
      const wire = { ...jobs(job(`${index}`, 'finished')), recently_completed: undefined };
      assert.deepEqual(story.poll(wire), [`job.finished ${index}`]);
    }
    assert.ok((story.checkpoint?.ended.length ?? 0) <= 51);
    assert.deepEqual(story.poll(past(job('0', 'finished'))), []);
  });

  it('keeps at most 1,000 ends while a history that was there is missing', () => {
    const story = begun();
    for (let index = 0; index < 30; index++) {
      const print_jobs = Array.from({ length: 50 }, (_, at) => job(`${index}-${at}`, 'finished'));
      assert.equal(story.poll({ ...jobs(...print_jobs), recently_completed: undefined }).length, 50);
    }
    assert.equal(story.checkpoint?.ended.length, 1_000);
  });

  it('stays at 1,000 printers, and at 32 extruders of each, if every answer has others', () => {
    const story = new Story();
    const configuration = (from: number) =>
      Array.from({ length: 16 }, (_, index) => ({ extruder_index: from + index, print_core_id: 'AA 0.4' }));
    for (let from = 0; from < 5_000; from += 500) {
      const others = Array.from({ length: 500 }, (_, index) => ({ uuid: `P${from + index}`, status: 'idle' }));
      story.poll(answer({ printers: [{ uuid: 'P', configuration: configuration(from) }, ...others] }));
    }
    const { printers = [] } = story.checkpoint ?? {};
    assert.equal(printers.length, 1_000);
    assert.deepEqual(
      printers.filter(({ extruders }) => extruders.length > 32),
      [],
    );
  });

  it('stays at 200 jobs if every answer has others', () => {
    const story = new Story();
    for (let poll = 0; poll < 20; poll++) story.poll(queue(900, poll * 900));
    assert.equal(story.checkpoint?.jobs.length, 200);
    assert.ok(story.asked.length <= 200);
    assert.ok(JSON.stringify(story.checkpoint).length < 500_000);
  });
});

describe('advance: progress', () => {
  it('reports only the highest milestone passed, each once, and never a lower one later', () => {
    const story = begun();
    const delivered = [0, 30, 30, 80, 20, 60, 90, 76].map((percent) => story.poll(jobs(at('a', 'printing', percent))));
    assert.deepEqual(delivered, [['job.started a'], ['job.progress a=25'], [], ['job.progress a=75'], [], [], [], []]);
  });

  it('makes no progress events without times (trap 22)', () => {
    const story = begun();
    story.poll(jobs(job('a', 'printing')));
    assert.deepEqual(story.poll(jobs(job('a', 'printing', { time_elapsed: 5, time_total: 0 }))), []);
    assert.deepEqual(story.poll(jobs(at('a', 'printing', 55))), ['job.progress a=50']);
  });

  it('reports the milestones up to an end before the end', () => {
    const story = begun();
    story.poll(jobs(at('a', 'printing', 30)));
    assert.deepEqual(story.poll(past(at('a', 'finished', 100))), ['job.progress a=75', 'job.finished a']);
    story.poll(jobs(at('b', 'printing', 30)));
    assert.deepEqual(story.poll(past(at('b', 'aborted', 55))), ['job.progress b=50', 'job.aborted b']);
  });
});

describe('advance: ends', () => {
  const ends: [status: string, type: string][] = [
    ['finished', 'job.finished'],
    ['failed', 'job.failed'],
    ['error', 'job.failed'],
    ['aborted', 'job.aborted'],
  ];
  for (const [status, type] of ends) {
    it(`makes ${type} of ${status} in the queue, the history or the record, without a start for a queued job`, () => {
      for (const [wire, answers] of [
        [jobs(job('a', status)), {}],
        [past(job('a', status)), {}],
        [answer(), { a: own(job('a', status)) }],
      ] as const) {
        const story = begun();
        story.poll(jobs(job('a', 'queued')));
        assert.deepEqual(story.poll(wire, answers), [`${type} a`]);
        assert.deepEqual(story.poll(wire, answers), []);
      }
    });
  }

  it('reports only the end of a job that has ended at its first observation (trap 21)', () => {
    assert.deepEqual(begun().poll(past(job('a', 'finished'))), ['job.finished a']);
    assert.deepEqual(begun().poll(jobs(job('a', 'failed'))), ['job.failed a']);
  });

  it('never changes a reported end, even if the job reappears', () => {
    const story = begun();
    story.poll(jobs(job('a', 'printing')));
    story.poll(past(job('a', 'finished')));
    assert.deepEqual(story.poll(jobs(job('a', 'printing'))), []);
    assert.deepEqual(story.poll(past(job('a', 'failed'))), []);
    assert.deepEqual(story.poll(answer(), { a: own(job('a', 'aborted')) }), []);
  });

  it('completes the job with its last known figures', () => {
    const story = begun();
    story.poll(jobs(at('a', 'printing', 40, { name: 'x.gcode', owner: 'Ada', time_remaining: 600 })));
    const end = story.events(past(job('a', 'aborted'))).at(-1);
    assert.equal(end?.job?.name, 'x.gcode');
    assert.equal(end.job.progress, 40);
    assert.equal(end.job.state, 'aborted');
    assert.equal(end.job.timeRemaining, null);
  });

  it('reports older ends first, and ends before beginnings', () => {
    const story = begun();
    story.poll(jobs(job('a', 'printing', { created_at: minute(1) }), job('b', 'queued', { created_at: minute(2) })));
    const wire = answer({
      print_jobs: [job('c', 'printing', { created_at: minute(3) })],
      recently_completed: [
        job('b', 'failed', { created_at: minute(2) }),
        job('a', 'finished', { created_at: minute(1) }),
      ],
    });
    assert.deepEqual(
      story.events(wire).map(({ type, job: about }) => `${type} ${about?.clusterJobId ?? ''}`),
      ['job.progress a', 'job.finished a', 'job.failed b', 'job.started c'],
    );
  });

  describe('wait_cleanup (trap 20)', () => {
    const cleanup = (percent: number) => jobs(at('a', 'wait_cleanup', percent));
    const printing = () => {
      const story = new Story(withMilestones());
      story.poll(answer());
      story.poll(jobs(at('a', 'printing', 50)));
      return story;
    };

    it('gets its end from the history first', () => {
      const story = printing();
      const wire = answer({ print_jobs: [at('a', 'wait_cleanup', 99)], recently_completed: [job('a', 'failed')] });
      assert.deepEqual(story.poll(wire), ['job.failed a']);
      assert.deepEqual(story.asked, []);
    });

    it('gets its end from its record second', () => {
      const story = printing();
      assert.deepEqual(story.poll(cleanup(99), { a: own(job('a', 'aborted')) }), ['job.aborted a']);
      assert.deepEqual(story.asked, ['a']);
    });

    it('gets its end from its times last', () => {
      const word = own(at('a', 'wait_cleanup', 50));
      assert.deepEqual(printing().poll(cleanup(95), { a: word }), ['job.finished a']);
      assert.deepEqual(printing().poll(cleanup(94), { a: word }), ['job.aborted a']);
      assert.deepEqual(printing().poll(cleanup(94), { a: 'gone' }), ['job.aborted a']);
    });

    it('gets its end from its record where that could be read only later', () => {
      for (const left of [cleanup(94), past(at('a', 'wait_cleanup', 94))]) {
        const story = printing();
        assert.deepEqual(story.poll(left), []);
        assert.deepEqual(story.poll(left), []);
        assert.deepEqual(story.asked, ['a']);
        assert.deepEqual(story.poll(left, { a: own(job('a', 'finished')) }), ['job.finished a']);
      }
    });

    it('gets its end from its times where its record can’t be read for ten minutes', () => {
      const story = printing();
      assert.deepEqual(story.poll(cleanup(94)), []);
      story.skip(8);
      assert.deepEqual(story.poll(cleanup(94)), []);
      assert.deepEqual(story.poll(cleanup(94)), ['job.aborted a']);
    });

    it('has no event but its end where it was first seen while its record could not be read', () => {
      const story = begun();
      assert.deepEqual(story.poll(cleanup(94)), []);
      assert.deepEqual(story.poll(cleanup(94), { a: own(job('a', 'finished')) }), ['job.finished a']);
    });

    it('has an unknown share where its elapsed time is negative', () => {
      const story = printing();
      assert.deepEqual(story.poll(cleanup(-0.1), { a: 'gone' }), []);
      assert.deepEqual(story.poll(past(job('a', 'finished'))), ['job.finished a']);
    });

    it('stays open without times', () => {
      const story = printing();
      const bare = jobs(job('a', 'wait_cleanup'));
      assert.deepEqual(story.poll(bare), []);
      assert.deepEqual(story.poll(bare, { a: own(job('a', 'wait_cleanup')) }), []);
      assert.deepEqual(story.poll(past(job('a', 'finished'))), ['job.finished a']);
    });

    it('ends as aborted after aborting, whatever its times', () => {
      const story = printing();
      assert.deepEqual(story.poll(jobs(at('a', 'aborting', 97))), []);
      assert.deepEqual(story.poll(cleanup(97)), []);
      assert.deepEqual(story.poll(cleanup(97), { a: 'gone' }), ['job.aborted a']);
    });
  });

  describe('a job that is aborting', () => {
    const aborting = () => {
      const story = begun();
      story.poll(jobs(job('a', 'printing')));
      assert.deepEqual(story.poll(jobs(job('a', 'aborting'))), []);
      return story;
    };

    it('has not ended yet', () => {
      assert.deepEqual(aborting().poll(jobs(job('a', 'aborted'))), ['job.aborted a']);
      assert.deepEqual(aborting().poll(past(job('a', 'aborting')), { a: 'gone' }), ['job.aborted a']);
      assert.deepEqual(aborting().poll(past(job('a', 'failed'))), ['job.failed a']);
    });

    it('ends as aborted when it vanishes', () => {
      assert.deepEqual(aborting().poll(answer()), []);
      assert.deepEqual(aborting().poll(answer(), { a: 'gone' }), ['job.aborted a']);
      assert.deepEqual(aborting().poll(answer(), { a: own(job('a', 'aborting', { state: 'in_progress' })) }), []);
      assert.deepEqual(
        aborting()
          .poll(answer(), { a: own(job('a', 'finished')) })
          .at(-1),
        'job.finished a',
      );
    });

    it('can continue to print', () => {
      const story = aborting();
      story.poll(jobs(job('a', 'printing')));
      assert.deepEqual(story.poll(answer(), { a: 'gone' }), []);
      assert.deepEqual(story.poll(answer(), { a: 'gone' }), ['job.ended a']);
    });
  });

  describe('a vanished job', () => {
    const vanished = () => {
      const story = begun();
      story.poll(jobs(job('a', 'printing')));
      return story;
    };

    it('stays open while offline, without a list, or unanswered (trap 15)', () => {
      const story = vanished();
      const gone = { a: 'gone' } as const;
      for (const wire of [
        answer({ is_online: false }),
        answer({ print_jobs: undefined }),
        answer({ print_jobs: null }),
      ]) {
        assert.deepEqual(story.poll(wire, gone), []);
        assert.deepEqual(story.asked, []);
      }
      assert.deepEqual(story.poll(answer(), { a: 'unanswered' }), []);
      assert.deepEqual(story.poll(answer(), gone), ['job.ended a']);
    });

    it('has not ended if a single poll lacks it and its record does not exist', () => {
      const story = vanished();
      assert.deepEqual(story.poll(answer(), { a: 'gone' }), []);
      assert.deepEqual(story.poll(jobs(at('a', 'printing', 10))), []);
      assert.deepEqual(story.poll(answer(), { a: 'gone' }), [], 'absence in a row counts, not in sum');
      assert.deepEqual(story.poll(jobs(at('a', 'printing', 20))), []);
      assert.deepEqual(story.poll(past(at('a', 'finished', 100))).at(-1), 'job.finished a');
    });

    it('has ended if two polls in a row lack it and its record does not exist', () => {
      const story = vanished();
      assert.deepEqual(story.poll(answer(), { a: 'gone' }), []);
      assert.deepEqual(story.poll(answer(), { a: 'gone' }), ['job.ended a']);
      assert.deepEqual(story.poll(answer(), { a: 'gone' }), []);
    });

    it('continues if its record is active', () => {
      const story = vanished();
      assert.deepEqual(story.poll(answer(), { a: own(job('a', 'printing', { state: 'in_progress' })) }), []);
      assert.deepEqual(story.poll(answer(), { a: own(job('a', 'a_new_word', { state: 'in_progress' })) }), []);
      assert.deepEqual(story.poll(jobs(job('a', 'paused'))), ['job.paused a']);
    });

    it('ends as job.ended if its record does not show how it ended', () => {
      for (const record of [
        job('a', 'printing', { state: 'history' }),
        job('a', 'queued', { state: 'deleted' }),
        job('a', 'a_new_word'),
        {},
      ]) {
        assert.deepEqual(vanished().poll(answer(), { a: own(record) }).length, 1);
        const [event] = vanished().events(answer(), { a: own(record) });
        assert.equal(event?.type, 'job.ended');
      }
    });

    it('asks for the record of a job whose history entry does not show how it ended', () => {
      const story = vanished();
      assert.deepEqual(story.poll(past(job('a', 'a_new_word')), { a: own(job('a', 'failed')) }), ['job.failed a']);
      assert.deepEqual(story.asked, ['a']);
    });
  });

  describe('a record that lacks', () => {
    const changes = { configuration_changes_required: [{ type_of_change: 'material_change', index: 0 }] };

    it('the required changes does not end the attention', () => {
      for (const odd of [undefined, null]) {
        const story = begun(jobs(job('a', 'queued', { configuration_changes_required: [] })));
        assert.deepEqual(story.poll(jobs(job('a', 'queued', changes))), ['job.attention a']);
        for (let count = 0; count < 2; count++)
          assert.deepEqual(story.poll(jobs(job('a', 'queued', { configuration_changes_required: odd }))), []);
        assert.deepEqual(story.poll(jobs(job('a', 'queued', changes))), []);
        assert.deepEqual(story.poll(jobs(job('a', 'queued', { configuration_changes_required: [] }))), []);
        assert.deepEqual(story.poll(jobs(job('a', 'queued', changes))), ['job.attention a']);
      }
    });

    it('the status does not end a pause as long as the coarse state is the same', () => {
      const paused = at('a', 'paused', 10, { state: 'in_progress' });
      for (const more of [{}, { state: null }]) {
        const story = begun(jobs(at('a', 'printing', 10)));
        assert.deepEqual(story.poll(jobs(paused)), ['job.paused a']);
        for (let count = 0; count < 2; count++)
          assert.deepEqual(story.poll(jobs({ ...paused, status: undefined, ...more })), []);
        assert.deepEqual(story.poll(jobs(paused)), []);
        assert.deepEqual(story.poll(jobs({ ...paused, status: 'printing' })), ['job.resumed a']);
      }
    });

    it('every status is followed by its coarse state', () => {
      const coarse = (state: string) => jobs({ ...at('a', '', 10), status: undefined, state });
      const story = begun(coarse('waiting'));
      assert.deepEqual(story.poll(coarse('in_progress')), ['job.started a']);
    });
  });

  it('ends a job that has been unknown for a day', () => {
    const story = begun(jobs(at('a', 'printing', 10)));
    story.poll(answer());
    assert.deepEqual(story.asked, ['a']);
    story.skip(23 * 60);
    assert.deepEqual(story.poll(answer()), []);
    story.skip(2 * 60);
    assert.deepEqual(story.poll(answer()), ['job.ended a']);
    assert.deepEqual(story.poll(answer()), []);
  });

  it('ends a job whose record was deleted, even if its state is still active', () => {
    const story = begun(jobs(job('a', 'queued')));
    const deleted = own(job('a', 'queued', { state: 'waiting', deleted_at: minute(2) }));
    assert.deepEqual(story.poll(answer(), { a: deleted }), ['job.ended a']);
  });

  it('stores the last 50 ends and those still listed', () => {
    const story = begun();
    const first = job('first', 'finished');
    story.poll(past(first));
    for (let round = 0; round < 30; round++) {
      const ten = Array.from({ length: 10 }, (_, index) => job(`${round}-${index}`, 'finished'));
      assert.equal(story.poll(past(first, ...ten)).length, 10);
    }
    assert.equal(story.checkpoint?.ended.length, 51);
    assert.deepEqual(story.poll(past(first)), []);
    assert.equal(story.checkpoint.ended.filter((end) => end.job !== null).length, 3);
  });
});

describe('advance: printers', () => {
  const printer = (more: Wire) =>
    answer({ printers: [{ uuid: 'P1', friendly_name: 'Left', status: 'idle', ...more }] });

  it('reports offline and online after two equal answers (trap 17)', () => {
    const story = begun();
    const off = answer({ is_online: false, printers: [] });
    const none = answer({ is_online: null });
    const polls = [off, answer(), off, none, off, off, answer(), answer()];
    assert.deepEqual(
      polls.map((wire) => story.poll(wire)),
      [[], [], [], [], ['printer.offline=false'], [], [], ['printer.online=true']],
    );
  });

  it('includes the host printer, even while it is not listed', () => {
    const story = begun();
    const off = answer({ is_online: false, printers: [] });
    story.events(off);
    const [event] = story.events(off);
    assert.equal(event?.printerId, 'P1');
  });

  it('makes no event of the first known answer', () => {
    const story = new Story();
    story.poll(answer({ is_online: undefined }));
    assert.deepEqual(
      [answer(), answer()].map((wire) => story.poll(wire)),
      [[], []],
    );
  });

  it('reports a changed status with the previous one, but ignores a missing status', () => {
    const story = begun();
    assert.deepEqual(story.poll(printer({ status: null })), []);
    assert.deepEqual(story.poll(answer({ printers: [] })), []);
    const [event] = story.events(printer({ status: 'error' }));
    assert.equal(event?.type, 'printer.status');
    assert.equal(event.previous, 'idle');
    assert.equal(event.value, 'error');
    assert.equal(event.printerName, 'Left');
  });

  it('reports each fault when it appears, and keeps it while the printer or the list is missing', () => {
    const story = begun();
    const door = { code: 'DOOR', uuid: 'F1', message: 'The door is open', severity: '3' };
    const [event] = story.events(printer({ faults: [door] }));
    assert.equal(event?.type, 'printer.fault');
    assert.deepEqual(event.value, { code: 'DOOR', message: 'The door is open', severity: '3', at: null });
    for (const wire of [
      printer({ errors: [door] }),
      answer({ printers: [] }),
      printer({}),
      printer({ faults: [door] }),
    ]) {
      assert.deepEqual(story.events(wire), []);
    }
    assert.equal(story.events(printer({ faults: [door], errors: [{ code: 'BED' }] })).length, 1);
    story.events(printer({ faults: [] }));
    const [again] = story.events(printer({ faults: [door] }));
    assert.equal(again?.type, 'printer.fault');
    assert.notEqual(again.id, event.id);
  });

  it('reports a fault or an error once while the other list, or its own, is missing', () => {
    const [door, head] = [{ uuid: 'f1' }, { uuid: 'e1' }];
    const story = new Story();
    story.poll(printer({ faults: [], errors: [] }));
    assert.deepEqual(story.poll(printer({ faults: [door], errors: [head] })), ['printer.fault', 'printer.fault']);
    for (const odd of [{ faults: [door] }, { errors: [head] }, {}]) {
      assert.deepEqual(story.poll(printer(odd)), []);
      assert.deepEqual(story.poll(printer({ faults: [door], errors: [head] })), [], JSON.stringify(odd));
    }
    assert.deepEqual(story.poll(printer({ errors: [head] })), []);
    assert.deepEqual(story.poll(printer({ errors: [] })), []);
    assert.deepEqual(story.poll(printer({ errors: [head] })), ['printer.fault'], 'an error without a list of faults');
  });

  it('reports each firmware version once', () => {
    const story = begun();
    const firmware = (latest: string | null, status = 'update_available') =>
      printer({ firmware_version: '1.0', latest_available_firmware: latest, firmware_update_status: status });
    const polls = [
      firmware(' '),
      firmware('1.0'),
      firmware('1.1', 'up_to_date'),
      firmware('1.1'),
      firmware('1.1'),
      firmware('1.2'),
      firmware('1.1'),
    ];
    assert.deepEqual(
      polls.map((wire) => story.poll(wire)),
      [[], [], [], ['firmware.available=1.1'], [], ['firmware.available=1.2'], []],
    );
  });

  it('reports no firmware version after an answer that lacks the installed one', () => {
    const story = begun();
    const whole = { firmware_version: '8', latest_available_firmware: '8' };
    const polls = [whole, { latest_available_firmware: '8' }, { ...whole, firmware_version: '' }, whole];
    assert.deepEqual(
      polls.map((facts) => story.poll(printer(facts))),
      [[], [], [], []],
    );
    const said = { latest_available_firmware: '9', firmware_update_status: 'update_available' };
    assert.deepEqual(story.poll(printer(said)), ['firmware.available=9']);
  });

  it('resumes a print that was paused in a checkpoint of before pauses were followed', () => {
    const story = begun(jobs(job('a', 'printing')));
    story.poll(jobs(job('a', 'paused')));
    const [known] = story.checkpoint?.jobs ?? [];
    assert.ok(known?.paused);
    delete known.paused;
    assert.deepEqual(story.poll(jobs(job('a', 'wait_user_action'))), ['job.attention a']);
    assert.deepEqual(story.poll(jobs(job('a', 'printing'))), ['job.resumed a']);
  });

  it('follows only the first of several printers without an id of their own (trap 14)', () => {
    const story = new Story();
    const nil = '00000000-0000-0000-0000-000000000000';
    const two = answer({
      printers: [
        { uuid: nil, status: 'idle' },
        { uuid: nil, status: 'printing' },
      ],
    });
    assert.deepEqual(
      [two, two, two].flatMap((wire) => story.poll(wire)),
      [],
    );
  });
});

describe('advance: an event', () => {
  it('has the same id when it is produced twice, and another one when it recurs', () => {
    const story = begun();
    story.events(jobs(at('a', 'printing', 10)));
    const before = story.checkpoint;
    const [once] = story.events(jobs(at('a', 'paused', 20)));
    story.checkpoint = before;
    const [twice] = story.events(jobs(at('a', 'paused', 20)));
    assert.equal(once?.type, 'job.paused');
    assert.equal(once.id, twice?.id);
    story.events(jobs(at('a', 'printing', 30)));
    const [again] = story.events(jobs(at('a', 'paused', 40)));
    assert.equal(again?.type, 'job.paused');
    assert.notEqual(again.id, once.id);
  });

  for (const [type, wire, later] of [
    ['job.paused', at('a', 'paused', 20), at('a', 'paused', 20)],
    ['job.attention', at('a', 'wait_user_action', 20), at('a', 'wait_user_action', 20)],
    ['job.paused', job('a', 'paused'), job('a', 'paused')],
  ] as const)
    it(`has the same id if a ${type} is found again later, whatever was delivered in between (${JSON.stringify(wire)})`, () => {
      const story = begun();
      story.events(jobs(at('a', 'printing', 10)));
      const before = story.checkpoint;
      const fault = { uuid: 'P1', status: 'error', faults: [{ code: 'DOOR' }] };
      story.events(answer({ print_jobs: [at('a', 'printing', 11)], printers: [fault] }));
      const [once] = story.events(jobs(wire)).filter((event) => event.type === type);
      story.checkpoint = before;
      story.skip(5);
      const [twice] = story.events(jobs(later)).filter((event) => event.type === type);
      assert.ok(once && twice);
      assert.notEqual(once.at, twice.at);
      assert.equal(once.id, twice.id);
    });

  it('has an id of its own among pauses, resumes and attentions of one job that show the same figures', () => {
    const story = begun();
    const [printing, paused, needed] = ['printing', 'paused', 'wait_user_action'].map((word) =>
      jobs(at('a', word, 20)),
    );
    assert.ok(printing && paused && needed);
    story.events(printing);
    const events = [paused, printing, paused, printing, needed, printing, needed].flatMap((wire) => story.events(wire));
    assert.equal(events.length, 6);
    assert.equal(new Set(events.map(({ id }) => id)).size, 6);
  });

  it('never shares its id with another event, whatever part of the stored state was lost', () => {
    const story = begun();
    const [on, off] = [answer(), answer({ is_online: false })];
    const stored = story.checkpoint;
    const delivered = [off, off, on, on].flatMap((wire) => story.events(wire));
    story.checkpoint = stored;
    const anew = [off, off, on, on].flatMap((wire) => story.events(wire));
    const types = ['printer.offline', 'printer.online'];
    assert.deepEqual(pluck([...delivered, ...anew], 'type'), [...types, ...types]);
    assert.equal(new Set([...delivered, ...anew].map(({ id }) => id)).size, 4);
  });

  it('has another id than a different change from the same checkpoint', () => {
    const story = begun();
    const before = story.checkpoint;
    const status = (word: string) => answer({ printers: [{ uuid: 'P1', status: word }] });
    const [error] = story.events(status('error'));
    story.checkpoint = before;
    const [printing] = story.events(status('printing'));
    assert.notEqual(error?.id, printing?.id);
  });

  it('is marked if it is late', () => {
    const story = begun();
    assert.equal(story.events(jobs(job('a', 'printing')), {}, true)[0]?.late, true);
    assert.equal(story.events(jobs(job('a', 'paused')))[0]?.late, false);
  });
});
