import type { ClockState } from './clock';

/** Version of the stored state. */
export const VERSION = 4;

/**
 * The complete state of the simulated service, as stored in world.json. Virtual times are ms of
 * `SimulatorClock.virtual()`.
 */
export interface State {
  version: typeof VERSION;
  seed: number;
  nextId: number;
  clock: ClockState;
  organizations: Organization[];
  users: User[];
  clusters: Cluster[];
  projects: LibraryProject[];
  storedJobs: StoredJob[];
  libraryFiles: LibraryFile[];
  /** Kind of future upload addresses. */
  uploadMode: UploadMode;
  /** Switches for future files. Older worlds lack it. */
  parsingSwitch?: ParsingSwitch;
  reports: Report[];
  /** Switches for future reports. */
  reportSwitch: ReportSwitch;
  /** Format of `organization_memberships` of the current user (wire facts 11). */
  memberships: 'ids' | 'objects';
  access: AccessState;
}

export interface Organization {
  organizationId: string;
  organizationName: string;
}

export interface User {
  userId: string;
  username: string;
  password: string;
  name: string;
  organizationIds: string[];
  /** Static API tokens (wire facts 3.1), each for one workspace. */
  apiTokens: { token: string; organizationId: string }[];
}

/** Secrets, grants and counters of the token endpoint. */
export interface AccessState {
  signingKey: string;
  grants: Grant[];
  /** Serial number of the next access token. */
  nextToken: number;
  /** Access tokens below this serial number count as expired. */
  expiredBelow: number;
  expiredStatus: 401 | 403;
  /** Seconds for which a spent refresh token still works; null: always. Missing: 0. */
  refreshGrace?: number | null;
  exchanges: number;
  refreshes: number;
  reuseDetections: number;
  /** Time of the last answer with tokens, real ms since 1970. */
  lastAnswerAt: number | null;
}

/** A PKCE challenge (wire facts 3). */
export interface Challenge {
  value: string;
  method: 'S256' | 'S512';
}

/** One sign-in of a user by a client. */
export interface Grant {
  grantId: string;
  clientId: string;
  redirectUri: string;
  scope: string;
  userId: string;
  organizationId: string;
  code: string;
  codeExpiresAt: number;
  codeUsed: boolean;
  challenge: Challenge | null;
  refreshToken: string | null;
  spentRefreshTokens: string[];
  revoked: boolean;
}

/** Kinds of upload addresses; wire facts 4.2 leave the kind open. */
export const UPLOAD_MODES = ['one-time', 'session', 'plain'] as const;
export type UploadMode = (typeof UPLOAD_MODES)[number];
export const isUploadMode = (text: string): text is UploadMode => (UPLOAD_MODES as readonly string[]).includes(text);

/** An announced or uploaded file. Its bytes are in `files/<key>`. */
export interface StoredFile {
  key: string;
  organizationId: string;
  userId: string;
  fileSize: number;
  contentType: string;
  origin: string | null;
  libraryProjectId: string | null;
  createdAt: number;
  uploadMode: UploadMode;
  /** Time when something was stored at the upload address, complete or not, real ms since 1970. */
  usedAt: number | null;
  /** Time from which the record says `uploaded`, real ms since 1970. */
  uploadedAt: number | null;
  sha256: string | null;
  /** Name of the uploader in place of the user's; null if the user was deleted. */
  username?: string | null;
  /** Why the service could not use the file; its status is `failed` then. */
  failure?: string;
  /** OAuth client that announced it. Older worlds lack it. */
  clientId?: string;
}

/** A toolpath file. */
export interface StoredJob extends StoredFile {
  jobId: string;
  jobName: string;
  sourceFileId: string | null;
  /** Printing time in seconds: from the slicer's comment, else guessed by size. */
  printSeconds: number;
  /** Whether `printSeconds` comes from the file. */
  parsed: boolean;
  /** Material per extruder that the file's header states. Older worlds lack it. */
  needs?: MaterialNeed[];
  /** Printer that the file's header names. Older worlds lack it. */
  target?: PrintTarget;
  /** Fields of the file's header; null without one. Older worlds lack it. */
  header?: Record<string, string> | null;
  /** End and result of the service's parsing. Older worlds lack it, and have parsed the file. */
  parsing?: Parsing;
}

/** Printer that a file is sliced for; null where its header says nothing. */
export interface PrintTarget {
  /** Display form, as in `machine_variant`. */
  machine: string | null;
  buildPlate: string | null;
}

