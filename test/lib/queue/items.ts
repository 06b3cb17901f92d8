import { newItem, type NewItem } from '../../../lib/queue/item-changes';
import type { ItemChanges } from '../../../lib/queue/queue-api';
import type { ItemRecord } from '../../../lib/queue/queue-item';
import type { QueueRules } from '../../../lib/queue/queue-rules';

export const NOW = Date.parse('2026-01-01T00:00:00.000Z');

export const RULES: QueueRules = {
  printers: [],
  tags: new Map(),
  sort: 'priority',
  choose: 'least-recently-used',
  match: 'lenient',
  material: 'any',
  gate: 'automatic',
  retries: 0,
  startWithin: 900_000,
  stagger: 0,
  maxPrinting: 0,
  hours: { text: '', ranges: [] },
  staffed: { text: '', ranges: [] },
  turnaround: 600_000,
  approval: false,
  prices: { currency: null, hour: null, kilogram: {} },
  keepFor: 90 * 24 * 3_600_000,
};

export const CONTEXT = { queueId: 'queue', now: NOW, rules: RULES };

export const PRINT = { file: 0, clusterId: 'C1', clusterName: 'Printer 1', printerId: null };

export const FILE = { jobId: 'job', filename: 'part.gcode', size: 1000, facts: null, isGone: false };

/** A new item with an empty outbox. */
export function item(changes: ItemChanges = {}, given: Partial<NewItem> = {}): ItemRecord {
  const about = { itemId: 'item', queueKey: null, name: 'part.gcode', files: [FILE], rank: 'm', awaitsApproval: false };
  return { ...newItem({ ...about, ...given, changes }, CONTEXT), outbox: [] };
}

/** Types of the item's undelivered events. */
export const typesOf = ({ outbox }: ItemRecord): string[] => outbox.map(({ type }) => type);
