import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { root } from '../../scripts/node-red.mjs';

const nodes = join(root, 'nodes');
const read = (...path: string[]) => readFileSync(join(...path), 'utf8');
const types = readdirSync(nodes).flatMap((file) => (file.endsWith('.html') ? [file.slice(0, -'.html'.length)] : []));
const account = 'remote-printing-account';

/** All keys of a catalogue that end in a text. */
function keysOf(catalogue: object, above = ''): string[] {
  return Object.entries(catalogue).flatMap(([key, value]: [string, unknown]) =>
    typeof value === 'string' ? [above + key] : keysOf(value as object, `${above}${key}.`),
  );
}

const catalogues = new Map(
  types.map((type) => [type, keysOf(JSON.parse(read(nodes, 'locales', 'en-US', `${type}.json`)) as object)]),
);
const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, key = '']) => key);
const formKeys = (html: string) =>
  all(html, /data-i18n="([^"]*)"/g)
    .flatMap((value) => value.split(';'))
    .map((key) => key.replace(/^\[[^\]]*\]/, ''));
const scriptKeys = (script: string) => all(script, /\b_\(\s*'([^']+)'/g);
const missing = (keys: string[], type: string) => keys.filter((key) => !catalogues.get(type)?.includes(key));

/** A node's module and what it takes from nodes/, by way of each other too. */
function runtimeOf(file: string, found = new Set<string>()): string[] {
  if (!found.has(file)) {
    found.add(file);
    const imports = all(read(file), /(?:from |require\()'(\.\.?\/[^']+)'/g).map((path) => join(dirname(file), path));
    for (const path of imports) {
      const module = [`${path}.ts`, join(path, 'index.ts')].find((one) => existsSync(one));
      if (module?.startsWith(nodes)) runtimeOf(module, found);
    }
  }
  return [...found];
}

describe('locales', () => {
  for (const type of types) {
    it(`${type} has every text that its form names`, () => {
      const html = read(nodes, `${type}.html`);
      const keys = [...formKeys(html), ...scriptKeys(html)];
      assert.ok(keys.length > 0);
      assert.deepEqual(missing(keys, type), []);
    });

    it(`${type} has every text that its runtime names`, () => {
      const own = join(nodes, 'types', `${type.replace('remote-printing-', '')}.ts`);
      const files = runtimeOf(join(nodes, `${type}.ts`));
      assert.ok(files.includes(own));
      const statusKeys = files.flatMap((file) => all(read(file), /\bkey: '([^']+)'/g)).map((key) => `status.${key}`);
      assert.deepEqual(missing([...scriptKeys(read(own)), ...statusKeys], type), []);
    });

    it(`${type} explains in its help each error that it has a text for`, () => {
      const help = read(nodes, 'locales', 'en-US', `${type}.html`);
      const explained = all(help, /<dt>([A-Z_, ]+)<\/dt>/g).flatMap((codes) => codes.split(', '));
      const errors = catalogues.get(type)?.filter((key) => key.startsWith('status.error.')) ?? [];
      assert.deepEqual(explained.map((code) => `status.error.${code}`).sort(), errors.sort());
    });

    it(`${type} has a help text, with every property of its form in it`, () => {
      const help = read(nodes, 'locales', 'en-US', `${type}.html`);
      assert.match(help, new RegExp(`data-help-name="${type}"`));
      const labels = formKeys(read(nodes, `${type}.html`)).filter((key) => key.startsWith('label.'));
      const catalogue = JSON.parse(read(nodes, 'locales', 'en-US', `${type}.json`)) as {
        label: Record<string, string>;
      };
      const said = help.replace(/\s+/g, ' ');
      const unsaid = labels
        .map((key) => catalogue.label[key.slice('label.'.length)] ?? assert.fail(key))
        .filter((label) => !['Name', 'Address'].includes(label) && !said.includes(label.replace(/[:(].*/, '').trim()));
      assert.deepEqual(unsaid, []);
    });

    it(`${type} has a help text with each of its parts, and one example`, () => {
      const help = read(nodes, 'locales', 'en-US', `${type}.html`);
      const parts =
        type === account ? ['Properties', 'Example'] : ['Properties', 'Inputs', 'Outputs', 'Example', 'Details'];
      const heads = all(help, /<h3>(.*)<\/h3>/g);
      assert.deepEqual(
        heads.filter((head) => parts.includes(head)),
        parts,
      );
      if (type !== account) assert.match(help, /<h4>Errors<\/h4>/);
    });

    it(`${type} keeps its status texts short`, () => {
      const { status = {} } = JSON.parse(read(nodes, 'locales', 'en-US', `${type}.json`)) as { status?: object };
      const values = {
        percent: '99',
        left: '12 h 34 min',
        rate: '12 MB/s',
        since: '12:34',
        at: '12:34',
        online: '12',
        total: '99',
        rows: '1000000',
        count: '100',
        ahead: '9',
        action: 'twelve signs',
      };
      for (const text of textsOf(status)) {
        const shown = text.replace(
          /__(\w+)__/g,
          (placeholder, name) => (values as Partial<Record<string, string>>)[name] ?? placeholder,
        );
        assert.doesNotMatch(shown, /__/);
        assert.ok(shown.length <= 32, `'${shown}' has ${shown.length} characters`);
      }
    });
  }

  it('the forms share texts that the account has', () => {
    const sources = readdirSync(join(root, 'editor')).map((file) => read(root, 'editor', file));
    const keys = sources.flatMap((source) => all(source, /\btext\(\s*'([^']+)'/g));
    assert.ok(keys.length > 20);
    assert.deepEqual(missing(keys, account), []);
    const states = ['signed-out', 'sign-in-needed', 'unchecked'].map((state) => `state.${state}`);
    assert.deepEqual(missing(states, account), []);
  });
});

function textsOf(catalogue: object): string[] {
  return Object.values(catalogue).flatMap((value: unknown) =>
    typeof value === 'string' ? [value] : textsOf(value as object),
  );
}
