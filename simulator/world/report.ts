import { iso } from './clock';
import { invalidValue, requiredField } from '../http/refusals';
import type { Report, ReportSwitch } from './state';

export const REPORTS_KEPT = 200;
export const REPORT_FIELDS = ['cluster_ids', 'start_date', 'end_date', 'report_type'];

const MODEL = 'ReportRequest';
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/;

export type ReportRequest = Pick<Report, 'organizationId' | 'clusterIds' | 'from' | 'to'>;

/** Checks the `data` of the create call (wire facts 10). */
export function checkReport(data: Record<string, unknown>): Omit<ReportRequest, 'organizationId'> {
  for (const field of REPORT_FIELDS)
    if (data[field] === undefined || data[field] === null) throw requiredField(MODEL, field);
  const { cluster_ids: clusterIds, report_type: type } = data;
  if (!Array.isArray(clusterIds) || clusterIds.length === 0 || !clusterIds.every((id) => typeof id === 'string'))
    throw invalidValue(MODEL, 'cluster_ids', 'must be a list of at least one id', clusterIds);
  if (type !== 'print_jobs') throw invalidValue(MODEL, 'report_type', 'must be print_jobs', type);
  const from = dateTime(data, 'start_date');
  const to = dateTime(data, 'end_date');
  if (to < from) throw invalidValue(MODEL, 'end_date', 'must not be before start_date', data.end_date);
  return { clusterIds, from, to };
}

function dateTime(data: Record<string, unknown>, field: string): number {
  const text = data[field];
  const time = typeof text === 'string' && DATE_TIME.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(time)) throw invalidValue(MODEL, field, 'must be an ISO 8601 date with a time and a zone', text);
  return time;
}

/** Creates a report; times in real ms. */
export function newReport(
  request: ReportRequest,
  made: ReportSwitch,
  about: { reportId: string; key: string; now: number; duration: number },
): Report {
  const { reportId, key, now, duration } = about;
  const { outcome = 'success' } = made;
  return {
    ...request,
    reportId,
    key,
    processingAt: now + duration / 2,
    endsAt: outcome === 'stuck' ? null : now + duration,
    outcome: outcome === 'stuck' ? 'success' : outcome,
    made: structuredClone(made),
  };
}

/** Status of a report: pending, processing, then its outcome (wire facts 10). */
export function reportStatus(report: Report, now: number): string {
  if (report.endsAt !== null && now >= report.endsAt) return report.outcome;
  return now < report.processingAt ? 'pending' : 'processing';
}

/** File name such as `print-jobs-2030-01-01.csv`. */
export const reportFileName = (report: Report): string => `print-jobs-${iso(report.from).slice(0, 10)}.csv`;
