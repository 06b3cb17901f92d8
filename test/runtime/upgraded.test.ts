import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { root } from '../../scripts/node-red.mjs';
import { freshUserDir, newestRuntimes, startRealNodeRed, type RealNodeRed } from '../helpers/real-node-red';
import { packTarball } from './palette';

const AT = { z: 'tab', x: 1, y: 1 };
const ACCOUNT = { id: 'account', type: 'remote-printing-account', service: 'simulator' };
const STATUS = { id: 'status', ...AT, type: 'remote-printing-cluster-status', account: 'account' };
const FLOWS = [
  { id: 'tab', type: 'tab', label: 'test' },
  ACCOUNT,
  { ...STATUS, name: 'all printers', wires: [['out'], []] },
  {
    id: 'out',
    ...AT,
    type: 'debug',
    name: 'polled',
    active: true,
    console: true,
    complete: 'topic',
    targetType: 'msg',
  },
];
/** A type that no flow has used before the upgrade, and what tells of it. */
const NEW = [
  { id: 'press', ...AT, type: 'inject', props: [], repeat: '', crontab: '', once: false, wires: [['picture']] },
  { id: 'picture', ...AT, type: 'remote-printing-webcam-snapshot', account: 'account', name: 'picture', wires: [[]] },
  { id: 'caught', ...AT, type: 'catch', scope: null, wires: [['failure']] },
  {
    ...{ id: 'failure', ...AT, type: 'debug', name: 'failure', active: true, console: true },
    ...{ complete: 'error.message', targetType: 'msg' },
  },
];

/** Installs the packed pack as npm does, with its dependencies from this checkout. */
async function install(userDir: string): Promise<string> {
  const modules = join(userDir, 'node_modules');
  const tarball = await packTarball();
  const folder = join(modules, tarball.manifest.name);
  await mkdir(folder, { recursive: true });
  try {
    await promisify(execFile)('tar', ['-xzf', tarball.file, '-C', folder, '--strip-components=1']);
  } finally {
    await tarball.remove();
  }
  for (const name of await readdir(join(root, 'node_modules')))
    if (!name.startsWith('.') && !name.startsWith('node-red') && !name.startsWith('@'))
      await symlink(join(root, 'node_modules', name), join(modules, name));
  const dependencies = { [tarball.manifest.name]: tarball.manifest.version };
  await writeFile(join(userDir, 'package.json'), JSON.stringify({ name: 'user-dir', version: '0.0.1', dependencies }));
  return folder;
}

/** Replaces the files by those of another version, in which no module fits those of before. */
async function upgrade(folder: string): Promise<void> {
  const path = join(folder, 'package.json');
  const manifest = JSON.parse(await readFile(path, 'utf8')) as object;
  await writeFile(path, JSON.stringify({ ...manifest, version: '99.0.0' }));
  for (const file of await readdir(join(folder, 'dist'), { recursive: true }))
    if (file.endsWith('.js')) await writeFile(join(folder, 'dist', file), "throw new Error('of another version');");
}

/** Waits for a line of the log after the first `from` ones. */
async function logged({ log }: RealNodeRed, pattern: RegExp, from = 0): Promise<void> {
  for (const until = Date.now() + 60_000; !log.slice(from).some((line) => pattern.test(line));) {
    if (Date.now() > until) assert.fail(`no ${String(pattern)} in the log:\n${log.slice(-30).join('\n')}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

for (const { name, ...runtime } of newestRuntimes)
  describe(`an upgrade without a restart (${name})`, () => {
    let userDir: string;
    let nodeRed: RealNodeRed;
    let folder: string;
    before(async () => {
      userDir = await freshUserDir();
      folder = await install(userDir);
      nodeRed = await startRealNodeRed({ ...runtime, userDir, withPack: false, flows: FLOWS });
      await logged(nodeRed, /\[debug:polled\]/);
      await upgrade(folder);
    });
    after(async () => {
      await nodeRed.kill();
      await rm(userDir, { recursive: true, force: true });
    });

    it('asks for the restart in place of loading a type that was not used before', async () => {
      const from = nodeRed.log.length;
      await nodeRed.deploy([...FLOWS, ...NEW]);
      await logged(nodeRed, /\[error\].*The pack was upgraded: restart Node-RED\./, from);
      await nodeRed.fetch('inject/press', { method: 'POST' });
      await logged(nodeRed, /\[debug:failure\].*The pack was upgraded: restart Node-RED\./s, from);
      assert.deepEqual(
        nodeRed.log.filter((line) => line.includes('of another version')),
        [],
      );
    });

    it('continues with the types that were used before, over a deploy', async () => {
      const from = nodeRed.log.length;
      await nodeRed.deploy(FLOWS.map((node) => (node.id === 'status' ? { ...node, name: 'changed' } : node)));
      await logged(nodeRed, /\[debug:polled\]/, from);
    });

    it('asks for the restart at an endpoint that was not used before', async () => {
      const form = { accept: 'application/vnd.remote-printing.form+json' };
      const path = 'remote-printing/accounts/account/clusters';
      const answer = await (await nodeRed.fetch(path, { headers: form })).json();
      const error = 'The pack was upgraded: restart Node-RED.';
      assert.deepEqual(answer, { failure: { status: 503, error, code: 'NOT_CONFIGURED' } });
      assert.equal((await nodeRed.fetch(path)).status, 503);
    });
  });
