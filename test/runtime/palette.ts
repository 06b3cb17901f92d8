import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { root } from '../../scripts/node-red.mjs';
import type { RealNodeRed } from '../helpers/real-node-red';

interface Manifest {
  name: string;
  version: string;
  'node-red': { nodes: Record<string, string> };
}

/** The pack as npm packs it from the build in dist/. */
export interface Tarball {
  file: string;
  manifest: Manifest;
  remove(): Promise<void>;
}

export async function packTarball(): Promise<Tarball> {
  const folder = await mkdtemp(join(tmpdir(), 'remote-printing-pack-'));
  const args = ['pack', '--ignore-scripts', '--json', '--loglevel=silent', '--pack-destination', folder];
  const { stdout } = await promisify(execFile)('npm', args, { cwd: root });
  const [packed] = JSON.parse(stdout) as { filename: string }[];
  assert.ok(packed);
  return {
    file: join(folder, packed.filename),
    manifest: JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Uploads the tarball as the palette manager does; Node-RED then runs npm with --engine-strict. */
export async function installByPalette(nodeRed: RealNodeRed, tarball: Tarball): Promise<void> {
  const form = new FormData();
  form.set('tarball', new Blob([new Uint8Array(await readFile(tarball.file))]), 'pack.tgz');
  const response = await nodeRed.fetch('nodes', { method: 'POST', body: form });
  assert.equal(response.status, 200, await response.text());
}
