import { dispatchAction, type ActionRequest } from './actions/dispatch';
import { checkTaskCodes } from './maintenance';
import { recordNotFound } from '../http/refusals';
import { newReport, REPORTS_KEPT, type ReportRequest } from './report';
import type { Action, Cluster, Report, ReportSwitch, State } from './state';
import type { ClusterRef } from './world-base';
import { Prints } from './prints';

/**
 * The virtual printers and stored files, and all that can happen to them. Each layer below has one job: files
 * (`library.ts`), printers, prints; here is the asynchronous work that clients order.
 */
export class World extends Prints {
  /** Printer and print job actions. Throws a refusal where the service would not even pass it on. */
  dispatch(cluster: Cluster, request: ActionRequest): Action {
    const usual = this.clock.scaled(this.options.actionDelay);
    const { seconds } = cluster.actionSwitch;
    const action = dispatchAction(cluster, request, {
      actionId: this.ids.uuid(),
      at: this.clock.virtual(),
      duration: seconds === undefined ? usual : this.clock.scaled(1000 * seconds),
    });
    this.options.changed();
    return action;
  }

  /** As of now; throws recordNotFound. */
  action(cluster: Cluster, actionId: string): Action {
    const action = cluster.actions.find((other) => other.actionId === actionId);
    if (!action) throw recordNotFound('Action');
    return action;
  }

  /** The action that took a picture, and where. */
  picture(actionId: string): { cluster: Cluster; action: Action } | undefined {
    for (const cluster of this.listed()) {
      const action = cluster.actions.find((other) => other.actionId === actionId);
      if (action?.scene) return { cluster, action };
    }
    return undefined;
  }

  order(request: ReportRequest): Report {
    const { reportSwitch } = this.state;
    const { seconds } = reportSwitch;
    const report = newReport(request, reportSwitch, {
      reportId: this.ids.cloudId(),
      key: this.ids.uuid(),
      now: this.clock.now(),
      duration: seconds === undefined ? this.options.reportDelay : 1000 * seconds,
    });
    this.state.reports = [...this.state.reports, report].slice(-REPORTS_KEPT);
    this.options.changed();
    return report;
  }

  /** Throws recordNotFound. */
  report(reportId: string, organizationId: string): Report {
    const report = this.state.reports.find(
      (other) => other.reportId === reportId && other.organizationId === organizationId,
    );
    if (!report) throw recordNotFound('Report');
    return report;
  }

  reportOfKey(key: string): Report | undefined {
    return this.state.reports.find((report) => report.key === key);
  }

  /** How reports ordered from now on are made; without a switch: as usual. */
  setReports(reportSwitch: ReportSwitch = {}): void {
    this.state.reportSwitch = reportSwitch;
    this.options.changed();
  }

  /** Someone did these tasks. Throws invalidValue for one that this printer does not have. */
  maintain(cluster: Cluster, codes: string[], userId: string): void {
    checkTaskCodes(cluster, codes);
    const { maintenance } = cluster;
    maintenance.done.unshift({ codes, userId, at: this.clock.now() });
    maintenance.due = maintenance.due.filter((code) => !codes.includes(code));
    this.options.changed();
  }

  /** These tasks are due now, before their time. */
  setMaintenanceDue(ref: ClusterRef, codes: string[]): void {
    const cluster = this.cluster(ref);
    checkTaskCodes(cluster, codes);
    cluster.maintenance.due = codes;
    this.options.changed();
  }

  get memberships(): State['memberships'] {
    return this.state.memberships;
  }

  /** Whether `organization_memberships` of the current user holds ids (default) or objects (wire facts 11). */
  setMemberships(memberships: State['memberships']): void {
    this.state.memberships = memberships;
    this.options.changed();
  }
}
