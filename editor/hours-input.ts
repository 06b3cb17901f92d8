import { parseHours } from '../lib/rules/hours';
import { variableOf } from '../lib/rules/text';
import { fieldOf } from './fields';
import { ask } from './requests';
import { text } from './texts';

/** The runtime's answer about hours; the time is one of its time zone, in the editor's language. */
interface Now {
  open: boolean;
  next: string | null;
}

/** Pause in the input after which the runtime is asked, ms. */
const PAUSE = 300;

/** Shows beside hours whether they apply now, or when they will. The runtime says so, since they are in its time zone. */
export function hoursInput(name: 'hours' | 'staffed'): void {
  const field = fieldOf(name);
  const note = $('<div role="status" class="remote-printing-note">').insertAfter(field);
  let turn = 0;
  let timer: number | undefined;

  async function show(): Promise<void> {
    const mine = ++turn;
    const typed = String(field.val());
    // The runtime knows the value of an environment variable, and the form does not.
    const isVariable = variableOf(typed) !== null;
    const isWrong = !isVariable && 'wrong' in parseHours(typed);
    note.toggleClass('remote-printing-bad', isWrong);
    if (isWrong || isVariable) return void note.text(isWrong ? text('invalid.hours') : '');
    const now = await ask<Now>('GET', `hours?hours=${encodeURIComponent(typed)}`).catch(() => null);
    if (mine === turn) note.text(now ? words(name, now) : '');
  }

  field.on('input change', () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void show(), PAUSE);
  });
  void show();
}

function words(name: 'hours' | 'staffed', { open, next }: Now): string {
  const time = next ?? '';
  if (name === 'staffed') return open ? text('hours.staffed') : text('hours.staffedNext', { time });
  return open ? text('hours.open') : text('hours.next', { time });
}
