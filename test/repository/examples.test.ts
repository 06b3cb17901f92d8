import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import vm from 'node:vm';
import { readNodes } from '../../scripts/nodes.mjs';
import { root } from '../helpers/sources';

interface FlowNode {
  id: string;
  type: string;
  name?: string;
  label?: string;
  env?: { name: string }[];
  z?: string;
  info?: string;
  y?: number;
  wires?: string[][];
  outputs?: number;
  account?: string;
  queue?: string;
  func?: string;
  initialize?: string;
  finalize?: string;
  modules?: Record<string, string>;
  scope?: string[] | null;
  rules?: { v?: string; to?: string }[];
}

/** Other packs that examples need and their comments name, with the node types of each. */
const OTHER_PACKS: Record<string, { pack: string; types: RegExp }> = {
  '05-wall-dashboard.json': { pack: '@flowfuse/node-red-dashboard', types: /^ui-/ },
};

/** Most lines of a function node: an example is read before it is trusted. */
const LINES = 15;

const folder = join(root, 'examples');
const files = readdirSync(folder).sort();
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  'node-red': { nodes: Record<string, string> };
};
const { dependencies: tested } = JSON.parse(readFileSync(join(root, 'matrix/package.json'), 'utf8')) as {
  dependencies: Record<string, string>;
};
const ours = Object.keys(manifest['node-red'].nodes);
const known = new Set(['tab', ...coreTypes(), ...ours]);

