import assert from 'node:assert/strict';
import { PrintingError } from '../../../lib/service/errors';
import { grantKey, type Grant } from '../../../lib/sign-in/grant';
import type { TokenEndpoint } from '../../../lib/sign-in/token-endpoint';
import { Tokens } from '../../../lib/sign-in/tokens';
import { DatabaseError } from '../../../lib/postgres/database';
import { WRITE } from '../../../lib/postgres/entries';
import { phrase } from '../../../lib/words/sentence';
import { limit } from '../../helpers/limits';
import { ManualClock } from '../../helpers/manual-clock';
import { SharedMemory, type SharedRuntime } from '../../helpers/shared-memory';
import { pluck } from '../../helpers/pluck';

const SETTINGS = { authUrl: 'https://auth.example', clientId: 'id', clientSecret: 'secret', scope: 'all' };
const PAIR_BYTES = 3_000;

/** Replicas that share a sign-in, one of which loses the database in the middle of a renewal. */
describe('a sign-in that replicas share', () => {
  let clock: ManualClock;
  let runtimes: SharedRuntime[];
  let opened: Tokens[];
  /** Lifetime of an access token, ms. */
  let lifetime: number;
  /** Refresh tokens that the service received. */
  let spent: string[];
  /** Runs right after the service has spent a refresh token. */
  let onRefresh: (runtime: SharedRuntime) => void;

  const grant = (n: number): Grant => ({
    authUrl: SETTINGS.authUrl,
    clientId: SETTINGS.clientId,
    redirectUri: 'http://127.0.0.1/cb',
    accessToken: `access-${n}`,
    refreshToken: `refresh-${n}`,
    expiresAt: clock.now() + lifetime,
    lifetime,
    signedInAt: 1,
    scope: 'x'.repeat(PAIR_BYTES),
  });

  beforeEach(async () => {
    lifetime = 3_600_000;
    clock = new ManualClock();
    const shared = new SharedMemory(clock);
    spent = [];
    onRefresh = () => undefined;
    runtimes = [1, 2, 3].map(() => shared.runtime());
    await runtimes[0]?.store.put(grantKey('a'), { byService: { [SETTINGS.authUrl]: grant(1) } });
    opened = runtimes.map((runtime) => {
      const endpoint = {
        refresh: (_: unknown, { refreshToken }: Grant, __: unknown, fence: () => void) => {
          fence();
          if (spent.includes(refreshToken ?? ''))
            throw new PrintingError('NOT_SIGNED_IN', phrase`The service ended the sign-in.`, {
              outcome: 'refused',
              statusCode: 400,
              serviceCode: 'invalid_grant',
            });
          spent.push(refreshToken ?? '');
          onRefresh(runtime);
          return Promise.resolve(grant(spent.length + 1));
        },
      } as unknown as TokenEndpoint;
      const { store } = runtime;
      const parts = { accountId: 'a', settings: SETTINGS, store, clock: runtime.clock, endpoint };
      return new Tokens({ ...parts, warn: () => undefined });
    });
    await clock.during(5_000, Promise.all(opened.map((tokens) => tokens.ready())));
    // Every runtime has had the database for long enough to take a lock over.
    for (let n = 0; n < 4; n++) {
      await Promise.all(runtimes.map(({ store }) => store.get(['position', 'any'])));
      await clock.advance(5_000);
    }
  });
  afterEach(async () => {
    await Promise.all(opened.map((tokens) => tokens.close()));
    runtimes.forEach((runtime) => runtime.kill());
  });

  const renewed = (n: number, refused = 'access-1') =>
    opened[n]!.refresh(refused, { host: 'api', deadline: limit(clock, { seconds: 3_600 }) });
  /** The token that a runtime finally gets, after as many requests as it needs. */
  async function tokenOf(n: number): Promise<string> {
    for (let turn = 0; turn < 100; turn++) {
      let token: string | undefined;
      renewed(n).then(
        (given) => (token = given),
        () => undefined,
      );
      for (let second = 0; second < 10; second++) await clock.advance(1_000);
      if (token) return token;
    }
    return assert.fail('there is no token');
  }

  for (const seconds of [16, 100, 150, 230])
    it(`is renewed once even if one replica is cut off for ${seconds} s from the service’s answer on`, async () => {
      onRefresh = (runtime) => runtime.cutOff();
      assert.equal(await clock.during(1_000, renewed(0)), 'access-2');
      onRefresh = () => undefined;
      const others = [1, 2].map(async (n) => tokenOf(n));
      for (let second = 0; second < seconds; second++) await clock.advance(1_000);
      runtimes[0]?.reconnect();
      assert.deepEqual(await Promise.all(others), ['access-2', 'access-2']);
      assert.deepEqual(spent, ['refresh-1']);
      assert.deepEqual(pluck(opened, 'state'), ['signed-in', 'signed-in', 'signed-in']);
    });

  /** Kills a replica after it has written so many values in the middle of a renewal. */
  const killAfterWrites = (many: number) => {
    const { store } = runtimes[0]!;
    const put = store.put.bind(store);
    let written = 0;
    store.put = async (key, value, options) => {
      if (key[0] !== 'refresh-begun') return put(key, value, options);
      if (written++ === many) runtimes[0]?.kill();
      return put(key, value, options);
    };
  };

  for (const many of [0, 1])
    it(`is renewed within a lease after a replica was killed before it wrote that it sends, having written ${many} values`, async () => {
      for (const { store } of runtimes) store.join(['account'], { name: '', wants: null, onChange: () => undefined });
      await clock.advance(1_000);
      killAfterWrites(many);
      renewed(0).catch(() => undefined);
      await clock.advance(1_000);
      const killedAt = clock.monotonic();
      const token = renewed(1);
      let tookUntil = Infinity;
      token.then(
        () => (tookUntil = clock.monotonic()),
        () => undefined,
      );
      for (let second = 0; second < 60; second++) await clock.advance(1_000);
      assert.ok(tookUntil - killedAt <= 30_000, `${tookUntil - killedAt} ms`);
      assert.deepEqual(spent, ['refresh-1']);
    });

  it('reports why no token is available while another replica’s outcome is pending', async () => {
    onRefresh = (runtime) => runtime.cutOff();
    await renewed(0);
    for (let second = 0; second < 137; second++) await clock.advance(1_000);
    const asked = clock.monotonic();
    let failed = '';
    renewed(1).catch((error: unknown) => (failed = String(error)));
    for (let second = 0; !failed; second++) {
      assert.ok(second < 200, 'it hangs');
      await clock.advance(1_000);
    }
    assert.match(failed, /Another Node-RED began to renew/);
    assert.ok(clock.monotonic() - asked <= 160_000, `${clock.monotonic() - asked} ms`);
  });

  it('is renewed once even if the replica that waits for the outcome of another one is killed', async () => {
    onRefresh = (runtime) => runtime.cutOff();
    await renewed(0);
    let failed = '';
    renewed(1).catch((error: unknown) => (failed = String(error)));
    for (let second = 0; !failed; second++) {
      assert.ok(second < 300, 'it hangs');
      await clock.advance(1_000);
    }
    assert.match(failed, /Another Node-RED began to renew/);
    // It has released the lock of the sign-in, and holds the one that orders the refreshes.
    runtimes[1]?.kill();
    const last = tokenOf(2);
    for (let second = 0; second < 60; second++) await clock.advance(1_000);
    runtimes[0]?.reconnect();
    assert.equal(await last, 'access-2');
    assert.deepEqual(spent, ['refresh-1']);
    assert.equal(opened[2]?.state, 'signed-in');
  });

  it('is renewed again at once if the new token expired before its runtime could save it', async () => {
    lifetime = 10_000;
    onRefresh = (runtime) => runtime.cutOff();
    const waiting = [0, 1, 2].map((n) => renewed(n));
    for (const one of waiting) one.catch(() => undefined);
    for (let second = 0; second < 16; second++) await clock.advance(1_000);
    onRefresh = () => undefined;
    runtimes[0]?.reconnect();
    for (let second = 0; second < 30; second++) await clock.advance(1_000);
    assert.deepEqual(await Promise.all(waiting), ['access-2', 'access-2', 'access-2']);
    const again = [0, 1, 2].map((n) => renewed(n, 'access-2'));
    await clock.advance(1_000);
    assert.deepEqual(await Promise.all(again), ['access-3', 'access-3', 'access-3']);
  });

  it('is renewed less and less often while the service refuses every new token', async () => {
    for (let second = 0; second < 1_800; second++) {
      const now = opened.map((tokens) => tokens.bearer(limit(clock, { seconds: 3_600 })));
      await clock.advance(0);
      for (const [n, bearer] of now.entries()) renewed(n, await bearer).catch(() => undefined);
      await clock.advance(1_000);
    }
    assert.ok(spent.length <= 24, `${spent.length} renewals in half an hour`);
  });

  it('is not renewed while the disk has no room for the new pair', async () => {
    let room = 2_000;
    for (const { line } of runtimes) {
      const { query } = line;
      line.query = (text, values) =>
        text === WRITE && String(values[5]).length > room
          ? Promise.reject(new DatabaseError('53100'))
          : query(text, values);
    }
    const failing = renewed(0);
    failing.catch(() => undefined);
    for (let second = 0; second < 60; second++) await clock.advance(1_000);
    await assert.rejects(failing, { code: 'FILE_NOT_WRITABLE', outcome: 'not-sent' });
    assert.deepEqual(spent, []);
    assert.equal(opened[0]?.state, 'signed-in');
    room = Infinity;
    assert.equal(await tokenOf(1), 'access-2');
    assert.equal(await tokenOf(0), 'access-2');
    assert.deepEqual(spent, ['refresh-1']);
  });
});
