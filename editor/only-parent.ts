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

/** Preselects for a new flow node the only configuration node of the first kind that has just one. */
export function useOnlyOf(kinds: readonly string[], node: EditorNode): void {
  if (kinds.some((kind) => node[kind])) return;
  for (const kind of kinds) {
    const only = onlyOne(kind, node);
    if (only === undefined) continue;
    node[kind] = only;
    return;
  }
}

const isChosen = (kind: string): boolean => !['', '_ADD_', 'undefined'].includes(String(fieldOf(kind).val() ?? ''));

/** Hides the link `kind` in the open dialog once the link that replaces it is chosen. */
export function hideOnceChosen(kind: string, other: string): void {
  const follow = () => fieldOf(kind).closest('.form-row').toggle(!isChosen(other));
  fieldOf(other).on('change', follow);
  follow();
}

/** Empties the hidden link before the dialog is saved: a node belongs to one of them. */
export function keepOneParent(kind: string, other: string): void {
  if (isChosen(other)) fieldOf(kind).val('_ADD_');
}
