import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';

import type { AnswerKind, NeedKind } from '../../lib/board/shapes';
import type { AttemptState, ItemState } from '../../lib/queue/model/types';
import type { JobState } from '../../lib/service/job-words';
import { OVERRIDABLE_CALLS } from '../../lib/rules/paths';
import { BLOCKED_BY } from '../../nodes/print-queue/queue-text';
import { readCatalogue } from '../../nodes/shared/language';
import { forms } from '../../scripts/form.mjs';
import { root } from '../../scripts/node-red.mjs';
import { catalogue, languages as languagesOf, readNodes, sentenceLists } from '../../scripts/nodes.mjs';

const nodes = join(root, 'nodes');
const read = (...path: string[]) => readFileSync(join(...path), 'utf8');
const sourcesOf = new Map(readNodes().map((node) => [node.type, node]));
const types = [...sourcesOf.keys()];
const languages = languagesOf();
const nodeOf = (type: string) => sourcesOf.get(type) ?? assert.fail(type);
const html = forms([...sourcesOf.values()]);
const htmlOf = (type: string) => html.get(type) ?? assert.fail(type);
const account = 'remote-printing-account';
/** Prefix of the keys in the account's catalogue that all nodes share. */
const SHARED = `@remote-printing/node-red-remote-printing/${account}:`;

/** States of a print in the history. */
type EndedPrint = Exclude<AttemptState, 'assigned' | 'dispatched' | 'printing'>;

type Texts = Map<string, string>;

/** All texts of a catalogue, by their keys. */
function textsOf(catalogue: object, above = ''): Texts {
  const texts: Texts = new Map();
  for (const [key, value] of Object.entries(catalogue) as [string, string | object][]) {
    if (typeof value === 'string') texts.set(above + key, value);
    else for (const [below, text] of textsOf(value, `${above}${key}.`)) texts.set(below, text);
  }
  return texts;
}

const others = languages.filter((language) => language !== 'en-US');
const readTexts = (language: string, type: string) => textsOf(catalogue(nodeOf(type), language));
const readSentences = (language: string) =>
  new Map(Object.entries(JSON.parse(read(nodes, 'locales', language, 'sentences.json')) as Record<string, string>));
const english = new Map(types.map((type) => [type, readTexts('en-US', type)]));
const englishOf = (type: string): Texts => english.get(type) ?? assert.fail(type);

const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, key = '']) => key);
const formKeys = (html: string) =>
  all(html, /data-i18n="([^"]*)"/g)
    .flatMap((value) => value.split(';'))
    .map((key) => key.replace(/^\[[^\]]*\]/, ''));
const scriptKeys = (script: string) => all(script, /\b_\(\s*'([^']+)'/g);
/** English text of a key, as a form of this type resolves it. */
const textOf = (key: string, type: string) =>
  key.startsWith(SHARED) ? englishOf(account).get(key.slice(SHARED.length)) : englishOf(type).get(key);
const missing = (keys: string[], type: string) => keys.filter((key) => textOf(key, type) === undefined);
/** Status keys that have no text, neither of the node type nor shared. */
const missingStatus = (keys: string[], type: string) =>
  keys.filter((key) => (textOf(key, type) ?? textOf(SHARED + key, type)) === undefined);

