// Presses: each is sent with a key until Node-RED has answered, and answers that can be taken back wait for ten seconds.
import type { Answer, Outcome } from '../lib/board/shapes';
import { randomId } from './connection';
import { fail, say, set } from './state';
import { t } from './words';

/** Time in which an answer can be taken back, ms. */
const TAKE_BACK = 10_000;
/** Pauses between the tries of a press whose answer did not come, ms: together longer than a restart of Node-RED. */
const TRIES = [1_000, 3_000, 6_000, 10_000, 20_000, 30_000];

export type Press = Pick<Answer<string>, 'action' | 'properties'>;

/** Sends a press. Returns whether it was done; says what was done, and shows why it was not. */
export async function press({ action, properties }: Press, done: string): Promise<boolean> {
  const key = randomId();
  fail(null);
  const outcome = await untilAnswered(() => send({ key, action, properties }));
  if (outcome.ok) say(done);
  else fail(outcome.message);
  return outcome.ok;
}

/**
 * Sends the same thing again until Node-RED answers.
 * @param send resolves with null without an answer: it may have been done, so it is sent under the same key
 */
export async function untilAnswered(send: () => Promise<Outcome<string> | null>): Promise<Outcome<string>> {
  for (const pause of TRIES) {
    const outcome = await send();
    if (outcome) return outcome;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  return (await send()) ?? { ok: false, code: 'NETWORK', message: t('noAnswer') };
}

/** Outcome of a request; null if it is no answer of the board, which Node-RED may not have opened yet. */
export function outcomeOf(status: number, text: string): Outcome<string> | null {
  if (status === 401) return { ok: false, code: 'FORBIDDEN', message: t('needsToken') };
  if (status === 404 || status >= 500) return null;
  return text.startsWith('{') ? (JSON.parse(text) as Outcome<string>) : { ok: false, code: '', message: text };
}

async function send(body: object): Promise<Outcome<string> | null> {
  try {
    const answer = await fetch('press', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    return outcomeOf(answer.status, await answer.text());
  } catch {
    return null;
  }
}

interface Waiting {
  timer: number;
  send: () => void;
}

/** Answers that can still be taken back, by their need. */
const waiting = new Map<string, { answer: string; wait: Waiting }>();

/** The answer of a need that waits to be sent; undefined: none. */
export const pressedAnswer = (need: string): string | undefined => waiting.get(need)?.answer;

/** Presses an answer: it is sent after ten seconds, or at once with a second press; another one takes its place. */
export function pressLater(need: string, answer: string, act: () => void): void {
  const before = waiting.get(need);
  if (before?.answer === answer) {
    before.wait.send();
    return;
  }
  takeBack(need);
  const finish = () => {
    window.clearTimeout(wait.timer);
    waiting.delete(need);
    set({});
    act();
  };
  const wait: Waiting = { timer: window.setTimeout(finish, TAKE_BACK), send: finish };
  waiting.set(need, { answer, wait });
  set({});
}

export function takeBack(need: string): void {
  const before = waiting.get(need);
  if (!before) return;
  window.clearTimeout(before.wait.timer);
  waiting.delete(need);
  set({});
}