export interface Parsing {
  /** Virtual ms; null for never. */
  at: number | null;
  result: 'success' | 'failed';
}

/** Switches for the parsing of future files. */
export interface ParsingSwitch {
  /** `stuck` never ends it. Default: success, or failed for a file with mistakes. */
  outcome?: 'success' | 'failed' | 'stuck';
  /** Duration in virtual seconds. */
  seconds?: number;
}

/** Material that a file needs on one extruder. */
export interface MaterialNeed {
  extruder: number;
  /** mm³. */
  volume: number;
  guid: string | null;
  printCore: string | null;
}

/** A mesh, an image or a document in the library. */
export interface LibraryFile extends StoredFile {
  fileId: string;
  fileName: string;
}

export interface LibraryProject {
  libraryProjectId: string;
  organizationId: string;
  displayName: string;
  /** Whether all users of the workspace see it, in place of its creator alone. */
  shared: boolean;
  userId: string;
  /** Real ms since 1970. */
  createdAt: number;
  comments: { commentId: string; body: string; userId: string; at: number }[];
}

/** Outcome of prints sent to a cluster. */
export type Dispatch = 'queued' | 'wait_approval' | 'failed';

/**
 * End of a print on the wire: `automatic` shows the cleanup state for some minutes, `manual` until the plate is
 * cleared, `none` never.
 */
export const CLEANINGS = ['automatic', 'manual', 'none'] as const;
export type Cleaning = (typeof CLEANINGS)[number];

/**
 * Words for the end of a print that was aborted or failed (wire facts 12.2): `long` ones name the end from the first
 * second on; `short` ones show `wait_cleanup` with less time than the total.
 */
export const END_WORDS = ['long', 'short'] as const;
export type EndWords = (typeof END_WORDS)[number];

/**
 * Fate of a job whose file doesn't suit the printer: it prints nevertheless, it waits in the queue, or it goes
 * to the printer and waits there.
 */
export const MISMATCHES = ['ignored', 'queued', 'wait_user_action'] as const;
export type Mismatch = (typeof MISMATCHES)[number];

export interface Cluster {
  clusterId: string;
  hostGuid: string;
  hostName: string;
  friendlyName: string | null;
  /** Older worlds lack it. */
  note?: string | null;
  model: string;
  /** Name of the model in place of its own, so that files of real slicers suit. Older worlds lack it. */
  variant?: string;
  /** Whether it has a material station, in place of the model's own. Older worlds lack it. */
  station?: boolean;
  organizationId: string;
  userId: string;
  online: boolean;
  /** Start of the connection, virtual ms. Older worlds lack it. */
  onlineSince?: number;
  /** End of an outage that ends by itself, virtual ms. Older worlds lack it. */
  backAt?: number | null;
  authorized: boolean;
  capabilities: string[];
  recentHistory: boolean;
  cleaning: Cleaning;
  endWords: EndWords;
  /** Replaces the status for user interfaces, whose values are unknown (wire facts 5). */
  displayStatus?: string;
  /** Older worlds lack it, and ignore mismatches. */
  mismatch?: Mismatch;
  dispatch: Dispatch;
  actionSwitch: ActionSwitch;
  pictureSwitch: PictureSwitch;
  /** Changes that future prints require. */
  requiredChanges: RequiredChange[];
  firmware: { version: string; latest: string | null; updateStatus: string };
  printers: Printer[];
  /** Waiting and active jobs, in order of the queue. */
  queue: PrintJob[];
  /** Ended jobs, newest first. */
  history: PrintJob[];
  /** All ended prints, oldest first. */
  log: EndedPrint[];
  /** Recent actions, oldest first. */
  actions: Action[];
  maintenance: Maintenance;
  /** Null while the cluster is online. */
  lastReport: LastReport | null;
}

/** Jobs of a cluster before it went offline at virtual `at`, which was real `now`. */
export interface LastReport extends Pick<Cluster, 'queue' | 'history'> {
  at: number;
  now: number;
  /** Older worlds lack it. */
  log?: EndedPrint[];
}

