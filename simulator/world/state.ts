import type { ClockState } from './clock';

/** All that the simulated service knows, as it stands in world.json. Virtual times are ms of `SimulatorClock.virtual()`. */
export interface State {
  version: 3;
  seed: number;
  nextId: number;
  clock: ClockState;
  organizations: Organization[];
  users: User[];
  clusters: Cluster[];
  projects: LibraryProject[];
  storedJobs: StoredJob[];
  libraryFiles: LibraryFile[];
  /** Of the files to come. */
  uploadMode: UploadMode;
  reports: Report[];
  /** How the reports to come are made. */
  reportSwitch: ReportSwitch;
  /** Of what `organization_memberships` of the current user consists (wire facts 11). */
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
  /** Static API tokens (wire facts 3.1), each bound to one workspace. */
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
  exchanges: number;
  refreshes: number;
  reuseDetections: number;
  /** Real ms since 1970 of the last answer that carried tokens. */
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

/** What kind of address a file is sent to; wire facts 4.2 leave it open. */
export const UPLOAD_MODES = ['one-time', 'session', 'plain'] as const;
export type UploadMode = (typeof UPLOAD_MODES)[number];
export const isUploadMode = (text: string): text is UploadMode => (UPLOAD_MODES as readonly string[]).includes(text);

/** What an uploaded (or announced) file is, whatever is in it. Its bytes lie in `files/<key>`. */
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
  /** Real ms since 1970 when its upload address was used up: something was stored, the whole file or not. */
  usedAt: number | null;
  /** Real ms since 1970 from when on the record says `uploaded`. */
  uploadedAt: number | null;
  sha256: string | null;
}

/** A toolpath file. */
export interface StoredJob extends StoredFile {
  jobId: string;
  jobName: string;
  sourceFileId: string | null;
  /** Seconds that a print of it takes: from the slicer's header, else guessed by size. */
  printSeconds: number;
  /** Whether `printSeconds` stood in the file. */
  parsed: boolean;
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
}

/** What happens to prints sent to a cluster. */
export type Dispatch = 'queued' | 'wait_approval' | 'failed';

export interface Cluster {
  clusterId: string;
  hostGuid: string;
  hostName: string;
  friendlyName: string | null;
  model: string;
  organizationId: string;
  userId: string;
  online: boolean;
  authorized: boolean;
  capabilities: string[];
  recentHistory: boolean;
  cleaning: 'automatic' | 'manual';
  dispatch: Dispatch;
  actionSwitch: ActionSwitch;
  pictureSwitch: PictureSwitch;
  /** Given to every print that is sent from now on. */
  requiredChanges: RequiredChange[];
  firmware: { version: string; latest: string | null; updateStatus: string };
  printers: Printer[];
  /** Waiting and running, in the order of the queue. */
  queue: PrintJob[];
  /** Ended, the newest first. */
  history: PrintJob[];
  /** All printings that ever ended, the oldest first. */
  log: EndedPrint[];
  /** Actions of the last time, the oldest first. */
  actions: Action[];
  maintenance: Maintenance;
  /** While the cluster is offline: the jobs as it last reported them, at virtual `at`, which was `now`. */
  lastReport: { at: number; now: number; queue: PrintJob[]; history: PrintJob[] } | null;
}

