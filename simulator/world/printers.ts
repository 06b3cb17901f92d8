import { newCluster } from './models';
import { recordNotFound } from '../http/refusals';
import { SPOOL } from './spools';
import type {
  ActionSwitch,
  Cluster,
  Dispatch,
  Extruder,
  Material,
  PictureSwitch,
  PrinterFault,
  RequiredChange,
} from './state';
import type { ClusterRef } from './world-base';
import { Library } from './library';

/** Events on printers, and switches for their behaviour. */
export class Printers extends Library {
  setOnline(ref: ClusterRef, online: boolean): void {
    const cluster = this.cluster(ref);
    if (cluster.online === online) return;
    const { queue, history } = cluster;
    const { at, now } = this.moment();
    cluster.lastReport = online ? null : structuredClone({ at, now, queue, history });
    cluster.online = online;
    this.options.changed();
  }

  /** Sets whether the cluster is active in the account (`status` active or inactive, wire facts 5). */
  setAuthorized(ref: ClusterRef, authorized: boolean): void {
    this.update(ref, { authorized });
  }

  /** Sets whether its printers accept new jobs. */
  setEnabled(ref: ClusterRef, enabled: boolean): void {
    const cluster = this.cluster(ref);
    for (const printer of cluster.printers) Object.assign(printer, { enabled, freeSince: this.clock.virtual() });
    this.options.changed();
  }

  /**
   * Sets a printer status that overrides the job's (`error`, `unreachable`, `maintenance`, …); null for none. Active
   * jobs continue.
   */
  setTrouble(ref: ClusterRef, trouble: string | null): void {
    const cluster = this.cluster(ref);
    for (const printer of cluster.printers) Object.assign(printer, { trouble, freeSince: this.clock.virtual() });
    this.options.changed();
  }

  addFault(ref: ClusterRef, about: { code: string; message?: string; severity?: string }): PrinterFault {
    const fault: PrinterFault = {
      uuid: this.ids.uuid(),
      code: about.code,
      message: about.message ?? about.code.toLowerCase().replaceAll('_', ' '),
      severity: about.severity ?? 'warning',
      at: this.clock.now(),
    };
    this.cluster(ref).printers[0]!.faults.push(fault);
    this.options.changed();
    return fault;
  }

  clearFaults(ref: ClusterRef): void {
    for (const printer of this.cluster(ref).printers) printer.faults = [];
    this.options.changed();
  }

  setFirmware(ref: ClusterRef, firmware: Partial<Cluster['firmware']>): void {
    const cluster = this.cluster(ref);
    this.update(ref, { firmware: { ...cluster.firmware, ...firmware } });
  }

  setCleaning(ref: ClusterRef, cleaning: Cluster['cleaning']): void {
    this.update(ref, { cleaning });
  }

  setRecentHistory(ref: ClusterRef, recentHistory: boolean): void {
    this.update(ref, { recentHistory });
  }

  setCapabilities(ref: ClusterRef, capabilities: string[]): void {
    this.update(ref, { capabilities });
  }

  /** Sets the outcome of future prints: queued, awaiting approval, or failed at once. */
  setDispatch(ref: ClusterRef, dispatch: Dispatch): void {
    this.update(ref, { dispatch });
  }

  /** Sets the changes that future prints require before they start; an empty list for none. */
  setRequiredChanges(ref: ClusterRef, requiredChanges: RequiredChange[] = [MATERIAL_CHANGE]): void {
    this.update(ref, { requiredChanges });
  }

  /** Sets the outcome of future actions (wire facts 9, 13.1); an empty switch restores the default. */
  setActions(ref: ClusterRef, actionSwitch: ActionSwitch = {}): void {
    this.update(ref, { actionSwitch });
  }

  /** Sets the format of future camera pictures; an empty switch restores the default. */
  setPicture(ref: ClusterRef, pictureSwitch: PictureSwitch = {}): void {
    this.update(ref, { pictureSwitch });
  }

  setNote(ref: ClusterRef, note: string | null): void {
    this.update(ref, { note });
  }

  /** Loads a material into an extruder of the first printer, by default a full spool; null empties it. */
  load(ref: ClusterRef, index: number, material: Partial<Material> | null, volumeLeft = SPOOL): void {
    const extruder = this.extruder(ref, index);
    const { guid = this.ids.uuid(), brand = 'Generic', color = 'Silver', material: type = 'PLA' } = material ?? {};
    Object.assign(extruder, { material: material && { guid, brand, color, material: type }, volumeLeft });
    this.options.changed();
  }

  /** Inserts a print core into an extruder of the first printer; null removes it. */
  setPrintCore(ref: ClusterRef, index: number, printCore: string | null): void {
    this.extruder(ref, index).printCore = printCore;
    this.options.changed();
  }

  private extruder(ref: ClusterRef, index: number): Extruder {
    const extruder = this.cluster(ref).printers[0]?.extruders[index];
    if (!extruder) throw recordNotFound('Extruder');
    return extruder;
  }

  setName(ref: ClusterRef, friendlyName: string | null): void {
    this.update(ref, { friendlyName });
  }

  /** Adds a printer to the account, by default in the first workspace; returns its id. */
  addCluster(options: { name?: string; model?: string; printers?: number; organizationId?: string } = {}): string {
    const owner = {
      organizationId: options.organizationId ?? this.state.organizations[0]!.organizationId,
      userId: this.state.users[0]!.userId,
    };
    const cluster = newCluster(this.ids, owner, this.state.clusters.length + 1, options, {
      now: this.clock.now(),
      virtual: this.clock.virtual(),
    });
    this.state.clusters.push(cluster);
    this.byId.set(cluster.clusterId, cluster);
    this.options.changed();
    return cluster.clusterId;
  }

  removeCluster(ref: ClusterRef): void {
    const cluster = this.cluster(ref);
    this.setClusters(this.state.clusters.filter((other) => other !== cluster));
    this.options.changed();
  }

  /** Reconnects a cluster under another cluster_id and the same host_guid; returns the new id. */
  rebind(ref: ClusterRef, clusterId = this.ids.cloudId()): string {
    this.update(ref, { clusterId });
    this.setClusters(this.state.clusters);
    return clusterId;
  }
}

const MATERIAL_CHANGE: RequiredChange = {
  type_of_change: 'material_change',
  index: 0,
  origin_id: '00000000-0000-4000-a000-000000000001',
  origin_name: 'Generic PLA',
  target_id: '00000000-0000-4000-a000-000000000002',
  target_name: 'Generic ABS',
  is_overridable: true,
};
