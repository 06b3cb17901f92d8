import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium, type Browser } from 'playwright-core';

import { ensureChromium } from '../../scripts/debian.mjs';
import { ownCheckout } from '../helpers/checkout';

const started: ChildProcess[] = [];
/** Starts a script in a checkout, on free ports. */
const run = (folder: string, script: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}) => {
  const child = spawn(process.execPath, [script, ...args], {
    cwd: folder,
    env: { ...process.env, PORT: '0', SIMULATOR_PORT: '0', ...env },
  });
  started.push(child);
  return child;
};
/** Ends what a failed test has left running, because the layer would wait for it, and removes the checkout. */
const endAll = async (folder: string) => {
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGINT');
    await once(child, 'exit');
  }
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
};

describe('npm start', function () {
  let folder: string;
  beforeEach(async () => {
    folder = await ownCheckout();
  });
  afterEach(() => endAll(folder));

  it("prints the addresses of the editor and of the simulator's page, and starts a print", async () => {
    const child = run(folder, 'scripts/start.mjs');
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

describe('npm run dev', function () {
  // The whole pack is built twice.
  this.timeout(600_000);
  let folder: string;
  let browser: Browser;
  beforeEach(async () => {
    folder = await ownCheckout({ built: true });
    browser = await chromium.launch({ executablePath: ensureChromium(), args: ['--no-sandbox'] });
  });
  afterEach(async () => {
    await browser.close();
    await endAll(folder);
  });

  it('reloads the editor after a change of its files, and restarts Node-RED after others', async () => {
    const child = run(folder, 'scripts/dev.mjs');
    const exit = once(child, 'exit');
    const lines: string[] = [];
    const printed = new EventEmitter();
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line);
        printed.emit('line');
      });
    /** Waits for the next line that matches, after those of earlier calls. */
    let read = 0;
    const next = async (pattern: RegExp) => {
      for (;;) {
        const found = lines.findIndex((line, at) => at >= read && pattern.test(line));
        if (found >= 0) {
          read = found + 1;
          return pattern.exec(lines[found]!)!;
        }
        await once(printed, 'line');
      }
    };
    /** Replaces a file, as many editors do when they save one. */
    const save = async (file: string, change: (text: string) => string) => {
      const path = join(folder, file);
      await writeFile(`${path}.new`, change(await readFile(path, 'utf8')));
      await rename(`${path}.new`, path);
    };
    try {
      const page = await browser.newPage();
      const [, url = ''] = await next(/^Editor: (http:\S+)/);
      await page.goto(url);
      await save('editor/index.ts', (text) => `${text}\nObject.assign(window, { version: 1 });\n`);
      await page.waitForFunction('window.version === 1');
      assert.equal(lines.filter((line) => line.includes('Started flows')).length, 1);

      await save('lib/client.ts', (text) => `${text}\nexport const version: number = '';\n`);
      await next(/^Command failed/);
      assert.equal((await fetch(url)).status, 200);
      await save('lib/client.ts', (text) => text.replace("number = ''", 'number = 1'));
      await next(/Started flows/);
      assert.equal((await fetch(url)).status, 200);
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
    folder = await ownCheckout({ built: true });
  });
  afterEach(() => endAll(folder));

  it('shows the number of printers that each replica polls, and runs typed commands', async () => {
    const child = run(folder, 'scripts/replicas.mjs', ['2'], { REMOTE_PRINTING_STATE_STORE: '' });
    const exit = once(child, 'exit');
    const lines: string[] = [];
    createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
    // Expected output, and the command typed after it. The list counts like a printer, so the shares are 6 and 6, or 7 and 5.
    const steps: [RegExp, string][] = [
      [/^2 +running .* [567] +\d+ s ago/, 'stop 2'],
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
