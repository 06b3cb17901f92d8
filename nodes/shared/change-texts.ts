import type { NodeAPI } from 'node-red';
import { describeChange } from '../../lib/service/job-changes';
import type { ChangeRequired, PrintJob } from '../../lib/service/print-job';
import { translated } from './language';

/** A required change as flows receive it (reference 3.2). */
type DescribedChange = ChangeRequired & { text?: string };

/** Properties of payloads (reference 3) that hold print jobs. */
const HOLDERS = ['jobs', 'history', 'current', 'job'] as const;

/** Adds its instruction, in the language of the runtime, to each change that the print jobs of a payload require. */
export function addChangeTexts<T>(RED: NodeAPI, payload: T): T {
  for (const { changesRequired } of jobsIn(payload))
    for (const change of changesRequired as DescribedChange[]) change.text ??= translated(RED, describeChange(change));
  return payload;
}

function* jobsIn(payload: unknown): Generator<PrintJob> {
  if (Array.isArray(payload)) for (const entry of payload) yield* jobsIn(entry);
  else if (typeof payload !== 'object' || payload === null) return;
  else if ('changesRequired' in payload) yield payload as PrintJob;
  else for (const name of HOLDERS) if (name in payload) yield* jobsIn((payload as Record<string, unknown>)[name]);
}
