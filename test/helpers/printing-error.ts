import assert from 'node:assert/strict';
import { PrintingError, type ErrorCode } from '../../lib/service/errors';

/** The error of work that fails with this code and these words; `address`: what it must not contain. */
export async function printingError(
  work: Promise<unknown>,
  code: ErrorCode,
  words = /./,
  address = /signature|https?:/,
): Promise<PrintingError> {
  const error = await work.then(
    () => assert.fail(`${code} was expected`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof PrintingError, String(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, words);
  assert.doesNotMatch(`${error.message} ${String(error.cause)}`, address, 'no address in errors');
  return error;
}
