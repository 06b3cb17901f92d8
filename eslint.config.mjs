import js from '@eslint/js';
import tseslint from 'typescript-eslint';

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
    ['account'],
    ['action', 'request', 'upload', 'watch'],
    ['control', 'library', 'picture', 'print', 'report'],
    ['query', 'connection'],
  ],
  simulator: [['http'], ['world'], ['wire'], ['auth', 'storage'], ['api'], ['control']],
};

/** From the bottom up inside one folder of lib/. The last floor is the facade: files of the folder itself. */
const floors = {
  watch: [['checkpoints'], ['polling'], ['replication'], ['views'], ['watcher', 'watch-types']],
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
      files: [`lib/${folder}/${name}/**/*.ts`],
      rules: { 'no-restricted-imports': ['error', { patterns: [...upward('lib', folder), above] }] },
    }));
  });

/** The loop and the timer themselves, and code that plans its own waits: turns of polls, leases, pauses. */
const schedulers = [
  'lib/time/{retry-until,retry-timer}.ts',
  'lib/http/retry.ts',
  'lib/sign-in/{refresh,renewal-failures}.ts',
  'lib/postgres/postgres-membership.ts',
  'lib/watch/polling/{poll-timing,vanished-job-resolver}.ts',
  'lib/watch/replication/service-reach.ts',
];
const loops = ':matches(DoWhileStatement, ForOfStatement, ForStatement, WhileStatement)';
const handwrittenLoops = [
  'ImportSpecifier[imported.name="waitBefore"]',
  `${loops} CallExpression[callee.name="sleep"]`,
  `${loops} CallExpression[callee.property.name="sleep"]`,
].map((selector) => ({
  selector,
  message:
    'One loop repeats work with growing waits, so that an abort, a deadline and Retry-After end or delay every repeat alike: use retryUntil or pollUntil of lib/time/retry-until. Background work uses RetryTimer of lib/time/retry-timer.',
}));

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
const node = [
  'process',
  'console',
  'Buffer',
  'URL',
  'fetch',
  'AbortSignal',
  'AbortController',
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'setImmediate',
  'performance',
  'FormData',
  'Blob',
  'require',
  'module',
  '__dirname',
];
const globals = (/** @type {string[]} */ names) => Object.fromEntries(names.map((name) => [name, 'readonly']));

export default tseslint.config(
  { ignores: ['dist/', 'resources/', 'coverage/', 'matrix/', '.demo/', '.dev/', '.cache/'] },
  js.configs.recommended,
  {
    rules: { eqeqeq: 'error', 'no-console': 'error', 'no-unused-vars': ['error', { argsIgnorePattern: '^_' }] },
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      '@typescript-eslint/no-misused-spread': 'off',
      // The sources have no enums, and these rules cost a fifth of the time.
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      '@typescript-eslint/no-unsafe-enum-comparison': 'off',
      // An interface that promises may be kept without waiting.
      '@typescript-eslint/require-await': 'off',
      // Says the opposite of no-non-null-assertion.
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      // A blank setting counts as missing, so || is often what is meant.
      '@typescript-eslint/prefer-nullish-coalescing': ['error', { ignorePrimitives: { string: true } }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // Node-RED's API is full of them: export =, import x = require(), constructors as functions.
      // And what not every flow needs is loaded on demand, at once: a node can't wait while it is made.
      '@typescript-eslint/no-require-imports': [
        'error',
        { allowAsImport: true, allow: ['^\\.', '^undici', '^pg$', '^write-file-atomic$'] },
      ],
    },
  },
  ...arrows('lib'),
  { files: ['lib/client.ts'], rules: { 'no-restricted-imports': ['error', { patterns: [outside.lib, database] }] } },
  ...stairs('watch'),
  ...arrows('simulator'),
  {
    files: ['lib/**/*.ts', 'nodes/**/*.ts'],
    ignores: composition,
    rules: { 'no-restricted-syntax': ['error', databaseOnDemand] },
  },
  {
    files: ['lib/**/*.ts'],
    ignores: [...composition, ...schedulers],
    rules: { 'no-restricted-syntax': ['error', databaseOnDemand, ...handwrittenLoops] },
  },
  {
    files: ['lib/postgres/**/*.ts', 'lib/state-cli.ts'],
    ignores: schedulers,
    rules: { 'no-restricted-syntax': ['error', ...handwrittenLoops] },
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
  { files: ['simulator/**/*.ts', 'bench/**/*.ts'], rules: { '@typescript-eslint/no-non-null-assertion': 'off' } },
  { files: ['simulator/cli.ts', 'bench/**', 'scripts/**', 'test/**'], rules: { 'no-console': 'off' } },
  {
    files: ['test/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'MemberExpression[object.name=/^(describe|context|it)$/][property.name=/^(only|skip)$/]',
          message: 'Every test runs.',
        },
      ],
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Both cost a quarter of the time, and a test may well use a deprecated function or an object that looks alike.
      '@typescript-eslint/no-deprecated': 'off',
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/no-base-to-string': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/no-unnecessary-condition': 'off',
    },
  },
  {
    files: ['**/*.mjs', '**/*.cjs'],
    languageOptions: { globals: globals(node) },
  },
  {
    // Inlined into the html of the editor, which runs it as a script.
    files: ['nodes/*/form.js'],
    languageOptions: { sourceType: 'commonjs', ecmaVersion: 2022, globals: globals([...browser, 'RemotePrinting']) },
  },
);
