import assert from 'node:assert/strict';
import { join } from 'node:path';

import definition from '../../package.json';
import { startSimulator } from '../../simulator';
import { startRealNodeRed, type RealNodeRedOptions } from '../helpers/real-node-red';
import { lean } from '../helpers/lean';

const probe = join(__dirname, 'loaded.cjs');

const TAB = { id: 'tab', type: 'tab', label: 'test' };
const AT = { z: 'tab', x: 1, y: 1 };
const STATUS = {
  id: 'status',
  ...AT,
  type: 'remote-printing-cluster-status',
  account: 'account',
  wires: [['out'], []],
};
const OUT = { id: 'out', ...AT, type: 'debug', active: true, console: true, complete: 'topic', targetType: 'msg' };

/** Runs a Node-RED with these flows until it logs `awaited`. Returns the files of the pack that it has loaded. */
async function loaded(options: RealNodeRedOptions, awaited?: RegExp): Promise<string[]> {
  const lines: string[] = [];
  let seen: () => void = () => assert.fail();
  const polled = new Promise<void>((resolve) => (seen = resolve));
  const nodeRed = await startRealNodeRed({
    settings: lean('21-debug.js'),
    env: { NODE_OPTIONS: `--require ${JSON.stringify(probe)}` },
    onLine: (line) => {
      lines.push(line);
      if (awaited?.test(line)) seen();
    },
    ...options,
  });
  try {
    if (awaited) await Promise.race([polled, nodeRed.exited.then(() => assert.fail(lines.join('\n')))]);
  } finally {
    await nodeRed.stop();
  }
  const [, list = ''] = /^LOADED (.*)$/m.exec(lines.join('\n')) ?? assert.fail(lines.join('\n'));
  return JSON.parse(list) as string[];
}

describe('Node-RED with the pack', () => {
  it('loads only the modules that register the nodes, while no flow uses them', async () => {
    const files = await loaded({ flows: [] });
    const nodes = Object.values(definition['node-red'].nodes);
    const shared = ['admin/index', 'guards', 'refused'].map((name) => `dist/nodes/shared/${name}.js`);
    assert.deepEqual(files.sort(), [...nodes, 'dist/lib/on-demand.js', ...shared].sort());
  });

  it('loads only the modules that a status node of a real account needs', async () => {
    const simulator = await startSimulator();
    try {
      const { authUrl, apiUrl, users } = simulator;
      const account = { id: 'account', type: 'remote-printing-account', service: 'remote', signIn: 'token' };
      const files = await loaded(
        {
          flows: [TAB, { ...account, authUrl, apiUrl }, STATUS, OUT],
          credentials: { account: { apiToken: users[0]?.apiToken } },
        },
        /\[debug:out\]/,
      );
      // The presence of needed files shows that the list is right.
      for (const file of ['dist/lib/watch/polling/poller.js', 'node_modules/undici/lib/dispatcher/agent.js'])
        assert.ok(files.includes(file), file);
      const needless =
        /^dist\/(simulator|lib\/(action|control|library|picture|query|report|request|toolpath|upload))\/|csv-parse|yauzl/;
      assert.deepEqual(
        files.filter((file) => needless.test(file)),
        [],
      );
      // No setting names a database, so none of its modules are loaded.
      assert.deepEqual(
        files.filter((file) =>
          /^node_modules\/pg|^dist\/lib\/postgres\/|watch\/replication\/(replica-coordinator|assignments|remote-updates)/.test(
            file,
          ),
        ),
        [],
      );
      // Of printing, only the modules that settle the unfinished prints of an earlier runtime are loaded.
      assert.deepEqual(files.filter((file) => file.startsWith('dist/lib/print/')).sort(), [
        'dist/lib/print/job-list-reader.js',
        'dist/lib/print/ledger.js',
        'dist/lib/print/open-keys.js',
        'dist/lib/print/unresolved-prints.js',
      ]);
      // Of undici, only requests over a connection are loaded: less than a third of it.
      assert.ok(!files.includes('node_modules/undici/index.js'), 'undici as a whole');
    } finally {
      await simulator.close();
    }
  });
});
