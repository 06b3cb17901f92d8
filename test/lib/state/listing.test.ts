import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { Database } from '../../../lib/postgres/database';
import { PostgresStore } from '../../../lib/postgres/postgres-store';
import { FileStore } from '../../../lib/state/file-store';
import { type Key, positionOf, type StatePage, type StateStore, valuesBelow } from '../../../lib/state/store';
import { WriteBehindStore } from '../../../lib/state/write-behind-store';
import { systemClock } from '../../../lib/time/clock';
import { FaultyStore } from '../../helpers/faulty-store';
import { ManualClock } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';
import { testPostgres, type TestPostgres } from '../../helpers/postgres';
import { SharedMemory } from '../../helpers/shared-memory';

interface Place {
  store: StateStore;
  /** Whether a rejected change counts all the same, because the store insists on it. */
  insists?: boolean;
  /** Changes the state of the disk. */
  shake?(): Promise<void>;
  end?(): Promise<unknown>;
}

const records = { sealedKinds: [], secrets: () => [], warn: () => undefined, clock: systemClock };

async function folder(): Promise<Place> {
  const path = await mkdtemp(join(tmpdir(), 'listing-'));
  return { store: new FileStore({ ...records, folder: path }), end: () => rm(path, { recursive: true }) };
}

async function database(server: TestPostgres): Promise<Place> {
  const log = { warn: () => undefined, info: () => undefined };
  const opened = new Database({ address: await server.fresh(), clock: systemClock, log });
  const store = new PostgresStore({ ...records, database: opened });
  return { store, end: () => store.close() };
}

async function sharedMemory(): Promise<Place> {
  const runtime = new SharedMemory(new ManualClock()).runtime();
  return { store: runtime.store, end: async () => runtime.kill() };
}

/** A disk that is full every now and then, and a store that writes later. */
async function writeBehind(): Promise<Place> {
  const clock = new ManualClock();
  let isFull = false;
  const fault = (step: 'read' | 'write') => (isFull && step === 'write' ? 'unwritable' : undefined);
  const disk = new FaultyStore(new MemoryStore(), fault, () => undefined);
  const shake = async () => {
    isFull = !isFull;
    // Often just before the value is written later, so that this happens between two pages.
    await clock.advance(isFull ? 0 : 1_000);
  };
  return { store: new WriteBehindStore(disk, clock), insists: true, shake };
}

const QUEUES = ['a', 'b', 'a,"b'];
const KEYS: Key[] = QUEUES.flatMap((queue) => Array.from({ length: 6 }, (_, n): Key => ['item', queue, `${n}`]));
const PREFIXES: Key[] = [['item'], ['item', 'a'], ['item', 'a', '3'], ['item', 'none']];

/** Changes of different keys that run at the same time, beside one page of each of the listings that are chosen. */
const round = fc.record({
  changes: fc.uniqueArray(fc.record({ key: fc.constantFrom(...KEYS), isPut: fc.boolean() }), {
    selector: ({ key }) => key.join(),
    maxLength: 5,
  }),
  advances: fc.tuple(fc.boolean(), fc.boolean()),
  shakes: fc.boolean(),
});
const listed = fc.record({ prefix: fc.constantFrom(...PREFIXES), limit: fc.integer({ min: 1, max: 5 }) });

/** Values that a key has had, oldest first; undefined stands for a missing one. */
type History = Map<string, (number | undefined)[]>;

/** One listing from its first page to its last, compared with a model. */
class Listing {
  readonly #store: StateStore;
  readonly #wanted: { prefix: Key; limit: number };
  readonly #history: History;
  /** Number of values of each key at the start. */
  readonly #before = new Map<string, number>();
  readonly #found = new Map<string, number>();
  #after: string | undefined;
  isOver = false;

  constructor(store: StateStore, wanted: { prefix: Key; limit: number }, history: History) {
    this.#store = store;
    this.#wanted = wanted;
    this.#history = history;
    for (const [name, values] of history) this.#before.set(name, values.length);
  }

