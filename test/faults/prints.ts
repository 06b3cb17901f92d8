import { getEventListeners } from 'node:events';
import { Readable } from 'node:stream';
import type { PrintResult, PrintSource } from '../../lib/print/print-request';
import { asPrintingError, type PrintingError } from '../../lib/service/errors';
import { closed, Deadline } from '../../lib/time/deadline';
import type { Fault } from '../../simulator';
import { holdStream } from '../../lib/upload/content';
import { storeElsewhere } from '../helpers/print-request';
import { Chance } from './chance';
import {
  clockHazard,
  diskHazard,
  oneOfMany,
  partialStatusHazard,
  serviceHazard,
  slowHazard,
  startOffset,
  wireHazard,
  type Hazard,
} from './hazards';
import { hostileAnswerHazard, hostileHazard, STORED } from './hostile';
import { Life, SAVING, SECOND } from './life';
import { signIn, WITHOUT_RENEWAL, World, type Machine } from './machine';
import { Broken } from './trace';

interface Message {
  key: string;
  clusterIds: string[];
  timeout: number;
  machine: Machine;
  begunAt: number;
  endedAt?: number;
  results: PrintResult[];
  error?: PrintingError;
  node: AbortController;
  stream: Readable | undefined;
  /** Resolves when the message has ended. */
  ended: Promise<void>;
}

/** Longest time from a message's limit to its end, ms. */
const GRACE = 1000;

/** Sends messages with print keys while everything below them fails at times. */
export async function printsRun(seed: number): Promise<void> {
  const world = await World.make(seed, { printers: 2, accessTokenLifetime: WITHOUT_RENEWAL });
  await world.run(async () => {
    await signIn(world);
    await new PrintsRun(world).go();
  });
}

class PrintsRun {
  readonly #chance: Chance;
  readonly #life: Life;
  readonly #messages: Message[] = [];

  constructor(private readonly world: World) {
    this.#chance = new Chance(world.random);
    this.#life = new Life(world, this.#chance, { open: () => undefined, close: () => this.#closeNodes() });
  }