export interface Printer {
  uuid: string;
  name: string;
  enabled: boolean;
  /** Status that overrides the job's: `error`, `unreachable`, `maintenance`. */
  trouble: string | null;
  faults: PrinterFault[];
  extruders: Extruder[];
  /** Slots of its material station, in order; only with a station. Its extruders are empty between the prints. */
  slots?: Slot[];
  /** Temperature from 0 (room) to 1 (printing), moving from `level` to `target` since a virtual time. */
  warmth: { level: number; target: 0 | 1; since: number };
  freeSince: number;
  /** The uuid of the ended print whose part is still on the build plate. Older worlds lack it. */
  left?: string | null;
  /** Whether that part is still there because the plate was not cleared. Older worlds lack it. */
  uncleared?: boolean;
  /** Older worlds lack it; it is of glass then. */
  buildPlate?: string;
}

export interface PrinterFault {
  uuid: string;
  code: string;
  message: string;
  severity: string;
  /** Real ms since 1970. */
  at: number;
}

export interface Extruder {
  printCore: string | null;
  /** Loaded material; null for an empty bay. */
  material: Material | null;
  /** Rest on the spool, mm³. Older worlds lack it. */
  volumeLeft?: number;
  /** Index of the station's slot that feeds it during a print. */
  slot?: number;
}

/** A slot of a material station (wire facts 6.2). */
export interface Slot {
  /** Index of the extruder that it feeds; null for a free slot. */
  extruder: number | null;
  /** Spool in it; null without one. */
  material: Material | null;
  /** Rest on the spool, mm³; null if the printer doesn't know it. */
  volumeLeft: number | null;
  /** Whether the extruder's print core can print the material. */
  compatible: boolean;
}

export interface Material {
  guid: string;
  brand: string;
  color: string;
  material: string;
}

export interface RequiredChange {
  type_of_change: string;
  index: number;
  origin_id: string;
  origin_name: string;
  target_id: string;
  target_name: string;
  is_overridable: boolean;
}

/** A text about a print job, and its author; null if the user was deleted (wire facts 8). */
export interface StatusMessage {
  body: string;
  userId: string | null;
  username: string | null;
  /** Real ms since 1970. */
  at: number;
}

/** An obstacle to a print (wire facts 8). */
export interface Impediment {
  translation_key: string;
  severity: string;
}

export type ActiveStatus =
  | 'sent_to_printer'
  | 'wait_user_action'
  | 'pre_print'
  | 'printing'
  | 'pausing'
  | 'paused'
  | 'resuming'
  | 'aborting'
  | 'post_print'
  | 'wait_cleanup'
  | LongWord;
/** Word of a print whose bad end is certain, while it still occupies its printer (wire facts 12.2). */
export type LongWord = `${BadEnd}_${'post_print' | 'wait_user_action' | 'wait_cleanup'}`;
export type BadEnd = Exclude<EndStatus, 'finished'>;
export type EndStatus = 'finished' | 'aborted' | 'failed';

/** One print of a stored job: a print job instance. */
export interface PrintJob {
  uuid: string;
  /** Stored job; null for a local print. */
  jobId: string | null;
  name: string;
  status: 'queued' | 'wait_approval' | 'error' | ActiveStatus | EndStatus;
  /** Start of the status, virtual ms. */
  since: number;
  /** Start of the first layer, virtual ms. */
  startedAt: number | null;
  /** Seconds printed before `since`. */
  printed: number;
  timeTotal: number;
  /** Real ms since 1970. */
  createdAt: number;
  /** Time from which lists show it, virtual ms. */
  visibleAt: number;
  owner: { userId: string; name: string } | null;
  printerUuid: string | null;
  sentFrom: 'cloud' | 'usb' | 'network' | 'reprint';
  /** Whether it is held in the cloud queue (`start_now: false`). */
  held: boolean;
  force: boolean;
  /** Changes that are necessary before it can start. */
  changes: RequiredChange[];
  /** Those among them that the cluster's switch demands, whatever the file says. Older worlds lack it. */
  demanded?: RequiredChange[];
  /** A person's message about it, with an approval or a rejection. */
  message: StatusMessage | null;
  /** Detail of its status. Its values are unknown (wire facts 8), so that tests choose them. */
  detail?: string;
  /** Obstacles besides those that follow from its file and its printer. */
  impediments?: Impediment[];
  /** Content type of the file; null for a local print. Older worlds lack it. */
  contentType?: string | null;
  /** Material of the file. Older worlds lack it. */
  needs?: MaterialNeed[];
  /** Printer that the file is for. Older worlds lack it. */
  target?: PrintTarget;
  /** Names of the materials that a station loaded for it, one per extruder; null for none. */
  loaded?: (string | null)[];
  /** Whether it makes no progress although it prints. */
  stalled?: true;
  /** Whether the stored file was removed. */
  fileGone?: true;
  /** Whether it started on a plate with an earlier part on it. */
  overPart?: true;
  /** Older worlds lack it. */
  note?: string | null;
  /** Time of its removal from the queue, real ms since 1970. */
  deletedAt: number | null;
}

