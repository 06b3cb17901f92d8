import { join } from 'node:path';
import { Readable } from 'node:stream';
import { apiRoutes } from './api/routes';
import { authRoutes } from './auth/routes';
import { SimulatorClock } from './world/clock';
import { faultAction } from './control/fault-action';
import { controlRoutes } from './control/routes';
import { worldActions } from './control/world-actions';
import { Faults } from './http/faults';
import { Ids } from './world/ids';
import { newState } from './world/new-state';
import { isLoopback, isStoragePath, type SimulatorOptions } from './options';
import { checkMoved, moved } from './http/moved';
import { RequestLog } from './http/request-log';
import { startOrigin, type Call, type Origin, type Route } from './http/server';
import { specRoute } from './http/spec';
import { SignedUrls } from './storage/signed-urls';
import { Store } from './world/store';
import { Sessions } from './storage/sessions';
import { StoredBytes } from './storage/stored-bytes';
import { storageRoutes } from './storage/routes';
import type { ErrorStyle } from './http/refusals';
import type { Organization } from './world/state';
import { Tokens, type Client } from './auth/tokens';
import { liveThroughAWeek } from './world/week';
import { World } from './world/world';

export type { SimulatorOptions } from './options';
export type { AddedFault, Endpoint, Fault, Faults } from './http/faults';
export type { LoggedRequest, RequestLog } from './http/request-log';
export type { Client, GrantRequest, TokenResponse, Tokens } from './auth/tokens';
export type {
  Action,
  ActionSwitch,
  Cleaning,
  Cluster,
  Dispatch,
  EndWords,
  Impediment,
  EndedPrint,
  LibraryFile,
  Mismatch,
  Organization,
  ParsingSwitch,
  PictureSwitch,
  Printer,
  Slot,
  PrintJob,
  Report,
  ReportSwitch,
  RequiredChange,
  StoredJob,
  UploadMode,
} from './world/state';
export type { NewCluster } from './world/models';
export type { NewSlot } from './world/station';
export type { JobDetails } from './world/prints';
export type { StoredJobChange } from './world/library';
export type { ClusterRef } from './world/world-base';
export type { World } from './world/world';

export interface SimulatedUser {
  userId: string;
  username: string;
  password: string;
  name: string;
  organizations: Organization[];
  /** A static API token (wire facts 3.1) for the first of the organizations. */
  apiToken: string;
}

export interface Simulator {
  authUrl: string;
  apiUrl: string;
  storageUrl: string;
  controlUrl: string;
  client: Client;
  users: SimulatedUser[];
  world: World;
  tokens: Tokens;
  faults: Faults;
  requests: RequestLog;
  /** Folder of its files: that of `dataDir`, or a temporary one. */
  folder: string;
  /** Problems found at the start, such as a damaged world. */
  warnings: readonly string[];
  /** Closes all connections and listeners, and removes a temporary folder. Later calls do nothing. */
  close(): Promise<void>;
}

