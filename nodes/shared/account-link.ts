import type { Node, NodeAPI, NodeDef } from 'node-red';
import type { AccountConfig } from '../../lib/account/settings';
import type { Client } from '../../lib/client';
import type { AccountMetrics } from '../../lib/metrics/account-metrics';
import { PrintingError } from '../../lib/service/errors';
import { phrase } from '../../lib/words/sentence';
import type { NodeDefinition } from './definition';
import { checkSettings } from './settings';

/** Metrics of a running account. */
export interface MetricsAccess {
  counted: AccountMetrics;
  simulated: boolean;
  /** Tokens that show them, one of which is needed; null if none is needed. */
  tokens: readonly string[] | null;
}

/** The client of an account, which all instances of its node with the same settings share. */
export interface OpenAccount {
  client: Client;
  /** The account's use of the simulator, with the address of its page; null for a real account. */
  simulated: { page: string; close(): Promise<void> } | null;
}

/** The account config node, as flow nodes use it. */
export interface AccountNode extends Node {
  /** The account's id in the editor; for an instance in a subflow, the template's id. */
  accountId: string;
  /** Address of the simulator's page; null for a real account and until the simulator has started. */
  simulatorUrl(): string | null;
  /** Settings and credentials, with environment variables expanded by Node-RED. */
  config(): AccountConfig;
  /** Metrics and the tokens that open them; null while they are off. */
  metrics: MetricsAccess | null;
  /** The account's client; throws NOT_CONFIGURED if settings are missing or malformed. */
  client(): Promise<Client>;
}

export const isAccount = (node: unknown): node is AccountNode =>
  typeof node === 'object' && node !== null && 'client' in node && typeof node.client === 'function';

/**
 * Returns the client of the account of a node. Throws NOT_CONFIGURED if there is no such account, or if a setting of the
 * node is malformed.
 */
export async function clientOf(
  RED: NodeAPI,
  definition: NodeDefinition,
  saved: NodeDef & { account?: string },
): Promise<Client> {
  checkSettings(definition, saved);
  const account: unknown = saved.account ? RED.nodes.getNode(saved.account) : null;
  if (!isAccount(account)) {
    throw new PrintingError('NOT_CONFIGURED', phrase`Choose an account in the node and deploy.`);
  }
  return account.client();
}

/** Whether a node is part of the flows. Node-RED reports a disabled node as removed, although it still exists. */
export function isInFlows(RED: NodeAPI, accountId: string): boolean {
  let found = false;
  RED.nodes.eachNode((node) => {
    found ||= node.id === accountId;
  });
  return found;
}
