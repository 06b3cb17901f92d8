import { readOptionalPrintJob, type PrintJob } from './print-job';
import { readPrinter, type Printer } from './printer';
import { flag, number, record, text, type Json } from './json-readers';

/** Identity of a cluster, which only the list contains. */
export interface ClusterIdentity {
  name: string | null;
  hostGuid: string | null;
  model: string | null;
  /** Whether the account may use it: the record's `status`, which is not a printer state (wire facts, trap 18). */
  authorized: boolean | null;
}

/** An entry of the cluster list (reference 3.5, query `clusters`). */
export interface Cluster extends ClusterIdentity {
  clusterId: string;
  online: boolean | null;
  printerCount: number | null;
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
    printerCount: number(wire.printer_count),
    printers: host ? [readPrinter(host)] : [],
    current: readOptionalPrintJob(wire.host_current_print_job, clusterId),
  };
}
