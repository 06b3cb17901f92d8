import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { root } from './node-red.mjs';

/** Speed of the simulated time: the example's print of 18 minutes takes about 20 s. */
export const TIME_FACTOR = 50;

/**
 * Returns the first example, changed to use the simulator's process and to print the output of its debug nodes.
 * @param {import('./simulator.mjs').RunningSimulator} service
 */
export function demo({ authUrl, apiUrl, clientId, clientSecret }) {
  /** @type {{ id: string, type: string, name?: string }[]} */
  const example = JSON.parse(readFileSync(join(root, 'examples/12-print-a-file.json'), 'utf8'));
  const flows = example.map((node) => {
    if (node.type === 'remote-printing-account')
      return { ...node, name: 'simulator', service: 'remote', authUrl, apiUrl };
    if (node.type === 'debug') return { ...node, console: true };
    return node;
  });
  const idOf = (/** @type {string} */ type) => example.find((node) => node.type === type)?.id ?? '';
  const account = idOf('remote-printing-account');
  return { flows, account, button: idOf('inject'), credentials: { [account]: { clientId, clientSecret } } };
}

/**
 * Signs in as a user does in the account's dialog and on the service's sign-in page. The browser returns to `back`.
 * @param {string} editor
 * @param {string} account
 */
export async function signIn(editor, account, back = editor) {
  const redirectUri = `${back}remote-printing/callback`;
  const asked = await post(`${editor}remote-printing/accounts/${account}/sign-in`, { redirectUri });
  const { authorizeUrl } = /** @type {{ authorizeUrl: string }} */ (await asked.json());
  // Only Node-RED may receive its cookies, so the code follows each redirect by hand.
  let at = authorizeUrl;
  while (!at.startsWith(redirectUri)) {
    const answer = await fetch(at, { redirect: 'manual' });
    const location = answer.headers.get('location');
    if (!location) throw new Error(`the sign-in ended at ${answer.status} ${at}`);
    at = new URL(location, at).href;
  }
  const ended = await fetch(at, { headers: { cookie: cookiesOf(asked) } });
  if (!ended.ok) throw new Error(`the sign-in ended at ${ended.status} ${at}`);
}

/** Cookies that a response sets, as a browser returns them. @param {Response} response */
export const cookiesOf = (response) =>
  response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ');

/** @param {string} url @param {object} body */
export async function post(url, body) {
  const headers = { 'content-type': 'application/json' };
  const send = () => fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  // A server may close an idle connection just as the request leaves, and `fetch` repeats no POST.
  const response = await send().catch((thrown) => {
    if (thrown.cause?.code === 'UND_ERR_SOCKET') return send();
    throw thrown;
  });
  if (!response.ok) throw new Error(`${new URL(url).pathname} answered ${response.status}: ${await response.text()}`);
  return response;
}
