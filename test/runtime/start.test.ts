import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const root = resolve(__dirname, '../..');

describe('npm start', function () {
  let folder: string;
  beforeEach(async () => {
    // A checkout of its own: it is built anew, while others may be reading this one's dist.
    folder = await mkdtemp(join(tmpdir(), 'npm-start-'));
    const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0');
    for (const file of tracked.filter((name) => name !== '' && !/^(test|docs|matrix)\//.test(name)))
      cpSync(join(root, file), join(folder, file));
    // Each package by a link of its own, so that nothing done to the folder reaches the real one; up to date, as it stands.
    const modules = join(folder, 'node_modules');
    mkdirSync(modules);
    for (const name of readdirSync(join(root, 'node_modules')))
      if (name !== '.package-lock.json') symlinkSync(join(root, 'node_modules', name), join(modules, name));
    writeFileSync(join(modules, '.package-lock.json'), '{}');
  });
  afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

  it("prints the addresses of the editor and of the simulator's page, and starts a print", async () => {
    const child = spawn(process.execPath, ['scripts/start.mjs'], {
      cwd: folder,
      env: { ...process.env, PORT: '0', SIMULATOR_PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exit = once(child, 'exit');
    const lines: string[] = [];
    createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
    try {
      for await (const line of createInterface({ input: child.stdout })) {
        lines.push(line);
        if (line.startsWith('Pressed the button')) break;
      }
      const log = lines.join('\n');
      const [, page] = /^Printers: (http:\S+)/m.exec(log) ?? [];
      const [, editor] = /^Editor: (http:\S+)/m.exec(log) ?? [];
      assert.ok(page && editor, log);
      const shown = await fetch(page, { headers: { accept: 'text/html' } });
      assert.match(await shown.text(), /<h1>Simulator of the remote printing service<\/h1>/);
      assert.equal((await fetch(editor)).status, 200);
    } finally {
      child.kill('SIGINT');
      await exit;
    }
    assert.equal(child.exitCode, 0, lines.join('\n'));
  });
});
