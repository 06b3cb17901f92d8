/** Every limit on input from outside: the service, files, messages, the database and typed settings. */

/**
 * Limits of one answer that is read whole. A cluster status has 18 kB and 800 values, a page of 250 clusters 600 kB and
 * 26,000. `JSON.parse` needs up to 1.2 µs and 200 bytes per value. A service that ignores `limit` may send a list of
 * 3,300 clusters at once, which has 8 MiB and 350,000 values: a long list is parsed in parts, so that the event loop
 * turns.
 */
export const ANSWER = {
  /** Bytes buffered while an answer arrives. */
  bytes: 8 * 1024 * 1024,
  /** Nesting of objects and arrays: `structuredClone` and all readers of an answer recurse. */
  depth: 64,
  /** Values at all levels together, of an answer that is a list or has one as its `data`. */
  elements: 500_000,
  /** Entries of its list. Each becomes a record of some thirty fields, however bare it is. */
  entries: 5_000,
  /** Bytes up to which an answer is short: it is parsed before its values are counted. It can have no more than `piece`. */
  short: 32 * 1024,
  /** Values parsed and copied at once: an entry of such a list, or any other answer. Takes less than 100 ms. */
  piece: 50_000,
  /** Values, and bytes, after which a long list is split at the next entry. */
  batch: 5_000,
  batchBytes: 512 * 1024,
} as const;

/**
 * A press on a board: levels and values of its properties, which go into a message. Node-RED clones a message by recursion, and
 * ends at some thousand levels.
 */
export const PRESS = { depth: 8, values: 5_000 } as const;

/** Bytes of a cluster's status, which is read as a whole. The status of a printer with 40 jobs has 60 kB. */
export const STATUS_BYTES = 2 * 1024 * 1024;

/** Entries of a list to request per page, and to process before the event loop turns. */
export const PAGE = 250;

/**
 * Limits of one question, all its lists and their pages together. The list of 10,000 printers has 25 MB and a million
 * values; the number of values and of entries determines the memory, which must fit into a heap of 512 MB.
 */
export const QUESTION = {
  pages: 1_000,
  bytes: 64 * 1024 * 1024,
  elements: 1_250_000,
  entries: 50_000,
} as const;

/** Limits of the text of one value, in UTF-16 code units; longer text is truncated. */
export const TEXT = {
  /** A field of an answer; a longer one counts as missing. Tokens and signed URLs have some thousands. */
  field: 16_000,
  /** Text that is matched with a pattern. */
  matched: 2_000,
  /** A print key; a longer one is rejected. It is stored, and compared with all others. */
  printKey: 1_000,
  /** Shown to people: a status, the sentence of an error. */
  shown: 300,
  /** The service's text inside a sentence. */
  quoted: 200,
  /** A configured setting; a longer one is rejected. An API token may have some thousands. */
  setting: 16_000,
} as const;

/** Printers of one message: those that it names, or that its filter chooses. Each has a result of its own. */
export const MESSAGE_PRINTERS = 10_000;

/** Stored jobs, or print jobs, to choose from in a form, after the search. */
export const FORM_JOBS = 1_000;

