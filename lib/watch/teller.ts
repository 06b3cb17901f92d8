import type { PrintJob } from '../service/print-job';
import type { EventType, Happening, PrintEvent } from './events';

interface Scene {
  clusterId: string;
  clusterName: string | null;
  at: string;
  late: boolean;
  epoch: string;
  count: number;
}

type Details = Partial<Pick<PrintEvent, 'printerId' | 'printerName' | 'job' | 'previous' | 'value'>>;

/** Collects what an observation brings and gives every event its id. */
export class Teller {
  readonly happenings: Happening[] = [];
  count: number;

  constructor(readonly scene: Scene) {
    this.count = scene.count;
  }

  /** An event that can come only once for its subject. */
  once(type: EventType, subject: string, details: Details): void {
    this.happenings.push({ event: makeEvent(this.scene, type, subject, details) });
  }

  /** An event that can come again for its subject. */
  edge(type: EventType, subject: string, details: Details): void {
    this.once(type, [subject, `${this.scene.epoch}-${++this.count}`].filter(Boolean).join('/'), details);
  }

  step(subject: string, from: number, to: number, job: PrintJob): void {
    this.happenings.push({ event: makeEvent(this.scene, 'job.progress', subject, ofJob(job)), step: { from, to } });
  }
}

export function makeEvent(
  { clusterId, clusterName, at, late }: Omit<Scene, 'epoch' | 'count'>,
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
