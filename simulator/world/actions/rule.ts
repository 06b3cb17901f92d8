import { invalidValue } from '../../http/refusals';

/** Conditions of an action before it is sent to the printer. */
export interface ActionRule {
  /** Permitted fields of `data`. */
  fields: string[];
  capability: string;
  /** Checks the data; throws invalidValue. */
  check?: (data: Record<string, unknown>) => void;
}

/** Returns a check of one field of `data`. */
export const field =
  (name: string, rule: string, fits: (value: unknown) => boolean, optional = false) =>
  (data: Record<string, unknown>): void => {
    if (optional && data[name] === undefined) return;
    if (!fits(data[name])) throw invalidValue('Action', name, rule, data[name]);
  };

export const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
export const isWhole = (value: unknown): boolean => typeof value === 'number' && Number.isInteger(value) && value >= 0;
