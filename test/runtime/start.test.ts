import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';

import { ownCheckout } from '../helpers/checkout';

describe('npm start', function () {
  let folder: string;
  beforeEach(async () => {
    folder = await ownCheckout();
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

describe('npm run replicas', function () {
  let folder: string;
  beforeEach(async () => {
    folder = await ownCheckout();
  });
  afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

  it('shows the number of printers that each replica polls, and runs typed commands', async () => {
    const child = spawn(process.execPath, ['scripts/replicas.mjs', '2'], {
      cwd: folder,
      env: { ...process.env, PORT: '0', SIMULATOR_PORT: '0', REMOTE_PRINTING_STATE_STORE: '' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const exit = once(child, 'exit');
    const lines: string[] = [];
    createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
    // Expected output, and the command typed after it.
    const steps: [RegExp, string][] = [
      [/^2 +running .* 6 +\d+ s ago/, 'stop 2'],
      [/^1 +running .* 12 +\d+ s ago/, 'juggle 2'],
      [/^juggle 2\? There is: kill N/, 'quit'],
    ];
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      if (!steps[0]?.[0].test(line)) continue;
      child.stdin.write(`${steps.shift()?.[1]}\n`);
    }
    await exit;
    assert.deepEqual([steps, child.exitCode], [[], 0], lines.join('\n'));
  });
});
