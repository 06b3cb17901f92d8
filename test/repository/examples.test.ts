import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import vm from 'node:vm';
import { root } from '../helpers/sources';

interface FlowNode {
  id: string;
  type: string;
  name?: string;
  z?: string;
  x?: number;
  y?: number;
  info?: string;
  wires?: string[][];
  outputs?: number;
  account?: string;
  func?: string;
  scope?: string[] | null;
}
interface Placed extends FlowNode {
  x: number;
  y: number;
}

/** What fits into the editor beside its palette and sidebar on a common screen. */
const CANVAS = 1400;
const HEIGHT = 30;
/** The buttons of inject and debug nodes stand out. */
const BUTTON = 26;
/** Between two nodes, so that no status text touches the node below. */
const GAP = 5;

/** The one example that needs another pack, @flowfuse/node-red-dashboard. */
const DASHBOARD = '05-wall-dashboard.json';

const folder = join(root, 'examples');
const files = readdirSync(folder).sort();
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  'node-red': { nodes: Record<string, string> };
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

const isPlaced = (node: FlowNode): node is Placed => node.x !== undefined && node.y !== undefined;

/** As the editor reckons a node's width, from an average letter. */
function box({ name, type, x, y }: Placed) {
  const label = name ? name : type.replace('remote-printing-', '');
  const hasInput = !['inject', 'comment', 'catch', 'http in', 'mqtt in'].includes(type);
  const labelled = Math.max(100, 20 * Math.ceil((label.length * 7.2 + 50 + (hasInput ? 7 : 0)) / 20));
  const width = type.startsWith('link ') ? HEIGHT : labelled;
  return {
    left: x - width / 2 - (type === 'inject' ? BUTTON : 0),
    right: x + width / 2 + (type === 'debug' ? BUTTON : 0),
    top: y - HEIGHT / 2,
    bottom: y + HEIGHT / 2,
  };
}

const load = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as FlowNode[];
const accountOf = (nodes: FlowNode[]) => nodes.filter(({ type }) => type === 'remote-printing-account');

describe('examples', () => {
  it('are numbered, and share nothing but the account', () => {
    for (const file of files) assert.match(file, /^\d\d-[a-z0-9-]+\.json$/);
    const numbers = files.map((file) => file.slice(0, 2));
    assert.deepEqual(numbers, [...new Set(numbers)]);
    const [account] = accountOf(load(files[0]!));
    const ids = files.flatMap((file) => load(file).map(({ id }) => id)).filter((id) => id !== account!.id);
    assert.deepEqual(ids.length, new Set(ids).size);
    for (const file of files) assert.deepEqual(accountOf(load(file)), [account], file);
  });

  for (const file of files) {
    describe(file, () => {
      const nodes = load(file);
      const byId = new Map(nodes.map((node) => [node.id, node]));
      const placed = nodes.filter(isPlaced);

      it('has one tab, and a comment that says what it does', () => {
        assert.equal(nodes.filter(({ type }) => type === 'tab').length, 1);
        const comments = nodes.filter(({ type, info }) => type === 'comment' && (info ?? '').length > 60);
        assert.ok(comments.length > 0);
      });

      it('consists of nodes that everybody has', () => {
        const others = nodes.map(({ type }) => type).filter((type) => !known.has(type));
        const foreign = others.filter((type) => file !== DASHBOARD || !type.startsWith('ui-'));
        assert.deepEqual(foreign, []);
      });

      it('is wired to its own nodes alone, and uses the shared account', () => {
        const [account] = accountOf(nodes);
        for (const { name, type, z, wires = [], scope, account: used } of nodes) {
          const watched = type === 'catch' ? (scope ?? []) : [];
          for (const id of [...wires.flat(), ...watched, ...(z ? [z] : [])]) assert.ok(byId.has(id), name);
          if (ours.includes(type) && type !== 'remote-printing-account') assert.equal(used, account!.id, name);
        }
        for (const { name, outputs, wires = [] } of nodes)
          if (outputs !== undefined) assert.ok(wires.length <= outputs, name);
      });

      it('has code that can be read', () => {
        for (const { name, func } of nodes)
          if (func !== undefined)
            assert.doesNotThrow(() => new vm.Script(`(async function () {\n${func}\n})`), name ?? '');
      });

      it('lies apart, within the canvas', () => {
        for (const node of placed) {
          const { left, right, top } = box(node);
          assert.ok(left >= 0 && top >= 0 && right <= CANVAS, `${node.name ?? node.type}: ${left} to ${right}`);
        }
        for (const [at, one] of placed.entries())
          for (const other of placed.slice(at + 1)) {
            const [a, b] = [box(one), box(other)];
            const apart =
              a.right + GAP <= b.left || b.right + GAP <= a.left || a.bottom + GAP <= b.top || b.bottom + GAP <= a.top;
            assert.ok(apart, `${one.name ?? one.type} and ${other.name ?? other.type}`);
          }
      });
    });
  }
});
