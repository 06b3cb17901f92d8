import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { Database } from '../../../lib/postgres/database';
import { UnsealedFiles, type Unsealed } from '../../../lib/state/seal';
import { FileStore } from '../../../lib/state/file-store';
import { PostgresStore } from '../../../lib/postgres/postgres-store';
import type { Key, StateStore } from '../../../lib/state/store';
import type { Sentence } from '../../../lib/words/sentence';
import { systemClock } from '../../../lib/time/clock';
import { limit } from '../../helpers/limits';
import { ManualClock } from '../../helpers/manual-clock';
import { testPostgres, type TestPostgres } from '../../helpers/postgres';

type Swept = StateStore & { sweep(): Promise<void> };

/** A kind of store, with access to its values from outside. */
interface Place {
  /** Another store on the same values, as after a restart. */
  open(secrets: string[], warn: (sentence: Sentence) => void, unsealed: Unsealed): Swept;
  /** Raw content of the only value of a kind. */
  raw(kind: string): Promise<string>;
  damage(kind: string, raw: string): Promise<void>;
  /** Blocks all reads and writes until the returned function is called. */
  block(): Promise<() => Promise<void>>;
  /** Advances the time by `ms`. */
  pass(ms: number): Promise<void>;
  end(): Promise<void>;
}

const SEALED = ['grant'];

async function folder(): Promise<Place> {
  const path = await mkdtemp(join(tmpdir(), 'store-'));
  const clock = new ManualClock();
  const only = async (kind: string): Promise<string> => {
    const names = (await readdir(join(path, kind))).filter((name) => name.endsWith('.json'));
    assert.equal(names.length, 1);
    return join(path, kind, names[0]!);
  };
  return {
    open: (secrets, warn, unsealed) => {
      const parts = { sealedKinds: SEALED, unsealed };
      return new FileStore({ ...parts, folder: path, clock, secrets: () => secrets, warn });
    },
    raw: async (kind) => readFile(await only(kind), 'utf8'),
    damage: async (kind, raw) => writeFile(await only(kind), raw),
    block: async () => {
      const aside = `${path}-aside`;
      await rename(path, aside);
      await writeFile(path, 'a file where a folder must be');
      return async () => {
        await rm(path);
        await rename(aside, path);
      };
    },
    pass: (ms) => clock.advance(ms),
    end: () => rm(path, { recursive: true, force: true }),
  };
}

async function database(server: TestPostgres): Promise<Place> {
  const address = await server.fresh();
  const log = { warn: () => undefined, info: () => undefined };
  const opened: PostgresStore[] = [];
  const ask = <Row extends object>(statement: string, values?: unknown[]) =>
    server.ask<Row>(address, statement, values);
  return {
    open: (secrets, warn, unsealed) => {
      const sealing = { sealedKinds: SEALED, unsealed, secrets: () => secrets };
      const parts = { ...sealing, clock: systemClock, warn };
      const store = new PostgresStore({ ...parts, database: new Database({ address, clock: systemClock, log }) });
      opened.push(store);
      return store;
    },
    raw: async (kind) => {
      const rows = await ask<{ content: string }>('SELECT content FROM remote_printing.entries WHERE kind = $1', [
        kind,
      ]);
      assert.equal(rows.length, 1);
      return rows[0]!.content;
    },
    damage: async (kind, raw) => {
      await ask('UPDATE remote_printing.entries SET content = $2 WHERE kind = $1', [kind, raw]);
    },
    block: async () => {
      await server.halt();
      return server.start;
    },
    pass: async (ms) => {
      await ask("UPDATE remote_printing.entries SET until = until - $1 * interval '1 ms'", [ms]);
    },
    end: async () => {
      await Promise.all(opened.map((store) => store.close()));
    },
  };
}

/** A promise that stays open until `letGo` is called, whether or not the wait has begun. */
function gate(): { letGo: () => void; free: Promise<void> } {
  let letGo = () => {};
  const free = new Promise<void>((resolve) => (letGo = resolve));
  return { letGo, free };
}

let server: TestPostgres;
before(async () => (server = await testPostgres()));

