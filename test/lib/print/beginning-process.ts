// A process that begins a print key and a wait for each of many printers at once, again and again, and prints the number of
// each one that is saved. It ends when it is killed.
import { writeSync } from 'node:fs';
import { Ledger } from '../../../lib/print/ledger';
import { PendingWaits } from '../../../lib/print/pending-waits';
import { Database } from '../../../lib/postgres/database';
import { PostgresStore } from '../../../lib/postgres/postgres-store';
import { FileStore } from '../../../lib/state/file-store';
import { WriteBehindStore } from '../../../lib/state/write-behind-store';
import { systemClock } from '../../../lib/time/clock';
import { NO_PEERS } from '../../../lib/watch/replication/peers';
import { entryOf, keyOf, OWNER, SCOPE, waitOf } from './begun';

const [, , place = ''] = process.argv;
const AT_ONCE = 300;

const records = { sealedKinds: [], secrets: () => [], warn: () => undefined, clock: systemClock };
const log = { warn: () => undefined, info: () => undefined };
const disk = place.startsWith('postgresql:')
  ? new PostgresStore({ ...records, database: new Database({ address: place, clock: systemClock, log }) })
  : new FileStore({ ...records, folder: place });
const store = new WriteBehindStore(disk, systemClock);
const ledger = new Ledger(store, SCOPE);
const waits = new PendingWaits(store, systemClock, NO_PEERS);

let next = 0;
async function begin(): Promise<never> {
  for (;;) {
    const n = next++;
    await ledger.begin(keyOf(n), entryOf(n));
    await waits.keep(OWNER, waitOf(n), { n }, () => process.exit(1));
    writeSync(1, `${n}\n`);
  }
}
for (let n = 0; n < AT_ONCE; n++) void begin();
