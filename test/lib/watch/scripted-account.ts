import type { CallOptions } from '../../../lib/account/api-client';
import type { Scope, StateStore } from '../../../lib/state/store';
import { PrintingError } from '../../../lib/service/errors';
import type { EndpointName } from '../../../lib/service/paths';
import type { SignInState, SignInWatch } from '../../../lib/sign-in/sign-in-state';
import type { PrintEvent } from '../../../lib/events/print-event';
import { WatchMemory } from '../../../lib/watch/checkpoints/memory';
import type { Round } from '../../../lib/watch/views/rounds';
import type { Watch, WatchOptions } from '../../../lib/watch/views/watch';
import type { WatcherReport } from '../../../lib/watch/views/outages';
import { Watcher, type WatchMeter } from '../../../lib/watch/watcher';
import type { Clock } from '../../../lib/time/clock';
import { held } from '../../helpers/held';
import { ManualClock, settle } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';
import { callOf, idOf, ScriptedService, WholeAnswer } from '../../helpers/scripted-service';
import { answer, short, type Wire } from '../events/observations';
import { phrase } from '../../../lib/words/sentence';

export const notFound = () =>
  new PrintingError('NOT_FOUND', phrase`Not there.`, { statusCode: 404, outcome: 'refused' });
export const broken = (retryAfter?: number) =>
  new PrintingError('SERVICE_ERROR', phrase`Broken.`, { statusCode: 500, retryAfter });

export const limited = (retryAfter?: number) =>
  new PrintingError('RATE_LIMITED', phrase`Too many.`, { statusCode: 429, retryAfter });

/** The service of a farm, as its clusters and lists are set. */
export class FarmService extends ScriptedService {
  underWay = 0;
  mostUnderWay = 0;
  /** Statuses by cluster; a function is called for each answer. */
  statuses = new Map<string, Wire | (() => unknown)>();
  list: Wire[] = [];
  /** Records by job; others are not found. */
  records = new Map<string, Wire>();
  /** Error of a call, if it fails. */
  fails: (call: string) => Error | undefined = () => undefined;
  /** Promises that every answer, and every list, waits for. */
  gate: Promise<void> = Promise.resolve();
  listGate: Promise<void> = Promise.resolve();
  /** Bodies of the pages of a list with several. */
  pages: Wire[] | null = null;

  cluster(clusterId: string, status: Wire | (() => unknown) = answer(), listed: Wire = {}): void {
    this.statuses.set(clusterId, status);
    this.list = this.list.filter(({ cluster_id }) => cluster_id !== clusterId);
    this.list.push({
      cluster_id: clusterId,
      host_guid: `G-${clusterId}`,
      friendly_name: `name-${clusterId}`,
      status: 'active',
      ...listed,
    });
  }

  remove(clusterId: string): void {
    this.statuses.delete(clusterId);
    this.list = this.list.filter(({ cluster_id }) => cluster_id !== clusterId);
  }

  /** Holds back all answers, or the lists; the returned function releases them. */
  hold(gate: 'gate' | 'listGate' = 'gate'): () => void {
    const { promise, release } = held();
    this[gate] = promise;
    return release;
  }

  protected override async outcome(endpoint: EndpointName, options: CallOptions): Promise<unknown> {
    this.underWay++;
    this.mostUnderWay = Math.max(this.mostUnderWay, this.underWay);
    try {
      await this.gate;
      if (endpoint === 'clusters') await this.listGate;
      options.deadline.throwIfOver();
      const failure = this.fails(callOf(endpoint, options));
      if (failure) return failure;
      const data = this.#answer(endpoint, idOf(options));
      return data === undefined ? notFound() : data;
    } finally {
      this.underWay--;
    }
  }

  #answer(endpoint: EndpointName, id: string): unknown {
    if (endpoint === 'clusters') return this.pages ? new WholeAnswer(this.pages[Number(id || '1') - 1]) : this.list;
    if (endpoint === 'printJob') return this.records.get(id);
    const status = this.statuses.get(id);
    return typeof status === 'function' ? status() : status;
  }
}

