import { startNodeRed } from './node-red.mjs';

/**
 * One of several Node-REDs that run the same flows. It can be stopped and started again.
 */
export class Replica {
  /** @type {'off' | 'starting' | 'running' | 'paused'} */
  state = 'off';
  /** @type {import('./node-red.mjs').RunningNodeRed | undefined} */
  #running;
  /** @type {import('./node-red.mjs').NodeRedOptions} */
  #options;

  /** @param {number} number from 1 @param {import('./node-red.mjs').NodeRedOptions} options flows and credentials are written at its first start */
  constructor(number, options) {
    this.number = number;
    this.#options = { ...options };
  }

  /** Address of the editor; throws if the replica is off. */
  get url() {
    if (!this.#running) throw new Error(`replica ${this.number} is off`);
    return this.#running.url;
  }

  /** Id of the process; undefined if the replica is off. */
  get pid() {
    return this.#running?.pid;
  }

  async start() {
    if (this.state !== 'off') return;
    this.state = 'starting';
    try {
      const running = await startNodeRed(this.#options);
      delete this.#options.flows;
      delete this.#options.credentials;
      this.#running = running;
      this.state = 'running';
      void running.exited.then(() => {
        if (this.#running !== running) return;
        this.#running = undefined;
        this.state = 'off';
      });
    } catch (error) {
      this.state = 'off';
      throw error;
    }
  }

  /** Kills the process with SIGKILL, as in a crash. */
  async kill() {
    await this.#running?.kill();
  }

  /** Pauses the process and keeps all its connections open. */
  pause() {
    if (!this.#running || this.state !== 'running') return;
    process.kill(this.#running.pid, 'SIGSTOP');
    this.state = 'paused';
  }

  resume() {
    if (!this.#running || this.state !== 'paused') return;
    process.kill(this.#running.pid, 'SIGCONT');
    this.state = 'running';
  }

  /** Sends SIGTERM and waits for the exit. */
  async stop() {
    this.resume();
    await this.#running?.stop();
  }
}
