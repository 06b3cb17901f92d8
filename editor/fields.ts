import type { EditorNode, Red } from './red';

declare const RED: Red;

/** The text in a field of the open dialog; undefined where there is no such field. */
export function typedText(selector: string): string | undefined {
  const value = $(selector).val();
  return value === undefined ? undefined : String(value);
}

/**
 * What the node's own dialog shows while it is open, else what the node has: a rule that hangs on another property
 * follows the typing, and the dialog of another node has no say in it.
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