export class ScriptedSignIn implements SignInWatch {
  state: SignInState = 'signed-in';
  listeners = new Set<() => void>();
  get usable(): boolean {
    return this.state === 'signed-in' || this.state === 'unchecked';
  }
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
  become(state: SignInState): void {
    this.state = state;
    this.listeners.forEach((listener) => listener());
  }
}

/** Watch that records everything it receives. */
export interface Witness extends Pick<Watch, 'pause' | 'resume' | 'close'> {
  /** Requests a poll; returns the collected results and the first failure. */
  poll(): Promise<Round>;
  watch: Watch;
  rounds: Round[];
  events: PrintEvent[];
  troubles: string[];
  /** Events in short form. */
  delivered(): string[];
  /** Types of the events, with whether each is late. */
  lateness(): [string, boolean][];
}

/** Account whose runtime can restart on the same state. */
export class ScriptedAccount<Time extends Clock = ManualClock, State extends StateStore = MemoryStore> {
  readonly signIn = new ScriptedSignIn();
  scope: Scope = ['A1', 'https://api', 'W1'];
  /** State that survives a deploy, but no restart. */
  memory = new WatchMemory();
  reports: WatcherReport[] = [];
  /** Called with each report. */
  onReport: (event: WatcherReport) => void = () => undefined;
  /** Of the next deploy. */
  meter: WatchMeter | undefined;
  watcher: Watcher;

  /** `sharing`: name of this runtime among others. */
  constructor(
    readonly clock = new ManualClock() as Clock as Time,
    readonly service = new FarmService(),
    readonly store = new MemoryStore() as StateStore as State,
    private readonly sharing?: string,
  ) {
    this.watcher = this.start();
  }

  /** Starts a new runtime on the stored state. */
  start(): Watcher {
    this.memory = new WatchMemory();
    return this.deploy();
  }

  /** Starts a new account node in the same runtime. */
  deploy(): Watcher {
    this.watcher = new Watcher({
      service: this.service,
      store: this.store,
      clock: this.clock,
      signIn: this.signIn,
      scope: async () => this.scope,
      memory: this.memory,
      meter: this.meter,
      ...(this.sharing !== undefined && { sharing: { topic: ['watching', 'A1'], name: this.sharing } }),
      random: () => 0,
      report: (event) => {
        this.reports.push(event);
        return this.onReport(event);
      },
    });
    return this.watcher;
  }

  /** Ends the runtime and starts another one on the stored state. */
  async restart(): Promise<void> {
    await this.watcher.close();
    this.start();
  }

  /** A watch after its first poll. */
  async watched(clusterId: string | null, more: Partial<WatchOptions> = {}): Promise<Witness> {
    const witness = this.watch(clusterId, more);
    await settle();
    return witness;
  }

  watch(clusterId: string | null, more: Partial<WatchOptions> = {}): Witness {
    const [rounds, events, troubles]: [Round[], PrintEvent[], string[]] = [[], [], []];
    const watch = this.watcher.watch({
      clusterId,
      interval: 60,
      milestones: [25, 50, 75],
      onRound: (round) => rounds.push(round),
      onEvents: (delivered) => events.push(...delivered),
      onTrouble: ({ code }) => troubles.push(code),
      ...more,
    });
    return {
      watch,
      rounds,
      events,
      troubles,
      delivered: () => events.map(short),
      lateness: () => events.map(({ type, late }) => [type, late]),
      poll: async () => {
        const answered: Round[] = [];
        const error = await watch.ask((round) => answered.push(round));
        return { results: answered.flatMap(({ results }) => results), group: answered.at(-1)?.group ?? null, error };
      },
      pause: () => watch.pause(),
      resume: () => watch.resume(),
      close: () => watch.close(),
    };
  }
}
