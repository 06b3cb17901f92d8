import type { PlateGate } from '../../../lib/queue/model/gate';
import { newItem, type NewItem } from '../../../lib/queue/model/item-changes';
import type { ItemChanges, ItemRecord } from '../../../lib/queue/model/types';
import { readRules } from '../../../lib/queue/model/rules';

export const NOW = Date.parse('2026-01-01T00:00:00.000Z');

export const RULES = readRules({ match: 'lenient', material: 'any', gate: 'automatic' });

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

/** The gate of a printer on which nothing has ended. */
export const GATE: PlateGate = {
  version: 1,
  clusterId: 'C1',
  printerId: null,
  clusterName: 'Printer 1',
  hostGuid: null,
  closings: 0,
  printing: null,
  ended: null,
  hasShownCleanup: false,
  known: [],
  verdicts: [],
};
