import assert from 'node:assert/strict';
import { Authorization, type Beginning } from '../../../lib/sign-in/authorization';
import { grantKey, type Grant } from '../../../lib/sign-in/grant';
import type { TokenEndpoint } from '../../../lib/sign-in/token-endpoint';
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
  /** Lets the service answer. */
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

  const runtime = (its = clock) =>
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

  it('stores what the service grants', async () => {
    answer();
    assert.equal(await one.complete(await begin()), 'a');
    assert.ok(await store.get(grantKey('a')));
    assert.equal(signIns.values.size, 0, 'and leaves nothing behind');
  });

  it('asks the service for nothing that is not wanted any more', async () => {
    const back = await begin();
    wanted = false;
    await assert.rejects(one.complete(back, { isWanted }), UNWANTED);
    assert.equal(exchanges, 0);
    assert.deepEqual(await one.known('a'), { underWay: false, failure: null });
  });

  it('stores nothing for an account that was deleted while the service gave out the tokens', async () => {
    const completing = one.complete(await begin(), { isWanted });
    await settle();
    assert.equal(exchanges, 1);
    wanted = false;
    answer();
    await assert.rejects(completing, UNWANTED);
    assert.equal(await store.get(grantKey('a')), undefined);
  });

  it('knows whose sign-in is under way', async () => {
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

  it('lasts ten minutes, wherever somebody sets the clock', async () => {
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

  describe('over two runtimes', () => {
    it('begins at one and comes back to the other', async () => {
      answer();
      const back = await begin({ accountId: 'an odd / name.é' });
      assert.equal(await other.complete(back), 'an odd / name.é');
      assert.ok(await store.get(grantKey('an odd / name.é')));
      await assert.rejects(one.complete(back), UNKNOWN);
    });

    it('comes back to the other in the browser that began it, and in no other', async () => {
      answer();
      const back = await begin({ browser: 'hash' });
      for (const browser of ['another', '', null])
        await assert.rejects(other.complete(back, { browser }), { code: 'INVALID_INPUT', message: /begun elsewhere/ });
      assert.equal(await other.complete(back, { browser: 'hash' }), 'a');
      await assert.rejects(one.complete(back, { browser: 'another' }), UNKNOWN);
    });

    it('comes back in no browser where it was begun without one', async () => {
      const back = await begin();
      for (const browser of ['a', '', null]) await assert.rejects(other.complete(back, { browser }), /begun elsewhere/);
    });

    it('works once, however often it comes back at the same time', async () => {
      answer();
      const back = await begin();
      const runtimes = [one, other, runtime(), one, other, runtime()];
      const ends = await Promise.allSettled(runtimes.map((at) => at.complete(back)));
      assert.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1);
      assert.equal(exchanges, 1);
    });

    it('is another account’s nowhere, and not used up by that', async () => {
      answer();
      const back = await begin();
      await assert.rejects(other.complete(back, { accountId: 'b' }), UNKNOWN);
      const forged = new URLSearchParams(back);
      forged.set('state', `${back.get('state')?.split('.')[0]}.${Buffer.from('b').toString('base64url')}`);
      await assert.rejects(other.complete(forged), UNKNOWN);
      assert.equal(exchanges, 0);
      assert.equal(await other.complete(back, { accountId: 'a' }), 'a');
    });

    it('writes nothing for who has no state', async () => {
      for (const state of ['', 'x', '.', 'x.YQ', 'x.YQ.YQ', '__proto__.__proto__'])
        await assert.rejects(other.complete(new URLSearchParams({ state, code: 'x' })), UNKNOWN);
      assert.deepEqual([exchanges, signIns.values.size], [0, 0]);
    });

    it('lasts ten minutes at the other one, too', async () => {
      answer();
      const back = await begin();
      await clock.advance(10 * MINUTE);
      await assert.rejects(other.complete(back), UNKNOWN);
      assert.equal(exchanges, 0);
      for (const at of [one, other]) assert.match(await failure(at), /longer than ten minutes/);
      await clock.advance(10 * MINUTE);
      for (const at of [one, other]) assert.equal(await failure(at), 'null');
    });

    it('tells why it came to nothing wherever the dialog asks, until the next one begins', async () => {
      const back = await begin();
      await assert.rejects(other.complete(refusal(back)), { code: 'FORBIDDEN' });
      for (const at of [one, other, runtime()])
        assert.equal(await failure(at), 'The sign-in was refused (user_denied): start it again and approve it.');
      await begin({}, other);
      for (const at of [one, other]) assert.equal(await failure(at), 'null');
    });

    it('says nothing of an earlier one, nor after a sign-out', async () => {
      const [first, second] = [await begin(), await begin({}, other)];
      await assert.rejects(other.complete(refusal(first)), { code: 'FORBIDDEN' });
      assert.equal(await failure(), 'null');
      await assert.rejects(one.complete(refusal(second)), { code: 'FORBIDDEN' });
      assert.match(await failure(other), /refused/);
      await other.forget('a');
      assert.equal(await failure(), 'null');
      assert.equal(signIns.values.size, 0);
    });

    it('grants nothing to an account that was deleted at the other one before it came back', async () => {
      const back = await begin();
      await other.delete('a');
      assert.ok(!JSON.stringify([...signIns.values]).includes('secret'));
      await assert.rejects(one.complete(back), UNWANTED);
      assert.equal(exchanges, 0);
      assert.deepEqual(await one.known('a'), { underWay: false, failure: null });
    });

    it('nor to one that was deleted there while the service gave out the tokens', async () => {
      const completing = one.complete(await begin());
      await settle();
      await other.delete('a');
      answer();
      await assert.rejects(completing, UNWANTED);
      assert.equal(exchanges, 1);
      assert.equal(await store.get(grantKey('a')), undefined);
      assert.equal(await failure(other), 'null');
    });

    it('knows what was deployed where it began', async () => {
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
