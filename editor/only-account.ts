import type { EditorNode, Red } from './red';

declare const RED: Red;

/** Gives a node that comes from the palette the account, where there is but one that it could have. */
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
