import assert from 'node:assert/strict';
import type { NodeAPI } from 'node-red';
import { PrintingError } from '../../../lib/service/errors';
import { phrase } from '../../../lib/words/sentence';
import { inLanguage, SHARED, translated, translatedError } from '../../../nodes/shared/language';

const ENDED = phrase`The print was aborted.`;
const speaking = (language: string) =>
  ({ _: (key: string) => (key === `${SHARED}:language` ? language : key) }) as unknown as NodeAPI;

describe('nodes/shared/language', () => {
  it('translates a sentence into every supported language, and uses English for others', () => {
    assert.equal(inLanguage('de', ENDED), 'Der Druck wurde abgebrochen.');
    assert.equal(inLanguage('ja', ENDED), '印刷は中止されました。');
    for (const other of ['en-US', 'ru', '../de', '']) assert.equal(inLanguage(other, ENDED), 'The print was aborted.');
  });

  it("uses the language of Node-RED's settings", () => {
    assert.equal(translated(speaking('nl'), ENDED), 'De print is afgebroken.');
    assert.equal(translated(speaking('x'), ENDED), 'The print was aborted.');
  });

  it('translates the message of an error, and keeps everything else', () => {
    const ids = { clusterId: 'c', jobId: 'j' };
    const details = { statusCode: 409, serviceCode: 'busy', outcome: 'refused', obstacle: 'offline', ids } as const;
    const error = new PrintingError('PRINT_FAILED', ENDED, { ...details, cause: new Error('below') });
    const german = translatedError(speaking('de'), error);
    assert.equal(german.message, 'Der Druck wurde abgebrochen.');
    assert.equal(error.message, 'The print was aborted.');
    assert.deepEqual({ ...german, message: '' }, { ...error, message: '' });
    assert.deepEqual([german.stack, german.cause], [error.stack, error.cause]);
    assert.equal(translatedError(speaking('en-US'), error), error);
  });
});
