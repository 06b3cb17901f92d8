import { variableOf } from './text';

/** Values of other properties that a property is in use for; each is one value or a list of them. */
export type Condition = Readonly<Record<string, string | boolean | readonly string[]>>;

/** Whether one of the conditions holds. A variable without a value may have any. */
export const holds = (conditions: Condition | readonly Condition[], valueOf: (name: string) => unknown): boolean =>
  [conditions].flat().some((condition) =>
    Object.entries(condition).every(([name, wanted]) => {
      const value = valueOf(name);
      return variableOf(value) !== null || [wanted].flat().map(String).includes(String(value));
    }),
  );
