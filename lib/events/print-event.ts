import type { PrintJob } from '../service/print-job';
import { flag, record, text } from '../service/json-readers';

/** How a printing can end: `job.ended` where nothing says how (reference 3.3). */
export type EndType = 'job.finished' | 'job.failed' | 'job.aborted' | 'job.ended';

export type EventType =
  | EndType
  | 'job.queued'
  | 'job.started'
  | 'job.paused'
  | 'job.resumed'
  | 'job.attention'
  | 'job.progress'
  | 'printer.online'
  | 'printer.offline'
  | 'printer.status'
  | 'printer.fault'
  | 'firmware.available'
  | 'cluster.added'
  | 'cluster.removed'
  | 'cluster.rebound';

/** The payload of an event (reference 3.3). */
export interface PrintEvent {
  /** The same if one event is ever produced twice, never the same for two. */
  id: string;
  type: EventType;
  /** When the service's answer that shows it was made. */
  at: string;
  /** Happened while nobody watched, and found from the stored checkpoint. */
  late: boolean;
  clusterId: string;
  clusterName: string | null;
  printerId: string | null;
  printerName: string | null;
  job: PrintJob | null;
  previous: unknown;
  /** A milestone, a printer's status, a fault, a firmware version or a cluster id, by type. */
  value: unknown;
}

/** Whether something is the payload of an event. */
export function isPrintEvent(value: unknown): value is PrintEvent {
  const { id, type, at, late } = record(value) ?? {};
  return text(id) !== null && text(type) !== null && text(at) !== null && flag(late) !== null;
}

/**
 * What an observation brought: an event, or a step of progress that becomes one for those whose milestone lies in it.
 * `event` of a step lacks the milestone in its value and id.
 */
export type EventDraft =
  { event: PrintEvent; step?: undefined } | { event: PrintEvent; step: { from: number; to: number } };
