import assert from 'node:assert/strict';
import { attempt, prepare, report, SCENARIOS } from './scenarios';

const AT_ONCE = 25;

/** Defines the tests of a scenario, each with several runs. A failure names the seed of its run. */
export function hold(name: string): void {
  const scenario = SCENARIOS[name];
  assert.ok(scenario, name);
  const { count, rule } = scenario;
  describe(`a run of ${name} with faults below`, function () {
    this.timeout(600_000);
    before(prepare);
    for (let first = 1; first <= count; first += AT_ONCE) {
      const last = Math.min(count, first + AT_ONCE - 1);
      it(rule, async () => {
        for (let seed = first; seed <= last; seed++)
          await attempt(scenario, seed).catch((thrown: unknown) => assert.fail(report(name, seed, thrown)));
      });
    }
  });
}
