import { TEXT } from '../rules/limits';
import type { Turns } from '../time/concurrency';
import type { BoardItem, PastPrint } from './shapes';

/** Prints of a page of the history. */
export const PAGE = 50;

/** Members of an item that its past prints show. */
type PastItem<Words> = Pick<BoardItem<Words>, 'itemId' | 'name' | 'orderId' | 'owner' | 'prints'>;

/**
 * The prints that have ended of all items, the newest first. A farm has some hundred thousand of them in 90 days, so they are
 * sorted hour by hour, and the event loop turns meanwhile.
 */
export class PastPrints<Words> {
  readonly #byHour = new Map<string, PastPrint<Words>[]>();

  constructor(private readonly turns: Turns) {}

  async add({ itemId, name, orderId, owner, prints }: PastItem<Words>): Promise<void> {
    for (const { copy, attempt, endedAt, clusterName: printer, state: result, reason, ...print } of prints) {
      if (endedAt === null) continue;
      await this.turns.next();
      const { startedAt, seconds, cost, goodParts = null, used } = print;
      const ids = { id: `${itemId} ${copy} ${attempt}`, itemId, item: name, orderId, owner, copy, attempt };
      const figures = { startedAt, endedAt, seconds, weight: weightOf(used), cost, goodParts };
      const hour = endedAt.slice(0, HOUR);
      const here = this.#byHour.get(hour) ?? [];
      this.#byHour.set(hour, here);
      here.push({ ...ids, printer, result, reason, ...figures });
    }
  }

  async sorted(): Promise<PastPrint<Words>[]> {
    const all: PastPrint<Words>[] = [];
    for (const hour of [...this.#byHour.keys()].sort().reverse()) {
      await this.turns.next();
      for (const print of (this.#byHour.get(hour) ?? []).sort(newestFirst)) all.push(print);
    }
    return all;
  }
}

/** Characters of a time up to its hour. */
const HOUR = '2026-01-01T00'.length;

const newestFirst = ({ endedAt: one }: PastPrint<unknown>, { endedAt: other }: PastPrint<unknown>): number =>
  one < other ? 1 : one > other ? -1 : 0;

/** Null where a part is unknown. */
function weightOf(used: readonly { weight: number | null }[] | undefined): number | null {
  if (!used || used.length === 0) return null;
  return used.reduce<number | null>((sum, { weight }) => (sum === null || weight === null ? null : sum + weight), 0);
}

const COLUMNS = [
  ...['endedAt', 'printer', 'item', 'orderId', 'owner', 'copy', 'attempt', 'result', 'reason'],
  ...['startedAt', 'seconds', 'weight', 'cost', 'goodParts'],
] as const;

/** RFC 4180, with a byte order mark, without which a table program reads UTF-8 as another encoding. `show`: of a reason. */
export async function csvOf<Words>(
  prints: readonly PastPrint<Words>[],
  show: (reason: Words) => string,
  turns: Turns,
): Promise<string> {
  const lines = [COLUMNS.join(',')];
  for (const print of prints) {
    await turns.next();
    lines.push(lineOf(print, show));
  }
  return `\ufeff${lines.join('\r\n')}\r\n`;
}

export function lineOf<Words>({ reason, ...print }: PastPrint<Words>, show: (reason: Words) => string): string {
  const shown: Partial<Record<string, unknown>> = { ...print, reason: reason && show(reason) };
  return COLUMNS.map((name) => cell(shown[name])).join(',');
}

/** A table program runs a cell that begins so, also after blanks; the apostrophe makes it text. */
const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, TEXT.matched);
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n;\t]/.test(safe) || safe !== text ? `"${safe.replaceAll('"', '""')}"` : safe;
}
