import { flowsRun } from './flows';
import { printsRun } from './prints';
import { sharedRun } from './shared';
import { signInRun } from './sign-in';
import { Broken } from './trace';
import { watchingRun } from './watching';

export interface Scenario {
  run: (seed: number) => Promise<void>;
  /** Number of runs in `npm test`, from seed 1; all scenarios together have 1,000. */
  count: number;
  /** Rule that holds in each run. */
  rule: string;
}

export const SCENARIOS: Record<string, Scenario> = {
  prints: {
    run: printsRun,
    count: 500,
    rule: 'one print key prints once, or says that its outcome is unknown and prints no second time',
  },
  'sign-in': { run: signInRun, count: 230, rule: 'a sign-in that was good is good after the fault is gone' },
  watching: { run: watchingRun, count: 150, rule: 'each end is told once, over deploys, restarts and crashes' },
  shared: {
    run: sharedRun,
    count: 40,
    rule: 'runtimes that share a database keep one sign-in, print once for each key and tell each end once',
  },
  flows: {
    run: flowsRun,
    count: 80,
    rule: 'each message is done once, within its timeout, and nothing is left after the close',
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

/** Imports the library that the first run would import in another thread while time advances. */
export const prepare = (): Promise<unknown> => import('oauth4webapi');
