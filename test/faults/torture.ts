import { parseArgs } from 'node:util';
import { KINDS } from '../runtime/replicas/hazards';
import { runRounds } from '../runtime/replicas/rounds';
import { attempt, prepare, report, SCENARIOS } from './scenarios';

/** Makes a long run. Each scenario has the same share of it as of `npm test`. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string' },
      runs: { type: 'string' },
      seed: { type: 'string' },
      scenario: { type: 'string' },
      brief: { type: 'boolean', default: false },
      replicas: { type: 'string' },
    },
  });
  const first = Number(values.seed ?? Math.floor(Math.random() * 1e9));
  if (values.replicas !== undefined) return replicas(first, Number(values.replicas), values.scenario);
  const minutes = Number(values.minutes ?? (values.runs === undefined ? 1 : 1e6));
  const most = Number(values.runs ?? Infinity);
  const names = values.scenario === undefined ? Object.keys(SCENARIOS) : [values.scenario];
  const sums = new Map<string, number[]>();
  const began = performance.now();
  const elapsed = () => (performance.now() - began) / 60_000;
  let told = 0;
  let runs = 0;
  let failed = 0;

  await prepare();
  console.log(`from seed ${first} on: ${names.join(', ')}`);
  for (let round = 0; round < most && elapsed() < minutes; round++) {
    for (const name of names) {
      const scenario = SCENARIOS[name];
      if (!scenario) throw new Error(`There is no scenario ${name}: ${Object.keys(SCENARIOS).join(', ')}`);
      const share = values.scenario === undefined ? scenario.count / 50 : 1;
      for (let turn = 0; turn < share; turn++) {
        const seed = first + round * Math.ceil(share) + turn;
        runs++;
        try {
          await attempt(scenario, seed);
        } catch (thrown) {
          failed++;
          const kind = `${name}, ${(thrown as Error).message.split('\n')[0]?.replace(/\b(?=\w*\d)[\w.-]+/g, '#')}`;
          sums.set(kind, [...(sums.get(kind) ?? []), seed]);
          if (!values.brief) console.log(`\n${report(name, seed, thrown)}\n`);
        }
      }
    }
    if (elapsed() - told < 1) continue;
    told = elapsed();
    console.log(`${told.toFixed(0)} minutes: ${runs} runs, ${failed} failed`);
  }
  for (const [kind, seeds] of sums) console.log(`${seeds.length} x ${kind}: seeds ${seeds.slice(0, 8).join(' ')}`);
  console.log(`${runs} runs in ${elapsed().toFixed(1)} minutes, ${failed} failed`);
  if (failed > 0) process.exitCode = 1;
}

/** Runs rounds with real Node-REDs, with hazards that the seed chooses or with one fixed hazard. */
async function replicas(seed: number, count: number, scenario: string | undefined): Promise<void> {
  // Child processes end with this process, even after a signal.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
  const kind = KINDS.find((one) => one === scenario);
  if (scenario !== undefined && !kind) throw new Error(`There is no ${scenario}: ${KINDS.join(', ')}`);
  console.log(`${count} rounds from seed ${seed}`);
  const rounds = Array.from({ length: count }, () => kind && [kind]);
  const breaches = await runRounds({ seed, rounds, say: (line) => console.log(line) });
  for (const [rule, sentences] of breaches)
    console.log(`${sentences.length === 0 ? 'held' : `broken ${sentences.length} times`}: ${rule}`);
  if ([...breaches.values()].some((sentences) => sentences.length > 0)) process.exitCode = 1;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
