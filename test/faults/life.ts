import type { Client } from '../../lib/client';
import type { Chance } from './chance';
import { DAY } from './below/time';
import { startOffset, type Hazard } from './hazards';
import { Machine, type World } from './machine';
import { Broken } from './trace';

export const SECOND = 1000;
/** Additional time for a message after its print call, ms: a slow disk gets it to save the outcome. */
export const SAVING = 10 * SECOND;
/** Time after which every backoff and pause of the pack has ended. */
const RECOVERY = 20 * 60 * SECOND;

/** Hooks of a scenario for its clients. */
export interface Nodes {
  /** Called with a new client: starts the nodes of the flow. */
  open(client: Client, machine: Machine): void;
  /** Closes the nodes of the flow, before their account closes. */
  close(): void;
}

const ENDS = ['kill', 'kill', 'power', 'restart', 'deploy', 'deploy'] as const;

/** Life cycles of one Node-RED: starts, deploys, stops and crashes, with all other faults. */
export class Life {
  machine: Machine | undefined;
  client: Client | undefined;
  /** Whether the faults have ended. */
  over = false;
  crashes = 0;
  /** Time of the last disk fault, in elapsed ms. */
  diskFailedUntil = -Infinity;
  #journal = false;
  #jumpsAtStarts = 0;
  #deploying: Promise<void> = Promise.resolve();
  readonly #ends: (() => void)[] = [];

  constructor(
    private readonly world: World,
    private readonly chance: Chance,
    private readonly nodes: Nodes,
  ) {}

  /** Runs `action` after `ms`, unless the faults have ended by then. */
  at(ms: number, action: () => void): void {
    this.world.time.after(ms, () => {
      if (!this.over) action();
    });
  }

  plan({ begin, lasts, disk }: Hazard, at: number): void {
    this.at(at, () => {
      const end = begin();
      let ended = false;
      const once = () => {
        if (ended) return;
        ended = true;
        end();
        if (disk) this.diskFailedUntil = this.world.time.elapsed;
      };
      if (disk) this.diskFailedUntil = Infinity;
      this.#ends.push(once);
      this.at(lasts, once);
    });
  }

  /** Plans a crash, a restart or a deploy: at a time, when an answer arrives, or during a file operation. */
  planEnd(at: number): void {
    const kind = this.chance.pick(ENDS);
    if (kind === 'power') {
      this.#journal = true;
      if (this.machine) this.machine.mount.journal = true;
    }
    const away = this.chance.spread(10, 120_000);
    const offset = startOffset(this.world, this.chance);
    const again = () => {
      if (!this.machine) this.start(offset);
    };
    this.when(at, (machine) => {
      if (kind === 'deploy') return this.deploy();
      if (kind === 'restart') {
        void this.stop().then(() => this.at(away, again));
        return;
      }
      this.#crash(machine, kind === 'power');
      this.at(away, again);
    });
  }

  /** Kills the process now, and starts it again after a while. */
  kill(away: number): void {
    if (!this.machine) return;
    this.#crash(this.machine, false);
    this.at(away, () => {
      if (!this.machine) this.start();
    });
  }

