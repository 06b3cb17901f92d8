import { asPrintingError } from '../service/errors';
import type { Sentence } from '../words/sentence';
import type { AssignedPrint } from './attempt-changes';
import type { ClusterViews } from './cluster-views';
import type { ItemRecord } from './queue-item';
import type { QueueRules } from './queue-rules';
import type { QueueView } from './queue-view';
import { NOT_FREE, unread } from './refusals';
import { requirementOf } from './requirement-of';
import { mismatchOf } from './suitability';

interface LastObstacleDeps {
  view: QueueView;
  views: ClusterViews;
  rules: QueueRules;
}

/**
 * Reads a printer just before a copy is sent to it, and returns why the copy must not go there; null: it may (print
 * queue, rule 2). Never rejects.
 */
export async function lastObstacle(
  { view, views, rules }: LastObstacleDeps,
  record: ItemRecord,
  { clusterId, copy, file }: AssignedPrint,
  read: () => Promise<unknown>,
): Promise<Sentence | null> {
  try {
    await read();
  } catch (thrown) {
    return unread(asPrintingError(thrown));
  }
  const requirement = requirementOf(record.require, record.files[file]?.facts ?? null, views.materialOf);
  view.invalidate();
  const here = view.printersWithout(record.itemId, copy).filter((printer) => printer.clusterId === clusterId);
  const isRight = here.some((printer) => printer.obstacle === null && mismatchOf(requirement, printer, rules) === null);
  view.invalidate();
  return isRight ? null : NOT_FREE;
}
