import { isStuck } from './copies';
import type { ExplainedItem } from './queue-api';
import type { Attempt, ItemRecord } from './queue-item';
import { printerKey } from './queue-printer';
import { OUTCOME_UNKNOWN, REFUSED } from './reasons';
import type { ReasonCount } from './waiting-reasons';

/** The attempts with which only a person can help: of unknown outcome, or with a job that can't be removed. */
export const stuckAttempts = ({ prints }: ItemRecord): Attempt[] =>
  prints.filter((attempt) => attempt.state === 'unknown' || isStuck(attempt));

const reasonOf = ({ state }: Attempt) => (state === 'unknown' ? OUTCOME_UNKNOWN : REFUSED);

/** The reasons of stuck attempts, with the number of their printers. */
export function stuckReasons(record: ItemRecord): ReasonCount[] {
  const attempts = stuckAttempts(record);
  return [OUTCOME_UNKNOWN, REFUSED].flatMap((reason) => {
    const printers = new Set(attempts.filter((attempt) => reasonOf(attempt) === reason).map(printerKey));
    return printers.size > 0 ? [{ ...reason, printers: printers.size }] : [];
  });
}

/** The reason of a stuck attempt, with its printer. */
export function explainedAttempt(attempt: Attempt): ExplainedItem['waitingFor'][number] {
  const { clusterId, printerId, clusterName } = attempt;
  const { code, sentence } = reasonOf(attempt);
  return { clusterId, printerId, clusterName, code, text: sentence };
}
