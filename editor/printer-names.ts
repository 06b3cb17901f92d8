import type { EditorNode, Red } from './red';
import { request } from './requests';

declare const RED: Red;

export interface NamedCluster {
  clusterId: string;
  name: string | null;
}

/** Names from the lists so far, by account and ID. */
const names = new Map<string, string>();
/** Printers requested since the last deploy; prevents repeated requests for an unknown printer. */
const asked = new Set<string>();
const asking = new Set<string>();
const keyOf = (account: string, id: string) => JSON.stringify([account, id]);

/** Name of a node's printer, for its label; undefined until known, or without a printer. */
export function printerName(node: EditorNode, property = 'cluster'): string | undefined {
  const { account, [property]: id, [`${property}Type`]: type } = node;
  if (type !== 'str' || typeof account !== 'string' || typeof id !== 'string' || !account || !id) return undefined;
  const key = keyOf(account, id);
  const name = names.get(key);
  if (name === undefined && !asked.has(key)) {
    asked.add(key);
    void ask(account);
  }
  return name;
}

/** Requests the names once for all of an account's labels. */
async function ask(account: string): Promise<void> {
  if (asking.has(account) || !RED.nodes.node(account)) return;
  asking.add(account);
  try {
    rememberPrinters(account, await request<NamedCluster[]>('GET', account, '/clusters'));
  } catch {
    // The labels omit the name, for example while signed out.
  } finally {
    asking.delete(account);
  }
}

export function rememberPrinters(account: string, listed: NamedCluster[]): void {
  const fresh = listed.filter(({ clusterId, name }) => name && names.get(keyOf(account, clusterId)) !== name);
  if (fresh.length === 0) return;
  for (const { clusterId, name } of fresh) names.set(keyOf(account, clusterId), name ?? '');
  RED.nodes.eachNode((node) => {
    if ((node as EditorNode).account === account) Object.assign(node, { dirty: true });
    return true;
  });
  RED.view.redraw();
}

RED.events.on('deploy', () => asked.clear());
