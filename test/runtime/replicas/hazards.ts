import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

import type { Chance } from '../../faults/chance';
import { grantKey } from '../../../lib/sign-in/grant';
import { SCHEMA } from '../../../lib/postgres/schema';
import { post } from '../../../scripts/demo.mjs';
import type { Replica } from '../../../scripts/replica.mjs';
import type { Passage } from '../../helpers/proxy';
import type { HazardKind } from './evidence';
import { type Farm, patiently } from './farm';
import { INTERVAL, PRINT_TIMEOUT } from './flow';
import { TIME_FACTOR, TOKEN_LIFETIME } from './size';

/** A hazard with all its random choices. */
interface Planned {
  /** Description. */
  words: string;
  /** Resolves with false if the request or statement that it aims at did not come. */
  run: (farm: Farm, victim: Replica) => Promise<unknown>;
}

/** Longest wait for the request or statement that a hazard aims at, ms: a token lasts 10 s. */
const AIM = 12_000;
/** Interval between the tries to see something, ms. */
const LOOK = 50;
/** Longest wait for the write of the end of a print, ms: uploads, the print, and two polls. */
const AIM_END = 45_000;
/** Time for which a statement is held back, ms: longer than the wait for it before a handover, shorter than its timeout. */
const HELD_BACK = 8_000;
/** Lifetime of an access token that outlasts a hazard, s. */
const LONG_LIFETIME = 600;
const TEN_MINUTES = 600_000;

const lasting = (ms: number): string => `for ${(ms / 1000).toFixed(1)} s`;

/** Row of the sign-in in the database. */
const GRANT_ROW = createHash('sha256')
  .update(JSON.stringify(grantKey('account')))
  .digest('hex');
const GRANT = `SELECT content FROM ${SCHEMA}.entries WHERE name = '${GRANT_ROW}' AND content IS NOT NULL`;

async function grantIn(farm: Farm): Promise<string | undefined> {
  const [row] = await farm.sql<{ content: string }>(GRANT);
  return row?.content;
}

/** Crashes the database and restarts it after `ms`. Crashes run one after another. */
const crash = (farm: Farm, kind: HazardKind, ms: number): Promise<void> =>
  farm.locks.waitFor('database', () =>
    farm.during(kind, null, async () => {
      await farm.postgres.halt();
      await pause(ms);
      await farm.postgres.start();
    }),
  );

interface Flow {
  id: string;
  type: string;
  name?: string;
}

const flowsAt = async (replica: Replica): Promise<Flow[]> =>
  (await (await fetch(`${replica.url}flows`)).json()) as Flow[];

async function deploy(replica: Replica, type: DeployType, flows: readonly object[]): Promise<void> {
  const response = await fetch(`${replica.url}flows`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'node-red-deployment-type': type },
    body: JSON.stringify(flows),
  });
  assert.ok(response.ok, `the deploy was answered with ${response.status}`);
}

const DEPLOY_TYPES = ['full', 'flows', 'nodes'] as const;
type DeployType = (typeof DEPLOY_TYPES)[number];

async function deployRenamed(replica: Replica, type: DeployType): Promise<void> {
  const renamed = (node: Flow) => (node.id === 'all' ? { ...node, name: `all, ${Date.now()}` } : node);
  await deploy(replica, type, (await flowsAt(replica)).map(renamed));
}

/** Makes all connections to the database silent for `ms`: those of one replica, or of all (null). */
const silence = (farm: Farm, kind: HazardKind, victim: Replica | null, ms: number): Promise<void> =>
  farm.during(kind, victim, async () => {
    const networks = (victim ? [victim] : farm.replicas).map((replica) => farm.network(replica));
    for (const { database } of networks) database.silence(true);
    await pause(ms);
    for (const { database } of networks) database.speak();
  });

/** Resolves once the promise has a value; never if it has none. */
const arrived = async <T>(promise: Promise<T | undefined>): Promise<T> =>
  (await promise) ?? (await new Promise<T>(() => undefined));

