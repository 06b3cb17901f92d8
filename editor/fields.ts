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

/** Values of other properties; each is one value or a list of them. */
type Condition = Record<string, string | boolean | string[]>;

/** Shows `rows` while the checkboxes and selects fulfil one of the conditions. */
export function showWhile(conditions: Condition | Condition[], rows: string): void {
  const anyOf = [conditions].flat();
  const holds = (condition: Condition) =>
    Object.entries(condition).every(([name, wanted]) => [wanted].flat().includes(chosen(name)));
  const follow = () => $(rows).toggle(anyOf.some(holds));
  const controls = anyOf.flatMap(Object.keys).map((name) => `#node-input-${name}`);
  $(controls.join()).on('change', follow);
  follow();
}

/** Value of a checkbox or select in the open dialog of a flow node. */
function chosen(name: string): string | boolean {
  const field = $(`#node-input-${name}`);
  return field.is(':checkbox') ? field.is(':checked') : String(field.val());
}
