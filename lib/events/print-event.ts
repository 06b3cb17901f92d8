import { flag, record, text } from '../service/json-readers';
import type { PrintJob } from '../service/print-job';

/** Kinds of a printing's end; `job.ended` if the kind is unknown (reference 3.3). */
export type EndType = 'job.finished' | 'job.failed' | 'job.aborted' | 'job.ended';

export type EventType =
  | EndType
  | 'job.queued'
  | 'job.started'
  | 'job.paused'
  | 'job.resumed'
  | 'job.attention'
  | 'job.stalled'
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

export function isPrintEvent(value: unknown): value is PrintEvent {
  const { id, type, at, late } = record(value) ?? {};
  return text(id) !== null && text(type) !== null && text(at) !== null && flag(late) !== null;
}

/** A change of a figure, which becomes an event for each subscriber with a threshold in it. */
export interface Step {
  /** Kind of threshold: milestones of progress, the rest of a material, the wait of a plate, a standstill. */
  of: 'milestones' | 'lowMaterial' | 'plateWait' | 'stalled';
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

interface Scene {
  clusterId: string;
  clusterName: string | null;
  at: string;
  late: boolean;
  count: number;
  /** Time of the first observation. */
  since: string;
}

type Details = Partial<Pick<PrintEvent, 'printerId' | 'printerName' | 'job' | 'previous' | 'value'>>;

/**
 * Collects the events of an observation and gives each its id. The id of an event that occurs only once consists of its
 * subject, so that every runtime and restart finds the same id. The id of a recurring event also contains observed
 * facts that identify this occurrence and that later observations still show, such as the print's elapsed time or the
 * time of a fault. The time of the observation stands in for them only if the service shows no such fact (a printer
 * goes online, a status changes). A counter from the checkpoint alone would restart with a lost checkpoint, and give
 * two events the same id.
 */
export class EventBuilder {
  readonly drafts: EventDraft[] = [];
  count: number;

  constructor(readonly scene: Scene) {
    this.count = scene.count;
  }

  /** Adds an event that occurs only once for its subject. */
  once(type: EventType, subject: string, details: Details): void {
    this.drafts.push({ event: makeEvent(this.scene, type, subject, details) });
  }

  /** Adds a recurring event of its subject; `when` identifies the occurrence if the service reports its time. */
  edge(type: EventType, subject: string, details: Details, when: string | null = null): void {
    const moment = when ?? `${Date.parse(this.scene.at).toString(36)}-${++this.count}`;
    this.once(type, [subject, moment].filter(Boolean).join('/'), details);
  }

  /**
   * Adds the time of the first observation to a subject whose events are counted in the checkpoint. It distinguishes
   * them from those of an earlier checkpoint that was lost.
   */
  counted(subject: string): string {
    return `${subject}/${Date.parse(this.scene.since).toString(36)}`;
  }

  /** Adds a step, which becomes an event for each subscriber with a threshold in it. */
  step(type: EventType, subject: string, step: Step, details: Details): void {
    this.drafts.push({ event: makeEvent(this.scene, type, subject, details), step });
  }
}

export function makeEvent(
  { clusterId, clusterName, at, late }: Omit<Scene, 'count' | 'since'>,
  type: EventType,
  subject: string,
  details: Details,
): PrintEvent {
  return {
    id: `${clusterId}/${type}/${subject}`,
    type,
    at,
    late,
    clusterId,
    clusterName,
    printerId: null,
    printerName: null,
    job: null,
    previous: null,
    value: null,
    ...details,
  };
}

export const ofJob = (job: PrintJob): Details => ({ printerId: job.printerId, printerName: job.printerName, job });
