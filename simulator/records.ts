import { iso } from './clock';
import type { Ids } from './ids';
import { pendingMaintenance } from './maintenance';
import { modelOf } from './models';
import type { Cluster, Extruder, LibraryFile, Printer, PrintJob, StoredFile, StoredJob } from './state';
import { activeJob, elapsed, isActive, isReady, PHASE_SECONDS, warmth } from './virtual-printer';

/**
 * How the state looks on the wire (wire facts 4.1, 5, 6 and 8). Lists are as of virtual time `at`, `now` is real time.
 */
export interface Moment {
  at: number;
  now: number;
  ids: Ids;
}

type Wire = Record<string, unknown>;

/** What stored jobs and library files have in common, without the signed addresses. */
function storedRecord(
  file: StoredFile,
  { uploaded, username }: { uploaded: boolean; username?: string | undefined },
): Wire {
  return {
    file_size: file.fileSize,
    content_type: file.contentType,
    ...(file.origin === null ? {} : { origin: file.origin }),
    ...(file.libraryProjectId === null ? {} : { library_project_id: file.libraryProjectId }),
    status: uploaded ? 'uploaded' : 'uploading',
    user_id: file.userId,
    ...(username === undefined ? {} : { username }),
    ...(uploaded && file.uploadedAt !== null ? { uploaded_at: iso(file.uploadedAt) } : {}),
  };
}

/** Wire facts 4.1: the record of calls 3 and 4. */
export function storedJobRecord(job: StoredJob, about: { uploaded: boolean; username?: string | undefined }): Wire {
  return {
    job_id: job.jobId,
    job_name: job.jobName,
    ...storedRecord(job, about),
    ...(job.sourceFileId === null ? {} : { source_file_id: job.sourceFileId }),
    ...(about.uploaded ? { parsing_status: 'success' } : {}),
    ...(about.uploaded && job.parsed ? { metadata: { print: { estimated_time: job.printSeconds } } } : {}),
  };
}

/** Wire facts 4.3: the record of calls 5 and 6. */
export function libraryFileRecord(
  file: LibraryFile,
  about: { uploaded: boolean; username?: string | undefined },
): Wire {
  return { file_id: file.fileId, file_name: file.fileName, ...storedRecord(file, about) };
}

/** Wire facts 5. */
export function clusterRecord(cluster: Cluster, moment: Moment): Wire {
  const { at } = moment;
  const [host] = cluster.printers;
  const current = cluster.printers.map((printer) => activeJob(cluster, printer)).find((job) => job !== undefined);
  const waiting = cluster.queue.filter((job) => job.visibleAt <= at);
  return {
    cluster_id: cluster.clusterId,
    host_guid: cluster.hostGuid,
    host_name: cluster.hostName,
    friendly_name: cluster.friendlyName,
    status: cluster.authorized ? 'active' : 'inactive',
    is_online: cluster.online,
    printer_count: cluster.printers.length,
    printer_type: modelOf(cluster).id,
    capabilities: cluster.capabilities,
    host_version: cluster.firmware.version,
    host_internal_ip: '192.0.2.10',
    ...(cluster.online && host ? { host_printer: printerRecord(cluster, host, moment) } : {}),
    ...(cluster.online && current ? { host_current_print_job: printJobRecord(cluster, current, moment) } : {}),
    host_print_job_count: waiting.length,
    host_remaining_print_time: Math.round(waiting.reduce((sum, job) => sum + own(job, at), 0)),
    maintenance_due: pendingMaintenance(cluster, moment.now).some((task) => task.is_due),
    organization_id: cluster.organizationId,
    organization_shared: true,
    team_ids: [],
    user_id: cluster.userId,
  };
}

/** Wire facts 6: of an offline cluster, no printers and the jobs that were heard of last (15.15). */
export function statusRecord(cluster: Cluster, moment: Moment): Wire {
  const heard = cluster.lastHeard ?? heardNow(cluster, moment);
  return {
    generated_time: iso(moment.now),
    is_online: cluster.online,
    printers: cluster.online ? cluster.printers.map((printer) => printerRecord(cluster, printer, moment)) : [],
    print_jobs: heard.printJobs,
    ...(cluster.recentHistory ? { recently_completed: heard.recentlyCompleted } : {}),
  };
}

export function heardNow(cluster: Cluster, moment: Moment): { printJobs: Wire[]; recentlyCompleted: Wire[] } {
  return {
    printJobs: cluster.queue
      .filter((job) => job.visibleAt <= moment.at)
      .map((job) => printJobRecord(cluster, job, moment)),
    recentlyCompleted: cluster.history
      .filter((job) => job.deletedAt === null)
      .slice(0, 10)
      .map((job) => printJobRecord(cluster, job, moment)),
  };
}

