import type { NodeAPI } from 'node-red';
import { readToken } from '../../lib/account/settings';
import { trimmed } from '../../lib/rules/text';
import { record } from '../../lib/service/json-readers';
import type { MetricsAccess } from './account-link';
import { runtimeOf } from './runtime';

/** Settings of an account that concern its metrics. */
interface MetricsConfig {
  accountId: string;
  service?: string | undefined;
  metrics?: boolean | undefined;
  metricsToken?: string | undefined;
}

/**
 * Returns the metrics of an account that has them on, or of any account if settings.js has them on; else null. A token
 * that is blank, such as a missing environment variable, still protects them.
 */
export function metricsOf(RED: NodeAPI, config: MetricsConfig): MetricsAccess | null {
  const { remotePrinting } = RED.settings as { remotePrinting?: { metrics?: unknown } };
  const setting = remotePrinting?.metrics;
  if (config.metrics !== true && !setting) return null;
  const { clock, metrics } = runtimeOf(RED);
  const { AccountMetrics } =
    require('../../lib/metrics/account-metrics') as typeof import('../../lib/metrics/account-metrics');
  const { accountId } = config;
  const counted = metrics.get(accountId) ?? new AccountMetrics(accountId, clock);
  metrics.set(accountId, counted);
  const settingsToken = record(setting)?.token;
  const own = usable(config.metricsToken);
  const isProtected = config.metricsToken !== undefined || (record(setting) !== null && 'token' in (setting as object));
  const tokens = [own, trimmed(settingsToken)].filter((token) => token !== '');
  return { counted, simulated: config.service === 'simulator', tokens: isProtected ? tokens : null };
}

/** A token; blank for one that nobody can send, which the account reports. */
function usable(token: unknown): string {
  try {
    return readToken('metricsToken', token) ?? '';
  } catch {
    return '';
  }
}
