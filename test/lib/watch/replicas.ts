import type { PrintEvent } from '../../../lib/events/print-event';
import type { Answer, CallOptions, ApiClient } from '../../../lib/account/api-client';
import type { EndpointName } from '../../../lib/service/paths';
import { PrintingError } from '../../../lib/service/errors';
import { sleep } from '../../../lib/time/clock';
import type { Watch, WatchOptions } from '../../../lib/watch/views/watch';
import { phrase } from '../../../lib/words/sentence';
import { ManualClock } from '../../helpers/manual-clock';
import { SharedMemory, type SharedRuntime } from '../../helpers/shared-memory';
import { ScriptedAccount, FarmService } from './scripted-account';

/** One of several runtimes that watch the same account. */
export class Replica {
  readonly account: ScriptedAccount<SharedRuntime['clock'], SharedRuntime['store']>;
  isAlive = true;
  /** Whether the runtime can't reach the service. */
  isOffline = false;
  /** A poll waits for its token before it leaves. */
  token: Promise<void> | null = null;
  watches: Watch[] = [];

  constructor(
    readonly name: string,
    readonly runtime: SharedRuntime,
    private readonly replicas: Replicas,
  ) {
    const service = this as unknown as FarmService;
    this.account = new ScriptedAccount(runtime.clock, service, runtime.store, name);
  }

  /** Service as seen by this runtime. After a kill, pending answers never arrive. */
  async call(endpoint: EndpointName, options: CallOptions): Promise<Answer> {
    const { service, polls, latency, clock } = this.replicas;
    const { lock, ...others } = options;
    const token = this.token ?? this.replicas.token;
    if (token) await options.deadline.wait(token);
    (await lock?.secure(0))?.();
    if (endpoint === 'clusterStatus')
      polls.push({ by: this.name, clusterId: options.ids?.cluster_id ?? '', at: clock.monotonic() });
    if (endpoint === 'clusters') this.replicas.lists++;
    if (latency !== null) await sleep(this.runtime.clock, latency);
    if (this.isOffline) throw new PrintingError('NETWORK', phrase`No connection.`);
    return (service as ApiClient).call(endpoint, others);
  }

  get now(): number {
    return this.replicas.clock.monotonic();
  }

  /** Watches a cluster, or all, like a node of a flow that every runtime deploys. */
  watch(clusterId: string | null, interval = 60, more: Partial<WatchOptions> = {}): Watch {
    const { delivered, rounds } = this.replicas;
    const watch = this.account.watcher.watch({
      key: `node ${clusterId}`,
      clusterId,
      interval,
      milestones: [],
      onRound: ({ results }) => {
        for (const { status } of results)
          if (this.isAlive && status) rounds.push({ by: this.name, clusterId: status.clusterId, at: this.now });
      },
      onEvents: (events) => {
        if (!this.isAlive) return;
        delivered.push(...events.map((event) => ({ ...event, by: this.name, deliveredAt: this.now })));
        this.replicas.onDelivered({ by: this.name });
      },
      onTrouble: () => undefined,
      ...more,
    });
    this.watches.push(watch);
    return watch;
  }

  /** Ends the runtime without any cleanup. */
  kill(): void {
    this.isAlive = false;
    this.runtime.kill();
  }

  /** Closes the flows, as Node-RED does. */
  async close(): Promise<void> {
    for (const watch of this.watches.splice(0)) watch.close();
    await this.account.watcher.close();
  }

  async leave(): Promise<void> {
    await this.close();
    this.isAlive = false;
  }

  async deploy(): Promise<void> {
    await this.close();
    this.account.deploy();
  }
}

/** Several runtimes with the same flows, on one store, against one service. */
export class Replicas {
  readonly clock = new ManualClock();
  readonly service = new FarmService();
  readonly shared = new SharedMemory(this.clock);
  readonly all: Replica[] = [];
  readonly polls: { by: string; clusterId: string; at: number }[] = [];
  readonly delivered: (PrintEvent & { by: string; deliveredAt: number })[] = [];
  readonly rounds: { by: string; clusterId: string; at: number }[] = [];
  lists = 0;
  /** All requests wait for a token before they leave. */
  token: Promise<void> | null = null;
  /** Latency of the service, ms; null: it answers at once, also to a paused runtime. */
  latency: number | null = 0;
  /** Called right after a runtime has delivered events. */
  onDelivered: (runtime: { by: string }) => unknown = () => undefined;

  start(): Replica {
    const replica = new Replica(`R${this.all.length + 1}`, this.shared.runtime(), this);
    this.all.push(replica);
    return replica;
  }

  get running(): Replica[] {
    return this.all.filter(({ isAlive }) => isAlive);
  }

  /** Number of polls per runtime since a time. */
  load(from = 0): Map<string, number> {
    const load = new Map(this.running.map(({ name }) => [name, 0]));
    for (const { by, at } of this.polls) if (at >= from) load.set(by, (load.get(by) ?? 0) + 1);
    return load;
  }

  async close(): Promise<void> {
    await Promise.all(this.running.map((replica) => replica.close()));
  }
}