for (const [name, make] of Object.entries({ 'a folder': folder, 'a PostgreSQL database': () => database(server) }))
  describe(`a StateStore in ${name}`, () => {
    let place: Place;
    let warnings: string[];
    let store: Swept;
    let own: string;
    const withSecrets = (secrets: string[]) =>
      place.open(secrets, (sentence) => warnings.push(String(sentence)), new UnsealedFiles(own));
    const open = (...secrets: string[]) => withSecrets(secrets.length > 0 ? secrets : ['a secret']);

    beforeEach(async () => {
      place = await make();
      own = await mkdtemp(join(tmpdir(), 'unsealed-'));
      warnings = [];
      store = open();
    });
    afterEach(async () => {
      await place.end();
      await rm(own, { recursive: true });
    });

    it('sets aside a grant that is stored in the clear although there is a secret', async () => {
      const forged = JSON.stringify({ version: 1, key: ['grant', 'a'], value: 'forged' });
      await store.put(['grant', 'a'], 'token');
      await place.damage('grant', forged);
      assert.equal(await open().get(['grant', 'a']), undefined);
      assert.match(warnings.join(), /The saved grant is not encrypted, .* set aside/);
      await store.put(['grant', 'a'], 'token');
      assert.equal(await open().get(['grant', 'a']), 'token');
    });

    it('reads a grant once that was saved in the clear without a secret, and seals it', async () => {
      await withSecrets([]).put(['grant', 'a'], { token: 'x' });
      assert.deepEqual(await store.update(['grant', 'a'], (grant) => ({ ...(grant as object) })), { token: 'x' });
      assert.match(await place.raw('grant'), /"sealed"/);
      await place.damage('grant', JSON.stringify({ version: 1, key: ['grant', 'a'], value: 'forged' }));
      assert.equal(await open().get(['grant', 'a']), undefined);
      assert.equal(warnings.length, 1);
    });

    it('returns a value that another instance stored', async () => {
      await store.put(['position', 'a', 'b'], { seen: [1, 'zwei', null] });
      assert.deepEqual(await open().get(['position', 'a', 'b']), { seen: [1, 'zwei', null] });
      assert.equal(await open().get(['position', 'a', 'c']), undefined);
    });

    it('returns any JSON unchanged', async () => {
      const anything = fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' });
      await fc.assert(
        fc.asyncProperty(anything, async (value) => {
          await store.put(['position', 'a'], value);
          assert.deepEqual(await store.get(['position', 'a']), JSON.parse(JSON.stringify(value)));
        }),
        { numRuns: 50 },
      );
    });

    it('keeps keys with any characters and of any length apart', async () => {
      const word = fc.string({ unit: 'binary', maxLength: 30 });
      const words = fc.uniqueArray(fc.tuple(word, word), {
        minLength: 2,
        maxLength: 5,
        selector: (w) => JSON.stringify(w),
      });
      await fc.assert(
        fc.asyncProperty(words, async (keys) => {
          await Promise.all(keys.map((key, index) => store.put(['position', ...key], index)));
          const found = await Promise.all(keys.map((key) => store.get(['position', ...key])));
          assert.deepEqual(found, [...keys.keys()]);
        }),
        { numRuns: 20 },
      );
      await store.put(['position', 'x'.repeat(10_000)], 'long');
      assert.equal(await store.get(['position', 'x'.repeat(10_000)]), 'long');
    });

    it('stores megabytes', async () => {
      const marks = Array.from({ length: 100_000 }, (_, n) => `mark number ${n}`);
      await store.update<string[]>(['report-rows', 'a'], () => marks);
      assert.deepEqual(await open().get(['report-rows', 'a']), marks);
    });

    it('deletes by delete and by an update that returns undefined', async () => {
      await store.put(['position', 'a'], 1);
      await store.delete(['position', 'a']);
      assert.equal(await store.get(['position', 'a']), undefined);
      await store.delete(['position', 'a']);
      await store.put(['position', 'a'], 2);
      assert.equal(await store.update(['position', 'a'], () => undefined), undefined);
      assert.equal(await store.get(['position', 'a']), undefined);
      assert.equal(await store.update(['position', 'a'], () => undefined), undefined);
    });

    it('locks a key during its change, and no other key', async () => {
      const { letGo, free } = gate();
      const slow = store.update<number[]>(['position', 'a'], async (list = []) => {
        await free;
        return [...list, 1];
      });
      const after = store.update<number[]>(['position', 'a'], (list = []) => [...list, 2]);
      await store.put(['position', 'b'], 'free');
      letGo();
      assert.deepEqual(await slow, [1]);
      assert.deepEqual(await after, [1, 2]);
    });

    it('makes a put and a delete wait for a change', async () => {
      const { letGo, free } = gate();
      const slow = store.update<string>(['position', 'a'], async () => {
        await free;
        return 'first';
      });
      const put = store.put(['position', 'a'], 'second');
      const deleted = store.delete(['position', 'a']);
      await store.put(['position', 'b'], 'meanwhile');
      letGo();
      await Promise.all([slow, put, deleted]);
      assert.equal(await store.get(['position', 'a']), undefined);
    });

    it('keeps the earlier value after a change that throws', async () => {
      await store.put(['position', 'a'], 1);
      const no = () => {
        throw new Error('no');
      };
      await assert.rejects(store.update(['position', 'a'], no), /no/);
      assert.equal(await store.get(['position', 'a']), 1);
      assert.equal(await store.update<number>(['position', 'a'], (n = 0) => n + 1), 2);
    });

    it('counts every one of 200 concurrent updates', async () => {
      await Promise.all(Array.from({ length: 200 }, () => store.update<number>(['position', 'n'], (n = 0) => n + 1)));
      assert.equal(await store.get(['position', 'n']), 200);
    });

    it('writes other keys under a lock, and secures it for the requested time', async () => {
      const made = await store.update<string>(['position', 'a'], async (_, lock) => {
        const check = await lock.secure(60_000);
        await store.put(['position', 'b'], 'inside', { under: [lock] });
        await store.update(['position', 'c'], () => 'inside too', { under: [lock] });
        check();
        return 'made';
      });
      assert.equal(made, 'made');
      assert.equal(await store.get(['position', 'b']), 'inside');
      assert.equal(await store.get(['position', 'c']), 'inside too');
    });

    it('waits for a lock until the deadline and leaves its holder alone', async () => {
      const clock = new ManualClock();
      const key: Key = ['position', 'a'];
      const { letGo, free } = gate();
      let holding: Promise<unknown> = Promise.resolve();
      await new Promise<void>((begun) => {
        holding = store.update<number>(key, async () => {
          begun();
          await free;
          return 1;
        });
      });
      const deadline = limit(clock, { seconds: 10 });
      const waiting = assert.rejects(
        store.update<number>(key, () => 2, { deadline }),
        { code: 'TIMEOUT', outcome: 'not-sent' },
      );
      await clock.advance(10_000);
      await waiting;
      letGo();
      await holding;
      assert.equal(await store.get(key), 1);
      assert.equal(await store.update<number>(key, (n = 0) => n + 1, { deadline: limit(clock) }), 2);
    });

    it('deletes a value past keepFor in a sweep, not before', async () => {
      await store.put(['print-key', 'short'], 1, { keepFor: 10_000_000 });
      await store.put(['print-key', 'long'], 2, { keepFor: 50_000_000 });
      await store.put(['print-key', 'ever'], 3);
      await place.pass(9_000_000);
      await store.sweep();
      assert.equal(await store.get(['print-key', 'short']), 1);
      await place.pass(1_000_000);
      assert.equal(await store.get(['print-key', 'short']), 1);
      await store.sweep();
      assert.equal(await store.get(['print-key', 'short']), undefined);
      assert.equal(await store.get(['print-key', 'long']), 2);
      await place.pass(1e9);
      await store.sweep();
      assert.equal(await store.get(['print-key', 'ever']), 3);
    });

    it('keeps a value for the keepFor of its last write', async () => {
      await store.put(['print-key', 'a'], 1, { keepFor: 1000 });
      await store.put(['print-key', 'a'], 2);
      await place.pass(1e9);
      await store.sweep();
      assert.equal(await store.get(['print-key', 'a']), 2);
    });

    it('seals grants and leaves other values readable', async () => {
      await store.put(['grant', 'a'], { accessToken: 'very-secret-token' });
      await store.put(['position', 'a'], { note: 'plain-note' });
      assert.ok(!(await place.raw('grant')).includes('very-secret-token'));
      assert.ok((await place.raw('position')).includes('plain-note'));
      assert.deepEqual(await open().get(['grant', 'a']), { accessToken: 'very-secret-token' });
    });

    it('reads a value sealed with an older secret and reseals it with the first one', async () => {
      await store.put(['grant', 'a'], { token: 1 });
      const both = open('chosen by the user', 'a secret');
      assert.deepEqual(await both.update<object>(['grant', 'a'], (grant) => ({ ...grant })), { token: 1 });
      assert.deepEqual(await open('chosen by the user').get(['grant', 'a']), { token: 1 });
    });

    for (const [what, raw] of [
      ['empty', ''],
      ['cut off', '{"version":1,"key":["gra'],
      ['not JSON', 'hello'],
      ['of no version', '{"version":"1","value":1}'],
      ['null', 'null'],
    ] as const)
      it(`sets aside a value that is ${what}, with a warning`, async () => {
        await store.put(['grant', 'a'], 'token');
        await place.damage('grant', raw);
        assert.equal(await store.get(['grant', 'a']), undefined);
        assert.equal(warnings.length, 1);
        assert.equal(await open().update(['grant', 'a'], (value) => value), undefined);
        assert.equal(warnings.length, 1);
        await store.put(['grant', 'a'], 'again');
        assert.equal(await store.get(['grant', 'a']), 'again');
      });

    it('leaves a value of a newer version as it is, and says so', async () => {
      const newer = '{"version":9,"key":["grant","a"],"form":"unknown"}';
      await store.put(['grant', 'a'], 'token');
      await place.damage('grant', newer);
      await store.put(['grant', 'b'], 'other');
      const refused = { code: 'FILE_NOT_READABLE', message: /of a newer version of the pack/ };
      await assert.rejects(store.get(['grant', 'a']), refused);
      await assert.rejects(
        store.update(['grant', 'a'], () => 'mine'),
        refused,
      );
      for (let times = 0; times < 2; times++)
        assert.deepEqual((await store.list(['grant'], { limit: 10 })).entries, [
          { key: ['grant', 'b'], value: 'other' },
        ]);
      assert.equal(warnings.length, 1);
      assert.equal(await store.get(['grant', 'b']), 'other');
    });

    it('writes nothing if the value stays the same', async () => {
      await store.put(['grant', 'a'], { n: 1 });
      const before = await place.raw('grant');
      await store.update<object>(['grant', 'a'], (value) => value);
      assert.equal(await place.raw('grant'), before);
      await store.update<object>(['grant', 'a'], (value) => ({ ...value }));
      // Sealed with another salt.
      assert.notEqual(await place.raw('grant'), before);
    });

    /** All values of a prefix, read page by page. */
    async function listed(prefix: Key, limit = 3, from: StateStore = store): Promise<Map<string, unknown>> {
      const found = new Map<string, unknown>();
      let after: string | undefined;
      do {
        const { entries, next } = await from.list(prefix, { after, limit });
        assert.ok(entries.length <= limit);
        for (const { key, value } of entries) found.set(JSON.stringify(key), value);
        after = next ?? undefined;
      } while (after !== undefined);
      return found;
    }
    const named = (values: [Key, unknown][]) => new Map(values.map(([key, value]) => [JSON.stringify(key), value]));

    it('lists the values whose keys begin with the words of a prefix', async () => {
      const values: [Key, unknown][] = [
        [['item', 'a'], 'of the prefix itself'],
        ...Array.from({ length: 8 }, (_, n): [Key, unknown] => [['item', 'a', `${n}`], { n }]),
        [['item', 'a', 'x'.repeat(10_000)], 'of a long key'],
        [['item', 'a', '%_\\\0"'], null],
      ];
      const others: [Key, unknown][] = [
        [['item', 'ab'], 0],
        [['item', 'a"'], 0],
        [['item', 'b', 'a'], 0],
        [['items', 'a', '1'], 0],
      ];
      await Promise.all([...values, ...others].map(([key, value]) => store.put(key, value)));
      assert.deepEqual(await listed(['item', 'a'], 3, open()), named(values));
      assert.deepEqual(await listed(['item', 'a'], 11), named(values));
      assert.deepEqual(await listed(['item'], 100), named([...values, ...others.slice(0, 3)]));
      assert.deepEqual(await listed(['item', 'a', '7']), named([[['item', 'a', '7'], { n: 7 }]]));
    });

    it('lists values that are sealed, also with an older secret', async () => {
      await store.put(['grant', 'a'], { token: 1 });
      await open('chosen by the user').put(['grant', 'b'], { token: 2 });
      const grants = named([
        [['grant', 'a'], { token: 1 }],
        [['grant', 'b'], { token: 2 }],
      ]);
      assert.deepEqual(await listed(['grant'], 9, open('chosen by the user', 'a secret')), grants);
    });

    it('lists neither locks nor values that were deleted', async () => {
      await store.put(['item', 'a'], 1);
      await store.put(['item', 'b'], 2);
      await store.delete(['item', 'b']);
      await store.waitForLock(['item', 'lock'], async () =>
        assert.deepEqual(await listed(['item']), named([[['item', 'a'], 1]])),
      );
    });

    it('lists the old value while a change runs, whatever its size', async () => {
      for (const old of ['old', 'ö'.repeat(10_000)]) {
        await store.put(['item', 'a'], old);
        await store.update(['item', 'a'], async () => {
          assert.deepEqual(await listed(['item']), named([[['item', 'a'], old]]));
          return 'new';
        });
        assert.deepEqual(await listed(['item']), named([[['item', 'a'], 'new']]));
      }
    });

    it('lists values of all lengths around 4 kB whole', async () => {
      const values = Array.from({ length: 130 }, (_, n) => 'ö'.repeat(1_870 + n));
      for (const [n, value] of values.entries()) await store.put(['item', `${n}`], value);
      assert.deepEqual(await listed(['item']), named(values.map((value, n) => [['item', `${n}`], value])));
    });

    it('sets a damaged value aside while listing, with a warning', async () => {
      await store.put(['grant', 'a'], 'token');
      await place.damage('grant', '{"version":1,"key":["gra');
      await store.put(['grant', 'b'], 'other');
      for (let n = 0; n < 2; n++) {
        assert.deepEqual(await listed(['grant']), named([[['grant', 'b'], 'other']]));
        assert.deepEqual(warnings, ['The saved grant is damaged; it was set aside and is treated as missing.']);
      }
      await store.put(['grant', 'a'], 'again');
      assert.equal((await listed(['grant'])).size, 2);
    });

    it('sets aside a listed grant that is stored in the clear although there is a secret', async () => {
      await store.put(['grant', 'a'], 'token');
      await place.damage('grant', JSON.stringify({ version: 1, key: ['grant', 'a'], value: 'forged' }));
      assert.deepEqual(await listed(['grant']), new Map());
      assert.match(warnings.join(), /The saved grant is not encrypted, .* set aside/);
    });

    it('rejects a listing that can’t be read, and returns it later', async () => {
      await store.put(['item', 'a'], 1);
      const unblock = await place.block();
      await assert.rejects(listed(['item']), { code: 'FILE_NOT_READABLE', outcome: 'not-sent' });
      await unblock();
      assert.deepEqual(await listed(['item']), named([[['item', 'a'], 1]]));
    });

    it('rejects an unreadable value instead of treating it as missing, and returns it later', async () => {
      const key: Key = ['position', 'a'];
      await store.put(key, 1);
      const unblock = await place.block();
      await assert.rejects(store.get(key), { code: 'FILE_NOT_READABLE', outcome: 'not-sent' });
      let asked = false;
      const change = () => {
        asked = true;
        return undefined;
      };
      await assert.rejects(store.update(key, change), { code: 'FILE_NOT_READABLE', outcome: 'not-sent' });
      assert.equal(asked, false);
      await assert.rejects(store.put(key, 2), { code: 'FILE_NOT_WRITABLE', outcome: 'not-sent' });
      await unblock();
      assert.equal(await store.get(key), 1);
      assert.deepEqual(warnings, []);
    });
  });
