import assert from 'node:assert/strict';
import { type ErrorCode, PrintingError } from '../../../lib/service/errors';
import { grantFor, grantKey, type Grant, type Grants, withGrant } from '../../../lib/sign-in/grant';
import { RefreshesUnderWay } from '../../../lib/sign-in/refresh';
import { IncompleteAnswer, type TokenEndpoint } from '../../../lib/sign-in/token-endpoint';
import { Tokens, type TokensOptions } from '../../../lib/sign-in/tokens';
import { ManualClock, settle } from '../../helpers/manual-clock';
import { WriteBehindStore } from '../../../lib/state/write-behind-store';
import { UNLOSABLE_LOCK } from '../../../lib/state/locks';
import type { Key } from '../../../lib/state/store';
import { sleep } from '../../../lib/time/clock';
import type { Deadline } from '../../../lib/time/deadline';
import { MemoryStore } from '../../helpers/memory-store';
import { held } from '../../helpers/held';
import { limit } from '../../helpers/limits';
import { phrase } from '../../../lib/words/sentence';

const SETTINGS = { authUrl: 'https://auth.example', clientId: 'id', clientSecret: 'secret', scope: 'all' };
const LIFETIME = 600_000;

describe('sign-in/tokens', () => {
  let clock: ManualClock;
  let store: MemoryStore;
  let warnings: string[];
  let asked: string[];
  /** Behaviour of the token endpoint, one entry per refresh; after the last entry it succeeds. */
  let script: (() => Promise<void>)[];

  const grant = (n: number, changes: Partial<Grant> = {}): Grant => ({
    authUrl: SETTINGS.authUrl,
    clientId: SETTINGS.clientId,
    redirectUri: 'http://127.0.0.1/cb',
    accessToken: `access-${n}`,
    refreshToken: `refresh-${n}`,
    expiresAt: clock.now() + LIFETIME,
    lifetime: LIFETIME,
    scope: 'all',
    ...changes,
  });
  const grants = (...parts: Parameters<typeof grant>) => withGrant(undefined, SETTINGS, grant(...parts));
  const endpoint = {
    refresh: async (_: unknown, old: Grant) => {
      asked.push(old.refreshToken ?? '');
      await script.shift()?.();
      return grant(Number(old.refreshToken?.split('-')[1]) + 1);
    },
  } as unknown as TokenEndpoint;
  const open = (settings = SETTINGS, options: Partial<TokensOptions> = {}) =>
    new Tokens({
      accountId: 'a',
      settings,
      store,
      clock,
      endpoint,
      ...options,
      warn: (sentence) => warnings.push(String(sentence)),
    });
  const refresh = (tokens: Tokens, refused = 'access-1') =>
    tokens.refresh(refused, { host: 'api', deadline: limit(clock) });
  const bearer = (tokens: Tokens) => tokens.bearer(limit(clock));
  const stored = async () => grantFor(await store.get<Grants>(grantKey('a')), SETTINGS);
  const fails =
    (code: ErrorCode, details = {}) =>
    () =>
      Promise.reject(new PrintingError(code, phrase`It failed.`, { outcome: 'unknown', ...details }));
  const rotates = (n: number) => () => Promise.reject(new IncompleteAnswer(`refresh-${n}`));
  const refuses =
    (serviceCode: string | undefined, statusCode = 400, code: ErrorCode = 'SERVICE_ERROR') =>
    () =>
      Promise.reject(new PrintingError(code, phrase`No.`, { outcome: 'refused', statusCode, serviceCode }));

  beforeEach(async () => {
    clock = new ManualClock();
    store = new MemoryStore();
    warnings = [];
    asked = [];
    script = [];
    await store.put(grantKey('a'), grants(1));
  });

  it('is signed out without a grant', async () => {
    await store.delete(grantKey('a'));
    const tokens = open();
    await assert.rejects(bearer(tokens), { code: 'NOT_SIGNED_IN' });
    assert.equal(tokens.state, 'signed-out');
  });

  it('uses a valid token without renewing it', async () => {
    const tokens = open();
    assert.equal(await bearer(tokens), 'access-1');
    assert.equal(tokens.state, 'signed-in');
    assert.deepEqual(asked, []);
  });

  it('renews a minute before expiry and stores the pair before its first use', async () => {
    const tokens = open();
    await bearer(tokens);
    await clock.advance(LIFETIME - 60_001);
    assert.equal(await bearer(tokens), 'access-1');
    await clock.advance(1);
    assert.equal(await bearer(tokens), 'access-2');
    assert.equal((await stored())?.refreshToken, 'refresh-2');
  });

  it('does not hand out a new token before it is on disk', async () => {
    const tokens = open();
    await bearer(tokens);
    const slow = held();
    const update = store.update.bind(store);
    store.update = async (key, change) => {
      const value = await update(key, change);
      await slow.promise;
      return value;
    };
    let got = '';
    const renewing = refresh(tokens).then((token) => (got = token));
    await settle();
    assert.equal(got, '');
    slow.release();
    assert.equal(await renewing, 'access-2');
  });

  it('makes one refresh for 100 concurrent requests', async () => {
    const tokens = open();
    const got = await Promise.all(Array.from({ length: 100 }, () => refresh(tokens)));
    assert.deepEqual(new Set(got), new Set(['access-2']));
    assert.deepEqual(asked, ['refresh-1']);
  });

  it('makes one refresh for two instances on the same store', async () => {
    const [one, two] = [open(), open()];
    await Promise.all([bearer(one), bearer(two)]);
    const got = await Promise.all([refresh(one), refresh(two)]);
    assert.deepEqual(got, ['access-2', 'access-2']);
    assert.deepEqual(asked, ['refresh-1']);
  });

  it('counts the refreshes of all instances on the same store', async () => {
    const [one, two] = [open(), open()];
    await Promise.all([bearer(one), bearer(two)]);
    await refresh(one);
    await refresh(two);
    two.accepted('access-2');
    await refresh(two, 'access-2');
    await one.reload();
    assert.deepEqual([one.counters().refreshes, two.counters().refreshes], [1, 1]);
    assert.deepEqual([one.counters().refreshesInAll, two.counters().refreshesInAll], [2, 2]);
  });

  it('answers a late refusal of the old token with the new one', async () => {
    const tokens = open();
    await refresh(tokens);
    assert.equal(await refresh(tokens), 'access-2');
    assert.deepEqual(asked, ['refresh-1']);
  });

  for (const code of ['invalid_grant', 'invalid_request'])
    it(`ends the sign-in permanently on ${code} without a warning`, async () => {
      script = [refuses(code)];
      const tokens = open();
      let changes = 0;
      tokens.onChange(() => changes++);
      await assert.rejects(refresh(tokens), { code: 'NOT_SIGNED_IN' });
      assert.equal(tokens.state, 'sign-in-needed');
      await assert.rejects(bearer(tokens), { code: 'NOT_SIGNED_IN' });
      await assert.rejects(refresh(tokens), { code: 'NOT_SIGNED_IN' });
      assert.equal(asked.length, 1);
      assert.ok(changes >= 1);
      const left = await stored();
      assert.equal(left?.accessToken, '');
      assert.equal(left?.refreshToken, null);
      const restarted = open();
      await assert.rejects(bearer(restarted), { code: 'NOT_SIGNED_IN' });
      assert.equal(restarted.state, 'sign-in-needed');
      assert.match(String(restarted.info().error), /ended the sign-in/);
    });

  it('keeps the tokens and stops refreshing when the client application is refused', async () => {
    script = [refuses('invalid_client', 401)];
    const tokens = open();
    await assert.rejects(refresh(tokens), { code: 'NOT_SIGNED_IN', serviceCode: 'invalid_client' });
    await assert.rejects(bearer(tokens), { code: 'NOT_SIGNED_IN' });
    assert.equal(asked.length, 1);
    assert.equal((await stored())?.refreshToken, 'refresh-1');
    assert.equal(await bearer(open()), 'access-1');
  });

  for (const [name, failure] of [
    ['a network fault', fails('NETWORK', { outcome: 'not-sent' })],
    ['a 500', fails('SERVICE_ERROR', { statusCode: 500 })],
    ['a proxy’s page with status 401', refuses(undefined, 401, 'NOT_SIGNED_IN')],
    ['a proxy’s page', refuses(undefined, 403)],
  ] as const)
    it(`keeps the sign-in after ${name} and tries again`, async () => {
      script = [failure, failure];
      const tokens = open();
      assert.equal(await clock.during(10_000, refresh(tokens)), 'access-2');
      assert.equal(asked.length, 3);
    });

  for (const { title, answers, takes, error, rest, used, next } of [
    {
      title: 'gives up after three tries',
      answers: [1, 2, 3].map(() => fails('NETWORK', { outcome: 'not-sent' })),
      ...{ takes: 4_000, error: { code: 'NETWORK', outcome: 'not-sent' }, rest: 5_000 },
      ...{ used: ['refresh-1', 'refresh-1', 'refresh-1'], next: 'access-2' },
    },
    {
      title: 'gives up after three answers without an access token',
      answers: [rotates(2), rotates(3), rotates(4)],
      ...{ takes: 4_000, error: { code: 'SERVICE_ERROR', outcome: 'not-sent' }, rest: 5_000 },
      ...{ used: ['refresh-1', 'refresh-2', 'refresh-3'], next: 'access-5' },
    },
    {
      title: 'waits for the time that a 429 names',
      answers: [fails('RATE_LIMITED', { outcome: 'refused', statusCode: 429, retryAfter: 30_000 })],
      ...{ takes: 0, error: { code: 'RATE_LIMITED' }, rest: 30_000, used: ['refresh-1'], next: 'access-2' },
    },
  ])
    it(`${title}, stays signed in and repeats the error until the next refresh may begin`, async () => {
      script = answers;
      const tokens = open();
      await assert.rejects(clock.during(takes, refresh(tokens)), error);
      for (const ms of [0, rest - 1_000]) {
        await clock.advance(ms);
        await assert.rejects(refresh(tokens), { code: error.code });
      }
      assert.deepEqual([asked, tokens.state], [used, 'signed-in']);
      await clock.advance(1_001);
      assert.deepEqual([await refresh(tokens), tokens.info().error], [next, null]);
    });

  it('continues with the current token when an early renewal fails', async () => {
    script = [fails('NETWORK'), fails('NETWORK'), fails('NETWORK')];
    const tokens = open();
    await bearer(tokens);
    await clock.advance(LIFETIME - 30_000);
    assert.equal(await clock.during(5_000, bearer(tokens)), 'access-1');
  });

  it('continues in memory, with a warning, when the new pair can’t be saved', async () => {
    const tokens = open();
    await bearer(tokens);
    const update = store.update.bind(store);
    store.update = async (key, change) => {
      await update(key, change);
      if (key[0] === 'grant') throw new PrintingError('FILE_NOT_WRITABLE', phrase`disk full`, { outcome: 'not-sent' });
      return undefined;
    };
    assert.equal(await refresh(tokens), 'access-2');
    assert.equal(await bearer(tokens), 'access-2');
    assert.match(warnings[0] ?? '', /can’t be saved yet/);
  });

  it('is not signed out by an unreadable store, and recovers without help', async () => {
    const [get, update] = [store.get.bind(store), store.update.bind(store)];
    const unreadable = () =>
      Promise.reject(new PrintingError('FILE_NOT_READABLE', phrase`EMFILE`, { outcome: 'not-sent' }));
    store.get = unreadable;
    store.update = unreadable;
    const tokens = open();
    let changes = 0;
    tokens.onChange(() => changes++);
    await assert.rejects(bearer(tokens), { code: 'FILE_NOT_READABLE', outcome: 'not-sent' });
    assert.match(String(tokens.info().error), /EMFILE/);
    await clock.advance(5_000);
    [store.get, store.update] = [get, update];
    await clock.advance(30_000);
    assert.deepEqual([tokens.state, tokens.info().error, changes], ['signed-in', null, 1]);
    assert.equal(await bearer(tokens), 'access-1');
    await tokens.close();
    assert.equal(clock.waiting, 0);
  });

  for (const [method, code, state] of [
    ['put', 'FILE_NOT_WRITABLE', 'isn’t writable'],
    ['update', 'FILE_NOT_READABLE', 'isn’t readable'],
  ] as const)
    it(`stays signed in and uses no refresh token while the store ${state}`, async () => {
      const tokens = open();
      await bearer(tokens);
      const works = store[method].bind(store);
      const failed = new PrintingError(code, phrase`EIO`, { outcome: 'not-sent' });
      Object.assign(store, { [method]: () => Promise.reject(failed) });
      await assert.rejects(clock.during(10_000, refresh(tokens)), { code });
      assert.deepEqual([asked, tokens.state], [[], 'signed-in']);
      Object.assign(store, { [method]: works });
      await clock.advance(15_000);
      assert.equal(await refresh(tokens), 'access-2');
      assert.deepEqual(asked, ['refresh-1']);
    });

  it('ends a wait for a renewal at the caller’s deadline and continues the renewal', async () => {
    const { promise, release } = held();
    script = [() => promise];
    const tokens = open();
    const renewing = tokens.refresh('access-1', { host: 'api', deadline: limit(clock, { seconds: 5 }) });
    await assert.rejects(clock.during(5_000, renewing), { code: 'TIMEOUT', outcome: 'not-sent' });
    release();
    await settle();
    assert.equal(await bearer(tokens), 'access-2');
    assert.deepEqual(asked, ['refresh-1']);
  });

  it('backs off from renewing a token that the service refuses right after its issue', async () => {
    const tokens = open();
    let refused = await bearer(tokens);
    for (let second = 0; second < 600; second++) {
      refused = await refresh(tokens, refused).catch(() => refused);
      await clock.advance(1_000);
    }
    assert.ok(asked.length <= 6, `${asked.length} renewals in ten minutes`);
    assert.equal(tokens.state, 'signed-in');
    tokens.accepted(refused);
    assert.notEqual(await refresh(tokens, refused).catch(() => ''), '');
  });

  it('reports a new sign-in even if the state stays the same', async () => {
    const tokens = open();
    await bearer(tokens);
    let changes = 0;
    tokens.onChange(() => changes++);
    await refresh(tokens);
    assert.equal(changes, 0, 'a renewal counted as a sign-in');
    await store.put(grantKey('a'), grants(7, { signedInAt: 7 }));
    await tokens.reload();
    assert.equal(changes, 1);
  });

  it('ends a sign-in without a refresh token when its access token is refused', async () => {
    await store.put(grantKey('a'), grants(1, { refreshToken: null }));
    const tokens = open();
    assert.equal(await bearer(tokens), 'access-1');
    await assert.rejects(refresh(tokens), { code: 'NOT_SIGNED_IN' });
    assert.deepEqual(asked, []);
  });

  it('ignores a grant of another client or host', async () => {
    for (const other of [{ authUrl: 'https://evil.example' }, { clientId: 'other' }]) {
      const tokens = open({ ...SETTINGS, ...other });
      await assert.rejects(bearer(tokens), { code: 'NOT_SIGNED_IN' });
      assert.equal(tokens.state, 'signed-out');
    }
    assert.deepEqual(asked, []);
  });

  it('renews on time even if the wall clock was set back', async () => {
    await store.put(grantKey('a'), grants(1, { expiresAt: clock.now() + 10 * LIFETIME }));
    const tokens = open();
    await bearer(tokens);
    await clock.advance(LIFETIME);
    assert.equal(await bearer(tokens), 'access-2');
  });

  it('forgets the grant on sign-out and reads a new sign-in', async () => {
    const tokens = open();
    await bearer(tokens);
    await tokens.signOut();
    assert.equal(tokens.state, 'signed-out');
    assert.equal((await stored())?.accessToken, '');
    await store.put(grantKey('a'), grants(7));
    await tokens.reload();
    assert.equal(await bearer(tokens), 'access-7');
  });

  it('reads the user from the token', async () => {
    const claims = { username: 'ada', organization: { organization_id: 'org' } };
    const jwt = `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`;
    await store.put(grantKey('a'), grants(1, { accessToken: jwt }));
    const tokens = open();
    await bearer(tokens);
    const info = tokens.info();
    assert.deepEqual([info.state, info.user, info.organizationId, info.error], ['signed-in', 'ada', 'org', null]);
    assert.equal(info.expiresAt, new Date(clock.now() + LIFETIME).toISOString());
  });

  it('reports each refresh that has ended, with or without new tokens', async () => {
    const ended: boolean[] = [];
    const tokens = open(SETTINGS, { refreshEnded: (isSaved) => ended.push(isSaved) });
    script = [rotates(2)];
    await clock.during(1_000, refresh(tokens));
    assert.deepEqual(ended, [false, true]);
  });

  it('measures the time until a new pair is saved', async () => {
    const tokens = open();
    await refresh(tokens);
    assert.deepEqual(tokens.counters(), {
      refreshes: 1,
      refreshesInAll: 1,
      failedRefreshes: 0,
      lastSaveMilliseconds: 0,
      longestSaveMilliseconds: 0,
    });
  });

  describe('with an answer that has a refresh token but no access token', () => {
    it('repeats the refresh with the new refresh token', async () => {
      script = [rotates(2)];
      const tokens = open();
      assert.equal(await clock.during(1_000, refresh(tokens)), 'access-3');
      assert.deepEqual(asked, ['refresh-1', 'refresh-2']);
      assert.equal((await stored())?.refreshToken, 'refresh-3');
      assert.equal(tokens.counters().failedRefreshes, 1);
    });

    it('saves the new refresh token before the repeat', async () => {
      script = [rotates(2)];
      refresh(open()).catch(() => undefined);
      await clock.advance(500);
      assert.deepEqual(asked, ['refresh-1']);
      const { accessToken, refreshToken } = (await stored()) ?? {};
      assert.deepEqual([accessToken, refreshToken], ['access-1', 'refresh-2']);
      // The runtime ends here. The next one continues from the store.
      assert.equal(await refresh(open()), 'access-3');
      assert.deepEqual(asked, ['refresh-1', 'refresh-2']);
    });

    it('continues with a valid access token', async () => {
      script = [rotates(2)];
      const tokens = open();
      await bearer(tokens);
      await clock.advance(LIFETIME - 30_000);
      assert.equal(await clock.during(5_000, bearer(tokens)), 'access-3');
      script = [rotates(4), rotates(5), rotates(6)];
      await clock.advance(LIFETIME - 30_000);
      assert.equal(await clock.during(5_000, bearer(tokens)), 'access-3');
      assert.equal((await stored())?.refreshToken, 'refresh-6');
    });

    it('continues with the new refresh token in memory if it can’t be saved', async () => {
      script = [rotates(2)];
      const tokens = open(SETTINGS, { store: new WriteBehindStore(store, clock) });
      await bearer(tokens);
      const update = store.update.bind(store);
      store.update = async (key, change, options) => {
        if (key[0] !== 'grant') return update(key, change, options);
        await change(await store.get(key), UNLOSABLE_LOCK);
        throw new PrintingError('FILE_NOT_WRITABLE', phrase`disk full`, { outcome: 'not-sent' });
      };
      assert.equal(await clock.during(1_000, refresh(tokens)), 'access-3');
      assert.deepEqual(asked, ['refresh-1', 'refresh-2']);
      store.update = update;
      await clock.advance(60_000);
      assert.equal((await stored())?.refreshToken, 'refresh-3');
    });
  });

  describe('with a refresh whose answer is slow or lost', () => {
    /** Advances the clock by ms; returns the times of the requests within that time, ms from now. */
    async function requestsWithin(ms: number): Promise<number[]> {
      const [begun, times] = [clock.monotonic(), Array<number>()];
      for (let seen = asked.length; clock.monotonic() - begun < ms; seen = asked.length) {
        await clock.advance(100);
        for (let n = seen; n < asked.length; n++) times.push(clock.monotonic() - begun);
      }
      return times;
    }

    for (const [name, failure] of [
      ['a lost answer', fails('NETWORK')],
      ['the end of its time', fails('TIMEOUT')],
      ['an answer that is too large', fails('SERVICE_ERROR', { statusCode: 200 })],
      ...[502, 503, 504].map((statusCode) => [`a ${statusCode}`, fails('SERVICE_ERROR', { statusCode })] as const),
      ['a 408', fails('SERVICE_ERROR', { outcome: 'refused', statusCode: 408 })],
    ] as const)
      it(`rests the refresh token for 2 s after ${name}, then uses it again`, async () => {
        script = [failure];
        const renewing = refresh(open());
        await clock.advance(1_999);
        assert.deepEqual(asked, ['refresh-1']);
        assert.equal(await clock.during(1, renewing), 'access-2');
        assert.deepEqual(asked, ['refresh-1', 'refresh-1']);
      });

    for (const [seconds, rest] of [
      [20, 20],
      [360, 45],
    ] as const)
      it(`rests the refresh token for ${rest} s if the answer was lost after ${seconds} s`, async () => {
        script = [() => sleep(clock, seconds * 1_000).then(fails('NETWORK'))];
        const renewing = refresh(open());
        await clock.advance((seconds + rest) * 1_000 - 1);
        assert.deepEqual(asked, ['refresh-1']);
        assert.equal(await clock.during(1, renewing), 'access-2');
      });

    it('does not count the way to the service as time under way', async () => {
      const connecting = {
        refresh: async (_: never, old: Grant, __: never, fence: () => void) => {
          await sleep(clock, 9_000);
          fence();
          return endpoint.refresh(SETTINGS, old, limit(clock));
        },
      } as unknown as TokenEndpoint;
      script = [fails('NETWORK')];
      const renewing = refresh(open(SETTINGS, { endpoint: connecting }));
      assert.equal(await clock.during(20_000, renewing), 'access-2');
    });

    it('doubles the rest at each further loss up to 45 s and goes on without a caller', async () => {
      script = Array.from({ length: 8 }, () => fails('NETWORK'));
      const tokens = open();
      const failed = assert.rejects(refresh(tokens), { code: 'NETWORK', outcome: 'not-sent' });
      const seconds = (await requestsWithin(250_000)).map((ms) => Math.floor(ms / 1_000));
      await failed;
      assert.deepEqual(seconds, [0, 2, 6, 14, 30, 62, 107, 152, 197]);
      assert.equal(await bearer(tokens), 'access-2');
    });

    it('answers every caller from the second lost answer on', async () => {
      script = [fails('NETWORK'), fails('NETWORK')];
      const tokens = open();
      await assert.rejects(clock.during(2_000, refresh(tokens)), { code: 'NETWORK', outcome: 'not-sent' });
      await assert.rejects(refresh(tokens), { code: 'NETWORK' });
      assert.match(String(tokens.info().error), /It failed/);
      assert.equal(asked.length, 2);
      await clock.advance(4_000);
      assert.deepEqual([await refresh(tokens), tokens.info().error], ['access-2', null]);
      assert.equal(asked.length, 3);
    });

    it('lets another instance use the refresh token after the rest', async () => {
      script = [fails('NETWORK'), fails('NETWORK')];
      const [one, two] = [open(), open()];
      await bearer(two);
      const both = [refresh(one), refresh(two)];
      assert.deepEqual(await clock.during(10_000, Promise.all(both)), ['access-2', 'access-2']);
      assert.equal(asked.length, 3);
    });

    for (const [name, failure] of [
      ['nothing was sent', fails('NETWORK', { outcome: 'not-sent' })],
      ['the service answers 500', fails('SERVICE_ERROR', { statusCode: 500 })],
    ] as const)
      it(`repeats after 1, 3 and 5 s, then every 15 s, and every 45 s after ten minutes if ${name}`, async () => {
        script = Array.from({ length: 60 }, () => failure);
        const tokens = open();
        refresh(tokens).catch(() => undefined);
        const times = await requestsWithin(900_000);
        const waits = times.slice(1).map((time, n) => (time - times[n]!) / 1_000);
        const expected = (n: number) => [1, 3, 5][n] ?? (times[n]! < 600_000 ? 15 : 45);
        for (const [n, wait] of waits.entries())
          assert.ok(wait <= expected(n) + 0.1 && wait >= expected(n) * 0.9 - 0.1, `${n}: ${wait} s`);
        assert.ok(times.length > 45, `${times.length}`);
        await tokens.close();
        assert.equal(clock.waiting, 0);
      });

    it('obeys a Retry-After that is longer than any rest', async () => {
      script = [fails('SERVICE_ERROR', { statusCode: 503, retryAfter: 120_000 })];
      const tokens = open();
      await assert.rejects(refresh(tokens), { code: 'SERVICE_ERROR' });
      assert.deepEqual(
        (await requestsWithin(200_000)).map((ms) => Math.round(ms / 1_000)),
        [120],
      );
      assert.equal(await bearer(tokens), 'access-2');
    });

    it('ends the sign-in without a caller if the lost answer had spent the token', async () => {
      script = [fails('NETWORK'), fails('NETWORK'), refuses('invalid_grant')];
      const tokens = open();
      await assert.rejects(clock.during(2_000, refresh(tokens)), { code: 'NETWORK' });
      await clock.advance(4_000);
      assert.equal(tokens.state, 'sign-in-needed');
      await clock.advance(600_000);
      assert.equal(asked.length, 3);
    });

    for (const [how, end] of [
      ['a sign-out', (tokens: Tokens) => tokens.signOut()],
      ['a close', (tokens: Tokens) => tokens.close()],
      [
        'a new sign-in',
        async (tokens: Tokens) => {
          await store.put(grantKey('a'), grants(7, { signedInAt: 7 }));
          await tokens.reload();
        },
      ],
    ] as const)
      it(`stops the repeats at ${how}`, async () => {
        script = Array.from({ length: 9 }, () => fails('NETWORK', { outcome: 'not-sent' }));
        const tokens = open();
        await assert.rejects(clock.during(10_000, refresh(tokens)), { code: 'NETWORK' });
        const count = asked.length;
        await end(tokens);
        await settle();
        assert.equal(clock.waiting, 0);
        await clock.advance(600_000);
        assert.equal(asked.length, count);
      });

    it('uses a new sign-in at once though the last renewal of the old one failed', async () => {
      script = Array.from({ length: 9 }, () => fails('NETWORK', { outcome: 'not-sent' }));
      const tokens = open();
      await assert.rejects(clock.during(10_000, refresh(tokens)), { code: 'NETWORK' });
      script = [];
      await store.put(grantKey('a'), grants(7, { signedInAt: 7 }));
      await tokens.reload();
      await settle();
      assert.equal(await bearer(tokens), 'access-7');
      tokens.accepted('access-7');
      assert.equal(await refresh(tokens, 'access-7'), 'access-8');
    });

    it('leaves a resting token to the next instance on close, which waits for the end of the rest', async () => {
      script = [fails('NETWORK')];
      const before = open();
      refresh(before).catch(() => undefined);
      await settle();
      await before.close();
      const after = open();
      const renewing = refresh(after);
      await clock.advance(1_999);
      assert.equal(asked.length, 1);
      await clock.advance(1);
      assert.equal(await renewing, 'access-2');
    });

    it('is signed in soon during a refresh of the previous instance and waits for its pair', async () => {
      const { promise, release } = held();
      script = [() => promise];
      const before = open();
      refresh(before).catch(() => undefined);
      await settle();
      const closing = before.close();
      const after = open();
      await clock.during(2_000, after.ready());
      assert.equal(after.state, 'signed-in');
      const renewing = refresh(after);
      await clock.advance(5 * 60_000);
      release();
      assert.equal(await renewing, 'access-2');
      await closing;
      assert.deepEqual(asked, ['refresh-1']);
    });

    it('continues with a valid token while its early renewal is slow', async () => {
      const { promise, release } = held();
      script = [() => promise];
      const tokens = open();
      await bearer(tokens);
      await clock.advance(LIFETIME - 50_000);
      assert.equal(await clock.during(5_000, bearer(tokens)), 'access-1');
      assert.equal(await clock.during(0, bearer(tokens)), 'access-1');
      release();
      await settle();
      assert.equal(await bearer(tokens), 'access-2');
      assert.deepEqual(asked, ['refresh-1']);
    });

    it('waits for the new pair if the token expires during a stall', async () => {
      const { promise, release } = held();
      script = [() => promise];
      const tokens = open();
      await bearer(tokens);
      await clock.advance(LIFETIME - 200);
      const waiting = bearer(tokens);
      await settle();
      await clock.stall(300);
      release();
      assert.equal(await waiting, 'access-2');
    });

    it('signs out at once and stores no pair that arrives afterwards', async () => {
      const { promise, release } = held();
      script = [() => promise];
      const broken = {
        refresh: (settings: never, old: Grant, deadline: Deadline) =>
          deadline.wait(endpoint.refresh(settings, old, deadline)),
      } as unknown as TokenEndpoint;
      const refreshesUnderWay = new RefreshesUnderWay();
      const before = open(SETTINGS, { endpoint: broken, refreshesUnderWay });
      const ended = assert.rejects(refresh(before), { code: 'NOT_SIGNED_IN', outcome: 'not-sent' });
      await settle();
      const after = open(SETTINGS, { refreshesUnderWay });
      await clock.advance(2_000);
      await after.signOut();
      await ended;
      release();
      await settle();
      assert.equal((await stored())?.accessToken, '');
      assert.deepEqual([after.state, asked.length], ['signed-out', 1]);
    });

    it('renews no earlier after a deploy than the service asked for before it', async () => {
      const refreshesUnderWay = new RefreshesUnderWay();
      const deployed = () => open(SETTINGS, { refreshesUnderWay });
      for (const statusCode of [429, 503]) {
        asked = [];
        await store.put(grantKey('a'), grants(1));
        script = [fails('RATE_LIMITED', { statusCode, retryAfter: 600_000 })];
        const before = deployed();
        refresh(before).catch(() => undefined);
        await clock.advance(2_000);
        await before.close();
        const after = deployed();
        await assert.rejects(refresh(after), { code: 'RATE_LIMITED', outcome: 'not-sent' });
        await clock.advance(597_999);
        assert.deepEqual(asked, ['refresh-1']);
        await clock.advance(2);
        assert.deepEqual(asked, ['refresh-1', 'refresh-1']);
        assert.equal(await bearer(after), 'access-2');
        await after.close();
      }
    });

    it('renews at once after a new sign-in, and at another service, whatever pause was asked for', async () => {
      const refreshesUnderWay = new RefreshesUnderWay();
      script = [fails('RATE_LIMITED', { statusCode: 429, retryAfter: 600_000 })];
      const before = open(SETTINGS, { refreshesUnderWay });
      refresh(before).catch(() => undefined);
      await settle();
      await before.close();
      const elsewhere = { ...SETTINGS, authUrl: 'https://other.example' };
      await store.put(grantKey('a'), withGrant(grants(3), elsewhere, grant(7)));
      assert.equal(await refresh(open(elsewhere, { refreshesUnderWay }), 'access-7'), 'access-8');
      refreshesUnderWay.cancel('a', SETTINGS);
      assert.equal(await refresh(open(SETTINGS, { refreshesUnderWay }), 'access-3'), 'access-4');
    });

    it('cancels no refresh at another service of the account', () => {
      const refreshes = new RefreshesUnderWay();
      const [here, there] = [new AbortController(), new AbortController()];
      refreshes.begin('a', SETTINGS, here);
      refreshes.begin('a', { ...SETTINGS, authUrl: 'https://other.example' }, there);
      refreshes.cancel('a', SETTINGS);
      assert.deepEqual([here.signal.aborted, there.signal.aborted], [true, false]);
      refreshes.cancel('a');
      assert.ok(there.signal.aborted);
    });

    it('never reuses a spent token after the store has lost the last renewal', async () => {
      await store.put(grantKey('a'), grants(1, { signedInAt: 1 }));
      const tokens = open(SETTINGS, {
        endpoint: {
          refresh: async (_: unknown, old: Grant) => {
            asked.push(old.refreshToken ?? '');
            return grant(Number(old.refreshToken?.split('-')[1]) + 1, { signedInAt: 1 });
          },
        } as unknown as TokenEndpoint,
      });
      const old = await store.get(grantKey('a'));
      await refresh(tokens);
      await store.put(grantKey('a'), old);
      tokens.accepted('access-2');
      assert.equal(await refresh(tokens, 'access-2'), 'access-3');
      assert.deepEqual(asked, ['refresh-1', 'refresh-2']);
      assert.equal((await stored())?.refreshes, 2);
    });
  });

  describe('on a store that runtimes share', () => {
    let notify: (key: Key | null) => void;
    const shared = () =>
      Object.assign(store, {
        onChange: (listener: (key: Key | null) => void) => {
          notify = listener;
          return () => undefined;
        },
        join: () => assert.fail('this store shares no work'),
      });

    for (const minutes of [-10, 10])
      it(`renews no more often with a wall clock that is off by ${minutes} minutes`, async () => {
        shared();
        clock.set(clock.now() + minutes * 60_000);
        const tokens = open();
        assert.equal(await bearer(tokens), 'access-1');
        await clock.advance(LIFETIME - 61_000);
        assert.equal(await bearer(tokens), 'access-1');
        assert.deepEqual(asked, []);
        await clock.advance(1_001);
        assert.equal(await bearer(tokens), 'access-2');
      });

    it('writes a later pair back after a notification that the store may have lost one', async () => {
      shared();
      await store.put(grantKey('a'), grants(2, { signedInAt: 1, refreshes: 1 }));
      const tokens = open();
      await bearer(tokens);
      await store.put(grantKey('a'), grants(1, { signedInAt: 1 }));
      notify(null);
      await settle();
      assert.equal(await bearer(tokens), 'access-2');
      assert.equal((await stored())?.refreshToken, 'refresh-2');
    });

    it('follows the end of a sign-in by another runtime even if its own pair is later', async () => {
      shared();
      await store.put(grantKey('a'), grants(2, { signedInAt: 1, refreshes: 1 }));
      const tokens = open();
      await bearer(tokens);
      await store.delete(grantKey('a'));
      notify(grantKey('a'));
      await settle();
      assert.equal(tokens.state, 'signed-out');
    });

    it('follows a sign-out by another runtime even if its own renewed pair is still unwritten', async () => {
      const insistent = new WriteBehindStore(shared(), clock);
      const tokens = open(SETTINGS, { store: insistent });
      await bearer(tokens);
      const update = store.update.bind(store);
      // The pair is written, but the answer is lost.
      store.update = async (key, change, options) => {
        const value = await update(key, change, options);
        if (key[0] !== 'grant') return value;
        throw new PrintingError('FILE_NOT_WRITABLE', phrase`ETIMEDOUT`, { outcome: 'not-sent' });
      };
      assert.equal(await refresh(tokens), 'access-2');
      store.update = update;
      await store.delete(grantKey('a'));
      notify(grantKey('a'));
      await settle();
      assert.equal(tokens.state, 'signed-out');
      await clock.advance(60_000);
      assert.equal(await stored(), undefined);
    });
  });
});
