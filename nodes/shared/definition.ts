import type { NodeDef } from 'node-red';
import type { Condition } from '../../lib/rules/conditions';
import type { Setting } from './inputs';

/**
 * Describes a node, in the order of its form. The build makes the form, the reference and the pages from it
 * (scripts/form.mjs, scripts/reference.mjs), the runtime its settings (settings.ts). Every node has a name, and all but the
 * account have a parent; neither is listed. Texts have the keys `label.<property>`, `placeholder.<property>`,
 * `<property>.<option>`, `group.<group>`, `groupTip.<group>` and `port.<output>`, in the node's texts.json or, if several
 * nodes share them, the account's.
 */
export interface NodeDefinition {
  /** Names of the output ports; missing for a configuration node. Each flow node has one input. */
  outputs?: readonly string[];
  /** Kind of configuration node that the node belongs to, and the property with its id; null for none. */
  parent: 'account' | 'queue' | null;
  /** Kind whose node may take the parent's place; exactly one of the two is chosen. */
  alternative?: 'queue';
  properties: Readonly<Record<string, Property>>;
  credentials?: Readonly<Record<string, 'text' | 'password'>>;
  /** Credential that a button of the form makes. */
  maker?: string;
}

export type Property = Text | Typed | Amount | Select | Checkbox;

interface Common {
  /** Explanation in the reference, Markdown. */
  meaning: string;
  /** Name in Font Awesome, of the row's label. */
  icon?: string;
  /** Values of other properties that the row is shown for; one of several conditions is enough. */
  when?: Condition | readonly Condition[];
  /** Group of the form that begins with this row. */
  group?: string;
}

interface Text extends Common {
  kind: 'text';
  default: string;
  /** Rule of editor/validators.ts, such as `milestones()`. */
  validate?: string;
  /** Field of editor/index.ts; a plain one if missing. */
  input?: 'hours' | 'printers' | 'tags' | 'prices';
  /** Key of the text after a narrow field. */
  unit?: string;
  /** Message property that a blank field reads. */
  message?: string;
  /** Whether the text is JSON, which a flow may also contain as it is. */
  json?: boolean;
}

/** Property `x` with the type of its value in `xType`. */
interface Typed extends Common {
  kind: 'typed';
  default: string;
  /** Default type; `str` if missing. */
  defaultType?: string;
  /** Message property that a blank field reads (reference 2.2); null for none. */
  message: string | null;
  /** Field of editor/inputs.ts; a plain value if missing. */
  input?: 'range' | 'printer' | 'member' | 'printJob' | 'storedJob' | 'item' | 'file';
  /** Key of the text in the empty field, unless it is `placeholder.<property>`. */
  placeholder?: string;
  /** Labels and tips of the row, each for one value of the property `by`: the keys of their texts. */
  variants?: {
    by: string;
    labels?: Readonly<Record<string, string>>;
    tips: Readonly<Record<string, string>>;
  };
}

/** Positive number. */
interface Amount extends Common {
  kind: 'amount';
  default: number;
  /** Smallest value; 0 allows 0. */
  least?: number;
  /** Key of the text after the field. */
  unit: string;
  /** Saved units in one unit of the field; 1 if missing. */
  per?: number;
}

interface Select extends Omit<Common, 'meaning'> {
  kind: 'select';
  /** Explanation in the reference; a list of the options if missing. */
  meaning?: string;
  default: string;
  /** Values; `msg.x`, with the text `<property>.message`, reads the message. An option without a text is shown as it is. */
  options: readonly string[];
  /** Tips of the row, each for one option: the keys of their texts. */
  tips?: Readonly<Record<string, string>>;
}

interface Checkbox extends Common {
  kind: 'checkbox';
  default: boolean;
}

type Properties<D extends NodeDefinition> = D['properties'];
type TypedName<D extends NodeDefinition> = {
  [N in keyof Properties<D>]: Properties<D>[N] extends Typed ? N : never;
}[keyof Properties<D>];
type SavedValue<P extends Property> = P extends Checkbox ? boolean : P extends Amount ? number | string : string;

/** Name of the property with the id of the node's parent. */
type Parent<D extends NodeDefinition> = NonNullable<D['parent']>;

/** Properties of a node as a flow contains them; any may be missing. */
export type Saved<D extends NodeDefinition> = NodeDef &
  Partial<Record<Parent<D>, string>> & {
    [N in keyof Properties<D>]?: SavedValue<Properties<D>[N]>;
  } & { [N in TypedName<D> & string as `${N}Type`]?: string };

export type SavedCredentials<D extends NodeDefinition> = { -readonly [N in keyof D['credentials']]?: string };

type Value<P extends Property> = P extends Typed | { message: string }
  ? Setting
  : P extends Amount
    ? number
    : P extends Checkbox
      ? boolean
      : P extends Select
        ? P['options'][number]
        : string;

/** Settings of a node at run time: with defaults, and with each pair in one. */
export type Settings<D extends NodeDefinition> = Record<Parent<D>, string | undefined> & {
  -readonly [N in keyof Properties<D>]: Value<Properties<D>[N]>;
};
