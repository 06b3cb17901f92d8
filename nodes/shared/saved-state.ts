import type { NodeAPI } from 'node-red';
import { FileStore } from '../../lib/state/file-store';
import { WriteBehindStore } from '../../lib/state/write-behind-store';
import { notLasting, notWritable } from '../../lib/state/folder-check';
import { MemoryStore } from '../../lib/state/memory-store';
import { statePlace } from '../../lib/state/place';
import type { StateStore } from '../../lib/state/store';
import { UnsealedFiles } from '../../lib/state/unsealed';
import type { Clock } from '../../lib/time/clock';
import type { Sentence } from '../../lib/words/sentence';
import type { Log } from '../../lib/watch/views/watcher-log';

/** Where everything that outlives a restart lies. */
export interface SavedState {
  store: StateStore;
  /** Where sign-ins under way lie: with the rest where others share that, else in this process alone. */
  signIns: StateStore;
  /** Of the simulated world: that is this Node-RED's own, whoever shares the rest. */
  own: StateStore;
  /** Why the state can't be saved, or, if `lasting` is wanted, would be lost later; null: no reason is known. Never rejects. */
  trouble(lasting: boolean): Promise<Sentence | null>;
  /** Removes what is outdated. */
  sweep(): Promise<void>;
  /** Writes what still waits to be written, and lets go. It can be used again. */
  close(): Promise<void>;
}

/** Values that are encrypted. */
const SEALED = ['grant', 'sign-in', 'kept-message'];
/** Of these, those that older versions saved in the clear: a wait must not be lost by an update. */
const LENIENT = ['kept-message'];
/** Kinds whose values count as missing where another credential secret has sealed them. */
const PASSING = ['sign-in'];
/** Between tries to write what could not be written: less than others leave to whoever lost the database, ms (ADR 12). */
const LONGEST_WAIT = 5_000;

/** In the usual folder, or in the folder or database that settings.js or the environment name (reference 6). */
export function savedState(
  RED: NodeAPI,
  { folder: usual, clock, log }: { folder: string; clock: Clock; log: Log },
): SavedState {
  const records = {
    clock,
    sealedKinds: SEALED,
    passingKinds: PASSING,
    lenientKinds: LENIENT,
    unsealed: new UnsealedFiles(usual),
    secrets: () => secretsOf(RED),
    warn: (sentence: Sentence) => log.warn(sentence),
  };
  const place = statePlace(settingOf(RED), usual);
  const folder = 'folder' in place ? place.folder : usual;
  const files = new FileStore({ ...records, folder });
  const own = new WriteBehindStore(files, clock);
  const trouble = async (lasting: boolean) => (await notWritable(folder)) ?? (lasting ? notLasting(folder) : null);
  if ('folder' in place)
    return {
      store: own,
      signIns: new MemoryStore(),
      own,
      trouble,
      sweep: () => files.sweep(),
      close: () => own.close(),
    };
  const { address } = place;
  // What no setting asks for is not loaded.
  const { Database } = require('../../lib/state/database') as typeof import('../../lib/state/database');
  const { PostgresStore } =
    require('../../lib/state/postgres-store') as typeof import('../../lib/state/postgres-store');
  const rows = new PostgresStore({ ...records, database: new Database({ address, clock, log }) });
  const store = new WriteBehindStore(rows, clock, LONGEST_WAIT);
  return {
    store,
    signIns: store,
    own,
    // Only simulated accounts use the folder then.
    trouble: (lasting) => (lasting ? Promise.resolve(null) : trouble(false)),
    sweep: async () => {
      await Promise.all([rows.sweep(), files.sweep()]);
    },
    close: async () => {
      await Promise.all([store.close(), own.close()]);
      await rows.close();
    },
  };
}

/** The setting `stateStore`; settings.js comes before the environment. */
function settingOf(RED: NodeAPI): unknown {
  const { remotePrinting } = RED.settings as { remotePrinting?: { stateStore?: unknown } };
  return remotePrinting?.stateStore ?? process.env.REMOTE_PRINTING_STATE_STORE;
}

/** Node-RED's own credential secrets: the user's, and the one that it made itself before the user chose one. */
function secretsOf(RED: NodeAPI): string[] {
  const settings = RED.settings as unknown as { get(name: string): unknown };
  return ['credentialSecret', '_credentialSecret'].flatMap((name) => {
    try {
      const secret = settings.get(name);
      return typeof secret === 'string' && secret !== '' ? [secret] : [];
    } catch {
      return [];
    }
  });
}