/** Module of a node and its direct and indirect imports from nodes/. */
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
    it(`has every text that the form of ${type} uses`, () => {
      const html = htmlOf(type);
      const keys = [...formKeys(html), ...scriptKeys(html)];
      assert.ok(keys.length > 0);
      assert.deepEqual(missing(keys, type), []);
    });

    it(`has every text that the runtime of ${type} uses`, () => {
      const own = join(nodes, nodeOf(type).name, 'node.ts');
      const files = runtimeOf(own);
      assert.ok(files.length > 3);
      const statusKeys = files.flatMap((file) => all(read(file), /\bkey: '([^']+)'/g)).map((key) => `status.${key}`);
      assert.deepEqual([...missing(scriptKeys(read(own)), type), ...missingStatus(statusKeys, type)], []);
    });

    it(`has error texts of ${type} for exactly the errors that its help explains`, () => {
      const { help } = nodeOf(type);
      const explained = all(help, /<dt>([A-Z_, ]+)<\/dt>/g).flatMap((codes) => codes.split(', '));
      const errors = explained.map((code) => `status.error.${code}`);
      assert.deepEqual(missingStatus(errors, type), []);
      if (type === account) return;
      const own = [...englishOf(type).keys()].filter((key) => key.startsWith('status.error.'));
      assert.deepEqual(
        own.filter((key) => !errors.includes(key)),
        [],
      );
    });

    it(`has a help text of ${type} with every property of its form`, () => {
      const { help } = nodeOf(type);
      assert.match(help, new RegExp(`data-help-name="${type}"`));
      const labels = formKeys(htmlOf(type)).filter((key) => /(^|:)label\./.test(key));
      const said = help.replace(/\s+/g, ' ');
      const unsaid = labels
        .map((key) => textOf(key, type) ?? assert.fail(key))
        .filter((label) => !['Name', 'Address'].includes(label) && !said.includes(label.replace(/[:(].*/, '').trim()));
      assert.deepEqual(unsaid, []);
    });

    it(`has a help text of ${type} with every required part and one example`, () => {
      const { help } = nodeOf(type);
      const parts =
        nodeOf(type).definition.outputs === undefined
          ? ['Properties', 'Example']
          : ['Properties', 'Inputs', 'Outputs', 'Example', 'Details'];
      const heads = all(help, /<h3>(.*)<\/h3>/g);
      assert.deepEqual(
        heads.filter((head) => parts.includes(head)),
        parts,
      );
      if (type !== account) assert.match(help, /<h4>Errors<\/h4>/);
    });

    it(`keeps the status texts of ${type} short`, () => {
      const values: Partial<Record<string, string>> = {
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
        name: 'fifteen letters',
      };
      for (const language of languages)
        for (const [key, text] of readTexts(language, type)) {
          if (!key.startsWith('status.')) continue;
          const shown = text.replace(/__(\w+)__/g, (placeholder, name: string) => values[name] ?? placeholder);
          assert.doesNotMatch(shown, /__/);
          assert.ok(shown.length <= 32, `${language}: '${shown}' has ${shown.length} characters`);
        }
    });
  }

  it("has every text that the forms share in the account's catalogue", () => {
    const sources = readdirSync(join(root, 'editor')).map((file) => read(root, 'editor', file));
    const keys = sources.flatMap((source) => all(source, /\btext\(\s*'([^']+)'/g));
    assert.ok(keys.length > 20);
    assert.deepEqual(missing(keys, account), []);
    const states = ['signed-out', 'sign-in-needed', 'unchecked'].map((state) => `state.${state}`);
    assert.deepEqual(missing(states, account), []);
  });

  it("has each text of several nodes only once, in the account's catalogue", () => {
    const said = types.flatMap((type) =>
      // Nodes and their ports may have the same names.
      [...englishOf(type)]
        .filter(([key]) => !/^(port|nodeLabel|paletteLabel)/.test(key))
        .map((pair) => pair.join(': ')),
    );
    assert.deepEqual(
      said.filter((text, index) => said.indexOf(text) !== index),
      [],
    );
  });

  it('names the stored job in the status of each node that may not find one', () => {
    for (const type of ['upload-and-print', 'print-queue']) {
      const text = englishOf(`remote-printing-${type}`).get('status.error.NOT_FOUND') ?? '';
      assert.match(text, /stored job/, type);
    }
  });

  it('has every text with a composed key', () => {
    const paths = Object.entries(OVERRIDABLE_CALLS).flatMap(([name, { sure }]) => [`name.${name}`, `known.${sure}`]);
    assert.deepEqual(
      missing(
        paths.map((key) => `path.${key}`),
        account,
      ),
      [],
    );
    const ofSelect = (type: string, name: string) => {
      const select = new RegExp(`id="node-input-${name}"[\\s\\S]*?</select>`).exec(htmlOf(type));
      return all(select?.[0] ?? assert.fail(), /<option value="([^"]+)"/g);
    };
    const labels = ofSelect('remote-printing-library-file', 'operation').map((name) => `nodeLabel.${name}`);
    assert.deepEqual(missing(labels, 'remote-printing-library-file'), []);
    const actions = ofSelect('remote-printing-print-queue', 'action').filter((name) => name !== 'msg.action');
    const composed = [
      ...actions.map((name) => `nodeLabel.${name}`),
      ...Object.keys(BLOCKED_BY).map((code) => `status.blockedBy.${code}`),
    ];
    assert.deepEqual(missing(composed, 'remote-printing-print-queue'), []);
    const queries = ofSelect('remote-printing-query', 'query').map((name) => `query.${name}`);
    assert.deepEqual(missing(queries, 'remote-printing-query'), []);
  });

  it('has exactly the texts that the page of a print board uses', () => {
    const folder = join(root, 'board');
    const sources = readdirSync(folder).filter((name) => /\.tsx?$/.test(name));
    const source = sources.map((name) => read(folder, name)).join('\n');
    const item: Record<ItemState, true> = {
      ...{ active: true, waiting: true, held: true, blocked: true, failed: true, finished: true, cancelled: true },
    };
    const print: Record<EndedPrint, true> = {
      ...{ finished: true, rejected: true, failed: true, aborted: true, recalled: true, unknown: true },
    };
    const job: Record<JobState, true> = {
      ...{ waiting: true, approval: true, attention: true, preparing: true, printing: true, paused: true },
      ...{ finishing: true, finished: true, failed: true, aborted: true, unknown: true },
    };
    const need: Record<Exclude<NeedKind, 'sign-in'>, true> = {
      ...{ plate: true, unknown: true, blocked: true, failed: true, offline: true, fault: true, material: true },
    };
    const answer: Record<AnswerKind, true> = {
      ...{ good: true, bad: true, clear: true, printed: true, notPrinted: true, printOn: true, printAnyway: true },
      ...{ remove: true, again: true },
    };
    const done = all(source, /\b(?:onPrint\('[^']+', |done\()'(\w+)'/g);
    const columns = all(/\{\[([^\]]+)\]\.map\(\(name\) => \(\s*<th/.exec(source)?.[1] ?? assert.fail(), /'(\w+)'/g);
    const used = [
      ...all(source, /\bt\(([^,)]+)/g).flatMap((argument) => all(argument, /'([\w.]+)'/g)),
      ...Object.entries({ item, print, job }).flatMap(([kind, words]) =>
        Object.keys(words).map((key) => `${kind}.${key}`),
      ),
      ...[...Object.keys(need), ...Object.keys(answer), ...done].map((key) => `a11y.${key}`),
      ...Object.keys(answer).map((key) => `answer.${key}`),
      ...columns.map((key) => `column.${key}`),
    ];
    const known = [...englishOf('remote-printing-board').keys()].filter((key) => key.startsWith('board.'));
    assert.deepEqual([...new Set(used.map((key) => `board.${key}`))].sort(), known.sort());
  });

  it('names the language of each catalogue', () => {
    for (const language of languages) assert.equal(readTexts(language, account).get('language'), language);
  });

  describe('the catalogue of sentences', () => {
    const written = sentences();

    it('includes exactly those in the code', () => {
      assert.ok(written.size > 250);
      for (const language of others) {
        const known = readSentences(language);
        const lacking = [...written].filter((pattern) => !known.has(pattern));
        const unused = [...known.keys()].filter((pattern) => !written.has(pattern));
        assert.deepEqual({ language, lacking, unused }, { language, lacking: [], unused: [] });
      }
    });

    it('is read from the lists of the package as from a checkout', () => {
      const folder = mkdtempSync(join(tmpdir(), 'locales-'));
      try {
        for (const [language, list] of sentenceLists()) {
          mkdirSync(join(folder, language));
          writeFileSync(join(folder, language, 'sentences.json'), JSON.stringify(list));
        }
        for (const language of others)
          assert.deepEqual(Object.entries(readCatalogue(language, folder)).sort(), [...readSentences(language)].sort());
      } finally {
        rmSync(folder, { recursive: true });
      }
    });

    it('lets only the template and stored grants create a sentence', () => {
      const made = sources().filter((file) => read(root, file).includes('new Sentence('));
      assert.deepEqual(made, ['lib/sign-in/grant.ts', 'lib/words/sentence.ts']);
    });
  });

  for (const language of others) {
    describe(`in ${language}`, () => {
      const catalogues = types.map((type) => ({ type, from: englishOf(type), to: readTexts(language, type) }));
      const known = readSentences(language);
      const pairs = [
        ...catalogues.flatMap(({ type, from, to }) =>
          [...from].map(([key, text]) => ({ key: `${type}: ${key}`, text, said: to.get(key) ?? '' })),
        ),
        ...[...known].map(([pattern, said]) => ({ key: 'sentences', text: pattern, said })),
      ];

      it('has the same keys', () => {
        for (const { from, to } of catalogues) assert.deepEqual([...to.keys()], [...from.keys()]);
      });

      it('has the same placeholders', () => {
        const gaps = (text: string) => (text.match(/__\w+__|\{\w+\}/g) ?? []).sort();
        for (const { text, said } of pairs) assert.deepEqual(gaps(said), gaps(text), said);
      });

      it('keeps names of properties, examples and addresses unchanged', () => {
        const fixed =
          /msg\.\w+|https?:\/\/[\w.:/]*\w|\/[a-z]+\/v\d[\w/]*|\{"status":"in_progress"\}|"GET [^"]*"|\b\d{4}-\d\d-\d\d\w*/g;
        for (const { text, said } of pairs)
          for (const part of text.match(fixed) ?? []) assert.ok(said.includes(part), `${part} is not in: ${said}`);
      });

      it('leaves no text in English', () => {
        const left = pairs.filter(({ text, said }) => text === said && !isSame(language, text));
        assert.deepEqual(
          left.map(({ key, text }) => `${key}: ${text}`),
          [],
        );
      });

      it('has no blank text', () => {
        for (const { key, said } of pairs) assert.notEqual(said.trim(), '', key);
      });
    });
  }
});

/** Words that a language borrowed from English or shares with it. */
const SAME: Partial<Record<string, string[]>> = {
  de: [
    ...['Name', 'Material', 'Scopes', 'Origin', 'Filter', 'Simulator', 'online', 'offline', 'Hosts', 'Token'],
    ...['Offline: {printer}', 'Material: {material}', 'Firmware {version}', 'Firmware', 'Material {0}'],
  ],
  'es-ES': [
    ...['Material', 'Hosts', 'Token', 'Material: {material}', 'Firmware {version}', 'Firmware', 'Material {0}'],
  ],
  nl: [
    ...['Scopes', 'Origin', 'Filter', 'Simulator', 'Account', 'Query', 'Printer', 'Printers', 'printer {0}…'],
    ...['online', 'offline', 'printer offline', 'status', 'info', 'Hosts', 'Token', 'Deadline', 'Item'],
    ...['Offline: {printer}', 'deadline {at}', 'Firmware {version}', 'Firmware'],
  ],
  fr: [
    ...['Service', 'Source', 'Description', 'Action', 'action', 'minutes', 'question', 'Messages', 'Maintenance'],
    ...['{item}, place {n}'],
  ],
};
/** Whether a text needs no translation: it has only placeholders, addresses, units and shared words. */
function isSame(language: string, text: string): boolean {
  const words = text.replace(/__\w+__|\{\d+\}|https?:\/\/\S+|msg\.\w+|farm\.example\.org|\{\w+\} (min|h)\b/g, '');
  return !/[a-z]{2}/.test(words) || (SAME[language] ?? []).includes(text);
}

function sources(): string[] {
  return ['lib', 'nodes'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => relative(root, join(root, folder, file)))
      .sort(),
  );
}

/** Patterns of all sentences in the code that contain words. */
function sentences(): Set<string> {
  const found = new Set<string>();
  for (const file of sources()) {
    const visit = (node: ts.Node): void => {
      if (ts.isTaggedTemplateExpression(node) && node.tag.getText() === 'phrase') found.add(patternOf(node.template));
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(file, read(root, file), ts.ScriptTarget.Latest, true));
  }
  return new Set([...found].filter((pattern) => /\p{L}/u.test(pattern)));
}

function patternOf(template: ts.TemplateLiteral): string {
  if (ts.isNoSubstitutionTemplateLiteral(template)) return template.text;
  return template.templateSpans.reduce(
    (pattern, { literal }, at) => `${pattern}{${at}}${literal.text}`,
    template.head.text,
  );
}
