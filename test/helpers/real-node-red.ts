import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { PATIENCE, root, startNodeRed, type NodeRedOptions, type RunningNodeRed } from '../../scripts/node-red.mjs';
import { nodeProgram } from '../../scripts/node-versions.mjs';

const matrix = join(root, 'matrix', 'node_modules');

export interface Runtime {
  name: string;
  /** The Node.js binary. */
  node: string;
  /** Folder of the node-red package. */
  nodeRed: string;
}

const nodeRed4 = join(root, 'node_modules', 'node-red');
const nodeRed5 = join(matrix, 'node-red');

/** Dark theme for Node-RED 4.1, which has none of its own; applies while the browser prefers dark colours. */
export function darkTheme(): string {
  const folder = join(matrix, '@node-red-contrib-themes', 'dark');
  const css = ['theme.min.css', 'theme-customizations.min.css'].map((file) => readFileSync(join(folder, file), 'utf8'));
  return `@media (prefers-color-scheme: dark) { ${css.join('')} }`;
}

/** Every supported pair of Node-RED and Node.js, oldest first. */
export const runtimes: Runtime[] = [
  { name: 'Node-RED 4.1 on Node 20.18.1', node: nodeProgram('20-floor'), nodeRed: nodeRed4 },
  { name: 'Node-RED 4.1 on Node 24', node: nodeProgram('24'), nodeRed: nodeRed4 },
  { name: 'Node-RED 5.0 on Node 22.9.0', node: nodeProgram('22-floor'), nodeRed: nodeRed5 },
  { name: 'Node-RED 5.0 on Node 24', node: nodeProgram('24'), nodeRed: nodeRed5 },
  { name: 'Node-RED 5.0 on Node 26', node: nodeProgram('26'), nodeRed: nodeRed5 },
];

const wanted = process.env.NODE_RED_LINE;
/** The newest runtime of each line of Node-RED, or of the one that NODE_RED_LINE names, such as `5.0`. */
export const newestRuntimes = runtimes.filter(
  ({ name }) => /4\.1 on Node 24$|5\.0 on Node 26$/.test(name) && name.includes(`Node-RED ${wanted ?? ''}`),
);

export interface RealNodeRedOptions extends Omit<NodeRedOptions, 'userDir'> {
  /**
   * Survives the end, for another start on the same state. By default, a fresh folder that `stop` and `kill` remove.
   */
  userDir?: string;
}

/** A Node-RED process as a user runs it, with this checkout's pack (see `withPack`). */
export interface RealNodeRed extends RunningNodeRed {
  /** `fetch` under the editor's address, asking for JSON, within `PATIENCE`; `path` without leading slash. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Deploys all flows and starts them; nodes contain their credentials, as the editor sends them. */
  deploy(flows: readonly object[]): Promise<void>;
  /** Log lines of level warn and above. */
  complaints(): string[];
}

/** An empty user directory outside the checkout. */
export function freshUserDir(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'remote-printing-'));
}

/** Settings of the editor's users: hides the tips, whose timer fails while the editor's keymap is still loading. */
const users = Object.fromEntries(
  ['_', 'owner'].map((user) => [user, { editor: { view: { 'view-show-tips': false } } }]),
);

const complaint = /\[(warn|error|fatal)\]|Uncaught|Unhandled|Warning:/;
/** Expected of any Node-RED without projects, with plain credentials, or with a temporary folder in memory. */
const expected = /Projects disabled|Encrypted credentials not found|lies inside the container or in memory/;

export async function startRealNodeRed(options: RealNodeRedOptions = {}): Promise<RealNodeRed> {
  if (options.withPack !== false && !existsSync(join(root, 'dist')))
    throw new Error("dist is missing: 'npm run build'");
  const own = options.userDir === undefined;
  const userDir = options.userDir ?? (await freshUserDir());
  if (own) await writeFile(join(userDir, '.config.users.json'), JSON.stringify(users));
  const tidy = async () => {
    if (own) await rm(userDir, { recursive: true, force: true });
  };

  const running = await startNodeRed({ ...options, userDir }).catch(async (error: unknown) => {
    await tidy();
    throw error;
  });
  const request = async (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    if (!headers.has('accept')) headers.set('accept', 'application/json');
    // A connection that Node-RED closes while this process is busy would fail the next request.
    headers.set('connection', 'close');
    const limit = AbortSignal.timeout(PATIENCE);
    try {
      return await fetch(new URL(path, running.url), { signal: limit, ...init, headers });
    } catch (error) {
      if (!limit.aborted) throw error;
      throw new Error(`Node-RED did not answer ${path}:\n${running.log.slice(-30).join('\n')}`, { cause: error });
    }
  };

  return {
    ...running,
    fetch: request,
    deploy: (flows) =>
      running.started(async () => {
        const response = await request('flows', {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'node-red-deployment-type': 'full' },
          body: JSON.stringify(flows),
        });
        if (!response.ok) throw new Error(`deploy answered ${response.status}: ${await response.text()}`);
      }),
    complaints: () => running.log.filter((line) => complaint.test(line) && !expected.test(line)),
    async stop() {
      const end = await running.stop();
      await tidy();
      return end;
    },
    async kill() {
      await running.kill();
      await tidy();
    },
  };
}
