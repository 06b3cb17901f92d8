import assert from 'node:assert/strict';
import type { Client } from '../../../lib/client';
import { Http } from '../../../lib/http/http';
import type { LateResults } from '../../../lib/print/late-results';
import type { Awaited, PrintRequest, PrintResult } from '../../../lib/print/print-request';
import { asPrintingError } from '../../../lib/service/errors';
import { systemClock } from '../../../lib/time/clock';
import { underDeadline, type Deadline } from '../../../lib/time/deadline';
import { startSimulator, type Fault, type Simulator } from '../../../simulator';
import { inMemory, PRINT, printingsOf } from '../../helpers/print-request';
import { picker, seeded, withSeed } from '../../helpers/seeded';
import { SharedMemory, type SharedRuntime } from '../../helpers/shared-memory';
import { signedInClient } from '../../helpers/simulated-client';
import { TurnedTime } from '../../helpers/turned-time';

const ROUNDS = 20;
const SECONDS = 20;

/** Ways to lose the answer to a print, after or before the service has done the work. */
const LOST: Omit<Fault, 'endpoint'>[] = [
  { when: 'after', reset: true },
  { when: 'before', reset: true },
  { when: 'after', status: 502, html: true },
  { when: 'after', cut: 'body' },
];

/** Outcomes by message, one entry per report. */
type Reports = Map<string, string[]>;

/** One Node-RED with a node that prints and waits for the end. */
class Life {
  isDead = false;
  client!: Client;
  readonly #http = new Http(undefined, { isLocal: true });
  #ends!: LateResults<Awaited, PrintResult>;
  readonly #node = new AbortController();

  constructor(
    readonly runtime: SharedRuntime,
    readonly name: string,
    private readonly reported: Reports,
  ) {}

  async start(simulator: Simulator): Promise<this> {
    const { store, clock } = this.runtime;
    this.client = await signedInClient(simulator, { store, clock, http: this.#http });
    const { signal } = this.#node;
    this.#ends = this.client.lateResults<Awaited, PrintResult>({
      nodeId: 'node',
      signal,
      awaitEnd: (scope, print) => this.client.prints.awaitEnd(scope, print, { signal, onProgress: () => undefined }),
      onEnd: ({ error }, _, note) => this.#report(note as string, `late ${error?.code ?? 'finished'}`),
    });
    this.#ends.resume();
    return this;
  }

  #report(message: string, what: string): void {
    if (!this.isDead) this.reported.set(message, [...(this.reported.get(message) ?? []), `${what} at ${this.name}`]);
  }

  /** Resolves when the message has been processed. */
  async print(message: string, clusterId: string, changes: Partial<PrintRequest> = {}): Promise<void> {
    const { clock } = this.runtime;
    const { signal } = this.#node;
    const text = `;TIME:${SECONDS}\nG28\n; ${changes.printKey}`;
    const work = underDeadline(clock, { ms: 300_000, parent: signal }, (deadline) =>
      this.client.prints.run({
        ...PRINT,
        ...{ source: inMemory(text, `${changes.printKey}.gcode`), clusterIds: [clusterId], waitFor: 'finished' },
        ...{ deadline, signal },
        onWait: (scope, awaited) => this.#ends.begin(scope, awaited, message),
        onResult: ({ error, status }) => {
          if (!error) this.#report(message, String(status));
        },
        ...changes,
      }),
    );
    await work.catch((thrown: unknown) => this.#report(message, asPrintingError(thrown).code));
  }

  kill(): void {
    this.isDead = true;
    this.runtime.kill();
    this.#http.close().catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#node.abort();
    await this.client.close();
    await this.runtime.close();
  }
}

