import { newerValue } from '../../service/errors';
import { type Json, list, record } from '../../service/json-readers';
import { NEW_QUEUE, type PauseState, type QueueRecord, type StoredRefusals } from '../model/queue-record';
import type { QueueEventDraft } from '../model/types';
import { isDraft, isSentence } from './stored-items';
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
} from '../../service/shapes';

/**
 * Reads the stored state of a queue. Each member counts for itself: one of another shape is as in a new queue, except that
 * a pause of another shape is still one, until a person resumes. Throws FILE_NOT_READABLE for a state of a newer version.
 */
export function readQueue(value: unknown): QueueRecord {
  if (isNewerThan(1, value)) throw newerValue('queue-state');
  if (isQueue(value)) return value as QueueRecord;
  const {
    paused,
    pausedPrinters,
    plates,
    orders,
    reports,
    isBusy,
    idles,
    oldBefore,
    outbox,
    lived,
    refusals,
    materials,
  } = record(value) ?? {};
  return {
    version: 1,
    paused: pauseOf(paused ?? null),
    pausedPrinters: Object.fromEntries(
      Object.entries(record(pausedPrinters) ?? {}).flatMap(([key, pause]) => {
        const read = pauseOf(pause);
        return read ? [[key, read]] : [];
      }),
    ),
    plates: withShape(plates, isPlate) as QueueRecord['plates'],
    orders: withShape(orders, isOrder) as QueueRecord['orders'],
    ...(isCount(reports) && { reports: reports as number }),
    isBusy: isBusy === true,
    idles: isCount(idles) ? (idles as number) : NEW_QUEUE.idles,
    oldBefore: isTime(oldBefore) ? (oldBefore as number) : NEW_QUEUE.oldBefore,
    ...(isNumber(lived) && { lived: lived as number }),
    ...(isRefusals(refusals) && { refusals: refusals as StoredRefusals }),
    ...(isMaterials(materials) && { materials: materials as NonNullable<QueueRecord['materials']> }),
    outbox: list(outbox).filter(isDraft) as QueueEventDraft[],
  };
}

const isPause = shapeOf({ until: orNull(isTime), reason: orNull(isText) });
const isPlate = shapeOf({ closing: isCount, isAwaiting: isFlag, count: orMissing(isCount) });
const isOrder = shapeOf({ ends: isCount, reports: isCount });

const STORED_PAUSE = {
  until: isNumber,
  code: isText,
  sentence: isSentence(),
  clusterId: isText,
};
const isRefusals = shapeOf({
  printers: listOf(shapeOf(STORED_PAUSE)),
  items: listOf(shapeOf({ ...STORED_PAUSE, itemId: isText, count: isCount })),
  rows: listOf(shapeOf({ clusterId: isText, code: isText, items: listOf(isText), pauses: isCount })),
});

const isMaterials = shapeOf({ short: listOf(isText), reports: isCount });

/** A pause whose end can't be read has none. */
function pauseOf(value: unknown): PauseState | null {
  if (value === null) return null;
  if (isPause(value)) return value as PauseState;
  const { reason } = record(value) ?? {};
  return { until: null, reason: isText(reason) ? reason : null };
}

/** The members of a map that have a shape. */
const withShape = (value: unknown, shape: Shape): Json =>
  Object.fromEntries(Object.entries(record(value) ?? {}).filter(([, member]) => shape(member)));

const isQueue = shapeOf({
  version: oneOf(1),
  paused: orNull(isPause),
  pausedPrinters: mapOf(isPause),
  plates: mapOf(isPlate),
  orders: mapOf(isOrder),
  reports: orMissing(isCount),
  isBusy: isFlag,
  idles: isCount,
  oldBefore: isTime,
  lived: orMissing(isNumber),
  refusals: orMissing(isRefusals),
  materials: orMissing(isMaterials),
  outbox: listOf(isDraft),
});
