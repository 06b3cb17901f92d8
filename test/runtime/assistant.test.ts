import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { lean } from '../helpers/lean';
import { startRealNodeRed, type RealNodeRed } from '../helpers/real-node-red';

const at = { z: 'tab', x: 1, y: 1 };
const FLOWS = [
  { id: 'tab', type: 'tab', label: 'test' },
  { id: 'account', type: 'remote-printing-account', service: 'simulator' },
  {
    ...{ id: 'tools', type: 'remote-printing-assistant', account: 'account', path: 'tools', hosts: '' },
    ...{ allow: 'look', expires: 600, wires: [[], []], ...at },
  },
];
const TOKEN = 'a-token-of-this-test';
/** Password "secret", as md5. */
const AUTH = { user: 'ada', pass: '5ebe2294ecd0e0f08eab7690d2a6ee69' };
const BASIC = { Authorization: `Basic ${Buffer.from('ada:secret').toString('base64')}` };
const OWN = { 'X-Remote-Printing-Token': TOKEN };
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

/** Node-RED's editor is at the same root here, so that Node-RED parses JSON before the node gets it. */
describe('assistant tools in a real Node-RED with a password', function () {
  let nodeRed: RealNodeRed;
  before(async () => {
    nodeRed = await startRealNodeRed({
      ...{ flows: FLOWS, credentials: { tools: { token: TOKEN } } },
      settings: { ...lean(), httpNodeAuth: AUTH },
    });
    while ((await post(LIST, { ...BASIC, ...OWN })).status === 503);
  });
  after(() => nodeRed.kill());

  const post = (body: object, headers: Record<string, string>) =>
    fetch(`${nodeRed.url}tools`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });

  it('takes the password in Authorization and the token in a header of its own, both of them', async () => {
    const statuses = [];
    for (const headers of [{ ...BASIC, ...OWN }, BASIC, OWN, { Authorization: `Bearer ${TOKEN}` }, {}])
      statuses.push((await post(LIST, headers)).status);
    assert.deepEqual(statuses, [200, 401, 401, 401, 401]);
  });

  for (const pin of ['2026-07-28', undefined])
    it(`answers the official client ${pin ? `in the revision ${pin}` : 'that begins with initialize'}`, async () => {
      const client = new Client(
        { name: 'test', version: '1.0' },
        pin === undefined ? {} : { versionNegotiation: { mode: { pin } } },
      );
      const requestInit = { headers: { ...BASIC, ...OWN } };
      await client.connect(new StreamableHTTPClientTransport(new URL(`${nodeRed.url}tools`), { requestInit }));
      try {
        assert.ok((await client.listTools()).tools.some(({ name }) => name === 'list_printers'));
        const { structuredContent } = await client.callTool({ name: 'list_printers', arguments: {} });
        assert.ok((structuredContent as { printers: object[] }).printers.length > 0);
      } finally {
        await client.close();
      }
    });

  it('refuses a large body, with its length and in chunks', async () => {
    const large = { ...LIST, params: { x: 'x'.repeat(65 * 1024) } };
    assert.equal((await post(large, { ...BASIC, ...OWN })).status, 413);
    const chunked = await fetch(`${nodeRed.url}tools`, {
      ...{ method: 'POST', headers: { 'Content-Type': 'application/json', ...BASIC, ...OWN }, duplex: 'half' },
      body: new Blob([JSON.stringify(large)]).stream(),
    });
    assert.equal(chunked.status, 413);
    assert.equal((await post(LIST, { ...BASIC, ...OWN })).status, 200);
  });

  it('is closed to other origins although Node-RED opens what lies below the editor', async () => {
    const answer = await post(LIST, { ...BASIC, ...OWN, Origin: 'https://evil.example' });
    assert.equal(answer.status, 403);
    assert.equal(answer.headers.get('access-control-allow-origin'), null);
  });

  it('answers 404 where clients look for a sign-in', async () => {
    for (const path of ['.well-known/oauth-protected-resource', '.well-known/oauth-authorization-server/tools'])
      assert.equal((await fetch(`${nodeRed.url}${path}`, { headers: BASIC })).status, 404, path);
  });
});
