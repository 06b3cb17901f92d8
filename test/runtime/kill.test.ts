import assert from 'node:assert/strict';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { grantKey, newestGrant, type Grants } from '../../lib/sign-in/grant';
import { FileStore } from '../../lib/state/file-store';
import { systemClock } from '../../lib/time/clock';
import { startSimulator, type Simulator } from '../../simulator/index';
import { settle } from '../helpers/manual-clock';
import { freshUserDir, startRealNodeRed, type RealNodeRed, type RealNodeRedOptions } from '../helpers/real-node-red';
import { seeded } from '../helpers/seeded';
import { lean } from '../helpers/lean';
import { accountOf, credentialsOf, signIn } from './sign-in';

/** Kills that the account must survive, and the limit of all kills: some hit the window in which no client survives. */
const WANTED = Number(process.env.KILLS ?? 25);
const MOST = 3 * WANTED;
const credentialSecret = 'secret of this test alone';

/** State of the refresh at the kill. */
type Phase = 'before the new tokens' | 'before they were saved' | 'after they were saved';

/**
 * A refresh token is valid for one use, and reuse ends the sign-in. Between the service's change of the token and the
 * write of the new one to disk, a crash costs any client its sign-in. At any other moment it must not.
 */
describe('kill -9 around a token refresh', function () {
  this.timeout(1_200_000);
  let simulator: Simulator;
  let userDir: string;
  let nodeRed: RealNodeRed;
  let calls = 0;

  before(async () => {
    simulator = await startSimulator({ autoApprove: true, accessTokenLifetime: 3600 });
    userDir = await freshUserDir();
  });
  after(async () => {
    await simulator.close();
    await nodeRed.kill();
    await rm(userDir, { recursive: true, force: true });
  });

  it(`leaves the account signed in, ${WANTED} times`, async () => {
    const seed = Number(process.env.KILL_SEED ?? Date.now() % 1e9);
    const random = seeded(seed);
    const phases: Record<Phase, number> = {
      'before the new tokens': 0,
      'before they were saved': 0,
      'after they were saved': 0,
    };
    const saves: number[] = [];
    const began = performance.now();
    console.log(`      seed ${seed} (KILL_SEED)`);

    nodeRed = await start({ flows: busyFlows(simulator), credentials: credentialsOf(simulator) });
    await signIn(nodeRed);
    for (let survived = 0, round = 1; survived < WANTED; round++) {
      assert.ok(round <= MOST, `only ${survived} of ${MOST} kills came outside of the window`);
      const { answered, took, save } = await refresh();
      saves.push(save);
      // Half of the kills aim at the phase before the service's answer, which is the shorter one.
      const phase = await killAfter(random() < 0.5 ? random() * answered : answered + random() * 1.5 * took);
      phases[phase]++;
      if (phase === 'before they were saved') assertUnused();
      await checkFolder();

      const before = countersOf(simulator);
      // The call must need the refresh token.
      simulator.tokens.expireAccessTokens();
      nodeRed = await start();
      const answer = await call();
      if (phase === 'before they were saved') {
        assert.equal(answer.code, 'NOT_SIGNED_IN', `round ${round}`);
        await signIn(nodeRed);
      } else {
        survived++;
        assert.equal(answer.status, 200, `round ${round}, killed ${phase}: ${answer.error}`);
        assert.deepEqual(countersOf(simulator), before, `round ${round}, killed ${phase}`);
      }
    }
    await refresh();

    saves.sort((a, b) => a - b);
    const seconds = ((performance.now() - began) / 1000).toFixed(0);
    for (const [phase, count] of Object.entries(phases)) console.log(`      ${count} kills ${phase}`);
    console.log(
      `      window of a refresh: p50 ${saves[saves.length >> 1]!.toFixed(1)} ms, max ${saves.at(-1)!.toFixed(1)} ms ` +
        `(${saves.length} refreshes); ${simulator.tokens.refreshes} refreshes, ${seconds} s in all`,
    );
    assert.ok(phases['before the new tokens'] > 0 && phases['after they were saved'] > 0, 'the kills were badly aimed');
  });

  function start(options: RealNodeRedOptions = {}): Promise<RealNodeRed> {
    return startRealNodeRed({ ...options, userDir, settings: { ...lean('20-inject.js'), credentialSecret } });
  }

  /** Makes a call to the service through the editor's endpoint, besides the calls of the flow. */
  async function call() {
    // Equal questions within a second share an answer.
    const response = await nodeRed.fetch(`remote-printing/accounts/account/stored-jobs?search=${calls++}`);
    const { error, code } = (await response.json()) as { error?: string; code?: string };
    return { status: response.status, error, code };
  }

  /** Makes a successful refresh. Returns the ms to the service's answer, to the end of the call, and of the save. */
  async function refresh(): Promise<{ answered: number; took: number; save: number }> {
    const { refreshes } = simulator.tokens;
    const began = Date.now();
    simulator.tokens.expireAccessTokens();
    const { status, error } = await call();
    const took = Date.now() - began;
    assert.equal(status, 200, error);
    assert.ok(simulator.tokens.refreshes > refreshes);
    const answered = simulator.tokens.lastAnswerAt! - began;
    const diagnostics = await nodeRed.fetch('remote-printing/accounts/account/diagnostics');
    const { counters } = (await diagnostics.json()) as { counters: { lastSaveMilliseconds: number } };
    return { answered, took, save: counters.lastSaveMilliseconds };
  }

  /** Forces a refresh and kills Node-RED `ms` later. Resolves once the service has processed all requests. */
  async function killAfter(ms: number): Promise<Phase> {
    const [before] = simulator.tokens.refreshTokens.slice(-1);
    simulator.tokens.expireAccessTokens();
    call().catch(() => undefined);
    await pause(ms);
    await nodeRed.kill();
    await settle();
    const held = await heldOnDisk();
    if (!simulator.tokens.refreshTokens.includes(held)) return 'before they were saved';
    return held === before ? 'before the new tokens' : 'after they were saved';
  }

  /** Asserts that no call succeeded with the latest access token: a new pair is saved before its first use. */
  function assertUnused(): void {
    const requests = simulator.requests.list();
    const answer = requests.findLastIndex(({ endpoint, status }) => endpoint === 'token' && status === 200);
    const used = requests.slice(answer).filter(({ origin, status }) => origin === 'api' && status === 200);
    assert.deepEqual(used, []);
  }

  /** Refresh token that a restart will find. */
  async function heldOnDisk(): Promise<string> {
    const store = new FileStore({
      folder: join(userDir, 'remote-printing'),
      clock: systemClock,
      sealedKinds: ['grant'],
      secrets: () => [credentialSecret],
      warn: (sentence) => assert.fail(String(sentence)),
    });
    const grant = newestGrant(await store.get<Grants>(grantKey('account')));
    assert.ok(grant?.refreshToken, 'no refresh token on disk');
    return grant.refreshToken;
  }

  /** Asserts that every file of the state is whole, and that no file was set aside. */
  async function checkFolder(): Promise<void> {
    const folder = join(userDir, 'remote-printing');
    const files = await readdir(folder, { recursive: true, withFileTypes: true });
    for (const file of files.filter((entry) => entry.isFile())) {
      assert.ok(!file.name.includes('.damaged'), file.name);
      if (file.name.endsWith('.json')) JSON.parse(await readFile(join(file.parentPath, file.name), 'utf8'));
    }
    assert.deepEqual(
      nodeRed.log.filter((line) => /set aside|can't be read|could not be saved/.test(line)),
      [],
    );
  }
});

/** Counters that a sign-in or the reuse of a token would change. */
const countersOf = ({ tokens: { exchanges, reuseDetections } }: Simulator) => ({ exchanges, reuseDetections });

/** Flow that calls the service all the time. */
function busyFlows(simulator: Simulator): object[] {
  const { clusterId } = simulator.world.cluster(1);
  const at = { z: 'tab', x: 100, y: 100 };
  const status = { ...at, type: 'remote-printing-cluster-status', account: 'account', name: '', wires: [[], []] };
  return [
    { id: 'tab', type: 'tab', label: 'busy' },
    accountOf(simulator),
    {
      ...{ ...at, id: 'again', type: 'inject', name: '', props: [] },
      ...{ repeat: '0.1', once: true, onceDelay: 0, wires: [['one', 'all']] },
    },
    { ...status, id: 'one', cluster: clusterId, clusterType: 'str', interval: 60 },
    { ...status, id: 'all', cluster: '', clusterType: 'str', interval: 60 },
  ];
}