describe(`print/prints in several runtimes that are killed, paused or cut off`, () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let shared: SharedMemory;
  let reported: Reports;
  let lives: Life[];
  let named: number;

  before(async () => {
    time = new TurnedTime();
    simulator = await startSimulator({ now: time.now, printers: 1, accessTokenLifetime: 300 });
    shared = new SharedMemory(systemClock);
    reported = new Map();
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
    const life = new Life(shared.runtime(), `runtime ${++named}`, reported);
    lives.push(await time.until(life.start(simulator)));
  }
  const clusterId = () => simulator.world.clusters()[0]?.clusterId ?? '';
  const printings = (jobName: string) => printingsOf(simulator, jobName);

  /** Messages with a stored wait. */
  function keptMessages(): unknown[] {
    const waits = JSON.stringify([...shared.values('kept-waits').values()]);
    const idOf = (key: string) => (JSON.parse(key) as string[]).at(-1) ?? '';
    return [...shared.values('kept-message')].flatMap(([key, note]) => (waits.includes(idOf(key)) ? [note] : []));
  }

  for (let round = 1; round <= ROUNDS; round++)
    it(
      'prints once and reports every message once',
      withSeed(round, async () => {
        const random = seeded(round);
        const pick = picker(random);
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
        /** Messages with a stored wait, by the runtime that was killed then. */
        const kept = new Map<Life, unknown[]>();
        const happened: string[] = [];
        const victims = lives.filter(() => random() < 0.5);
        for (const victim of victims) {
          const hazard = pick(Object.keys(hazards));
          const step = Math.floor(random() * 40);
          victim.runtime.inTheMiddle(step, () => hazards[hazard]?.(victim));
          happened.push(`${hazard} ${victim.name} after ${step}`);
        }
        const story = () => `${happened.join(', ')}: ${JSON.stringify([...reported])}`;

        const printers = lives.filter((life) => victims.includes(life) || random() < 0.6);
        const messages = new Map(printers.map((life) => [life, `${printKey} at ${life.name}`]));
        const done = printers.map((life) => life.print(messages.get(life) ?? '', clusterId(), { printKey }));
        await time.pass(Math.floor(random() * 90));
        shared.start();
        for (const victim of victims) {
          victim.runtime.inTheMiddle(Infinity, () => undefined);
          victim.runtime.resume();
          victim.runtime.reconnect();
          if (!victim.isDead) continue;
          lives.splice(lives.indexOf(victim), 1);
          await start();
        }
        assert.ok(printings(`${printKey}.gcode`) <= 1, story());
        await time.until(Promise.all(done.filter((_, at) => !printers[at]?.isDead)));
        await time.pass(60);

        // Print again without faults.
        simulator.faults.clear();
        const again = `${printKey} again`;
        await time.until(pick(lives).print(again, clusterId(), { printKey }));
        assert.equal(printings(`${printKey}.gcode`), 1, story());
        assert.match(reported.get(again)?.join() ?? '', /^finished/, story());
        await time.pass(120);
        for (const [life, message] of messages) {
          const reports = reported.get(message)?.length ?? 0;
          assert.ok(reports <= 1, `${message} was reported twice: ${story()}`);
          assert.ok(
            reports === 1 || (life.isDead && !kept.get(life)?.includes(message)),
            `${message} was never reported: ${story()}`,
          );
        }
        assert.deepEqual([...shared.values('kept-waits').keys()], [], story());
        reported.clear();
      }),
    );
});

describe('a runtime that shares its store', () => {
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

  it('reuses another runtime’s upload while the service stores it', async () => {
    const reused: boolean[] = [];
    const store = (client: Client | undefined) =>
      within(async (deadline) =>
        client?.prints.run({
          ...PRINT,
          ...{ clusterIds: [], print: false, deadline, signal: new AbortController().signal },
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

  it('delivers each report row once, both at the same time and in succession', async () => {
    simulator.world.setReports({ rows: 200 });
    const rows: unknown[] = [];
    const report = (client: Client) =>
      within((deadline) =>
        client.reports.run({
          ...{ clusterIds: null, reportType: 'print_jobs' },
          range: { from: Date.parse('2026-01-01T00:00:00Z'), to: Date.parse('2026-01-08T00:00:00Z') },
          ...{ format: 'rows', path: '', onlyNew: 'node', deadline },
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
