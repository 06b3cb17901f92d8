import type { NodeAPI } from 'node-red';
import type { AccountConfig } from '../../../lib/account/settings';
import { PrintingError } from '../../../lib/service/errors';
import { isAccount, type AccountNode } from '../account-link';
import { runtimeOf } from '../runtime';
import { phrase } from '../../../lib/words/sentence';

/** Answered with 404. */
export class UnknownAccount extends PrintingError {
  constructor() {
    super('NOT_FOUND', phrase`There is no such account: deploy it first.`);
  }
}

/** An account of the flows, as the editor names it. */
export interface DeployedAccount {
  /** As it stands in the flows; a stored credential is not part of it. */
  written: AccountConfig;
  /** As the runtime reads it: with credentials, and with what Node-RED filled in from the environment. */
  config: AccountConfig;
  /** What runs of it: several where it is part of a subflow, none where it is disabled. */
  running: AccountNode[];
}

/** The account of this id in the flows; undefined where there is none, whatever is stored of one. */
export function deployedAccount(RED: NodeAPI, id: string): DeployedAccount | undefined {
  let written: AccountConfig | undefined;
  RED.nodes.eachNode((node) => {
    if (node.id === id && node.type === 'remote-printing-account') written = node as AccountConfig;
  });
  if (!written) return undefined;
  const running = [...runtimeOf(RED).accounts].filter((node) => node.accountId === id && isAccount(node));
  const stored = RED.nodes.getCredentials(id) as AccountConfig | undefined;
  const config = running[0]?.config() ?? { ...written, ...stored };
  return { written, config, running };
}

/** The same, where nothing else will do. */
export function knownAccount(RED: NodeAPI, id: string): DeployedAccount {
  const account = deployedAccount(RED, id);
  if (!account) throw new UnknownAccount();
  return account;
}