/** The types that Node-RED's own nodes register. */
function coreTypes(): string[] {
  const core = join(dirname(require.resolve('@node-red/nodes/package.json')), 'core');
  return readdirSync(core, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.html') && !file.includes('locales'))
    .flatMap((file) => [
      ...readFileSync(join(core, file), 'utf8').matchAll(/RED\.nodes\.registerType\(\s*['"]([^'"]+)['"]/g),
    ])
    .map(([, type]) => type!);
}

/** Nodes that docs/recipes.md explains for all examples, and those that only pass a message on. */
const PLAIN = /^(tab|comment|debug|link (in|out)|http response)$/;

/** Names of the pack's nodes in the palette. */
const labels = new Map(readNodes().map(({ type, texts }) => [type, texts.paletteLabel?.['en-US']]));

/** A node without an account of its own. */
const QUEUED = 'remote-printing-print-queue';

/** What an expression of an example gives for a message, as Node-RED evaluates it. */
function evaluated(expression: string, msg: object): Promise<unknown> {
  const { util } = createRequire(__filename)('@node-red/util') as { util: JsonataOfNodeRed };
  return new Promise((resolve, reject) => {
    const prepared = util.prepareJSONataExpression(expression, {});
    util.evaluateJSONataExpression(prepared, msg, (error, value) => (error ? reject(error) : resolve(value)));
  });
}

interface JsonataOfNodeRed {
  prepareJSONataExpression: (expression: string, node: object) => object;
  evaluateJSONataExpression: (
    prepared: object,
    msg: object,
    done: (error: Error | null, value: unknown) => void,
  ) => void;
}

const load = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as FlowNode[];
const accountOf = (nodes: FlowNode[]) => nodes.filter(({ type }) => type === 'remote-printing-account');
const isConfig = ({ type, z }: FlowNode) => type !== 'tab' && z === undefined;

describe('examples', () => {
  const rulesOf = (file: string, name: string) =>
    load(file).find((node) => node.name === name)?.rules ?? assert.fail(name);

  it('tries a dropped file again whose upload broke, and no file that the store refuses', async () => {
    const [{ v: rule = '' } = {}] = rulesOf('04-drop-folder.json', 'another try?');
    const tried = (code: string, more: object = {}) => evaluated(rule, { error: { code }, ...more });
    for (const code of ['NOT_ACCEPTED', 'NETWORK', 'TIMEOUT', 'RATE_LIMITED', 'NOT_SIGNED_IN', 'UPLOAD_FAILED'])
      assert.equal(await tried(code), true, code);
    assert.equal(await tried('UPLOAD_FAILED', { statusCode: 503 }), true);
    assert.equal(await tried('UPLOAD_FAILED', { statusCode: 413 }), false);
    assert.equal(await tried('PRINT_OUTCOME_UNKNOWN'), false);
  });

  it("dates the weekly report by the days of the runtime's time zone", async () => {
    const before = process.env.TZ;
    process.env.TZ = 'Asia/Tokyo';
    try {
      const [{ to = '' } = {}] = rulesOf('07-log-of-prints-and-weekly-report.json', 'the subject');
      const msg = { payload: { prints: 3 }, from: '2026-11-22T22:00:00.000Z', to: '2026-11-29T22:00:00.000Z' };
      assert.equal(await evaluated(to, msg), '3 prints, 2026-11-23 to 2026-11-30');
    } finally {
      if (before === undefined) delete process.env.TZ;
      else process.env.TZ = before;
    }
  });

  it('has numbered files that share one account and other configuration nodes, but no node of a tab', () => {
    for (const file of files) assert.match(file, /^\d\d-[a-z0-9-]+\.json$/);
    const numbers = files.map((file) => file.slice(0, 2));
    assert.deepEqual(numbers, [...new Set(numbers)]);
    const [account] = accountOf(load(files[0]!));
    for (const file of files) assert.deepEqual(accountOf(load(file)), [account], file);
    const configs = new Map<string, FlowNode>();
    const ids = new Set<string>();
    for (const file of files)
      for (const node of load(file)) {
        if (isConfig(node)) assert.deepEqual(configs.get(node.id) ?? node, node, `${file}: ${node.name}`);
        else assert.ok(!ids.has(node.id), `${file}: ${node.name}`);
        if (isConfig(node)) configs.set(node.id, node);
        else ids.add(node.id);
      }
  });

  for (const file of files) {
    describe(file, () => {
      const nodes = load(file);
      const byId = new Map(nodes.map((node) => [node.id, node]));

      it('has one tab and a comment that describes it', () => {
        assert.equal(nodes.filter(({ type }) => type === 'tab').length, 1);
        assert.ok(nodes.some(({ type, info }) => type === 'comment' && info));
      });

      it('contains only core nodes, nodes of the pack and nodes that its comment names', () => {
        const others = nodes.map(({ type }) => type).filter((type) => !known.has(type));
        const { pack, types } = OTHER_PACKS[file] ?? {};
        assert.deepEqual(
          others.filter((type) => !types?.test(type)),
          [],
        );
        if (!pack) return;
        assert.ok(
          nodes.some(({ info }) => info?.includes(`\`${pack}\``)),
          'the comment names the pack',
        );
        assert.ok(nodes[0]?.label?.endsWith(`(needs ${pack})`), 'the title names the pack');
      });

      it('lets the editor offer to install other packs, in the versions of the tests', () => {
        const { pack } = OTHER_PACKS[file] ?? {};
        const offered = nodes.flatMap(({ type, modules }) => (type === 'global-config' ? [modules] : []));
        assert.deepEqual(offered, pack ? [{ [pack]: tested[pack] }] : []);
      });

      it('has its settings in the tab, and names each of them in its comment', () => {
        const [{ env = [] } = assert.fail()] = nodes;
        const info = nodes.map(({ type, info }) => (type === 'comment' ? info : '')).join('\n');
        if (env.length > 0) assert.match(info, /\*Environment Variables\*/);
        for (const { name } of env) assert.match(info, new RegExp(`\\b${name}\\b`));
      });

      it('is wired only to its own nodes and uses the shared account', () => {
        const [account] = accountOf(nodes);
        for (const { name, type, z, wires = [], scope, account: used, queue } of nodes) {
          const watched = type === 'catch' ? (scope ?? []) : [];
          for (const id of [...wires.flat(), ...watched, ...(z ? [z] : [])]) assert.ok(byId.has(id), name);
          if (type === QUEUED || queue) assert.equal(byId.get(queue ?? '')?.type, 'remote-printing-queue', name);
          else if (ours.includes(type) && type !== 'remote-printing-account') assert.equal(used, account!.id, name);
        }
        for (const { name, outputs, wires = [] } of nodes)
          if (outputs !== undefined) assert.ok(wires.length <= outputs, name);
      });

      it('names each of its nodes, and no other, in the reasons of its comment', () => {
        const reasons = nodes.flatMap(({ info }) => /^Why these nodes:\n((?:- .*\n?)+)/m.exec(info ?? '')?.[1] ?? []);
        assert.equal(reasons.length, 1);
        const nameOf = ({ name, type }: FlowNode): string => name || (labels.get(type) ?? type);
        const tried = nodes.find(({ type, name }) => type === 'comment' && name?.startsWith('Try it'))?.y ?? Infinity;
        const used = nodes.filter(({ type, y }) => y !== undefined && y < tried && !PLAIN.test(type)).map(nameOf);
        for (const reason of reasons) {
          const explained = [...reason.matchAll(/\*([^*]+)\*/g)].map(([, name = '']) => name);
          const missing = used.filter((name) => !explained.includes(name) && !/^(errors|catch)$/.test(name));
          assert.deepEqual(missing, [], 'have no reason');
          const names = nodes.map(nameOf);
          assert.deepEqual(
            explained.filter((name) => !names.includes(name)),
            [],
            'are no nodes',
          );
        }
      });

      it(`has functions of at most ${LINES} lines`, () => {
        for (const { name, func, initialize, finalize } of nodes)
          for (const code of [func, initialize, finalize])
            assert.ok((code ?? '').trim().split('\n').length <= LINES, name);
      });

      it('has readable code', () => {
        for (const { name = '', func } of nodes)
          if (func !== undefined) assert.doesNotThrow(() => new vm.Script(`(async function () {\n${func}\n})`), name);
      });
    });
  }
});
