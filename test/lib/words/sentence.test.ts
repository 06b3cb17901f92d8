import assert from 'node:assert/strict';
import { phrase, Sentence } from '../../../lib/words/sentence';

const GERMAN = {
  'The printer {0} is {1}: try again in {2} s.': 'In {2} s erneut versuchen: Drucker {0} ist {1}.',
  offline: 'offline geschaltet',
};

describe('words/sentence', () => {
  const sentence = phrase`The printer ${'Ada'} is ${phrase`offline`}: try again in ${5} s.`;

  it('is the English sentence, and what it is made of', () => {
    assert.equal(String(sentence), 'The printer Ada is offline: try again in 5 s.');
    assert.equal(sentence.pattern, 'The printer {0} is {1}: try again in {2} s.');
  });

  it('is said in another language, its parts too, in that language’s order', () => {
    assert.equal(sentence.in(GERMAN), 'In 5 s erneut versuchen: Drucker Ada ist offline geschaltet.');
  });

  it('stays English where a catalogue does not have it', () => {
    assert.equal(
      sentence.in({ offline: 'offline geschaltet' }),
      'The printer Ada is offline geschaltet: try again in 5 s.',
    );
  });

  it('takes nothing in a value for a gap or a sentence of its own', () => {
    const odd = phrase`The printer ${'{1}'} is ${'offline'}: try again in ${'{0}'} s.`;
    assert.equal(odd.in(GERMAN), 'In {0} s erneut versuchen: Drucker {1} ist offline.');
  });

  it('keeps braces that are no gap', () => {
    assert.equal(
      String(phrase`It must look like GET /path/{cluster_id}.`),
      'It must look like GET /path/{cluster_id}.',
    );
    assert.equal(String(phrase`There is no parameter {${'x'}}.`), 'There is no parameter {x}.');
  });

  it('has its values changed, in its parts too', () => {
    const told = phrase`${phrase`${'secret'} failed`} ${7}`.with((value) => (value === 'secret' ? '…' : value));
    assert.equal(String(told), '… failed 7');
  });

  it('may come from what was stored', () => {
    assert.equal(new Sentence('offline').in(GERMAN), 'offline geschaltet');
  });
});
