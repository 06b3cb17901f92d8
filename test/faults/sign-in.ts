import { ANSWER } from '../../lib/rules/limits';
import { asPrintingError, type PrintingError } from '../../lib/service/errors';
import { Chance } from './chance';
import {
  clockHazard,
  diskHazard,
  oneOfMany,
  serviceHazard,
  slowHazard,
  startOffset,
  wireHazard,
  type Hazard,
} from './hazards';
import { hostileHazard } from './hostile';
import { Life, SECOND } from './life';
import { grantOnDisk, signIn, World, type Machine } from './machine';
import { Broken } from './trace';

/** Time within which an unsaved pair is saved after the disk has recovered, ms. */
const SAVED_WITHIN = 60 * SECOND;

/** Time for which a refresh waits for its answer at least, ms: six minutes, without the request's way to the service. */
const PATIENCE = (6 * 60 - 1) * SECOND;

/** Pair of tokens that the service issued. */
interface Issued {
  /** Elapsed time of the issue, ms. */
  at: number;
  refreshToken: string;
  accessToken: string;
  /** Machine that received the whole answer, and the time. */
  arrived?: { machine: Machine | undefined; at: number };
}

/** Makes calls and refreshes while everything below them fails at times. */
export async function signInRun(seed: number): Promise<void> {
  const world = await World.make(seed, { printers: 1, accessTokenLifetime: 30 + (seed % 7) * 60 });
  await world.run(async () => {
    await signIn(world);
    await new SignInRun(world).go();
  });
}

class SignInRun {
  readonly #chance: Chance;
  readonly #life: Life;
  readonly #issued: Issued[] = [];
  /** Reason why the sign-in may be lost: the machine ended before it could save its pair. */
  #excused: string | undefined;
  #givenUp: string | undefined;

  constructor(private readonly world: World) {
    this.#chance = new Chance(world.random);
    this.#life = new Life(world, this.#chance, { open: () => this.#machineBegins(), close: () => this.#machineEnds() });
    this.#watchTokens();
  }

  async go(): Promise<void> {
    const { world } = this;
    const chance = this.#chance;
    const life = this.#life;
    world.wire.latency = chance.pick([0, 5, 40, 400]);
    const horizon = chance.spread(100_000, 1_500_000);
    life.start(startOffset(world, chance));
    for (let count = chance.whole(5, 20); count > 0; count--) life.at(chance.whole(0, horizon), () => this.#call());
    if (chance.is(0.3)) life.at(chance.whole(0, horizon), () => world.simulator.tokens.expireAccessTokens());
    for (let count = chance.whole(1, 4); count > 0; count--) life.plan(this.#hazard(), chance.whole(0, horizon * 0.8));
    for (let count = chance.pick([0, 1, 1, 2]); count > 0; count--) life.planEnd(chance.whole(100, horizon * 0.8));
    await world.time.pass(horizon);
    await life.recover();
    if (this.#givenUp) throw new Broken(2, this.#givenUp);
    await this.#mustWork('all is well');
    await life.stop();
    await world.time.pass(SECOND);
    life.start();
    await world.time.pass(SECOND);
    await this.#mustWork('restarted while all is well');
    await life.leave();
  }

  #hazard(): Hazard {
    const chance = this.#chance;
    const { world } = this;
    const machine = () => this.#life.machine;
    const kind = chance.random();
    if (kind < 0.15) return oneOfMany(world, chance, machine, ['token', 'clusters']);
    if (kind < 0.4) return diskHazard(world, chance, machine);
    if (kind < 0.7) return wireHazard(world, chance, ['auth', 'auth', 'api']);
    if (kind < 0.82) return serviceHazard(world, chance, ['token', 'token', 'clusters']);
    if (kind < 0.9) return slowHazard(world, chance, ['token', 'token', 'clusters']);
    if (kind < 0.95) return hostileHazard(world, chance, ['token', 'clusters', 'clusters']);
    return clockHazard(world, chance, machine);
  }

  #call(): void {
    const { client, machine } = this.#life;
    if (!client || !machine) return;
    const ended = (what: string) => machine.alive && this.world.trace.add(`a call: ${what}`);
    client.choices.clusters().then(
      () => ended('answered'),
      (thrown: unknown) => ended(asPrintingError(thrown).message),
    );
  }

  /** Requires a valid grant, unless the issued tokens were lost on the network or before they could be saved. */
  async #mustWork(when: string): Promise<void> {
    const { world } = this;
    const { client } = this.#life;
    let error: PrintingError | undefined;
    const call = client?.choices.clusters().catch((thrown: unknown) => {
      error = asPrintingError(thrown);
    });
    if (!client || !(await world.time.until(call ?? Promise.resolve(), 300 * SECOND)))
      throw new Broken(2, `${when}, but a call does not end`);
    if (error?.code === 'NOT_SIGNED_IN' && this.#isExcused()) return;
    if (error) throw new Broken(2, `${when}, but a call ends in ${error.code}: ${error.message}`);
    if (client.credentials.state !== 'signed-in')
      throw new Broken(2, `${when}, but the account is ${client.credentials.state}`);
  }

  #isExcused(): boolean {
    const last = this.#issued.at(-1);
    return this.#excused !== undefined || (last !== undefined && !last.arrived);
  }

