import { hasEnded, itemStateOf } from './copies';
import type { QueueEventDraft, QueueEventType } from './queue-events';
import type { Attempt, ItemRecord } from './queue-item';

/** The queue and the time of a change. */
export interface ChangeContext {
  queueId: string;
  /** ms since 1970. */
  now: number;
}

/** Id of an event: two runtimes that report the same fact use the same id. */
export const eventId = (queueId: string, type: QueueEventType, ...subject: (string | number | null)[]): string =>
  [queueId, type, ...subject].join('/');

/** Adds an event of the item. `occurrence` distinguishes events of one type; missing: it happens once per item. */
export function withItemEvent(
  record: ItemRecord,
  { queueId, now }: ChangeContext,
  type: QueueEventType,
  { occurrence, value = null }: { occurrence?: number; value?: unknown } = {},
): ItemRecord {
  const id = eventId(queueId, type, record.itemId, ...(occurrence === undefined ? [] : [occurrence]));
  return queued(record, { id, type, at: now, print: null, clusterId: null, clusterName: null, value });
}

/** Adds an event of an attempt, unless it has caused one of that type. `at`: when it happened, if that is known. */
export function withPrintEvent(
  record: ItemRecord,
  { queueId, now }: ChangeContext,
  type: QueueEventType,
  of: Pick<Attempt, 'copy' | 'attempt'>,
  at: number = now,
): ItemRecord {
  const found = record.prints.find(({ copy, attempt }) => copy === of.copy && attempt === of.attempt);
  if (!found || found.told.includes(type)) return record;
  const { copy, attempt, clusterId, clusterName } = found;
  const prints = record.prints.map((other) => (other === found ? { ...found, told: [...found.told, type] } : other));
  const id = eventId(queueId, type, record.itemId, copy, attempt);
  return queued({ ...record, prints }, { id, type, at, print: { copy, attempt }, clusterId, clusterName, value: null });
}

/** Adds the consequence of the item's copies: its end, or its reopening. */
export function concluded(record: ItemRecord, context: ChangeContext): ItemRecord {
  const ended = hasEnded(record);
  if (ended === (record.endedAt !== null)) return record;
  if (!ended) {
    const reopened: ItemRecord = { ...record, endedAt: null, isRemoved: false };
    return withItemEvent(reopened, context, 'item.reopened', { occurrence: record.ends });
  }
  const after: ItemRecord = { ...record, endedAt: context.now, ends: record.ends + 1 };
  const state = itemStateOf(after);
  const type = state === 'cancelled' ? 'item.cancelled' : state === 'failed' ? 'item.failed' : 'item.finished';
  return withItemEvent(after, context, type, { occurrence: after.ends });
}

/** The record without delivered events. */
export function withoutEvents(record: ItemRecord, ids: ReadonlySet<string>): ItemRecord {
  const outbox = record.outbox.filter(({ id }) => !ids.has(id));
  return outbox.length === record.outbox.length ? record : { ...record, outbox };
}

const queued = (record: ItemRecord, draft: QueueEventDraft): ItemRecord => ({
  ...record,
  outbox: [...record.outbox, draft],
});