/** Wire facts 6.1. */
function printerRecord(cluster: Cluster, printer: Printer, moment: Moment): Wire {
  const model = modelOf(cluster);
  const job = activeJob(cluster, printer);
  return {
    uuid: printer.uuid,
    unique_name: cluster.hostName,
    friendly_name: printer.name,
    machine_variant: model.display,
    status: printerStatus(printer, job),
    enabled: printer.enabled,
    ...(job ? { reserved_by: job.uuid } : {}),
    maintenance_required: printer.trouble === 'maintenance',
    firmware_version: cluster.firmware.version,
    ...(cluster.firmware.latest === null ? {} : { latest_available_firmware: cluster.firmware.latest }),
    firmware_update_status: cluster.firmware.updateStatus,
    ip_address: '192.0.2.10',
    configuration: printer.extruders.map((extruder, index) => ({
      ...extruderRecord(extruder, index),
      temperature: temperature(printer, `extruder ${index}`, model.hot - 5 * index, moment),
    })),
    build_plate: { type: 'glass', temperature: temperature(printer, 'plate', model.plate, moment) },
    errors: printer.trouble === 'error' ? printer.faults.map(({ code, uuid }) => ({ code, uuid })) : [],
    faults: printer.faults.map(({ at, ...fault }) => ({ ...fault, timestamp: iso(at) })),
  };
}

/** Wire facts 12.1. */
export function printerStatus(printer: Printer, job: PrintJob | undefined): string {
  if (printer.trouble !== null) return printer.trouble;
  if (!job) return 'idle';
  // Also while paused, aborting, cooling and waiting to be cleaned (wire facts 15.19).
  return job.status === 'sent_to_printer' || job.status === 'pre_print' ? 'pre_print' : 'printing';
}

function extruderRecord(extruder: Extruder, index: number): Wire {
  return {
    extruder_index: index,
    ...(extruder.printCore === null ? {} : { print_core_id: extruder.printCore }),
    material: extruder.material ?? { material: 'empty' },
  };
}

/** °C, with a little noise that changes every ten virtual seconds. */
export function temperature(
  printer: Printer,
  part: string,
  hot: number,
  { at, ids }: Pick<Moment, 'at' | 'ids'>,
): number {
  const room = 21;
  const noise = 0.4 * ids.noise(`${printer.name} ${part} ${Math.floor(at / 10_000)}`);
  return Math.round(10 * (room + (hot - room) * warmth(printer, at) + noise)) / 10;
}

/** Wire facts 8. */
export function printJobRecord(cluster: Cluster, job: PrintJob, { at, now }: Moment): Wire {
  const model = modelOf(cluster);
  const printer = cluster.printers.find(({ uuid }) => uuid === job.printerUuid);
  return {
    uuid: job.uuid,
    cloud_job_id: job.jobId ?? '',
    cluster_id: cluster.clusterId,
    name: job.name,
    status: job.status,
    state: stateOf(job),
    ...(job.message === null ? {} : { status_message: { body: job.message, generated_time: iso(now) } }),
    started: job.printed > 0 || (isActive(job) && job.status !== 'sent_to_printer'),
    time_total: job.timeTotal,
    time_elapsed: Math.floor(elapsed(job, at)),
    time_remaining: Math.ceil(remaining(cluster, job, at)),
    created_at: iso(job.createdAt),
    ...(job.deletedAt === null ? {} : { deleted_at: iso(job.deletedAt) }),
    ...(job.owner === null ? {} : { owner: job.owner.name, owner_id: job.owner.userId, owner_deleted: false }),
    ...(printer && isActive(job) ? { printer_name: printer.name, printer_uuid: printer.uuid } : {}),
    ...(printer && !isActive(job) ? { printed_on_uuid: printer.uuid } : {}),
    sent_from: job.sentFrom,
    force: job.force,
    machine_variant: model.display,
    compatible_machine_families: [model.display],
    configuration: (cluster.printers[0]?.extruders ?? []).map(extruderRecord),
    build_plate: { type: 'glass' },
    configuration_changes_required: job.changes,
    impediments_to_printing: job.changes.map((change) => ({
      translation_key: change.type_of_change,
      severity: change.is_overridable ? '1' : '2',
    })),
    constraints: {},
    is_online: cluster.online,
    last_seen: 0.5,
    network_error_count: 0,
  };
}

/** The coarse state (wire facts 12.3). */
export function stateOf(job: PrintJob): string {
  if (job.deletedAt !== null) return 'deleted';
  if (job.status === 'wait_approval') return 'wait_approval';
  if (job.status === 'queued') return 'waiting';
  if (job.status === 'sent_to_printer') return 'sending';
  return isActive(job) ? 'in_progress' : 'history';
}

/** Seconds of its own until it is printed. */
function own(job: PrintJob, at: number): number {
  if (['history', 'deleted'].includes(stateOf(job))) return 0;
  const heating = job.status === 'printing' || job.printed > 0 ? 0 : PHASE_SECONDS.pre_print;
  return job.timeTotal - elapsed(job, at) + heating;
}

/** Of a waiting job, with the wait for the jobs before it. */
function remaining(cluster: Cluster, job: PrintJob, at: number): number {
  if (!isReady(job)) return own(job, at);
  const before = cluster.queue
    .slice(0, cluster.queue.indexOf(job))
    .filter((other) => isActive(other) || isReady(other));
  return own(job, at) + before.reduce((sum, other) => sum + own(other, at), 0) / Math.max(1, cluster.printers.length);
}
