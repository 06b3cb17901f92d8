import { startSimulator, type Simulator } from '../../simulator';

/** An hour's print lasts a minute: long enough to watch, short enough to wait for. */
const TIME_FACTOR = 60;
/** Another world than that of the command: what is stored of the one says nothing of the other. */
const SEED = 2;

/** The one world of all simulated accounts of a runtime: it runs from the first of them to the last. */
export class SimulatedWorld {
  readonly #dataDir: string;
  #accounts = 0;
  #running: Promise<Simulator> | undefined;
  #ended: Promise<void> = Promise.resolve();

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  enter(): Promise<Simulator> {
    this.#accounts += 1;
    const options = { dataDir: this.#dataDir, seed: SEED, history: true, timeFactor: TIME_FACTOR, autoApprove: true };
    // Its folder belongs to one at a time.
    return (this.#running ??= this.#ended.then(() => startSimulator(options)));
  }

  leave(): Promise<void> {
    this.#accounts -= 1;
    if (this.#accounts > 0) return Promise.resolve();
    const running = this.#running;
    this.#running = undefined;
    // One that did not start told its accounts why.
    const ended = running?.then((simulator) => simulator.close()).catch(() => undefined);
    return (this.#ended = ended ?? this.#ended);
  }
}
