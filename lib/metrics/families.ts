import type { SignInState } from '../sign-in/sign-in-state';
import type { AccountMetrics, MetricsState } from './account-metrics';
import { counter, type Family, gauge, histogram, labelOf, oneHot } from './exposition';
import { type PrinterFigures, STATES } from './printer-figures';
import type { ScrapedQueue, ScrapedQueuePrinter } from './queue-metrics';

/** An account at the time of a scrape. */
export interface ScrapedAccount {
  metrics: AccountMetrics;
  state: MetricsState;
  name: string;
  simulated: boolean;
}

const SIGN_IN_STATES: readonly SignInState[] = ['signed-in', 'signed-out', 'sign-in-needed', 'unchecked'];

/** Metrics of each account (docs/monitoring.md). */
export const ACCOUNT_FAMILIES: readonly Family<ScrapedAccount>[] = [
  gauge('account_info', 'Always 1. The name of the account.', ({ metrics, name, simulated }, sample) =>
    sample(`${metrics.labels},${labelOf('name', name)},simulated="${simulated}"`, 1),
  ),
  gauge(
    'sign_in_state',
    '1 for the present state of the sign-in, 0 for the others.',
    ({ metrics, state: { signIn } }, sample) =>
      signIn === null ? '' : oneHot(sample, metrics.labels, SIGN_IN_STATES, SIGN_IN_STATES.indexOf(signIn)),
  ),
  counter(
    'refreshes_total',
    'Renewals of the sign-in by this process.',
    ({ metrics: { labels, refreshes } }, sample) =>
      sample(`${labels},result="saved"`, refreshes.saved) + sample(`${labels},result="failed"`, refreshes.failed),
  ),
  counter(
    'requests_total',
    'Requests to the service by status code, none without an answer.',
    ({ metrics: { labels, requests } }, sample) =>
      [...requests].map(([code, count]) => sample(`${labels},code="${code}"`, count)).join(''),
  ),
  histogram('request_seconds', 'Duration of requests to the service.', ({ metrics }, sample) =>
    metrics.requestTime.samples(sample, metrics.labels),
  ),
  histogram('poll_lag_seconds', 'Time from the turn of a poll to its start.', ({ metrics }, sample) =>
    metrics.pollLag.samples(sample, metrics.labels),
  ),
  gauge('clusters', 'Printers (clusters) that this process polls.', ({ metrics, state }, sample) =>
    sample(metrics.labels, state.clusters),
  ),
  gauge(
    'stale_clusters',
    'Printers (clusters) of which the last poll failed, or all if nobody is signed in.',
    ({ metrics, state }, sample) => sample(metrics.labels, state.stale),
  ),
  counter(
    'dispatch_unknown_total',
    'Messages that ended without knowing whether the printer had accepted the print.',
    ({ metrics }, sample) => sample(metrics.labels, metrics.unknownDispatches),
  ),
  gauge(
    'dispatch_unresolved',
    'Printers that are watched because the outcome of a print is open.',
    ({ metrics, state }, sample) => sample(metrics.labels, state.unresolved),
  ),
  histogram(
    'store_seconds',
    'Duration of reads and writes of the stored state.',
    ({ metrics: { labels, storeTime } }, sample) =>
      storeTime.read.samples(sample, `${labels},operation="read"`) +
      storeTime.write.samples(sample, `${labels},operation="write"`),
  ),
  gauge(
    'lease_age_seconds',
    'Time since this process last renewed its lease in the database.',
    ({ metrics, state: { leaseAge } }, sample) => sample(metrics.labels, leaseAge === null ? null : leaseAge / 1000),
  ),
];

/** Metrics of each printer. */
export const PRINTER_FAMILIES: readonly Family<PrinterFigures>[] = [
  gauge('printer_online', '1 if the printer is online, 0 if it is not.', ({ labels, online }, sample) =>
    sample(labels, online),
  ),
  gauge('printer_state', '1 for the present state of the printer, 0 for the others.', ({ labels, state }, sample) =>
    oneHot(sample, labels, STATES, state),
  ),
  gauge('job_progress_ratio', 'Progress of the print under way, 0 to 1.', ({ labels, progress }, sample) =>
    sample(labels, progress),
  ),
  gauge('job_remaining_seconds', 'Remaining time of the print under way.', ({ labels, remaining }, sample) =>
    sample(labels, remaining),
  ),
  counter('prints_total', 'Prints that ended, by result.', ({ labels, prints }, sample) =>
    Object.entries(prints)
      .map(([result, count]) => sample(`${labels},result="${result}"`, count))
      .join(''),
  ),
  counter('print_seconds_total', 'Duration of the prints that ended.', ({ labels, printSeconds }, sample) =>
    sample(labels, printSeconds),
  ),
  gauge(
    'material_remaining_mm3',
    'Estimated rest of the material on an extruder, before the print under way.',
    ({ spools }, sample) => spools.map(({ labels, left }) => sample(labels, left)).join(''),
  ),
  gauge('material_full_mm3', 'Volume of a full spool of the material on an extruder.', ({ spools }, sample) =>
    spools.map(({ labels, full }) => sample(labels, full)).join(''),
  ),
  gauge(
    'material_slot_remaining_ratio',
    'Rest of the material in a slot of a material station, share of a full spool, 0 to 1.',
    ({ slots }, sample) => slots.map(({ labels, remaining }) => sample(labels, remaining)).join(''),
  ),
  gauge(
    'maintenance_due',
    '1 if maintenance of the printer is due, 0 if it is not.',
    ({ labels, maintenanceDue }, sample) => sample(labels, maintenanceDue),
  ),
  gauge(
    'plate_waiting_seconds',
    'Time for which this process has seen the plate wait to be cleared, 0 if it does not wait.',
    ({ labels, plateSince }, sample, now) => sample(labels, plateSince === null ? 0 : (now - plateSince) / 1000),
  ),
];

/** Metrics of each print queue. */
export const QUEUE_FAMILIES: readonly Family<ScrapedQueue>[] = [
  gauge('queue_items', 'Listed items of the print queue, by state.', ({ labels, items }, sample) =>
    Object.entries(items)
      .map(([state, count]) => sample(`${labels},state="${state}"`, count))
      .join(''),
  ),
  histogram(
    'queue_wait_seconds',
    'Time that a copy waited for the beginning of its print.',
    ({ labels, waits }, sample) => waits.samples(sample, labels),
  ),
];

/** Metrics of each printer of a print queue. */
export const QUEUE_PRINTER_FAMILIES: readonly Family<ScrapedQueuePrinter>[] = [
  gauge(
    'plate_waiting',
    '1 if the print queue sends nothing to the printer until a person has cleared its plate, else 0.',
    ({ labels, isPlateWaiting }, sample) => sample(labels, isPlateWaiting === null ? null : Number(isPlateWaiting)),
  ),
  gauge(
    'queue_printer_idle',
    '1 if the printer stands idle while an item of the print queue waits that suits it and may start, else 0.',
    ({ labels, isIdle }, sample) => sample(labels, Number(isIdle)),
  ),
];
