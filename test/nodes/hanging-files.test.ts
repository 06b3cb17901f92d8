import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeMessage } from 'node-red';
import { startSimulator, type Simulator } from '../../simulator';
import { Activity } from '../faults/below/activity';
import { Disks, type DiskFault, type Mount } from '../faults/below/disk';
import { InjectedTime } from '../faults/below/time';
import { catchNode, Flow, helperNode, type Inbox } from '../helpers/flow';
import { TurnedTime } from '../helpers/turned-time';

const SHARE = '/a-share-that-hangs';
const TEMPORARY = '/a-temporary-folder-that-hangs';
const codeOf = (msg: NodeMessage) => (msg.error as { code?: string } | undefined)?.code;

describe('nodes: a file on a hanging share', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;
  let folder: string;
  let disks: Disks;
  let injected: InjectedTime;
  let mount: Mount;
  let removeDisks: () => void;
  let comeBack: () => void;
  let caught: Inbox;
  let results: Inbox;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'share-'));
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await writeFile(join(folder, `${name}.gcode`), 'G28\n');
    const activity = new Activity();
    disks = new Disks(activity);
    removeDisks = disks.install();
    injected = new InjectedTime(activity);
    mount = disks.mount(SHARE, folder, injected);
    time = new TurnedTime();
    simulator = await startSimulator({ autoApprove: true, now: time.now, accessTokenLifetime: 1e7 });
    flow = await Flow.start(simulator);
    const account = { account: 'account', timeout: 30, wires: [['results']] };
    const nodes = [
      { ...account, id: 'print', type: 'remote-printing-upload-and-print', print: false, source: 'file' },
      {
        ...account,
        id: 'packed',
        type: 'remote-printing-upload-and-print',
        print: false,
        source: 'file',
        compress: true,
      },
      { ...account, id: 'library', type: 'remote-printing-library-file', kind: 'job', source: 'file' },
      {
        ...account,
        ...{ id: 'download', type: 'remote-printing-library-file', operation: 'download', kind: 'job' },
        ...{ fileId: 'stored', fileIdType: 'msg', file: `${SHARE}/down.gcode`, fileType: 'str' },
      },
      {
        ...account,
        ...{ id: 'report', type: 'remote-printing-report-generator', format: 'file' },
        ...{ file: `${SHARE}/report.csv`, fileType: 'str' },
      },
    ];
    await time.until(flow.deploy([...nodes, helperNode('results'), helperNode('caught'), catchNode(['caught'])]));
    [results, caught] = [flow.listen('results'), flow.listen('caught')];
  });
  afterEach(async () => {
    comeBack();
    await time.until(flow.stop());
    await simulator.close();
    removeDisks();
    time.restore();
    await rm(folder, { recursive: true });
  });

  function hang(fault: DiskFault = {}, at = mount): void {
    const hang = new Promise<void>((resolve) => (comeBack = resolve));
    const added = { ...fault, hang };
    at.faults.add(added);
    void hang.then(() => at.faults.delete(added));
  }
  /** Stores a print job in the library, and returns its id. */
  async function stored(): Promise<unknown> {
    flow.send('library', { filename: part('f') });
    return (await time.until(results.at(0))).jobId;
  }
  const part = (name: string) => `${SHARE}/${name}.gcode`;

  for (const [id, steps] of [
    ['print', ['stat', 'open', 'fstat', 'read']],
    ['packed', ['read']],
    ['library', ['stat', 'read']],
    ['report', ['stat', 'realpath', 'access', 'open', 'write', 'fsync', 'close', 'rename']],
  ] as const)
    for (const step of steps)
      it(`ends a message of ${id} in TIMEOUT when ${step} hangs`, async () => {
        hang({ names: [step] });
        const began = time.now();
        flow.send(id, { filename: part('a') });
        assert.equal(codeOf(await time.until(caught.at(0))), 'TIMEOUT');
        assert.equal(time.now() - began, 30_000);
        comeBack();
        await time.settled();
        assert.deepEqual(disks.open(mount), [], 'the handle is closed once the call returns');
        await time.pass(60);
        assert.deepEqual([caught.all.length, results.all.length], [1, 0]);
      });

  for (const step of ['stat', 'realpath', 'access', 'open', 'write', 'fsync', 'close', 'rename'])
    it(`ends a download to a file in TIMEOUT when ${step} hangs`, async () => {
      const id = await stored();
      hang({ names: [step] });
      const began = time.now();
      flow.send('download', { stored: id });
      assert.equal(codeOf(await time.until(caught.at(0))), 'TIMEOUT');
      assert.equal(time.now() - began, 30_000);
      comeBack();
      await time.settled();
      assert.deepEqual(disks.open(mount), [], 'the handle is closed once the call returns');
      const unfinished = (await readdir(folder)).filter((name) => !name.endsWith('.gcode'));
      assert.deepEqual(unfinished, [], 'no unfinished file is left once the call returns');
      assert.deepEqual([caught.all.length, results.all.length], [1, 1]);
      flow.send('download', { stored: id });
      await time.until(results.at(1));
      assert.equal(await readFile(join(folder, 'down.gcode'), 'utf8'), 'G28\n');
    });

  for (const step of ['mkdtemp', 'open', 'unlink', 'rmdir', 'write', 'read'])
    it(`ends a compressed upload in TIMEOUT when ${step} of the temporary folder hangs`, async () => {
      const real = await mkdtemp(join(tmpdir(), 'temporary-'));
      const temporary = disks.mount(TEMPORARY, real, injected);
      const { TMPDIR } = process.env;
      process.env.TMPDIR = TEMPORARY;
      try {
        hang({ names: [step] }, temporary);
        const began = time.now();
        flow.send('packed', { filename: part('a') });
        assert.equal(codeOf(await time.until(caught.at(0))), 'TIMEOUT');
        assert.equal(time.now() - began, 30_000);
        comeBack();
        await time.settled();
        assert.deepEqual(disks.open(temporary), [], 'the handle is closed once the call returns');
        assert.deepEqual(await readdir(real), [], 'no name is left once the call returns');
        flow.send('packed', { filename: part('a') });
        await time.until(results.at(0));
        assert.equal(caught.all.length, 1);
      } finally {
        if (TMPDIR === undefined) delete process.env.TMPDIR;
        else process.env.TMPDIR = TMPDIR;
        disks.unmount(temporary);
        await rm(real, { recursive: true });
      }
    });

  for (const step of ['open', 'fsync'])
    it(`leaves no record of a finished report when the ${step} of its folder returns late`, async () => {
      hang({ names: [step], paths: (path) => path === '' });
      flow.send('report', {});
      assert.equal(codeOf(await time.until(caught.at(0))), 'TIMEOUT');
      const notes = () => readdir(join(flow.userDir, 'remote-printing', 'unfinished'));
      assert.equal((await notes()).length, 1, 'the rename may still get lost');
      comeBack();
      await time.settled();
      assert.deepEqual(await notes(), []);
      assert.deepEqual(disks.open(mount), []);
      assert.ok((await readdir(folder)).includes('report.csv'));
    });

  it('delays no message when only a close hangs', async () => {
    hang({ names: ['close'] });
    flow.send('print', { filename: part('a') });
    await time.until(results.at(0));
    assert.deepEqual(disks.open(mount), ['a.gcode']);
    comeBack();
    await time.settled();
    assert.deepEqual(disks.open(mount), []);
  });

  it('delays no other file, and is readable again after the share recovers', async () => {
    hang();
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) flow.send('print', { filename: part(name) });
    const other = join(await mkdtemp(join(tmpdir(), 'other-')), 'healthy.gcode');
    await writeFile(other, 'G28\n');
    flow.send('print', { filename: other });
    await time.until(results.at(0));
    assert.equal(caught.all.length, 0);
    assert.equal(mount.steps, 0);
    await time.until(caught.at(5));
    assert.deepEqual([...new Set(caught.all.map(codeOf))], ['TIMEOUT']);
    const began = time.now();
    flow.send('print', { filename: part('a') });
    assert.equal(codeOf(await time.until(caught.at(6))), 'TIMEOUT');
    assert.equal(time.now() - began, 30_000, 'a later message has its own timeout');
    assert.equal(mount.steps, 0, 'a hanging share is not tried again');
    comeBack();
    await time.settled();
    flow.send('print', { filename: part('b') });
    await time.until(results.at(1));
    assert.deepEqual(disks.open(mount), []);
    await rm(join(other, '..'), { recursive: true });
  });
});
