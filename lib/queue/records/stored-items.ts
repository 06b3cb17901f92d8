import { newerValue } from '../../service/errors';
import { record } from '../../service/json-readers';
import { COPIES } from '../../rules/limits';
import { isRank } from '../model/rank';
import type { ItemRecord } from '../model/types';
import {
  isCount,
  isFlag,
  isNewerThan,
  isNumber,
  isText,
  isTime,
  listOf,
  mapOf,
  oneOf,
  orMissing,
  orNull,
  type Shape,
  shapeOf,
} from './shapes';

/** Reads a stored item; undefined: it has another shape. Throws FILE_NOT_READABLE for one of a newer version. */
export function readItem(itemId: string, value: unknown): ItemRecord | undefined {
  if (isNewerThan(1, value)) throw newerValue('queue-item');
  const found = record(value);
  return found?.itemId === itemId && isItem(found) ? (found as unknown as ItemRecord) : undefined;
}

const isTextOrNull = orNull(isText);
const isTimeOrNull = orNull(isTime);
const isNumberOrNull = orNull(isNumber);
const isPosition: Shape = (value) => isCount(value) && value !== 0;

const isMaterial = shapeOf(
  Object.fromEntries(['guid', 'type', 'brand', 'color'].map((name) => [name, orMissing(isTextOrNull)])),
);

const isFacts = shapeOf({
  source: oneOf('service', 'file'),
  model: isTextOrNull,
  printCores: listOf(isTextOrNull),
  materials: listOf(orNull(isMaterial)),
  volumes: listOf(isNumberOrNull),
  weights: listOf(isNumberOrNull),
  nozzles: orMissing(listOf(isNumberOrNull)),
  buildPlate: isTextOrNull,
  seconds: isNumberOrNull,
  size: orNull(shapeOf({ x: isNumber, y: isNumber, z: isNumber })),
});

const isFile = shapeOf({
  jobId: isTextOrNull,
  filename: isTextOrNull,
  size: isNumberOrNull,
  facts: orNull(isFacts),
  isGone: isFlag,
});

const isRequire = shapeOf({
  models: orMissing(listOf(isText)),
  printCores: orMissing(listOf(isTextOrNull)),
  materials: orMissing(listOf(orNull(isMaterial))),
  buildPlate: orMissing(isText),
  tags: orMissing(listOf(isText)),
  printers: orMissing(listOf(isText)),
});

const isCopyState = oneOf('active', 'good', 'failed', 'held', 'unknown', 'cancelled');

const isRecall = shapeOf({
  why: oneOf('late', 'changes', 'overtaken', 'removed'),
  since: isTime,
  isStuck: isFlag,
  configuration: isTextOrNull,
  tries: orMissing(isCount),
  again: orMissing(isNumber),
});

/** A sentence whose values may be sentences, down to a depth that none of the pack's has. */
export const isSentence = (depth = 4): Shape =>
  shapeOf({
    pattern: isText,
    values: listOf((value) => isText(value) || isNumber(value) || (depth > 0 && isSentence(depth - 1)(value))),
  });

const isAttempt = shapeOf({
  copy: isPosition,
  attempt: isPosition,
  file: isCount,
  clusterId: isText,
  clusterName: isTextOrNull,
  printerId: isTextOrNull,
  clusterJobId: isTextOrNull,
  state: oneOf(
    ...['assigned', 'dispatched', 'printing', 'finished', 'rejected', 'failed', 'aborted', 'recalled', 'unknown'],
  ),
  assignedAt: isTime,
  hasLeft: orMissing(isFlag),
  dispatchedAt: isTimeOrNull,
  startedAt: isTimeOrNull,
  endedAt: isTimeOrNull,
  seconds: isNumberOrNull,
  cost: isNumberOrNull,
  reason: orMissing(orNull(isSentence())),
  told: listOf(isText),
  counts: isFlag,
  recall: orNull(isRecall),
  settledAs: orNull(oneOf('printed', 'not-printed')),
  begun: orMissing(mapOf(isCount)),
  dispatchedLived: orMissing(isNumber),
  startedLived: orMissing(isNumber),
});

/** A saved event of an item or of a queue. */
export const isDraft = shapeOf({
  id: isText,
  type: isText,
  at: isTime,
  print: orNull(shapeOf({ copy: isPosition, attempt: isPosition })),
  clusterId: isTextOrNull,
  clusterName: isTextOrNull,
});

const isItem = shapeOf({
  version: oneOf(1),
  itemId: isText,
  ...Object.fromEntries(['queueKey', 'orderId', 'owner', 'costCode', 'name'].map((name) => [name, isTextOrNull])),
  files: (value) => listOf(isFile)(value) && (value as unknown[]).length > 0,
  require: orNull(isRequire),
  priority: isNumber,
  rank: isRank,
  createdAt: isTime,
  createdLived: orMissing(isNumber),
  waitsSince: isTime,
  notBefore: isTimeOrNull,
  deadline: isTimeOrNull,
  ...Object.fromEntries(['isHeld', 'awaitsApproval', 'isRemoved', 'isOverdue'].map((name) => [name, isFlag])),
  copies: (value) => isPosition(value) && (value as number) <= COPIES,
  touched: mapOf(isCopyState),
  front: listOf(isPosition),
  prints: listOf(isAttempt),
  ends: isCount,
  endedAt: isTimeOrNull,
  blocked: shapeOf({ is: isFlag, count: isCount }),
  outbox: listOf(isDraft),
});
