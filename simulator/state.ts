import type { ClockState } from './clock';
import type { Challenge } from './pkce';

/** All that the simulated service knows, as it stands in world.json. Virtual times are ms of `SimulatorClock.virtual()`. */
export interface State {
  version: 1;
  seed: number;
  nextId: number;
  clock: ClockState;
  organizations: Organization[];
  users: User[];
  clusters: Cluster[];
  storedJobs: StoredJob[];
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

/** An uploaded (or announced) toolpath file. Its bytes lie in `files/<key>`. */
export interface StoredJob {
  jobId: string;
  key: string;
  organizationId: string;
  userId: string;
  jobName: string;
  fileSize: number;
  contentType: string;
  origin: string | null;
  createdAt: number;
  /** Real ms since 1970 when all the bytes were there. */
  arrivedAt: number | null;
  /** Real ms since 1970 from when on the record says `uploaded`. */
  uploadedAt: number | null;
  sha256: string | null;
  /** Seconds that a print of it takes: from the slicer's header, else guessed by size. */
  printSeconds: number;
  /** Whether `printSeconds` stood in the file. */
  parsed: boolean;
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
  /** Given to every print that is sent from now on. */
  requiredChanges: RequiredChange[];
  firmware: { version: string; latest: string | null; updateStatus: string };
  printers: Printer[];
  /** Waiting and running, in the order of the queue. */
  queue: PrintJob[];
  /** Ended, the newest first. */
  history: PrintJob[];
  /** The lists as the service last heard of them, while the cluster is offline. */
  lastHeard: { printJobs: unknown[]; recentlyCompleted: unknown[] } | null;
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
  /** Text of an approver. */
  message: string | null;
}
