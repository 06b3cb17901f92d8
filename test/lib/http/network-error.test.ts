import assert from 'node:assert/strict';
import { codeOf, networkError } from '../../../lib/http/network-error';
import { PrintingError } from '../../../lib/service/errors';

const coded = (code: string) => Object.assign(new Error(`${code} https://store.example/?signature=secret`), { code });

describe('http/network-error', () => {
  it('finds the code of a failure', () => {
    assert.equal(codeOf(coded('ECONNRESET')), 'ECONNRESET');
    assert.equal(codeOf(new AggregateError([coded('ECONNREFUSED'), coded('ENETUNREACH')])), 'ECONNREFUSED');
    assert.equal(codeOf(new TypeError('fetch failed', { cause: coded('ENOTFOUND') })), 'ENOTFOUND');
    assert.equal(codeOf(new TypeError('x')), 'TypeError');
    assert.equal(codeOf('x'), 'unknown');
  });

  it('knows what can’t have reached anybody', () => {
    for (const code of ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT', 'CERT_HAS_EXPIRED'])
      assert.equal(networkError(coded(code)).outcome, 'not-sent');
    for (const code of ['ECONNRESET', 'EPIPE', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_SOCKET', 'anything'])
      assert.equal(networkError(coded(code)).outcome, 'unknown');
    assert.equal(networkError(coded('ECONNREFUSED'), undefined, 'unknown').outcome, 'unknown');
  });

  it('says the code and no address, in its cause neither', () => {
    const error = networkError(coded('ECONNRESET'));
    assert.equal(error.code, 'NETWORK');
    assert.match(error.message, /ECONNRESET/);
    assert.doesNotMatch(`${error.stack} ${String(error.cause)}`, /secret/);
  });

  it('lets our own errors and reasons pass', () => {
    const own = new PrintingError('FILE_CHANGED', 'The file changed.');
    assert.equal(networkError(own), own);
    const reason = new PrintingError('TIMEOUT', 'The time is up.');
    assert.equal(networkError(coded('ABORT_ERR'), AbortSignal.abort(reason)), reason);
    assert.equal(networkError(coded('ABORT_ERR'), AbortSignal.abort('other')).code, 'NETWORK');
  });
});
