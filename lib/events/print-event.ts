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
  | 'maintenance.due'
  | 'material.changed'
  | 'material.low'
  | 'printcore.changed'
  | 'plate.awaiting'
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
  /** Depends on the type: a milestone, a printer's status, a fault, a firmware version, a material, a cluster id … */
  value: unknown;
}

/** Whether a value is the payload of an event. */
export function isPrintEvent(value: unknown): value is PrintEvent {
  const { id, type, at, late } = record(value) ?? {};
  return text(id) !== null && text(type) !== null && text(at) !== null && flag(late) !== null;
}

/** A change of a figure, which becomes an event for each subscriber with a threshold in it. */
export interface Step {
  /** Kind of threshold: milestones of progress, the rest of a material, the wait of a plate. */
  of: 'milestones' | 'lowMaterial' | 'plateWait';
  from: number;
  to: number;
}

/**
 * An event, or a step that becomes an event for subscribers with a threshold in it. The `event` of a step lacks the
 * threshold in its value and id.
 */
export interface EventDraft {
  event: PrintEvent;
  step?: Step;
}
