import assert from 'node:assert/strict';
import ts from 'typescript';
import { sources, textOf } from '../helpers/sources';

/** Words that begin a title and don't end in -s, or that a verb follows. */
const OTHERS = /^(can|can['’]t|doesn['’]t|isn['’]t|always \w+s|never \w+s)$/;
/** Words that end in -s and are no verbs. */
const NO_VERB = /^(as|its|this|thus|plus|\w*ss|\w*ous|\w*us)$/;

/** Titles of the calls of `it` in a source that begin with a literal text, and their lines. */
function titlesOf(path: string, text: string): { line: number; title: string }[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const titles: { line: number; title: string }[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.expression.getText(source) === 'it') {
      const [title] = node.arguments;
      const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
      if (title && ts.isStringLiteralLike(title)) titles.push({ line, title: title.text });
      if (title && ts.isTemplateExpression(title)) titles.push({ line, title: title.getText(source).slice(1, -1) });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return titles;
}

/** Whether a title completes "it …": its first word is a verb in the third person. `${title}` holds a whole title. */
function completesIt(title: string): boolean {
  const [first = '', second = ''] = title.split(' ');
  if (first === '${title}' || OTHERS.test(first) || OTHERS.test(`${first} ${second}`)) return true;
  const word = first.replace(/[,;]$/, '');
  return /^[a-z]+s$/.test(word) && !NO_VERB.test(word);
}

describe('the check of test titles', () => {
  it('distinguishes verbs in the third person from other words', () => {
    for (const title of ['prints once', 'is refused', 'never prints twice', 'can’t print', '${title} (${name})'])
      assert.ok(completesIt(title), title);
    for (const title of [
      'print once',
      'of a stream',
      'run 17',
      '${name} fails',
      'Prints once',
      'never print',
      'as usual',
    ])
      assert.ok(!completesIt(title), title);
    assert.deepEqual(
      titlesOf('x.ts', "it('a', () => 0);\nfor (const b of c) it(`d ${b}`, e);\nit(f, e);").map(({ line, title }) => [
        line,
        title,
      ]),
      [
        [1, 'a'],
        [2, 'd ${b}'],
      ],
    );
  });

  it('finds only titles that complete "it …"', () => {
    const titles = sources(/\.ts$/, 'test').flatMap((path) =>
      titlesOf(path, textOf(path)).map((found) => ({ path, ...found })),
    );
    assert.ok(titles.length > 1500);
    const others = titles.filter(({ title }) => !completesIt(title));
    assert.deepEqual(
      others.map(({ path, line, title }) => `${path}:${line} ${title}`),
      [],
    );
  });
});
