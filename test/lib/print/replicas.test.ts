import assert from 'node:assert/strict';
import type { Client } from '../../../lib/client';
import { Http } from '../../../lib/http/http';
import type { LateResults } from '../../../lib/print/late-results';
import type { PrintRequest } from '../../../lib/print/prints';
import { asPrintingError } from '../../../lib/service/errors';
import { systemClock } from '../../../lib/time/clock';
import { underDeadline, type Deadline } from '../../../lib/time/deadline';
import { startSimulator, type Fault, type Simulator } from '../../../simulator';
import { seeded } from '../../helpers/seeded';
import { SharedMemory, type SharedRuntime } from '../../helpers/shared-memory';
import { signedInClient } from '../../helpers/simulated-client';
import { TurnedTime } from '../../helpers/turned-time';

const ROUNDS = 30;
const SECONDS = 20;

/** Ways in which the answer to a print gets lost, after the service did the work or before. */
const LOST: Omit<Fault, 'endpoint'>[] = [
  { when: 'after', reset: true },
  { when: 'before', reset: true },
  { when: 'after', status: 502, html: true },
  { when: 'after', cut: 'body' },
];

/** What came of a message, each time that something did. */
type Told = Map<string, string[]>;

/** One Node-RED with a node that prints and waits for the end. */
class Life {
  isDead = false;
  client!: Client;
  readonly #http = new Http(undefined, { isLocal: true });
  #ends!: LateResults;
  readonly #node = new AbortController();

  constructor(
    readonly runtime: SharedRuntime,
    readonly name: string,
    private readonly told: Told,
  ) {}

  async start(simulator: Simulator): Promise<this> {
    const { store, clock } = this.runtime;
    this.client = await signedInClient(simulator, { store, clock, http: this.#http });
    this.#ends = this.client.lateEnds({
      nodeId: 'node',
      signal: this.#node.signal,
      onProgress: () => undefined,
      onEnd: ({ error }, _, note) => this.#tell(note as string, `late ${error?.code ?? 'finished'}`),
      onLost: () => undefined,
    });
    this.#ends.takeUp();
    return this;
  }

  #tell(message: string, what: string): void {
    if (!this.isDead) this.told.set(message, [...(this.told.get(message) ?? []), `${what} at ${this.name}`]);
  }

  /** Resolves when the message is done with. */
  async print(message: string, clusterId: string, changes: Partial<PrintRequest> = {}): Promise<void> {
    const { clock } = this.runtime;
    const { signal } = this.#node;
    const text = `;TIME:${SECONDS}\nG28\n; ${changes.printKey}`;
    const work = underDeadline(clock, { ms: 300_000, parent: signal }, (deadline) =>
      this.client.prints.run({
        source: () => Promise.resolve({ kind: 'bytes', bytes: Buffer.from(text), name: `${changes.printKey}.gcode` }),
        clusterIds: [clusterId],
        jobName: '',
        printKey: '',
        print: true,
        startNow: true,
        waitFor: 'finished',
        compress: false,
        reuseUpload: true,
        dryRun: false,
        deadline,
        signal,
        onWait: (scope, awaited) => this.#ends.begin(scope, awaited, message),
        onProgress: () => undefined,
        onResult: ({ error, status }) => {
          if (!error) this.#tell(message, String(status));
        },
        ...changes,
      }),
    );
    await work.catch((thrown: unknown) => this.#tell(message, asPrintingError(thrown).code));
  }

  kill(): void {
    this.isDead = true;
    this.runtime.kill();
    this.#http.close().catch(() => undefined);
  }

  /** Calls `action` in the middle of what it asks of the store: before the statement after so many. */
  inTheMiddle(after: number, action: () => void): void {
    let { statements } = this.runtime;
    let left = after;
    Object.defineProperty(this.runtime, 'statements', {
      configurable: true,
      get: () => statements,
      set: (made: number) => {
        statements = made;
        if (left-- === 0) action();
      },
    });
  }

  async close(): Promise<void> {
    this.#node.abort();
    await this.client.close();
    await this.runtime.close();
  }
}

