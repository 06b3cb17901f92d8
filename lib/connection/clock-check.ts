import { TEXT } from '../rules/limits';
import type { Asked } from './ask';
import { notChecked, type Check } from './check';
import { phrase } from '../words/sentence';

/** Largest tolerable difference, ms; beyond it tokens and dates go wrong. */
const MOST = 60_000;

/** Compares this computer's clock with the `Date` of an answer, which the service wrote half a round trip ago. */
export function checkClock(answer: Asked | undefined): Check {
  const name = 'clock';
  if (!answer) return notChecked(name, phrase`no host was reached`);
  const { date, age } = answer.headers;
  const serviceTime = Date.parse((date ?? '').slice(0, TEXT.matched));
  if (Number.isNaN(serviceTime) || (age !== undefined && age !== '0'))
    return { name, ok: null, detail: phrase`The answer does not include the time at the service.` };
  // The header has no milliseconds, so it is half a second early on average.
  const off = (answer.sentAt + answer.arrivedAt) / 2 - (serviceTime + 500);
  const seconds = Math.round(Math.abs(off) / 1000);
  if (seconds <= 1) return { name, ok: true, detail: phrase`This computer's clock agrees with the service's.` };
  const detail =
    off > 0
      ? phrase`This computer's clock is ${lasting(seconds)} ahead of the service's.`
      : phrase`This computer's clock is ${lasting(seconds)} behind the service's.`;
  const ok = Math.abs(off) <= MOST;
  return { name, ok, detail: ok ? detail : phrase`${detail} Correct it.` };
}

function lasting(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}
