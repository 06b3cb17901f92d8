import assert from 'node:assert/strict';

import { runRounds, type Breaches } from './replicas/rounds';
import { RULES } from './replicas/rules';

/**
 * Three real Node-REDs with the same flows, on one database and a service that ends a sign-in whose refresh token comes
 * twice. `npm run torture -- --replicas 100` does the same for as long as wanted.
 */
describe('three replicas, while one is killed, another stands still and the database goes away', function () {
  this.timeout(1_200_000);
  let breaches: Breaches;

  before(async () => {
    const seed = Number(process.env.REPLICAS_SEED ?? Date.now() % 1e9);
    const say = (line: string) => console.log(`      ${line}`);
    say(`seed ${seed} (REPLICAS_SEED)`);
    breaches = await runRounds({
      seed,
      rounds: [
        ['kill', 'cut'],
        ['pause', 'outage', 'deploy'],
      ],
      say,
    });
  });

  for (const { name } of RULES) it(name, () => assert.deepEqual(breaches.get(name), []));
});
