// The imports that ARCHITECTURE.md allows, and the mechanisms that exist once. .oxlintrc.json has all other rules.
import js from '@eslint/js';
import * as parser from '@typescript-eslint/parser';
import { defineConfig, globalIgnores } from 'eslint/config';

/** From the bottom up: a folder imports itself and what stands before it, never what stands after it. */
const layers = {
  lib: [
    ['words'],
    ['rules'],
    ['service'],
    ['time', 'events'],
    ['http'],
    ['files', 'state'],
    ['postgres'],
    ['sign-in'],
    ['account', 'metrics'],
    ['action', 'request', 'upload', 'watch'],
    ['toolpath'],
    ['control', 'library', 'picture', 'print', 'report'],
    ['query', 'connection'],
    ['queue'],
    ['web'],
    ['board', 'home-assistant', 'assistant'],
  ],
  simulator: [['http'], ['world'], ['wire'], ['auth', 'storage'], ['api'], ['control']],
};

/** From the bottom up inside one folder of lib/. The last floor is the facade: files of the folder itself. */
const floors = {
  queue: [['model'], ['records'], ['plan'], ['view'], ['run'], ['board'], ['print-queue']],
  watch: [['checkpoints'], ['polling'], ['replication'], ['views'], ['watcher']],
};

const outside = {
  lib: {
    regex: '^(\\.\\./)+(nodes|simulator)(/|$)|^node-red(/|$)',
    message: 'lib/ knows nothing of Node-RED and of the simulator.',
  },
  simulator: {
    regex: '^(\\.\\./)+(lib|nodes)(/|$)|^node-red(/|$)',
    message: 'The simulator stands alone, so that it can prove the pack wrong.',
  },
};

/** Forbids the PostgreSQL part of the state, except where it is opened. */
const database = {
  regex: '^(\\.\\./|\\./)+(lib/)?postgres/',
  message:
    'Only lib/state-cli.ts and nodes/shared/saved-state.ts open the database. Everything else uses a StateStore.',
};

/** Forbids a folder of lib/ or of simulator/ to import the layers above it. */
const upward = (/** @type {keyof typeof layers} */ part, /** @type {string} */ folder) => {
  const at = layers[part].findIndex((folders) => folders.includes(folder));
  const above = layers[part].slice(at + 1).flat();
  const pattern = {
    // The limits are bare numbers, which every layer obeys.
    regex: `^(\\.\\./)+(${part}/)?(?!rules/limits$)(${above.join('|')})(/|$)`,
    message: `Inside ${part}/ imports go down the layers of ARCHITECTURE.md.`,
  };
  const patterns = part === 'lib' && folder !== 'postgres' ? [outside[part], database] : [outside[part]];
  return above.length > 0 ? [...patterns, pattern] : patterns;
};

/** Forbidden imports of lib/ and of simulator/. */
const arrows = (/** @type {keyof typeof layers} */ part) => [
  { files: [`${part}/**/*.ts`], rules: { 'no-restricted-imports': ['error', { patterns: [outside[part]] }] } },
  ...layers[part].flat().map((folder) => ({
    files: [`${part}/${folder}/**/*.ts`],
    rules: { 'no-restricted-imports': ['error', { patterns: upward(part, folder) }] },
  })),
];

/** Forbidden imports of the floors of one folder of lib/. */
const stairs = (/** @type {keyof typeof floors} */ folder) =>
  floors[folder].slice(0, -1).flatMap((names, at) => {
    const above = {
      regex: `^(\\.\\./)+(${folder}/)?(${floors[folder]
        .slice(at + 1)
        .flat()
        .join('|')})(/|$)`,
      message: `Inside lib/${folder}/ imports go down the floors of ARCHITECTURE.md.`,
    };
    return names.map((name) => ({
      files: [`lib/${folder}/${name}/**/*.ts`, `lib/${folder}/${name}.ts`],
      rules: { 'no-restricted-imports': ['error', { patterns: [...upward('lib', folder), above] }] },
    }));
  });

/** Files that may import the PostgreSQL part. */
const composition = ['lib/postgres/**', 'lib/state-cli.ts', 'nodes/shared/saved-state.ts'];
/** Covers the modules that are loaded on demand. */
const databaseOnDemand = {
  selector: `CallExpression[callee.name="require"] > Literal[value=/${database.regex.replaceAll('/', '\\/')}/]`,
  message: database.message,
};

/** What the editor page gives to a node's script. */
const browser = [
  'RED',
  '$',
  'window',
  'document',
  'location',
  'navigator',
  'console',
  'URL',
  'fetch',
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
];
const globals = (/** @type {string[]} */ names) => Object.fromEntries(names.map((name) => [name, 'readonly']));

export default defineConfig(
  globalIgnores(['dist/', 'resources/', 'coverage/', 'matrix/', '.demo/', '.dev/', '.cache/']),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  { files: ['**/*.{ts,tsx}'], languageOptions: { parser } },
  ...arrows('lib'),
  { files: ['lib/client.ts'], rules: { 'no-restricted-imports': ['error', { patterns: [outside.lib, database] }] } },
  ...stairs('queue'),
  ...stairs('watch'),
  ...arrows('simulator'),
  {
    files: ['lib/**/*.ts', 'nodes/**/*.ts'],
    ignores: composition,
    rules: { 'no-restricted-syntax': ['error', databaseOnDemand] },
  },
  {
    files: ['lib/rules/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '^(?!\\./|\\.\\./words/)',
              message: 'The rules are built into the editor too: they import nothing but words.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['editor/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '^\\.\\./(?!lib/rules/)|^node:',
              message: 'The browser gets editor/ and lib/rules, nothing else.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['board/**/*.{ts,tsx}'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '^\\.\\./(?!lib/board/shapes$)|^node:',
              message: 'The page gets board/ and the shapes of what it shows, nothing else.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['lib/**/*.ts'],
    ignores: ['lib/time/**'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['setTimeout', 'setInterval', 'performance'].map((name) => ({
          name,
          message: 'Time is injected: use lib/time/clock.',
        })),
      ],
    },
  },
  {
    files: ['nodes/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            database,
            { regex: '^(\\.\\./)+simulator/(?!index$).', message: 'Only simulator/index is public.' },
          ],
        },
      ],
    },
  },
  {
    // Inlined into the html of the editor, which runs it as a script.
    files: ['nodes/*/form.js'],
    ...js.configs.recommended,
    languageOptions: { sourceType: 'commonjs', ecmaVersion: 2022, globals: globals([...browser, 'RemotePrinting']) },
  },
);
