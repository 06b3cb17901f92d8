import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startSimulator } from '../../simulator';
import { call, type Wire } from './support';

const CLI = join(__dirname, '../../simulator/cli.ts');

const run = (...args: string[]) => runIn(tmpdir(), ...args);

/** Runs the command line with this temporary folder. */
function runIn(folder: string, ...args: string[]) {
  return spawn(process.execPath, ['--require', './test/typescript.cjs', CLI, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: folder },
  });
}

async function result(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const child = run(...args);
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const [code] = await once(child, 'close');
  return { code, out, err };
}

/** Runs the command line until it has shown its addresses; `rest` resolves with its later output at its end. */
async function started(...args: string[]) {
  const child = run(...args);
  const ended = once(child, 'close');
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  while (!out.includes('controlUrl:') || !out.endsWith('\n')) await once(child.stdout, 'data');
  const facts = Object.fromEntries(
    out
      .trim()
      .split('\n')
      .map((line) => line.split(/: +/) as [string, string]),
  );
  const before = out.length;
  const rest = async (): Promise<string> => {
    await ended;
    return out.slice(before);
  };
  return { child, facts, rest };
}

describe('simulator: command line', function () {
  it('prints its options with --help', async () => {
    const { code, out, err } = await result('--help');
    assert.equal(code, 0);
    assert.match(out, /--time-factor N/);
    assert.equal(err, '');
  });

  it('exits with 2 and one sentence on invalid arguments', async () => {
    const bad = [
      ['--port', '70000'],
      ['--nothing'],
      ['--time-factor', '0'],
      ['--host', '0.0.0.0'],
      ['--upload-mode', 'cloud'],
      ['--refresh-token-grace', 'long'],
      ['--path', 'printJobs'],
      ['--farm', 'no-such-file.json'],
      ['--farm', CLI],
      ['--storage-path', 'store'],
      ['--path', 'nothing=GET /x'],
      ['--record', 'file.jsonl'],
      ['--record', 'file.jsonl', '--upstream', 'auth,api'],
      ['--replay', 'file.jsonl', '--printers', '3'],
    ];
    for (const { code, out, err } of await Promise.all(bad.map((args) => result(...args)))) {
      assert.equal(code, 2);
      assert.equal(out, '');
      assert.match(err, /^remote-printing-simulator: [^\n]+\n$/);
    }
  });

  it('starts the printers of a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'farm-'));
    const file = join(folder, 'farm.json');
    await writeFile(
      file,
      JSON.stringify([
        { name: 'One', materials: ['ABS Red', null] },
        { name: 'Two', printers: 2 },
      ]),
    );
    const child = run('--farm', file);
    const exit = once(child, 'exit');
    for await (const line of createInterface({ input: child.stdout })) {
      const [, controlUrl] = /^controlUrl: +(\S+)$/.exec(line) ?? [];
      if (controlUrl === undefined) continue;
      const { clusters } = (await call(`${controlUrl}/overview`)).json;
      assert.deepEqual(
        clusters.slice(0, 2).map((cluster: Wire) => [cluster.name, cluster.printers.length, cluster.mismatch]),
        [
          ['One', 1, 'queued'],
          ['Two', 2, 'queued'],
        ],
      );
      assert.equal(clusters[0].printers[0].loaded, 'AA 0.4 with ABS Red, BB 0.4 with no material');
      break;
    }
    child.kill('SIGTERM');
    await exit;
    await rm(folder, { recursive: true });
  });

  it('prints its addresses and closes cleanly on SIGTERM', async () => {
    const child = run(
      ...['--printers', '2', '--auto-approve', '--upload-mode', 'session'],
      ...['--lenient', '--storage-path', '/store/v1'],
    );
    const exit = once(child, 'exit');
    const facts: Record<string, string> = {};
    for await (const line of createInterface({ input: child.stdout })) {
      const [, name, value] = /^(\w+): +(\S+)$/.exec(line)!;
      facts[name!] = value!;
      if (name === 'apiToken') break;
    }
    const headers = { authorization: `Bearer ${facts.apiToken!}` };
    assert.equal((await call(`${facts.apiUrl!}/connect/v1/clusters`, { headers })).json.data.length, 2);
    assert.equal((await call(`${facts.apiUrl!}/store/v1/jobs`, { headers })).status, 200);
    const state = (await call(`${facts.controlUrl!}/overview`)).json;
    assert.equal(state.upload_mode, 'session');
    for (const name of ['authUrl', 'storageUrl', 'controlUrl', 'clientId', 'clientSecret', 'username', 'password'])
      assert.ok(facts[name], name);
    child.kill('SIGTERM');
    assert.deepEqual(await exit, [0, null]);
  });

  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    it(`shows what a recording replaced on ${signal}, then writes it, and plays it`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'recording-'));
      const file = join(folder, 'session.jsonl');
      const simulator = await startSimulator({ printers: 1 });
      try {
        const upstream = `${simulator.authUrl},${simulator.apiUrl}`;
        const { child, facts, rest } = await started('--record', file, '--upstream', upstream);
        const headers = { authorization: `Bearer ${simulator.users[0]!.apiToken}` };
        const real = (await call(`${facts.apiUrl!}/connect/v1/clusters`, { headers })).json.data[0];
        assert.deepEqual(await readdir(folder), ['session.jsonl.part']);
        child.kill(signal);
        assert.match(await rest(), /Replaced:\n(?: +\d+ {2}[a-z ]+\n)+Written: \S+session\.jsonl\n$/);
        assert.equal(child.exitCode, 0);
        assert.deepEqual(await readdir(folder), ['session.jsonl']);

        const replay = await started('--replay', file, '--speed', '60');
        const [played] = (await call(`${replay.facts.apiUrl!}/connect/v1/clusters`)).json.data;
        assert.equal(played.printer_type, real.printer_type);
        assert.notEqual(played.cluster_id, real.cluster_id);
        replay.child.kill(signal);
        await replay.rest();
        assert.equal(replay.child.exitCode, 0);
      } finally {
        await simulator.close();
        await rm(folder, { recursive: true });
      }
    });

  for (const signals of [['SIGTERM'], ['SIGINT'], ['SIGHUP'], ['SIGINT', 'SIGTERM']] as const)
    it(`leaves nothing in the temporary folder after ${signals.join(' and ')}, also during its start`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'simulator-cli-'));
      const rest = async (): Promise<string[]> =>
        (await readdir(folder)).filter((name) => name.startsWith('remote-printing'));
      try {
        for (const early of [true, false]) {
          const child = runIn(folder);
          const exit = once(child, 'exit');
          // Its folder is one of the first things that it creates.
          if (early) while ((await rest()).length === 0 && child.exitCode === null) await new Promise(setImmediate);
          else await once(createInterface({ input: child.stdout }), 'line');
          assert.equal((await rest()).length, 1);
          for (const signal of signals) child.kill(signal);
          await exit;
          assert.deepEqual(await rest(), []);
        }
      } finally {
        await rm(folder, { recursive: true });
      }
    });
});