  #watchTokens(): void {
    const { simulator, wire, trace, time } = this.world;
    const { tokens } = simulator;
    const request = tokens.request.bind(tokens);
    tokens.request = (form) => {
      const answer = request(form);
      trace.add(`service: gives a new pair of tokens (${answer.refresh_token.slice(0, 6)})`);
      this.#excused = undefined;
      this.#issued.push({ at: time.elapsed, refreshToken: answer.refresh_token, accessToken: answer.access_token });
      return answer;
    };
    // A refresh that is only slow is no excuse.
    wire.onGivenUp = (host) => {
      const last = this.#issued.at(-1);
      const waited = time.elapsed - (last?.at ?? -Infinity);
      if (host !== 'auth' || !last || last.arrived || !this.#life.machine?.alive || waited >= PATIENCE) return;
      this.#givenUp ??= `a refresh was given up after ${waited / SECOND} s without an answer`;
    };
    const texts = new WeakMap<object, string>();
    wire.onArrival = (host, data, connection) => {
      const last = this.#issued.at(-1);
      if (host !== 'auth' || !last || last.arrived) return;
      const text = (texts.get(connection) ?? '') + data.toString('latin1');
      texts.set(connection, text);
      const at = text.indexOf(last.refreshToken);
      // A hostile answer that is nested too deep or lacks its access token counts as lost.
      if (at < 0 || !text.includes(last.accessToken) || !text.includes('}', at) || isTooDeep(text)) return;
      const { machine } = this.#life;
      last.arrived = { machine, at: time.elapsed };
      trace.add('the new pair arrives');
      if (!machine) return;
      const crash = machine.crash.bind(machine);
      machine.crash = (power) => {
        this.#machineEnds();
        crash(power);
      };
    };
  }

  /** Withdraws the excuse if the last machine's pair is on disk after all. */
  #machineBegins(): void {
    const last = this.#issued.at(-1);
    void grantOnDisk(this.world).then((grant) => {
      if (last && grant?.refreshToken === last.refreshToken) this.#excused = undefined;
    });
  }

  #machineEnds(): void {
    const last = this.#issued.at(-1);
    const now = this.world.time.elapsed;
    if (!last?.arrived || last.arrived.machine !== this.#life.machine) return;
    const since = Math.max(last.arrived.at, this.#life.diskFailedUntil);
    if (now - since >= SAVED_WITHIN) return;
    this.#excused = 'the machine ended before it can have saved the new pair';
    this.world.trace.add(this.#excused);
  }
}

/** Whether JSON text exceeds the depth that the pack reads. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  for (const character of text) {
    if (character === '[' || character === '{') depth++;
    if (depth > ANSWER.depth) return true;
    if (character === ']' || character === '}') depth--;
  }
  return false;
}
