import { compareJobs } from './compare-jobs';
import { goOffline, goOnline } from './connection';
import { newMaterial } from './materials';
import { newCluster, type NewCluster } from './models';
import { recordNotFound } from '../http/refusals';
import { SPOOL } from './spools';
import { newSlot, setSlot, stock, type NewSlot } from './station';
import type {
  ActionSwitch,
  Cluster,
  Dispatch,
  EndWords,
  Extruder,
  Material,
  Mismatch,
  PictureSwitch,
  Printer,
  PrinterFault,
  RequiredChange,
} from './state';
import type { ClusterRef } from './world-base';
import { Library } from './library';

/** Events on printers, and switches for their behaviour. */
export class Printers extends Library {
  /**
   * Connects or disconnects a cluster. Jobs that an offline printer has go on; those that wait at the service start when
   * it is back. An outage with `seconds` of virtual time ends by itself.
   */
  setOnline(ref: ClusterRef, online: boolean, seconds?: number): void {
    const cluster = this.cluster(ref);
    const moment = this.moment();
    if (cluster.online && !online) goOffline(cluster, moment);
    if (online && !cluster.online) goOnline(cluster, moment.at);
    cluster.backAt = seconds === undefined ? null : moment.at + 1000 * seconds;
    this.options.changed();
  }

  /** Sets whether the cluster is active in the account (`status` active or inactive, wire facts 5). */
  setAuthorized(ref: ClusterRef, authorized: boolean): void {
    this.update(ref, { authorized });
  }

  /** Sets whether its printers, or one of them from 1, accept new jobs. */
  setEnabled(ref: ClusterRef, enabled: boolean, number?: number): void {
    this.changePrinters(ref, number, { enabled, freeSince: this.clock.virtual() });
  }

  /**
   * Sets a printer status that overrides the job's (`error`, `unreachable`, `maintenance`, …); null for none. Active
   * jobs continue. Concerns all printers of a group, or one from 1.
   */
  setTrouble(ref: ClusterRef, trouble: string | null, number?: number): void {
    this.changePrinters(ref, number, { trouble, freeSince: this.clock.virtual() });
  }

  private changePrinters(ref: ClusterRef, number: number | undefined, values: Partial<Printer>): void {
    const cluster = this.cluster(ref);
    const printers = number === undefined ? cluster.printers : [this.printer(cluster, number)];
    for (const printer of printers) Object.assign(printer, structuredClone(values));
    this.compare(cluster);
  }

  /** Returns a printer of a group by its number, from 1; throws recordNotFound. */
  protected printer(cluster: Cluster, number: number): Printer {
    const printer = cluster.printers[number - 1];
    if (!printer) throw recordNotFound('Printer');
    return printer;
  }

  /** Compares the waiting jobs with changed printers. */
  private compare(cluster: Cluster): void {
    compareJobs(cluster, this.clock.virtual());
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

  setEndWords(ref: ClusterRef, endWords: EndWords): void {
    this.update(ref, { endWords });
  }

  /** Sets what becomes of jobs whose files don't suit the printer. */
  setMismatch(ref: ClusterRef, mismatch: Mismatch): void {
    this.update(ref, { mismatch });
    this.compare(this.cluster(ref));
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

  /**
   * Loads a material into an extruder of a printer, or into a slot that feeds it, by default a full spool; null empties
   * it, or all those slots.
   */
  load(ref: ClusterRef, index: number, material: Partial<Material> | null, volumeLeft = SPOOL, number = 1): void {
    const cluster = this.cluster(ref);
    const printer = this.printer(cluster, number);
    const made = material && newMaterial(material);
    if (!printer.slots) return this.changeExtruder(ref, number, index, { material: made, volumeLeft });
    if (!printer.extruders[index]) throw recordNotFound('Extruder');
    stock(printer, index, made, volumeLeft);
    this.compare(cluster);
  }

  /** Fills a slot of a material station, from 0; null frees it. Throws a conflict while a print uses it. */
  setSlot(ref: ClusterRef, index: number, about: NewSlot, number = 1): void {
    const cluster = this.cluster(ref);
    const printer = this.printer(cluster, number);
    if (!printer.slots?.[index]) throw recordNotFound('Slot');
    if (about !== null && !printer.extruders[about.extruder]) throw recordNotFound('Extruder');
    setSlot(printer, index, newSlot(about));
    this.compare(cluster);
  }

  /** Inserts a print core into an extruder of a printer; null removes it. */
  setPrintCore(ref: ClusterRef, index: number, printCore: string | null, number = 1): void {
    this.changeExtruder(ref, number, index, { printCore });
  }

  /** Inserts a build plate into a printer. */
  setBuildPlate(ref: ClusterRef, buildPlate: string, number = 1): void {
    this.changePrinters(ref, number, { buildPlate });
  }

  private changeExtruder(ref: ClusterRef, number: number, index: number, values: Partial<Extruder>): void {
    const cluster = this.cluster(ref);
    const extruder = this.printer(cluster, number).extruders[index];
    if (!extruder) throw recordNotFound('Extruder');
    Object.assign(extruder, values);
    this.compare(cluster);
  }

  /** Sets the status for user interfaces; null for the one that follows from the printer's state. */
  setDisplayStatus(ref: ClusterRef, displayStatus: string | null): void {
    const cluster = this.cluster(ref);
    if (displayStatus === null) delete cluster.displayStatus;
    else cluster.displayStatus = displayStatus;
    this.options.changed();
  }

  setName(ref: ClusterRef, friendlyName: string | null): void {
    this.update(ref, { friendlyName });
  }

  /** Adds a printer to the account, by default in the first workspace; returns its id. */
  addCluster(options: NewCluster & { organizationId?: string } = {}): string {
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
