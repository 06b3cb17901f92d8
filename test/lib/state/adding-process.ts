// A process that adds values as fast as it can, and prints the number of each one that is saved. It ends when it is killed.
import { writeSync } from 'node:fs';
import { Database } from '../../../lib/postgres/database';
import { PostgresStore } from '../../../lib/postgres/postgres-store';
import { FileStore } from '../../../lib/state/file-store';
import { systemClock } from '../../../lib/time/clock';

const place = process.argv[2] ?? '';
const AT_ONCE = 100;

const records = { sealedKinds: [], secrets: () => [], warn: () => undefined, clock: systemClock };
const log = { warn: () => undefined, info: () => undefined };
const store = place.startsWith('postgresql:')
  ? new PostgresStore({ ...records, database: new Database({ address: place, clock: systemClock, log }) })
  : new FileStore({ ...records, folder: place });

let next = 0;
async function add(): Promise<never> {
  for (;;) {
    const n = next++;
    const value = { n, filling: 'x'.repeat(1_500) };
    if (n % 2 === 0) await store.put(['item', `${n}`], value);
    else await store.update(['item', `${n}`], () => value);
    writeSync(1, `${n}\n`);
  }
}
for (let n = 0; n < AT_ONCE; n++) void add();
