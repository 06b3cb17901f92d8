import type { PrintJob } from '../service/print-job';
import { flag, record, text } from '../service/json-readers';

/** Kinds of a printing's end; `job.ended` if the kind is unknown (reference 3.3). */
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
  /** Unique, and stable if the same event is produced twice. */
  id: string;
  type: EventType;
  /** Time of the service's answer that shows it. */
  at: string;
  /** Whether it occurred while no runtime watched, and was found from the stored checkpoint. */
  late: boolean;
  clusterId: string;
  clusterName: string | null;
  printerId: string | null;
  printerName: string | null;
  job: PrintJob | null;
  previous: unknown;
  /** A milestone, a printer's status, a fault, a firmware version or a cluster id, depending on the type. */
  value: unknown;
}

/** Whether a value is the payload of an event. */
export function isPrintEvent(value: unknown): value is PrintEvent {
  const { id, type, at, late } = record(value) ?? {};
  return text(id) !== null && text(type) !== null && text(at) !== null && flag(late) !== null;
}

/**
 * An event, or a step of progress that becomes an event for subscribers with a milestone in it. The `event` of a step
 * lacks the milestone in its value and id.
 */
export type EventDraft =
  | { event: PrintEvent; step?: undefined }
  | { event: PrintEvent; step: { from: number; to: number } };
