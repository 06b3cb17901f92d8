import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  asPrintingError,
  isExpiredToken,
  PrintingError,
  readRefusal,
  refusalError,
  withoutAddresses,
} from '../../../lib/service/errors';
import { phrase } from '../../../lib/words/sentence';
import { nominalTime } from '../../helpers/nominal-time';

const body = (code: string, more = {}) => ({
  errors: [{ id: '1', code, http_status: '409', title: 'A title.', ...more }],
});

describe('service/api-errors: an error', () => {
  it('has the code of the reference, with the service’s own', () => {
    const codes: [number, string, string][] = [
      [401, 'NOT_SIGNED_IN', 'refused'],
      [403, 'FORBIDDEN', 'refused'],
      [404, 'NOT_FOUND', 'refused'],
      [409, 'NOT_ACCEPTED', 'refused'],
      [429, 'RATE_LIMITED', 'refused'],
      [400, 'SERVICE_ERROR', 'refused'],
      [418, 'SERVICE_ERROR', 'refused'],
      [302, 'SERVICE_ERROR', 'refused'],
      [500, 'SERVICE_ERROR', 'unknown'],
      [503, 'SERVICE_ERROR', 'unknown'],
    ];
    for (const [status, code, outcome] of codes) {
      const error = refusalError(status, body('someCode', { detail: 'In detail.' }), phrase`the cluster`, {
        retryAfter: 5_000,
      });
      assert.equal(error.code, code);
      assert.equal(error.outcome, outcome);
      assert.equal(error.statusCode, status);
      assert.equal(error.serviceCode, 'someCode');
      assert.equal(error.retryAfter, 5_000);
      assert.match(error.message, / The service says: someCode: In detail\.$/);
    }
  });

  it('names the obstacle at the printer', () => {
    for (const [code, obstacle, words] of [
      ['printerInactive', 'offline', /^The printer is offline: switch it on/],
      ['printerQueueFull', 'queue-full', /^The queue of the printer is full: /],
      ['printerNotAcceptingJobs', undefined, /^The printer accepts no jobs now: /],
      ['constructor', undefined, /^The service did not accept the print now: /],
    ] as const) {
      const error = refusalError(409, body(code), phrase`the print`);
      assert.deepEqual([error.code, error.obstacle], ['NOT_ACCEPTED', obstacle]);
      assert.match(error.message, words);
    }
  });

  it('is, among several, the one that decides something', () => {
    const several = (code: string) => ({ errors: [{ code: 'conflict' }, ...body(code).errors] });
    assert.equal(refusalError(409, several('printerInactive'), phrase`the print`).obstacle, 'offline');
    assert.equal(isExpiredToken(403, several('tokenExpired')), true);
    assert.equal(refusalError(409, several('other'), phrase`the print`).serviceCode, 'conflict');
  });

  it('is read from any body', () => {
    assert.deepEqual(readRefusal(body('a')), { serviceCode: 'a', says: 'A title.' });
    assert.deepEqual(readRefusal({ errors: { code: 'single' } }), { serviceCode: 'single', says: undefined });
    assert.deepEqual(readRefusal({ error: 'invalid_grant', error_description: 'Gone.' }), {
      serviceCode: 'invalid_grant',
      says: 'Gone.',
    });
    assert.deepEqual(readRefusal(body('see https://store/x?signature=s')), {
      serviceCode: 'see (address)',
      says: 'A title.',
    });
    for (const nothing of [
      null,
      undefined,
      '',
      '<Error/>',
      [],
      {},
      { errors: [] },
      { errors: [null] },
      { errors: [{ code: 7, title: ' ' }] },
    ])
      assert.deepEqual(readRefusal(nothing), { serviceCode: undefined, says: undefined });
    fc.assert(
      fc.property(fc.anything(), fc.integer({ min: 300, max: 599 }), (any, status) => {
        const error = refusalError(status, any, phrase`the cluster`);
        assert.ok(error.message.length < 500);
      }),
    );
  });

  it('contains no URLs and no endless texts', () => {
    const says = `see https://store.example/x?signature=secret ${'long '.repeat(100)}`;
    const { message } = refusalError(400, body('a', { detail: says }), phrase`the upload`);
    assert.doesNotMatch(message, /secret|store\.example/);
    assert.match(message, /\(address\)/);
    assert.ok(message.length < 350);
    assert.equal(withoutAddresses('a s3+x://b?c d HTTPS://E'), 'a (address) d (address)');
  });

  for (const [what, words] of [
    ['dots between letters', 'a.'.repeat(500_000)],
    ['schemes without a URL', 'a:/'.repeat(330_000)],
    ['URLs', 'a://'.repeat(250_000)],
    ['trailing dots', `x${'.'.repeat(1_000_000)}x`],
  ] as const)
    it(`is read without delay if the service repeats ${what}`, async () => {
      const ms = await nominalTime(() => {
        refusalError(400, body(words, { detail: words }), phrase`the upload`);
        withoutAddresses(words);
      });
      assert.ok(ms < 50, `${ms} ms`);
    });

  it('distinguishes an expired token from other refusals', () => {
    assert.equal(isExpiredToken(401, null), true);
    assert.equal(isExpiredToken(403, body('tokenExpired')), true);
    assert.equal(isExpiredToken(403, body('invalidToken')), true);
    assert.equal(isExpiredToken(403, body('other')), false);
    assert.equal(isExpiredToken(403, null), false);
    assert.equal(isExpiredToken(400, body('tokenExpired')), false);
  });

  it('is SERVICE_ERROR with its cause for an internal error', () => {
    const cause = new TypeError('x is undefined');
    const error = asPrintingError(cause);
    assert.equal(error.code, 'SERVICE_ERROR');
    assert.equal(error.cause, cause);
    assert.equal(asPrintingError(error), error);
    assert.match(asPrintingError('words').message, /words/);
    assert.deepEqual(new PrintingError('TIMEOUT', phrase`x`).ids, {});
  });
});
