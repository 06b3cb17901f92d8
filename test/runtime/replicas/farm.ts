import assert from 'node:assert/strict';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';

import { grantKey, newestGrant, type Grants } from '../../../lib/sign-in/grant';
import { Database } from '../../../lib/postgres/database';
import { PostgresStore } from '../../../lib/postgres/postgres-store';
import { systemClock } from '../../../lib/time/clock';
import { Replica } from '../../../scripts/replica.mjs';
import { startPostgres, type RunningPostgres } from '../../../scripts/postgres.mjs';
import { signIn } from '../../../scripts/demo.mjs';
import { startSimulator, type Cluster, type Simulator } from '../../../simulator/index';
import { credentialsOf } from '../sign-in';
import type {
  Asked,
  Evidence,
  Hazard,
  HazardKind,
  Poll,
  Printing,
  Shares,
  Stretch,
  ReplicaDiaryLine,
} from './evidence';
import { flowsOf, settings, type DiaryLine } from './flow';
import { PRINTERS, QUIET, REPLICAS, TOKEN_LIFETIME } from './rules';
import { Way } from './way';

const credentialSecret = 'the secret of all';
/** Virtual seconds per real second. */
const TIME_FACTOR = 60;
/** Interval between two collections of evidence, ms. */
const LOOK = 250;
/** Longest wait until every printer was seen, ms. */
const FIRST = 120_000;
/** Longest new sign-in, ms: the database may be down, and a killed replica may hold the lock for two minutes. */
const LONGEST_SIGN_IN = 180_000;
/** Longest renewal of a running replica, ms. */
const LONGEST_RENEWAL = 2_000;

/** Real Node-REDs with one flow, one database and one service, and the evidence of what they do. */
export class Farm {
  readonly replicas: Replica[];
  readonly log: string[] = [];
  readonly hazards: Hazard[] = [];
  readonly #folder: string;
  readonly #simulator: Simulator;
  readonly #postgres: RunningPostgres;
  readonly #ways: Way[];
  readonly #state: PostgresStore;
  readonly #told: ReplicaDiaryLine[] = [];
  readonly #readTo: number[];
  readonly #printings = new Map<string, Printing>();
  readonly #asked: Asked[] = [];
  readonly #clusterOf = new Map<string, string>();
  readonly #polls: Map<string, Poll[]>;
  readonly #refreshes: number[] = [];
  readonly #stuck: Stretch[] = [];
  readonly #lost: number[] = [];
  #renewing: { token: string; stretch: Stretch } | undefined;
  #since = 0;
  #looking = Promise.resolve();
  #outage = Promise.resolve();
  #watching: Promise<void> | undefined;
  #over = false;

