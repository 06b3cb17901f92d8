import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { freshUserDir, runtimes, startRealNodeRed, type RealNodeRed, type Runtime } from '../helpers/real-node-red';
import { installByPalette, packTarball, type Tarball } from './palette';

interface NodeSet {
  name: string;
  module: string;
  version: string;
  types: string[];
  enabled: boolean;
  err?: string;
}

interface FlowNode {
  id: string;
  type: string;
  name?: string;
}

/** Heap of a small computer. */
const SMALL_HEAP = { NODE_OPTIONS: '--max-old-space-size=256' };

/** The runtime with the oldest Node.js of each Node-RED: npm refuses there what needs a newer one. */
const oldest = runtimes.filter(({ nodeRed }, at) => runtimes.findIndex((other) => other.nodeRed === nodeRed) === at);

/** All runtimes run each phase in parallel, because even a simulated print needs some time. */
describe('the packed pack, in a heap of 256 MB', function () {
  let tarball: Tarball;
  const nodeReds = new Map<string, RealNodeRed>();
  const onEach = (title: string, test: (nodeRed: RealNodeRed) => Promise<void>) => {
    for (const { name } of runtimes) it(`${title} (${name})`, () => test(nodeReds.get(name)!));
  };

  const userDirs: string[] = [];

  /** Starts Node-RED with an empty user directory, or with the packages of another one. */
  async function start({ name, ...runtime }: Runtime, packages?: string): Promise<RealNodeRed> {
    const userDir = await freshUserDir();
    userDirs.push(userDir);
    if (packages !== undefined)
      for (const file of ['package.json', 'node_modules'])
        await cp(join(packages, file), join(userDir, file), { recursive: true });
    const nodeRed = await startRealNodeRed({ ...runtime, userDir, env: SMALL_HEAP, withPack: false });
    nodeReds.set(name, nodeRed);
    return nodeRed;
  }

  before(async () => {
    tarball = await packTarball();
    const installAndCopy = async (runtime: Runtime) => {
      const nodeRed = await start(runtime);
      await installByPalette(nodeRed, tarball);
      const newer = runtimes.filter((other) => other.nodeRed === runtime.nodeRed && other !== runtime);
      await Promise.all(newer.map((other) => start(other, nodeRed.userDir)));
    };
    await Promise.all(oldest.map(installAndCopy));
  });
  after(async () => {
    await Promise.all([...nodeReds.values()].map((nodeRed) => nodeRed.kill()));
    for (const userDir of userDirs) await rm(userDir, { recursive: true, force: true });
    await tarball.remove();
  });

  describe('installed by the palette manager on the oldest Node.js of its Node-RED', () => {
    onEach('has every node enabled', async (nodeRed) => {
      const sets = (await get<NodeSet[]>(nodeRed, 'nodes')).filter(({ module }) => module === tarball.manifest.name);
      const registered = Object.keys(tarball.manifest['node-red'].nodes);
      assert.deepEqual(sets.map(({ name }) => name).sort(), registered.sort());
      for (const { name, types, version, enabled, err } of sets) {
        assert.deepEqual(
          { types, version, enabled, err },
          { types: [name], version: tarball.manifest.version, enabled: true, err: undefined },
        );
      }
    });

    onEach('delivers its texts, help, scripts and icons', async (nodeRed) => {
      const { name, 'node-red': registered } = tarball.manifest;
      const html = await (await nodeRed.fetch('nodes', { headers: { accept: 'text/html' } })).text();
      for (const type of Object.keys(registered.nodes)) {
        assert.notDeepEqual(await get(nodeRed, `locales/${name}/${type}?lng=en-US`), {}, `no texts for ${type}`);
        assert.ok(html.includes(`data-help-name="${type}"`), `no help for ${type}`);
      }
      const icons = (await get<Record<string, string[]>>(nodeRed, 'icons'))[name] ?? [];
      const scripts = [...html.matchAll(/<script[^>]+src="(resources\/@remote-printing[^"]+)"/g)].map(
        ([, src]) => src!,
      );
      assert.ok(icons.length > 0 && scripts.length > 0);
      for (const path of [...icons.map((icon) => `icons/${name}/${icon}`), ...scripts]) {
        assert.equal((await nodeRed.fetch(path)).status, 200, path);
      }
    });
  });

  describe('with the example of the import menu', () => {
    before(() => Promise.all([...nodeReds.values()].map(pressTheButton)));

    async function pressTheButton(nodeRed: RealNodeRed): Promise<void> {
      const example = `library/examples/flows/${tarball.manifest.name}/12-print-a-file`;
      const flows = await get<FlowNode[]>(nodeRed, example);
      await nodeRed.deploy(flows.map((node) => (node.type === 'debug' ? { ...node, console: true } : node)));
      await logged(nodeRed, /\[debug:printer status\]/);
      const button = flows.find(({ type }) => type === 'inject')!;
      const pressed = await nodeRed.fetch(`inject/${button.id}`, { method: 'POST' });
      assert.equal(pressed.status, 200);
    }

    onEach('prints a file to its end', (nodeRed) => logged(nodeRed, /\[debug:progress\] cube\.gcode: finished/));
  });

  describe('when stopped', () => {
    // A close that waits for its grace period takes 14 s.
    onEach('exits within 10 s and logs no complaint', async (nodeRed) => {
      const { code, signal, ms } = await nodeRed.stop();
      assert.deepEqual({ code, signal }, { code: 0, signal: null });
      assert.ok(ms < 10_000, `took ${ms} ms`);
      assert.deepEqual(nodeRed.complaints(), []);
    });
  });
});

async function get<T>(nodeRed: RealNodeRed, path: string): Promise<T> {
  const response = await nodeRed.fetch(path);
  assert.equal(response.status, 200, path);
  return (await response.json()) as T;
}

async function logged(nodeRed: RealNodeRed, pattern: RegExp): Promise<void> {
  const until = Date.now() + 90_000;
  while (!nodeRed.log.some((line) => pattern.test(line))) {
    if (Date.now() > until) assert.fail(`no ${String(pattern)} in the log:\n${nodeRed.log.slice(-30).join('\n')}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