/** Of a filter that a message gives; more is refused. */
export const FILTER = {
  /** Characters of one value, which goes into an address. No name of a print job is as long. */
  value: 500,
  /** Values of one kind. Every printing of an answer is compared with each. */
  values: 1_000,
  /** Materials of a filter of printers. Each is compared with all that are loaded in each printer. */
  materials: 10,
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

/** Of what a toolpath file states about itself. */
export const TOOLPATH = {
  /** Bytes read at either end, and bytes inflated. */
  bytes: 1024 * 1024,
  /** Lines of a slicer's header or configuration; the longest has about 600. */
  lines: 20_000,
  /** Characters before a slicer's configuration, which contain the figures of the print. */
  before: 16 * 1024,
  /** Entries of a UFP file; slicers write about ten. */
  entries: 256,
  /** Extruders; no printer of the service has more than two. */
  extruders: 16,
} as const;

/** Entries to keep of the lists of one printer, in a status as in the list of printers. */
export const PRINTER = {
  /** No printer of the service has more than two. */
  extruders: 16,
  /** Faults, and errors; each that is new becomes an event. */
  faults: 20,
} as const;

/** Of a printer's material station. */
export const STATION = {
  /** Slots; a station of the service has six. */
  slots: 32,
  /** Extruders that its slots may feed; no printer of the service has more than two. */
  extruders: 16,
} as const;

/** Of what a message requires of a printer (print queue, 3.2). */
export const REQUIRE = {
  /** Values of one requirement. Every printer is compared with each. */
  values: 100,
  /** Extruders of a requirement. */
  extruders: 16,
} as const;

/** Copies of an item of a queue. */
export const COPIES = 10_000;

/** Prints of an item that an event of the queue shows, the newest; a message of the queue shows all. */
export const EVENT_PRINTS = 20;

/** Reasons in the explanation of an order. Each of its items has one for every printer, and each becomes a record. */
export const EXPLAINED = 200_000;

/** Bytes of a picture, unless a node sets another limit. */
export const PICTURE = 20 * 1024 * 1024;

/** Bytes of one notification on a database channel; PostgreSQL itself allows 8,000. */
export const NOTIFICATION = 8_000;

/**
 * Entries of one list of a cluster status: its queue, its history, its printers, the faults of all of these together. Some
 * steps of watching compare every pair.
 */
export const STATUS_LIST = 1_000;

/** Jobs of a cluster that events follow from one status to the next. No printer has as many. */
export const KNOWN_JOBS = 200;

/** Of the service's own description. */
export const DESCRIPTION = {
  /** Bytes; three arrive at the same time. */
  bytes: 2 * 1024 * 1024,
  /** Paths. */
  paths: 500,
  /** Characters of a path. */
  path: 300,
} as const;

/** Entries to keep of the lists of one print job. */
export const JOB = {
  /** Impediments. */
  problems: 20,
  /** Changes that it requires at the printer. */
  changes: 20,
  /** Extruders whose materials it names. */
  materials: 16,
} as const;

/** Capabilities of a cluster to keep; the service has some thirty. */
export const CAPABILITIES = 200;

/** Printers per account with figures of their own; a scrape of as many has 40 MB. Further ones count in totals only. */
export const METERED_PRINTERS = 10_000;

/** Limits of a report's table. Every row pays for all columns, even a row of a single byte. */
export const TABLE = {
  columns: 200,
  /** Cells of a table that is held in memory as rows: a heap of 512 MB has room for them and for a copy. */
  cells: 2_000_000,
  /** Printers and materials of a summary; a farm has at most 10,000 printers. */
  names: 20_000,
  /** Bytes of a table that is held in memory, as rows or as text. */
  held: 64 * 1024 * 1024,
  /** Bytes of a line; a longer one means a quote that is never closed. */
  line: 256 * 1024,
  /** Bytes parsed at once; the event loop turns before the next part. */
  part: 8 * 1024,
  /** Cells parsed at once, because a row of many columns is slow to build. */
  turn: 100_000,
} as const;

/** Duration of a print, s; a longer one counts as missing. Dates are computed from it, and a date has its limits, too. */
export const LONGEST_PRINT = 365 * 24 * 60 * 60;

/** A span in the settings of a print queue, s; a longer one counts as this one. */
export const LONGEST_SPAN = LONGEST_PRINT;

/** Days for which a print queue lists ended items; more count as these. */
export const LONGEST_KEPT = 36_500;

/** Time from now that the forecast of a print queue covers, ms. */
export const FORESEEN = 10 * 365 * 24 * 60 * 60 * 1000;

/** Lifetime of an access token, ms. */
export const LONGEST_LIFETIME = 10 * 365 * 24 * 60 * 60 * 1000;

/** Decoded bytes of a download with a content coding: no stored file is larger. */
export const DECODED = 1024 ** 3;

/**
 * Reads a setting such as `25,50,75` into rising percentages above 0 and up to 100; blank means none, null is a fault.
 */
export function readMilestones(setting: string): number[] | null {
  if (setting.length > TEXT.setting) return null;
  if (setting.trim() === '') return [];
  const parts = setting.split(',').map((part) => part.trim());
  const milestones = parts.map((part) => (/^\d+(\.\d+)?$/.test(part) ? Number(part) : NaN));
  if (!milestones.every((milestone) => milestone > 0 && milestone <= 100)) return null;
  return [...new Set(milestones)].sort((a, b) => a - b);
}
