import assert from 'node:assert/strict';
import * as words from '../../../lib/service/job-words';
import { readPrintJob } from '../../../lib/service/print-job';

/** The meaning of a job's words in short form: its state, and the questions whose answer is yes. */
function read(status: string | null, state?: string, more: object = {}): string {
  const job = readPrintJob({ status, state, ...more });
  const { isUnderWay, occupiesPrinter, isOver, isEndDecided, isPlateWaiting, namesEnd } = words;
  const answers = { isUnderWay, occupiesPrinter, isOver, isEndDecided, isPlateWaiting, namesEnd };
  const yes = Object.entries(answers).flatMap(([name, question]) => (question(job) ? [name] : []));
  return [job.state, ...yes].join(' ');
}

describe('service/job-words', () => {
  const PRINTS = 'isUnderWay occupiesPrinter';
  const ENDED = 'isOver isEndDecided';
  const KNOWN: Record<string, string> = {
    queued: 'waiting',
    wait_approval: 'approval',
    wait_user_action: 'attention',
    wait_for_configuration: 'attention',
    sent_to_printer: 'preparing',
    pre_print: 'preparing occupiesPrinter',
    printing: `printing ${PRINTS}`,
    pausing: `paused ${PRINTS}`,
    paused: `paused ${PRINTS}`,
    resuming: `paused ${PRINTS}`,
    post_print: `finishing ${PRINTS}`,
    aborting: `aborted ${PRINTS}`,
    aborted_post_print: `aborted occupiesPrinter ${ENDED} namesEnd`,
    failed_post_print: `failed occupiesPrinter ${ENDED} namesEnd`,
    aborted_wait_user_action: `aborted occupiesPrinter ${ENDED} namesEnd`,
    failed_wait_user_action: `failed occupiesPrinter ${ENDED} namesEnd`,
    aborted_wait_cleanup: `aborted ${ENDED} isPlateWaiting namesEnd`,
    failed_wait_cleanup: `failed ${ENDED} isPlateWaiting namesEnd`,
    wait_cleanup: 'finishing isOver isPlateWaiting',
    finished: `finished ${ENDED}`,
    aborted: `aborted ${ENDED}`,
    failed: `failed ${ENDED}`,
    error: `failed ${ENDED}`,
  };
  for (const [status, meaning] of Object.entries(KNOWN))
    it(`reads ${status} as ${meaning}, whatever the coarse state says`, () => {
      for (const state of [undefined, 'in_progress', 'history', 'waiting']) assert.equal(read(status, state), meaning);
      assert.ok(words.isKnownStatus(status));
    });

  const UNKNOWN: [status: string | null, state: string | undefined, meaning: string][] = [
    ['aborted_by_the_door', undefined, `aborted occupiesPrinter ${ENDED}`],
    ['failed_somehow', 'history', `failed ${ENDED}`],
    ['failed_cold_wait_cleanup', undefined, `failed ${ENDED} isPlateWaiting`],
    ['cancelled_wait_cleanup', 'in_progress', 'finishing isOver isPlateWaiting'],
    ['cancelled_post_print', 'waiting', 'waiting isUnderWay occupiesPrinter'],
    ['odd_wait_user_action', undefined, `unknown ${PRINTS}`],
    ['a_new_word', undefined, `unknown ${PRINTS}`],
    ['a_new_word', 'a_new_state', `unknown ${PRINTS}`],
    ['a_new_word', 'waiting', 'waiting'],
    ['a_new_word', 'wait_approval', 'approval'],
    ['a_new_word', 'sending', 'preparing'],
    ['a_new_word', 'in_progress', `printing ${PRINTS}`],
    ['a_new_word', 'history', 'unknown isOver'],
    ['a_new_word', 'deleted', 'unknown isOver'],
    ['toString', undefined, `unknown ${PRINTS}`],
    [null, 'in_progress', `printing ${PRINTS}`],
    [null, undefined, 'unknown'],
  ];
  for (const [status, state, meaning] of UNKNOWN)
    it(`reads the unknown word ${status ?? '(none)'} in ${state ?? 'no coarse state'} as ${meaning}`, () => {
      assert.equal(read(status, state), meaning);
      assert.ok(!words.isKnownStatus(status ?? ''));
    });

  it('settles an end without a name by its time, never for certain', () => {
    for (const status of ['wait_cleanup', 'cancelled_wait_cleanup']) {
      assert.equal(read(status, undefined, { time_elapsed: 95, time_total: 100 }), 'finished isOver isPlateWaiting');
      assert.equal(read(status, undefined, { time_elapsed: 94, time_total: 100 }), 'aborted isOver isPlateWaiting');
    }
  });
});
