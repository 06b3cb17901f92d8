import assert from 'node:assert/strict';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';

import { grantKey, newestGrant, type Grants } from '../../../lib/sign-in/grant';
import { Locks } from '../../../lib/state/locks';
import { Database } from '../../../lib/postgres/database';
import { PostgresStore } from '../../../lib/postgres/postgres-store';
import { systemClock } from '../../../lib/time/clock';
import { Replica } from '../../../scripts/replica.mjs';
import { startPostgres, type RunningPostgres } from '../../../scripts/postgres.mjs';
import { post, signIn } from '../../../scripts/demo.mjs';
import { startSimulator, type Cluster, type Simulator } from '../../../simulator/index';
import { credentialsOf } from '../sign-in';
import type {
  Asked,
  Evidence,
  Followed,
  Hazard,
  HazardKind,
  Poll,
  Printing,
  Shares,
  Stretch,
  ReplicaDiaryLine,
} from './evidence';
import { flowsOf, PRINT_TIMEOUT, settings, type DiaryLine } from './flow';
import { Network } from './network';
import { Queues } from './queues';
import { kindOf, PRINTERS, QUEUED, QUIET, REPLICAS, TIME_FACTOR, TOKEN_LIFETIME } from './size';

const credentialSecret = 'the secret of all';
/** Interval between two collections of evidence, ms. */
const LOOK = 250;
/** Interval of a timer that shows how long processes wait for a processor, ms, and the wait from which one is late. */
const TICK = 100;
const LATE = 50;
/** Longest wait until every printer was seen, ms. */
const FIRST = 120_000;
/** Longest time for which a step is repeated, ms: the database may be down, and a killed replica may hold the lock for two minutes. */
const LONGEST_STEP = 180_000;
/** Longest wait until a replica follows a sign-in or a sign-out, ms. */
const LONGEST_FOLLOWING = 60_000;
/** Longest time until a replica has written its renewed pair, after a hazard that delays its writes, ms. */
const WRITTEN_WITHIN = 30_000;
/** Hazards that delay the write of a renewed pair. */
const DELAYING: readonly HazardKind[] = ['half-open', 'unlisted', 'full', 'slow', 'outage', 'failover', 'cut'];
/** Time within which all replicas have a renewed token, ms: shorter than the token lasts. */
const SHARED_WITHIN = 2_000;
/** Longest renewal of a running replica, ms. */
const LONGEST_RENEWAL = 2_000;

/** Real Node-REDs with one flow, one database and one service, and the evidence of what they do. */
export class Farm {
  readonly replicas: Replica[];
  readonly log: string[] = [];
  readonly hazards: Hazard[] = [];
  readonly simulator: Simulator;
  readonly postgres: RunningPostgres;
  readonly queues: Queues;
  /** Serializes hazards that concern the same thing. */
  readonly locks = new Locks();
  readonly #folder: string;
  readonly #networks: Network[];
  readonly #env: Record<string, string>[];
  readonly #state: PostgresStore;
  readonly #told: ReplicaDiaryLine[] = [];
  readonly #readTo: number[];
  readonly #printings = new Map<string, Printing>();
  readonly #asked: Asked[] = [];
  readonly #clusterOf = new Map<string, string>();
  readonly #polls: Map<string, Poll[]>;
  readonly #refreshes: number[] = [];
  readonly #stuck: Stretch[] = [];
  readonly #expired: number[] = [];
  readonly #signIns: Stretch[] = [];
  readonly #failedSignIns: string[] = [];
  readonly #signedOut: Stretch[] = [];
  readonly #followed: Followed[] = [];
  readonly #lost: Stretch[] = [];
  readonly #late: Stretch[] = [];
  #renewing: { token: string; stretch: Stretch } | undefined;
  #since = 0;
  #looking = Promise.resolve();
  #watching: Promise<unknown> | undefined;
  #over = false;

