import type { PrintJob } from '../service/print-job';
import type { EventDraft, EventType, PrintEvent } from './print-event';

interface Scene {
  clusterId: string;
  clusterName: string | null;
  at: string;
  late: boolean;
  count: number;
}

type Details = Partial<Pick<PrintEvent, 'printerId' | 'printerName' | 'job' | 'previous' | 'value'>>;

/**
 * Collects the events of an observation and gives each its id. What can come once only is named by its subject alone, so
 * that it bears the same id whenever it is found. What can come again bears what tells this time from others as well:
 * the print's own time, or the time of a fault, which a later observation shows too; else the time of this observation.
 * A number from the checkpoint alone would fall back with it, and stand for two events.
 */
export class EventBuilder {
  readonly drafts: EventDraft[] = [];
  count: number;

  constructor(readonly scene: Scene) {
    this.count = scene.count;
  }

  /** An event that can come only once for its subject. */
  once(type: EventType, subject: string, details: Details): void {
    this.drafts.push({ event: makeEvent(this.scene, type, subject, details) });
  }

  /** An event that can come again for its subject; `when` tells one from the other where the service says. */
  edge(type: EventType, subject: string, details: Details, when: string | number | null = null): void {
    const moment = when ?? Date.parse(this.scene.at).toString(36);
    this.once(type, [subject, `${moment}-${++this.count}`].filter(Boolean).join('/'), details);
  }

  /** Progress, which is an event for those alone whose milestone lies in it. */
  step(subject: string, from: number, to: number, job: PrintJob): void {
    this.drafts.push({ event: makeEvent(this.scene, 'job.progress', subject, ofJob(job)), step: { from, to } });
  }
}

export function makeEvent(
  { clusterId, clusterName, at, late }: Omit<Scene, 'count'>,
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
