import type { ClusterStatus } from '../../service/cluster';
import { PackedTexts } from '../checkpoints/packed-texts';

/** Detects for one watch whether a status has changed since the last one sent (reference 3.1, `send`). */
export class ChangeFilter {
  readonly #sent = new Map<string, PackedTexts>();

  /** Returns whether the status has changed; records it as sent if so. */
  isChange(status: ClusterStatus): boolean {
    const before = this.#sent.get(status.clusterId);
    if (before && !changed(JSON.parse(before.stable), status)) return false;
    this.recordSent(status);
    return true;
  }

  /** Records a status that was sent in any case. */
  recordSent(status: ClusterStatus): void {
    const texts = this.#sent.get(status.clusterId) ?? new PackedTexts();
    texts.set(JSON.stringify(status), '');
    this.#sent.set(status.clusterId, texts);
  }
}

/** Properties that change all the time, so their change alone is no change (reference 3.1, `send`). */
const FLEETING = new Set(['timeElapsed', 'timeTotal', 'timeRemaining', 'temperature', 'generatedAt', 'receivedAt']);

/** Whether two plain values differ in more than times, temperatures and less than a whole percent of progress. */
export function changed(before: unknown, now: unknown): boolean {
  if (!isObject(before) || !isObject(now)) return !Object.is(before, now);
  if (Array.isArray(before) !== Array.isArray(now)) return true;
  if (Array.isArray(before) && before.length !== (now as unknown as unknown[]).length) return true;
  return [...new Set([...Object.keys(before), ...Object.keys(now)])].some((key) => {
    if (FLEETING.has(key)) return false;
    const [a, b] = [before[key], now[key]];
    if (key === 'progress' && typeof a === 'number' && typeof b === 'number') return Math.abs(a - b) >= 1;
    return changed(a, b);
  });
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
