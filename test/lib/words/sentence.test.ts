import assert from 'node:assert/strict';
import { phrase, Sentence } from '../../../lib/words/sentence';

const GERMAN = {
  'The printer {0} is {1}: try again in {2} s.': 'In {2} s erneut versuchen: Drucker {0} ist {1}.',
  offline: 'offline geschaltet',
};

describe('words/sentence', () => {
  const sentence = phrase`The printer ${'Ada'} is ${phrase`offline`}: try again in ${5} s.`;

  it('renders the English sentence, and keeps its pattern', () => {
    assert.equal(String(sentence), 'The printer Ada is offline: try again in 5 s.');
    assert.equal(sentence.pattern, 'The printer {0} is {1}: try again in {2} s.');
  });

  it('renders another language, including its parts, in that language’s order', () => {
    assert.equal(sentence.in(GERMAN), 'In 5 s erneut versuchen: Drucker Ada ist offline geschaltet.');
  });

  it('stays English if a catalogue lacks it', () => {
    assert.equal(
      sentence.in({ offline: 'offline geschaltet' }),
      'The printer Ada is offline geschaltet: try again in 5 s.',
    );
  });

  it('does not read a value as a gap or a sentence', () => {
    const odd = phrase`The printer ${'{1}'} is ${'offline'}: try again in ${'{0}'} s.`;
    assert.equal(odd.in(GERMAN), 'In {0} s erneut versuchen: Drucker {1} ist offline.');
  });

  it('keeps braces that are not gaps', () => {
    assert.equal(
      String(phrase`It must look like GET /path/{cluster_id}.`),
      'It must look like GET /path/{cluster_id}.',
    );
    assert.equal(String(phrase`There is no parameter {${'x'}}.`), 'There is no parameter {x}.');
  });

  it('changes values, even in its parts', () => {
    const changed = phrase`${phrase`${'secret'} failed`} ${7}`.with((value) => (value === 'secret' ? '…' : value));
    assert.equal(String(changed), '… failed 7');
  });

  it('creates a sentence from a stored pattern', () => {
    assert.equal(new Sentence('offline').in(GERMAN), 'offline geschaltet');
  });
});
