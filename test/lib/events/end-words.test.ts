import assert from 'node:assert/strict';
import { readCheckpoint } from '../../../lib/events/checkpoint';
import { answer, at, job, NO_THRESHOLDS, own, Story, type Wire } from './observations';

const WORDS = ['post_print', 'wait_user_action', 'wait_cleanup'];
const jobs = (...listed: Wire[]) => answer({ print_jobs: listed });

/** A printer on which a job prints, from the second poll on. */
function printing(more: Wire = {}): Story {
  const story = new Story({ ...NO_THRESHOLDS, plateWait: 5 });
  story.poll(answer());
  story.poll(jobs(at('a', 'printing', 50, more)));
  return story;
}

describe('advance: words that name the end of a print', () => {
  for (const kind of ['aborted', 'failed'])
    for (const [first, word] of WORDS.entries())
      it(`reports job.${kind} once, at ${kind}_${word}, and the plate once it waits`, () => {
        const story = printing();
        const later = WORDS.slice(first + 1).map((next) => `${kind}_${next}`);
        assert.deepEqual(story.poll(jobs(at('a', `${kind}_${word}`, 50))), [`job.${kind} a`]);
        assert.deepEqual(story.asked, []);
        story.skip(60);
        for (const next of later) assert.deepEqual(story.poll(jobs(at('a', next, 50))), []);
        story.skip(4);
        assert.deepEqual(story.poll(jobs(at('a', `${kind}_wait_cleanup`, 50))), ['plate.awaiting a=5']);
        assert.deepEqual(story.poll(answer({ recently_completed: [at('a', kind, 50)] })), []);
        assert.deepEqual(story.poll(answer()), []);
      });

  it('reports no end of a job that had one of these words at the first observation', () => {
    const story = new Story();
    for (const word of WORDS) assert.deepEqual(story.poll(jobs(at('a', `aborted_${word}`, 50))), []);
    assert.deepEqual(story.poll(answer({ recently_completed: [at('a', 'aborted', 50)] })), []);
  });

  it('reads an unknown word by its beginning', () => {
    assert.deepEqual(printing().poll(jobs(at('a', 'failed_for_a_reason', 99))), ['job.failed a']);
    assert.deepEqual(printing().poll(jobs(at('a', 'aborted_cold_wait_cleanup', 99))), ['job.aborted a']);
  });

  it('asks for the record of a job that is listed as ended without saying how', () => {
    const over = jobs(job('a', 'a_new_word', { state: 'history' }));
    assert.deepEqual(printing().poll(over, { a: own(job('a', 'failed')) }), ['job.failed a']);
    assert.deepEqual(printing().poll(over, { a: 'gone' }), ['job.ended a']);
    const story = printing();
    assert.deepEqual(story.poll(over), [], 'the record could not be read');
    assert.deepEqual(story.poll(over, { a: 'gone' }), ['job.ended a']);
  });

  it('reports the reason that the service gives', () => {
    const impediments_to_printing = [{ translation_key: 'a_key', severity: 2 }];
    const why = { impediments_to_printing, status_message: { body: 'Too big' }, status_detail: 'a_detail' };
    const [event] = printing().events(jobs(at('a', 'failed_post_print', 50, why)));
    assert.deepEqual(event?.job?.problems, [
      { code: 'a_key', severity: '2', text: 'The printer can’t print this job: a_key.' },
    ]);
    assert.deepEqual([event.job.statusMessage, event.job.statusDetail], ['Too big', 'a_detail']);
  });

  describe('wait_cleanup with little of its time elapsed', () => {
    const left = (more: Wire = {}, word = 'wait_cleanup') => jobs(at('b', word, 50, more));
    const begun = (story: Story, more: Wire = {}) => void story.poll(jobs(at('b', 'printing', 20, more)));
    const P1 = { printer_uuid: 'P1' };

    it('counts as aborted on a printer that has never named an end', () => {
      const story = printing();
      begun(story);
      assert.deepEqual(story.poll(left(), { b: 'gone' }), ['job.aborted b']);
    });

    it('is finished on a printer that has named an end, also after a restart', () => {
      const story = printing(P1);
      story.poll(jobs(at('a', 'failed_wait_cleanup', 50, P1)));
      begun(story, P1);
      story.checkpoint = readCheckpoint(JSON.parse(JSON.stringify(story.checkpoint)));
      const [end] = story.events(left(P1), { b: 'gone' });
      assert.deepEqual([end?.type, end?.job?.state], ['job.finished', 'finished']);
    });

    it('is finished there although the print was being aborted', () => {
      const story = printing(P1);
      story.poll(jobs(at('a', 'aborted_post_print', 50, P1)));
      begun(story, P1);
      story.poll(jobs(at('b', 'aborting', 40, P1)));
      assert.deepEqual(story.poll(left(P1), { b: 'gone' }), ['job.finished b']);
    });

    it('ends as history or the job’s record says', () => {
      const named = () => {
        const story = printing(P1);
        story.poll(jobs(at('a', 'failed_wait_cleanup', 50, P1)));
        begun(story, P1);
        return story;
      };
      assert.deepEqual(named().poll(left(P1), { b: own(job('b', 'failed')) }), ['job.failed b']);
      const both = { ...left(P1), recently_completed: [job('b', 'aborted')] };
      assert.deepEqual(named().poll(both), ['job.aborted b']);
    });

    it('counts as aborted in an unknown word that ends so, and on another printer of the group', () => {
      for (const [more, word] of [
        [P1, 'cancelled_wait_cleanup'],
        [{ printer_uuid: 'P2' }, 'wait_cleanup'],
      ] as const) {
        const story = printing(P1);
        story.poll(jobs(at('a', 'failed_wait_cleanup', 50, P1)));
        begun(story, more);
        assert.deepEqual(story.poll(left(more, word), { b: 'gone' }), ['job.aborted b']);
      }
    });

    it('is read with a checkpoint of an earlier version, which did not know the printers that name an end', () => {
      const story = printing();
      begun(story);
      const { namingEnds: _, ...stored } = story.checkpoint ?? assert.fail();
      const { problems: _p, statusMessage: _m, statusDetail: _d, ...known } = stored.jobs[0]?.job ?? assert.fail();
      story.checkpoint = readCheckpoint({ ...stored, jobs: [{ ...stored.jobs[0], job: known }] });
      assert.deepEqual(story.poll(left(), { b: 'gone' }), ['job.aborted b']);
    });
  });
});
