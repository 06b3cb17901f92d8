import assert from 'node:assert/strict';
import express, { type RequestHandler } from 'express';
import request from 'supertest';
import { nodeRedGuards } from '../../../nodes/shared/guards';

describe('nodes/shared/guards', () => {
  /** Asks a page behind these settings, after `before`; answers with the user that it sees. */
  const ask = (
    settings: object,
    { before, authorization }: { before?: RequestHandler; authorization?: string } = {},
  ) => {
    const guards = nodeRedGuards(settings);
    const app = express();
    if (before) app.use(before);
    app.use((asked, response, next) =>
      guards.run(asked, response, (error) => (error ? next(error) : response.json({ who: guards.userOf(asked) }))),
    );
    app.use(((_error, _asked, response, _next) => response.sendStatus(500)) as express.ErrorRequestHandler);
    const asked = request(app).get('/');
    return authorization === undefined ? asked : asked.set('Authorization', authorization);
  };
  const basic = (name: string) => `Basic ${Buffer.from(`${name}:secret`).toString('base64')}`;
  const signIn =
    (user: unknown): RequestHandler =>
    (asked, _response, next) => {
      (asked as { user?: unknown }).user = user;
      next();
    };

  it('knows nobody without guards, whatever the request says', async () => {
    const { body } = await ask({}, { before: signIn('Mallory'), authorization: basic('Mallory') });
    assert.deepEqual(body, { who: null });
    assert.equal(nodeRedGuards({}).isGuarding, false);
  });

  it('knows the user of httpNodeAuth', async () => {
    const settings = { httpNodeAuth: { user: 'ada', pass: 'hash' } };
    assert.equal(nodeRedGuards(settings).isGuarding, true);
    assert.deepEqual((await ask(settings, { authorization: basic('ada') })).body, { who: 'ada' });
    assert.deepEqual((await ask(settings, { authorization: basic('eve'), before: signIn('eve') })).body, { who: null });
  });

  for (const [what, user, who] of [
    ['a text', 'ada', 'ada'],
    ['an object with a name', { username: 'ada' }, 'ada'],
    ['an object without a name', { id: 7 }, null],
    ['nothing', undefined, null],
  ] as const)
    it(`reads the user from httpNodeMiddleware where that is ${what}`, async () => {
      assert.deepEqual((await ask({ httpNodeMiddleware: signIn(user) })).body, { who });
      const settings = {
        httpNodeMiddleware: [(_asked: unknown, _response: unknown, next: () => void) => next(), signIn(user)],
      };
      assert.deepEqual((await ask(settings)).body, { who });
      assert.deepEqual((await ask({ httpNodeAuth: signIn(user) }, { before: signIn(user) })).body, { who });
    });

  it('lets a middleware refuse, fail, reject and call next twice', async () => {
    const refusing: RequestHandler = (_asked, response) => response.sendStatus(401);
    assert.equal((await ask({ httpNodeMiddleware: refusing })).status, 401);
    const throwing = () => {
      throw new Error('broken');
    };
    assert.equal((await ask({ httpNodeMiddleware: throwing })).status, 500);
    assert.equal((await ask({ httpNodeMiddleware: async () => throwing() })).status, 500);
    const twice: RequestHandler = (_asked, _response, next) => {
      next();
      next();
    };
    assert.equal((await ask({ httpNodeMiddleware: twice })).status, 200);
  });
});
