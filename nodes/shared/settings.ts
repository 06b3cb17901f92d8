import type { NodeDef } from 'node-red';
import { checkSet } from '../../lib/account/settings';
import type { NodeDefinition, Property, Saved, Settings } from './definition';
import { amountOr, type Setting } from './inputs';

/** Reads the settings of a node from its saved properties, with the defaults of its definition. */
export function settingsOf<D extends NodeDefinition>({ properties, parent }: D, saved: Saved<D>): Settings<D> {
  const values = saved as Readonly<Record<string, unknown>>;
  const read = ([name, property]: [string, Property]) => [name, valueOf(name, property, values)] as const;
  const link = parent === null ? {} : { [parent]: values[parent] };
  return { ...Object.fromEntries(Object.entries(properties).map(read)), ...link } as Settings<D>;
}

function valueOf(name: string, property: Property, saved: Readonly<Record<string, unknown>>): unknown {
  const value = saved[name];
  const given = value === undefined ? property.default : value;
  switch (property.kind) {
    case 'typed': {
      const type = saved[`${name}Type`] as string | undefined;
      // Range words are plain strings.
      return { value, type: type === 'relative' ? 'str' : type, message: property.message, name } satisfies Setting;
    }
    case 'text':
      if (property.message === undefined) return given;
      return { value, type: 'str', message: property.message, name } satisfies Setting;
    case 'amount':
      return amountOr(value, property.default, property.least);
    case 'checkbox':
      return typeof value === 'boolean' ? value : property.default;
    case 'select':
      return given;
  }
}

/**
 * Throws NOT_CONFIGURED for a setting whose environment variable is not set. Such a setting would otherwise be used as it
 * was typed, or replaced by its default.
 */
export function checkVariables(saved: NodeDef): void {
  const values = saved as unknown as Readonly<Record<string, unknown>>;
  // An expression may begin like a variable.
  checkSet(Object.fromEntries(Object.entries(values).filter(([name]) => values[`${name}Type`] !== 'jsonata')));
}