  private constructor(parts: { folder: string; simulator: Simulator; postgres: RunningPostgres; networks: Network[] }) {
    const { folder, simulator, postgres, networks } = parts;
    [this.#folder, this.simulator, this.postgres, this.#networks] = [folder, simulator, postgres, networks];
    this.#readTo = networks.map(() => 0);
    this.#polls = new Map(clustersOf(simulator).map(({ clusterId }) => [clusterId, []]));
    this.#env = networks.map(({ database, env }, at) => ({
      ...env,
      DIARY: this.#diary(at),
      REPLICA: `replica ${at + 1}`,
      NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --require "${join(__dirname, 'preload.cjs')}"`,
      REMOTE_PRINTING_STATE_STORE: `postgresql://nodered@127.0.0.1:${database.port}/postgres`,
      CLOCK_AHEAD: '0',
    }));
    this.queues = new Queues({
      simulator,
      clusters: () => clustersOf(simulator).slice(-QUIET - QUEUED, -QUIET),
      running: () => this.running,
      healthy: () => this.healthy,
    });
    this.replicas = this.#env.map((env, at) => this.#replica(at + 1, env));
    const silent = { warn: () => undefined, info: () => undefined };
    this.#state = new PostgresStore({
      database: new Database({ address: postgres.address, clock: systemClock, log: silent }),
      clock: systemClock,
      sealedKinds: ['grant'],
      secrets: () => [credentialSecret],
      warn: () => undefined,
    });
  }

  #replica(number: number, env: Record<string, string>, secret = credentialSecret): Replica {
    return new Replica(number, {
      userDir: join(this.#folder, `replica-${number}`),
      flows: flowsOf(this.simulator),
      credentials: this.credentials,
      settings: { ...settings, credentialSecret: secret },
      env,
      onLine: (line) => this.log.push(`${number}: ${line}`),
    });
  }

  static async start(seed: number): Promise<Farm> {
    const postgres = await startPostgres();
    const simulator = await startSimulator({
      seed,
      autoApprove: true,
      farm: Array.from({ length: PRINTERS }, (_, at) => kindOf(at)),
      timeFactor: TIME_FACTOR,
      accessTokenLifetime: TOKEN_LIFETIME,
    });
    for (const { clusterId } of clustersOf(simulator)) simulator.world.setCleaning(clusterId, 'automatic');
    const hosts = [simulator.authUrl, simulator.apiUrl, simulator.storageUrl].map((url) => Number(new URL(url).port));
    const folder = await mkdtemp(join(tmpdir(), 'replicas-'));
    const networks = await Promise.all(
      Array.from({ length: REPLICAS }, (_, at) =>
        Network.to(postgres.port, hosts, join(folder, `unreached-${at + 1}`)),
      ),
    );
    const farm = new Farm({ folder, simulator, postgres, networks });
    try {
      await Promise.all(farm.replicas.map((replica) => replica.start()));
      await farm.#signIn();
      simulator.requests.clear();
      farm.#since = Date.now();
      farm.#watching = Promise.all([farm.#watch(), farm.#watchProcessor()]);
      await farm.#seen();
      farm.queues.start();
    } catch (error) {
      await farm.stop();
      throw error;
    }
    return farm;
  }

  /**
   * Waits until every printer was seen, and its first state is stored: a print before that causes no events if another
   * replica is the next to poll.
   */
  async #seen(): Promise<void> {
    const wanted = this.#polls.size + 1;
    for (const end = Date.now() + FIRST; ; await pause(LOOK)) {
      const seen = new Set(this.#told.map(({ node, clusterId }) => `${node} ${clusterId}`));
      if (seen.size >= wanted && (await this.#areStored())) return;
      assert.ok(Date.now() < end, `only ${seen.size} of ${wanted} were seen:\n${this.log.slice(-20).join('\n')}`);
    }
  }

  async #areStored(): Promise<boolean> {
    const rows = await this.sql<{ key: string }>(
      `SELECT key FROM remote_printing.entries WHERE kind = 'checkpoint' AND content IS NOT NULL`,
    );
    const stored = new Set(rows.map(({ key }) => (JSON.parse(key) as string[]).at(-1)));
    return [...this.#polls.keys()].every((clusterId) => stored.has(clusterId));
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.queues.stop();
    await this.#watching;
    await Promise.all(this.replicas.map((replica) => replica.kill()));
    await this.#state.close();
    await Promise.all(this.#networks.map((network) => network.close()));
    await this.simulator.close();
    await this.postgres.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Clusters that print without a queue. */
  get printers(): string[] {
    return [...this.#polls.keys()].slice(0, -QUIET - QUEUED);
  }

  get running(): Replica[] {
    return this.replicas.filter(({ state }) => state === 'running');
  }

  /** Running replicas that no hazard hits now; all running ones if there is none. */
  get healthy(): Replica[] {
    const isHit = ({ number }: Replica) =>
      this.hazards.some(({ replica, to }) => replica === number && to === Infinity);
    const healthy = this.running.filter((replica) => !isHit(replica));
    return healthy.length > 0 ? healthy : this.running;
  }

  network({ number }: Replica): Network {
    return this.#networks[number - 1] as Network;
  }

  /** Sends a message with a print key to all these replicas at once. The answers become part of the evidence. */
  ask(kind: Asked['kind'], key: string, clusterId: string, replicas: readonly Replica[]): void {
    for (const replica of replicas) {
      const asked: Asked = {
        ...{ kind, key, replica: replica.number, job: null, failed: null },
        ...{ at: Date.now(), answeredAt: null },
      };
      this.#asked.push(asked);
      this.#send(asked, clusterId, replica)
        .catch((error: unknown) => (asked.failed = String(error)))
        .finally(() => (asked.answeredAt = Date.now()));
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
      signal: AbortSignal.timeout(ANSWERED_WITHIN),
    });
    const text = await response.text();
    if (kind === 'wait') return;
    const answer = JSON.parse(text) as { clusterJobId?: string; code?: string };
    asked.job = answer.clusterJobId ?? null;
    asked.failed = answer.code ?? null;
  }

  /** Runs a hazard of one replica, or of all (null). */
  async during<T>(kind: HazardKind, replica: Replica | null, work: () => Promise<T>): Promise<T> {
    const hazard: Hazard = { kind, replica: replica?.number ?? 0, from: Date.now(), to: Infinity };
    this.hazards.push(hazard);
    try {
      return await work();
    } finally {
      hazard.to = Date.now();
    }
  }

  /** Makes a replica renew the sign-in: expires all tokens, and sends a request of this replica at once. */
  renewAt(replica: Replica): void {
    this.simulator.tokens.expireAccessTokens();
    this.#expired.push(Date.now());
    void asked(replica, 'remote-printing/accounts/account/clusters');
  }

  /** Resolves with true once all running replicas have the same access token, and with false if that takes too long. */
  async hasOneToken(): Promise<boolean> {
    for (const end = Date.now() + SHARED_WITHIN; Date.now() < end; await pause(LOOK)) {
      // A replica that starts may have read the pair of before.
      if (this.replicas.some(({ state }) => state === 'starting')) continue;
      const accounts = await Promise.all(this.running.map((replica) => accountAt(replica)));
      const [first] = accounts;
      if (first?.expiresAt && accounts.every((account) => account?.expiresAt === first.expiresAt)) return true;
    }
    return false;
  }

  /** Sets a replica's wall clock for its next starts. */
  setClock({ number }: Replica, aheadMs: number): void {
    (this.#env[number - 1] as Record<string, string>).CLOCK_AHEAD = String(aheadMs);
  }

  /** Credentials of the flow's nodes, by id. */
  get credentials(): Record<string, object> {
    return credentialsOf(this.simulator);
  }

  /** Hides the print of a key from all lists for `ms` of virtual time. */
  hide(key: string, ms: number): void {
    for (const { queue } of clustersOf(this.simulator))
      for (const job of queue) if (job.name === `${key}.gcode`) job.visibleAt += ms;
  }

  /** Another Node-RED on the same database, with another credential secret. */
  stranger(): Replica {
    const env = { ...(this.#env[0] as Record<string, string>), REPLICA: 'a stranger' };
    return this.#replica(REPLICAS + 1, { ...env, DIARY: this.#diary(REPLICAS) }, 'another secret');
  }

  /** Runs a statement on the database, as soon as it is there. */
  async sql<Row extends object>(statement: string, values: unknown[] = []): Promise<Row[]> {
    return patiently(async () => {
      const client = new Client(this.postgres.address);
      client.on('error', () => undefined);
      try {
        await client.connect();
        return (await client.query<Row>(statement, values)).rows;
      } finally {
        await client.end().catch(() => undefined);
      }
    });
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
      queues: this.queues.seen,
      polls: this.#polls,
      refreshes: this.#refreshes,
      expired: this.#expired,
      hazards: this.hazards,
      stuck: this.#stuck.filter(({ from, to }) => to - from > LONGEST_RENEWAL),
      signIns: this.#signIns,
      failedSignIns: this.#failedSignIns,
      signedOut: this.#signedOut,
      followed: this.#followed,
      lost: this.#lost,
      late: this.#late,
      reuseDetections: this.simulator.tokens.reuseDetections,
      states: await Promise.all(this.replicas.map((replica) => stateOf(replica))),
      shares: first && (await sharesOf(first)),
    };
  }

  /** Signs in, however long that takes: starts at one replica and completes at another. A failure becomes evidence. */
  async signIn(): Promise<void> {
    await this.#signIn().catch((error: unknown) => this.#failedSignIns.push(String(error)));
  }

  async #signIn(): Promise<void> {
    const stretch = { from: Date.now(), to: Infinity };
    this.#signIns.push(stretch);
    try {
      await patiently(() => signIn(this.healthy[0]?.url ?? '', 'account', this.healthy.at(-1)?.url));
    } finally {
      stretch.to = Date.now();
    }
  }

  /** Signs out at a replica. The period ends when the returned function is called. */
  async signOut(replica: Replica): Promise<() => void> {
    const stretch = { from: Date.now(), to: Infinity };
    this.#signedOut.push(stretch);
    await patiently(() => post(`${replica.url}remote-printing/accounts/account/sign-out`, {}));
    return () => (stretch.to = Date.now());
  }

  /** Measures how long these replicas take to report a state after a sign-in or a sign-out elsewhere. */
  async follow(state: Followed['state'], replicas: readonly Replica[]): Promise<void> {
    await Promise.all(
      replicas.map(async (replica) => {
        const followed: Followed = { state, replica: replica.number, at: Date.now(), ms: Infinity };
        this.#followed.push(followed);
        for (const end = Date.now() + LONGEST_FOLLOWING; Date.now() < end; await pause(100)) {
          if ((await stateOf(replica)) !== state) continue;
          followed.ms = Date.now() - followed.at;
          return;
        }
      }),
    );
  }

  /**
   * Signs in again after a kill between the service's answer to a renewal and the commit, and counts the lost sign-in.
   * Such a kill costs any client its sign-in.
   */
  mendSignIn(): Promise<void> {
    return this.locks.waitFor('sign-in', async () => {
      const lost = { from: Date.now(), to: Infinity };
      // By then, another replica has completed its pending renewal.
      for (let tries = 0; tries < 50 || this.#isDelayed; tries++, await pause(100))
        if ((await this.#isHeld()) !== false) return;
      this.#lost.push(lost);
      await this.signIn();
      lost.to = Date.now();
    });
  }

  /** Whether a replica may still hold a pair that it couldn't write. */
  get #isDelayed(): boolean {
    return this.hazards.some(({ kind, to }) => DELAYING.includes(kind) && Date.now() < to + WRITTEN_WITHIN);
  }

  /** Whether the service accepts the stored sign-in; undefined while the database is unavailable. */
  async #isHeld(): Promise<boolean | undefined> {
    try {
      const grant = newestGrant(await this.#state.get<Grants>(grantKey('account')));
      return this.simulator.tokens.refreshTokens.includes(grant?.refreshToken ?? '');
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

  /** Measures how long the farm and its replicas wait for a processor, until the farm stops. */
  async #watchProcessor(): Promise<void> {
    const waits = new Map<number, number>();
    while (!this.#over) {
      const from = Date.now() + TICK;
      await pause(TICK);
      if (Date.now() - from >= LATE) this.#late.push({ from, to: Date.now() });
      for (const { pid } of this.replicas) {
        if (pid === undefined) continue;
        const waited = await processorWait(pid);
        const more = waited - (waits.get(pid) ?? waited);
        waits.set(pid, waited);
        if (more >= LATE) this.#late.push({ from: Date.now() - more, to: Date.now() });
      }
    }
  }

  /** Collects evidence. Runs are serialized, because each continues where the last one ended. */
  #look(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#lookOnce());
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    const { requests } = this.simulator;
    for (const { endpoint, status, path, agent, at } of requests.list()) {
      if (status !== 200) continue;
      if (endpoint === 'token') this.#refreshes.push(at);
      if (endpoint === 'print')
        this.queues.dispatched({ clusterId: path.split('/').at(-3) ?? '', at, by: agent ?? 'nobody' });
      if (endpoint === 'clusterStatus')
        this.#polls.get(path.split('/').at(-2) ?? '')?.push({ at, by: agent ?? 'nobody' });
    }
    requests.clear();
    for (const { clusterId, queue, history } of clustersOf(this.simulator))
      for (const { uuid, name, createdAt } of [...queue, ...history])
        this.#printings.set(uuid, {
          ...{ uuid, name: name.replace(/\.gcode$/, ''), clusterId, createdAt },
          listedAt: Date.now(),
        });
    this.queues.look();
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
    const client = new Client(this.postgres.address);
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ token: string }>(
        `SELECT token FROM remote_printing.entries WHERE kind = 'refresh-lock' AND holder IS NOT NULL`,
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

/** Repeats what a person does until it succeeds. Throws its last error if it never does. */
export async function patiently<T>(step: () => Promise<T>): Promise<T> {
  for (const end = Date.now() + LONGEST_STEP; ; await pause(250)) {
    try {
      return await step();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}

/** Timeout of a request that prints, ms. A deploy cuts the flow off from the request, which then is never answered. */
const ANSWERED_WITHIN = (PRINT_TIMEOUT + 10) * 1000;
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

const accountAt = (replica: Replica) =>
  asked<{ state: string; expiresAt: string | null }>(replica, 'remote-printing/accounts/account');

const stateOf = async (replica: Replica): Promise<string | null> => (await accountAt(replica))?.state ?? null;

async function sharesOf(replica: Replica): Promise<Shares | null | undefined> {
  const told = await asked<{ replicas: { printers: number; list: boolean }[] | null }>(
    replica,
    'remote-printing/accounts/account/replicas',
  );
  return told
    ? told.replicas && { members: told.replicas.map(({ printers, list }) => printers + Number(list)) }
    : undefined;
}

/** Time for which the main thread of a process has waited for a processor, ms; 0 where the system does not count it. */
async function processorWait(pid: number): Promise<number> {
  const [, waited = '0'] = (await readFile(`/proc/${pid}/schedstat`, 'utf8').catch(() => '')).split(' ');
  return Number(waited) / 1e6;
}

/** Printers of the workspace that the sign-in belongs to. */
const clustersOf = ({ world, users }: Simulator): Cluster[] =>
  world.clusters(users[0]?.organizations[0]?.organizationId);
