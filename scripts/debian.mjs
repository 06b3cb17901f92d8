import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

/** Debian's folders of PostgreSQL programs, the newest version first. */
function postgresFolders() {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root) : [];
  return versions.sort((one, other) => Number(other) - Number(one)).map((version) => join(root, version, 'bin'));
}

/** @param {string} name @returns {string | undefined} */
function onPath(name) {
  // Debian installs servers in folders that are only on root's PATH.
  return [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', ...postgresFolders()]
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** Whether the package lists are up to date. */
let updated = false;

/** Runs apt-get. @param {string} command @param {{ isRoot?: boolean, cwd?: string }} [options] @returns {boolean} success */
function aptGet(command, { isRoot = true, cwd } = {}) {
  const sudo = !isRoot || process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const [program = '', ...args] = [...sudo, 'apt-get', '-q', ...command.split(' ')];
  const { status } = spawnSync(program, args, {
    ...(cwd && { cwd }),
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
  return status === 0;
}

/**
 * Returns the path of a program that tests need. Installs the Debian package if no such program is on the PATH.
 * @param {string} name of the Debian package
 * @param {string[]} programs possible names of the program
 * @param {string} advice alternative for the user
 */
function ensure(name, programs, advice) {
  const find = () => programs.map(onPath).find(Boolean);
  const there = find();
  if (there) return there;
  if (!onPath('apt-get')) throw new Error(`the tests need ${name}: ${advice}`);
  for (const command of [...(updated ? [] : ['update']), `install -y --no-install-recommends ${name}`]) {
    if (!aptGet(command)) throw new Error(`apt-get ${command} failed: ${advice}`);
    updated = true;
  }
  const installed = find();
  if (!installed) throw new Error(`apt-get installed a ${name} that is not on the PATH`);
  return installed;
}

/** Names of Chromium. The headless shell comes first: its tests need a quarter to two fifths less processor time. */
const CHROMIUM = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

/** Path of a Chromium: CHROMIUM_PATH, one on the PATH, or Debian's. */
export const ensureChromium = () =>
  process.env['CHROMIUM_PATH'] ?? ensure('chromium-headless-shell', CHROMIUM, 'install one or set CHROMIUM_PATH');

/** Folder of PostgreSQL's programs. */
export const ensurePostgres = () => dirname(ensure('postgresql', ['initdb'], 'install it by hand'));

/** Path of the MQTT broker. */
export const ensureMosquitto = () => ensure('mosquitto', ['mosquitto'], 'install it by hand');

/** Programs of Prometheus. */
const PROMETHEUS = ['prometheus', 'promtool'];

export const NO_PROMETHEUS =
  "Skipped the test of the metrics: there is no Prometheus, and Debian's package can't be had.";

/**
 * Folder of Prometheus' programs: one on the PATH, or those of Debian's package, unpacked for this user. An installed
 * package would start its service. Null where there is neither.
 * @returns {string | null}
 */
export function ensurePrometheus() {
  const [there, tool] = PROMETHEUS.map(onPath);
  if (there && tool && dirname(there) === dirname(tool)) return dirname(there);
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'remote-printing');
  const folder = join(cache, 'prometheus');
  if (PROMETHEUS.every((name) => existsSync(join(folder, name)))) return folder;
  if (!onPath('apt-get') || !onPath('dpkg-deb')) return null;
  const scratch = mkdtempSync(join(tmpdir(), 'prometheus-'));
  try {
    const download = () => aptGet('download prometheus', { isRoot: false, cwd: scratch });
    if (!download() && !(aptGet('update') && download())) return null;
    const [file] = readdirSync(scratch);
    if (!file || spawnSync('dpkg-deb', ['-x', file, 'unpacked'], { cwd: scratch, stdio: 'ignore' }).status !== 0)
      return null;
    mkdirSync(folder, { recursive: true });
    for (const name of PROMETHEUS) {
      // Another process may do the same.
      const copy = join(folder, `${name}.${process.pid}`);
      copyFileSync(join(scratch, 'unpacked/usr/bin', name), copy);
      renameSync(copy, join(folder, name));
    }
    return folder;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
