import { mkdirSync, mkdtempSync, readdirSync, rmSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSettings } from '../../lib/account/settings';
import { Client } from '../../lib/client';
import { Http } from '../../lib/http/http';
import { grantKey, newestGrant, type Grant, type Grants } from '../../lib/sign-in/grant';
import { FileStore, Sweeper } from '../../lib/state/file-store';
import { ID_FILE } from '../../lib/state/state-folder';
import { WriteBehindStore } from '../../lib/state/write-behind-store';
import type { Clock } from '../../lib/time/clock';
import { WatchMemory } from '../../lib/watch/checkpoints/memory';
import type { Sentence } from '../../lib/words/sentence';
import { startSimulator, type PrintJob, type Simulator, type SimulatorOptions } from '../../simulator';
import { seeded } from '../helpers/seeded';
import { Activity } from './below/activity';
import { Disks, type Mount } from './below/disk';
import { InjectedTime, MachineClock } from './below/time';
import { Wire, type Host } from './below/wire';
import { Broken, Trace } from './trace';

export const ACCOUNT = 'account';
/**
 * Lifetime of access tokens in runs that renew none, s: longer than any clock of these runs is ahead. An answer to a renewal
 * that is lost ends the sign-in, which only the runs about renewals expect.
 */
export const WITHOUT_RENEWAL = 1e9;
const SECRET = 'secret of these tests';
/** Folder for the files; in memory if possible, because thousands of runs flush thousands of files. */
const FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** Longest allowed turn of the event loop, nominal ms of CPU time. */
const LONGEST_TURN = 100;

/** Print that the service created. */
export interface Printed {
  clusterId: string;
  jobName: string;
  uuid: string;
  at: number;
  /** When its call left the machine; its place in the order of `World.next`, of several calls alike that of the last. */
  left: { at: number; order: number };
  /** Its place in the order of `World.next`. */
  order: number;
}

/** Head of the call that prints a stored job. */
const PRINT_CALL = /^POST \S*\/clusters\/([^/]+)\/print\/(\S+) /;

/** Environment of a run, below and beside the pack. Only one exists at a time. */
export class World {
  readonly activity = new Activity();
  readonly time = new InjectedTime(this.activity);
  readonly disks = new Disks(this.activity);
  readonly wire = new Wire(this.time, this.activity);
  readonly trace = new Trace(() => this.time.elapsed);
  readonly random: () => number;
  /** All prints that the service ever started for API requests. */
  readonly printed: Printed[] = [];
  /** Called when the service has started a print, before it answers. */
  onPrint: (clusterId: string) => void = () => undefined;
  /** Called when a call that prints a stored job leaves the machine, whether or not it arrives. */
  onCall: (jobId: string) => void = () => undefined;
  /** Called for each print that the service has started for a call of the pack. */
  readonly onPrinted: ((printed: Printed, job: PrintJob) => void)[] = [];
  /** Uncaught errors, which would end a real Node-RED. */
  readonly uncaught: unknown[] = [];
  /** When records were lost last, by the service's clock, ms. */
  lostAt = -Infinity;
  simulator!: Simulator;
  readonly #root = mkdtempSync(join(FOLDER, 'faults-'));
  readonly #undo: (() => void)[] = [];
  readonly machines: Machine[] = [];
  /** Calls that print, which left the machine and have not been carried out, by cluster and stored job. */
  readonly #calls = new Map<string, { at: number; order: number }[]>();
  #order = 0;

  private constructor(readonly seed: number) {
    this.random = seeded(seed);
  }

