import assert from 'node:assert/strict';
import { Authorization, type Beginning } from '../../../lib/sign-in/authorization';
import { grantKey, type Grant } from '../../../lib/sign-in/grant';
import type { TokenEndpoint } from '../../../lib/sign-in/token-endpoint';
import { PrintingError } from '../../../lib/service/errors';
import { UNLOSABLE_LOCK } from '../../../lib/state/locks';
import { WriteBehindStore } from '../../../lib/state/write-behind-store';
import type { Clock } from '../../../lib/time/clock';
import { phrase, type Sentence } from '../../../lib/words/sentence';
import { ManualClock, settle } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';

const settings = { authUrl: 'https://account.example', clientId: 'client', clientSecret: 'secret', scope: 'a' };
const grant = { authUrl: settings.authUrl, clientId: 'client', accessToken: 'token', refreshToken: 'r' } as Grant;
const MINUTE = 60_000;

describe('sign-in/authorization', () => {
  let store: MemoryStore;
  let signIns: MemoryStore;
  let clock: ManualClock;
  let exchanges: number;
  /** Completes the service's answer. */
  let answer: () => void;
  let wanted: boolean;

  beforeEach(() => {
    store = new MemoryStore();
    signIns = new MemoryStore();
    clock = new ManualClock();
    exchanges = 0;
    wanted = true;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    exchange = async () => {
      exchanges++;
      await answered;
      return grant;
    };
    one = runtime();
    other = runtime();
  });
  let exchange: () => Promise<Grant>;
  /** Two runtimes on one store. */
  let one: Authorization;
  let other: Authorization;

  const runtime = (its: Clock = clock) =>
    new Authorization({ store, signIns, clock: its, endpoint: { exchange } as unknown as TokenEndpoint });
  const isWanted = () => wanted;
  const begin = async (changes: Partial<Beginning> = {}, at = one): Promise<URLSearchParams> => {
    const redirectUri = 'https://red.example/callback';
    const url = await at.begin({ accountId: 'a', settings, redirectUri, organizationId: '', ...changes });
    return new URLSearchParams({ state: new URL(url).searchParams.get('state') ?? '', code: 'code' });
  };
  const refusal = (query: URLSearchParams) =>
    new URLSearchParams({ state: query.get('state') ?? '', error_code: 'user_denied' });
  const failure = async (at = one) => String((await at.known('a')).failure);
  const UNKNOWN = { code: 'INVALID_INPUT', message: /has already been used or is too old/ };
  const UNWANTED = { code: 'INVALID_INPUT', message: /changed or deleted in the meantime/ };

  it('stores the grant of the service', async () => {
    answer();
    assert.equal(await one.complete(await begin()), 'a');
    assert.ok(await store.get(grantKey('a')));
    assert.equal(signIns.values.size, 0, 'a pending sign-in was left behind');
  });

  for (const [how, remove] of [
    ['is no longer wanted', async () => void (wanted = false)],
    ['is deleted by another runtime', () => other.delete('a')],
  ] as const)
    for (const when of ['before the redirect', 'during the exchange'] as const)
      it(`grants nothing to an account that ${how} ${when}`, async () => {
        const isEarly = when === 'before the redirect';
        const back = await begin();
        if (isEarly) await remove();
        // Only a deletion discards the secrets.
        if (isEarly && wanted) assert.ok(!JSON.stringify([...signIns.values]).includes('secret'));
        const completing = assert.rejects(one.complete(back, { isWanted }), UNWANTED);
        await settle();
        if (!isEarly) await remove();
        answer();
        await completing;
        assert.equal(exchanges, isEarly ? 0 : 1);
        assert.equal(await store.get(grantKey('a')), undefined);
        for (const at of [one, other]) assert.deepEqual(await at.known('a'), { underWay: false, failure: null });
      });

  it('completes a sign-in whose grant can only be written later, with a warning', async () => {
    answer();
    const [update, behind] = [store.update.bind(store), new WriteBehindStore(store, clock)];
    const warnings: Sentence[] = [];
    const warn = (sentence: Sentence) => warnings.push(sentence);
    const endpoint = { exchange } as unknown as TokenEndpoint;
    const at = new Authorization({ store: behind, signIns, clock, endpoint, warn });
    store.update = async (key, change) => {
      await change(await store.get(key), UNLOSABLE_LOCK);
      throw new PrintingError('FILE_NOT_WRITABLE', phrase`disk full`, { outcome: 'not-sent' });
    };
    assert.equal(await at.complete(await begin({}, at)), 'a');
    assert.match(String(warnings), /^[^.]*can’t be saved yet[^.]*\.$/);
    assert.deepEqual(await at.known('a'), { underWay: false, failure: null });
    store.update = update;
    await clock.advance(MINUTE);
    assert.ok(await store.get(grantKey('a')));
  });

  it('fails if nothing keeps the grant that could not be written', async () => {
    answer();
    store.update = async (key, change) => {
      await change(await store.get(key), UNLOSABLE_LOCK);
      throw new PrintingError('FILE_NOT_WRITABLE', phrase`disk full`, { outcome: 'not-sent' });
    };
    await assert.rejects(one.complete(await begin()), { code: 'FILE_NOT_WRITABLE' });
    assert.equal(await failure(), 'disk full');
  });

  it('reports a pending sign-in only for its own account', async () => {
    const back = await begin();
    const underWay = async (accountId: string) => (await one.known(accountId, isWanted)).underWay;
    assert.deepEqual([await underWay('a'), await underWay('b')], [true, false]);
    wanted = false;
    assert.equal(await underWay('a'), false);
    answer();
    await one.complete(back);
    wanted = true;
    assert.equal(await underWay('a'), false);
  });

  it('keeps a sign-in valid for ten minutes even if the wall clock is set', async () => {
    answer();
    const [young, late] = [await begin(), await begin()];
    await clock.advance(9 * MINUTE);
    clock.set(clock.now() + 365 * 24 * 60 * MINUTE);
    assert.equal(await one.complete(young), 'a');
    await clock.advance(MINUTE);
    clock.set(clock.now() - 2 * 365 * 24 * 60 * MINUTE);
    await assert.rejects(one.complete(late), UNKNOWN);
    assert.equal(exchanges, 1);
  });

  for (const [what, query, reason] of [
    ['error_code', { error_code: 'user_denied' }, 'user_denied'],
    ['error', { error: 'access_denied' }, 'access_denied'],
    ['a missing code', {}, 'no code'],
  ] as const)
    it(`reports a refusal by ${what}, uses up the state and keeps an earlier sign-in`, async () => {
      await store.put(grantKey('a'), grant);
      const back = await begin();
      const refused = new URLSearchParams({ state: back.get('state') ?? '', ...query });
      await assert.rejects(one.complete(refused), {
        code: 'FORBIDDEN',
        message: new RegExp(`refused \\(${reason}\\)`),
      });
      await assert.rejects(one.complete(back), UNKNOWN);
      assert.deepEqual([await store.get(grantKey('a')), exchanges], [grant, 0]);
    });

  it('holds at most a hundred pending sign-ins and drops the oldest', async () => {
    answer();
    const first = await begin();
    for (let n = 0; n < 100; n++) await begin();
    await assert.rejects(one.complete(first), UNKNOWN);
  });

  describe('on two runtimes', () => {
    it('completes a sign-in on the runtime that did not begin it', async () => {
      answer();
      const back = await begin({ accountId: 'an odd / name.é' });
      assert.equal(await other.complete(back), 'an odd / name.é');
      assert.ok(await store.get(grantKey('an odd / name.é')));
      await assert.rejects(one.complete(back), UNKNOWN);
    });

    it('completes a sign-in on another runtime only from the browser that began it', async () => {
      answer();
      const back = await begin({ browser: 'hash' });
      for (const browser of ['another', '', null])
        await assert.rejects(other.complete(back, { browser }), { code: 'INVALID_INPUT', message: /begun elsewhere/ });
      assert.equal(await other.complete(back, { browser: 'hash' }), 'a');
      await assert.rejects(one.complete(back, { browser: 'another' }), UNKNOWN);
    });

    it('completes no sign-in from a browser if it began without one', async () => {
      const back = await begin();
      for (const browser of ['a', '', null]) await assert.rejects(other.complete(back, { browser }), /begun elsewhere/);
    });

    it('completes a sign-in once even if several redirects arrive at the same time', async () => {
      answer();
      const back = await begin();
      const runtimes = [one, other, runtime(), one, other, runtime()];
      const ends = await Promise.allSettled(runtimes.map((at) => at.complete(back)));
      assert.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1);
      assert.equal(exchanges, 1);
    });

    it('refuses a state of another account and keeps it valid', async () => {
      answer();
      const back = await begin();
      await assert.rejects(other.complete(back, { accountId: 'b' }), UNKNOWN);
      const forged = new URLSearchParams(back);
      forged.set('state', `${back.get('state')?.split('.')[0]}.${Buffer.from('b').toString('base64url')}`);
      await assert.rejects(other.complete(forged), UNKNOWN);
      assert.equal(exchanges, 0);
      assert.equal(await other.complete(back, { accountId: 'a' }), 'a');
    });

    it('writes nothing for an invalid state', async () => {
      for (const state of ['', 'x', '.', 'x.YQ', 'x.YQ.YQ', '__proto__.__proto__'])
        await assert.rejects(other.complete(new URLSearchParams({ state, code: 'x' })), UNKNOWN);
      assert.deepEqual([exchanges, signIns.values.size], [0, 0]);
    });

    it('expires a sign-in after ten minutes on the other runtime too', async () => {
      answer();
      const back = await begin();
      assert.equal(await failure(other), 'null');
      await clock.advance(10 * MINUTE);
      await assert.rejects(other.complete(back), UNKNOWN);
      assert.equal(exchanges, 0);
      for (const at of [one, other]) assert.match(await failure(at), /longer than ten minutes/);
      await clock.advance(10 * MINUTE);
      for (const at of [one, other]) assert.equal(await failure(at), 'null');
    });

    for (const hours of [-2, 2])
      it(`completes a sign-in, and keeps it, where the clock differs by ${hours} hours`, async () => {
        answer();
        const { after } = clock;
        const now = () => clock.now() + hours * 60 * MINUTE;
        const distant = runtime({ now, monotonic: () => clock.monotonic(), after });
        assert.equal(await distant.complete(await begin()), 'a');
        const back = await begin();
        await begin({}, distant);
        await clock.advance(9 * MINUTE);
        assert.equal(await one.complete(back), 'a');
        const late = await begin({}, distant);
        assert.equal((await one.known('a')).underWay, true);
        await clock.advance(10 * MINUTE);
        await assert.rejects(one.complete(late), UNKNOWN);
      });

    it('reports a failed sign-in on every runtime until the next one begins', async () => {
      const back = await begin();
      await assert.rejects(other.complete(refusal(back)), { code: 'FORBIDDEN' });
      for (const at of [one, other, runtime()])
        assert.equal(await failure(at), 'The sign-in was refused (user_denied): start it again and approve it.');
      await begin({}, other);
      for (const at of [one, other]) assert.equal(await failure(at), 'null');
    });

    it('reports no failure of an earlier sign-in, nor any after a sign-out', async () => {
      const [first, second] = [await begin(), await begin({}, other)];
      await assert.rejects(other.complete(refusal(first)), { code: 'FORBIDDEN' });
      assert.equal(await failure(), 'null');
      await assert.rejects(one.complete(refusal(second)), { code: 'FORBIDDEN' });
      assert.match(await failure(other), /refused/);
      await other.signOut('a');
      assert.equal(await failure(), 'null');
      assert.equal(signIns.values.size, 0);
    });

    it('passes the deployed account of the beginning runtime to the check', async () => {
      answer();
      const back = await begin({ deployed: 'of then' });
      const seen: unknown[] = [];
      await other.complete(back, {
        isWanted: ({ deployed, settings: { clientId } }) => seen.push([deployed, clientId]) > 0,
      });
      assert.deepEqual(seen[0], ['of then', 'client']);
    });
  });
});
