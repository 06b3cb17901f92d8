import { checkSet } from '../../lib/account/settings';
import { holds } from '../../lib/rules/conditions';
import { readAmount, readNumber, trimmed } from '../../lib/rules/text';
import { PrintingError } from '../../lib/service/errors';
import { phrase, type Sentence } from '../../lib/words/sentence';
import type { NodeDefinition, Property, Saved, Settings } from './definition';
import { isBlank, kindOf, type Setting } from './inputs';

type Properties = Pick<NodeDefinition, 'properties'>;
type Values = Readonly<Record<string, unknown>>;

/**
 * Reads the settings of a node from its saved properties, with the defaults of its definition. A malformed setting gets a
 * harmless value, so whatever works with the settings calls `checkSettings` first.
 */
export function settingsOf<D extends NodeDefinition>({ properties, parent }: D, saved: Saved<D>): Settings<D> {
  const values = saved as Values;
  const link = parent === null ? {} : { [parent]: values[parent] };
  return { ...read({ properties }, values), ...link } as Settings<D>;
}

const read = ({ properties }: Properties, saved: Values): Values =>
  Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, valueOf(name, property, saved) ?? harmless(property)]),
  );

/** In place of a malformed setting: the default of a path may be the path of another node. */
const harmless = (property: Property): unknown => (property.kind === 'text' ? '' : property.default);

/** Value of a setting, with the default for a missing one; null if it is malformed. */
function valueOf(name: string, property: Property, saved: Values): unknown {
  const value = saved[name];
  switch (property.kind) {
    case 'typed': {
      const { message, defaultType = 'str' } = property;
      const type = (saved[`${name}Type`] as string | undefined) ?? defaultType;
      // Range words are plain strings.
      return { value, type: type === 'relative' ? 'str' : type, message, name } satisfies Setting;
    }
    case 'text': {
      const { message } = property;
      const given = value ?? (message === undefined ? property.default : undefined);
      // The value of a variable of a tab may be a number.
      const text = typeof given === 'number' ? String(given) : given;
      if (text !== undefined && typeof text !== 'string' && !property.json) return null;
      return message === undefined ? text : ({ value: text, type: 'str', message, name } satisfies Setting);
    }
    case 'amount': {
      if (isBlank(value)) return property.default;
      // A smaller interval counts as the least one (reference 2.2).
      const number = property.least ? readNumber(value) : readAmount(value, property.least);
      return number === null ? null : Math.max(number, property.least ?? 0);
    }
    case 'checkbox':
      if (isBlank(value)) return property.default;
      // The value of an environment variable is text.
      return [true, false].find((flag) => flag === value || String(flag) === trimmed(value)) ?? null;
    case 'select': {
      if (value === undefined) return property.default;
      // A blank setting reads the message, where it can.
      if (isBlank(value)) return property.options.find((option) => option.startsWith('msg.')) ?? property.default;
      return property.options.find((option) => option === value) ?? null;
    }
  }
}

/**
 * Throws NOT_CONFIGURED for a setting that is malformed, or whose environment variable is not set: it would otherwise be
 * used as it was typed, or replaced by its default. A setting that the form hides is not in use, and nobody could correct it.
 */
export function checkSettings({ properties }: Properties, saved: object): void {
  const values = saved as Values;
  const settings = read({ properties }, values);
  const isUsed = ([name]: [string, unknown]) => {
    const { when } = properties[name] ?? {};
    return when === undefined || holds(when, (other) => settings[other]);
  };
  // An expression may begin like a variable.
  const isText = ([name]: [string, unknown]) => values[`${name}Type`] !== 'jsonata';
  checkSet(Object.fromEntries(Object.entries(values).filter(isUsed).filter(isText)));
  for (const [name, property] of Object.entries(properties).filter(isUsed))
    if (valueOf(name, property, values) === null)
      throw new PrintingError('NOT_CONFIGURED', malformed(name, property, values[name]));
}

function malformed(name: string, property: Property, value: unknown): Sentence {
  if (property.kind === 'text') return phrase`The property ${name} must be a string, but it is ${kindOf(value)}.`;
  return phrase`The property ${name} must be ${ruleOf(property)}: correct it in the node.`;
}

function ruleOf(property: Property): Sentence {
  switch (property.kind) {
    case 'amount':
      return property.least === undefined ? phrase`a number above 0` : phrase`a number from ${property.least}`;
    case 'select':
      return phrase`one of ${property.options.join(', ')}`;
    default:
      return phrase`true or false`;
  }
}
