import type { ClusterStatus } from '../../service/cluster';
import type { PrintJob } from '../../service/print-job';
import type { Printer } from '../../service/printer';

/** The figures of a job: progress, time elapsed, total time, time remaining. */
export type JobFigures = ReturnType<typeof figuresOfJob>;
type PrinterFigures = ReturnType<typeof figuresOfPrinter>;

/**
 * The figures of a status, which change by themselves while nothing happens. A fingerprint names everything else of it
 * (`fingerprint`), so that equal fingerprints mean that two statuses differ in these at most.
 */
export interface Figures {
  generatedAt: string | null;
  receivedAt: string;
  printers: PrinterFigures[];
  jobs: JobFigures[];
}

export const figuresOf = ({ generatedAt, receivedAt, printers, jobs }: ClusterStatus): Figures => ({
  generatedAt,
  receivedAt,
  printers: printers.map(figuresOfPrinter),
  jobs: jobs.map(figuresOfJob),
});

/** The figures of the jobs of a status, in their order. */
export const jobFiguresOf = ({ jobs }: Pick<ClusterStatus, 'jobs'>): JobFigures[] => jobs.map(figuresOfJob);

/** The status with other figures, each at the place that it had. */
export function withFigures(
  status: ClusterStatus,
  { generatedAt, receivedAt, printers, jobs }: Figures,
): ClusterStatus {
  const current = status.current && status.jobs.indexOf(status.current);
  const renewed = status.jobs.map((job, at) => withJobFigures(job, jobs[at]));
  return {
    ...status,
    generatedAt,
    receivedAt,
    printers: status.printers.map((printer, at) => withPrinterFigures(printer, printers[at])),
    jobs: renewed,
    current: current === null ? null : (renewed[current] ?? null),
  };
}

const figuresOfJob = ({ progress, timeElapsed, timeTotal, timeRemaining }: PrintJob) =>
  [progress, timeElapsed, timeTotal, timeRemaining] as const;

function withJobFigures(job: PrintJob, figures: JobFigures | undefined): PrintJob {
  if (!figures) return job;
  const [progress, timeElapsed, timeTotal, timeRemaining] = figures;
  return { ...job, progress, timeElapsed, timeTotal, timeRemaining };
}

const figuresOfPrinter = ({ extruders, slots, buildPlate, chamber, airFilter }: Printer) =>
  [
    extruders.map(({ temperature, volumeLeft }) => [temperature, volumeLeft] as const),
    slots.map(({ remaining }) => remaining),
    [buildPlate?.temperature ?? null, chamber?.temperature ?? null, airFilter?.age ?? null],
  ] as const;

function withPrinterFigures(printer: Printer, figures: PrinterFigures | undefined): Printer {
  if (!figures) return printer;
  const [extruders, slots, [plate, chamber, age]] = figures;
  return {
    ...printer,
    extruders: printer.extruders.map((extruder, at) => {
      const [temperature = null, volumeLeft = null] = extruders[at] ?? [];
      return { ...extruder, temperature, volumeLeft };
    }),
    slots: printer.slots.map((slot, at) => ({ ...slot, remaining: slots[at] ?? null })),
    buildPlate: printer.buildPlate && { ...printer.buildPlate, temperature: plate },
    chamber: printer.chamber && { temperature: chamber },
    airFilter: printer.airFilter && { ...printer.airFilter, age },
  };
}