  #crash(machine: Machine, power: boolean): void {
    this.crashes++;
    machine.crash(power);
    // A pending deploy ends with its process.
    this.#deploying = Promise.resolve();
    this.machine = undefined;
    this.client = undefined;
  }

  /** Calls `action` at a time, or at an event after it. */
  when(at: number, action: (machine: Machine) => void): void {
    const kind = this.chance.pick(['now', 'arrival', 'step'] as const);
    let left = this.chance.spread(1, kind === 'step' ? 60 : 6);
    this.at(at, () => {
      const { machine } = this;
      const { wire, trace } = this.world;
      if (!machine) return;
      if (kind === 'now') return action(machine);
      const happens = (what: string) => {
        left--;
        if (left !== 0 || this.over || this.machine !== machine) return;
        trace.add(`${what}:`);
        action(machine);
      };
      if (kind === 'step') machine.mount.onStep = ({ name, path }) => happens(`at ${name} of ${path}`);
      else wire.beforeArrival = (host) => happens(`as data of ${host} arrives`);
    });
  }

  /** Steps of the wall clock by at least a day, within a life and between two lives. */
  get clockJumps(): number {
    return this.world.machines.reduce((sum, { clock }) => sum + clock.jumps, this.#jumpsAtStarts);
  }

  start(offset = 0): void {
    const last = this.world.machines.at(-1)?.clock.offset ?? offset;
    if (Math.abs(offset - last) >= DAY) this.#jumpsAtStarts++;
    this.world.trace.add(`Node-RED starts${offset ? `, its clock off by ${offset / SECOND} s` : ''}`);
    this.machine = this.world.boot(offset);
    this.machine.mount.journal = this.#journal;
    this.#open(this.machine);
  }

  deploy(): void {
    const { machine } = this;
    if (!machine) return;
    this.world.trace.add('a full deploy');
    this.#deploying = this.#close().then(() => {
      if (machine.alive && machine === this.machine && !this.client) this.#open(machine);
    });
  }

  /** Stops Node-RED in an orderly way. */
  async stop(): Promise<void> {
    const { machine } = this;
    this.world.trace.add('Node-RED is stopped');
    const closing = this.#close();
    this.machine = undefined;
    await closing;
    // The nodes can still send pending messages.
    await this.world.activity.quiet();
    machine?.halt();
  }

  /** Ends all faults and waits for the recovery. No earlier fault may have an effect afterwards. */
  async recover(): Promise<void> {
    const { world } = this;
    this.over = true;
    for (const end of this.#ends) end();
    for (const machine of world.machines) {
      machine.mount.faults.clear();
      machine.mount.onStep = () => undefined;
      machine.clock.offset = 0;
    }
    world.wire.beforeArrival = () => undefined;
    world.simulator.faults.clear();
    world.wire.mend();
    world.trace.add('all is well again');
    if (this.machine?.alive && !(await world.time.until(this.#deploying, 60 * SECOND)))
      throw new Broken(5, 'a deploy does not end');
    if (!this.machine?.alive || !this.client) {
      await world.time.pass(30 * SECOND);
      this.start();
    }
    await world.time.pass(RECOVERY);
  }

  /** Closes everything and checks that nothing is left. */
  async leave(): Promise<void> {
    const { world, machine } = this;
    if (!machine) return;
    if (!(await world.time.until(this.#close(), 60 * SECOND))) throw new Broken(5, 'closing does not end');
    // undici releases a pending connection only when it is established or has failed.
    await world.time.pass(15 * SECOND);
    if (machine.clock.waiting > 0) throw new Broken(5, `${machine.clock.waiting} timers are left`);
    const files = world.disks.open(machine.mount);
    if (files.length > 0) throw new Broken(5, `open files are left: ${files.join(' ')}`);
    if (world.wire.open > 0) throw new Broken(5, `${world.wire.open} connections are left`);
    const left = world.leftovers();
    const damaged = left.filter((name) => name.includes('.damaged-'));
    if (damaged.length > 0) throw new Broken(5, `values were set aside as damaged: ${damaged.join(' ')}`);
    if (this.crashes === 0 && this.diskFailedUntil === -Infinity && left.length > 0)
      throw new Broken(5, `files are left: ${left.join(' ')}`);
    this.checkUncaught();
  }

  checkUncaught(): void {
    const [first] = this.world.uncaught;
    if (first !== undefined)
      throw new Broken(5, `uncaught: ${first instanceof Error ? (first.stack ?? first.message) : String(first)}`);
  }

  #open(machine: Machine): void {
    this.client = machine.open();
    this.nodes.open(this.client, machine);
  }

  /** Closes all nodes and their account, as Node-RED does. */
  async #close(): Promise<void> {
    const { trace, time } = this.world;
    const { client, machine } = this;
    const begun = time.elapsed;
    this.client = undefined;
    this.nodes.close();
    await machine?.close(client);
    trace.add(`closed in ${(time.elapsed - begun) / SECOND} s`);
  }
}
