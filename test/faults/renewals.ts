import { asPrintingError } from '../../lib/service/errors';
import type { Fault } from '../../simulator';
import { Chance } from './chance';
import { startOffset, type Hazard } from './hazards';
import { Life, SECOND } from './life';
import { signIn, World } from './machine';
import { Broken } from './trace';

/** Longest time from the end of a fault until the account works again or asks for a sign-in, ms. */
const RECOVERY = 60 * SECOND;
/** Time from the first request of a renewal to the third repeat after quick losses, ms: 2 s, 4 s and 8 s of rest. */
const QUICK = 14 * SECOND;

const FAULTS: readonly (Omit<Fault, 'endpoint'> | 'ECONNREFUSED')[] = [
  'ECONNREFUSED',
  { reset: true },
  { when: 'after', reset: true },
  { status: 500 },
  { when: 'after', status: 500 },
  { status: 502, html: true },
  { when: 'after', status: 502, html: true },
];

/**
 * Renews a sign-in while the token endpoint fails in one way for a while, at services with and without reuse detection
 * and with a grace period.
 */
export async function renewalsRun(seed: number): Promise<void> {
  const world = await World.make(seed, {
    printers: 1,
    accessTokenLifetime: 600,
    refreshTokenGrace: [0, 30, Infinity][seed % 3] ?? 0,
  });
  await world.run(async () => {
    await signIn(world);
    await new RenewalsRun(world).go();
  });
}

class RenewalsRun {
  readonly #chance: Chance;
  readonly #life: Life;
  /** Refreshes that the service carried out: their time, and whether the new pair arrived. */
  readonly #carriedOut: { at: number; refreshToken: string; hasArrived: boolean }[] = [];

  /** Whether a deploy or a crash ends the repeats, which only another call begins anew. */
  #isDisturbed = false;

  constructor(private readonly world: World) {
    this.#chance = new Chance(world.random);
    this.#life = new Life(world, this.#chance, { open: () => undefined, close: () => undefined });
    this.#watchTokens();
  }

  async go(): Promise<void> {
    const { world } = this;
    const chance = this.#chance;
    const life = this.#life;
    world.wire.latency = chance.pick([0, 5, 40]);
    life.start(startOffset(world, chance));
    const begins = chance.whole(0, 60 * SECOND);
    const lasts = chance.spread(500, chance.pick([20, 60, 3_600]) * SECOND);
    const ends = begins + lasts;
    life.plan(this.#fault(lasts), begins);
    life.at(begins, () => {
      world.simulator.tokens.expireAccessTokens();
      void this.#call();
    });
    const pause = chance.pick([5, 20, 120, Infinity]) * SECOND;
    for (let at = 0; at < ends; at += pause) life.at(at, () => void this.#call());
    if (chance.is(0.4)) {
      this.#isDisturbed = true;
      const away = chance.spread(10, 20 * SECOND);
      const disturb = chance.pick([() => life.deploy(), () => life.kill(away)]);
      life.at(begins + chance.whole(0, lasts), disturb);
      // A call after the start begins the renewal anew.
      life.at(begins + lasts + 20 * SECOND, () => void this.#call());
    }
    await world.time.pass(ends);
    const before = this.#carriedOut.length;
    world.trace.add('the fault has ended');
    await world.time.pass(this.#isDisturbed ? RECOVERY + 20 * SECOND : RECOVERY);
    await this.#mustBeSettled(ends, before);
    await life.stop();
    life.checkUncaught();
  }

  #fault(lasts: number): Hazard {
    const { world } = this;
    const kind = this.#chance.pick(FAULTS);
    return {
      lasts,
      begin: () => {
        world.trace.add(`the token endpoint begins to fail: ${JSON.stringify(kind)}`);
        if (kind !== 'ECONNREFUSED') {
          const added = world.simulator.faults.add({ endpoint: 'token', times: 'always', ...kind });
          return () => added.remove();
        }
        world.wire.outages.set('auth', kind);
        world.wire.cut();
        return () => world.wire.outages.delete('auth');
      },
    };
  }

  /** Throws if the account neither works nor asks for a sign-in, or asks for one without need. */
  async #mustBeSettled(ended: number, carriedOutBefore: number): Promise<void> {
    const { world } = this;
    const { state } = this.#life.client?.credentials ?? {};
    const [lost] = this.#carriedOut.slice(0, carriedOutBefore).filter(({ hasArrived }) => !hasArrived);
    const { refreshGrace } = world.simulator.tokens;
    const isInGrace = refreshGrace > 0 && !this.#isDisturbed && ended - (lost?.at ?? 0) < QUICK;
    const isKept = !lost || refreshGrace === Infinity || isInGrace;
    let result = 'a call that does not end';
    const call = this.#call().then((ended) => (result = ended));
    await world.time.until(call, SECOND);
    const after = `${RECOVERY / SECOND} s after the end of the fault`;
    if (isKept && result !== 'answered') throw new Broken(2, `${after} a call ends in ${result}`);
    if (result === 'answered') return;
    if (result !== 'NOT_SIGNED_IN') throw new Broken(2, `${after} the account still fails with ${result}`);
    if (state !== 'sign-in-needed') throw new Broken(2, `${after} the account is shown as ${state}`);
  }

  /** Makes a call as a message does; resolves with the code of its error, or with `answered`. */
  async #call(): Promise<string> {
    const { client } = this.#life;
    if (!client) return 'no runtime';
    const result = await client.choices.clusters().then(
      () => 'answered',
      (thrown: unknown) => asPrintingError(thrown).code,
    );
    this.world.trace.add(`a call: ${result}`);
    return result;
  }

  #watchTokens(): void {
    const { simulator, wire, trace, time } = this.world;
    const { tokens } = simulator;
    const request = tokens.request.bind(tokens);
    tokens.request = (form) => {
      const answer = request(form);
      trace.add(`service: gives a new pair of tokens (${answer.refresh_token.slice(0, 6)})`);
      this.#carriedOut.push({ at: time.elapsed, refreshToken: answer.refresh_token, hasArrived: false });
      return answer;
    };
    const texts = new WeakMap<object, string>();
    wire.onArrival = (host, data, connection) => {
      const last = this.#carriedOut.at(-1);
      if (host !== 'auth' || !last || last.hasArrived) return;
      const text = (texts.get(connection) ?? '') + data.toString('latin1');
      texts.set(connection, text);
      last.hasArrived = text.includes(last.refreshToken);
    };
  }
}
