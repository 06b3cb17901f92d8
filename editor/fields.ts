import { type Condition, holds } from '../lib/rules/conditions';
import { trimmed, variableOf } from '../lib/rules/text';
import type { EditorNode, Red } from './red';

declare const RED: Red;

/** Field of a property in the open dialog, of a flow node or of a configuration node. */
export const fieldOf = (name: string): JQuery => $(`#node-config-input-${name}, #node-input-${name}`).first();

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
  return (isOpen ? chosen(name) : null) ?? valueOf(node, name);
}

/** A property, or its default if the node was saved without it, as the runtime reads it. */
export const valueOf = (node: EditorNode, name: string): unknown => node[name] ?? node._def.defaults[name]?.value;

/**
 * Fills in the defaults of the properties that a node lacks, because it was saved before they existed: the editor shows
 * blank fields for them, and saves these.
 */
export function fillDefaults(node: EditorNode): void {
  for (const [name, { value }] of Object.entries(node._def.defaults)) {
    if (node[name] !== undefined || value === '') continue;
    if (typeof value === 'boolean') fieldOf(name).prop('checked', value);
    else fieldOf(name).val(String(value));
  }
}

/** Shows a value that is no text as JSON: the runtime accepts it, but the field would show `[object Object]`. */
export function showJson(node: EditorNode, name: string): void {
  const value = node[name];
  if (typeof value === 'object' && value !== null) fieldOf(name).val(JSON.stringify(value));
}

/** Shows a default of 0, for which the editor leaves a field empty, and which a new configuration node lacks. */
export function showZero(node: EditorNode, name: string): void {
  if ((node[name] ?? 0) === 0) fieldOf(name).val('0');
}

/**
 * Shows the name of an environment variable: a field for numbers would show nothing, a checkbox any text as checked, and
 * save that.
 */
export function showVariable(node: EditorNode, name: string): void {
  const value = node[name];
  if (variableOf(value) !== null) fieldOf(name).attr('type', 'text').val(String(value));
  else if (trimmed(value) === 'false') fieldOf(name).prop('checked', false);
}

/** Shows `rows` while the checkboxes and selects fulfil one of the conditions. */
export function showWhile(conditions: Condition | Condition[], rows: string): void {
  const follow = () => $(rows).toggle(holds(conditions, chosen));
  for (const name of new Set([conditions].flat().flatMap(Object.keys))) fieldOf(name).on('change', follow);
  follow();
}

/** Value of a field in the open dialog; null if there is none. */
function chosen(name: string): string | boolean | null {
  const field = fieldOf(name);
  if (field.is(':checkbox')) return field.is(':checked');
  // A select has none for a value that it doesn't offer.
  return (field.val() as string | null | undefined) ?? null;
}
