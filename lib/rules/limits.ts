/** Every limit on input from outside: the service, files, messages, the database and typed settings. */

/**
 * Of one answer that is read as a whole. A cluster status has 18 kB and 800 values, a page of 250 clusters 600 kB and 26,000.
 * `JSON.parse` makes up to 1.2 µs and 350 bytes of a value. A service that ignores `limit` may send a list of 3,300
 * clusters at once, which has 8 MiB and 350,000 values: a long list is parsed in parts, so that the event loop turns.
 */
export const ANSWER = {
  /** Held while an answer arrives. */
  bytes: 8 * 1024 * 1024,
  /** Objects and arrays inside each other: `structuredClone` and all readers of an answer recurse. */
  depth: 64,
  /** Values in all, those of every level counted. */
  elements: 500_000,
  /** Values of what is parsed at once: an entry of a list, or an answer that is no list. Under 100 ms. */
  piece: 50_000,
  /** Values, and bytes, after which a long list is cut at the next entry. */
  batch: 5_000,
  batchBytes: 512 * 1024,
} as const;

/**
 * Of a list that comes in pages, all its pages together. The list of 10,000 printers has 25 MB and a million values; the
 * values are what memory goes by.
 */
export const PAGES = {
  /** Entries that a page is asked to have. */
  entries: 250,
  count: 1_000,
  bytes: 64 * 1024 * 1024,
  elements: 2_000_000,
} as const;

/** Of the text of one value, in UTF-16 code units; a longer text is cut. */
export const TEXT = {
  /** A field of an answer; a longer one counts as missing. Tokens and signed addresses have some thousands. */
  field: 16_000,
  /** Given to a pattern. */
  matched: 2_000,
  /** Shown to people: a status, the sentence of an error. */
  shown: 300,
  /** The service's own words inside a sentence. */
  quoted: 200,
  /** A typed setting; a longer one is refused. An API token may have some thousands. */
  setting: 16_000,
} as const;

/** Of a filter that a message gives; more is refused. */
export const FILTER = {
  /** Characters of one value, which goes into an address. No name of a print job is as long. */
  value: 500,
  /** Values of one kind. Every printing of an answer is compared with each. */
  values: 1_000,
} as const;

/**
 * Of a runtime's entry among those that share a database (ADR 12), which a runtime of another version may have written. A
 * farm of 10,000 printers that are watched one by one has 400 kB.
 */
export const MEMBER = {
  /** Characters of its JSON, and of the note that goes with an item; a longer one counts as missing. */
  content: 2_000_000,
  /** Clusters that it watches one by one, and clusters that it waits for. */
  clusters: 20_000,
} as const;

/** Bytes of one notification on a database channel; PostgreSQL itself allows 8,000. */
export const NOTIFICATION = 8_000;

/**
 * Entries of one list of a cluster status: its queue, its history, its printers. Some steps of the watching compare each
 * with each.
 */
export const STATUS_LIST = 1_000;

/** Of a report's table. Columns are paid for in every row, even in one of a single byte. */
export const TABLE = {
  columns: 200,
  /** Rows times columns, of a table that is held in memory. */
  cells: 20_000_000,
  /** Bytes of a line; a longer one is no line of a table: a quote was opened there and never closed. */
  line: 256 * 1024,
  /** Bytes that are read at once; the event loop turns before the next. */
  part: 8 * 1024,
  /** Cells that are made at once: a row of many columns is slow to make. */
  turn: 100_000,
} as const;

/** Lifetime of an access token, ms. */
export const LONGEST_LIFETIME = 10 * 365 * 24 * 60 * 60 * 1000;

/** Bytes of a download that its storage encoded, once decoded: no stored file is larger. */
export const DECODED = 1024 ** 3;