/** An ended print for reports. Times are real ms since 1970, durations seconds. */
export interface EndedPrint {
  uuid: string;
  jobId: string | null;
  name: string;
  status: EndStatus;
  printerUuid: string | null;
  user: string | null;
  sentFrom: PrintJob['sentFrom'];
  /** Material per extruder; null for an empty bay. */
  materials: (string | null)[];
  createdAt: number;
  startedAt: number | null;
  endedAt: number;
  timeTotal: number;
  timeElapsed: number;
  /** Whether it started on a plate with an earlier part on it. */
  overPart?: true;
}

export type ActionOutcome = 'success' | 'failed' | 'unknown';

/** A dispatched printer or print job action (wire facts 9 and 13.1). Times are virtual ms. */
export interface Action {
  actionId: string;
  kind: 'printer' | 'print_job';
  /** The uuid of the printer or print job. */
  target: string;
  name: string;
  data: Record<string, unknown>;
  /** The user who dispatched it. Older worlds lack it. */
  userId?: string;
  /** Time from which it is `sent` instead of `pending`. */
  sentAt: number;
  /** Time of its effect and end; null for never. */
  endsAt: number | null;
  outcome: ActionOutcome;
  ended: boolean;
  /** Whether its end is never reported. Older worlds lack it. */
  silent?: boolean;
  /** Whether it waits for the printer to be online. Older worlds lack it. */
  waits?: boolean;
  /** View of the camera. */
  scene: Scene | null;
}

/** Contents of a picture, so that it can be drawn later. */
export interface Scene {
  printer: string;
  /** Status of the printer; `offline` if its cluster is offline. */
  status: string;
  /** Time of the picture, real ms since 1970. */
  takenAt: number;
  /** Temperature in °C. */
  nozzle: number;
  plate: number;
  /** Position of the head, 0 to 1. */
  head: number;
  material: string | null;
  color: string | null;
  job: { name: string; status: string; percent: number; layer: number; layers: number; left: number } | null;
}

/** Switches for future actions on a cluster. */
export interface ActionSwitch {
  /**
   * `stuck` keeps the status `sent` forever, without an effect; `silent` with it. Default: success if the action is
   * possible.
   */
  outcome?: ActionOutcome | 'stuck' | 'silent';
  /** Duration in real seconds, instead of the simulator's `actionDelay`. */
  seconds?: number;
  /** Whether an offline printer's actions are refused (default), or wait until it is back. */
  offline?: 'refused' | 'waits';
}

/** Switches for future camera pictures of a cluster. */
export interface PictureSwitch {
  /** Pads the picture to this size. */
  bytes?: number;
  /** Content type other than image/png; text/html sends a web page instead of a picture. */
  contentType?: string;
  /** Omits the Content-Length. */
  chunked?: boolean;
}

export interface Maintenance {
  /** Start of the intervals, real ms since 1970. */
  since: number;
  done: { codes: string[]; userId: string; at: number }[];
  /** Tasks that are due early. */
  due: string[];
}

/** An ordered report (wire facts 10). Times are real ms since 1970. */
export interface Report {
  reportId: string;
  key: string;
  organizationId: string;
  clusterIds: string[];
  from: number;
  to: number;
  processingAt: number;
  /** End of the work; null for never. */
  endsAt: number | null;
  outcome: ActionOutcome;
  made: ReportSwitch;
}

/** Switches for reports. */
export interface ReportSwitch {
  /** `stuck` keeps the status `processing` forever. Default: success. */
  outcome?: ActionOutcome | 'stuck';
  /** Duration in real seconds, instead of the simulator's `reportDelay`. */
  seconds?: number;
  /** Separator; a comma by default. */
  separator?: ',' | ';' | '\t';
  bom?: boolean;
  /** Ends lines in CR LF. */
  crlf?: boolean;
  /** Adds quotes, separators and line breaks to job names. */
  hardNames?: boolean;
  /** Repeats the first extruder's column names for the second. */
  repeatedColumns?: boolean;
  /** Number of invented lines that replace the real ones. */
  rows?: number;
  /** Breaks the connection after so many bytes of the download. */
  cutAfter?: number;
}
