import { spawn } from 'node:child_process';
import { availableParallelism, cpus } from 'node:os';
import { createInterface } from 'node:readline';

/**
 * Check that consists of parallel commands, all of which must succeed. With `tests`, each command reports its number of
 * tests ('N passed, N failed'); otherwise each command counts as one.
 * @typedef {{ name: string, commands: string[][], tests?: boolean, env?: NodeJS.ProcessEnv }} Step
 */

/** Longest output of a failed command in the summary, lines. */
const LINES = 200;

/**
 * Number of parallel commands. Most of them wait half of the time, so twice as many as there are cores, and one more, keep
 * all cores busy; but each one too many costs all of them processor time, because they share the caches.
 */
const AT_A_TIME = 2 * availableParallelism() + 1;
/** Number while cores are idle: some commands wait nearly all of the time. */
const AT_MOST = 3 * availableParallelism() + 1;
/** Interval between two checks for idle cores, ms. */
const INTERVAL = 3_000;
/** Idle share of the time of all cores, above which there is room for one more command. */
const IDLE = 0.1;

/** Times of all cores since the start of the machine, ms. */
function times() {
  const all = cpus().map((core) => core.times);
  const sum = (/** @type {number[]} */ list) => list.reduce((one, other) => one + other, 0);
  return { idle: sum(all.map(({ idle }) => idle)), all: sum(all.flatMap((core) => Object.values(core))) };
}

/** Runs steps in parallel, prints each line at once, and reports all failures with their causes at the end. */
export class Steps {
  passed = 0;
  failed = 0;
  /** @type {{ name: string, why: string[] }[]} */
  failures = [];
  #began = performance.now();
  #running = 0;
  /** @type {(() => void)[]} */
  #waiting = [];

  /** @param {string} cwd */
  constructor(cwd) {
    this.cwd = cwd;
  }

  /** Runs steps, in their order as others end; returns whether all succeeded. @param {Step[]} steps @returns {Promise<boolean>} */
  async all(...steps) {
    let last = times();
    const filling = setInterval(() => {
      const now = times();
      if ((now.idle - last.idle) / (now.all - last.all) > IDLE) this.#beginNext(AT_MOST);
      last = now;
    }, INTERVAL);
    try {
      const results = await Promise.all(steps.map((step) => this.#run(step)));
      return results.every(Boolean);
    } finally {
      clearInterval(filling);
    }
  }

  /** Counts a step that has passed earlier, and whose result still holds. @param {Step} step */
  repeat(step) {
    this.passed += step.commands.length;
    this.#say(step.name, 'good: it has passed on the same files');
  }

  /** Runs a command as soon as there is room. @template T @param {() => Promise<T>} run @returns {Promise<T>} */
  async #inTurn(run) {
    await new Promise((/** @type {(value: void) => void} */ begin) => {
      this.#waiting.push(begin);
      this.#beginNext(AT_A_TIME);
    });
    try {
      return await run();
    } finally {
      this.#running--;
      this.#beginNext(AT_A_TIME);
    }
  }

  /** Begins the next command if fewer than so many are running. @param {number} room */
  #beginNext(room) {
    if (this.#running >= room) return;
    const begin = this.#waiting.shift();
    if (!begin) return;
    this.#running++;
    begin();
  }

  /** Records a failure outside of a command. @param {string} name @param {string} why */
  fail(name, why) {
    this.failed += 1;
    this.failures.push({ name, why: [why] });
  }

  summary() {
    for (const { name, why } of this.failures) console.log(`\n=== FAILED: ${name} ===\n${why.join('\n')}`);
    console.log(`\n${this.#seconds()} s in all`);
    console.log(`${this.passed} passed, ${this.failed} failed`);
  }

  /** @param {Step} step */
  async #run(step) {
    let start = 0;
    const begin = (/** @type {string[]} */ command) => {
      if (start === 0) {
        start = performance.now();
        this.#say(step.name, 'begins');
      }
      return this.#command(step, command);
    };
    const runs = await Promise.all(step.commands.map((command) => this.#inTurn(() => begin(command))));
    const good = runs.every((run) => run.good);
    const passed = runs.reduce((sum, run) => sum + run.passed, 0);
    const failed = runs.reduce((sum, run) => sum + run.failed, 0);
    this.passed += passed;
    this.failed += failed;
    const tests = step.tests ? `, ${passed} passed, ${failed} failed` : '';
    const seconds = ((performance.now() - start) / 1000).toFixed(0);
    this.#say(step.name, `${good ? 'good' : 'FAILED'} after ${seconds} s${tests}`);
    if (!good) this.failures.push({ name: step.name, why: runs.flatMap((run) => run.why) });
    return good;
  }

  /** @param {Step} step @param {string[]} command */
  async #command({ name, tests = false, env }, [program = '', ...args]) {
    const child = spawn(program, args, {
      cwd: this.cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    /** @type {string[]} */
    const lines = [];
    let summing = false;
    const read = (/** @type {string} */ line) => {
      lines.push(line);
      // The end of the run reports failures in full.
      summing ||= tests && /^ {2}\d+ passing/.test(line);
      if (!summing && line.trim() !== '') this.#say(name, line);
    };
    createInterface({ input: child.stdout }).on('line', read);
    createInterface({ input: child.stderr }).on('line', read);
    const code = await new Promise((ended) => {
      child.on('error', (error) => {
        read(error.message);
        ended(1);
      });
      child.on('close', ended);
    });

    const counts = lines.map((line) => /^(\d+) passed, (\d+) failed/.exec(line)).filter((found) => found !== null);
    const [, passed = '0', failed = '0'] = counts.at(-1) ?? [];
    const good = code === 0 && (!tests || (Number(passed) > 0 && failed === '0'));
    const from = lines.findIndex((line) => /^ {2}\d+ failing$/.test(line));
    return {
      good,
      passed: tests ? Number(passed) : Number(good),
      // A run that fails without a failed test (low coverage, a crash) counts as one failure.
      failed: good ? 0 : Math.max(1, Number(failed)),
      why: good ? [] : from >= 0 ? lines.slice(from) : lines.slice(-LINES),
    };
  }

  #seconds() {
    return ((performance.now() - this.#began) / 1000).toFixed(0);
  }

  /** @param {string} name @param {string} line */
  #say(name, line) {
    console.log(`${this.#seconds().padStart(4)} s  ${name.padEnd(20)}  ${line}`);
  }
}
