import type { ApiClient, Limits } from '../account/api-client';
import { READS, retry } from '../http/retry';
import { PrintingError } from '../service/errors';
import { single, text } from '../service/json-readers';
import { AGAIN, pollMade, WORK_IN_PROGRESS } from '../time/retry';
import { isoTime } from '../time/clock';
import type { Range } from './ranges';
import { phrase } from '../words/sentence';

export interface Order {
  clusterIds: string[];
  /** `print_jobs`; other types are unknown (wire facts 10). */
  reportType: string;
  range: Range;
}

/** A completed report with its signed download URL, which expires. */
export interface Made {
  reportId: string;
  url: string;
  /** The service's own `data`. */
  raw: unknown;
}

interface ReportState {
  reportId: string | null;
  status: string | null;
  url: string | null;
  raw: unknown;
}

const WHAT = phrase`the report`;
/** Statuses of a report in progress (wire facts 10). */
const OPEN = ['pending', 'processing'];
/**
 * Longest time, ms, for which `unknown`, an unknown status or a success without a URL may last before it counts as the
 * end.
 */
const PATIENCE = 60_000;

/**
 * Requests a report and waits for it (interface, endpoints 14 and 15). Repeats the request after a lost answer, as a
 * surplus report is harmless. Throws REPORT_FAILED, SERVICE_ERROR and the errors of the service's calls.
 */
export async function orderReport(
  service: ApiClient,
  { clusterIds, reportType, range, deadline, onOrdered }: Order & Limits & { onOrdered: (reportId: string) => void },
): Promise<Made> {
  const data = {
    cluster_ids: clusterIds,
    start_date: isoTime(range.from),
    end_date: isoTime(range.to),
    report_type: reportType,
  };
  const ordered = await retry(deadline, READS, async () =>
    read((await service.call('createReport', { data, what: WHAT, deadline })).data),
  );
  const { reportId } = ordered;
  if (reportId === null)
    throw new PrintingError('SERVICE_ERROR', phrase`The service accepted the request, but named no report: try again.`);
  onOrdered(reportId);
  return follow(service, reportId, ordered, { deadline });
}

/** Reads the report again for a fresh URL, as signed URLs expire (wire facts, trap 35). */
export async function readReport(service: ApiClient, reportId: string, limits: Limits): Promise<Made> {
  return follow(service, reportId, await ask(service, reportId, limits), limits);
}

function follow(service: ApiClient, reportId: string, first: ReportState, { deadline }: Limits): Promise<Made> {
  let doubtfulSince: number | null = null;
  const { clock } = deadline;
  return pollMade(deadline, WORK_IN_PROGRESS, async (polls) => {
    const state = polls === 0 ? first : await ask(service, reportId, { deadline });
    const status = state.status?.toLowerCase();
    if (status === 'success' && state.url !== null) return { reportId, url: state.url, raw: state.raw };
    if (status === 'failed') throw failed(state.status);
    if (status === undefined || OPEN.includes(status)) doubtfulSince = null;
    else {
      doubtfulSince ??= clock.monotonic();
      if (clock.monotonic() - doubtfulSince >= PATIENCE) throw failed(state.status);
    }
    return AGAIN;
  });
}

async function ask(service: ApiClient, reportId: string, { deadline }: Limits): Promise<ReportState> {
  return read((await service.call('getReport', { ids: { report_id: reportId }, what: WHAT, deadline })).data);
}

function read(data: unknown): ReportState {
  const wire = single(data);
  return {
    reportId: text(wire?.report_id),
    status: text(wire?.status),
    url: text(wire?.download_url),
    raw: data,
  };
}

function failed(status: string | null): PrintingError {
  const said = status?.toLowerCase() === 'success' ? phrase`no address` : (status?.slice(0, 60) ?? phrase`no status`);
  const sentence = phrase`The service did not create the report (${said}): try again, or choose a shorter range.`;
  return new PrintingError('REPORT_FAILED', sentence);
}
