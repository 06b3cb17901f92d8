import { phrase } from '../words/sentence';
import { countCopies, isStuck } from './copies';
import type { ExplainedItem } from './queue-api';
import type { Attempt, ItemRecord } from './queue-item';
import { printerKey } from './queue-printer';
import { OUTCOME_UNKNOWN, REFUSED, type ItemReason, type Reason } from './reasons';
import type { ReasonCount } from './waiting-reasons';

/** The attempts with which only a person can help: of unknown outcome, or with a job that can't be removed. */
export const stuckAttempts = ({ prints }: ItemRecord): Attempt[] =>
  prints.filter((attempt) => attempt.state === 'unknown' || isStuck(attempt));

const reasonOf = ({ state }: Attempt) => (state === 'unknown' ? OUTCOME_UNKNOWN : REFUSED);

/** A copy whose print was aborted: whether it is still wanted is unknown. */
const ABORTED = { code: 'HELD', sentence: phrase`A print of it was aborted: release it or remove it.` } as const;

/** The reason of an item that waits for a person because prints of it were aborted; null: none was. */
export const heldReason = (record: ItemRecord): Reason<ItemReason> | null =>
  countCopies(record).held > 0 ? ABORTED : null;

/** The reasons of an item that waits for a person alone, with the number of their printers. */
export function stuckReasons(record: ItemRecord): ReasonCount[] {
  const attempts = stuckAttempts(record);
  const held = heldReason(record);
  const stuck = [OUTCOME_UNKNOWN, REFUSED].flatMap((reason) => {
    const printers = new Set(attempts.filter((attempt) => reasonOf(attempt) === reason).map(printerKey));
    return printers.size > 0 ? [{ ...reason, printers: printers.size }] : [];
  });
  return held ? [{ ...held, printers: 0 }, ...stuck] : stuck;
}

/** The reason of a stuck attempt, with its printer. */
export function explainedAttempt(attempt: Attempt): ExplainedItem['waitingFor'][number] {
  const { clusterId, printerId, clusterName } = attempt;
  const { code, sentence } = reasonOf(attempt);
  return { clusterId, printerId, clusterName, code, text: sentence };
}
