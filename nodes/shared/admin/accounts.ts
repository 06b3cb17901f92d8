import type { NodeAPI } from 'node-red';
import type { AccountConfig } from '../../../lib/account/settings';
import { PrintingError } from '../../../lib/service/errors';
import { isAccount, type AccountNode } from '../account-link';
import { runtimeOf } from '../runtime';
import { phrase, type Sentence } from '../../../lib/words/sentence';

/** Error for a node that isn't in the flows; answered with 404. */
export class Unknown extends PrintingError {
  constructor(sentence: Sentence) {
    super('NOT_FOUND', sentence);
  }
}

/** Error for an account without flows entry and sign-in. */
export class UnknownAccount extends Unknown {
  constructor() {
    super(phrase`There is no such account: deploy it first.`);
  }
}

/** An account in the flows. */
export interface DeployedAccount {
  /** Settings as written in the flows, without stored credentials. */
  written: AccountConfig;
  /** Settings as the runtime reads them, with credentials and expanded environment variables. */
  config: AccountConfig;
  /** Running instances: several for an account in a subflow, none for a disabled one. */
  running: AccountNode[];
}

/** Returns the account with this id in the flows; undefined if there is none, even if state is stored for it. */
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

/** Returns the account with this id in the flows; throws UnknownAccount if there is none. */
export function knownAccount(RED: NodeAPI, id: string): DeployedAccount {
  const account = deployedAccount(RED, id);
  if (!account) throw new UnknownAccount();
  return account;
}
