import assert from 'node:assert/strict';
import type { Ask } from '../../../lib/connection/check';
import { checkUser } from '../../../lib/connection/user-checks';
import { limit } from '../../helpers/limits';

describe('connection/user-checks', () => {
  const paths = { storagePath: '/slicer/v1', overrides: {} };
  const knownAt =
    (known: string): Ask =>
    async ({ host, path }) => {
      const isKnown = `${host} ${path}` === known;
      const body = isKnown ? { data: { name: 'Ada', organization_id: 'w'.repeat(44) } } : { errors: [{ code: 'x' }] };
      return { status: isKnown ? 200 : 404, headers: {}, body, sentAt: 0, arrivedAt: 0 };
    };

  it('finds the user at the API host if the account host does not know the path', async () => {
    const checks = await checkUser(
      knownAt('api /connect/v1/users/current'),
      { paths, organizationId: '' },
      null,
      limit(),
    );
    const said = checks.map((check) => ({ ...check, detail: String(check.detail) }));
    assert.deepEqual(said, [
      { name: 'user', ok: true, detail: 'Signed in as Ada.' },
      { name: 'workspace', ok: true, detail: 'Signed in to wwwwww….' },
      { name: 'path.currentUser', ok: true, detail: 'GET /connect/v1/users/current answers.' },
    ]);
  });

  it('reads the user only at an override', async () => {
    const overrides = { currentUser: 'GET /me' };
    const ask = knownAt('api /connect/v1/users/current');
    const [, , path] = await checkUser(ask, { paths: { ...paths, overrides }, organizationId: '' }, null, limit());
    assert.equal(path?.ok, false);
    assert.match(String(path?.detail), /^GET \/me/);
  });
});
