import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileStore, isVolatile } from '../../../lib/state/file-store';
import { ManualClock } from '../../helpers/manual-clock';

const line = (point: string, type: string) => `36 35 98:0 / ${point} rw,noatime master:1 - ${type} /dev/disk rw`;
const mounts = (...lines: string[]) => `${lines.join('\n')}\n`;

describe('a check of the state folder', () => {
  describe('with a list of mounts', () => {
    for (const type of ['overlay', 'tmpfs'])
      it(`finds a folder on ${type} temporary`, () => {
        assert.equal(isVolatile(mounts(line('/', type)), '/data/remote-printing'), true);
      });

    it('finds a folder on a disk lasting', () => {
      assert.equal(isVolatile(mounts(line('/', 'ext4')), '/data/remote-printing'), false);
    });

    it('uses the mount that is nearest to the folder', () => {
      const list = mounts(line('/', 'overlay'), line('/data/storage', 'nfs4'), line('/data', 'overlay'));
      assert.equal(isVolatile(list, '/data/storage/printing'), false);
      assert.equal(isVolatile(list, '/data/storage'), false);
      assert.equal(isVolatile(list, '/data/storage2'), true);
    });

    it('uses the later of two mounts on one folder', () => {
      assert.equal(isVolatile(mounts(line('/data', 'tmpfs'), line('/data', 'ext4')), '/data'), false);
    });

    it('decodes blanks in the name of a mount', () => {
      assert.equal(isVolatile(mounts(line('/', 'overlay'), line('/my\\040data', 'xfs')), '/my data/state'), false);
    });

    for (const list of ['', 'odd', ' - ', '1 2 3\n- - -'])
      it(`accepts a folder for the list ${JSON.stringify(list)}`, () => {
        assert.equal(isVolatile(list, '/data'), false);
      });
  });

  describe('on the file system', () => {
    let room: string;
    beforeEach(async () => {
      room = await mkdtemp(join(tmpdir(), 'folder-check-'));
    });
    afterEach(() => rm(room, { recursive: true, force: true }));

    const faultOf = (folder: string) =>
      new FileStore({
        folder,
        clock: new ManualClock(),
        sealedKinds: [],
        secrets: () => [],
        warn: () => undefined,
      }).fault();

    it('makes a missing folder for its owner only', async () => {
      const folder = join(room, 'a');
      assert.equal(await faultOf(folder), null);
      assert.equal((await stat(folder)).mode & 0o777, 0o700);
    });

    it('makes no parent folder, which may be a mount point that is not there yet', async () => {
      assert.match(
        String(await faultOf(join(room, 'a', 'b'))),
        /^The parent folder of the state folder .+b is missing/,
      );
      assert.deepEqual(await readdir(room), []);
    });

    it('names a folder that can’t be created, with the reason', async () => {
      await writeFile(join(room, 'file'), '');
      const sentence = String(await faultOf(join(room, 'file', 'state')));
      assert.match(sentence, /^The state folder .+state can't be written \(ENOTDIR\)/);
    });
  });
});
