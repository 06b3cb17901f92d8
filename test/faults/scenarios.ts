import { oauthLibrary } from '../../lib/sign-in/token-endpoint';
import { answersRun } from './answers';
import { flowsRun } from './flows';
import { platesRun } from './plates';
import { printsRun } from './prints';
import { partsRun, queueRun } from './queue';
import { sharedRun } from './shared';
import { renewalsRun } from './renewals';
import { signInRun } from './sign-in';
import { Broken } from './trace';
import { watchingRun } from './watching';

export interface Scenario {
  run: (seed: number) => Promise<void>;
  /** Number of runs in `npm test`, from seed 1; all scenarios together have 1,000. */
  count: number;
  /** Rule that holds in each run, as the title of its tests. */
  rule: string;
}

export const SCENARIOS: Record<string, Scenario> = {
  prints: {
    run: printsRun,
    count: 568,
    rule: 'prints once for each print key, or reports that the outcome is unknown',
  },
  queue: {
    run: queueRun,
    count: 30,
    rule: 'prints each owed copy once on a clear plate, and reports each event once',
  },
  parts: {
    run: partsRun,
    count: 20,
    rule: 'prints no parts that are not owed, counts each verdict once, and ends with as many good parts as wanted',
  },
  plates: {
    run: platesRun,
    count: 16,
    rule: 'prints on no plate with a part on it, whatever becomes of the printer and its group',
  },
  answers: {
    run: answersRun,
    count: 16,
    rule: 'does after each answer what the answer promised',
  },
  'sign-in': { run: signInRun, count: 160, rule: 'keeps a valid sign-in after the fault ends' },
  renewals: {
    run: renewalsRun,
    count: 70,
    rule: 'works within 60 s of the end of the fault, or shows that a sign-in is needed',
  },
  watching: {
    run: watchingRun,
    count: 80,
    rule: 'reports what happened at the printers, once and in time, over deploys, restarts and crashes',
  },
  shared: {
    run: sharedRun,
    count: 10,
    rule: 'keeps one sign-in for runtimes that share a database, prints once for each key and reports each end once',
  },
  flows: {
    run: flowsRun,
    count: 30,
    rule: 'ends each message once, within its timeout, and leaves nothing after the close',
  },
};

/** Attempts at a run that blocks the event loop for too long. */
const TRIES = 3;

/**
 * Makes one run. A seed reproduces a run exactly, except for the CPU time of its turns: garbage collection, compilation
 * and a first import add to it at random. Input that needs too much work does so in every attempt.
 */
export async function attempt({ run }: Scenario, seed: number): Promise<void> {
  for (let left = TRIES - 1; ; left--)
    try {
      return await run(seed);
    } catch (thrown) {
      if (!(thrown instanceof Broken && thrown.rule === 6) || left === 0) throw thrown;
    }
}

/** Readable report of a run that broke a rule. */
export function report(name: string, seed: number, thrown: unknown): string {
  const { message, stack, trace } = thrown as Error & { trace?: string };
  const again = `npm run torture -- --scenario ${name} --seed ${seed} --runs 1`;
  const place = stack?.split('\n').find((line) => line.includes('/test/faults/'));
  return `${name}, seed ${seed}: ${message}\n${place ?? ''}\n${trace ?? ''}\n      again: ${again}`;
}

/** Imports the library that the first renewal would import in another thread while time advances. */
export const prepare = (): Promise<unknown> => oauthLibrary();
