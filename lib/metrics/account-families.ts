import type { SignInState } from '../sign-in/sign-in-state';
import type { AccountMetrics, MetricsState } from './account-metrics';
import { labelOf, oneHot, sampleOf, type Family } from './exposition';

/** An account at the time of a scrape. */
export interface ScrapedAccount {
  metrics: AccountMetrics;
  state: MetricsState;
  /** Monotonic, ms. */
  now: number;
  name: string;
  simulated: boolean;
}

interface AccountFamily extends Family {
  /** The samples of an account. */
  samples: (account: ScrapedAccount, name: string) => string;
}

const SIGN_IN_STATES: readonly SignInState[] = ['signed-in', 'signed-out', 'sign-in-needed', 'unchecked'];

/** Metrics with one group of samples per account (docs/monitoring.md). */
export const ACCOUNT_FAMILIES: readonly AccountFamily[] = [
  {
    name: 'account_info',
    type: 'gauge',
    help: 'Always 1. The name of the account.',
    samples: ({ metrics: { labels }, name, simulated }, metric) =>
      sampleOf(metric, `${labels},${labelOf('name', name)},simulated="${simulated}"`, 1),
  },
  {
    name: 'sign_in_state',
    type: 'gauge',
    help: '1 for the present state of the sign-in, 0 for the others.',
    samples: ({ metrics: { labels }, state: { signIn } }, name) =>
      signIn === null ? '' : oneHot(name, labels, SIGN_IN_STATES, SIGN_IN_STATES.indexOf(signIn)),
  },
  {
    name: 'refreshes_total',
    type: 'counter',
    help: 'Renewals of the sign-in by this process.',
    samples: ({ metrics: { labels, refreshes } }, name) =>
      sampleOf(name, `${labels},result="saved"`, refreshes.saved) +
      sampleOf(name, `${labels},result="failed"`, refreshes.failed),
  },
  {
    name: 'requests_total',
    type: 'counter',
    help: 'Requests to the service by status code, none without an answer.',
    samples: ({ metrics: { labels, requests } }, name) =>
      [...requests].map(([code, count]) => sampleOf(name, `${labels},code="${code}"`, count)).join(''),
  },
  {
    name: 'request_seconds',
    type: 'histogram',
    help: 'Duration of requests to the service.',
    samples: ({ metrics: { labels, requestTime } }, name) => requestTime.samples(name, labels),
  },
  {
    name: 'poll_lag_seconds',
    type: 'histogram',
    help: 'Time from the turn of a poll to its start.',
    samples: ({ metrics: { labels, pollLag } }, name) => pollLag.samples(name, labels),
  },
  {
    name: 'clusters',
    type: 'gauge',
    help: 'Printers (clusters) that this process polls.',
    samples: ({ metrics: { labels }, state: { clusters } }, name) => sampleOf(name, labels, clusters),
  },
  {
    name: 'stale_clusters',
    type: 'gauge',
    help: 'Printers (clusters) of which the last poll failed, or all if nobody is signed in.',
    samples: ({ metrics: { labels }, state: { stale } }, name) => sampleOf(name, labels, stale),
  },
  {
    name: 'dispatch_unknown_total',
    type: 'counter',
    help: 'Messages that ended without knowing whether the printer had accepted the print.',
    samples: ({ metrics: { labels, unknownDispatches } }, name) => sampleOf(name, labels, unknownDispatches),
  },
  {
    name: 'dispatch_unresolved',
    type: 'gauge',
    help: 'Printers that are watched because the outcome of a print is open.',
    samples: ({ metrics: { labels }, state: { unresolved } }, name) => sampleOf(name, labels, unresolved),
  },
  {
    name: 'store_seconds',
    type: 'histogram',
    help: 'Duration of reads and writes of the stored state.',
    samples: ({ metrics: { labels, storeTime } }, name) =>
      storeTime.read.samples(name, `${labels},operation="read"`) +
      storeTime.write.samples(name, `${labels},operation="write"`),
  },
  {
    name: 'lease_age_seconds',
    type: 'gauge',
    help: 'Time since this process last renewed its lease in the database.',
    samples: ({ metrics: { labels }, state: { leaseAge } }, name) =>
      leaseAge === null ? '' : sampleOf(name, labels, leaseAge / 1000),
  },
];
