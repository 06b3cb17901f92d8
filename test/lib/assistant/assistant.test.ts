import assert from 'node:assert/strict';
import { type CallReport, Assistant, type Question } from '../../../lib/assistant/assistant';
import type { Allow } from '../../../lib/assistant/tools';
import type { Client } from '../../../lib/client';
import type { StateStore } from '../../../lib/state/store';
import { systemClock } from '../../../lib/time/clock';
import { startSimulator, type Simulator } from '../../../simulator';
import { FaultyStore, type StoreFault } from '../../helpers/faulty-store';
import { MemoryStore } from '../../helpers/memory-store';
import { storeElsewhere } from '../../helpers/print-request';
import { signedInClient } from '../../helpers/simulated-client';
import { TurnedTime } from '../../helpers/turned-time';

interface Told {
  state?: string;
  handle?: string;
  repeated?: boolean;
  code?: string | null;
  retriable?: boolean;
  [name: string]: unknown;
}

describe('lib/assistant/assistant', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let store: MemoryStore;
  let client: Client;
  let closing: AbortController;
  let asked: Question[];
  let calls: CallReport[];

  beforeEach(async () => {
    time = new TurnedTime();
    simulator = await startSimulator({ now: time.now, printers: 2, accessTokenLifetime: 1e7, actionDelay: 0 });
    store = new MemoryStore();
    client = await signedInClient(simulator, { store, clock: systemClock });
    [asked, calls, closing] = [[], [], new AbortController()];
  });
  afterEach(async () => {
    closing.abort();
    await time.until(client.close());
    await simulator.close();
    time.restore();
  });

  /** A node's tools, as they are after each start. */
  const start = ({
    allow = 'ask',
    on = store,
    resumes = true,
  }: { allow?: Allow; on?: StateStore; resumes?: boolean } = {}): Assistant => {
    closing = new AbortController();
    const assistant = new Assistant({
      ...{ allow, expires: 600_000, nodeId: 'node', store: on, scope: client.scope, clock: systemClock },
      workshop: { client, queue: null, prices: null, nameOf: () => Promise.resolve('Printer 1') },
      ...{ signal: closing.signal, translate: String, warn: () => undefined },
      ask: (question) => void asked.push(question),
      report: (call) => void calls.push(call),
    });
    if (resumes) void assistant.resume();
    return assistant;
  };
  const call = async (assistant: Assistant, tool: string, given: object): Promise<Told> =>
    (await time.until(assistant.call(tool, given, null))).structured as Told;
  const clusterId = () => simulator.world.clusters()[0]?.clusterId ?? '';
  const dispatches = () => simulator.requests.count('print');
  const wishFor = (name = 'vase.gcode', key = 'key') => ({
    ...{ clusterId: clusterId(), jobId: storeElsewhere(simulator, name), key },
  });
  const id = () => asked.at(-1)?.requestId;
  const refusal = { code: 'INVALID_INPUT' };

  it('answers with unknown after a lost answer, looks again at a repeat, and never sends again', async () => {
    const assistant = start({ allow: 'act' });
    const wish = wishFor();
    simulator.faults.add({ endpoint: 'print', when: 'before', reset: true });
    let told = await call(assistant, 'print_stored_job', wish);
    assert.equal(told.state, 'running');
    for (let repeat = 0; repeat < 6; repeat += 1) {
      told = await call(assistant, 'print_stored_job', wish);
      await time.pass(120);
    }
    assert.deepEqual([told.state, told.code, told.repeated], ['unknown', 'PRINT_OUTCOME_UNKNOWN', true]);
    assert.equal(dispatches(), 1);
    closing.abort();
    const successor = start({ allow: 'act' });
    await time.pass(200);
    assert.equal((await call(successor, 'read_request', { handle: told.handle })).state, 'unknown');
    assert.equal(dispatches(), 1);
  });

  it('finds a print whose answer was lost', async () => {
    const assistant = start({ allow: 'act' });
    const wish = wishFor();
    simulator.faults.add({ endpoint: 'print', when: 'after', reset: true });
    await call(assistant, 'print_stored_job', wish);
    await time.pass(60);
    const told = await call(assistant, 'print_stored_job', wish);
    assert.deepEqual([told.state, told.code, dispatches()], ['done', null, 1]);
  });

  it('lets a request expire by the wall clock, also over a restart and with a clock that was set back', async () => {
    const cases: [string, () => Promise<void> | void][] = [
      ['later', () => time.pass(600)],
      ['set forward', () => time.set(time.now() + 600_000)],
      ['set back', () => time.set(time.now() - 1_000)],
    ];
    for (const [name, happen] of cases)
      for (const restarts of [false, true]) {
        let assistant = start();
        const told = await call(assistant, 'print_stored_job', wishFor(`${name}.gcode`, `${name} ${restarts}`));
        assert.equal(told.state, 'waiting');
        await happen();
        if (restarts) assistant = start();
        await assert.rejects(time.until(assistant.answer(id(), true)), refusal, name);
        const { state } = await call(assistant, 'read_request', { handle: told.handle });
        assert.equal(state, 'expired', `${name}, ${restarts}`);
      }
    assert.equal(dispatches(), 0);
  });

  it('expires by the time that has passed even if the wall clock stands still', async () => {
    const assistant = start();
    await call(assistant, 'print_stored_job', wishFor());
    const then = time.now();
    await time.pass(601);
    time.set(then + 1_000);
    await assert.rejects(time.until(assistant.answer(id(), true)), refusal);
    assert.equal(dispatches(), 0);
  });

  it('prints once if two answers come at the same time, and not at all if the first is a no', async () => {
    const assistant = start();
    const wish = wishFor();
    const { handle } = await call(assistant, 'print_stored_job', wish);
    const answers = await time.until(
      Promise.allSettled([assistant.answer(id(), true), assistant.answer(id(), true), assistant.answer(id(), false)]),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      ['fulfilled', 'rejected', 'rejected'],
    );
    assert.equal((await call(assistant, 'read_request', { handle })).state, 'done');
    assert.equal(dispatches(), 1);
  });

  it('prints once over a crash at any write of its record', async () => {
    for (let step = 1; step <= 8; step += 1)
      for (const fault of ['crash-before', 'crash-after'] as StoreFault[]) {
        const name = `${fault} ${step}.gcode`;
        const wish = wishFor(name, name);
        const before = dispatches();
        let writes = 0;
        let isCrashed = false;
        const faulty: FaultyStore = new FaultyStore(
          store,
          (kind, key) => {
            if (kind !== 'write' || key[0] !== 'assistant-request' || isCrashed) return undefined;
            writes += 1;
            return writes === step ? fault : undefined;
          },
          () => {
            isCrashed = true;
            closing.abort();
          },
        );
        const dying = start({ allow: 'act', on: faulty, resumes: false });
        await time.until(dying.call('print_stored_job', wish, null));
        if (!isCrashed) continue;
        store = faulty.left ?? assert.fail();
        const successor = start({ allow: 'act' });
        await time.pass(60);
        const told = await call(successor, 'print_stored_job', wish);
        assert.equal(told.state, 'done', `${name}: ${JSON.stringify(told)}`);
        assert.equal(dispatches(), before + 1, name);
      }
  });

  it('prints once over a kill at any write between the OK and the answer of the service, and after a second OK', async () => {
    const ends = new Set<string>();
    let isOver = false;
    for (let step = 1; !isOver; step += 1)
      for (const fault of ['crash-before', 'crash-after'] as StoreFault[]) {
        const name = `${fault} ${step}.gcode`;
        // The queue of one printer would become full.
        const place = simulator.world.clusters()[step % 2]?.clusterId ?? '';
        const wish = { ...wishFor(name, name), clusterId: place };
        const before = dispatches();
        let writes = -Infinity;
        let isCrashed = false;
        const faulty: FaultyStore = new FaultyStore(
          store,
          (kind) => {
            if (kind !== 'write' || isCrashed) return undefined;
            writes += 1;
            return writes === step ? fault : undefined;
          },
          () => {
            isCrashed = true;
            closing.abort();
          },
        );
        await time.until(client.close());
        client = await signedInClient(simulator, { store: faulty, clock: systemClock });
        const dying = start({ on: faulty });
        const { handle } = await call(dying, 'print_stored_job', wish);
        const requestId = id();
        writes = 0;
        const answered = await time.until(
          dying.answer(requestId, true).then(
            () => true,
            () => false,
          ),
        );
        await time.pass(60);
        isOver = !isCrashed;
        store = faulty.left ?? store;
        await time.until(client.close());
        client = await signedInClient(simulator, { store, clock: systemClock });
        const successor = start();
        await time.pass(60);
        // The person presses again, since nothing has shown that the first OK arrived.
        const again = await time.until(
          successor.answer(requestId, true).then(
            () => true,
            () => false,
          ),
        );
        assert.ok(!(answered && again), `${name}: the OK counted twice`);
        await time.pass(120);
        const { state } = await call(successor, 'read_request', { handle });
        ends.add(state ?? '');
        // A kill right before the request leaves open whether it left.
        assert.equal(dispatches(), before + (state === 'done' ? 1 : 0), `${name}: ${state}`);
        const refused = await time.until(
          successor.answer(requestId, true).then(
            () => false,
            () => true,
          ),
        );
        assert.ok(refused, name);
        closing.abort();
      }
    assert.deepEqual([...ends].sort(), ['done', 'unknown']);
  });

  it('does nothing that it can not write down', async () => {
    let isBroken = true;
    const faulty = new FaultyStore(
      store,
      (kind, key) => (isBroken && kind === 'write' && key[0] === 'assistant-request' ? 'unwritable' : undefined),
      () => undefined,
    );
    const assistant = start({ allow: 'act', on: faulty });
    const wish = wishFor();
    const told = await call(assistant, 'print_stored_job', wish);
    assert.deepEqual([told.code, told.retriable, dispatches()], ['FILE_NOT_WRITABLE', true, 0]);
    isBroken = false;
    assert.equal((await call(assistant, 'print_stored_job', wish)).state, 'done');
    assert.equal(dispatches(), 1);
  });

  it('asks a person about a request whose record is written only after the start of the next node', async () => {
    let write: () => void = () => undefined;
    const isAllowed = new Promise<void>((resolve) => (write = resolve));
    const slow = Object.create(store, {
      update: {
        value: async (...given: Parameters<StateStore['update']>) => (await isAllowed, store.update(...given)),
      },
    }) as StateStore;
    const dying = start({ on: slow });
    const wish = wishFor();
    const cut = dying.call('print_stored_job', wish, null);
    await time.pass(5);
    closing.abort();
    await time.until(cut);
    const successor = start();
    await time.pass(1);
    write();
    await time.pass(1);
    const told = await Promise.all([0, 1].map(() => call(successor, 'print_stored_job', wish)));
    assert.deepEqual([told.map(({ state }) => state), asked.length], [['waiting', 'waiting'], 1]);
    await time.until(successor.answer(id(), true));
    assert.equal((await call(successor, 'read_request', { handle: told[0]?.handle })).state, 'done');
  });

  /** Leaves a request that was to begin, and whose beginning could not be written down. */
  const leave = async (allow: Allow, key: string): Promise<Told> => {
    let writes = 0;
    const last = allow === 'act' ? 1 : 3;
    const faulty = new FaultyStore(
      store,
      (kind, [name]) =>
        kind === 'write' && name === 'assistant-request' && ++writes > last ? 'unwritable' : undefined,
      () => undefined,
    );
    const assistant = start({ allow, on: faulty });
    const wish = wishFor(`${key}.gcode`, key);
    await call(assistant, 'print_stored_job', wish);
    if (allow === 'ask') await time.until(assistant.answer(id(), true));
    await time.pass(10);
    closing.abort();
    return wish;
  };

  it('begins nothing after a restart that was asked for, or approved, too long ago', async () => {
    for (const [allow, seconds] of [
      ['act', 130],
      ['ask', 600],
    ] as const) {
      const wish = await leave(allow, allow);
      await time.pass(seconds);
      const successor = start({ allow });
      await time.pass(60);
      assert.equal((await call(successor, 'print_stored_job', wish)).state, 'expired', allow);
    }
    assert.equal(dispatches(), 0);
  });

  it('begins nothing that its node does not permit any more', async () => {
    for (const [before, now] of [
      ['act', 'look'],
      ['ask', 'look'],
      ['act', 'ask'],
    ] as const) {
      await leave(before, `${before} ${now}`);
      start({ allow: now });
      await time.pass(60);
      start({ allow: before });
      await time.pass(60);
    }
    assert.equal(dispatches(), 0);
  });

  it('goes on after a restart with what was asked for a moment ago, or approved in time', async () => {
    for (const allow of ['act', 'ask'] as const) {
      const wish = await leave(allow, allow);
      await time.pass(60);
      const successor = start({ allow });
      await time.pass(60);
      assert.equal((await call(successor, 'print_stored_job', wish)).state, 'done', allow);
    }
    assert.equal(dispatches(), 2);
  });

  it('looks whether an action was done that a crash cut off, and does not repeat it', async () => {
    const { uuid } = simulator.world.printLocally(1, { name: 'local.gcode', seconds: 36_000 });
    simulator.world.advance(600);
    const actions = () => simulator.requests.count('jobAction');
    const assistant = start({ allow: 'act' });
    const wish = { clusterId: clusterId(), clusterJobId: uuid, key: 'pause' };
    assert.equal((await call(assistant, 'pause_print', wish)).state, 'done');
    const scope = await client.scope();
    const { handle = '' } = await call(assistant, 'pause_print', wish);
    const reset = () =>
      store.update(['assistant-request', ...scope, 'node', handle], (now) => ({
        ...(now as object),
        ...{ state: 'running', hasBegun: true },
      }));
    simulator.world.advance(60);
    await reset();
    const before = actions();
    assert.equal((await call(start({ allow: 'act' }), 'read_request', { handle })).state, 'done');
    assert.equal((await call(assistant, 'resume_print', { ...wish, key: 'resume' })).state, 'done');
    simulator.world.advance(60);
    await reset();
    const told = await call(start({ allow: 'act' }), 'read_request', { handle });
    assert.deepEqual([told.state, actions()], ['unknown', before + 1]);
  });

  it('tells in a dry run what would happen and what it takes, and keeps nothing', async () => {
    const told = await call(start(), 'print_stored_job', { ...wishFor(), dryRun: true });
    assert.deepEqual([told.state, told.sentence, told.dryRun], ['done', 'Print vase.gcode on Printer 1.', true]);
    assert.deepEqual([asked.length, dispatches()], [0, 0]);
    const scope = await client.scope();
    assert.deepEqual((await store.list(['assistant-request', ...scope], { limit: 10 })).entries, []);
  });

  it('refuses to act where it may only look, and answers of people too', async () => {
    const { handle } = await call(start(), 'print_stored_job', wishFor());
    const looking = start({ allow: 'look' });
    assert.equal((await call(looking, 'print_stored_job', wishFor())).code, 'FORBIDDEN');
    await assert.rejects(time.until(looking.answer(id(), true)), refusal);
    assert.equal((await call(looking, 'read_request', { handle })).state, 'waiting');
    assert.equal(dispatches(), 0);
  });

  it('ends a look in TIMEOUT within 20 s, retriable', async () => {
    simulator.faults.add({ endpoint: 'clusters', hang: true, times: 100 });
    const assistant = start();
    const began = time.now();
    const told = await call(assistant, 'list_printers', {});
    assert.deepEqual([told.code, told.retriable], ['TIMEOUT', true]);
    assert.ok(time.now() - began <= 20_000);
  });
});
