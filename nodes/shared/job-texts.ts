import type { NodeAPI } from 'node-red';
import { type ChangeRequired, describeChange, describeProblem, type PrintJob } from '../../lib/service/print-job';
import { translated } from './language';

/** A required change as flows receive it (reference 3.2). */
type DescribedChange = ChangeRequired & { text?: string };

/** Properties of payloads (reference 3) that hold print jobs. */
const HOLDERS = ['jobs', 'history', 'current', 'job'] as const;

/**
 * Adds its instruction to each change that the print jobs of a payload require, and describes each of their impediments, in
 * the language of the runtime.
 */
export function addJobTexts<T>(RED: NodeAPI, payload: T): T {
  addTo(RED, payload);
  return payload;
}

/** Without generators, which cost eight times as much: this runs for every job of every status. */
function addTo(RED: NodeAPI, payload: unknown): void {
  if (Array.isArray(payload)) for (const entry of payload) addTo(RED, entry);
  else if (typeof payload !== 'object' || payload === null) return;
  else if ('changesRequired' in payload) {
    const { changesRequired, problems } = payload as PrintJob;
    if (changesRequired.length > 0)
      for (const change of changesRequired as DescribedChange[])
        change.text ??= translated(RED, describeChange(change));
    if (problems.length > 0) for (const problem of problems) problem.text = translated(RED, describeProblem(problem));
  } else for (const name of HOLDERS) if (name in payload) addTo(RED, (payload as Record<string, unknown>)[name]);
}