  async go(): Promise<void> {
    const { world } = this;
    const chance = this.#chance;
    const life = this.#life;
    world.wire.latency = chance.pick([0, 0, 5, 40, 400]);
    const horizon = chance.spread(20_000, 600_000);
    life.start(startOffset(world, chance));
    const keys = Array.from({ length: chance.whole(1, 3) }, (_, index) => `key-${index + 1}`);
    const clusterIds = [world.clusterId(1), world.clusterId(2)];
    for (let count = chance.whole(1, 6); count > 0; count--) {
      const key = chance.pick(keys);
      const at = chance.is(0.4) ? 0 : chance.whole(0, horizon * 0.8);
      const wanted = chance.is(0.15) ? clusterIds : [chance.pick(clusterIds)];
      const timeout = chance.pick([3, 10, 25, 40, 120, 600]);
      const source = chance.is(0.25)
        ? chance.pick(['failing', 'endless', 'slow', 'spent', 'whole', 'stored'] as const)
        : 'bytes';
      life.at(at, () => this.#send(key, wanted, timeout, source));
    }
    if (chance.is(0.5)) this.#loseAnswer(keys, clusterIds, chance.whole(0, horizon * 0.5));
    for (let count = chance.whole(1, 4); count > 0; count--) life.plan(this.#hazard(), chance.whole(0, horizon * 0.7));
    for (let count = chance.pick([0, 0, 1, 1, 2]); count > 0; count--) life.planEnd(chance.whole(100, horizon * 0.8));
    await world.time.pass(horizon);
    await life.recover();
    for (const [index, message] of this.#messages.entries()) this.#checkEnd(message, index + 1);
    this.#checkCount();
    await this.#repeat(keys, clusterIds);
    await life.leave();
  }

  /** Loses the answer to a print, makes the cluster's status unavailable for a while, and repeats the message. */
  #loseAnswer(keys: string[], clusterIds: string[], at: number): void {
    const chance = this.#chance;
    const { simulator, trace } = this.world;
    const [key, clusterId] = [chance.pick(keys), chance.pick(clusterIds)];
    const answer = chance.pick<Partial<Fault>>([{ reset: true }, { status: 500 }, { status: 504 }, { cut: 'body' }]);
    const send = () => this.#send(key, [clusterId], chance.pick([3, 10, 25, 40, 120]), 'bytes');
    const kind = chance.random();
    const away = chance.spread(500, 120_000);
    this.#life.at(at, () => {
      trace.add(`service: the answer to the next print will be lost: ${JSON.stringify(answer)}`);
      simulator.faults.add({ endpoint: 'print', when: 'after', ...answer });
      send();
    });
    if (kind < 0.6)
      this.#life.at(at, () => {
        trace.add('service: printers can’t be looked at after that');
        const fault = { after: chance.whole(1, 4), times: 'always' as const, status: 503 };
        const added = simulator.faults.add({ endpoint: 'clusterStatus', ...fault });
        this.#life.at(away, () => {
          trace.add('service: printers can be looked at again');
          added.remove();
        });
      });
    for (let count = chance.whole(0, 3); count > 0; count--) this.#life.at(at + chance.spread(1, 150_000), send);
  }

  #hazard(): Hazard {
    const chance = this.#chance;
    const { world } = this;
    const machine = () => this.#life.machine;
    const kind = chance.random();
    const endpoints = ['print', 'print', 'print', 'clusterStatus', 'registerUpload', 'storagePut', 'getJob'] as const;
    if (kind < 0.15) return oneOfMany(world, chance, machine, endpoints);
    if (kind < 0.35) return diskHazard(world, chance, machine);
    if (kind < 0.42) return partialStatusHazard(world, chance);
    if (kind < 0.65) return wireHazard(world, chance, ['api', 'api', 'api', 'storage']);
    if (kind < 0.8) return serviceHazard(world, chance, endpoints);
    if (kind < 0.88) return slowHazard(world, chance, endpoints);
    if (kind < 0.91) return hostileHazard(world, chance, endpoints);
    if (kind < 0.96) return hostileAnswerHazard(world, chance, [...endpoints, ...STORED]);
    return clockHazard(world, chance, machine);
  }

  #closeNodes(): void {
    for (const message of this.#messages) if (message.endedAt === undefined) message.node.abort(closed());
  }

  #send(key: string, clusterIds: string[], timeout: number, source: string): Message | undefined {
    const { world } = this;
    const { machine, client } = this.#life;
    if (!machine?.alive || !client) return undefined;
    const node = new AbortController();
    const { made, stream } = sourceOf(source, `${key}.gcode`, world);
    const number = this.#messages.length + 1;
    world.trace.add(
      `message ${number}: ${key} on ${clusterIds.map((id) => id.slice(0, 6)).join(' and ')}, ${source}, ${timeout} s`,
    );
    const results: PrintResult[] = [];
    // The node also holds the stream from the arrival of the message.
    const release = stream && holdStream(stream, node.signal);
    const message: Message = {
      ...{ key, clusterIds, timeout, machine, results, node, stream, begunAt: world.time.elapsed },
      ended: Promise.resolve(),
    };
    const end = (error?: PrintingError) => {
      if (!machine.alive) return;
      message.endedAt = world.time.elapsed;
      if (error) message.error = error;
      const seen = results.map(
        ({ printed, duplicate, error: failed }) =>
          `${printed ? 'printed' : 'not printed'}${duplicate ? ' before' : ''}${failed ? ` (${failed.code})` : ''}`,
      );
      world.trace.add(
        `message ${number} ends: ${[...seen, error ? `${error.code} ${error.outcome ?? ''}: ${error.message}` : 'done'].join(', ')}`,
      );
    };
    const deadline = new Deadline(machine.clock, { ms: timeout * SECOND, parent: node.signal });
    message.ended = client.prints
      .run({
        ...{
          clusterIds,
          deadline,
          printKey: key,
          jobName: `${key}.gcode`,
          print: true,
          startNow: true,
          compress: false,
        },
        ...{ reuseUpload: true, dryRun: false, waitFor: 'dispatched', signal: node.signal },
        source: () => Promise.resolve(made),
        onProgress: () => undefined,
        onResult: (result) => machine.alive && results.push(result),
      })
      .then(
        () => end(),
        (thrown: unknown) => end(asPrintingError(thrown)),
      )
      .finally(() => {
        deadline.end();
        release?.();
      });
    this.#messages.push(message);
    return message;
  }

  #checkEnd(message: Message, number: number): void {
    const { key, machine, timeout, begunAt, endedAt, results, error, clusterIds, stream } = message;
    if (machine.mount.crashed) return;
    const wasSent = results.some(mayBeSent) || (error !== undefined && error.outcome !== 'not-sent');
    const limit = begunAt + timeout * SECOND + GRACE + (wasSent ? SAVING : 0);
    if (endedAt === undefined) throw new Broken(4, `message ${number} (${key}) never ended`);
    if (endedAt > limit)
      throw new Broken(4, `message ${number} (${key}) ended after ${(endedAt - begunAt) / SECOND} s of ${timeout} s`);
    if (results.length !== clusterIds.length && (!error || clusterIds.length > 1))
      throw new Broken(4, `message ${number} has ${results.length} results for ${clusterIds.length} clusters`);
    if (stream && !stream.destroyed) throw new Broken(5, `message ${number} ended, and its stream is still open`);
    if (getEventListeners(message.node.signal, 'abort').length > 0)
      throw new Broken(5, `message ${number} ended, and something listens to its signal`);
    const alone = !this.#messages.some((other) => other !== message && other.key === key && other.begunAt <= endedAt);
    const told = results.length > 0 ? results : [{ clusterId: clusterIds[0] ?? '', printed: false, error }];
    for (const result of told) {
      const count = this.#prints(key, result.clusterId ?? '').filter(({ at }) => at <= endedAt).length;
      const code = result.error?.code;
      if (result.printed && count !== 1) throw new Broken(1, `message ${number}: told as printed, ${count} prints`);
      if (!result.printed && alone && code !== 'PRINT_OUTCOME_UNKNOWN' && code !== 'PRINT_FAILED' && count > 0)
        throw new Broken(1, `message ${number}: told as ${code}, but it prints`);
    }
    if (error && results.length > 0 && results.every(({ error: failed }) => !failed))
      throw new Broken(4, `message ${number} ends in ${error.code}, which no result says`);
  }

  #prints(key: string, clusterId: string) {
    return this.world.printed.filter((print) => print.jobName === `${key}.gcode` && print.clusterId === clusterId);
  }

  #checkCount(): void {
    const { printed } = this.world;
    this.#life.checkUncaught();
    for (const { jobName, clusterId } of printed) {
      const { length } = printed.filter((other) => other.jobName === jobName && other.clusterId === clusterId);
      if (length > 1) throw new Broken(1, `${length} prints of ${jobName}`);
    }
    for (const print of printed) this.#checkCause(print);
  }

  /** Nothing is printed for a message after it was told that it was not sent, or refused. */
  #checkCause({ jobName, clusterId, at }: World['printed'][number]): void {
    const isCause = ({ key, clusterIds, begunAt, endedAt, results, error, machine }: Message) => {
      if (`${key}.gcode` !== jobName || !clusterIds.includes(clusterId) || begunAt > at) return false;
      if (endedAt === undefined || at <= endedAt || machine.mount.crashed) return true;
      const result = results.find((one) => one.clusterId === clusterId) ?? { error };
      return result.error !== undefined && !['not-sent', 'refused'].includes(result.error.outcome ?? '');
    };
    if (!this.#messages.some(isCause))
      throw new Broken(1, `${jobName} is printed, though each message was told that it was not`);
  }

  async #repeat(keys: string[], clusterIds: string[]): Promise<void> {
    const used = keys.flatMap((key) =>
      clusterIds
        .filter((id) => this.#messages.some((message) => message.key === key && message.clusterIds.includes(id)))
        .map((id) => ({ key, id })),
    );
    for (const { key, id } of [...used, ...used]) {
      const before = this.#prints(key, id).length;
      const message = this.#send(key, [id], 600, 'bytes');
      if (!message) throw new Error('nobody is there to take the message');
      if (!(await this.world.time.until(message.ended, 601 * SECOND)))
        throw new Broken(4, `the repeat of ${key} does not end`);
      const [result] = message.results;
      const { code } = result?.error ?? message.error ?? {};
      if (code && code !== 'PRINT_OUTCOME_UNKNOWN')
        throw new Broken(1, `all is well, but the repeat of ${key} ends in ${code}`);
      if (result?.printed && result.duplicate !== (before === 1))
        throw new Broken(
          1,
          `the repeat of ${key} is ${result.duplicate ? 'a' : 'no'} duplicate, ${before} prints before`,
        );
      this.#checkEnd(message, this.#messages.length);
    }
    this.#checkCount();
  }
}

