import { iso } from '../world/clock';
import { reported } from '../world/connection';
import { maintenanceTasks } from '../world/maintenance';
import { plateOf } from '../world/matching';
import { modelOf } from '../world/models';
import type { Moment } from '../world/moment';
import { printerStatus, temperature } from '../world/printer';
import { printedHours, SPOOL, volumeOf } from '../world/spools';
import type { Cluster, Printer, PrintJob, Slot } from '../world/state';
import { activeJob } from '../world/virtual-printer';
import { emptyBay, extruderRecord, printJobRecord, queuedSeconds, type PreviewUrl } from './print-job-record';

type Wire = Record<string, unknown>;

/** Life of an air filter, hours. */
const FILTER_HOURS = 1500;

/** Record of a cluster (wire facts 5). */
export function clusterRecord(cluster: Cluster, moment: Moment, previewUrl?: PreviewUrl): Wire {
  const { at, queue } = reported(cluster, moment);
  const [host] = cluster.printers;
  const current = cluster.printers.map((printer) => activeJob(cluster, printer)).find((job) => job !== undefined);
  const waiting = queue.filter((job) => job.visibleAt <= at);
  return {
    cluster_id: cluster.clusterId,
    host_guid: cluster.hostGuid,
    host_name: cluster.hostName,
    friendly_name: cluster.friendlyName,
    status: cluster.authorized ? 'active' : 'inactive',
    is_online: cluster.online,
    display_status: displayStatus(cluster, current),
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

/** Status for user interfaces; the values are invented, since those of the service are unknown (wire facts 5). */
function displayStatus(cluster: Cluster, current: PrintJob | undefined): string {
  const { displayStatus: set, authorized, online, printers } = cluster;
  const [host] = printers;
  if (set !== undefined) return set;
  if (!authorized) return 'inactive';
  if (!online) return 'offline';
  return host!.trouble ?? current?.status ?? (host!.enabled ? 'idle' : 'disabled');
}

/** Status of a cluster (wire facts 6); an offline one has no printers (15.15). */
export function statusRecord(cluster: Cluster, moment: Moment, previewUrl?: PreviewUrl): Wire {
  const { at, queue, history } = reported(cluster, moment);
  const record = (job: PrintJob): Wire => printJobRecord(cluster, job, moment, previewUrl);
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
  const number = cluster.printers.indexOf(printer);
  return {
    uuid: printer.uuid,
    unique_name: number === 0 ? cluster.hostName : `${cluster.hostName}-${number + 1}`,
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
    configuration: printer.extruders.map((extruder, index) => {
      const left = volumeOf(printer, extruder);
      return {
        ...extruderRecord(printer, extruder, index),
        temperature: temperature(printer, `extruder ${index}`, model.hot - 5 * index, moment),
        ...(extruder.material && left !== null
          ? { estimated_material_volume: left, original_material_volume: SPOOL }
          : {}),
      };
    }),
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
    material_station: printer.slots
      ? {
          supported: true,
          status: 'available',
          material_slots: printer.slots.map((slot, index) => slotRecord(printer, slot, index)),
        }
      : { supported: false, status: 'unavailable', material_slots: [] },
    errors: printer.trouble === 'error' ? printer.faults.map(({ code, uuid }) => ({ code, uuid })) : [],
    faults: printer.faults.map(({ at, ...fault }) => ({ ...fault, timestamp: iso(at) })),
  };
}

/** Record of a slot of a material station (wire facts 6.2). */
function slotRecord(printer: Printer, slot: Slot, index: number): Wire {
  if (slot.extruder === null)
    return {
      ...{ slot_index: index, extruder_index: -1, print_core_id: null, material: null },
      ...{ material_empty: false, material_remaining: -1, compatible: false },
    };
  const { material, volumeLeft } = slot;
  return {
    slot_index: index,
    extruder_index: slot.extruder,
    print_core_id: printer.extruders[slot.extruder]!.printCore,
    material: material ?? emptyBay(printer),
    material_empty: material === null,
    material_remaining: volumeLeft === null ? -1 : volumeLeft / SPOOL,
    compatible: slot.compatible,
  };
}