  static async make(seed: number, options: SimulatorOptions = {}): Promise<World> {
    const world = new World(seed);
    mkdirSync(join(world.#root, 'disk'));
    world.#undo.push(world.disks.install(), world.wire.install(), world.#fixChance(), world.#watchUncaught());
    world.wire.onFault = (host, what) => world.trace.add(`wire: ${what} (${host})`);
    world.simulator = await world.wire.learn(
      () => startSimulator({ printers: 1, storage: 'discard', seed, now: world.time.truth, ...options }),
      ({ authUrl, apiUrl, storageUrl }, port) => {
        const urls: [Host, string][] = [
          ['auth', authUrl],
          ['api', apiUrl],
          ['storage', storageUrl],
        ];
        return urls.find(([, url]) => new URL(url).port === String(port))?.[0] ?? null;
      },
    );
    world.#countPrints();
    return world;
  }

  get folder(): string {
    return join(this.#root, 'disk');
  }

  clusterId = (number = 1): string => this.simulator.world.cluster(number).clusterId;

  /** Number of an occurrence: it orders those of one moment. */
  next = (): number => ++this.#order;

  /** Returns a path at which no file exists. */
  place = (name: string): string => join(this.#root, name);

  /** Starts a machine with a wall clock that is wrong by `offset` ms. */
  boot(offset = 0): Machine {
    const machine = new Machine(this, join(this.#root, `machine-${this.machines.length}`), offset);
    this.machines.push(machine);
    return machine;
  }

  /** Deletes all records of a kind, while no process is alive. */
  lose(kind: string): void {
    this.trace.add(`the records ${kind} are lost`);
    this.lostAt = this.time.truth();
    rmSync(join(this.folder, kind), { recursive: true, force: true });
  }

  /** Files that interrupted writes left in the state folder. */
  leftovers(): string[] {
    const files = readdirSync(this.folder, { recursive: true, withFileTypes: true });
    const isLeft = (name: string) => !name.endsWith('.json') && name !== ID_FILE;
    return files.filter((file) => file.isFile() && isLeft(file.name)).map(({ name }) => name);
  }

  /** Runs `work` in this world and then ends the world. An error contains the trace. */
  async run(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      const { cause, cpu } = this.activity.longest;
      if (cpu > LONGEST_TURN) throw new Broken(6, `the event loop stood for ${Math.round(cpu)} ms, at ${cause}`);
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      throw Object.assign(error, { trace: this.trace.text() });
    } finally {
      await this.#end();
    }
  }

  /** Ends the world and removes its files. */
  async #end(): Promise<void> {
    for (const machine of this.machines) await machine.bury();
    await this.simulator.close();
    for (const undo of this.#undo.reverse()) undo();
    rmSync(this.#root, { recursive: true, force: true });
  }

  #countPrints(): void {
    const { world } = this.simulator;
    this.wire.onDeparture = (_, data) => {
      const [, clusterId = '', jobId = ''] = PRINT_CALL.exec(data.toString('latin1', 0, 400)) ?? [];
      if (clusterId === '') return;
      const call = `${decodeURIComponent(clusterId)} ${decodeURIComponent(jobId)}`;
      this.#calls.set(call, [...(this.#calls.get(call) ?? []), { at: this.time.elapsed, order: this.next() }]);
      this.onCall(decodeURIComponent(jobId));
    };
    const print = world.print.bind(world);
    world.print = (...args): PrintJob => {
      const job = print(...args);
      const { clusterId } = args[0];
      const { jobName, jobId } = args[1];
      const printed = { clusterId, jobName, uuid: job.uuid, at: this.time.elapsed, ...this.#callOf(clusterId, jobId) };
      this.printed.push(printed);
      this.trace.add(`service: prints ${jobName} on ${clusterId.slice(0, 6)} as ${job.uuid.slice(0, 8)}`);
      for (const follow of this.onPrinted) follow(printed, job);
      this.onPrint(clusterId);
      return job;
    };
  }

  #callOf(clusterId: string, jobId: string): Pick<Printed, 'left' | 'order'> {
    const order = this.next();
    const call = `${clusterId} ${jobId}`;
    const calls = this.#calls.get(call) ?? [];
    this.#calls.delete(call);
    const [first = { at: this.time.elapsed }] = calls;
    return { order, left: { at: first.at, order: calls.at(-1)?.order ?? order } };
  }

  #fixChance(): () => void {
    const { random } = Math;
    Math.random = seeded(this.seed ^ 0x5eed);
    return () => {
      Math.random = random;
    };
  }

  #watchUncaught(): () => void {
    const names = ['uncaughtException', 'unhandledRejection'] as const;
    const others = names.map((name) => [name, process.listeners(name as 'uncaughtException')] as const);
    const mine = (thrown: unknown) => this.uncaught.push(thrown);
    for (const name of names) {
      process.removeAllListeners(name);
      process.on(name, mine);
    }
    return () => {
      for (const [name, listeners] of others) {
        process.removeAllListeners(name);
        for (const listener of listeners) process.on(name, listener);
      }
    };
  }
}

/** One Node-RED process, from its start to a shutdown or a crash. Its files outlive it. */
export class Machine {
  readonly clock: MachineClock;
  readonly mount: Mount;
  readonly store: WriteBehindStore;
  readonly warnings: string[] = [];
  readonly #upkeep: Sweeper;
  /** Memory of the watches, which outlives deploys. */
  readonly #memory = new WatchMemory();
  readonly #clients: { client: Client; http: Http; leave: () => Promise<void> }[] = [];
  alive = true;

  constructor(
    readonly world: World,
    at: string,
    offset: number,
  ) {
    this.clock = new MachineClock(world.time, offset);
    this.mount = world.disks.mount(at, world.folder, world.time);
    if (process.env.STEPS) this.mount.onStep = ({ name, path }) => world.trace.add(`step ${name} ${path}`);
    this.mount.onFault = ({ name, path }, code) => world.trace.add(`disk: ${code} on ${name} of ${path}`);
    const files = storeIn(at, this.clock, (sentence) => this.warn(sentence));
    this.store = new WriteBehindStore(files, this.clock);
    this.#upkeep = new Sweeper({
      clock: this.clock,
      sweep: () => files.sweep(),
      ended: () => this.store.close(),
      warn: (sentence) => this.warn(sentence),
    });
  }

  warn(sentence: Sentence): void {
    if (!this.alive) return;
    this.warnings.push(String(sentence));
    this.world.trace.add(`log: ${String(sentence)}`);
  }

  /** Opens a client, as a deploy does. */
  open(): Client {
    const { authUrl, apiUrl, client } = this.world.simulator;
    const settings = readSettings({ authUrl, apiUrl, clientId: client.id, clientSecret: client.secret });
    const http = new Http(undefined, { isLocal: true });
    const log = {
      warn: (sentence: Sentence) => this.warn(sentence),
      info: (sentence: Sentence) => this.warn(sentence),
    };
    const shared = { store: this.store, clock: this.clock, memory: this.#memory };
    const opened = new Client({ accountId: ACCOUNT, settings, log, http, ...shared });
    this.#clients.push({ client: opened, http, leave: this.#upkeep.use() });
    return opened;
  }

  /** Closes a client, as an account does. */
  async close(client: Client | undefined): Promise<void> {
    await client?.close();
    await this.#clients.find((opened) => opened.client === client)?.leave();
  }

  /** Crashes the machine at once; with `power`, it also loses unflushed data. */
  crash(power = false): void {
    if (!this.alive) return;
    this.alive = false;
    this.world.trace.add(power ? 'the machine loses its power' : 'the process is killed');
    this.mount.crash();
    if (power) this.mount.cutPower(this.world.random);
    this.clock.stop();
    this.world.wire.cut({ silently: true });
    // The machine's remaining work in this process has no effect any more.
    for (const { http } of this.#clients) http.destroy().catch(() => undefined);
  }

  /** Ends the machine after all its clients were closed. Work that a close doesn't await ends with it. */
  halt(): void {
    this.alive = false;
    this.mount.crash();
    this.clock.stop();
    this.world.wire.cut();
    for (const { http } of this.#clients) http.destroy().catch(() => undefined);
  }

  /** Releases the machine: none of its work may continue in later runs. */
  async bury(): Promise<void> {
    this.alive = false;
    this.mount.crash();
    this.clock.stop();
    for (const { http } of this.#clients) await http.destroy().catch(() => undefined);
    this.world.disks.unmount(this.mount);
  }
}

/** Store that reads the state on disk without any faults. */
export function storeIn(
  folder: string,
  clock: Clock,
  warn: (sentence: Sentence) => void = () => undefined,
  secrets = [SECRET],
): FileStore {
  return new FileStore({ folder, clock, sealedKinds: ['grant'], secrets: () => secrets, warn });
}

/** Signs the account in before the run. */
export async function signIn(world: World, secrets?: string[]): Promise<void> {
  const { simulator, time } = world;
  const { authUrl, client } = simulator;
  const user = simulator.users[0];
  const redirectUri = 'http://127.0.0.1/callback';
  const { signIn: settings } = readSettings({
    authUrl,
    apiUrl: simulator.apiUrl,
    clientId: client.id,
    clientSecret: client.secret,
  });
  const tokens = simulator.tokens.signIn({
    userId: user?.userId ?? '',
    organizationId: user?.organizations[0]?.organizationId ?? '',
    redirectUri,
    scope: 'apiToken' in settings ? '' : settings.scope,
    challenge: null,
  });
  const lifetime = tokens.expires_in * 1000;
  const grant: Grant = {
    authUrl,
    clientId: client.id,
    redirectUri,
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token,
    expiresAt: time.truth() + lifetime,
    lifetime,
    scope: tokens.scope,
  };
  const store = storeIn(world.folder, new MachineClock(time, 0), undefined, secrets);
  await store.put<Grants>(grantKey(ACCOUNT), { byService: { [authUrl]: grant } });
}

/** Sign-in that a restart would find. */
export const grantOnDisk = (world: World): Promise<Grant | undefined> =>
  storeIn(world.folder, new MachineClock(world.time, 0)).get<Grants>(grantKey(ACCOUNT)).then(newestGrant);
