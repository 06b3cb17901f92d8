import { iso } from '../world/clock';
import { reported } from '../world/connection';
import type { Moment } from '../world/moment';
import { NIL_UUID } from '../world/ids';
import { isAt } from '../world/job-stages';
import { neededVolume } from '../world/spools';
import { changesFor, misfit, wantedPrinter } from '../world/matching';
import type { Cluster, Extruder, Printer, PrintJob, StatusMessage } from '../world/state';
import { elapsed, hasBegun, isActive, isReady, PHASE_SECONDS } from '../world/virtual-printer';

type Wire = Record<string, unknown>;

/** Record of an extruder of this printer (wire facts 6.2). */
export function extruderRecord(printer: Printer, extruder: Extruder, index: number): Wire {
  return {
    extruder_index: index,
    ...(extruder.printCore === null ? {} : { print_core_id: extruder.printCore }),
    material: extruder.material ?? emptyBay(printer),
  };
}

/** Record of an empty bay, in the form of printers with a station, or of the others (wire facts 6.2). */
export const emptyBay = ({ slots }: Printer): Wire =>
  slots ? { guid: NIL_UUID, brand: 'empty', material: 'empty', color: 'empty' } : { material: 'empty' };

/** Returns the signed address of the picture of a job's file; `undefined` without one. */
export type PreviewUrl = (job: PrintJob) => string | undefined;

/** Record of a job that a cluster reported (wire facts 8). */
export function printJobRecord(cluster: Cluster, job: PrintJob, moment: Moment, previewUrl?: PreviewUrl): Wire {
  const { at, queue } = reported(cluster, moment);
  const preview = previewUrl?.(job);
  const printer = cluster.printers.find(({ uuid }) => uuid === job.printerUuid);
  const candidate = printer ?? cluster.printers[0]!;
  const wanted = wantedPrinter(cluster, candidate, job);
  return {
    uuid: job.uuid,
    cloud_job_id: job.jobId ?? '',
    cluster_id: cluster.clusterId,
    name: job.name,
    status: job.status,
    state: stateOf(job),
    ...(job.detail === undefined ? {} : { status_detail: job.detail }),
    ...(job.message === null ? {} : { status_message: messageRecord(job.message) }),
    started: job.printed > 0 || hasBegun(job),
    time_total: job.timeTotal,
    time_elapsed: Math.floor(elapsed(job, at)),
    time_remaining: Math.ceil(remaining({ ...cluster, queue }, job, at)),
    created_at: iso(job.createdAt),
    ...(job.deletedAt === null ? {} : { deleted_at: iso(job.deletedAt) }),
    ...(job.owner === null ? {} : { owner: job.owner.name, owner_id: job.owner.userId, owner_deleted: false }),
    ...assigned(cluster, job),
    ...(printer && isActive(job) ? { printer_name: printer.name, printer_uuid: printer.uuid } : {}),
    ...(printer && !isActive(job) ? { printed_on_uuid: printer.uuid } : {}),
    sent_from: job.sentFrom,
    force: job.force,
    machine_variant: wanted.machine,
    compatible_machine_families: [wanted.machine],
    configuration: wanted.extruders.flatMap((extruder, index) => {
      const volume = neededVolume(job, index);
      return volume > 0 ? [{ ...extruderRecord(candidate, extruder, index), estimated_material_volume: volume }] : [];
    }),
    build_plate: { type: wanted.buildPlate },
    configuration_changes_required: job.changes,
    impediments_to_printing: [
      ...(job.status === 'error' ? [misfit(cluster, job)] : []),
      ...job.changes.map((change) => ({
        translation_key: change.type_of_change,
        severity: change.is_overridable ? '1' : '2',
      })),
      ...(job.impediments ?? []),
    ],
    constraints: {},
    is_online: cluster.online,
    last_seen: 0.5 + (moment.at - at) / 1000,
    network_error_count: 0,
    ...(preview === undefined ? {} : { preview_url: preview }),
    ...(job.note ? { note: job.note } : {}),
  };
}

const messageRecord = ({ body, userId, username, at }: StatusMessage): Wire => ({
  body,
  user_id: userId,
  username,
  generated_time: iso(at),
});

/** The printer that has a job or had it, or that a waiting one is for. */
export function printerOf(cluster: Cluster, job: PrintJob): Printer | undefined {
  if (job.status !== 'queued') return cluster.printers.find(({ uuid }) => uuid === job.printerUuid);
  const [fewest] = cluster.printers
    .filter(({ enabled }) => enabled)
    .map((candidate) => ({ candidate, changes: changesFor(cluster, candidate, job).length }))
    .sort((one, other) => one.changes - other.changes);
  return fewest?.candidate;
}

/** The member of a group that has a job, or that a waiting one is for. */
function assigned(cluster: Cluster, job: PrintJob): Wire {
  if (cluster.printers.length === 1 || !(isActive(job) || job.status === 'queued')) return {};
  const printer = printerOf(cluster, job);
  return printer ? { assigned_to: printer.name } : {};
}

/** State of a job, which is coarser than its status (wire facts 12.3). */
export function stateOf(job: PrintJob): string {
  if (job.deletedAt !== null) return 'deleted';
  if (job.status === 'wait_approval') return 'wait_approval';
  if (job.status === 'queued' || job.status === 'error') return 'waiting';
  if (job.status === 'sent_to_printer') return 'sending';
  return isActive(job) ? 'in_progress' : 'history';
}

/** Seconds that the job itself still needs. */
export function queuedSeconds(job: PrintJob, at: number): number {
  if (!isAt(job, 'waiting', 'sent', 'printing')) return 0;
  const heating = job.status === 'printing' || job.printed > 0 ? 0 : PHASE_SECONDS.pre_print;
  return job.timeTotal - elapsed(job, at) + heating;
}

/** Seconds until the end of a job, including the jobs before it. */
function remaining(cluster: Cluster, job: PrintJob, at: number): number {
  if (!isReady(cluster, job)) return queuedSeconds(job, at);
  const before = cluster.queue
    .slice(0, cluster.queue.indexOf(job))
    .filter((other) => isActive(other) || isReady(cluster, other));
  return (
    queuedSeconds(job, at) +
    before.reduce((sum, other) => sum + queuedSeconds(other, at), 0) / Math.max(1, cluster.printers.length)
  );
}
