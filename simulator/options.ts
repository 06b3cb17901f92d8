import type { Client } from './auth/tokens';
import type { MovedPaths } from './http/moved';
import type { UploadMode } from './world/state';

export interface SimulatorOptions {
  /** The control page's port; the account, API and storage hosts take the next three. Default 0: any free ports. */
  port?: number;
  /** A loopback address. Default 127.0.0.1. */
  host?: string;
  /** The same seed gives the same ids, names and temperatures. Default 1; a stored world keeps its own. */
  seed?: number;
  /** Virtual seconds of the printers per real second. Default 1. */
  timeFactor?: number;
  /** Clusters in the first workspace of a new world. Default 3. */
  printers?: number;
  /** A new world has a week of prints behind it. */
  history?: boolean;
  /** /authorize redirects at once, as the first user, without the pages. */
  autoApprove?: boolean;
  /** Real seconds. Default 600. */
  accessTokenLifetime?: number;
  /** How files are uploaded from now on; see the README. Default `one-time`; a stored world keeps its own. */
  uploadMode?: UploadMode;
  /** Real ms from the last byte until the record says `uploaded`. Default 0. */
  uploadConfirmDelay?: number;
  /** Real ms that a printer or print job action takes. Default 1000. */
  actionDelay?: number;
  /** Real ms that a report takes. Default 1000. */
  reportDelay?: number;
  /** Virtual seconds until lists show a new print. Default 2. */
  printVisibleAfter?: number;
  /** Where files and world.json live, so that a restart goes on. Default: a temporary folder. */
  dataDir?: string;
  client?: Client;
  /** Where calls are instead of where the interface or the public facts have them: endpoint to `METHOD /path`. */
  paths?: MovedPaths;
  /** ms since 1970. */
  now?: () => number;
  /** `discard` counts and hashes uploaded bytes but keeps none. Default `disk`. */
  storage?: 'disk' | 'discard';
}

export const isLoopback = (host: string): boolean => /^(?:127\.\d+\.\d+\.\d+|localhost|::1)$/.test(host);
