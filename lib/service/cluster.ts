import { CAPABILITIES } from '../rules/limits';
import { readOptionalPrintJob, type PrintJob } from './print-job';
import { readPrinter, type Printer } from './printer';
import { amount, flag, number, record, text, type Json } from './json-readers';

/** Identity of a cluster, which only the list contains. */
export interface ClusterIdentity {
  name: string | null;
  hostGuid: string | null;
  model: string | null;
  /** Whether the account may use it: the record's `status`, which is not a printer state (wire facts, trap 18). */
  authorized: boolean | null;
  /** Abilities of the printer, in the service's words (wire facts 12.6); null if unknown. */
  capabilities: readonly string[] | null;
  note: string | null;
  /** Whether at least one maintenance task is due. */
  maintenanceDue: boolean | null;
}

/** An entry of the cluster list (reference 3.5, query `clusters`). */
export interface Cluster extends ClusterIdentity {
  clusterId: string;
  online: boolean | null;
  printerCount: number | null;
  /** Print jobs that print or wait. */
  jobCount: number | null;
  /** Only the host printer, as the list has no others; empty while the cluster is offline. */
  printers: Printer[];
  current: PrintJob | null;
}

/** Reads a cluster record (wire facts 5); null without an id. */
export function readCluster(wire: Json): Cluster | null {
  const clusterId = text(wire.cluster_id);
  if (clusterId === null) return null;
  const host = record(wire.host_printer);
  return {
    clusterId,
    name: text(wire.friendly_name) ?? text(wire.host_name),
    hostGuid: text(wire.host_guid),
    model: text(wire.printer_type) ?? text(host?.machine_variant),
    online: flag(wire.is_online),
    authorized: wire.status === 'active' ? true : wire.status === 'inactive' ? false : null,
    capabilities: readCapabilities(wire.capabilities),
    note: text(record(wire.note)?.note) ?? text(wire.note),
    maintenanceDue: flag(wire.maintenance_due),
    printerCount: number(wire.printer_count),
    jobCount: amount(wire.host_print_job_count),
    printers: host ? [readPrinter(host)] : [],
    current: readOptionalPrintJob(wire.host_current_print_job, clusterId),
  };
}

const readCapabilities = (wire: unknown): string[] | null =>
  Array.isArray(wire) ? wire.slice(0, CAPABILITIES).filter((entry): entry is string => text(entry) !== null) : null;
