import { phrase } from '../words/sentence';
import { waitingCopies } from './copies';
import type { PlanItem } from './plan-types';
import type { ItemRecord } from './queue-item';
import { printerKey } from './queue-printer';
import type { ItemReason, Reason } from './reasons';
import { requirementOf, type MaterialFinder } from './requirement-of';

/** The item as the plan sees it; `configurations`: present ones by `printerKey`. */
export function planItem(
  record: ItemRecord,
  configurations: ReadonlyMap<string, string>,
  find: MaterialFinder,
): PlanItem {
  const waiting = waitingCopies(record);
  const [first] = waiting;
  const isFront = first !== undefined && record.front.includes(first);
  const failed = record.prints.filter(
    ({ copy, state }) => copy === first && (state === 'failed' || state === 'rejected'),
  );
  return {
    itemId: record.itemId,
    priority: record.priority,
    rank: record.rank,
    createdAt: record.createdAt,
    deadline: record.deadline,
    notBefore: record.notBefore,
    files: record.files.map(({ facts, jobId, isGone }) => ({
      requirement: requirementOf(record.require, facts, find),
      seconds: facts?.seconds ?? null,
      isStored: jobId !== null && !isGone,
    })),
    waiting,
    isFront,
    avoid: new Set(failed.map(printerKey)),
    refused: refusedBy(record, configurations),
    obstacle: obstacleOf(record),
  };
}

/** Whether the service refused the item at some printer: its plan then depends on the printers' configurations. */
export const wasRefused = ({ prints }: ItemRecord): boolean => prints.some(({ recall }) => recall?.why === 'changes');

/** Printers at which the service asked for changes, as long as their configuration is the same. */
function refusedBy({ prints }: ItemRecord, configurations: ReadonlyMap<string, string>): Set<string> {
  const refused = prints.filter(
    (attempt) =>
      attempt.recall?.why === 'changes' && configurations.get(printerKey(attempt)) === attempt.recall.configuration,
  );
  return new Set(refused.map(printerKey));
}

/** The reason in the item itself for which nothing of it may start; null: it may. */
function obstacleOf({ awaitsApproval, isHeld, files }: ItemRecord): Reason<ItemReason> | null {
  if (awaitsApproval) return APPROVAL;
  if (isHeld) return HELD;
  if (files.every(({ isGone }) => isGone)) return GONE;
  return files.some(({ jobId, isGone }) => jobId !== null && !isGone) ? null : UPLOAD;
}

const APPROVAL = { code: 'APPROVAL', sentence: phrase`It waits for its release.` } as const;
const HELD = { code: 'HELD', sentence: phrase`It is held.` } as const;
const UPLOAD = { code: 'UPLOAD', sentence: phrase`Its file is not stored yet.` } as const;
const GONE = { code: 'UPLOAD', sentence: phrase`The service no longer has its file: add it anew.` } as const;
