/** Every limit on input from outside: the service, files, messages, the database and typed settings. */

/** Of one JSON answer of the service. */
export const ANSWER = {
  bytes: 8 * 1024 * 1024,
  /** Objects and arrays inside each other. */
  depth: 64,
  /** Values in all, those of every level counted. */
  elements: 250_000,
} as const;

/** Of a list that comes in pages, all its pages together. */
export const PAGES = { count: 1_000, bytes: 64 * 1024 * 1024 } as const;

/** Of the text of one value, in UTF-16 code units; a longer text is cut. */
export const TEXT = {
  /** Given to a pattern. */
  matched: 2_000,
  /** Shown to people: a status, the sentence of an error. */
  shown: 300,
  /** A typed setting. */
  setting: 4_000,
} as const;

/** Bytes of one notification on a database channel; PostgreSQL itself allows 8,000. */
export const NOTIFICATION = 8_000;

/** Print jobs of one cluster status, queue and history together. */
export const JOBS_IN_STATUS = 1_000;
