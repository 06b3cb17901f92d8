import assert from 'node:assert/strict';

import { runRounds, type Breaches } from './replicas/rounds';
import { RULES } from './replicas/rules';

/**
 * Three real Node-REDs with the same flows share one database. The service ends a sign-in when its refresh token is
 * reused. `npm run torture -- --replicas 100` runs more rounds of the same.
 */
describe('three replicas, while one is killed, another is paused and the database fails over', function () {
  this.timeout(1_200_000);
  let breaches: Breaches;

  before(async () => {
    const seed = Number(process.env.REPLICAS_SEED ?? Date.now() % 1e9);
    const say = (line: string) => console.log(`      ${line}`);
    say(`seed ${seed} (REPLICAS_SEED)`);
    breaches = await runRounds({
      seed,
      rounds: [
        ['clock', 'cut'],
        ['pause', 'failover', 'deploy'],
      ],
      say,
    });
  });

  for (const { name } of RULES) it(name, () => assert.deepEqual(breaches.get(name), []));
});
