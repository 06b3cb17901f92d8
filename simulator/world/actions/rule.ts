import { invalidValue } from '../../http/refusals';

/** What holds for one action before it is passed on to the printer. */
export interface ActionRule {
  /** Fields of `data`. */
  fields: string[];
  capability: string;
  /** Throws invalidValue. */
  check?: (data: Record<string, unknown>) => void;
}

/** Checks one field of `data`, where it is given or must be. */
export const field =
  (name: string, rule: string, fits: (value: unknown) => boolean, optional = false) =>
  (data: Record<string, unknown>): void => {
    if (optional && data[name] === undefined) return;
    if (!fits(data[name])) throw invalidValue('Action', name, rule, data[name]);
  };

export const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
export const isWhole = (value: unknown): boolean => typeof value === 'number' && Number.isInteger(value) && value >= 0;
