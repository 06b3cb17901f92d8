// Temporary PostgreSQL: its data are in a temporary folder, it uses a free local port, and it is removed at the end.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { ensurePostgres } from './debian.mjs';

/**
 * @typedef {object} RunningPostgres
 * @property {string} address of its database `postgres`
 * @property {number} port
 * @property {() => Promise<void>} start again, after `halt`
 * @property {() => Promise<void>} halt every connection breaks; what was committed is kept
 * @property {() => Promise<void>} stop for good
 */

/** User for PostgreSQL, which refuses to run as root. @returns {{ uid: number, gid: number } | {}} */
function somebody() {
  if (process.getuid?.() !== 0) return {};
  const idOf = (/** @type {string[]} */ args) => Number(execFileSync('id', args, { encoding: 'utf8' }));
  return { uid: idOf(['-u', 'postgres']), gid: idOf(['-g', 'postgres']) };
}

/** @returns {Promise<number>} */
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

/** @param {Record<string, string>} more settings of the server @returns {Promise<RunningPostgres>} */
export async function startPostgres(more = {}) {
  const programs = ensurePostgres();
  const user = somebody();
  const folder = await mkdtemp(join(tmpdir(), 'postgres-'));
  if ('uid' in user) await chown(folder, user.uid, user.gid);
  const port = await freePort();

  const options = ['-A', 'trust', '-U', 'nodered', '-E', 'UTF8', '--no-locale', '--no-sync', '-D', folder];
  execFileSync(join(programs, 'initdb'), options, { cwd: folder, ...user, stdio: 'pipe' });
  // The data need not survive a crash of the machine.
  const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '', fsync: 'off', ...more };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);

  /** @type {import('node:child_process').ChildProcess | undefined} */
  let child;
  const isRunning = () => child !== undefined && child.exitCode === null && child.signalCode === null;
  const start = async () => {
    if (isRunning()) return;
    const started = spawn(join(programs, 'postgres'), ['-D', folder, ...args], {
      cwd: folder,
      ...user,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, LC_ALL: 'C' },
    });
    child = started;
    const orphan = () => started.kill('SIGQUIT');
    process.on('exit', orphan);
    started.once('close', () => process.off('exit', orphan));
    /** @type {string[]} */
    const lines = [];
    const ready = new Promise((resolve) => {
      createInterface({ input: started.stderr }).on('line', (line) => {
        lines.push(line);
        if (line.includes('ready to accept connections')) resolve(true);
      });
    });
    const ended = once(started, 'close').then(() => false);
    if (!(await Promise.race([ready, ended]))) throw new Error(`PostgreSQL ended:\n${lines.join('\n')}`);
  };
  const halt = async () => {
    if (!child || !isRunning()) return;
    const closed = once(child, 'close');
    // Ends the server at once, as in a crash.
    child.kill('SIGQUIT');
    await closed;
  };
  const stop = async () => {
    await halt();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  return { address: `postgresql://nodered@127.0.0.1:${port}/postgres`, port, start, halt, stop };
}
