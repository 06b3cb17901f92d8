import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { contentPolicy, isKnownHost, readHosts, refusalOf } from '../../../lib/web/access';

const access = { hosts: ['farm.example.org'], machine: ['Workshop-PI.example.net'], isGuarded: false };

describe('lib/web/access', () => {
  describe('isKnownHost', () => {
    for (const host of [
      ...['127.0.0.1', '192.168.1.4:1880', '[::1]:1880', '[fe80::1]', 'localhost', 'localhost:1880', 'pi', 'PI:1880'],
      ...['farm.local', 'farm.lan', 'a.b.home', 'pi.home.arpa', 'x.internal', 'farm.local.', 'a.localhost'],
      ...['farm.example.org', 'FARM.example.org:8443', 'workshop-pi.example.net'],
    ])
      it(`knows ${host}`, () => assert.equal(isKnownHost(host, access), true));

    for (const host of [
      ...['', 'evil.example', '127.0.0.1.evil.example', 'farm.example.org.evil.example', 'evil-local.example'],
      ...[
        'local.evil.example',
        'a@evil.example',
        'evil.example/localhost',
        'evil.example#.local',
        'x y',
        'home.arpa.x',
      ],
    ])
      it(`does not know "${host}"`, () => assert.equal(isKnownHost(host, access), false));
  });

  describe('refusalOf', () => {
    const ask = (headers: IncomingHttpHeaders, changes = {}) => refusalOf(headers, { ...access, ...changes });

    it('lets a request without an origin in', () => assert.equal(ask({ host: 'pi:1880' }), null));

    it('needs no known host where something guards the board', () => {
      assert.equal(ask({ host: 'evil.example' }), 'host');
      assert.equal(ask({ host: 'evil.example' }, { isGuarded: true }), null);
      assert.equal(ask({}), 'host');
    });

    for (const origin of [
      'http://pi:1880',
      'https://pi:1880',
      'https://farm.example.org:8123',
      'http://farm.example.org',
    ])
      it(`accepts the origin ${origin}`, () => assert.equal(ask({ host: 'pi:1880', origin }), null));

    for (const origin of [
      'null',
      'http://pi',
      'http://pi:1881',
      'https://evil.example',
      'file://pi:1880',
      'http://pi:1880.evil.example',
    ])
      it(`refuses the origin ${origin}`, () => assert.equal(ask({ host: 'pi:1880', origin }), 'origin'));

    it('compares default ports by the scheme of the origin', () => {
      assert.equal(ask({ host: 'pi', origin: 'https://pi' }), null);
      assert.equal(ask({ host: 'pi:443', origin: 'https://pi' }), null);
      assert.equal(ask({ host: 'pi:80', origin: 'https://pi' }), 'origin');
    });

    it('compares the origin also where something guards the board', () => {
      assert.equal(ask({ host: 'pi', origin: 'https://evil.example' }, { isGuarded: true }), 'origin');
    });
  });

  it('reads names, and addresses as their names', () => {
    assert.deepEqual(readHosts(' Farm.example.org, https://ha.example.org:8123/x  [::1] '), [
      'farm.example.org',
      'ha.example.org',
      '[::1]',
    ]);
    for (const wrong of ['*', 'a;b', "'self'", 'http://', 'a/b c*'])
      assert.throws(() => readHosts(wrong), { code: 'NOT_CONFIGURED' }, wrong);
  });

  it('lets frames of known names in, and nobody else', () => {
    assert.match(contentPolicy([]), /frame-ancestors 'self'$/);
    assert.match(contentPolicy(['ha.lan']), /frame-ancestors 'self' http:\/\/ha\.lan:\* https:\/\/ha\.lan:\*$/);
  });
});
