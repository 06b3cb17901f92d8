import { Worker } from 'node:worker_threads';
import type { Clock } from '../time/clock';
import { readText } from './file-system';

/** Number of files whose reads, one by one, cost more than a thread. */
export const MANY = 250;

/** Time without work after which the thread ends, ms. */
const IDLE = 1_000;

/** Text of a file, or the failure of its read. */
export type Content = string | Error;

/** Work of the thread. It is a text because a thread of Node.js can't load the sources, which the tests run. */
const SCRIPT = `
  const { readFileSync } = require('node:fs');
  const { parentPort } = require('node:worker_threads');
  const read = (path) => {
    try {
      return readFileSync(path, 'utf8');
    } catch ({ message, code }) {
      return { message, code };
    }
  };
  parentPort.on('message', (paths) => parentPort.postMessage(paths.map(read)));
`;

/** An error, without what a message between threads leaves out. */
interface Failure {
  message: string;
  code?: string;
}

interface Request {
  resolve: (contents: Content[]) => void;
  reject: (cause: Error) => void;
}

/**
 * Reads many small files in a thread of its own. Libuv's threads take several steps for each file, and each step costs more
 * than the read itself. A folder that hangs blocks none of them.
 */
export class ReadingThread {
  #worker: Worker | undefined;
  /** Requests under way, which are answered in their order. */
  readonly #requests: Request[] = [];
  /** Cancels the end of the idle thread. */
  #stay: () => void = () => undefined;

  constructor(private readonly clock: Clock) {}

  /** Contents of files, in their order. Never rejects. */
  async read(paths: readonly string[]): Promise<Content[]> {
    const alone = () => Promise.all(paths.map((path) => readText(path).catch(asError)));
    // A Node.js with restricted permissions has no threads.
    return paths.length < MANY ? alone() : this.#inThread(paths).catch(alone);
  }

  /** Rejects if the thread can't begin, or ends before its answer. */
  #inThread(paths: readonly string[]): Promise<Content[]> {
    return new Promise((resolve, reject) => {
      this.#stay();
      const worker = (this.#worker ??= this.#begin());
      worker.postMessage(paths);
      worker.ref();
      this.#requests.push({ resolve, reject });
    });
  }

  #begin(): Worker {
    const worker = new Worker(SCRIPT, { eval: true, execArgv: [] });
    // Only work under way keeps the process from ending.
    worker.unref();
    worker.on('message', (answers: (string | Failure)[]) => {
      if (this.#worker !== worker) return;
      this.#requests.shift()?.resolve(answers.map(contentOf));
      if (this.#requests.length === 0) this.#rest(worker);
    });
    const lose = (cause: Error) => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      for (const { reject } of this.#requests.splice(0)) reject(cause);
    };
    worker.on('error', lose);
    worker.on('messageerror', lose);
    worker.on('exit', () => lose(new Error('The thread ended.')));
    return worker;
  }

  /** Lets the process end, and ends the thread unless it gets work soon. */
  #rest(worker: Worker): void {
    worker.unref();
    this.#stay = this.clock.after(IDLE, () => {
      this.#worker = undefined;
      worker.terminate().catch(() => undefined);
    });
  }
}

const contentOf = (answer: string | Failure): Content =>
  typeof answer === 'string' ? answer : Object.assign(new Error(answer.message), { code: answer.code });

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));
