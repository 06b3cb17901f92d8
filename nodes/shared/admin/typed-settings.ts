import type { AccountConfig } from '../../../lib/account/settings';
import { TEXT } from '../../../lib/rules/limits';
import { trimmed, withoutSlashes } from '../../../lib/rules/text';
import { PrintingError } from '../../../lib/service/errors';
import type { DeployedAccount } from './accounts';
import { phrase } from '../../../lib/words/sentence';

/** Placeholder for a stored credential in the editor. */
const UNTOUCHED = '__PWRD__';

/** Returns a host without trailing slashes. */
export const hostOf = (value: unknown): string => withoutSlashes(trimmed(value));

/**
 * Returns the settings for a sign-in: typed settings take precedence, and untouched secrets keep their stored values. A
 * user who types settings isn't trusted with values that the editor hides. So the stored secret goes only to the stored
 * host, and Node-RED expands environment variables in stored settings only. Throws NOT_CONFIGURED.
 */
export function signInConfig(typed: Record<string, unknown>, deployed: DeployedAccount | undefined): AccountConfig {
  const changed = changedSettings(typed, deployed);
  const config: AccountConfig = { ...deployed?.config, ...changed };
  const isStored = changed.clientSecret === undefined && config.clientSecret;
  if (isStored && hostOf(config.authUrl) !== hostOf(deployed?.config.authUrl))
    throw new PrintingError(
      'NOT_CONFIGURED',
      phrase`The stored client secret is only sent to the stored account host: enter it again for another host.`,
    );
  return config;
}

/** Returns the settings for a connection test by the same rules; a stored API token goes only to the stored hosts. */
export function connectionConfig(typed: Record<string, unknown>, deployed: DeployedAccount | undefined): AccountConfig {
  const changed = changedSettings(typed, deployed);
  const config: AccountConfig = { ...deployed?.config, ...changed };
  if (config.signIn !== 'token') return signInConfig(typed, deployed);
  const isStored = changed.apiToken === undefined && config.apiToken;
  const isElsewhere = (name: 'apiUrl' | 'authUrl') =>
    hostOf(config[name]) !== '' && hostOf(config[name]) !== hostOf(deployed?.config[name]);
  if (isStored && (isElsewhere('apiUrl') || isElsewhere('authUrl')))
    throw new PrintingError(
      'NOT_CONFIGURED',
      phrase`The stored API token is only sent to the stored hosts: enter it again for another host.`,
    );
  return config;
}

function changedSettings(typed: Record<string, unknown>, deployed: DeployedAccount | undefined): AccountConfig {
  const written: Record<string, unknown> = { ...deployed?.written };
  const changed = Object.entries(typed).filter(
    ([name, value]) => typeof value === 'string' && value !== UNTOUCHED && value !== written[name],
  ) as [string, string][];
  const long = changed.find(([, value]) => value.length > TEXT.setting);
  if (long)
    throw new PrintingError(
      'NOT_CONFIGURED',
      phrase`The setting ${long[0]} has more than ${TEXT.setting} characters: shorten it.`,
    );
  if (changed.some(([, value]) => /\$\{|^\$\(/.test(value)))
    throw new PrintingError(
      'NOT_CONFIGURED',
      phrase`Environment variables are only read for deployed settings: deploy the account first.`,
    );
  return Object.fromEntries(changed);
}
