import type { RED as Client, WidgetTypedInputOptions, WidgetTypedInputTypeDefinition } from '@node-red/editor-client';

/** A node in validators and dialogs, with the definition of its type; any property may have any value from an imported flow. */
export type EditorNode = Record<string, unknown> & {
  id: string;
  _(key: string, options?: { defaultValue: string }): string;
  _def: { defaults: Record<string, { value: unknown }> };
};

/** A TypedInput type with suggestions during input. */
export type InputType = WidgetTypedInputTypeDefinition & {
  icon?: string;
  autoComplete?: (typed: string) => { value: string; label: string }[];
};

export type InputOptions = Omit<WidgetTypedInputOptions, 'types'> & {
  types: (WidgetTypedInputOptions['types'][number] | InputType)[];
};

/** Node-RED's global of the editor page, with members that its published types lack. */
export interface Red extends Pick<Client, '_' | 'comms' | 'events' | 'nodes' | 'view' | 'workspaces'> {
  settings: { apiRootUrl?: string };
  editor: Client['editor'] & { getEditStack(): { id: string }[] };
  clipboard: { copyText(value: string, element: JQuery, message: string): boolean };
  validators: { typedInput(typeName: string): (this: EditorNode, value: string, options: object) => true | string };
}
