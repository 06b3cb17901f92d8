import assert from 'node:assert/strict';
import { currentUser, readCurrentUser } from '../../../lib/account/current-user';
import { PrintingError } from '../../../lib/service/errors';
import { limit } from '../../helpers/limits';
import { ScriptedService } from '../../helpers/scripted-service';
import { phrase } from '../../../lib/words/sentence';

describe('account/current-user', () => {
  it('reads memberships that are ids, and the name of the current one', () => {
    const data = {
      user_id: 'u1',
      username: 'ada',
      name: 'Ada',
      organization_id: 'o1',
      organization: { organization_id: 'o1', organization_name: 'Workshop' },
      organization_memberships: ['o1', 'o2'],
    };
    assert.deepEqual(currentUser(data), {
      userId: 'u1',
      name: 'Ada',
      organizationId: 'o1',
      organizations: [
        { id: 'o1', name: 'Workshop' },
        { id: 'o2', name: null },
      ],
    });
  });

  it('reads memberships that are objects, with either pair of names', () => {
    const { organizations } = currentUser({
      organization_memberships: [
        { id: 'o1', name: 'One', role: 'admin' },
        { organization_id: 'o2', organization_name: 'Two' },
        { name: 'without an id' },
        null,
        7,
      ],
    });
    assert.deepEqual(organizations, [
      { id: 'o1', name: 'One' },
      { id: 'o2', name: 'Two' },
    ]);
  });

  it('falls back to the user name and to the organization record', () => {
    const user = currentUser({ username: 'ada', organization: { organization_id: 'o1' } });
    assert.equal(user.name, 'ada');
    assert.equal(user.organizationId, 'o1');
  });

  it('reads the first user of an array (trap 29)', () => {
    assert.equal(currentUser([{ user_id: 'u1' }]).userId, 'u1');
  });

  for (const data of [null, undefined, [], 'ada', 7, {}, { organization_memberships: 'o1', organization: [] }])
    it(`returns nulls for ${JSON.stringify(data)}`, () => {
      assert.deepEqual(currentUser(data), { userId: null, name: null, organizationId: null, organizations: [] });
    });

  describe('the call', () => {
    const service = (currentUser: unknown, currentUserOnApi?: unknown) =>
      new ScriptedService({ currentUser: [currentUser], currentUserOnApi: [currentUserOnApi] });
    const called = ({ calls }: ScriptedService) => calls.map(({ endpoint }) => endpoint);

    it('makes no second call after any other failure', async () => {
      const failing = service(new PrintingError('FORBIDDEN', phrase`No.`), 2);
      await assert.rejects(readCurrentUser(failing, {}, limit()), { code: 'FORBIDDEN' });
      assert.deepEqual(called(failing), ['currentUser']);
    });
  });
});
