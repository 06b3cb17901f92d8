import assert from 'node:assert/strict';
import ts from 'typescript';
import { sources, textOf } from '../helpers/sources';

/** Most members of an interface that one part of lib/watch calls in another (ARCHITECTURE.md, Watching). */
const MOST = 8;
/** The interface of lib/watch itself, for the rest of the pack. */
const PUBLIC = ['lib/watch/watch-types.ts', 'lib/watch/views/watch.ts'];

interface Shape {
  members: number;
  /** Members that can be called. */
  calls: number;
  parents: string[];
}

const isCall = (member: ts.TypeElement): boolean =>
  ts.isMethodSignature(member) ||
  (ts.isPropertySignature(member) &&
    member.type !== undefined &&
    [member.type, ...(ts.isUnionTypeNode(member.type) ? member.type.types : [])].some(
      (type) => ts.isFunctionTypeNode(type) || (ts.isParenthesizedTypeNode(type) && ts.isFunctionTypeNode(type.type)),
    ));

/** Object types of a text by name, also those inside others. */
function shapesOf(text: string, path: string): [name: string, Shape][] {
  const found: [string, Shape][] = [];
  const visit = (node: ts.Node, name: string): void => {
    let inner = name;
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) inner = node.name.text;
    else if (ts.isPropertySignature(node)) inner = `${name}.${node.name.getText()}`;
    if (ts.isInterfaceDeclaration(node) || ts.isTypeLiteralNode(node)) {
      const clauses = ts.isInterfaceDeclaration(node) ? (node.heritageClauses ?? []) : [];
      const parents = clauses.flatMap(({ types }) => types.map(({ expression }) => expression.getText()));
      found.push([inner, { members: node.members.length, calls: node.members.filter(isCall).length, parents }]);
    }
    ts.forEachChild(node, (child) => visit(child, inner));
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true), path);
  return found;
}

/** Ports with too many members, own and inherited ones. A type with one function, such as a timer's, is data. */
function largePorts(files: ReadonlyMap<string, string>): string[] {
  const shapes = new Map([...files].flatMap(([path, text]) => shapesOf(text, path)));
  const family = (name: string): Shape[] => {
    const shape = shapes.get(name);
    return shape ? [shape, ...shape.parents.flatMap(family)] : [];
  };
  const sum = (all: Shape[], key: 'members' | 'calls') => all.reduce((total, shape) => total + shape[key], 0);
  const open = [...files].filter(([path]) => !PUBLIC.includes(path)).flatMap(([path, text]) => shapesOf(text, path));
  return open
    .map(([name]) => name)
    .filter((name) => sum(family(name), 'calls') > 1 && sum(family(name), 'members') > MOST)
    .sort();
}

describe('the check of ports', () => {
  it('counts inherited and nested members', () => {
    const call = (name: string) => `${name}(): void;`;
    const names = (count: number) => Array.from({ length: count }, (_, at) => `m${at}`);
    const text = `
      interface Port { ${names(8).map(call).join(' ')} }
      interface Larger extends Port { more: string }
      interface Options { fault: () => void; clock: { ${names(9).map(call).join(' ')} } }
      interface Callbacks { ${names(7).join(': string; ')}: string; a?: (() => void) | undefined; b: () => void }
      interface Data { ${names(12).join(': string; ')}: string; disarm: () => void }`;
    assert.deepEqual(largePorts(new Map([['lib/watch/x.ts', text]])), ['Callbacks', 'Larger', 'Options.clock']);
  });

  it('finds no port of lib/watch with more than eight members', () => {
    const files = new Map(sources(/\.ts$/, 'lib/watch').map((path) => [path, textOf(path)]));
    assert.ok(files.size > 50 && PUBLIC.every((path) => files.has(path)));
    assert.deepEqual(largePorts(files), []);
  });
});
