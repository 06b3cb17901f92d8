import { basename } from 'node:path';
import type { Format } from './outputs';
import type { Report } from './reports';

/** A report as the nodes that send mail attach it (`msg.attachments`). */
type Attachment = { filename: string; content: string } | { filename: string; path: string };

/** Returns the attachment of a report's payload; null for rows, which are no file. */
export function attachmentOf(
  format: Format,
  payload: unknown,
  { from, to }: Pick<Report, 'from' | 'to'>,
): Attachment | null {
  if (typeof payload !== 'string') return null;
  if (format === 'file') return { filename: basename(payload), path: payload };
  // The range excludes its end, which may be midnight.
  return { filename: `report-${dayOf(Date.parse(from))}-${dayOf(Date.parse(to) - 1)}.csv`, content: payload };
}

/** The day of a time in the runtime's time zone, as YYYYMMDD. */
function dayOf(time: number): string {
  const date = new Date(time);
  const [month, day] = [date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, '0'));
  return `${date.getFullYear()}${month}${day}`;
}
