import assert from 'node:assert/strict';
import { hoursInput } from '../../editor/hours-input';

/** As much of jQuery as the field needs. */
class Field {
  readonly classes = new Set<string>();
  words = '';
  constructor(readonly value = '') {}
  first = () => this;
  insertAfter = () => this;
  on = () => this;
  val = () => this.value;
  text(words: string): this {
    this.words = words;
    return this;
  }
  toggleClass(name: string, isOn: boolean): this {
    if (isOn) this.classes.add(name);
    else this.classes.delete(name);
    return this;
  }
}

describe('the note beside the hours of a queue', () => {
  const names = globalThis as { $?: unknown; RED?: unknown };
  let note: Field;

  const show = (value: string) => {
    names.RED = { _: (key: string) => key };
    note = new Field();
    names.$ = Object.assign((of: string) => (of.startsWith('<div') ? note : new Field(value)), {
      ajax: () => Promise.reject(new Error('no runtime')),
    });
    hoursInput('hours');
  };
  afterEach(() => {
    delete names.$;
    delete names.RED;
  });

  it('says that hours are malformed', () => {
    show('Mon-Fry 8-17');
    assert.match(note.words, /invalid\.hours/);
  });

  it('takes an environment variable for no malformed hours', () => {
    show('${PRINT_HOURS}');
    assert.deepEqual([note.words, [...note.classes]], ['', []]);
  });
});
