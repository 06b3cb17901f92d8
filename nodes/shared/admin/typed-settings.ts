import type { AccountConfig } from '../../../lib/account/settings';
import { TEXT } from '../../../lib/rules/limits';
import { trimmed, withoutSlashes } from '../../../lib/rules/text';
import { PrintingError } from '../../../lib/service/errors';
import type { DeployedAccount } from './accounts';
import { phrase } from '../../../lib/words/sentence';

/** What the editor leaves in place of a stored credential. */
const UNTOUCHED = '__PWRD__';

/** A host without a slash at its end. */
export const hostOf = (value: unknown): string => withoutSlashes(trimmed(value));

/**
 * The settings to sign in with: what was typed in the dialog wins, a secret that was left untouched stays the stored one.
 * Whoever types is not trusted with what they can't see: the stored secret goes to the stored host alone, and the
 * environment is read for stored settings alone, by Node-RED itself. Throws NOT_CONFIGURED.
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

/** The settings to test a connection with, under the same rules; a stored API token goes to the stored hosts alone. */
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
