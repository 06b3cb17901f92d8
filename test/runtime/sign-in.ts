import assert from 'node:assert/strict';

import { cookiesOf } from '../../scripts/demo.mjs';
import type { Simulator } from '../../simulator/index';
import { followTo } from '../helpers/browser';
import type { RealNodeRed } from '../helpers/real-node-red';

/** Config node for a simulated service that approves sign-ins automatically; its id is `account`. */
export const accountOf = ({ authUrl, apiUrl }: Simulator) => ({
  id: 'account',
  type: 'remote-printing-account',
  name: '',
  service: 'remote',
  signIn: 'oauth',
  authUrl,
  apiUrl,
});

export const credentialsOf = ({ client }: Simulator) => ({
  account: { clientId: client.id, clientSecret: client.secret },
});

/** Signs `account` in through the editor's endpoints, as a user's browser would. */
export async function signIn(nodeRed: RealNodeRed): Promise<void> {
  const redirectUri = `${nodeRed.url}remote-printing/callback`;
  const begun = await nodeRed.fetch('remote-printing/accounts/account/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirectUri }),
  });
  const { authorizeUrl } = (await begun.json()) as { authorizeUrl: string };
  const ended = await fetch(await followTo(authorizeUrl, redirectUri), { headers: { cookie: cookiesOf(begun) } });
  assert.equal(ended.status, 200, await ended.text());
}
