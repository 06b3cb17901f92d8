import assert from 'node:assert/strict';
import type { Client } from '../../../lib/client';
import type { PrintRequest, PrintResult } from '../../../lib/print/print-request';
import { asPrintingError, type PrintingError } from '../../../lib/service/errors';
import { readPrinterFilter } from '../../../lib/service/printer-filter';
import { sleep, systemClock } from '../../../lib/time/clock';
import { underDeadline } from '../../../lib/time/deadline';
import { startSimulator, type Simulator } from '../../../simulator';
import { MemoryStore } from '../../helpers/memory-store';
import { PRINT, printingsOf } from '../../helpers/print-request';
import { signedInClient } from '../../helpers/simulated-client';
import { pluck } from '../../helpers/pluck';
import { TurnedTime } from '../../helpers/turned-time';

describe('print/chosen-print', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let client: Client;
  let store: MemoryStore;

  beforeEach(async () => {
    time = new TurnedTime();
    simulator = await startSimulator({ now: time.now, printers: 3, accessTokenLifetime: 1e7 });
    store = new MemoryStore();
    client = await signedInClient(simulator, { store, clock: systemClock });
  });
  afterEach(async () => {
    await time.until(client.close());
    await simulator.close();
    time.restore();
  });

  const clusterId = (number: number) => simulator.world.cluster(number).clusterId;
  const printings = () => printingsOf(simulator, 'part.gcode');

  interface Outcome {
    result: PrintResult;
    error: PrintingError | undefined;
  }

  async function start(changes: Partial<PrintRequest> & { filter?: unknown } = {}): Promise<Outcome> {
    const { filter = {}, ...others } = changes;
    const results: PrintResult[] = [];
    const signal = new AbortController().signal;
    const work = underDeadline(systemClock, { ms: 600_000 }, (deadline) =>
      client.prints.run({
        ...PRINT,
        clusterIds: [],
        chooseIdle: readPrinterFilter(filter),
        onResult: (result) => results.push(result),
        ...others,
        signal,
        deadline,
      }),
    );
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => asPrintingError(thrown),
    );
    assert.equal(results.length, 1);
    return { result: results[0]!, error };
  }
  const run = (changes: Parameters<typeof start>[0] = {}) => time.until(start(changes));
  const printedOn = async (changes: Parameters<typeof start>[0] = {}) => {
    const { result, error } = await run(changes);
    assert.equal(error, undefined);
    return result.clusterId;
  };

  it('prints once, on the first idle printer of the list that matches', async () => {
    simulator.world.setOnline(1, false);
    assert.equal(await printedOn(), clusterId(2));
    const model = simulator.world.cluster(3).model;
    assert.equal(await printedOn({ filter: { model } }), clusterId(3));
    assert.deepEqual([printings(), simulator.requests.count('registerUpload')], [2, 1]);
  });

  it('gives each of several messages a printer of its own, before the list shows the prints', async () => {
    const outcomes = await time.until(Promise.all([start(), start(), start(), start()]));
    const chosen = outcomes.flatMap(({ result, error }) => (error ? [] : result.clusterId));
    assert.deepEqual(chosen.sort(), [1, 2, 3].map(clusterId).sort());
    const refused = outcomes.filter(({ error }) => error?.code === 'NOT_ACCEPTED');
    assert.equal(refused.length, 1);
    assert.match(refused[0]?.error?.message ?? '', /No suitable printer is idle/);
    assert.equal(printings(), 3);
  });

  it('is NOT_ACCEPTED with the criterion that no printer matches, and uploads nothing', async () => {
    const { error, result } = await run({ filter: { model: 'none' } });
    assert.equal(error?.code, 'NOT_ACCEPTED');
    assert.match(error.message, /matches the model/);
    assert.deepEqual([result.printed, result.clusterId], [false, null]);
    assert.deepEqual([simulator.requests.count('registerUpload'), simulator.requests.count('print')], [0, 0]);
  });

  it('returns the first result of a print key, although another printer would be chosen now, also after a restart', async () => {
    const { result: first } = await run({ printKey: 'k' });
    assert.equal(first.clusterId, clusterId(1));
    simulator.world.advance(30);
    const { result: second } = await run({ printKey: 'k', filter: { name: simulator.world.cluster(2).friendlyName } });
    assert.deepEqual(
      [second.duplicate, second.clusterJobId, second.clusterId],
      [true, first.clusterJobId, clusterId(1)],
    );
    await time.until(client.close());
    client = await signedInClient(simulator, { store, clock: systemClock });
    const { result: third } = await run({ printKey: 'k' });
    assert.deepEqual([third.duplicate, third.clusterJobId], [true, first.clusterJobId]);
    assert.equal(printings(), 1);
    const { result: other } = await run({ printKey: 'other' });
    assert.deepEqual([other.duplicate, other.clusterId], [false, clusterId(2)]);
  });

  for (const odd of [null, 5, {}])
    it(`prints no more with a key whose choice is saved as ${JSON.stringify(odd)}`, async () => {
      await run({ printKey: 'k' });
      const { entries } = await store.list(['print-choice'], { limit: 2 });
      for (const { key } of entries) await store.put(key, odd);
      const { error } = await run({ printKey: 'k' });
      assert.deepEqual([entries.length, error?.code, printings()], [1, 'PRINT_OUTCOME_UNKNOWN', 1]);
      assert.match(error?.message ?? '', /print key is damaged/);
    });

  it('prints once for two messages with one key at the same time', async () => {
    const both = await time.until(Promise.all([start({ printKey: 'k' }), start({ printKey: 'k' })]));
    assert.deepEqual(both.map(({ result }) => result.duplicate).sort(), [false, true]);
    assert.equal(new Set(both.map(({ result }) => result.clusterJobId)).size, 1);
    assert.equal(printings(), 1);
  });

  it('searches the chosen printer after a lost answer, and prints nowhere else', async () => {
    simulator.faults.add({ endpoint: 'print', when: 'after', reset: true });
    simulator.faults.add({ endpoint: 'clusterStatus', after: 2, times: 'always', status: 503 });
    const { error } = await run({ printKey: 'k' });
    assert.equal(error?.code, 'PRINT_OUTCOME_UNKNOWN');
    simulator.faults.clear();
    simulator.world.advance(30);
    const { result } = await run({ printKey: 'k' });
    assert.deepEqual([result.duplicate, result.clusterId, printings()], [true, clusterId(1), 1]);
  });

  it('chooses again after a printer has certainly refused the print', async () => {
    simulator.faults.add({ endpoint: 'print', status: 409, code: 'printerNotAcceptingJobs' });
    assert.equal((await run({ printKey: 'k' })).error?.code, 'NOT_ACCEPTED');
    simulator.world.setOnline(1, false);
    const { result, error } = await run({ printKey: 'k' });
    assert.deepEqual([error, result.duplicate, result.clusterId], [undefined, false, clusterId(2)]);
    assert.equal(printings(), 1);
  });

  it("sends nothing if the choice can't be saved", async () => {
    const put = store.put.bind(store);
    store.put = (key, ...rest) =>
      key[0] === 'print-choice' ? Promise.reject(new Error('read-only')) : put(key, ...rest);
    const { error } = await run({ printKey: 'k' });
    assert.deepEqual([error?.code, simulator.requests.count('print')], ['FILE_NOT_WRITABLE', 0]);
    store.put = put;
    assert.equal(await printedOn({ printKey: 'k' }), clusterId(1), 'the printer is free again');
  });

  it('reserves no printer in a dry run, which only reads', async () => {
    const { result } = await run({ dryRun: true, printKey: 'k' });
    assert.deepEqual([result.clusterId, result.dryRun, result.printed], [clusterId(1), true, false]);
    assert.deepEqual([simulator.requests.count('registerUpload'), simulator.requests.count('print')], [0, 0]);
    assert.ok(![...store.values.keys()].some((key) => key.includes('print-choice')));
    assert.equal(await printedOn({ printKey: 'k' }), clusterId(1));
    const repeated = await run({ dryRun: true, printKey: 'k' });
    assert.deepEqual([repeated.result.duplicate, repeated.result.clusterId], [true, clusterId(1)]);
  });

  it('leaves every printer to the messages that print during a dry run', async () => {
    const [dry, ...others] = await time.until(Promise.all([start({ dryRun: true }), start(), start(), start()]));
    assert.deepEqual([dry?.error, ...pluck(others, 'error')], Array(4).fill(undefined));
    const again = await run({ dryRun: true });
    assert.equal(again.error?.code, 'NOT_ACCEPTED', 'the prints keep their printers');
  });

  it('counts a printer as free again once the list can show its print', async () => {
    assert.equal(await printedOn(), clusterId(1));
    for (const { uuid } of [...simulator.world.cluster(1).queue]) simulator.world.vanish(clusterId(1), uuid);
    assert.equal(await printedOn(), clusterId(2));
    await time.until(sleep(systemClock, 30_000));
    assert.equal(await printedOn(), clusterId(1));
  });

  it('finds the printers that a filter matches, for a print on each', async () => {
    const matching = (filter: unknown) =>
      time.until(
        underDeadline(systemClock, { ms: 60_000 }, (deadline) =>
          client.prints.matching(readPrinterFilter(filter), deadline),
        ),
      );
    assert.deepEqual(await matching({ idle: true }), [1, 2, 3].map(clusterId));
    assert.deepEqual(await matching({ name: simulator.world.cluster(2).friendlyName }), [clusterId(2)]);
    await assert.rejects(matching({ tag: 'none' }), { code: 'NOT_ACCEPTED' });
  });
});