export interface Printer {
  uuid: string;
  name: string;
  enabled: boolean;
  /** A state that is not the job's: `error`, `unreachable`, `maintenance`. */
  trouble: string | null;
  faults: PrinterFault[];
  extruders: Extruder[];
  /** 0 at room temperature, 1 at printing temperature; on its way from `level` to `target` since then. */
  warmth: { level: number; target: 0 | 1; since: number };
  freeSince: number;
  /** The ended print whose part still lies on the build plate, by its uuid. Older worlds lack it. */
  left?: string | null;
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
  /** null: the bay is empty. */
  material: { guid: string; brand: string; color: string; material: string } | null;
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

export type ActiveStatus =
  | 'sent_to_printer'
  | 'pre_print'
  | 'printing'
  | 'pausing'
  | 'paused'
  | 'resuming'
  | 'aborting'
  | 'post_print'
  | 'wait_cleanup';
export type EndStatus = 'finished' | 'aborted' | 'failed';

/** One printing of a stored job: a print job instance. */
export interface PrintJob {
  uuid: string;
  /** null: not from the cloud. */
  jobId: string | null;
  name: string;
  status: 'queued' | 'wait_approval' | ActiveStatus | EndStatus;
  /** Virtual ms when the status began. */
  since: number;
  /** Virtual ms when the first layer began. */
  startedAt: number | null;
  /** Seconds printed before `since`. */
  printed: number;
  timeTotal: number;
  /** Real ms since 1970. */
  createdAt: number;
  /** Virtual ms from when on lists show it. */
  visibleAt: number;
  owner: { userId: string; name: string } | null;
  printerUuid: string | null;
  sentFrom: 'cloud' | 'usb' | 'network' | 'reprint';
  /** In the cloud queue only (`start_now: false`). */
  held: boolean;
  force: boolean;
  changes: RequiredChange[];
  /** What the approver wrote. */
  message: string | null;
  /** Real ms since 1970 when it was taken from the queue. */
  deletedAt: number | null;
}

/** A line of a report. Times are real ms since 1970, durations seconds. */
export interface EndedPrint {
  uuid: string;
  jobId: string | null;
  name: string;
  status: EndStatus;
  printerUuid: string | null;
  user: string | null;
  sentFrom: PrintJob['sentFrom'];
  /** Of each extruder; null: an empty bay. */
  materials: (string | null)[];
  createdAt: number;
  startedAt: number | null;
  endedAt: number;
  timeTotal: number;
  timeElapsed: number;
}

export type ActionOutcome = 'success' | 'failed' | 'unknown';

/** A dispatched printer or print job action (wire facts 9 and 13.1). Times are virtual ms. */
export interface Action {
  actionId: string;
  kind: 'printer' | 'print_job';
  /** The printer's or the printing's uuid. */
  target: string;
  name: string;
  data: Record<string, unknown>;
  /** From when on it is no longer `pending`. */
  sentAt: number;
  /** When it has its effect and ends; null: never. */
  endsAt: number | null;
  outcome: ActionOutcome;
  ended: boolean;
  /** What the camera saw. */
  scene: Scene | null;
}

/** All that a picture of a printer shows, so that it can be drawn at any later time. */
export interface Scene {
  printer: string;
  /** The printer's status; `offline` where its cluster is. */
  status: string;
  /** Real ms since 1970. */
  takenAt: number;
  /** °C */
  nozzle: number;
  plate: number;
  /** Where the head is on its way, 0 to 1. */
  head: number;
  material: string | null;
  color: string | null;
  job: { name: string; status: string; percent: number; layer: number; layers: number; left: number } | null;
}

/** What becomes of the actions dispatched to a cluster from now on. */
export interface ActionSwitch {
  /** `stuck`: `sent` for ever. Default: success, where the action makes sense. */
  outcome?: ActionOutcome | 'stuck';
  /** Real seconds until it ends, instead of the simulator's `actionDelay`. */
  seconds?: number;
}

/** How the camera pictures of a cluster are handed out from now on. */
export interface PictureSwitch {
  /** The picture is filled up to this size. */
  bytes?: number;
  /** Another type than image/png; of text/html, a page instead of a picture. */
  contentType?: string;
  /** Without Content-Length. */
  chunked?: boolean;
}

export interface Maintenance {
  /** Real ms since 1970, from when on the intervals count. */
  since: number;
  done: { codes: string[]; userId: string; at: number }[];
  /** Tasks that are due before their time. */
  due: string[];
}

/** A report, ordered (wire facts 10). Times are real ms since 1970. */
export interface Report {
  reportId: string;
  key: string;
  organizationId: string;
  clusterIds: string[];
  from: number;
  to: number;
  processingAt: number;
  /** null: never. */
  endsAt: number | null;
  outcome: ActionOutcome;
  made: ReportSwitch;
}

/** How reports are made. */
export interface ReportSwitch {
  /** `stuck`: `processing` for ever. Default success. */
  outcome?: ActionOutcome | 'stuck';
  /** Real seconds until it ends, instead of the simulator's `reportDelay`. */
  seconds?: number;
  /** Default a comma. */
  separator?: ',' | ';' | '\t';
  bom?: boolean;
  /** Lines end in CR LF. */
  crlf?: boolean;
  /** Job names with quotes, separators and line breaks in them. */
  hardNames?: boolean;
  /** The columns of the second extruder are called as those of the first. */
  repeatedColumns?: boolean;
  /** So many invented lines instead of the real ones. */
  rows?: number;
  /** The connection breaks after so many bytes of the download. */
  cutAfter?: number;
}
