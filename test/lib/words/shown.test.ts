import assert from 'node:assert/strict';
import fc from 'fast-check';
import { PrintingError, refusalError } from '../../../lib/service/errors';
import { phrase, Sentence } from '../../../lib/words/sentence';
import { shown } from '../../../lib/words/shown';

const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202a-\u202e\u2066-\u2069]/u;

describe('words/shown', () => {
  it('leaves one short line unchanged', () => {
    for (const words of ['', 'bracket-left 0.2 mm.ufp', 'Größe 5 – 日本語 👩‍🔧', 'ليزر'])
      assert.equal(shown(words), words);
  });

  it('removes line ends, escape codes, direction overrides and unpaired surrogates', () => {
    assert.equal(shown('a\r\nb'), 'a b');
    assert.equal(shown('\u001b[31mred\u009b0m'), ' [31mred 0m');
    assert.equal(shown('gpj\u202e.exe\u2066 x\u2028y\ufeff'), 'gpj .exe  x y ');
    assert.equal(shown('\ud800half'), ' half');
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 1_000 }), (words) => {
        const line = shown(words);
        assert.doesNotMatch(line, HIDDEN);
        assert.ok(line.length <= 300, `${line.length}`);
      }),
    );
  });

  it('truncates a long text with an ellipsis', () => {
    const line = shown('x'.repeat(1_000_000));
    assert.equal(line.length, 300);
    assert.ok(line.endsWith('…'));
    // Never in the middle of a character.
    assert.doesNotMatch(shown(`${'x'.repeat(298)}😀${'x'.repeat(9)}`), HIDDEN);
  });

  it('truncates and cleans the values of every sentence, of its parts, and of a refusal’s error', () => {
    const odd = `first\n[error] forged\u001b[2J${'x'.repeat(300_000)}`;
    const inner = phrase`the file ${odd}`;
    for (const words of [
      String(phrase`It is ${odd}.`),
      phrase`No ${inner}.`.in({}),
      new PrintingError('TIMEOUT', inner).message,
    ]) {
      assert.doesNotMatch(words, HIDDEN);
      assert.ok(words.length < 400);
    }
    assert.doesNotMatch(String(new Sentence('{0}', [odd])), HIDDEN);
    const { message, serviceCode = '' } = refusalError(
      400,
      { errors: [{ code: odd, detail: odd }] },
      phrase`the upload`,
    );
    for (const words of [message, serviceCode]) {
      assert.doesNotMatch(words, HIDDEN);
      assert.ok(words.length < 700, `${words.length}`);
    }
  });
});
