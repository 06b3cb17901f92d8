import { variableOf } from '../lib/rules/text';
import { fieldOf } from './fields';
import { ask, isUnknown, reason } from './requests';
import { text } from './texts';

/** State of a queue (reference 5), as far as the form shows it. */
interface ShownQueue {
  waiting: number;
  active: number;
  blocked: { itemId: string; name: string | null; waitingFor: { text: string }[] }[];
}

/** Most blocked items to show. */
const SHOWN = 3;

/** Shows below the chosen queue how many items wait, print and are blocked, and why. */
export function queueNote(): void {
  const field = fieldOf('queue');
  const note = $('<div>', { role: 'status', class: 'remote-printing-note' }).appendTo(field.closest('.form-row'));
  let turn = 0;

  async function show(): Promise<void> {
    const mine = ++turn;
    const queue = String(field.val() ?? '');
    note.empty();
    if (queue === '' || queue === '_ADD_' || variableOf(queue) !== null) return;
    const lines = await ask<ShownQueue>('GET', `queues/${encodeURIComponent(queue)}`).then(linesOf, whyNone);
    if (mine === turn) note.append(lines.map((line) => $('<div>', { text: line })));
  }

  field.on('change', () => void show());
  void show();
}

function linesOf({ waiting, active, blocked }: ShownQueue): string[] {
  const first = text('queue.counts', { waiting, active, blocked: blocked.length });
  const others = blocked
    .slice(0, SHOWN)
    .map(({ itemId, name, waitingFor: [why] }) => `${name ?? itemId}: ${why?.text ?? ''}`);
  return [first, ...others];
}

const whyNone = (thrown: unknown): string[] => [isUnknown(thrown) ? text('queue.deployFirst') : reason(thrown)];
