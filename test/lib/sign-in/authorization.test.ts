import assert from 'node:assert/strict';
import { Authorization } from '../../../lib/sign-in/authorization';
import { grantKey, type Grant } from '../../../lib/sign-in/grant';
import type { TokenEndpoint } from '../../../lib/sign-in/token-endpoint';
import { ManualClock } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';

const settings = { authUrl: 'https://account.example', clientId: 'client', clientSecret: 'secret', scope: 'a' };
const grant = { authUrl: settings.authUrl, clientId: 'client', accessToken: 'token', refreshToken: 'r' } as Grant;

describe('sign-in/authorization', () => {
  let store: MemoryStore;
  let exchanges: number;
  /** Lets the service answer. */
  let answer: () => void;
  let authorization: Authorization;
  let wanted: boolean;

  beforeEach(() => {
    store = new MemoryStore();
    exchanges = 0;
    wanted = true;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const exchange = async () => {
      exchanges++;
      await answered;
      return grant;
    };
    const endpoint = { exchange } as unknown as TokenEndpoint;
    authorization = new Authorization({ store, clock: new ManualClock(), endpoint });
  });

  const begin = (): URLSearchParams => {
    const redirectUri = 'https://red.example/callback';
    const isWanted = () => wanted;
    const url = authorization.begin({ accountId: 'a', settings, redirectUri, organizationId: '', isWanted });
    return new URLSearchParams({ state: new URL(url).searchParams.get('state') ?? '', code: 'code' });
  };

  it('stores what the service grants', async () => {
    answer();
    assert.equal(await authorization.complete(begin()), 'a');
    assert.ok(await store.get(grantKey('a')));
  });

  it('asks the service for nothing that is not wanted any more', async () => {
    const back = begin();
    wanted = false;
    await assert.rejects(authorization.complete(back), { code: 'INVALID_INPUT' });
    assert.equal(exchanges, 0);
  });

  it('stores nothing for an account that was deleted while the service gave out the tokens', async () => {
    const completing = authorization.complete(begin());
    assert.equal(exchanges, 1);
    wanted = false;
    answer();
    await assert.rejects(completing, { code: 'INVALID_INPUT', message: /deleted in the meantime/ });
    assert.equal(await store.get(grantKey('a')), undefined);
  });

  it('knows whose sign-in is under way', async () => {
    const back = begin();
    assert.deepEqual([authorization.isUnderWay('a'), authorization.isUnderWay('b')], [true, false]);
    answer();
    await authorization.complete(back);
    assert.equal(authorization.isUnderWay('a'), false);
  });
});