describe(`${ROUNDS} rounds of prints at several runtimes, of which some are killed, stand still or are cut off`, () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let shared: SharedMemory;
  let told: Told;
  let lives: Life[];
  let named: number;

  before(async () => {
    time = new TurnedTime();
    simulator = await startSimulator({ now: time.now, printers: 1, accessTokenLifetime: 300 });
    shared = new SharedMemory(systemClock);
    told = new Map();
    lives = [];
    named = 0;
    for (let n = 0; n < 3; n++) await start();
    await time.pass(15);
  });
  after(async () => {
    await time.until(Promise.all(lives.map((life) => life.close())));
    await simulator.close();
    time.restore();
  });

  async function start(): Promise<void> {
    const life = new Life(shared.runtime(), `runtime ${++named}`, told);
    lives.push(await time.until(life.start(simulator)));
  }
  const clusterId = () => simulator.world.clusters()[0]?.clusterId ?? '';
  /** Printings of a file, wherever they stand. */
  function printings(jobName: string): number {
    const { queue, history } = simulator.world.cluster(1);
    const stored = simulator.world.storedJobs().filter((job) => job.jobName === jobName);
    const ids = new Set<string | null>(stored.map(({ jobId }) => jobId));
    return [...queue, ...history].filter(({ jobId }) => ids.has(jobId)).length;
  }

  /** Messages whose wait outlives its runtime. */
  function keptMessages(): unknown[] {
    const waits = JSON.stringify([...shared.values('kept-waits').values()]);
    const idOf = (key: string) => (JSON.parse(key) as string[]).at(-1) ?? '';
    return [...shared.values('kept-message')].flatMap(([key, note]) => (waits.includes(idOf(key)) ? [note] : []));
  }

  for (let round = 1; round <= ROUNDS; round++)
    it(`round ${round}`, async () => {
      const random = seeded(round);
      const pick = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)] as T;
      const printKey = `key-${round}`;
      simulator.faults.clear();
      if (random() < 0.3) simulator.faults.add({ endpoint: 'print', ...pick(LOST) });

      const hazards: Record<string, (victim: Life) => void> = {
        kill: (victim) => {
          kept.set(victim, keptMessages());
          victim.kill();
        },
        pause: ({ runtime }) => runtime.pause(),
        'cut off': ({ runtime }) => runtime.cutOff('at once'),
        'cut off after asking': ({ runtime }) => runtime.cutOff('after asking'),
        halt: () => shared.halt(),
      };
      /** What was kept when they were killed. */
      const kept = new Map<Life, unknown[]>();
      const happened: string[] = [];
      const victims = lives.filter(() => random() < 0.5);
      for (const victim of victims) {
        const hazard = pick(Object.keys(hazards));
        const step = Math.floor(random() * 40);
        victim.inTheMiddle(step, () => hazards[hazard]?.(victim));
        happened.push(`${hazard} ${victim.name} after ${step}`);
      }
      const story = () => `${happened.join(', ')}: ${JSON.stringify([...told])}`;

      const printers = lives.filter((life) => victims.includes(life) || random() < 0.6);
      const messages = new Map(printers.map((life) => [life, `${printKey} at ${life.name}`]));
      const done = printers.map((life) => life.print(messages.get(life) ?? '', clusterId(), { printKey }));
      await time.pass(Math.floor(random() * 90));
      shared.start();
      for (const victim of victims) {
        victim.inTheMiddle(Infinity, () => undefined);
        victim.runtime.resume();
        victim.runtime.reconnect();
        if (!victim.isDead) continue;
        lives.splice(lives.indexOf(victim), 1);
        await start();
      }
      assert.ok(printings(`${printKey}.gcode`) <= 1, story());
      await time.until(Promise.all(done.filter((_, at) => !printers[at]?.isDead)));
      await time.pass(60);

      // Again, with nothing in its way.
      simulator.faults.clear();
      const again = `${printKey} again`;
      await time.until(pick(lives).print(again, clusterId(), { printKey }));
      assert.equal(printings(`${printKey}.gcode`), 1, story());
      assert.match(told.get(again)?.join() ?? '', /^finished/, story());
      await time.pass(120);
      for (const [life, message] of messages) {
        const tellings = told.get(message)?.length ?? 0;
        assert.ok(tellings <= 1, `${message} was told twice: ${story()}`);
        assert.ok(
          tellings === 1 || (life.isDead && !kept.get(life)?.includes(message)),
          `${message} was never told: ${story()}`,
        );
      }
      assert.deepEqual([...shared.values('kept-waits').keys()], [], story());
      told.clear();
    });
});

describe('several runtimes on one store', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let clients: Client[];

  beforeEach(async () => {
    time = new TurnedTime();
    simulator = await startSimulator({ now: time.now, printers: 1, reportDelay: 0 });
    const shared = new SharedMemory(systemClock);
    clients = [];
    for (let n = 0; n < 3; n++)
      clients.push(await time.until(signedInClient(simulator, { ...shared.runtime(), clock: systemClock })));
  });
  afterEach(async () => {
    await time.until(Promise.all(clients.map((client) => client.close())));
    await simulator.close();
    time.restore();
  });
  const within = <T>(work: (deadline: Deadline) => Promise<T>): Promise<T> =>
    underDeadline(systemClock, { ms: 300_000 }, work);

  it('take what another has uploaded, as long as the service has it', async () => {
    const reused: boolean[] = [];
    const store = (client: Client | undefined) =>
      within(async (deadline) =>
        client?.prints.run({
          source: () => Promise.resolve({ kind: 'bytes', bytes: Buffer.from('G28\n'), name: 'part.gcode' }),
          clusterIds: [],
          jobName: '',
          printKey: '',
          print: false,
          startNow: true,
          waitFor: 'dispatched',
          compress: false,
          reuseUpload: true,
          dryRun: false,
          deadline,
          signal: new AbortController().signal,
          onProgress: () => undefined,
          onResult: ({ reusedUpload }) => reused.push(reusedUpload),
        }),
      );
    for (const client of [...clients, clients[0]]) await time.until(store(client));
    assert.deepEqual(reused, [false, true, true, true]);
    assert.equal(simulator.requests.count('storagePut'), 1);
    simulator.faults.add({ endpoint: 'getJob', status: 404 });
    for (const client of clients) await time.until(store(client));
    assert.deepEqual(reused.slice(4), [false, true, true]);
  });

  it('hand over each row of a report once, all at the same time and one after the other', async () => {
    simulator.world.setReports({ rows: 200 });
    const rows: unknown[] = [];
    const report = (client: Client) =>
      within((deadline) =>
        client.reports.run({
          clusterIds: null,
          reportType: 'print_jobs',
          range: { from: Date.parse('2026-01-01T00:00:00Z'), to: Date.parse('2026-01-08T00:00:00Z') },
          format: 'rows',
          path: '',
          onlyNew: 'node',
          deadline,
          onProgress: () => undefined,
          onResult: (_, payload) => rows.push(...(payload as unknown[])),
          onRows: () => undefined,
        }),
      );
    await time.until(Promise.all(clients.map(report)));
    assert.equal(rows.length, 200);
    for (const client of clients) await time.until(report(client));
    assert.equal(new Set(rows.map((row) => JSON.stringify(row))).size, 200);
    assert.equal(rows.length, 200);
  });
});
