import type { EditorNode, Red } from './red';

declare const RED: Red;

/** Preselects the account of a new node if there is only one. */
export function useOnlyAccount(node: EditorNode): void {
  const accounts: EditorNode[] = [];
  RED.nodes.eachConfig((config) => {
    const account = config as EditorNode;
    const isHere = !account.z || account.z === (RED.workspaces.active() as unknown);
    if (account.type === 'remote-printing-account' && !account.d && isHere) accounts.push(account);
    return true;
  });
  const [only] = accounts;
  if (only && accounts.length === 1) node.account ||= only.id;
}
