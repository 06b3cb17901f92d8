import type { Client } from './auth/tokens';
import type { MovedPaths } from './http/moved';
import type { NewCluster } from './world/models';
import type { UploadMode } from './world/state';

export interface SimulatorOptions {
  /** Port of the control host; account, API and storage use the next three. Default 0: any free ports. */
  port?: number;
  /** A loopback address. Default 127.0.0.1. */
  host?: string;
  /** Determines ids, names and temperatures. Default 1; a stored world keeps its own. */
  seed?: number;
  /** Virtual seconds of the printers per real second. Default 1. */
  timeFactor?: number;
  /** Number of clusters in the first workspace of a new world, which repeats the five kinds. Default 5. */
  printers?: number;
  /** Clusters of the first workspace of a new world, instead of `printers`. */
  farm?: NewCluster[];
  /** Whether a new world has a history of one week. */
  history?: boolean;
  /** Whether /authorize redirects immediately, as the first user, without the pages. */
  autoApprove?: boolean;
  /** Whether it accepts what real clients were seen to do beyond the interface; see the README. Default: strict. */
  lenient?: boolean;
  /** Prefix of the storage and library calls. Default `/slicer/v1`. */
  storagePath?: string;
  /** Lifetime of access tokens, real seconds. Default 600. */
  accessTokenLifetime?: number;
  /**
   * Real seconds for which a spent refresh token still works; Infinity for a service without reuse detection. Default 0;
   * a stored world keeps its own.
   */
  refreshTokenGrace?: number;
  /** Kind of future upload addresses; see the README. Default `one-time`; a stored world keeps its own. */
  uploadMode?: UploadMode;
  /** Delay from the last byte until the record says `uploaded`, real ms. Default 0. */
  uploadConfirmDelay?: number;
  /** Duration of a printer or print job action, real ms. Default 1000. */
  actionDelay?: number;
  /** Duration of a report, real ms. Default 1000. */
  reportDelay?: number;
  /** Delay until lists show a new print, virtual seconds. Default 2. */
  printVisibleAfter?: number;
  /** Folder of files and world.json, for a restart with the same world. Default: a temporary folder. */
  dataDir?: string;
  client?: Client;
  /** Other paths of calls than those of the interface or the public facts: endpoint to `METHOD /path`. */
  paths?: MovedPaths;
  /** Current time, ms since 1970. */
  now?: () => number;
  /** `discard` counts and hashes uploaded bytes without storing them. Default `disk`. */
  storage?: 'disk' | 'discard';
}

export const isStoragePath = (path: string): boolean =>
  /^(?:\/[\w.~-]+)+$/.test(path) && !['/connect/v1', '/report/v1'].includes(path);

export const isLoopback = (host: string): boolean => /^(?:127\.\d+\.\d+\.\d+|localhost|::1)$/.test(host);
