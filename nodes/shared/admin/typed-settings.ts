import type { AccountConfig } from '../../../lib/account/settings';
import { trimmed } from '../../../lib/rules/text';
import { PrintingError } from '../../../lib/service/errors';
import type { DeployedAccount } from './accounts';

/** What the editor leaves in place of a stored credential. */
const UNTOUCHED = '__PWRD__';

const host = (config: AccountConfig | undefined): string => trimmed(config?.authUrl).replace(/\/+$/, '');

/**
 * The settings to sign in with: what was typed in the dialog wins, a secret that was left untouched stays the stored one.
 * Whoever types is not trusted with what they can't see: the stored secret goes to the stored host alone, and the
 * environment is read for stored settings alone, by Node-RED itself. Throws NOT_CONFIGURED.
 */
export function signInConfig(typed: Record<string, unknown>, deployed: DeployedAccount | undefined): AccountConfig {
  const written: Record<string, unknown> = { ...deployed?.written };
  const changed = Object.entries(typed).filter(
    ([name, value]) => typeof value === 'string' && value !== UNTOUCHED && value !== written[name],
  ) as [string, string][];
  if (changed.some(([, value]) => /\$\{|^\$\(/.test(value)))
    throw new PrintingError(
      'NOT_CONFIGURED',
      'What stands in the environment is read for deployed settings alone: deploy the account, then sign in.',
    );
  const config: AccountConfig = { ...deployed?.config, ...Object.fromEntries(changed) };
  const typedSecret = changed.some(([name]) => name === 'clientSecret');
  if (!typedSecret && config.clientSecret && host(config) !== host(deployed?.config))
    throw new PrintingError(
      'NOT_CONFIGURED',
      'The stored client secret goes to the stored account host alone: type the secret anew to sign in at another host.',
    );
  return config;
}