/** Whether the print call may have been sent for this result. */
const mayBeSent = ({ printed, duplicate, error }: Pick<PrintResult, 'printed' | 'duplicate' | 'error'>): boolean =>
  error ? error.outcome !== 'not-sent' : printed && !duplicate;

/** Returns a file to print: stored, from memory or from a stream that may be unusable. */
function sourceOf(kind: string, name: string, world: World): { made: PrintSource; stream: Readable | undefined } {
  if (kind === 'stored') return { made: { kind, jobId: storeElsewhere(world.simulator, name) }, stream: undefined };
  const bytes = Buffer.from(`;TIME:600\n${`;${name}\n`.repeat(80)}G28\n`);
  if (kind === 'bytes') return { made: { kind: 'bytes', bytes, name }, stream: undefined };
  let sent = 0;
  const piece = Math.ceil(bytes.length / 4);
  const stream = new Readable({
    read() {
      const next = () => {
        if (this.destroyed) return;
        if (kind === 'failing' && sent > 0) return void this.destroy(new Error('the stream failed'));
        if (kind === 'endless' && sent > 0) return;
        const part = bytes.subarray(sent, sent + piece);
        sent += part.length;
        this.push(part.length > 0 ? part : null);
      };
      if (kind === 'slow') world.time.after(5000, next);
      else next();
    },
  });
  // Another consumer has read the stream.
  if (kind === 'spent') stream.resume();
  return { made: { kind: 'stream', stream, size: bytes.length, name }, stream };
}
