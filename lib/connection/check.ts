import type { Overridable } from '../rules/paths';
import { asPrintingError } from '../service/errors';
import { phrase, type Sentence, type Value } from '../words/sentence';

/** A line of the connection test (reference 5). */
export interface Check {
  /** Stable: `apiHost`, `path.printJobs`, … */
  name: string;
  /** Null if it was not checked or is undecided; `detail` says which. */
  ok: boolean | null;
  /** One sentence for people. */
  detail: Sentence;
  /** A path to put into the account's `paths` in place of the one in use. */
  suggestion?: { name: Overridable; value: string };
}

/** The line of a check that failed. */
export const failed = (name: string, thrown: unknown): Check => ({
  name,
  ok: false,
  detail: asPrintingError(thrown).sentence,
});

/** The line of a check that needs the result of an earlier one. */
export const notChecked = (name: string, why: Sentence): Check => ({
  name,
  ok: null,
  detail: phrase`Not checked: ${why}.`,
});

/** Removes credentials from the lines, in case an answer of the service repeated them. */
export function withoutSecrets(checks: Check[], secrets: (string | undefined)[]): Check[] {
  const present = secrets.filter((secret) => secret !== undefined && secret.length > 0) as string[];
  const hidden = (value: Value): Value =>
    typeof value === 'string' ? present.reduce((words, secret) => words.replaceAll(secret, '…'), value) : value;
  return checks.map((check) => ({ ...check, detail: check.detail.with(hidden) }));
}
