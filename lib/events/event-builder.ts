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

  /** Adds progress, which becomes an event for each subscriber with a milestone in the step. */
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
