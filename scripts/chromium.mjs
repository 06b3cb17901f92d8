import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** @param {string} name @returns {string | undefined} */
function onPath(name) {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
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

const find = () =>
  process.env['CHROMIUM_PATH'] ?? ['chromium', 'chromium-browser', 'google-chrome'].map(onPath).find(Boolean);

/** Path of a Chromium: CHROMIUM_PATH, one on the PATH, or the one that Debian's package manager then brings. */
export function ensureChromium() {
  const there = find();
  if (there) return there;
  if (!onPath('apt-get')) throw new Error('the editor tests need a Chromium: install one or set CHROMIUM_PATH');
  const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  for (const command of ['update', 'install -y --no-install-recommends chromium']) {
    const [program = '', ...args] = [...sudo, 'apt-get', '-q', ...command.split(' ')];
    const { status } = spawnSync(program, args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
    if (status !== 0) throw new Error(`apt-get ${command} failed: install a Chromium by hand or set CHROMIUM_PATH`);
  }
  const installed = find();
  if (!installed) throw new Error('apt-get installed a chromium that is not on the PATH');
  return installed;
}
