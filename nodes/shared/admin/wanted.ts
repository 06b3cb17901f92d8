import type { NodeAPI } from 'node-red';
import type { IsWanted } from '../../../lib/sign-in/authorization';
import { deployedAccount } from './accounts';
import { hostOf } from './typed-settings';

const words = (authUrl: string, clientId: string): string => JSON.stringify([authUrl, clientId]);

/** Where and as which client an account of the flows signs in; null where there is none. */
export function deployedWords(RED: NodeAPI, id: string): string | null {
  const config = deployedAccount(RED, id)?.config;
  return config ? words(hostOf(config.authUrl), (config.clientId ?? '').trim()) : null;
}

/**
 * Whether a sign-in is still wanted, as far as the flows of this Node-RED tell: not after its account was deleted, nor
 * after another host or client was deployed meanwhile, whose tokens it would replace. Another Node-RED may have begun it.
 */
export const wantedBy =
  (RED: NodeAPI): IsWanted =>
  ({ accountId, deployed, settings: { authUrl, clientId } }) =>
    [deployed, words(authUrl, clientId)].includes(deployedWords(RED, accountId));
