import { startSimulator, type Simulator } from '../../simulator';

/** An hour of printing takes a minute: slow enough to watch, fast enough to wait for. */
const TIME_FACTOR = 60;
/** Differs from the seed of the command line, so that state stored for one world doesn't match the other. */
const SEED = 2;

/** The shared world of a runtime's simulated accounts; runs from the first account to the last. */
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
    // Waits for the previous simulator, since only one may use the folder.
    return (this.#running ??= this.#ended.then(() => startSimulator(options)));
  }

  leave(): Promise<void> {
    this.#accounts -= 1;
    if (this.#accounts > 0) return Promise.resolve();
    const running = this.#running;
    this.#running = undefined;
    // A failed start was already reported to its accounts.
    const ended = running?.then((simulator) => simulator.close()).catch(() => undefined);
    return (this.#ended = ended ?? this.#ended);
  }
}
