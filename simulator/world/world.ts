import { dispatchAction, type ActionRequest } from './actions/dispatch';
import { checkTaskCodes } from './maintenance';
import { recordNotFound } from '../http/refusals';
import { newReport, REPORTS_KEPT, type ReportRequest } from './report';
import type { Action, Cluster, Report, ReportSwitch, State } from './state';
import type { ClusterRef } from './world-base';
import { Prints } from './prints';

/**
 * The virtual printers and stored files, and all their events. Each layer has one job: files (`library.ts`), printers,
 * prints; this one adds actions, reports and maintenance.
 */
export class World extends Prints {
  /** Dispatches a printer or print job action. Throws the service's refusal. */
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

  /** Returns an action; throws recordNotFound. */
  action(cluster: Cluster, actionId: string): Action {
    const action = cluster.actions.find((other) => other.actionId === actionId);
    if (!action) throw recordNotFound('Action');
    return action;
  }

  /** Returns the action that took a picture, and its cluster. */
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

  /** Returns a report; throws recordNotFound. */
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

  /** Sets the format of future reports; an empty switch restores the default. */
  setReports(reportSwitch: ReportSwitch = {}): void {
    this.state.reportSwitch = reportSwitch;
    this.options.changed();
  }

  /** Completes tasks. Throws invalidValue for one that this printer doesn't have. */
  maintain(cluster: Cluster, codes: string[], userId: string): void {
    checkTaskCodes(cluster, codes);
    const { maintenance } = cluster;
    maintenance.done.unshift({ codes, userId, at: this.clock.now() });
    maintenance.due = maintenance.due.filter((code) => !codes.includes(code));
    this.options.changed();
  }

  /** Makes these tasks due immediately. */
  setMaintenanceDue(ref: ClusterRef, codes: string[]): void {
    const cluster = this.cluster(ref);
    checkTaskCodes(cluster, codes);
    cluster.maintenance.due = codes;
    this.options.changed();
  }

  get memberships(): State['memberships'] {
    return this.state.memberships;
  }

  /** Sets whether `organization_memberships` of the current user contains ids (default) or objects (wire facts 11). */
  setMemberships(memberships: State['memberships']): void {
    this.state.memberships = memberships;
    this.options.changed();
  }
}
