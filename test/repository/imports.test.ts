import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { root, sources, textOf } from '../helpers/sources';

const MODULE = /\.(ts|mts|mjs|cjs|js)$/;

/** File that a relative import names; undefined for packages. */
function resolved(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const path = join(dirname(from), specifier).replaceAll('\\', '/');
  const candidates = [path, `${path}.ts`, `${path}/index.ts`, path.replace(/\.js$/, '.ts')];
  return candidates.find((file) => existsSync(join(root, file)) && statSync(join(root, file)).isFile());
}

/** Imports of a module: values and types, static and by `import()`. */
const importsOf = (path: string, text: string) =>
  ts.preProcessFile(text, true, true).importedFiles.flatMap(({ fileName }) => resolved(path, fileName) ?? []);

/** Each import cycle once, as a path. */
function circles(imports: Map<string, string[]>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const way: string[] = [];
  const visit = (path: string) => {
    const at = way.indexOf(path);
    if (at >= 0) found.push([...way.slice(at), path].join(' > '));
    if (at >= 0 || done.has(path)) return;
    way.push(path);
    for (const next of imports.get(path) ?? []) visit(next);
    way.pop();
    done.add(path);
  };
  for (const path of imports.keys()) visit(path);
  return found;
}

describe('the check of imports', () => {
  it('finds imports, including types and dynamic imports', () => {
    const text = `import { a } from './deadline'; import type { B } from './clock'; type C = import('./guard').C;
      export * from '../state/store'; const d = import('../http/http');`;
    assert.deepEqual(
      importsOf('lib/time/clock.ts', text).sort(),
      [
        'lib/http/http.ts',
        'lib/state/store.ts',
        'lib/time/clock.ts',
        'lib/time/deadline.ts',
        'lib/time/guard.ts',
      ].sort(),
    );
    const ring = new Map([
      ['a', ['b', 'c']],
      ['b', ['c']],
      ['c', ['a']],
    ]);
    assert.deepEqual(circles(ring), ['a > b > c > a']);
  });

  it('finds no cycle', () => {
    const files = sources(MODULE);
    const imports = new Map(files.map((path) => [path, importsOf(path, textOf(path))]));
    assert.ok([...imports.values()].flat().length > 1000);
    assert.deepEqual(circles(imports), []);
  });

  it('allows the private files of a package only if its version is pinned', () => {
    const { dependencies } = JSON.parse(textOf('package.json')) as { dependencies: Record<string, string> };
    const files = ['lib', 'nodes', 'simulator'].flatMap((folder) => sources(MODULE, folder));
    const loaded = files.flatMap((path) =>
      ts.preProcessFile(textOf(path), true, true).importedFiles.map(({ fileName }) => fileName),
    );
    const isPrivate = (name: string) =>
      loaded.some((file) => file.startsWith(`${name}/`)) &&
      !('exports' in (JSON.parse(textOf(`node_modules/${name}/package.json`)) as object));
    const versions = Object.entries(dependencies).filter(([name]) => isPrivate(name));
    assert.deepEqual(
      versions.map(([name]) => name),
      ['undici'],
    );
    for (const [name, version] of versions) assert.match(version, /^\d+\.\d+\.\d+$/, name);
  });
});