  async advance(): Promise<void> {
    if (this.isOver) return;
    const { prefix, limit } = this.#wanted;
    const current = new Map([...this.#history].map(([name, values]) => [name, values.length - 1]));
    const { entries, next } = await this.#store.list<number>(prefix, { after: this.#after, limit });
    for (const { key, value } of entries) {
      const name = JSON.stringify(key);
      assert.ok(!this.#found.has(name), `${name} comes twice`);
      const possible = (this.#history.get(name) ?? []).slice(current.get(name));
      assert.ok(possible.includes(value), `${name} has an outdated value`);
      assert.ok(prefix.every((word, at) => word === key[at]));
      this.#found.set(name, value);
    }
    if (next !== null) this.#after = next;
    else this.#end();
  }

  #end(): void {
    this.isOver = true;
    for (const key of KEYS) {
      const name = JSON.stringify(key);
      const during = (this.#history.get(name) ?? [undefined]).slice((this.#before.get(name) ?? 1) - 1);
      const isWanted = this.#wanted.prefix.every((word, at) => word === key[at]);
      if (isWanted && !during.includes(undefined)) assert.ok(this.#found.has(name), `${name} is missing`);
    }
  }
}

let server: TestPostgres;
before(async () => (server = await testPostgres()));

const PLACES: [name: string, make: () => Promise<Place>, runs: number][] = [
  ['in a folder', folder, 30],
  ['in memory', async () => ({ store: new MemoryStore() }), 100],
  ['in a PostgreSQL database', () => database(server), 10],
  ['of a shared memory', sharedMemory, 100],
  ['that writes later on a full disk', writeBehind, 300],
];

for (const [name, make, numRuns] of PLACES)
  describe(`a listing of a StateStore ${name}`, () => {
    it('returns each value once that exists all the time, whatever changes beside it', async () => {
      const rounds = fc.array(round, { minLength: 1, maxLength: 25 });
      await fc.assert(
        fc.asyncProperty(rounds, fc.tuple(listed, listed), async (plan, wanted) => {
          const place = await make();
          const history: History = new Map();
          let written = 0;
          const change = async ({ key, isPut }: { key: Key; isPut: boolean }) => {
            const values = history.get(JSON.stringify(key)) ?? [undefined];
            const value = isPut ? ++written : undefined;
            history.set(JSON.stringify(key), [...values, value]);
            const options = { insist: place.insists === true };
            const changed = isPut ? place.store.put(key, value, options) : place.store.delete(key, options);
            await changed.catch((error: unknown) => {
              if (!place.insists) throw error;
            });
          };
          const listings = wanted.map((one) => new Listing(place.store, one, history));
          try {
            for (const { changes, advances, shakes } of [...plan, ...plan.map((last) => ({ ...last, changes: [] }))]) {
              // A listing counts the changes beside it from here on.
              const pages = listings.map((listing, at) => (advances[at] ? listing.advance() : undefined));
              await Promise.all([...changes.map(change), ...pages, shakes && place.shake?.()]);
              for (const [at, listing] of listings.entries())
                if (listing.isOver) listings[at] = new Listing(place.store, wanted[at]!, history);
            }
            for (const listing of listings) while (!listing.isOver) await listing.advance();
          } finally {
            await place.end?.();
          }
        }),
        { numRuns },
      );
    });

    it('ends with one page if there are no values', async () => {
      const place = await make();
      try {
        assert.deepEqual(await place.store.list(['item'], { limit: 3 }), { entries: [], next: null });
      } finally {
        await place.end?.();
      }
    });
  });

describe('a listing of a FileStore', () => {
  it('lists the other values beside a file that can’t be read, if the caller receives the reason', async () => {
    const path = await mkdtemp(join(tmpdir(), 'listing-'));
    const store = new FileStore({ ...records, folder: path });
    for (const n of ['1', '2', '3']) await store.put(['kind', n], n);
    const file = join(path, 'kind', `${positionOf(['kind', '2'])}.json`);
    await rm(file);
    await mkdir(file);
    await assert.rejects(store.list(['kind'], { limit: 10 }), { code: 'FILE_NOT_READABLE' });
    const failures: string[] = [];
    const { entries } = await store.list(['kind'], { limit: 10, unread: ({ code }) => failures.push(code) });
    assert.deepEqual(entries.map(({ value }) => value).sort(), ['1', '3']);
    assert.deepEqual(failures, ['FILE_NOT_READABLE']);
    await rm(path, { recursive: true });
  });
});

describe('state/store valuesBelow', () => {
  const pages: StatePage<string>[] = [
    { entries: [{ key: ['kind', 'a'], value: 'a' }], next: '1' },
    { entries: [{ key: ['kind', 'b'], value: 'b' }], next: null },
  ];
  /** A store of which a page, or none, can't be read; it records the positions from which it was read. */
  const storeOf = (failing?: string) => {
    const reads: (string | undefined)[] = [];
    const list = async (_prefix: Key, { after }: { after?: string | undefined }) => {
      reads.push(after);
      if (after !== undefined && after === failing) throw new Error('This page is not readable.');
      return pages[after === undefined ? 0 : 1];
    };
    return { reads, store: { list } as unknown as StateStore };
  };

  it('reads one page ahead of its caller', async () => {
    const { reads, store } = storeOf();
    const found: string[] = [];
    for await (const { value } of valuesBelow<string>(store, ['kind'], { limit: 1 })) {
      found.push(value);
      assert.deepEqual(reads, [undefined, '1']);
    }
    assert.deepEqual(found, ['a', 'b']);
  });

  it('returns the values before the page that can’t be read', async () => {
    const { store } = storeOf('1');
    const found: string[] = [];
    await assert.rejects(async () => {
      for await (const { value } of valuesBelow<string>(store, ['kind'], { limit: 1 })) found.push(value);
    }, /not readable/);
    assert.deepEqual(found, ['a']);
  });

  it('leaves no rejection unhandled, of a page that is asked for later or never', async () => {
    const unhandled: unknown[] = [];
    const count = (reason: unknown) => void unhandled.push(reason);
    process.on('unhandledRejection', count);
    try {
      const entries = valuesBelow<string>(storeOf('1').store, ['kind'], { limit: 1 });
      assert.equal((await entries.next()).done, false);
      await new Promise(setImmediate);
      await assert.rejects(entries.next(), /not readable/);
      for await (const { value } of valuesBelow<string>(storeOf('1').store, ['kind'], { limit: 1 })) {
        assert.equal(value, 'a');
        break;
      }
      await new Promise(setImmediate);
      assert.deepEqual(unhandled, []);
    } finally {
      process.off('unhandledRejection', count);
    }
  });
});
