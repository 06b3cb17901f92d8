import { isoTime } from '../time/clock';
import { costOfFile } from './prices';
import { countCopies, itemStateOf } from './copies';
import type { QueueItem, QueuePrint } from './queue-api';
import type { Attempt, ItemRecord } from './queue-item';
import type { QueueRules } from './queue-rules';
import { requirementOf, type MaterialFinder } from './requirement-of';

/** Facts about an item that only the queue as a whole knows. */
export interface ItemPlace {
  /** Null: the item can't be planned. */
  position: number | null;
  canBePlanned: boolean;
  eta: { startAt: number; endAt: number } | null;
  waitingFor: QueueItem['waitingFor'];
}

interface ShapeContext {
  queueId: string;
  rules: Pick<QueueRules, 'prices'>;
  views: { materialOf: MaterialFinder };
}

/** An item in the shape of messages (print queue, 4). */
export function itemShape(record: ItemRecord, { queueId, rules, views }: ShapeContext, place: ItemPlace): QueueItem {
  const [file] = record.files;
  const facts = file?.facts ?? null;
  const { nozzles: _, ...requires } = requirementOf(record.require, facts, views.materialOf);
  const { eta } = place;
  return {
    itemId: record.itemId,
    queueId,
    queueKey: record.queueKey,
    orderId: record.orderId,
    name: record.name,
    owner: record.owner,
    costCode: record.costCode,
    jobId: file?.jobId ?? null,
    fileSize: file?.size ?? null,
    state: itemStateOf(record, place.canBePlanned),
    held: record.isHeld || record.awaitsApproval,
    priority: record.priority,
    position: place.position,
    createdAt: isoTime(record.createdAt),
    notBefore: isoOrNull(record.notBefore),
    deadline: isoOrNull(record.deadline),
    endedAt: isoOrNull(record.endedAt),
    copies: { ...countCopies(record) },
    requires,
    estimate: {
      seconds: facts?.seconds ?? null,
      volumes: facts?.volumes ?? [],
      weights: facts?.weights ?? [],
      cost: costOfFile(rules.prices, facts, facts?.seconds ?? null),
    },
    eta: eta && { startAt: isoTime(eta.startAt), endAt: isoTime(eta.endAt) },
    waitingFor: place.waitingFor,
    prints: record.prints.map(printShape),
  };
}

export const printShape = (attempt: Attempt): QueuePrint => ({
  copy: attempt.copy,
  attempt: attempt.attempt,
  clusterId: attempt.clusterId,
  clusterName: attempt.clusterName,
  printerId: attempt.printerId,
  clusterJobId: attempt.clusterJobId,
  state: attempt.state,
  startedAt: isoOrNull(attempt.startedAt),
  endedAt: isoOrNull(attempt.endedAt),
  seconds: attempt.seconds,
  cost: attempt.cost,
});

export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));
