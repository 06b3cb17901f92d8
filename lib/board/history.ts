import { TEXT } from '../rules/limits';
import type { BoardItem, PastPrint } from './shapes';

/** Prints of a page of the history. */
export const PAGE = 50;

/** The prints of all items that have ended, the newest first. */
export function historyOf<Words>(items: readonly BoardItem<Words>[]): PastPrint<Words>[] {
  const past = items.flatMap(({ itemId, name, orderId, owner, prints }) =>
    prints.flatMap((print): PastPrint<Words>[] => {
      const { copy, attempt, endedAt, clusterName: printer, state: result, reason } = print;
      if (endedAt === null) return [];
      const { startedAt, seconds, cost, goodParts = null, used } = print;
      const ids = { id: `${itemId} ${copy} ${attempt}`, itemId, item: name, orderId, owner, copy, attempt };
      return [
        { ...ids, printer, result, reason, startedAt, endedAt, seconds, weight: weightOf(used), cost, goodParts },
      ];
    }),
  );
  return past.sort((one, other) => (one.endedAt < other.endedAt ? 1 : one.endedAt > other.endedAt ? -1 : 0));
}

/** Null where a part is unknown. */
function weightOf(used: readonly { weight: number | null }[] | undefined): number | null {
  if (!used || used.length === 0) return null;
  return used.reduce<number | null>((sum, { weight }) => (sum === null || weight === null ? null : sum + weight), 0);
}

const COLUMNS = [
  ...['endedAt', 'printer', 'item', 'orderId', 'owner', 'copy', 'attempt', 'result', 'reason'],
  ...['startedAt', 'seconds', 'weight', 'cost', 'goodParts'],
] as const;

/** RFC 4180, with a byte order mark, without which a table program reads UTF-8 as another encoding. */
export function csvOf(prints: readonly PastPrint<unknown>[]): string {
  const rows = prints.map((print) => COLUMNS.map((name) => cell(print[name as keyof PastPrint<unknown>])));
  return `\ufeff${[COLUMNS, ...rows].map((row) => row.join(',')).join('\r\n')}\r\n`;
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
