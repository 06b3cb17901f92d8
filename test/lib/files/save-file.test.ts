import assert from 'node:assert/strict';
import { chmod, lstat, mkdtemp, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { saveFile } from '../../../lib/files/save-file';
import { PrintingError } from '../../../lib/service/errors';

async function* chunks(...parts: (string | Uint8Array | Error)[]) {
  for (const part of parts) {
    await Promise.resolve();
    if (part instanceof Error) throw part;
    yield part;
  }
}

describe('files/save-file', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'save-'));
    path = join(folder, 'file.bin');
  });
  afterEach(() => rm(folder, { recursive: true }));

  const unwritable = async (work: Promise<unknown>, words: RegExp) => {
    const error = await work.then(
      () => assert.fail('it was written'),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof PrintingError, String(error));
    assert.equal(error.code, 'FILE_NOT_WRITABLE');
    assert.match(error.message, words);
  };

  it('writes what comes, and says how much', async () => {
    assert.equal(await saveFile(path, chunks('ä', Buffer.from([1, 2]), '')), 4);
    assert.deepEqual(await readFile(path), Buffer.from([0xc3, 0xa4, 1, 2]));
    assert.equal(await saveFile(path, chunks()), 0);
    assert.equal((await stat(path)).size, 0);
  });

  it('any chunks, in their order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 300 })), async (parts) => {
        const whole = Buffer.concat(parts);
        assert.equal(await saveFile(path, chunks(...parts)), whole.length);
        assert.deepEqual(await readFile(path), whole);
      }),
      { numRuns: 30 },
    );
  });

  it('is not there before it is whole, and leaves the earlier file till then', async () => {
    await writeFile(path, 'earlier');
    const seen: string[] = [];
    const watched = async function* () {
      yield 'new ';
      seen.push(await readFile(path, 'utf8'));
      yield 'content';
    };
    await saveFile(path, watched());
    assert.deepEqual(seen, ['earlier']);
    assert.equal(await readFile(path, 'utf8'), 'new content');
    assert.deepEqual(await readdir(folder), ['file.bin']);
  });

  it('a failure on the way leaves nothing but the earlier file', async () => {
    await writeFile(path, 'earlier');
    const broken = new Error('broke off');
    await assert.rejects(saveFile(path, chunks('half', broken)), (thrown) => thrown === broken);
    await assert.rejects(saveFile(join(folder, 'other'), chunks('half', broken)), (thrown) => thrown === broken);
    assert.deepEqual(await readdir(folder), ['file.bin']);
    assert.equal(await readFile(path, 'utf8'), 'earlier');
  });

  it('keeps the mode of the file it replaces', async () => {
    await writeFile(path, 'secret');
    await chmod(path, 0o600);
    await saveFile(path, chunks('newer'));
    assert.equal((await stat(path)).mode & 0o777, 0o600);
  });

  it('goes behind a link', async () => {
    const link = join(folder, 'link');
    await writeFile(path, 'earlier');
    await symlink(path, link);
    await saveFile(link, chunks('newer'));
    assert.equal(await readFile(path, 'utf8'), 'newer');
    assert.equal((await lstat(link)).isSymbolicLink(), true);
  });

  it('says why it can not write, before anything is fetched', async () => {
    let begun = false;
    const never = async function* () {
      begun = true;
      yield '';
    };
    await mkdir(join(folder, 'sub'));
    await writeFile(path, '');
    await unwritable(saveFile(join(folder, 'sub'), never()), /not a file but a folder or device/);
    await unwritable(saveFile('/dev/null', never()), /not a file but a folder or device/);
    await unwritable(saveFile(join(folder, 'none', 'file'), never()), /no folder for the file/);
    await unwritable(saveFile(join(path, 'file'), never()), /no folder for the file/);
    await unwritable(saveFile(join(folder, 'x'.repeat(300)), never()), /can't be written \(ENAMETOOLONG\)/);
    assert.equal(begun, false);
  });
});
