import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Key } from '../../../lib/state/store';
import { asPrintingError } from '../../../lib/service/errors';
import { type Life, QueueFarm, type Runtime } from '../../helpers/queue-farm';

/** Kinds of the records on which a queue relies. */
const KINDS = [
  ...['queue-item', 'queue-past', 'queue-plate', 'queue-printer', 'queue-state', 'queue-telling'],
  ...['print-key', 'open-prints', 'claims', 'checkpoint'],
];
const MODES = ['confirm', 'printer', 'automatic'] as const;
/** The damages of a record; undefined: it is gone. */
const DAMAGES = [undefined, 'odd', null, {}, []];

/** Prints that begin half a minute after they were sent. */
const LATER: Life = [
  [0, 'queued'],
  [30, 'printing'],
  [90, 'finished'],
];

/** Moments at which the process ends: what is so before items are added, and what happens then. */
const MOMENTS: Record<string, { before?: (world: LivedIn) => void; until: (world: LivedIn) => Promise<void> }> = {
  'prints were sent': {
    before: ({ all }) => void all.farm.lives.push(LATER, LATER),
    until: ({ all }) => all.pass(10),
  },
  'the answers to prints are on their way': {
    before: ({ all }) => void (all.farm.dispatch = 'unanswered'),
    until: ({ all }) => all.pass(10),
  },
  'the outcomes of prints are unknown': {
    before: ({ all }) => {
      all.farm.dispatch = 'lost';
      all.farm.isHidden = true;
    },
    until: ({ all }) => all.pass(200),
  },
  'prints are under way': { until: ({ all }) => all.pass(20) },
  'prints have ended unseen': {
    until: async (world) => {
      await world.all.pass(20);
      world.kill();
      await world.all.pass(60);
    },
  },
  'prints have ended': { until: ({ all }) => all.pass(90) },
};

/** Copies that each item wants. */
const WANTED: Readonly<Record<string, number>> = { old: 1, a: 3, parts: 1, held: 1 };

/** A queue with a past at two printers, and people who see what lies on the plates. */
class LivedIn {
  readonly all = new QueueFarm();
  /** Prints that were sent onto others. */
  readonly collisions: string[] = [];
  readonly #taken = new Set<string>();
  #runtime: Runtime | null = null;

  constructor(private readonly gate: (typeof MODES)[number]) {
    const { farm } = this.all;
    farm.onPrint = () => {
      const { uuid, clusterId } = farm.prints.at(-1) ?? { uuid: '', clusterId: '' };
      const others = this.#partsOn(clusterId).filter((other) => other !== uuid);
      if (others.length > 0) this.collisions.push(`${uuid} on ${others.join(', ')}`);
    };
  }

