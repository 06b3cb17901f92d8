import { fieldOf } from './fields';
import type { EditorNode, Red } from './red';

declare const RED: Red;

/** The only configuration node of a kind in reach of a node; undefined if there are none or several. */
function onlyOne(kind: string, node: EditorNode): string | undefined {
  const found: EditorNode[] = [];
  RED.nodes.eachConfig((config) => {
    const one = config as EditorNode;
    const isHere = !one.z || one.z === (RED.workspaces.active() as unknown);
    if (one.type === `remote-printing-${kind}` && !one.d && isHere && one.id !== node.id) found.push(one);
    return true;
  });
  return found.length === 1 ? found[0]?.id : undefined;
}

/** Preselects the account or the queue of a new flow node if there is only one. */
export function useOnly(kind: string, node: EditorNode): void {
  node[kind] ||= onlyOne(kind, node) ?? '';
}

/** The same in the dialog of a new configuration node. */
export function chooseOnly(kind: string, node: EditorNode): void {
  const only = onlyOne(kind, node);
  if (!node[kind] && only !== undefined) fieldOf(kind).val(only).trigger('change');
}
