import assert from 'node:assert/strict';
import { codeOf, networkError } from '../../../lib/http/retry';
import { PrintingError } from '../../../lib/service/errors';
import { phrase } from '../../../lib/words/sentence';

const coded = (code: string) => Object.assign(new Error(`${code} https://store.example/?signature=secret`), { code });

describe('http/network-error', () => {
  it('finds the code of a failure', () => {
    assert.equal(codeOf(coded('ECONNRESET')), 'ECONNRESET');
    assert.equal(codeOf(new AggregateError([coded('ECONNREFUSED'), coded('ENETUNREACH')])), 'ECONNREFUSED');
    assert.equal(codeOf(new TypeError('fetch failed', { cause: coded('ENOTFOUND') })), 'ENOTFOUND');
    assert.equal(codeOf(new TypeError('x')), 'TypeError');
    assert.equal(codeOf('x'), 'unknown');
  });

  it('carries the given outcome of the request', () => {
    for (const outcome of ['not-sent', 'unknown'] as const)
      assert.equal(networkError(coded('ECONNRESET'), outcome).outcome, outcome);
  });

  it('names the code and no address, not even in its cause', () => {
    const error = networkError(coded('ECONNRESET'), 'unknown');
    assert.equal(error.code, 'NETWORK');
    assert.match(error.message, /ECONNRESET/);
    assert.doesNotMatch(`${error.stack} ${String(error.cause)}`, /secret/);
  });

  it('names the unreachable host and nothing else of its address', () => {
    const url = 'https://user:word@store.example:8443/path?signature=secret';
    for (const code of ['ECONNREFUSED', 'ENOTFOUND']) {
      const { message } = networkError(coded(code), 'not-sent', undefined, url);
      assert.match(message, new RegExp(`store\\.example:8443.* \\(${code}\\): check`));
      assert.doesNotMatch(message, /secret|word|path/);
    }
  });

  it('says which certificate or proxy is at fault, and the cure', () => {
    const url = 'https://store.example/path?signature=secret';
    const cures: [thrown: Error, cure: RegExp][] = [
      [coded('SELF_SIGNED_CERT_IN_CHAIN'), /NODE_EXTRA_CA_CERTS/],
      [coded('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), /NODE_EXTRA_CA_CERTS/],
      [coded('ERR_TLS_CERT_ALTNAME_INVALID'), /another name/],
      [coded('CERT_NOT_YET_VALID'), /clock/],
      [coded('CERT_HAS_EXPIRED'), /expired.*clock/],
      [coded('ERR_SSL_WRONG_VERSION_NUMBER'), /http or https/],
      [new Error('Proxy response (407) !== 200 when HTTP Tunneling'), /password \(407\).*HTTPS_PROXY/],
      [new Error('Proxy response (503) !== 200 when HTTP Tunneling'), /proxy.*\(503\).*NO_PROXY/],
    ];
    for (const [thrown, cure] of cures) {
      const { message } = networkError(thrown, 'not-sent', undefined, url);
      assert.match(message, cure);
      assert.match(message, /store\.example/);
      assert.doesNotMatch(message, /secret|check the network/);
    }
  });

  it('passes PrintingErrors and abort reasons on', () => {
    const own = new PrintingError('FILE_CHANGED', phrase`The file changed.`);
    assert.equal(networkError(own, 'unknown'), own);
    const reason = new PrintingError('TIMEOUT', phrase`The time is up.`);
    const ended = networkError(coded('ABORT_ERR'), 'not-sent', AbortSignal.abort(reason));
    assert.deepEqual([ended.message, ended.outcome], [reason.message, 'not-sent']);
    assert.equal(networkError(coded('ABORT_ERR'), 'unknown', AbortSignal.abort('other')).code, 'NETWORK');
  });
});
