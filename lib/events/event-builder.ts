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
 * Collects the events of an observation and gives each its id. An event that can come only once is named by its subject
 * alone, so that it bears the same id whenever it is found. An event that can come again also bears observed facts that
 * set this occurrence apart and that a later observation still shows: the print's own time, the time of a fault. Only
 * where the service shows no such fact (a printer goes online, a status word changes) the time of the observation stands
 * in for it. A number from the checkpoint alone would fall back with a lost checkpoint, and stand for two events.
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

  /** An event that can come again for its subject; `when` sets one apart from the other where the service says. */
  edge(type: EventType, subject: string, details: Details, when: string | null = null): void {
    const moment = when ?? `${Date.parse(this.scene.at).toString(36)}-${++this.count}`;
    this.once(type, [subject, moment].filter(Boolean).join('/'), details);
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
