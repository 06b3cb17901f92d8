import type { EditorNode, Red } from './red';

declare const RED: Red;

/** Text of a field in the open dialog; undefined if there is no such field. */
export function typedText(selector: string): string | undefined {
  const value = $(selector).val();
  return value === undefined ? undefined : String(value);
}

/**
 * Returns a property from the node's own open dialog, else from the node: a rule that depends on another property
 * follows the input, but never the dialog of another node.
 */
export function setting(node: EditorNode, name: string): unknown {
  const isOpen = RED.editor.getEditStack().at(-1)?.id === node.id;
  const shown = isOpen ? (typedText(`#node-config-input-${name}`) ?? typedText(`#node-input-${name}`)) : undefined;
  return shown ?? node[name];
}

/** Shows `rows` while the checkbox or select `control` makes `wanted` true. */
export function showWhile(control: JQuery, wanted: (control: JQuery) => boolean, rows: string): void {
  const follow = () => $(rows).toggle(wanted(control));
  control.on('change', follow);
  follow();
}
