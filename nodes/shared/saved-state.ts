import type { NodeAPI } from 'node-red';
import { isGrants } from '../../lib/sign-in/grant';
import { isSignIns } from '../../lib/sign-in/pending-authorizations';
import { FileStore, notLasting } from '../../lib/state/file-store';
import { WriteBehindStore } from '../../lib/state/write-behind-store';
import { MemoryStore } from '../../lib/state/memory-store';
import { statePlace, type StateStore } from '../../lib/state/store';
import { UnsealedFiles } from '../../lib/state/seal';
import type { Clock } from '../../lib/time/clock';
import { phrase, type Sentence } from '../../lib/words/sentence';
import { record } from '../../lib/service/json-readers';
import { CHECKPOINT, isStoredCheckpoint } from '../../lib/watch/checkpoints/checkpoint-store';
import type { Log } from '../../lib/watch/views/outages';

/** Storage of everything that outlives a restart. */
interface SavedState {
  store: StateStore;
  /** Store of pending sign-ins: shared if the state is shared, else in memory. */
  signIns: StateStore;
  /** Store of the simulated world, which belongs to this Node-RED alone. */
  own: StateStore;
  /**
   * Returns why the state can't be saved, or, if `lasting`, why it would be lost later; null without a known reason.
   * Never rejects.
   */
  trouble(lasting: boolean): Promise<Sentence | null>;
  /** Returns why secrets are not encrypted; null if they are. */
  exposure(): Sentence | null;
  /** Removes outdated state. */
  sweep(): Promise<void>;
  /**
   * Writes pending changes, and closes the connections unless the state is in use again: Node-RED starts the next flows although
   * the last ones still close. The store can be used again afterwards.
   */
  close(isInUse: () => boolean): Promise<void>;
}

/** Kinds of values that are encrypted. */
const SEALED = ['grant', 'sign-in', 'kept-message'];
/** Kinds whose values count as missing when another credential secret encrypted them. */
const PASSING = ['sign-in'];
/** Whether a value is the index of a node's waits (`PendingWaits`). */
const isIndex = (value: unknown): boolean =>
  Array.isArray(value) && value.every((wait) => typeof record(wait)?.id === 'string');
/** Whether a value is the list of the rows that reports have delivered (`withDeliveredRows`). */
const isRows = (value: unknown): boolean => Array.isArray(value) && value.every((row) => typeof row === 'string');
const isRecord = (value: unknown): boolean => record(value) !== null;
/** Checks of the values whose users rely on their shape. */
const SHAPES = {
  ...{ grant: isGrants, 'sign-in': isSignIns, 'kept-waits': isIndex, 'report-rows': isRows },
  ...{ 'assistant-request': isRecord, 'home-assistant-remnant': isRecord },
  [CHECKPOINT]: isStoredCheckpoint,
};
/**
 * Longest wait between retries of a write, ms: shorter than the grace period that others allow after a lost connection
 * (ADR 12).
 */
const LONGEST_WAIT = 5_000;

/**
 * Opens the state in the default folder, or in the folder or database that settings.js or the environment names
 * (reference 6).
 */
export function savedState(
  RED: NodeAPI,
  { folder: usual, clock, log }: { folder: string; clock: Clock; log: Log },
): SavedState {
  const records = {
    clock,
    sealedKinds: SEALED,
    passingKinds: PASSING,
    shapes: SHAPES,
    unsealed: new UnsealedFiles(usual),
    secrets: () => secretsOf(RED),
    warn: (sentence: Sentence) => log.warn(sentence),
  };
  const place = statePlace(settingOf(RED), usual);
  const folder = 'folder' in place ? place.folder : usual;
  const files = new FileStore({ ...records, folder });
  const own = new WriteBehindStore(files, clock);
  const exposure = () =>
    secretsOf(RED).length > 0
      ? null
      : phrase`Node-RED has no credential secret, so sign-ins are stored unencrypted: set credentialSecret in settings.js, or an encryption key in the project.`;
  const trouble = async (lasting: boolean) => (await files.fault()) ?? (lasting ? notLasting(folder) : null);
  if ('folder' in place)
    return {
      store: own,
      signIns: new MemoryStore(),
      own,
      trouble,
      exposure,
      sweep: () => files.sweep(),
      close: () => own.close(),
    };
  const { address } = place;
  // Loads the database client only if the settings require it.
  const { Database } = require('../../lib/postgres/database') as typeof import('../../lib/postgres/database');
  const { PostgresStore } =
    require('../../lib/postgres/postgres-store') as typeof import('../../lib/postgres/postgres-store');
  const rows = new PostgresStore({ ...records, database: new Database({ address, clock, log }) });
  const store = new WriteBehindStore(rows, clock, LONGEST_WAIT);
  return {
    store,
    signIns: store,
    own,
    // With a database, only simulated accounts use the folder.
    trouble: (lasting) => (lasting ? Promise.resolve(null) : trouble(false)),
    exposure,
    sweep: async () => {
      await Promise.all([rows.sweep(), files.sweep()]);
    },
    close: async (isInUse) => {
      await Promise.allSettled([store.close(), own.close()]);
      if (!isInUse()) await rows.close();
    },
  };
}

/** Returns the setting `stateStore`; settings.js takes precedence over the environment. */
function settingOf(RED: NodeAPI): unknown {
  const { remotePrinting } = RED.settings as { remotePrinting?: { stateStore?: unknown } };
  return remotePrinting?.stateStore ?? process.env.REMOTE_PRINTING_STATE_STORE;
}

/**
 * Returns Node-RED's credential secrets: the user's, the one generated before the user set one, and the keys of the
 * projects, the active one first. The first one encrypts, all of them decrypt: a project may be left, or get another key.
 */
function secretsOf(RED: NodeAPI): string[] {
  const settings = RED.settings as unknown as { get(name: string): unknown };
  const get = (name: string): unknown => {
    try {
      return settings.get(name);
    } catch {
      return undefined;
    }
  };
  const { activeProject, projects } = record(get('projects')) ?? {};
  const keys = Object.entries(record(projects) ?? {})
    .sort(([one], [other]) => Number(other === activeProject) - Number(one === activeProject))
    .map(([, project]) => record(project)?.credentialSecret);
  const all = [get('credentialSecret'), get('_credentialSecret'), ...keys];
  return [...new Set(all.filter((secret): secret is string => typeof secret === 'string' && secret !== ''))];
}