  private constructor(parts: { folder: string; simulator: Simulator; postgres: RunningPostgres; ways: Way[] }) {
    const { folder, simulator, postgres, ways } = parts;
    [this.#folder, this.#simulator, this.#postgres, this.#ways] = [folder, simulator, postgres, ways];
    this.#readTo = ways.map(() => 0);
    this.#polls = new Map(clustersOf(simulator).map(({ clusterId }) => [clusterId, []]));
    this.replicas = ways.map(
      ({ port }, at) =>
        new Replica(at + 1, {
          userDir: join(folder, `replica-${at + 1}`),
          flows: flowsOf(simulator),
          credentials: credentialsOf(simulator),
          settings: { ...settings, credentialSecret },
          env: {
            DIARY: this.#diary(at),
            REPLICA: `replica ${at + 1}`,
            NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --require "${join(__dirname, 'tagged.cjs')}"`,
            REMOTE_PRINTING_STATE_STORE: `postgresql://nodered@127.0.0.1:${port}/postgres`,
          },
          onLine: (line) => this.log.push(`${at + 1}: ${line}`),
        }),
    );
    const silent = { warn: () => undefined, info: () => undefined };
    this.#state = new PostgresStore({
      database: new Database({ address: postgres.address, clock: systemClock, log: silent }),
      clock: systemClock,
      sealedKinds: ['grant'],
      secrets: () => [credentialSecret],
      warn: () => undefined,
    });
  }

  static async start(seed: number): Promise<Farm> {
    const postgres = await startPostgres();
    const simulator = await startSimulator({
      seed,
      autoApprove: true,
      printers: PRINTERS,
      timeFactor: TIME_FACTOR,
      accessTokenLifetime: TOKEN_LIFETIME,
    });
    for (const { clusterId } of clustersOf(simulator)) simulator.world.setCleaning(clusterId, 'automatic');
    const ways = await Promise.all(Array.from({ length: REPLICAS }, () => Way.to(postgres.port)));
    const folder = await mkdtemp(join(tmpdir(), 'replicas-'));
    const farm = new Farm({ folder, simulator, postgres, ways });
    try {
      await Promise.all(farm.replicas.map((replica) => replica.start()));
      await farm.#signIn();
      simulator.requests.clear();
      farm.#since = Date.now();
      farm.#watching = farm.#watch();
      await farm.#seen();
    } catch (error) {
      await farm.stop();
      throw error;
    }
    return farm;
  }

  /** Waits until every printer was seen: a print before that causes no events. */
  async #seen(): Promise<void> {
    const wanted = this.#polls.size + 1;
    for (const end = Date.now() + FIRST; ; await pause(LOOK)) {
      const seen = new Set(this.#told.map(({ node, clusterId }) => `${node} ${clusterId}`));
      if (seen.size >= wanted) return;
      assert.ok(Date.now() < end, `only ${seen.size} of ${wanted} were seen:\n${this.log.slice(-20).join('\n')}`);
    }
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.#watching;
    await Promise.all(this.replicas.map((replica) => replica.kill()));
    await this.#state.close();
    this.#ways.forEach((way) => way.close());
    await this.#simulator.close();
    await this.#postgres.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Clusters that print. */
  get printers(): string[] {
    return [...this.#polls.keys()].slice(0, -QUIET);
  }

  get running(): Replica[] {
    return this.replicas.filter(({ state }) => state === 'running');
  }

  /** Sends a message with a print key to all these replicas at once. The answers become part of the evidence. */
  ask(kind: Asked['kind'], key: string, clusterId: string, replicas: readonly Replica[]): void {
    for (const replica of replicas) {
      const asked: Asked = { kind, key, replica: replica.number, job: null, failed: null };
      this.#asked.push(asked);
      this.#send(asked, clusterId, replica).catch((error: unknown) => (asked.failed = String(error)));
    }
  }

  /** Repeats the request for each print that all replicas failed to answer, as the sender of an order would. */
  askAgain(): void {
    for (const key of new Set(this.#asked.filter(({ kind }) => kind === 'print').map(({ key }) => key))) {
      const all = this.#asked.filter((one) => one.key === key);
      const [replica] = this.running;
      if (!replica || all.some(({ job, failed }) => job !== null || failed === null)) continue;
      this.ask('print', key, this.#clusterOf.get(key) ?? '', [replica]);
    }
  }

  async #send(asked: Asked, clusterId: string, replica: Replica): Promise<void> {
    const { kind, key } = asked;
    this.#clusterOf.set(key, clusterId);
    const response = await fetch(`${replica.url}${kind}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key, clusterId, name: `${key}.gcode` }),
    });
    const text = await response.text();
    if (kind === 'wait') return;
    const answer = JSON.parse(text) as { clusterJobId?: string; code?: string };
    asked.job = answer.clusterJobId ?? null;
    asked.failed = answer.code ?? null;
  }

  /** Kills a replica with SIGKILL and restarts it after `ms`. */
  async kill(replica: Replica, ms: number): Promise<void> {
    await this.#during('kill', replica, async () => {
      await replica.kill();
      await this.#mendSignIn();
      await pause(ms);
      await replica.start();
    });
  }

  /** Kills a replica `ms` after forcing it to renew its token, and restarts it. */
  async renewal(replica: Replica, ms: number): Promise<void> {
    await this.#during('renewal', replica, async () => {
      this.#simulator.tokens.expireAccessTokens();
      void asked(replica, 'remote-printing/accounts/account/clusters');
      await pause(ms);
      await replica.kill();
      await this.#mendSignIn();
      await replica.start();
    });
  }

  async pause(replica: Replica, ms: number): Promise<void> {
    await this.#during('pause', replica, async () => {
      replica.pause();
      await pause(ms);
      replica.resume();
    });
  }

  /** Breaks the replica's connections to the database, and refuses new ones for `ms`. */
  async cut({ number }: Replica, ms: number): Promise<void> {
    const way = this.#ways[number - 1] as Way;
    await this.#during('cut', { number }, async () => {
      way.cut();
      await pause(ms);
      way.mend();
    });
  }

  /** Crashes the database and restarts it after `ms`. Outages run one after another. */
  async outage(ms: number): Promise<void> {
    this.#outage = this.#outage.then(() =>
      this.#during('outage', { number: 0 }, async () => {
        await this.#postgres.halt();
        await pause(ms);
        await this.#postgres.start();
      }),
    );
    await this.#outage;
  }

  async deploy(replica: Replica, type: 'full' | 'flows' | 'nodes'): Promise<void> {
    await this.#during('deploy', replica, async () => {
      const flows = (await (await fetch(`${replica.url}flows`)).json()) as { id: string; name?: string }[];
      const changed = flows.map((node) => (node.id === 'all' ? { ...node, name: `all, ${Date.now()}` } : node));
      const response = await fetch(`${replica.url}flows`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'node-red-deployment-type': type },
        body: JSON.stringify(changed),
      });
      assert.ok(response.ok, `the deploy was answered with ${response.status}`);
    });
  }

  async #during(kind: HazardKind, { number }: { number: number }, work: () => Promise<void>): Promise<void> {
    const hazard: Hazard = { kind, replica: number, from: Date.now(), to: Infinity };
    this.hazards.push(hazard);
    try {
      await work();
    } finally {
      hazard.to = Date.now();
    }
  }

  async evidence(): Promise<Evidence> {
    await this.#look();
    const [first] = this.running;
    return {
      since: this.#since,
      now: Date.now(),
      told: [...this.#told].sort((one, other) => one.at - other.at),
      printings: [...this.#printings.values()],
      asked: this.#asked,
      polls: this.#polls,
      refreshes: this.#refreshes,
      hazards: this.hazards,
      stuck: this.#stuck.filter(({ from, to }) => to - from > LONGEST_RENEWAL),
      lost: this.#lost,
      reuseDetections: this.#simulator.tokens.reuseDetections,
      states: await Promise.all(this.replicas.map((replica) => stateOf(replica))),
      shares: first && (await sharesOf(first)),
    };
  }

  /** Starts a sign-in at one replica and completes it at another. */
  async #signIn(): Promise<void> {
    const { running } = this;
    await signIn(running[0]?.url ?? '', 'account', running.at(-1)?.url);
  }

  /**
   * Signs in again after a kill between the service's answer to a renewal and the commit, and counts the lost sign-in.
   * Such a kill costs any client its sign-in.
   */
  async #mendSignIn(): Promise<void> {
    // By then, another replica has completed its pending renewal.
    for (let tries = 0; tries < 50; tries++, await pause(100)) if ((await this.#isHeld()) !== false) return;
    this.#lost.push(Date.now());
    // The database may be down as well.
    for (const end = Date.now() + LONGEST_SIGN_IN; ; await pause(500)) {
      try {
        return await this.#signIn();
      } catch (error) {
        if (Date.now() > end) throw error;
      }
    }
  }

  /** Whether the service accepts the stored sign-in; undefined while the database is unavailable. */
  async #isHeld(): Promise<boolean | undefined> {
    try {
      const grant = newestGrant(await this.#state.get<Grants>(grantKey('account')));
      return this.#simulator.tokens.refreshTokens.includes(grant?.refreshToken ?? '');
    } catch {
      return undefined;
    }
  }

  /** Collects evidence until the farm stops. */
  async #watch(): Promise<void> {
    while (!this.#over) {
      await this.#look();
      await this.#lookAtRenewal();
      await pause(LOOK);
    }
  }

  /** Collects evidence. Runs are serialized, because each continues where the last one ended. */
  #look(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#lookOnce());
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    const { requests } = this.#simulator;
    for (const { endpoint, status, path, agent, at } of requests.list()) {
      if (status !== 200) continue;
      if (endpoint === 'token') this.#refreshes.push(at);
      if (endpoint === 'clusterStatus')
        this.#polls.get(path.split('/').at(-2) ?? '')?.push({ at, by: agent ?? 'nobody' });
    }
    requests.clear();
    for (const { clusterId, queue, history } of clustersOf(this.#simulator))
      for (const { uuid, name, createdAt } of [...queue, ...history])
        this.#printings.set(uuid, { uuid, name: name.replace(/\.gcode$/, ''), clusterId, createdAt });
    for (const at of this.replicas.keys()) await this.#read(at);
  }

  #diary(at: number): string {
    return join(this.#folder, `diary-${at + 1}.jsonl`);
  }

  /** Reads the complete lines that were written since the last call. */
  async #read(at: number): Promise<void> {
    const file = await open(this.#diary(at)).catch(() => undefined);
    if (!file) return;
    try {
      const { size } = await file.stat();
      const from = this.#readTo[at] ?? 0;
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
      const text = buffer.subarray(0, bytesRead).toString();
      const whole = text.slice(0, text.lastIndexOf('\n') + 1);
      this.#readTo[at] = from + Buffer.byteLength(whole);
      for (const line of whole.split('\n').slice(0, -1))
        this.#told.push({ ...(JSON.parse(line) as DiaryLine), replica: at + 1 });
    } finally {
      await file.close();
    }
  }

  /** Records how long one renewal is in flight, or how long a killed replica holds its lock. */
  async #lookAtRenewal(): Promise<void> {
    const client = new Client(this.#postgres.address);
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ token: string }>(
        `SELECT token FROM remote_printing.entries WHERE kind = 'renewal' AND holder IS NOT NULL`,
      );
      const [row] = rows;
      if (!row) this.#renewing = undefined;
      else if (this.#renewing?.token === row.token) this.#renewing.stretch.to = Date.now();
      else {
        const stretch = { from: Date.now(), to: Date.now() };
        this.#renewing = { token: row.token, stretch };
        this.#stuck.push(stretch);
      }
    } catch {
      // The database is down.
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** Timeout of a request to a replica, ms: a paused one does not answer. */
const PATIENCE = 5_000;

async function asked<T>(replica: Replica, path: string): Promise<T | null> {
  try {
    const response = await fetch(`${replica.url}${path}`, { signal: AbortSignal.timeout(PATIENCE) });
    return response.ok ? ((await response.json()) as T) : null;
  } catch {
    return null;
  }
}

const stateOf = async (replica: Replica): Promise<string | null> =>
  (await asked<{ state: string }>(replica, 'remote-printing/accounts/account'))?.state ?? null;

async function sharesOf(replica: Replica): Promise<Shares | null | undefined> {
  const told = await asked<{ replicas: { printers: number; list: boolean }[] | null }>(
    replica,
    'remote-printing/accounts/account/replicas',
  );
  return told
    ? told.replicas && { members: told.replicas.map(({ printers, list }) => printers + Number(list)) }
    : undefined;
}

/** Printers of the workspace that the sign-in belongs to. */
const clustersOf = ({ world, users }: Simulator): Cluster[] =>
  world.clusters(users[0]?.organizations[0]?.organizationId);
