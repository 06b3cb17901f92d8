import type { NodeAPI } from 'node-red';
import type { IsWanted } from '../../../lib/sign-in/authorization';
import { deployedAccount } from './accounts';
import { hostOf } from './typed-settings';

const identity = (authUrl: string, clientId: string): string => JSON.stringify([authUrl, clientId]);

/** Host and client that a deployed account signs in with, as one string; null without such an account. */
export function deployedIdentity(RED: NodeAPI, id: string): string | null {
  const config = deployedAccount(RED, id)?.config;
  return config ? identity(hostOf(config.authUrl), (config.clientId ?? '').trim()) : null;
}

/**
 * Returns whether a sign-in is still wanted: no longer after its account was deleted in the flows of this Node-RED, or
 * after another host or client was deployed, whose tokens it would replace. Another Node-RED may have begun it.
 */
export const wantedBy =
  (RED: NodeAPI): IsWanted =>
  ({ accountId, deployed, settings: { authUrl, clientId } }) =>
    [deployed, identity(authUrl, clientId)].includes(deployedIdentity(RED, accountId));
