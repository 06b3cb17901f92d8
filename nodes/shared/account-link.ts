import type { Node, NodeAPI } from 'node-red';
import type { AccountConfig } from '../../lib/account/settings';
import type { Client } from '../../lib/client';
import { PrintingError } from '../../lib/service/errors';
import { phrase } from '../../lib/words/sentence';

/** The account config node, as flow nodes see it. */
export interface AccountNode extends Node {
  /** The id that the editor knows it by: in a subflow's copy, that of the template. */
  accountId: string;
  /** The page of the simulated world that it lives in; null for a real account, and while the world starts. */
  simulatorUrl(): string | null;
  /** Settings and credentials, with what Node-RED filled in from the environment. */
  config(): AccountConfig;
  /** The account's client; throws NOT_CONFIGURED where its settings are missing or malformed. */
  client(): Promise<Client>;
}

export const isAccount = (node: unknown): node is AccountNode =>
  typeof node === 'object' && node !== null && 'client' in node && typeof node.client === 'function';

/** The client of the account that a flow node names. Throws NOT_CONFIGURED where there is no such account. */
export async function clientOf(RED: NodeAPI, accountId: string | undefined): Promise<Client> {
  const account: unknown = accountId ? RED.nodes.getNode(accountId) : null;
  if (!isAccount(account)) {
    throw new PrintingError('NOT_CONFIGURED', phrase`Choose an account in the node and deploy.`);
  }
  return account.client();
}

/** Whether an account is part of the flows: a disabled one is removed, but still there. */
export function isInFlows(RED: NodeAPI, accountId: string): boolean {
  let found = false;
  RED.nodes.eachNode((node) => {
    found ||= node.id === accountId;
  });
  return found;
}
