import type { Service } from '../account/service';
import { repeated } from '../account/repeat';
import { PrintingError } from '../service/errors';
import { record, text } from '../service/wire';
import { WORK_IN_PROGRESS, waitBefore } from '../time/backoff';
import { isoTime, sleep, type Clock } from '../time/clock';
import type { Range } from './ranges';

export interface Order {
  clusterIds: string[];
  /** `print_jobs`; others are unknown (wire facts 10). */
  reportType: string;
  range: Range;
}

/** A report that is made, and where it can be fetched: a signed address, good for a while. */
export interface Made {
  reportId: string;
  url: string;
  /** The service's own `data`. */
  raw: unknown;
}

/** A report as an answer tells of it. */
interface Told {
  reportId: string | null;
  status: string | null;
  url: string | null;
  raw: unknown;
}

interface Limits {
  signal: AbortSignal;
  /** Monotonic clock time (ms). */
  until: number;
}

const WHAT = 'the report';
/** Wire facts 10: in these states a report is being made. */
const OPEN = ['pending', 'processing'];
/** How long `unknown`, a word that is new to us or a success without an address may last before it counts as the end, ms. */
const PATIENCE = 60_000;

/**
 * Has a report made, and waits for it (interface, endpoints 14 and 15). A lost answer to the order is asked for again: a
 * report too many harms nobody. Throws REPORT_FAILED, SERVICE_ERROR and what the service's calls throw.
 */
export async function orderReport(
  service: Service,
  clock: Clock,
  { clusterIds, reportType, range, ...limits }: Order & Limits & { onOrdered: (reportId: string) => void },
): Promise<Made> {
  const data = {
    cluster_ids: clusterIds,
    start_date: isoTime(range.from),
    end_date: isoTime(range.to),
    report_type: reportType,
  };
  const { signal, until } = limits;
  const ordered = await repeated(clock, limits, async () =>
    read((await service.call('createReport', { data, what: WHAT, signal, until })).data),
  );
  const { reportId } = ordered;
  if (reportId === null)
    throw new PrintingError('SERVICE_ERROR', 'The service took the order, but named no report: try again.');
  limits.onOrdered(reportId);
  return follow(service, clock, reportId, ordered, limits);
}

/** The report's address anew: signed addresses expire (wire facts, trap 35). */
export async function readReport(service: Service, clock: Clock, reportId: string, limits: Limits): Promise<Made> {
  return follow(service, clock, reportId, await ask(service, reportId, limits), limits);
}

async function follow(service: Service, clock: Clock, reportId: string, first: Told, limits: Limits): Promise<Made> {
  let doubtfulSince: number | null = null;
  let told = first;
  for (let looks = 0; ; looks++) {
    const status = told.status?.toLowerCase();
    if (status === 'success' && told.url !== null) return { reportId, url: told.url, raw: told.raw };
    if (status === 'failed') throw failed(told.status);
    if (status === undefined || OPEN.includes(status)) doubtfulSince = null;
    else {
      doubtfulSince ??= clock.monotonic();
      if (clock.monotonic() - doubtfulSince >= PATIENCE) throw failed(told.status);
    }
    await sleep(clock, waitBefore(looks, WORK_IN_PROGRESS), limits.signal);
    told = await ask(service, reportId, limits);
  }
}

async function ask(service: Service, reportId: string, { signal, until }: Limits): Promise<Told> {
  return read((await service.call('getReport', { ids: { report_id: reportId }, what: WHAT, signal, until })).data);
}

function read(data: unknown): Told {
  const wire = record(data) ?? record(Array.isArray(data) ? data[0] : null);
  return {
    reportId: text(wire?.report_id),
    status: text(wire?.status),
    url: text(wire?.download_url),
    raw: data,
  };
}

function failed(status: string | null): PrintingError {
  const said = status?.toLowerCase() === 'success' ? 'no address' : (status?.slice(0, 60) ?? 'no status');
  const sentence = `The service did not make the report (${said}): try again, or for a shorter range.`;
  return new PrintingError('REPORT_FAILED', sentence);
}
