import type { Overridable } from '../rules/path-overrides';
import { asPrintingError } from '../service/errors';
import { phrase, type Sentence, type Value } from '../words/sentence';

/** A line of the connection test (reference 5). */
export interface Check {
  /** Stable: `apiHost`, `path.printJobs`, … */
  name: string;
  /** null: it was not checked, or it can't be told; `detail` says which. */
  ok: boolean | null;
  /** One sentence for people. */
  detail: Sentence;
  /** A path that may be put into the account's `paths` instead of the one in use. */
  suggestion?: { name: Overridable; value: string };
}

/** The line of something that could not be done. */
export const failed = (name: string, thrown: unknown): Check => ({
  name,
  ok: false,
  detail: asPrintingError(thrown).sentence,
});

/** The line of something that needs what an earlier line has not found. */
export const notChecked = (name: string, why: Sentence): Check => ({
  name,
  ok: null,
  detail: phrase`Not checked: ${why}.`,
});

/** The same lines with nothing in them that signs anybody in, should an answer of the service have repeated it. */
export function withoutSecrets(checks: Check[], secrets: (string | undefined)[]): Check[] {
  const told = secrets.filter((secret) => secret !== undefined && secret.length > 0) as string[];
  const hidden = (value: Value): Value =>
    typeof value === 'string' ? told.reduce((words, secret) => words.replaceAll(secret, '…'), value) : value;
  return checks.map((check) => ({ ...check, detail: check.detail.with(hidden) }));
}