/** All hazards by kind. A lease lasts 20 s. */
export const HAZARDS: Record<HazardKind, (chance: Chance) => Planned> = {
  kill: (chance) => {
    const ms = chance.spread(10, 10_000);
    return {
      words: lasting(ms),
      run: (farm, victim) =>
        farm.during('kill', victim, async () => {
          await victim.kill();
          await farm.mendSignIn();
          await pause(ms);
          await victim.start();
        }),
    };
  },

  renewal: (chance) => {
    const ms = chance.whole(0, 80);
    return {
      words: `after ${ms} ms`,
      run: (farm, victim) =>
        farm.during('renewal', victim, async () => {
          farm.renewAt(victim);
          await pause(ms);
          await victim.kill();
          await farm.mendSignIn();
          await victim.start();
        }),
    };
  },

  pause: (chance) => {
    const ms = chance.whole(21_000, 28_000);
    return {
      words: lasting(ms),
      run: (farm, victim) =>
        farm.during('pause', victim, async () => {
          victim.pause();
          await pause(ms);
          victim.resume();
        }),
    };
  },

  cut: (chance) => {
    const ms = chance.spread(100, 30_000);
    return {
      words: lasting(ms),
      run: (farm, victim) =>
        farm.during('cut', victim, async () => {
          const { database } = farm.network(victim);
          database.cut();
          await pause(ms);
          database.speak();
        }),
    };
  },

  outage: (chance) => {
    const ms = chance.spread(100, 5_000);
    return { words: lasting(ms), run: (farm) => crash(farm, 'outage', ms) };
  },

  deploy: (chance) => {
    const type = chance.pick(DEPLOY_TYPES);
    return {
      words: `(${type})`,
      run: (farm, victim) => farm.during('deploy', victim, () => deployRenamed(victim, type)),
    };
  },

  'half-open': (chance) => {
    const isAll = chance.is(0.3);
    // A write gives up after 10 to 15 s. Whether the release of its lock arrives depends on the second it ends in.
    const ms = chance.whole(8_000, 20_000);
    return {
      words: `${isAll ? '(all) ' : ''}${lasting(ms)}`,
      run: async (farm, victim) => {
        const request = farm.network(victim).next([/^POST \S*\/token /], AIM);
        farm.renewAt(victim);
        const passage = await request;
        await passage?.answered();
        await silence(farm, 'half-open', isAll ? null : victim, ms);
        return passage !== undefined;
      },
    };
  },

  unlisted: (chance) => {
    // A short one aims at the failing write. A long one outlasts the two locks of a print (77 s each) and a usual search.
    const isLong = chance.is(0.3);
    const ms = isLong ? chance.whole(195_000, 205_000) : chance.whole(8_000, 20_000);
    const hiddenFor = isLong ? ms : chance.whole(5_000, 25_000);
    const key = `unlisted-${chance.whole(0, 1e9)}`;
    const at = chance.random();
    return {
      words: `${lasting(ms)}, listed after ${(hiddenFor / 1000).toFixed(1)} s`,
      run: async (farm, victim) => {
        const cluster = farm.printers[Math.floor(at * farm.printers.length)] ?? '';
        const request = farm.network(victim).next([new RegExp(`^POST \\S*/${cluster}/print/`)], AIM);
        farm.ask('print', key, cluster, [victim]);
        const passage = await request;
        const others = farm.running.filter((replica) => replica !== victim);
        farm.ask('print', key, cluster, others);
        await passage?.answered();
        farm.hide(key, hiddenFor * TIME_FACTOR);
        const silent = silence(farm, 'unlisted', victim, ms);
        if (isLong) {
          // By then, the first messages have timed out.
          await pause(PRINT_TIMEOUT * 1000);
          farm.ask('print', key, cluster, others);
        }
        await silent;
        return passage !== undefined;
      },
    };
  },

  dispatch: (chance) => {
    const ms = chance.spread(10, 10_000);
    const how = chance.pick(['killed before', 'killed after', 'killed after', 'cut off after'] as const);
    const hiddenFor = chance.pick([0, chance.whole(5_000, 25_000)]);
    const key = `dispatch-${chance.whole(0, 1e9)}`;
    return {
      words: `(${how}) ${lasting(ms)}, listed after ${(hiddenFor / 1000).toFixed(1)} s`,
      run: async (farm, victim) => {
        const isQueued = new RegExp(`^POST \\S*/(${farm.queues.printers.join('|')})/print/`);
        // Any of them may be the one that plans.
        const keep = (passage: Passage) => (how === 'killed before' ? passage.keep() : undefined);
        const requests = farm.running.map(async (replica) => {
          const passage = await farm.network(replica).next([isQueued], AIM_END, keep);
          return passage && { replica, passage };
        });
        farm.queues.add({ queue: 'left', key, copies: 1, seconds: 60 }, [victim]);
        const first = await Promise.race([...requests.map(arrived), pause(AIM_END, undefined, { ref: false })]);
        if (!first) return false;
        const { replica, passage } = first;
        if (how !== 'killed before') await passage.answered();
        farm.hide(key, hiddenFor * TIME_FACTOR);
        if (how === 'cut off after') await silence(farm, 'dispatch', replica, HELD_BACK + ms);
        else
          await farm.during('dispatch', replica, async () => {
            await replica.kill();
            await farm.mendSignIn();
            await pause(ms);
            await replica.start();
          });
        return true;
      },
    };
  },

  full: (chance) => {
    const ms = chance.whole(5_000, 25_000);
    // Large values don't fit; or only the sign-in doesn't, because the disk became full after its probe.
    const isLarge = chance.is(0.5);
    return {
      words: `(${isLarge ? 'for large values' : 'for the sign-in'}) ${lasting(ms)}`,
      run: async (farm) => {
        const size = (await grantIn(farm))?.length ?? 0;
        const condition = isLarge ? `length(NEW.content) > ${Math.floor(size / 2)}` : `NEW.name = '${GRANT_ROW}'`;
        await farm.during('full', null, async () => {
          await farm.sql(`CREATE FUNCTION ${SCHEMA}.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END $$`);
          await farm.sql(`CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE OF content ON ${SCHEMA}.entries
            FOR EACH ROW WHEN (NEW.content IS NOT NULL AND ${condition}) EXECUTE FUNCTION ${SCHEMA}.full()`);
          await pause(ms);
          await farm.sql(`DROP FUNCTION IF EXISTS ${SCHEMA}.full() CASCADE`);
        });
      },
    };
  },

  clock: (chance) => {
    const ahead = chance.pick([-TEN_MINUTES, TEN_MINUTES]);
    const ms = chance.spread(10, 10_000);
    return {
      words: `(${ahead / 60_000} min) ${lasting(ms)}`,
      run: (farm, victim) =>
        farm.during('clock', victim, async () => {
          // Every saved time moves by as much as the clock, in the other direction.
          const later = `- interval '${ahead} ms'`;
          await farm.sql(`UPDATE ${SCHEMA}.entries SET ends_at = ends_at ${later}, until = until ${later}`);
          await farm.sql(`UPDATE ${SCHEMA}.assignments SET left_at = left_at ${later}`);
          await victim.kill();
          await farm.mendSignIn();
          await pause(ms);
          await victim.start();
        }),
    };
  },

  unreached: (chance) => {
    // The rule allows a gap of 70 s.
    const ms = chance.pick([chance.whole(20_000, 70_000), chance.whole(75_000, 120_000)]);
    return {
      words: lasting(ms),
      run: (farm, victim) =>
        farm.during('unreached', victim, async () => {
          const network = farm.network(victim);
          await network.unreach();
          await pause(ms);
          await network.reach();
          await farm.mendSignIn();
        }),
    };
  },

  deaf: () => ({
    words: '',
    run: (farm, victim) =>
      farm.locks.waitFor('sign-in', () =>
        farm.during('deaf', victim, async () => {
          const others = farm.healthy.filter((replica) => replica !== victim);
          const end = await farm.signOut(others[0] ?? victim);
          await farm.follow('signed-out', [...others, victim]);
          farm.network(victim).deafen();
          await farm.signIn();
          end();
          await farm.follow('signed-in', [...others, victim]);
        }),
      ),
  }),

  account: (chance) => {
    const ms = chance.spread(100, 10_000);
    const type = chance.pick(DEPLOY_TYPES);
    return {
      words: `(${type}) ${lasting(ms)}`,
      run: async (farm, victim) => {
        const redeploy = async () => {
          const flows = await flowsAt(victim);
          await deploy(
            victim,
            type,
            flows.filter(({ id }) => id !== 'account'),
          );
          await pause(ms);
          // Another type would not restart the nodes that use the account.
          const restored = flows.map((node) => ({ ...node, credentials: farm.credentials[node.id] }));
          await deploy(victim, 'full', restored);
        };
        await farm.locks.waitFor('account', () => farm.during('account', victim, redeploy));
        await farm.mendSignIn();
      },
    };
  },

  secret: () => ({
    words: '',
    run: (farm, victim) =>
      farm.locks.waitFor('sign-in', () =>
        farm.during('secret', victim, async () => {
          const stranger = farm.stranger();
          await stranger.start();
          try {
            const redirectUri = `${stranger.url}remote-printing/callback`;
            await patiently(() => post(`${stranger.url}remote-printing/accounts/account/sign-in`, { redirectUri }));
            await farm.signIn();
            await farm.follow('signed-in', farm.healthy);
          } finally {
            await stranger.stop();
          }
        }),
      ),
  }),

  'sign-out': () => ({
    words: '',
    run: (farm, victim) =>
      farm.locks.waitFor('sign-in', async () => {
        const { tokens } = farm.simulator;
        const statement = farm.network(victim).next(['SET content', GRANT_ROW], AIM);
        // A token that has to be renewed meanwhile would end the sign-in as well.
        tokens.lifetime = LONG_LIFETIME;
        farm.renewAt(victim);
        const passage = await statement;
        passage?.deafen(0);
        await passage?.answered();
        await farm.during('sign-out', victim, async () => {
          const others = farm.healthy.filter((replica) => replica !== victim);
          const end = await farm.signOut(others[0] ?? victim);
          await farm.follow('signed-out', [...others, victim]);
          tokens.lifetime = TOKEN_LIFETIME;
          await farm.signIn();
          end();
          await farm.follow('signed-in', [...others, victim]);
        });
        return passage !== undefined;
      }),
  }),

  slow: (chance) => {
    const isOne = chance.is(0.5);
    const ms = chance.whole(3_000, 10_000);
    const type = chance.pick(DEPLOY_TYPES);
    const key = `slow-${chance.whole(0, 1e9)}`;
    const all = async (farm: Farm, victim: Replica) => {
      const { database } = farm.network(victim);
      database.slow(1_000);
      await pause(ms / 2);
      await deployRenamed(victim, type);
      await pause(ms / 2);
      database.slow(0);
    };
    /**
     * Holds back the write of an end that was told, until the replica has left. It stays away until another one has
     * polled the printer: its own memory would know the end.
     */
    const one = async (farm: Farm, victim: Replica) => {
      const write = ['SET content', '"checkpoint"', new RegExp(`"ended":\\[.*${key}-\\d\\.gcode.*"figures":`)];
      const held = farm.network(victim).next(write, AIM_END, (passage) => passage.keep());
      for (const [at, cluster] of farm.printers.entries())
        farm.ask('print', `${key}-${at}`, cluster, farm.healthy.slice(0, 1));
      const passage = await held;
      const stopped = victim.stop();
      await pause(HELD_BACK);
      passage?.sendOn();
      await stopped;
      await pause(INTERVAL * 1000 - HELD_BACK);
      await victim.start();
      return passage !== undefined;
    };
    return {
      words: isOne ? '(the write of an end)' : `(${type}) ${lasting(ms)}`,
      run: (farm, victim) => farm.during<unknown>('slow', victim, () => (isOne ? one : all)(farm, victim)),
    };
  },

  wall: (chance) => {
    const ahead = chance.pick([-TEN_MINUTES, TEN_MINUTES]);
    const ms = chance.whole(10_000, 30_000);
    return {
      words: `(${ahead / 60_000} min) ${lasting(ms)}`,
      run: (farm, victim) =>
        farm.during('wall', victim, async () => {
          for (const [clock, wait] of [
            [ahead, ms],
            [0, 0],
          ] as const) {
            await victim.stop();
            farm.setClock(victim, clock);
            await victim.start();
            await pause(wait);
          }
        }),
    };
  },

  failover: (chance) => {
    const ms = chance.spread(100, 5_000);
    return {
      words: lasting(ms),
      run: (farm) => {
        const failOver = async () => {
          const before = await grantIn(farm);
          let after = before;
          for (const end = Date.now() + AIM; after === before && Date.now() < end; await pause(LOOK))
            after = await grantIn(farm);
          // Replicas without the new pair would use the old one again after the fail-over, and end the sign-in by that. The
          // content may also have changed because a starting replica sealed the old pair anew.
          const mayBeLost = before !== undefined && after !== before && (await farm.hasOneToken());
          const lost = mayBeLost
            ? await farm.sql(
                `UPDATE ${SCHEMA}.entries SET content = $1
                  WHERE name = '${GRANT_ROW}' AND holder IS NULL AND content = $2 RETURNING name`,
                [before, after],
              )
            : [];
          await crash(farm, 'failover', ms);
          return lost.length > 0;
        };
        // An account that starts meanwhile would read the old pair.
        return farm.locks.waitFor('sign-in', () => farm.locks.waitFor('account', failOver));
      },
    };
  },
};

export const KINDS = Object.keys(HAZARDS) as HazardKind[];
