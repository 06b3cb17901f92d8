import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

const core = join(dirname(require.resolve('@node-red/nodes/package.json')), 'core');
const coreFiles = readdirSync(core, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.js'))
  .map((path) => path.split(/[\\/]/).at(-1)!);

/** Settings for a fast start of Node-RED: no editor, no call of npm, and only these files of the core nodes. */
export function lean(...needed: string[]): Record<string, unknown> {
  const externalModules = { palette: { allowInstall: false } };
  return { disableEditor: true, externalModules, nodesExcludes: coreFiles.filter((file) => !needed.includes(file)) };
}
