import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { startSimulator, type Simulator } from '../../simulator/index';
import { startRealNodeRed, type RealNodeRed, type RealNodeRedOptions } from '../helpers/real-node-red';
import { lean } from '../helpers/lean';
import { accountOf, credentialsOf, signIn } from './sign-in';

const AT = { z: 'tab', x: 1, y: 1 };

/** Container platforms may keep one folder and replace everything else, including the user directory. */
describe('Node-RED with its state in a separate folder', () => {
  let room: string;
  let simulator: Simulator;
  const running: RealNodeRed[] = [];

  before(async () => {
    room = await mkdtemp(join(tmpdir(), 'state-folder-'));
    simulator = await startSimulator({ autoApprove: true });
  });
  after(async () => {
    await Promise.all(running.map((nodeRed) => nodeRed.kill()));
    await simulator.close();
    await rm(room, { recursive: true, force: true });
  });

  const flows = () => [
    { id: 'tab', type: 'tab', label: 'test' },
    accountOf(simulator),
    { id: 'in', ...AT, type: 'http in', url: '/print', method: 'post', wires: [['print']] },
    {
      id: 'print',
      ...AT,
      type: 'remote-printing-upload-and-print',
      account: 'account',
      cluster: simulator.world.cluster(1).clusterId,
      clusterType: 'str',
      file: join(room, 'part.gcode'),
      fileType: 'str',
      printKey: 'once',
      printKeyType: 'str',
      wires: [['out'], []],
    },
    { id: 'out', ...AT, type: 'http response', wires: [] },
  ];
  async function start({ settings, ...options }: RealNodeRedOptions): Promise<RealNodeRed> {
    const nodeRed = await startRealNodeRed({
      flows: flows(),
      credentials: credentialsOf(simulator),
      settings: { ...lean('21-httpin.js'), credentialSecret: 'the same for all', ...settings },
      ...options,
    });
    running.push(nodeRed);
    return nodeRed;
  }
  const print = async (nodeRed: RealNodeRed) => {
    const response = await fetch(`${nodeRed.url}print`, { method: 'POST' });
    return (await response.json()) as { duplicate: boolean; clusterJobId: string };
  };

  it('keeps its sign-in and print keys when the user directory is replaced', async () => {
    await writeFile(join(room, 'part.gcode'), ';TIME:60\nG28\n');
    const folder = join(room, 'kept', 'my printing');
    await mkdir(dirname(folder));
    const first = await start({ settings: { remotePrinting: { stateStore: folder } } });
    await signIn(first);
    const printed = await print(first);
    assert.equal(printed.duplicate, false);
    assert.deepEqual(
      (await readdir(first.userDir)).filter((name) => name.startsWith('remote-printing')),
      [],
    );
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
    await first.kill();

    // The environment names the same folder as a URL.
    const second = await start({ env: { REMOTE_PRINTING_STATE_STORE: pathToFileURL(folder).href } });
    assert.deepEqual(await print(second), { ...printed, duplicate: true });
    await second.stop();
    assert.deepEqual(second.complaints(), []);
  });

  describe('with a user directory in memory', () => {
    let userDir: string;
    const warnings = ({ log }: RealNodeRed) =>
      log.filter((line) => line.includes('lies inside the container or in memory'));
    const simulated = () => [
      { id: 'tab', type: 'tab', label: 'test' },
      { ...accountOf(simulator), service: 'simulator' },
      { id: 'status', ...AT, type: 'remote-printing-cluster-status', account: 'account', wires: [[], [], []] },
    ];
    const runs = async (nodeRed: RealNodeRed) => {
      const { status } = await nodeRed.fetch('remote-printing/accounts/account');
      assert.equal(status, 200, 'the account runs');
    };
    beforeEach(async () => {
      userDir = await mkdtemp('/dev/shm/remote-printing-');
    });
    afterEach(() => rm(userDir, { recursive: true, force: true }));

    it('warns once that the sign-in of a real account will be lost', async () => {
      const nodeRed = await start({ userDir });
      await nodeRed.deploy(flows());
      await nodeRed.stop();
      const said = warnings(nodeRed);
      assert.equal(said.length, 1, nodeRed.log.join('\n'));
      assert.ok(said[0]?.includes(join(userDir, 'remote-printing')), said[0]);
    });

    it('does not warn of a simulated account', async () => {
      const nodeRed = await start({ userDir, flows: simulated(), credentials: {} });
      await nodeRed.deploy(simulated());
      await runs(nodeRed);
      await nodeRed.stop();
      assert.deepEqual(warnings(nodeRed), []);
    });

    it('does not warn of its user directory if the state is elsewhere', async () => {
      for (const stateStore of [join(room, 'elsewhere'), 'postgresql://127.0.0.1:1/none']) {
        const nodeRed = await start({ userDir, settings: { remotePrinting: { stateStore } } });
        await runs(nodeRed);
        await nodeRed.stop();
        assert.deepEqual(
          warnings(nodeRed).filter((line) => line.includes(userDir)),
          [],
        );
      }
    });
  });

  it('reports at the start, once, that it cannot write its folder', async () => {
    const userDir = join(room, 'user');
    await mkdir(userDir);
    await writeFile(join(userDir, 'remote-printing'), 'in the way');
    const nodeRed = await start({ userDir });
    await nodeRed.deploy(flows());
    await nodeRed.stop();
    const said = nodeRed.log.filter((line) => line.includes('The state folder'));
    assert.equal(said.length, 1, said.join('\n'));
    assert.match(said[0]!, /remote-printing can't be written \(ENOTDIR\)/);
  });
});
