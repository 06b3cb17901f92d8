import { reported } from './connection';
import type { Moment } from './moment';
import type { Cluster, EndedPrint, Report } from './state';

/** One line of a report. */
export interface ReportLine {
  cluster: Cluster;
  print: EndedPrint;
}

/**
 * Returns the print jobs that overlap the report's range, in order of their ends (wire facts 10); or the requested
 * number of invented lines.
 */
export function reportLines(report: Report, clusters: Cluster[], moment: Moment): Iterable<ReportLine> {
  const wanted = clusters.filter(({ clusterId }) => report.clusterIds.includes(clusterId));
  const { rows } = report.made;
  if (rows !== undefined) return inventedLines(report, wanted, rows);
  const to = Math.min(report.to, report.endsAt ?? report.to);
  return wanted
    .flatMap((cluster) => reported(cluster, moment).log.map((print) => ({ cluster, print })))
    .filter(({ print }) => print.endedAt >= report.from && (print.startedAt ?? print.createdAt) <= to)
    .sort((a, b) => a.print.endedAt - b.print.endedAt);
}

const NAMES = ['bracket.gcode', 'gear 24T.ufp', 'lamp shade.gcode.gz', 'hinge.gcode', 'vase.gcode'];
const STATUSES = ['finished', 'finished', 'finished', 'aborted', 'failed'] as const;

/** Generates lines, spread evenly over the range and reproducible; one at a time, to save memory. */
function* inventedLines(report: Report, clusters: Cluster[], count: number): Generator<ReportLine> {
  const step = (report.to - report.from) / count;
  for (let index = 0; index < count; index++) {
    const cluster = clusters[index % clusters.length];
    if (!cluster) return;
    const endedAt = Math.floor(report.from + index * step);
    const timeTotal = 600 + ((index * 7919) % 36_000);
    const status = STATUSES[index % STATUSES.length]!;
    const timeElapsed = status === 'finished' ? timeTotal : Math.floor(timeTotal / 3);
    const startedAt = endedAt - 1000 * (timeElapsed + 60);
    const print: EndedPrint = {
      uuid: `${index.toString(16).padStart(8, '0')}-0000-4000-a000-000000000000`,
      jobId: null,
      name: NAMES[index % NAMES.length]!,
      status,
      printerUuid: cluster.printers[0]!.uuid,
      user: index % 3 === 0 ? null : 'Mona Maker',
      sentFrom: index % 3 === 0 ? 'usb' : 'cloud',
      materials: ['Generic PLA Silver', null],
      createdAt: startedAt - 120_000,
      startedAt,
      endedAt,
      timeTotal,
      timeElapsed,
    };
    yield { cluster, print };
  }
}
