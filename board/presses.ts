// Presses: each is sent with a key until Node-RED has answered, and answers that can be taken back wait for ten seconds.
import type { Answer, Outcome } from '../lib/board/shapes';
import { randomId } from './connection';
import { current, fail, say, set } from './state';
import { t } from './words';

/** Time in which an answer can be taken back, ms. */
const TAKE_BACK = 10_000;
/** Time until the board shows what a press did, ms. */
const SETTLES = 3_000;
/** Pauses between the tries of a press whose answer did not come, ms: together longer than a restart of Node-RED. */
const TRIES = [1_000, 3_000, 6_000, 10_000, 20_000, 30_000];

export type Press = Pick<Answer<string>, 'action' | 'properties'>;

/** Sends a press. Returns whether it was done; says what was done, and shows why it was not. */
export async function press(one: Press, done: string): Promise<boolean> {
  fail(null);
  const outcome = await outcomeOfPress(one);
  if (outcome.ok) say(done);
  else fail(outcome.message);
  return outcome.ok;
}

/** Sends presses one after the other. Returns whether all were done; says how many were, and shows why the others were not. */
export async function pressAll(all: readonly Press[]): Promise<boolean> {
  fail(null);
  const reasons: string[] = [];
  for (const one of all) {
    const outcome = await outcomeOfPress(one);
    if (!outcome.ok) reasons.push(outcome.message);
  }
  const [reason] = reasons;
  if (reason !== undefined) fail(t('notDoneMany', { n: reasons.length, reason }));
  if (reasons.length < all.length) say(t('doneMany', { n: all.length - reasons.length }));
  return reason === undefined;
}

async function outcomeOfPress({ action, properties }: Press): Promise<Outcome<string>> {
  const key = randomId();
  const outcome = await untilAnswered(() => send({ key, action, properties }));
  if (outcome.ok) set({ presses: current().presses + 1 });
  return outcome;
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

interface Pressed {
  answer: string;
  /** Whether it was sent, so that it can't be taken back any more. */
  isSent: boolean;
  send: () => void;
  timer: number;
}

/** The pressed answers, by their need. */
const pressed = new Map<string, Pressed>();

/** The pressed answer of a need, until the board shows what it did; undefined: none. */
export const pressedAnswer = (need: string): string | undefined => pressed.get(need)?.answer;

/** Whether the pressed answer of a need still waits to be sent. */
export const canTakeBack = (need: string): boolean => pressed.get(need)?.isSent === false;

/**
 * Presses an answer: it is sent after ten seconds, or at once with a second press; another one takes its place.
 * @param act sends it, and resolves with whether it was done
 */
export function pressLater(need: string, answer: string, act: () => Promise<boolean>): void {
  const before = pressed.get(need);
  if (before?.answer === answer) before.send();
  if (before?.answer === answer || before?.isSent) return;
  takeBack(need);
  const entry: Pressed = { answer, isSent: false, send, timer: window.setTimeout(send, TAKE_BACK) };
  pressed.set(need, entry);
  set({});

  function send(): void {
    if (entry.isSent) return;
    window.clearTimeout(entry.timer);
    entry.isSent = true;
    set({});
    // The board shows the effect a moment later: until then, the answer stays pressed.
    void act().then((isDone) => window.setTimeout(() => forget(need), isDone ? SETTLES : 0));
  }
}

export function takeBack(need: string): void {
  if (!canTakeBack(need)) return;
  window.clearTimeout(pressed.get(need)?.timer);
  forget(need);
}

function forget(need: string): void {
  pressed.delete(need);
  set({});
}