/** Starts the simulated service on four local ports. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const host = options.host ?? '127.0.0.1';
  if (!isLoopback(host)) throw new TypeError('The simulator listens on loopback addresses only.');
  const { lenient = false, storagePath = '/slicer/v1' } = options;
  if (!isStoragePath(storagePath))
    throw new TypeError(`storagePath can't be ${storagePath}: it must be a path such as /slicer/v1.`);
  const now = options.now ?? ((): number => Date.now());
  const client: Client = options.client ?? { id: 'simulator', secret: 'simulator-secret' };
  const store = await Store.open(options.dataDir);
  const origins: Origin[] = [];
  const closeAll = async (): Promise<void> => {
    await Promise.all(origins.map((origin) => origin.close()));
    await store.close();
  };
  let closed: Promise<void> | undefined;
  try {
    const stored = await store.load();
    const state = stored ?? newState(options.seed ?? 1, options.farm ?? options.printers ?? 5, now());
    const clock = new SimulatorClock(state.clock, options.timeFactor ?? 1, now);
    const changed = (): void => {
      clock.anchor();
      store.changed(state);
    };
    const files = join(store.folder, 'files');
    const bytes = new StoredBytes(files, options.storage !== 'discard');
    const sessions = new Sessions(files);
    await bytes.removeParts();
    if (!stored && options.history)
      for (const { key, text } of liveThroughAWeek(state, new Ids(state.seed, state), now()))
        await bytes.store(key, Readable.from([Buffer.from(text)]), { contentType: 'text/plain', size: text.length });
    const world = new World(state, {
      clock,
      printVisibleAfter: 1000 * (options.printVisibleAfter ?? 2),
      uploadConfirmDelay: options.uploadConfirmDelay ?? 0,
      actionDelay: options.actionDelay ?? 1000,
      reportDelay: options.reportDelay ?? 1000,
      changed,
      // Ignores failures: a leftover file does no harm.
      dropBytes: (key) => void Promise.allSettled([bytes.remove(key), sessions.remove(key)]),
    });
    if (options.uploadMode !== undefined) world.setUploadMode(options.uploadMode);
    changed();
    const tokens = new Tokens(state.access, state, client, options.accessTokenLifetime ?? 600, now, changed, lenient);
    if (options.refreshTokenGrace !== undefined) tokens.refreshGrace = options.refreshTokenGrace;
    const actions = worldActions(world);
    const faults = new Faults(Object.keys(actions));
    const log = new RequestLog();
    const urls = new SignedUrls(state.access.signingKey, now);
    const { users, organizations } = state;
    const addresses = { authUrl: '', apiUrl: '', storageUrl: '', controlUrl: '' };

    const start = async (name: string, offset: number, errors: ErrorStyle, routes: Route[]): Promise<string> => {
      const port = options.port ? options.port + offset : 0;
      const saved = (): Promise<void> => store.saved();
      const wire = name === 'control' ? {} : { wire: { faults, log, act: faultAction(actions) } };
      const origin = await startOrigin({ name, host, port, errors, routes, now, saved, ...wire });
      origins.push(origin);
      return origin.url;
    };
    const paths = options.paths ?? {};
    const signedIn = ({ request }: Call): void => void tokens.caller(request.headers.authorization);
    /** Moves routes as the options specify, and adds a description below each base. */
    const described = (routes: Route[], bases: string[]): Route[] => {
      const placed = moved(routes, paths);
      return [...placed, ...bases.map((base) => specRoute(base, placed, signedIn))];
    };
    const autoApprove = options.autoApprove ?? false;
    const auth = authRoutes({
      ...{ tokens, users, organizations, client, autoApprove, lenient, now },
      memberships: () => world.memberships,
    });
    const api = apiRoutes({
      ...{ world, tokens, urls, users, now, lenient, storagePath },
      apiUrl: () => addresses.apiUrl,
      storageUrl: () => addresses.storageUrl,
    });
    checkMoved(
      paths,
      [...auth, ...api].map(({ endpoint }) => endpoint),
    );
    addresses.authUrl = await start('auth', 1, 'json', described(auth, ['']));
    const bases = ['/connect/v1', storagePath, '/report/v1'];
    addresses.apiUrl = await start('api', 2, 'json', described(api, bases));
    addresses.storageUrl = await start('storage', 3, 'xml', storageRoutes({ world, urls, bytes, sessions }));
    addresses.controlUrl = await start(
      'control',
      0,
      'json',
      controlRoutes({ world, actions, tokens, faults, log, addresses: () => addresses }),
    );

    return {
      ...addresses,
      client,
      users: users.map(({ userId, username, password, name, organizationIds, apiTokens }) => ({
        userId,
        username,
        password,
        name,
        organizations: organizations.filter(({ organizationId }) => organizationIds.includes(organizationId)),
        apiToken: apiTokens[0]!.token,
      })),
      world,
      tokens,
      faults,
      requests: log,
      folder: store.folder,
      warnings: store.warnings,
      close: () => (closed ??= (changed(), closeAll())),
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}
