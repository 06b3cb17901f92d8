import assert from 'node:assert/strict';
import ts from 'typescript';
import { sources, textOf } from '../helpers/sources';

/** Each node has one. */
const PER_NODE = ['definition'];

/** Names that a module defines and exports; not its default, nor what it passes on from another module. */
function exportsOf(text: string, path: string): string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  return file.statements.flatMap((statement) => {
    const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : [];
    const has = (kind: ts.SyntaxKind) => modifiers.some((modifier) => modifier.kind === kind);
    if (!has(ts.SyntaxKind.ExportKeyword) || has(ts.SyntaxKind.DefaultKeyword)) return [];
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.map(({ name }) => name.getText());
    return [(statement as ts.DeclarationStatement).name?.getText() ?? ''];
  });
}

/** Names that several modules export, with these modules. */
function repeated(files: ReadonlyMap<string, string>): string[] {
  const owners = new Map<string, string[]>();
  for (const [path, text] of files)
    for (const name of new Set(exportsOf(text, path))) owners.set(name, [...(owners.get(name) ?? []), path]);
  return [...owners]
    .filter(([name, paths]) => paths.length > 1 && !PER_NODE.includes(name))
    .map(([name, paths]) => `${name}: ${paths.join(', ')}`);
}

describe('the check of exported names', () => {
  it('finds the names of a file, except defaults and names of other modules', () => {
    const text = `import { b } from './b'; export { b }; export * from './c'; export type { D } from './d'; const no = 1;
      export const one = 1, two = 2; export function three() {} export class Four {} export interface Five { a: 1 }
      export type Six = 6; export default function seven() {}`;
    assert.deepEqual(exportsOf(text, 'x.ts'), ['one', 'two', 'three', 'Four', 'Five', 'Six']);
    const files = { a: 'export const x = 1;', b: 'export type x = 2;', c: 'export const definition = 3, y = 1;' };
    assert.deepEqual(repeated(new Map(Object.entries({ ...files, d: files.c.replace('y', 'z') }))), ['x: a, b']);
  });

  it('finds no name of lib/ and nodes/ with two meanings', () => {
    const files = new Map(
      ['lib', 'nodes'].flatMap((folder) => sources(/\.ts$/, folder)).map((path) => [path, textOf(path)]),
    );
    assert.ok(files.size > 250);
    assert.deepEqual(repeated(files), []);
  });
});
