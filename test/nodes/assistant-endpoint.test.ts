import assert from 'node:assert/strict';
import express from 'express';
import request from 'supertest';
import { endpointOf } from '../../nodes/assistant/requests';
import { nodeRedGuards } from '../../nodes/shared/guards';

describe('nodes/assistant/requests', () => {
  const server = {
    ...{ version: '1', instructions: '', tools: () => [] },
    call: () => Promise.reject(new Error('not asked')),
  };
  const PASSWORD = { httpNodeAuth: { user: 'ada', pass: 'hash' } };
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  /** Answers of an endpoint behind these settings. */
  const ask = (
    settings: object,
    headers: Record<string, string>,
    { hosts = [] as string[], token = 'secret' } = {},
  ) => {
    const answer = endpointOf({ server, guards: nodeRedGuards(settings), token, hosts });
    const app = express();
    app.use((asked, response, next) => answer(asked, response, '', next));
    return request(app)
      .post('/')
      .set({ Host: 'localhost', ...headers })
      .send(list);
  };
  const bearer = { Authorization: 'Bearer secret' };

  it('takes the token in a header of its own behind a password of Node-RED, and there alone', async () => {
    const basic = `Basic ${Buffer.from('ada:secret').toString('base64')}`;
    const own = { 'X-Remote-Printing-Token': 'secret' };
    assert.equal((await ask(PASSWORD, { Authorization: basic, ...own })).status, 200);
    assert.equal((await ask(PASSWORD, { Authorization: basic })).status, 401);
    assert.equal((await ask(PASSWORD, bearer)).status, 401);
    assert.equal((await ask({}, own)).status, 401);
    assert.equal((await ask({}, bearer)).status, 200);
  });

  it('runs the middleware of Node-RED before it answers', async () => {
    const httpNodeMiddleware: express.RequestHandler = (_asked, response) => response.sendStatus(418);
    assert.equal((await ask({ httpNodeMiddleware }, bearer)).status, 418);
  });

  it('knows names that nobody can register and those of its hosts, and says which one to add', async () => {
    for (const name of ['127.0.0.1:1880', '[::1]:1880', 'localhost', 'pi', 'farm.local', 'farm.lan', 'farm.home.arpa'])
      assert.equal((await ask({}, { ...bearer, Host: name })).status, 200, name);
    const refused = await ask({}, { ...bearer, Host: 'farm.example.org' });
    assert.equal(refused.status, 403);
    assert.match(refused.text, /^These tools are not open under the name farm\.example\.org: add the name .+\.$/);
    const hosts = ['farm.example.org'];
    assert.equal((await ask({}, { ...bearer, Host: 'farm.example.org' }, { hosts })).status, 200);
    const foreign = { ...bearer, Host: 'pi:1880', Origin: 'http://pi:1881' };
    assert.equal((await ask({}, foreign)).status, 403);
    assert.equal((await ask({}, { ...foreign, Origin: 'http://pi:1880' })).status, 200);
  });

  it('takes only JSON', async () => {
    assert.equal((await ask({}, { ...bearer, 'Content-Type': 'text/plain' }).send('{}')).status, 415);
  });
});