  get one(): Runtime {
    assert.ok(this.#runtime);
    return this.#runtime;
  }

  async begin(): Promise<void> {
    this.#runtime = await this.all.begin({ gate: this.gate });
  }

  kill(): void {
    if (this.#runtime) this.all.kill(this.#runtime);
    this.#runtime = null;
  }

  /** Has a queue print, and kills it at a moment. */
  async live({ before, until }: (typeof MOMENTS)[string]): Promise<void> {
    const { farm } = this.all;
    await this.begin();
    await this.one.add('old', { jobId: 'job of old' });
    await this.all.pass(80);
    await this.#clearPlates();
    before?.(this);
    await this.#add();
    await until(this);
    this.kill();
    farm.answer();
    farm.isHidden = false;
  }

  /** A person takes the finished parts off, and prints another file there by hand. */
  printByHand(): void {
    for (const clusterId of this.all.farm.clusters.keys()) {
      const parts = this.#partsOn(clusterId);
      if (parts.some((uuid) => this.#wordOf(uuid) !== 'finished')) continue;
      for (const uuid of parts) this.#taken.add(uuid);
      this.all.farm.printByHand(clusterId);
    }
  }

  /** Adds the items, as a shop does that got no answer. */
  async #add(): Promise<void> {
    await this.one.add('a', { copies: 3, jobId: 'job of a' });
    await this.one.add('parts', { wanted: 2, perPrint: 2, jobId: 'job of parts' });
    await this.one.add('held', { held: true, jobId: 'job of held' });
  }

  /** Clears the plates for which the queue asks. */
  async #clearPlates(): Promise<void> {
    for (const { clusterId, plate } of await this.one.printers()) {
      const parts = this.#partsOn(clusterId);
      if (plate !== 'awaiting' || parts.some((uuid) => this.#wordOf(uuid) !== 'finished')) continue;
      for (const uuid of parts) this.#taken.add(uuid);
      await this.one.clear(true, clusterId);
    }
  }

  /** Does what people do until each item has ended, and adds those that are missing, or removes all. Returns what is left. */
  async finish(isRemoved: boolean): Promise<string[]> {
    for (let round = 0; round < 20; round++) {
      if (!isRemoved) await this.#add();
      await this.#clearPlates();
      const items = await this.one.list();
      if (items.every(({ state }) => state === 'finished' || (isRemoved && state === 'cancelled'))) return [];
      for (const { queueKey, held, copies, prints, state } of items) {
        const key = queueKey ?? '';
        const does = (action: 'remove' | 'release' | 'retry') => this.one.does(action, key).catch(asPrintingError);
        if (isRemoved) await does('remove');
        else if (held || copies.held > 0) await does('release');
        else if (copies.failed > 0 || state === 'blocked') await does('retry');
        // By then, the polls have settled each print that they can settle.
        for (const { state: print, copy, clusterId } of round > 3 ? prints : []) {
          if (print !== 'unknown') continue;
          const { farm } = this.all;
          const named = new Set(items.flatMap((item) => item.prints.map(({ clusterJobId }) => clusterJobId)));
          const isMade = farm.prints.some(
            (made) => made.jobId === `job of ${key}` && made.clusterId === clusterId && !named.has(made.uuid),
          );
          await this.one.settle(key, isMade ? 'printed' : 'not-printed', copy).catch(asPrintingError);
        }
      }
      await this.all.pass(80);
    }
    const keys = (await this.one.list()).flatMap(({ queueKey }) => queueKey ?? []);
    return Promise.all(keys.map(async (key) => `${key} ${await this.one.outcome(key)}`));
  }

  /** Items of which more copies were printed than they want, and others of which fewer were. */
  miscounted(isRemoved: boolean): string[] {
    return Object.entries(WANTED).flatMap(([key, wanted]) => {
      const count = this.all.farm.prints.filter(({ jobId }) => jobId === `job of ${key}`).length;
      return count > wanted || (count < wanted && !isRemoved) ? [`${key} ${count} times`] : [];
    });
  }

  keys(kind: string): Key[] {
    return [...this.all.shared.values(kind).keys()].map((key) => JSON.parse(key) as Key);
  }

  /** Prints that are under way at a printer, or lie there. */
  #partsOn(clusterId: string): string[] {
    const isThere = (uuid: string) =>
      !['', 'queued', ...(this.gate === 'automatic' ? ['finished'] : [])].includes(this.#wordOf(uuid));
    return this.all.farm.prints
      .filter((print) => print.clusterId === clusterId && !this.#taken.has(print.uuid) && isThere(print.uuid))
      .map(({ uuid }) => uuid);
  }

  #wordOf(uuid: string): string {
    const { farm, clock } = this.all;
    const { at, life } = farm.prints.find((print) => print.uuid === uuid) ?? { at: 0, life: [] };
    return life.findLast(([second]) => second * 1000 <= clock.monotonic() - at)?.[1] ?? '';
  }
}

describe('queue: a record that is lost or damaged alone', () => {
  for (const damage of [undefined, 'odd'])
    it(`leaves the outcome of a print unknown whose key is ${damage ? 'damaged' : 'lost'} while its answer is on its way`, async () => {
      const world = new LivedIn('automatic');
      await world.live(MOMENTS['the answers to prints are on their way'] ?? assert.fail());
      const { store } = world.all.shared.runtime();
      for (const key of world.keys('print-key').filter((words) => !words.join().includes('old')))
        if (damage) await store.put(key, damage);
        else await store.delete(key);
      await world.begin();
      await world.all.pass(60);
      assert.equal(await world.one.outcome('a'), 'waiting: unknown, unknown; 2 unknown, 1 waiting');
      await world.one.settle('a', 'printed');
      await world.all.pass(200);
      assert.deepEqual(await world.finish(false), []);
      assert.deepEqual(world.miscounted(false), []);
      await world.all.close();
    });

  it('tells each occurrence of an idle queue under an id of its own, also after its own record was lost', async () => {
    const world = new LivedIn('automatic');
    const ids: string[] = [];
    for (let round = 0; round < 2; round++) {
      await world.begin();
      await world.one.add(`${round}`, { jobId: 'job of old' });
      await world.all.pass(90);
      ids.push(...world.one.events.flatMap(({ id, type }) => (type === 'queue.idle' ? [id] : [])));
      world.kill();
      for (const key of world.keys('queue-state')) await world.all.shared.runtime().store.delete(key);
    }
    assert.equal(new Set(ids).size, 2, String(ids));
    await world.all.close();
  });

  for (const gate of ['confirm', 'printer'] as const)
    describe(`of a plate in the mode ${gate}`, () => {
      const plateEvents = (world: LivedIn) =>
        world.one.events.flatMap(({ type, clusterId }) => (type.startsWith('plate.') ? `${type} ${clusterId}` : []));

      const loseGates = async (world: LivedIn) => {
        for (const key of world.keys('queue-plate')) await world.all.shared.runtime().store.delete(key);
      };

      it('makes the queue report no plate as cleared when a person settles a print there', async () => {
        const world = new LivedIn(gate);
        await world.live(MOMENTS['the outcomes of prints are unknown'] ?? assert.fail());
        await loseGates(world);
        world.all.farm.isHidden = true;
        await world.begin();
        await world.all.pass(60);
        await world.one.settle('a', 'printed', 1);
        await world.all.pass(60);
        assert.deepEqual(plateEvents(world).toSorted(), ['plate.awaiting C1', 'plate.awaiting C2']);
        await world.all.close();
      });

      it('makes the queue report a plate neither as cleared nor anew that has waited before', async () => {
        const world = new LivedIn(gate);
        await world.live({ until: ({ all }) => all.pass(150) });
        await loseGates(world);
        await world.begin();
        await world.all.pass(60);
        assert.deepEqual(plateEvents(world), []);
        await world.one.clear(true, 'C1');
        await world.all.pass(10);
        assert.deepEqual(plateEvents(world), ['plate.cleared C1']);
        await world.all.close();
      });

      it('makes the queue report the plate once that the first status shows to wait', async () => {
        const world = new LivedIn(gate);
        const waiting: Life = [
          [0, 'printing'],
          [60, 'wait_cleanup'],
        ];
        const { until } = MOMENTS['prints have ended unseen'] ?? assert.fail();
        await world.live({ before: ({ all }) => void all.farm.lives.push(waiting, waiting), until });
        await loseGates(world);
        await world.begin();
        await world.all.pass(60);
        assert.deepEqual(plateEvents(world).toSorted(), ['plate.awaiting C1', 'plate.awaiting C2']);
        await world.all.close();
      });
    });

  it('puts no print on another one, none twice, and leaves no item without an end', async () => {
    const cases = fc.record({
      gate: fc.constantFrom(...MODES),
      moment: fc.constantFrom(...Object.keys(MOMENTS)),
      kind: fc.constantFrom(...KINDS),
      place: fc.nat(30),
      damage: fc.constantFrom(...DAMAGES),
      isByHand: fc.boolean(),
      isRemoved: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ gate, moment, kind, place, damage, isByHand, isRemoved }) => {
        const world = new LivedIn(gate);
        await world.live(MOMENTS[moment] ?? assert.fail());
        const keys = world.keys(kind);
        const key = keys[place % Math.max(1, keys.length)];
        const { store } = world.all.shared.runtime();
        if (key && damage === undefined) await store.delete(key);
        else if (key) await store.put(key, damage);
        if (isByHand) world.printByHand();
        await world.begin();
        const left = await world.finish(isRemoved);
        assert.deepEqual(left, [], JSON.stringify(key));
        assert.deepEqual(world.collisions, [], JSON.stringify(key));
        // Of an item that was lost and is added again, nobody knows what was printed.
        const isItem = kind === 'queue-item' || kind === 'queue-past';
        if (!isItem || isRemoved) assert.deepEqual(world.miscounted(isRemoved), [], JSON.stringify(key));
        await world.all.close();
      }),
      { numRuns: 60 },
    );
  });
});
