import { iso } from '../world/clock';
import { maintenanceTasks } from '../world/maintenance';
import { plateOf } from '../world/matching';
import { modelOf } from '../world/models';
import type { Moment } from '../world/moment';
import { printerStatus, temperature } from '../world/printer';
import { printedHours, SPOOL, volumeLeft } from '../world/spools';
import type { Cluster, Extruder, Printer, PrintJob } from '../world/state';
import { activeJob } from '../world/virtual-printer';
import { extruderRecord, materialRecord, printJobRecord, queuedSeconds, type PreviewUrl } from './print-job-record';

type Wire = Record<string, unknown>;

/** Life of an air filter, hours. */
const FILTER_HOURS = 1500;
const SLOTS_PER_EXTRUDER = 3;

/** Record of a cluster (wire facts 5). */
export function clusterRecord(cluster: Cluster, moment: Moment, previewUrl?: PreviewUrl): Wire {
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
    ...(cluster.online && current
      ? { host_current_print_job: printJobRecord(cluster, current, moment, previewUrl) }
      : {}),
    host_print_job_count: waiting.length,
    host_remaining_print_time: Math.round(waiting.reduce((sum, job) => sum + queuedSeconds(job, at), 0)),
    maintenance_due: maintenanceTasks(cluster, moment.now).some(({ isDue }) => isDue),
    ...(cluster.note ? { note: { note: cluster.note } } : {}),
    organization_id: cluster.organizationId,
    organization_shared: true,
    team_ids: [],
    user_id: cluster.userId,
  };
}

/** Status of a cluster (wire facts 6); an offline one has no printers, and the jobs of its last report (15.15). */
export function statusRecord(cluster: Cluster, moment: Moment, previewUrl?: PreviewUrl): Wire {
  const { at, now, queue, history } = cluster.lastReport ?? { ...moment, ...cluster };
  const record = (job: PrintJob): Wire =>
    printJobRecord({ ...cluster, online: true, queue, history }, job, { ...moment, at, now }, previewUrl);
  return {
    generated_time: iso(moment.now),
    is_online: cluster.online,
    printers: cluster.online ? cluster.printers.map((printer) => printerRecord(cluster, printer, moment)) : [],
    print_jobs: queue.filter((job) => job.visibleAt <= at).map(record),
    ...(cluster.recentHistory
      ? {
          recently_completed: history
            .filter((job) => job.deletedAt === null)
            .slice(0, 10)
            .map(record),
        }
      : {}),
  };
}

/** Record of a printer (wire facts 6.1). */
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
      ...(extruder.material
        ? { estimated_material_volume: volumeLeft(extruder), original_material_volume: SPOOL }
        : {}),
    })),
    build_plate: { type: plateOf(printer), temperature: temperature(printer, 'plate', model.plate, moment) },
    ...(model.chamber === null
      ? {}
      : { chamber: { temperature: temperature(printer, 'chamber', model.chamber, moment) } }),
    air_manager: model.station
      ? {
          supported: true,
          status: 'available',
          filter_status: 'peak_performance',
          filter_age: Math.floor(printedHours(cluster)),
          filter_max_age: FILTER_HOURS,
        }
      : { supported: false },
    material_station: model.station
      ? { supported: true, status: 'available', material_slots: slotRecords(printer.extruders) }
      : { supported: false },
    errors: printer.trouble === 'error' ? printer.faults.map(({ code, uuid }) => ({ code, uuid })) : [],
    faults: printer.faults.map(({ at, ...fault }) => ({ ...fault, timestamp: iso(at) })),
  };
}

/**
 * Records of a material station's slots (wire facts 6.2). Each extruder has the slot of its loaded material, a spare
 * spool whose rest is unknown, and an empty slot.
 */
function slotRecords(extruders: Extruder[]): Wire[] {
  return extruders.flatMap((extruder, index) => {
    const slot = (place: number, contents: Wire): Wire => ({
      slot_index: SLOTS_PER_EXTRUDER * index + place,
      extruder_index: index,
      compatible: true,
      ...(extruder.printCore === null ? {} : { print_core_id: extruder.printCore }),
      ...contents,
    });
    const empty = { material_empty: true, material_remaining: -1 };
    if (!extruder.material) return [0, 1, 2].map((place) => slot(place, empty));
    const full = { material_empty: false, material: materialRecord(extruder.material) };
    return [
      slot(0, { ...full, material_remaining: volumeLeft(extruder) / SPOOL }),
      slot(1, { ...full, material_remaining: -1 }),
      slot(2, empty),
    ];
  });
}
