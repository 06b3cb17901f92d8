import assert from 'node:assert/strict';
import { startSimulator, type Fault, type Simulator } from '../../simulator';
import { followTo } from '../helpers/browser';
import { Flow, REDIRECT } from '../helpers/flow';
import { pluck } from '../helpers/pluck';
import { storeElsewhere } from '../helpers/print-request';
import { TurnedTime } from '../helpers/turned-time';
import { SIGNED_OUT } from './support';

const GETS = ['', '/clusters', '/workspaces', '/diagnostics', '/replicas'];
const POSTS = ['/sign-in', '/sign-in/complete', '/sign-out'];

describe('nodes/admin', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;

  before(async () => {
    time = new TurnedTime();
    simulator = await startSimulator({ autoApprove: true, now: time.now });
  });
  after(async () => {
    await simulator.close();
    time.restore();
  });
  beforeEach(async () => {
    flow = await Flow.start(simulator);
    await flow.deploy([], { signIn: false });
  });
  afterEach(async () => {
    simulator.faults.clear();
    await flow.stop();
  });

  const begin = async (id = 'account', typed: object = { redirectUri: REDIRECT }): Promise<string> => {
    const { body } = await flow.post(`accounts/${id}/sign-in`, typed).expect(200);
    return (body as { authorizeUrl: string }).authorizeUrl;
  };
  /** Settings as the dialog sends them. */
  const typedSettings = () => {
    const { authUrl, apiUrl, client } = simulator;
    return { authUrl, apiUrl, clientId: client.id, clientSecret: client.secret, redirectUri: REDIRECT };
  };
  const comeBack = async (authorizeUrl: string) => (await followTo(authorizeUrl, REDIRECT)).search;
  const state = async (id = 'account'): Promise<string> => (await flow.get(`accounts/${id}`).expect(200)).body.state;
  /** Counts the requests to the token endpoint during `work`. */
  const tokenRequests = async (work: () => Promise<unknown>): Promise<number> => {
    const before = simulator.requests.count('token');
    await work();
    return simulator.requests.count('token') - before;
  };

  describe('language of the answers', () => {
    const ENGLISH = 'There is no such account: deploy it first.';
    for (const [asked, sentence] of [
      ['', ENGLISH],
      ['*', ENGLISH],
      ['de-AT,de;q=0.9,en;q=0.8', 'Dieses Konto gibt es hier nicht: zuerst übernehmen (deploy).'],
      ['es', 'Aquí no existe esta cuenta: instánciela primero.'],
      ['zh-CN', '此处没有该账户：请先部署。'],
      ['zh-TW', ENGLISH],
      ['ru,fr;q=0.5', "Ce compte n'existe pas ici : déployez-le d'abord."],
    ] as const)
      it(`answers in the best supported language for '${asked}'`, async () => {
        const { body } = await flow.get('accounts/unknown').set('Accept-Language', asked).expect(404);
        assert.deepEqual(body, { error: sentence, code: 'NOT_FOUND' });
      });

    it("shows the callback page in the browser's language", async () => {
      const { text } = await flow.get('callback?state=unknown').set('Accept-Language', 'nl').expect(400);
      assert.match(text, /<html lang="nl">/);
      assert.match(text, /<h1>Niet aangemeld<\/h1>/);
      assert.match(text, /<p>Deze aanmelding is onbekend/);
    });
  });

  describe('accounts/:id/sign-in', () => {
    it('returns the authorize address of the interface, with spaces as %20', async () => {
      const url = await begin('account', { redirectUri: REDIRECT, scope: 'one two', organizationId: 'org 1' });
      assert.match(url, /scope=one%20two/);
      const { origin, pathname, searchParams } = new URL(url);
      assert.equal(origin + pathname, `${simulator.authUrl}/authorize`);
      assert.match(searchParams.get('state') ?? '', /^[\w-]{43}\.[\w-]+$/);
      searchParams.delete('state');
      assert.deepEqual(Object.fromEntries(searchParams), {
        client_id: simulator.client.id,
        redirect_uri: REDIRECT,
        scope: 'one two',
        response_type: 'code',
        organization_id: 'org 1',
      });
    });

    it('creates a new state each time, without a request to the service', async () => {
      const before = simulator.requests.count();
      const states = [await begin(), await begin()].map((url) => new URL(url).searchParams.get('state'));
      assert.notEqual(states[0], states[1]);
      assert.equal(simulator.requests.count(), before);
    });

    it('uses the deployed redirect address by default', async () => {
      await flow.deploy([], { account: { ...flow.account, redirectUri: REDIRECT }, signIn: false });
      const { body } = await flow.post('accounts/account/sign-in').expect(200);
      assert.equal(body.redirectUri, REDIRECT);
    });

    it('prefers typed settings, and uses the stored secret while the form holds its placeholder', async () => {
      const url = await begin('account', { redirectUri: REDIRECT, clientSecret: '__PWRD__', organizationId: 'typed' });
      assert.equal(new URL(url).searchParams.get('organization_id'), 'typed');
      const plain = await begin('account', { redirectUri: REDIRECT, clientSecret: '__PWRD__' });
      const search = await comeBack(plain);
      await flow.get(`callback${search}`).expect(200);
      assert.equal(await state(), 'signed-in');
    });

    it('uses a typed secret even when it is wrong', async () => {
      const search = await comeBack(await begin('account', { redirectUri: REDIRECT, clientSecret: 'typed-secret' }));
      const page = await flow.get(`callback${search}`).expect(400);
      assert.match(page.text, /Client ID or secret is wrong/);
      assert.doesNotMatch(page.text, /typed-secret/);
      assert.equal(await state(), 'signed-out');
    });

    it('reads a deployed setting from the environment of the process or of the flow', async () => {
      process.env.TEST_AUTH_URL = simulator.authUrl;
      const own = [{ name: 'OWN_AUTH_URL', value: simulator.authUrl, type: 'str' }];
      try {
        for (const authUrl of ['${TEST_AUTH_URL}', '${OWN_AUTH_URL}']) {
          await flow.deploy([], {
            account: { ...flow.account, authUrl, z: 'own' },
            more: [{ id: 'own', type: 'tab', label: 'own', env: own }],
            signIn: false,
          });
          // Sends every field of the form, as the dialog does.
          const url = await begin('account', { redirectUri: REDIRECT, authUrl, clientSecret: '__PWRD__' });
          await flow.get(`callback${await comeBack(url)}`).expect(200);
          assert.equal(await state(), 'signed-in');
          await flow.post('accounts/account/sign-out').expect(200);
        }
      } finally {
        delete process.env.TEST_AUTH_URL;
      }
    });

    it('counts credentials that equal the deployed ones as untouched, also names of environment variables', async () => {
      const written = { clientId: '${TEST_CLIENT}', clientSecret: '${TEST_SECRET}' };
      process.env.TEST_CLIENT = simulator.client.id;
      process.env.TEST_SECRET = simulator.client.secret;
      try {
        await flow.deploy([], { credentials: { account: written }, signIn: false });
        await flow.get(`callback${await comeBack(await begin('account', { redirectUri: REDIRECT, ...written }))}`);
        assert.equal(await state(), 'signed-in');
        const { body } = await flow.post('accounts/account/test', written).expect(200);
        assert.ok((body as { checks: { ok: boolean }[] }).checks.every(({ ok }) => ok));
        for (const [changes, why] of [
          [{ authUrl: 'https://evil.example' }, /secret is only sent to the stored account host/],
          [{ clientId: '${TEST_SECRET}' }, /Environment variables are only read for deployed settings/],
        ] as const) {
          const typed = { redirectUri: REDIRECT, ...written, ...changes };
          assert.match((await flow.post('accounts/account/sign-in', typed).expect(400)).text, why);
        }
      } finally {
        delete process.env.TEST_CLIENT;
        delete process.env.TEST_SECRET;
      }
    });

    describe('for a user without access to secrets', () => {
      const refusal = async (typed: object): Promise<string> => {
        const before = simulator.requests.count();
        const { body, text } = await flow
          .post('accounts/account/sign-in', { redirectUri: REDIRECT, ...typed })
          .expect(400);
        assert.equal(body.code, 'NOT_CONFIGURED');
        assert.equal(simulator.requests.count(), before);
        return text;
      };

      it('sends the stored secret only to the stored host', async () => {
        for (const authUrl of [
          'https://evil.example',
          `${simulator.authUrl}/evil`,
          simulator.authUrl.replace('127.0.0.1', 'localhost'),
        ])
          assert.match(await refusal({ authUrl, clientSecret: '__PWRD__' }), /secret is only sent to the stored/);
        assert.match(await refusal({ authUrl: 'https://evil.example' }), /secret is only sent to the stored/);
        const url = await begin('account', {
          redirectUri: REDIRECT,
          authUrl: 'https://new.example',
          clientSecret: 'new',
        });
        assert.ok(url.startsWith('https://new.example/authorize?'));
        assert.ok(
          (await begin('account', { redirectUri: REDIRECT, authUrl: `${simulator.authUrl}/` })).startsWith(
            simulator.authUrl,
          ),
        );
      });

      it('expands no environment variable in typed settings', async () => {
        process.env.TEST_SECRET = 'the-secret-of-the-environment';
        try {
          for (const name of ['scope', 'authUrl', 'clientId', 'clientSecret', 'organizationId', 'redirectUri'])
            for (const value of ['${TEST_SECRET}', '$(TEST_SECRET)', 'https://evil.example/${TEST_SECRET}']) {
              const answer = await refusal({ clientSecret: 'typed', [name]: value });
              assert.match(answer, /[Ee]nvironment/, name);
              assert.doesNotMatch(answer, /the-secret/);
            }
        } finally {
          delete process.env.TEST_SECRET;
        }
      });
    });

    it('signs in an account inside a subflow, for all instances of the subflow', async () => {
      const { authUrl, apiUrl, client } = simulator;
      await flow.deploy(
        [
          { id: 'one', type: 'subflow:sub' },
          { id: 'two', type: 'subflow:sub' },
        ],
        {
          more: [
            { id: 'sub', type: 'subflow', name: 'sub', in: [], out: [] },
            { ...flow.account, id: 'inner', z: 'sub', authUrl, apiUrl },
          ],
          credentials: { inner: { clientId: client.id, clientSecret: client.secret } },
          signIn: false,
        },
      );
      assert.equal(await state('inner'), 'signed-out');
      await flow.signInAnew('inner');
      assert.equal(await state('inner'), 'signed-in');
      const { body } = await flow.get('accounts/inner/clusters').expect(200);
      assert.ok(body.length > 0);
      await flow.get('accounts/inner/diagnostics').expect(200);
      const { body: after } = await flow.post('accounts/inner/sign-out').expect(200);
      assert.equal(after.state, 'signed-out');
    });

    it('names the setting that is missing or invalid', async () => {
      for (const [typed, names] of [
        [{}, /redirect URI/],
        [{ redirectUri: 'callback' }, /redirect URI/],
        [{ redirectUri: REDIRECT, authUrl: 'http://account.example' }, /account host/],
        [{ redirectUri: REDIRECT, clientId: '' }, /client ID/],
        [{ redirectUri: REDIRECT, clientSecret: '' }, /client secret/],
      ] as const) {
        const { body } = await flow.post('accounts/account/sign-in', typed).expect(400);
        assert.match(body.error, names);
        assert.equal(body.code, 'NOT_CONFIGURED');
      }
    });

    it("ignores typed settings that aren't strings", async () => {
      await begin('account', { redirectUri: REDIRECT, authUrl: 7, clientId: null, scope: { a: 1 } });
    });
  });

  describe('callback', () => {
    it('completes a sign-in once', async () => {
      const search = await comeBack(await begin());
      const page = await flow
        .get(`callback${search}`)
        .expect(200)
        .expect('content-type', /^text\/html/);
      assert.match(page.text, /Signed in/);
      assert.equal(await state(), 'signed-in');
      assert.equal(await tokenRequests(() => flow.get(`callback${search}`).expect(400)), 0);
      assert.equal(await state(), 'signed-in');
    });

    describe('binding to the browser that began the sign-in', () => {
      const PASTE = /begun elsewhere: copy the address of this page, and paste it/;
      const cookiesOf = async (typed: object = {}): Promise<string[]> => {
        const { headers } = await flow
          .post('accounts/account/sign-in', { redirectUri: REDIRECT, ...typed })
          .expect(200);
        return headers['set-cookie'] as unknown as string[];
      };

      it('asks any other browser to paste the address; pasting it completes the sign-in', async () => {
        const search = await comeBack(await begin());
        const own = new Map(flow.cookies);
        const stranger = async (cookie?: string) => {
          flow.cookies.clear();
          for (const name of own.keys()) if (cookie !== undefined) flow.cookies.set(name, cookie);
          const asked = async () => {
            const { text } = await flow.get(`callback${search}`).expect(400);
            assert.match(text.replaceAll('&#39;', "'"), PASTE);
          };
          assert.equal(await tokenRequests(asked), 0);
          assert.equal(await state(), 'signed-out');
        };
        await stranger();
        await stranger('');
        await stranger('guessed');
        await flow.post('accounts/account/sign-in/complete', { url: REDIRECT + search }).expect(200);
        assert.equal(await state(), 'signed-in');
      });

      it('accepts a program, which keeps no cookies', async () => {
        const search = await comeBack(await begin());
        flow.cookies.clear();
        await flow.get(`callback${search}`).set('User-Agent', 'node').expect(200);
        assert.equal(await state(), 'signed-in');
      });

      it('ignores a refusal that another browser reports', async () => {
        const url = await begin();
        flow.cookies.clear();
        const one = new URL(url).searchParams.get('state');
        assert.match((await flow.get(`callback?error=access_denied&state=${one}`).expect(400)).text, /begun elsewhere/);
        const { body } = await flow.get('accounts/account').expect(200);
        assert.equal(body.error, null);
      });

      it('completes several sign-ins of one browser independently', async () => {
        const [first, second] = [await begin(), await begin()];
        await flow.get(`callback${await comeBack(first)}`).expect(200);
        await flow.get(`callback${await comeBack(second)}`).expect(200);
      });

      it("sets a cookie with the callback's path, HttpOnly and SameSite=Lax", async () => {
        const cookies = await cookiesOf();
        assert.equal(cookies.length, 1);
        assert.match(
          cookies[0] ?? '',
          /^remote-printing-sign-in-[\w-]{16}=[\w-]{43}; Path=\/remote-printing\/callback; Max-Age=900; HttpOnly; SameSite=Lax$/,
        );
      });

      it("sets a second cookie for the callback's path behind a proxy", async () => {
        const cookies = await cookiesOf({ redirectUri: 'https://red.example/some/where/remote-printing/callback?x=1' });
        const paths = cookies.map((cookie) => /Path=([^;]*)/.exec(cookie)?.[1]);
        assert.deepEqual(paths, ['/some/where/remote-printing/callback', '/remote-printing/callback']);
      });

      it('adds no cookie attribute from a redirect address', async () => {
        const cookies = await cookiesOf({ redirectUri: 'https://red.example/a;Domain=example' });
        assert.equal(cookies.length, 1);
        assert.doesNotMatch(cookies[0] ?? '', /Domain/);
      });

      it('sets a Secure cookie over https', async () => {
        const { headers } = await flow
          .post('accounts/account/sign-in', { redirectUri: REDIRECT })
          .set('Origin', 'https://red.example')
          .expect(200);
        assert.match(String(headers['set-cookie']), /; Secure$/);
      });
    });

    it('survives a HEAD request before the callback', async () => {
      const search = await comeBack(await begin());
      assert.equal(await tokenRequests(() => flow.head(`callback${search}`).expect(200)), 0);
      assert.equal(await state(), 'signed-out');
      await flow.get(`callback${search}`).expect(200);
    });

    it('refuses every query without a known state, without a request to the service', async () => {
      await begin();
      const before = simulator.requests.count();
      const states = ['?state=', '?code=x', '?state=unknown&code=x', '?state=a&state=b&code=x', '?state[]=a&code=x'];
      for (const query of ['', '?', ...states]) {
        const { text, headers } = await flow.get(`callback${query}`).expect(400);
        assert.match(String(headers['content-type']), /^text\/html/);
        assert.match(text, /start it again/, query);
      }
      assert.equal(simulator.requests.count(), before);
    });

    it('refuses a state after ten minutes', async () => {
      const state = new URL(await begin()).searchParams.get('state');
      await time.pass(599);
      const young = new URL(await begin()).searchParams.get('state');
      await time.pass(2);
      assert.equal(await tokenRequests(() => flow.get(`callback?state=${state}&code=x`).expect(400)), 0);
      // The younger state is still valid, so its unknown code reaches the service.
      assert.equal(await tokenRequests(() => flow.get(`callback?state=${young}&code=x`).expect(400)), 1);
    });

    it('shows the reason of a refusal, and uses up the state', async () => {
      const state = new URL(await begin()).searchParams.get('state');
      const page = await flow.get(`callback?error_code=user_denied&state=${state}`).expect(400);
      assert.match(page.text, /Not signed in/);
      assert.match(page.text, /user_denied/);
      assert.equal(await tokenRequests(() => flow.get(`callback?code=x&state=${state}`).expect(400)), 0);
    });

    it('escapes foreign text', async () => {
      const state = new URL(await begin()).searchParams.get('state');
      const words = encodeURIComponent('<script>alert(1)</script>');
      const refused = await flow.get(`callback?error=${words}&state=${state}`).expect(400);
      assert.doesNotMatch(refused.text, /<script/);
      const search = await comeBack(await begin());
      simulator.faults.add({ endpoint: 'token', status: 400, detail: '<script>"it\'s" & more</script>' });
      const failed = await flow.get(`callback${search}`).expect(400);
      assert.doesNotMatch(failed.text, /<script/);
      assert.match(failed.text, /&#60;script&#62;&#34;it&#39;s&#34; &#38; more/);
    });

    it('forbids caching, framing and referrers', async () => {
      for (const answer of [await flow.get('callback?state=x').expect(400), await flow.head('callback').expect(200)]) {
        const { 'cache-control': cache, 'referrer-policy': referrer, 'x-content-type-options': type } = answer.headers;
        assert.deepEqual([cache, referrer, type], ['no-store', 'no-referrer', 'nosniff']);
        assert.match(answer.headers['content-security-policy'] ?? '', /default-src 'none'.*frame-ancestors 'none'/);
      }
    });

    const FAULTS: [what: string, fault: Omit<Fault, 'endpoint'>][] = [
      ['fails', { status: 500 }],
      ['breaks off', { reset: true }],
      ['answers with a web page', { html: true }],
      ['sends half an answer', { cut: 'body' }],
      ['answers without a token', { remove: ['access_token'] }],
    ];
    for (const [what, fault] of FAULTS)
      it(`reports a token endpoint that ${what}`, async () => {
        const search = await comeBack(await begin());
        simulator.faults.add({ endpoint: 'token', ...fault });
        const page = await flow.get(`callback${search}`).expect(400);
        assert.match(page.text, /Not signed in/);
        assert.equal(await state(), 'signed-out');
      });

    it('keeps the existing sign-in when a new one fails', async () => {
      await flow.signIn();
      const search = await comeBack(await begin());
      simulator.faults.add({ endpoint: 'token', status: 500 });
      await flow.get(`callback${search}`).expect(400);
      assert.equal(await state(), 'signed-in');
      await flow.get('accounts/account/clusters').expect(200);
    });
  });

  describe('accounts/:id/sign-in/complete', () => {
    it('accepts a pasted address with surrounding blanks', async () => {
      const search = await comeBack(await begin());
      const { body } = await flow
        .post('accounts/account/sign-in/complete', { url: ` ${REDIRECT}${search}\n` })
        .expect(200);
      assert.equal(body.state, 'signed-in');
    });

    it('refuses everything else, and names the fault', async () => {
      await flow.signIn();
      const before = simulator.requests.count();
      for (const [bodies, why] of [
        [[{}, { url: ' ' }, { url: 7 }, { url: null }, []], /^Paste the address/],
        [[{ url: 'code' }, { url: 'javascript:alert(1)' }], /^The pasted text is not an address/],
        [[{ url: REDIRECT }, { url: `${REDIRECT}?state=x` }], /^The pasted address has no code/],
        [[{ url: `${REDIRECT}?code=y` }], /^The pasted address names no sign-in/],
        [
          [{ url: `${REDIRECT}?state=x&code=y` }, { url: `${REDIRECT}?state=x.YWNjb3VudA&code=y` }],
          /^The pasted address is that of another sign-in/,
        ],
      ] as const)
        for (const typed of bodies) {
          const { body } = await flow.post('accounts/account/sign-in/complete', typed).expect(400);
          assert.equal(body.code, 'INVALID_INPUT', JSON.stringify(typed));
          assert.match(body.error, why);
        }
      assert.equal(simulator.requests.count(), before);
    });

    it('keeps the sign-in open when the pasted address lacks a code', async () => {
      const url = await begin();
      const { body } = await flow.post('accounts/account/sign-in/complete', { url }).expect(400);
      assert.match(body.error, /^The pasted address has no code/);
      await flow.post('accounts/account/sign-in/complete', { url: REDIRECT + (await comeBack(url)) }).expect(200);
    });

    it('reports the refusal that the pasted address contains', async () => {
      const one = new URL(await begin()).searchParams.get('state');
      const url = `${REDIRECT}?error=access_denied&state=${one}`;
      const { body } = await flow.post('accounts/account/sign-in/complete', { url }).expect(400);
      assert.match(body.error, /refused \(access_denied\)/);
    });

    it('refuses the state of another account, and keeps that state valid', async () => {
      await flow.deploy([], { more: [{ ...flow.account, id: 'other' }], signIn: false });
      const url = REDIRECT + (await comeBack(await begin()));
      for (const [id, status] of [
        ['other', 400],
        ['unknown', 404],
      ] as const) {
        const refused = () => flow.post(`accounts/${id}/sign-in/complete`, { url }).expect(status);
        assert.equal(await tokenRequests(refused), 0);
      }
      await flow.post('accounts/account/sign-in/complete', { url }).expect(200);
    });

    it('completes a sign-in that began before the first deploy', async () => {
      const typed = typedSettings();
      const url = REDIRECT + (await comeBack(await begin('new', typed)));
      const { body } = await flow.post('accounts/new/sign-in/complete', { url }).expect(200);
      assert.equal(body.state, 'signed-in');
    });
  });

  describe('accounts/:id/sign-out', () => {
    it('deletes the tokens', async () => {
      await flow.signIn();
      const { body } = await flow.post('accounts/account/sign-out').expect(200);
      assert.deepEqual(body, SIGNED_OUT);
      const before = simulator.requests.count();
      const { body: refused } = await flow.get('accounts/account/clusters').expect(400);
      assert.equal(refused.code, 'NOT_SIGNED_IN');
      assert.equal(simulator.requests.count(), before);
      await flow.deploy([], { signIn: false });
      assert.equal(await state(), 'signed-out');
    });

    it('signs out before the first deploy', async () => {
      const typed = typedSettings();
      await flow.signInAnew('new', typed);
      assert.equal(await state('new'), 'signed-in');
      const { body } = await flow.post('accounts/new/sign-out').expect(200);
      assert.equal(body.state, 'signed-out');
      await flow.get('accounts/new').expect(404);
    });
  });

  describe('accounts/:id/clusters, workspaces, diagnostics', () => {
    beforeEach(() => flow.signIn());

    it('lists the clusters with the fields that a picker needs', async () => {
      const organizationId = simulator.users[0]?.organizations[0]?.organizationId;
      const { body } = await flow.get('accounts/account/clusters').expect(200);
      const expected = simulator.world
        .clusters(organizationId)
        .map(({ clusterId, friendlyName, model, online, printers }) => ({
          clusterId,
          name: friendlyName,
          model,
          online,
          printers: printers.slice(0, 1).map(({ uuid, name }) => ({ printerId: uuid, name })),
        }));
      assert.deepEqual(body, expected);
    });

    it('lists the jobs of one printer and of all', async () => {
      const { uuid } = simulator.world.printLocally(1, { name: 'part.gcode', seconds: 9000 });
      const { clusterId } = simulator.world.cluster(1);
      for (const path of [`jobs?cluster=${encodeURIComponent(clusterId)}`, 'jobs']) {
        const { body } = await flow.get(`accounts/account/${path}`).expect(200);
        const found = body.find(({ clusterJobId }: { clusterJobId: string }) => clusterJobId === uuid);
        assert.deepEqual([found.name, found.clusterId], ['part.gcode', clusterId]);
      }
    });

    it('lists the uploaded files of the library, the newest first, and searches them', async () => {
      const older = storeElsewhere(simulator, 'bracket.gcode');
      storeElsewhere(simulator, 'not there.gcode', { uploaded: false });
      const { organizationId } = simulator.users[0]!.organizations[1]!;
      storeElsewhere(simulator, 'elsewhere.gcode', { organizationId });
      simulator.world.storedJob(older).uploadedAt! -= 60_000;
      const newer = storeElsewhere(simulator, 'hinge.gcode');
      const { body } = await flow.get('accounts/account/stored-jobs').expect(200);
      assert.deepEqual(pluck(body as { jobId: string }[], 'jobId').slice(0, 2), [newer, older]);
      assert.deepEqual(body[0], {
        ...{ jobId: newer, name: 'hinge.gcode', fileSize: 1234, uploadedBy: simulator.users[0]?.username },
        uploadedAt: new Date(simulator.world.storedJob(newer).uploadedAt!).toISOString(),
      });
      assert.doesNotMatch(JSON.stringify(body), /not there|elsewhere|signature|access_key/);
      const { body: found } = await flow.get('accounts/account/stored-jobs?search=BRACKET').expect(200);
      assert.deepEqual(pluck(found as { jobId: string }[], 'jobId'), [older]);
    });

    it('lists the printers of an account before its deploy, from the typed settings', async () => {
      const typed = typedSettings();
      const lists = ['clusters', 'workspaces', 'jobs', 'stored-jobs'];
      for (const list of lists) {
        const { body } = await flow.post(`accounts/new/typed/${list}`, typed).expect(400);
        assert.equal(body.code, 'NOT_SIGNED_IN');
      }
      await flow.signInAnew('new', typed);
      const { body: deployed } = await flow.get('accounts/account/clusters').expect(200);
      const { body: clusters } = await flow.post('accounts/new/typed/clusters', typed).expect(200);
      assert.deepEqual(clusters, deployed);
      for (const list of lists) await flow.post(`accounts/new/typed/${list}`, typed).expect(200);
      const before = simulator.requests.count();
      const { body: elsewhere } = await flow
        .post('accounts/new/typed/clusters', { ...typed, apiUrl: typed.apiUrl.replace('127.0.0.1', 'localhost') })
        .expect(400);
      assert.match(elsewhere.error, /sign in again for another host/);
      assert.equal(simulator.requests.count(), before);
      for (const list of lists) await flow.post(`accounts/unknown/typed/${list}`).expect(404);
    });

    it('lists the simulated printers of an account before its deploy', async () => {
      const { body } = await flow.post('accounts/new/typed/clusters', { service: 'simulator' }).expect(200);
      assert.ok(body.length > 0);
      await flow.get('accounts/new').expect(404);
    });

    it('lists the workspaces of the user', async () => {
      const { body } = await flow.get('accounts/account/workspaces').expect(200);
      assert.deepEqual(
        pluck(body as { id: string }[], 'id'),
        pluck(simulator.users[0]!.organizations, 'organizationId'),
      );
    });

    it("asks the API host for the user when the account host doesn't know the path", async () => {
      simulator.faults.add({ endpoint: 'currentUser', status: 404, times: 'always' });
      const { body } = await flow.get('accounts/account/workspaces').expect(400);
      assert.equal(body.code, 'NOT_FOUND');
      assert.ok(simulator.requests.list().some(({ path }) => path === '/connect/v1/users/current'));
    });

    for (const [what, fault, words] of [
      ['the list is null', { set: { data: null } }, /./],
      ['the list is a text', { set: { data: 'soon' } }, /./],
      ['the service is down', { status: 503 }, /503/],
    ] as const)
      it(`reports SERVICE_ERROR when ${what}`, async () => {
        simulator.faults.add({ endpoint: 'clusters', ...fault, times: 'always' });
        const { body } = await time.until(flow.get('accounts/account/clusters').expect(400).then());
        assert.equal(body.code, 'SERVICE_ERROR');
        assert.match(body.error, words);
      });

    it('returns diagnostics with shortened ids and without secrets', async () => {
      const organizationId = simulator.users[0]?.organizations[0]?.organizationId ?? '';
      const { id: clientId, secret: clientSecret } = simulator.client;
      await flow.deploy([], {
        account: { ...flow.account, organizationId, paths: '{"getReport":"GET /r/{report_id}"}' },
        credentials: { account: { clientId, clientSecret } },
      });
      await flow.get('accounts/account/clusters').expect(200);
      const { body } = await flow.get('accounts/account/diagnostics').expect(200);
      const { versions, simulated, settings } = body;
      assert.match(versions.pack, /^\d+\.\d+\.\d+/);
      assert.match(versions.nodeRed, /^\d+\.\d+/);
      assert.deepEqual([versions.node, simulated, body.state], [process.version, false, 'signed-in']);
      assert.deepEqual([settings.apiUrl, settings.overriddenPaths], [simulator.apiUrl, ['getReport']]);
      assert.ok(body.counters.requests >= 1);
      const text = JSON.stringify(body);
      for (const secret of [clientSecret, organizationId, ...simulator.tokens.refreshTokens])
        assert.ok(!text.includes(secret), text);
      assert.doesNotMatch(text, /eyJ/);
    });
  });

  it('lists no replica at accounts/:id/replicas for state in a folder, and counts the token refreshes', async () => {
    await flow.signIn();
    simulator.tokens.expireAccessTokens();
    await flow.get('accounts/account/clusters').expect(200);
    const { body } = await flow.get('accounts/account/replicas').expect(200);
    assert.deepEqual(body, { replicas: null, refreshes: 1 });
  });

  describe('while a sign-in is pending', () => {
    const REFUSED = /changed or deleted in the meantime/;
    const other = { id: 'keeper', type: 'remote-printing-account', service: 'remote' };

    it('rejects the callback and stores nothing after the account was deleted', async () => {
      const search = await comeBack(await begin());
      await flow.deploy([], { account: other, signIn: false });
      let page = '';
      const back = async () => {
        page = (await flow.get(`callback${search}`).expect(400)).text;
      };
      assert.equal(await tokenRequests(back), 0);
      assert.match(page, REFUSED);
      await flow.get('accounts/account').expect(404);
      await flow.deploy([], { signIn: false });
      assert.equal(await state(), 'signed-out');
    });

    for (const [what, changes] of [
      ['host', { authUrl: 'https://another.example' }],
      ['client', { clientId: 'another' }],
    ] as const)
      it(`rejects the callback after another ${what} was deployed`, async () => {
        const search = await comeBack(await begin());
        const { account } = flow.credentials;
        await flow.deploy([], {
          account: { ...flow.account, ...('authUrl' in changes ? changes : {}) },
          credentials: { account: { ...account, ...('clientId' in changes ? changes : {}) } },
          signIn: false,
        });
        assert.equal(await tokenRequests(() => flow.get(`callback${search}`).expect(400)), 0);
        assert.equal(await state(), 'signed-out');
      });

    it('accepts the callback after the same or the typed settings were deployed', async () => {
      const search = await comeBack(await begin());
      await flow.deploy([], { signIn: false });
      await flow.get(`callback${search}`).expect(200);
      assert.equal(await state(), 'signed-in');

      await flow.deploy([], { credentials: { account: { clientId: 'first', clientSecret: 'first' } }, signIn: false });
      const { id: clientId, secret: clientSecret } = simulator.client;
      const typed = await comeBack(await begin('account', { redirectUri: REDIRECT, clientId, clientSecret }));
      await flow.deploy([], { signIn: false });
      await flow.get(`callback${typed}`).expect(200);
      assert.equal(await state(), 'signed-in');
    });
  });

  describe('state of an account for typed settings that differ from the deployed ones', () => {
    const about = async (query: object, id = 'account') => {
      const { body } = await flow.get(`accounts/${id}?${new URLSearchParams({ ...query })}`).expect(200);
      return body as { state: string; user: string | null; simulated: boolean };
    };
    const asRemote = (authUrl: string) => ({ service: 'remote', signIn: 'oauth', authUrl });
    const simulated = { id: 'account', type: 'remote-printing-account', service: 'simulator' };

    it('is signed out when the simulator is deployed and the typed host is empty', async () => {
      await flow.deploy([], { account: simulated, credentials: {} });
      assert.equal((await about({})).state, 'signed-in');
      assert.equal((await about({ service: 'simulator' })).state, 'signed-in');
      const { state, user, simulated: isSimulated } = await about(asRemote(''));
      assert.deepEqual([state, user, isSimulated], ['signed-out', null, false]);
      await flow.deploy([], { account: { ...simulated, service: 'remote' }, credentials: {}, signIn: false });
      assert.deepEqual([(await about({})).state, (await about({})).user], ['signed-out', null]);
    });

    it('is signed in to the real service after a sign-in that precedes its deploy', async () => {
      await flow.deploy([], { account: simulated, credentials: {} });
      const { authUrl } = simulator;
      assert.equal((await about(asRemote(authUrl))).state, 'signed-out');
      await flow.get(`callback${await comeBack(await begin('account', { ...asRemote(authUrl), ...typedSettings() }))}`);
      assert.equal((await about(asRemote(`${authUrl}/`))).state, 'signed-in');
      assert.equal((await about(asRemote('https://another.example'))).state, 'signed-out');
    });

    it('matches the typed host and the typed kind of sign-in', async () => {
      await flow.signIn();
      const { authUrl } = simulator;
      for (const [query, expected] of [
        [asRemote(authUrl), 'signed-in'],
        [{ authUrl }, 'signed-in'],
        [asRemote(''), 'signed-out'],
        [asRemote('https://another.example'), 'signed-out'],
        [asRemote('simulated'), 'signed-out'],
        [asRemote('__proto__'), 'signed-out'],
        [{ ...asRemote(authUrl), signIn: 'token' }, 'signed-out'],
        [{ ...asRemote(authUrl), service: 'simulator' }, 'signed-out'],
      ] as const)
        assert.equal((await about(query)).state, expected, JSON.stringify(query));
    });

    it('answers 404 for an unknown account', async () => {
      await flow.get(`accounts/unknown?${new URLSearchParams(asRemote(''))}`).expect(404);
      await flow.post('accounts/new/typed/clusters', { service: 'simulator' }).expect(200);
      await flow.get('accounts/forms').expect(404);
    });
  });

  describe('state after a failed sign-in', () => {
    const about = async (id = 'account') => {
      const { body } = await flow.get(`accounts/${id}`).expect(200);
      return body as { state: string; error: string | null };
    };
    const refuse = async (url: string) => {
      const one = new URL(url).searchParams.get('state');
      await flow.get(`callback?error=access_denied&state=${one}`).expect(400);
    };

    it('shows the reason until the next sign-in begins', async () => {
      await refuse(await begin());
      assert.match((await about()).error ?? '', /^The sign-in was refused \(access_denied\): /);
      await begin();
      assert.equal((await about()).error, null);
    });

    it('ignores a superseded sign-in, and clears the reason after a successful one', async () => {
      const first = await begin();
      const second = await begin();
      await refuse(first);
      assert.equal((await about()).error, null);
      await refuse(second);
      assert.match((await about()).error ?? '', /refused/);
      await flow.signInAnew();
      const { state, error } = await about();
      assert.deepEqual([state, error], ['signed-in', null]);
    });

    it('exists before the first deploy, from the start of the sign-in', async () => {
      await flow.get('accounts/new').expect(404);
      await begin('new', typedSettings());
      const { state, error } = await about('new');
      assert.deepEqual([state, error], ['signed-out', null]);
      await time.pass(601);
      assert.match((await about('new')).error ?? '', /longer than ten minutes/);
      await time.pass(601);
      await flow.get('accounts/new').expect(404);
    });
  });

  it('reports errors to forms within a 200, so that browsers log none', async () => {
    const ask = (id: string) => flow.get(`accounts/${id}`).set('Accept', 'application/vnd.remote-printing.form+json');
    const { body: known } = await ask('account').expect(200);
    assert.equal(known.answer.state, 'signed-out');
    const { body: unknown } = await ask('x').expect(200);
    assert.equal(unknown.failure.status, 404);
    assert.match(unknown.failure.error, /deploy it first/);
  });

  describe('a deleted account', () => {
    it('is not found at any endpoint, and is signed out after it is deployed again', async () => {
      await flow.signIn();
      await flow.deploy([], { account: { id: 'keeper', type: 'remote-printing-account' }, signIn: false });
      for (const path of GETS) await flow.get(`accounts/account${path}`).expect(404);
      for (const path of POSTS) await flow.post(`accounts/account${path}`).expect(404);
      await flow.deploy([], { signIn: false });
      assert.equal(await state(), 'signed-out');
    });

    it('keeps its sign-in while it is only disabled', async () => {
      await flow.signIn();
      await flow.deploy([], { account: { ...flow.account, d: true }, signIn: false });
      const { body } = await flow.get('accounts/account').expect(200);
      assert.match(body.error, /is not running/);
      const { body: refused } = await flow.get('accounts/account/clusters').expect(400);
      assert.equal(refused.code, 'NOT_CONFIGURED');
      await flow.deploy([], { signIn: false });
      assert.equal(await state(), 'signed-in');
    });
  });

  describe('an unknown account', () => {
    for (const id of ['unknown', '..%2F..%2Fetc', '__proto__', '%00'])
      it(`is not found at any endpoint of accounts/${id}`, async () => {
        const calls = [...GETS.map((path) => ['get', path] as const), ...POSTS.map((path) => ['post', path] as const)];
        for (const [method, path] of calls) {
          const { body, headers } = await flow[method](`accounts/${id}${path}`).expect(404);
          assert.ok(body.error, path);
          assert.equal(headers['cache-control'], 'no-store');
        }
      });

    it('is not found when another node has its id', async () => {
      await flow.deploy([{ id: 'x', type: 'helper' }], { signIn: false });
      await flow.get('accounts/x').expect(404);
    });
  });

  it('forbids caching of every answer', async () => {
    await flow.signIn();
    for (const path of GETS) {
      const { headers } = await flow.get(`accounts/account${path}`).expect(200);
      assert.equal(headers['cache-control'], 'no-store');
    }
    for (const path of POSTS) {
      const { headers } = await flow.post(`accounts/account${path}`);
      assert.equal(headers['cache-control'], 'no-store');
    }
  });

  it('answers 404 to other methods', async () => {
    for (const path of POSTS) await flow.get(`accounts/account${path}`).expect(404);
    for (const path of GETS) await flow.post(`accounts/account${path}`).expect(404);
    await flow.post('callback').expect(404);
  });
});
