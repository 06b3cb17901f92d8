import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  lstat,
  mkdtemp,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { scratchName, sweepScratch } from '../../../lib/files/scratch';
import { checkTarget, saveFile } from '../../../lib/files/target-file';
import { PrintingError } from '../../../lib/service/errors';

const bytes = (text: string) => Buffer.from(text);

async function* chunks(...parts: (string | Uint8Array | Error)[]) {
  for (const part of parts) {
    await Promise.resolve();
    if (part instanceof Error) throw part;
    yield typeof part === 'string' ? bytes(part) : part;
  }
}

describe('files/target-file', () => {
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
      yield bytes('new ');
      seen.push(await readFile(path, 'utf8'));
      yield bytes('content');
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
    for (const mode of [0o600, 0o666, 0o444 | 0o200]) {
      await chmod(path, mode);
      await saveFile(path, chunks('newer'));
      assert.equal((await stat(path)).mode & 0o777, mode);
    }
  });

  it('goes behind a link', async () => {
    const link = join(folder, 'link');
    await writeFile(path, 'earlier');
    await symlink(path, link);
    await saveFile(link, chunks('newer'));
    assert.equal(await readFile(path, 'utf8'), 'newer');
    assert.equal((await lstat(link)).isSymbolicLink(), true);
  });

  it('goes behind links that lead to what is not there yet, over folders that are links', async () => {
    await mkdir(join(folder, 'real', 'deep'), { recursive: true });
    await symlink(join('real', 'deep'), join(folder, 'short'));
    await symlink(join('..', 'wanted.bin'), join(folder, 'real', 'deep', 'link'));
    await saveFile(join(folder, 'short', 'link'), chunks('newer'));
    assert.equal(await readFile(join(folder, 'real', 'wanted.bin'), 'utf8'), 'newer');
    assert.equal((await lstat(join(folder, 'real', 'deep', 'link'))).isSymbolicLink(), true);
  });

  it('takes names as long as the file system does', async () => {
    const long = join(folder, 'x'.repeat(255));
    await saveFile(long, chunks('one'));
    await saveFile(long, chunks('two'));
    assert.equal(await readFile(long, 'utf8'), 'two');
    assert.deepEqual(await readdir(folder), ['x'.repeat(255)]);
  });

  it('says why it can not write, before anything is fetched', async () => {
    let begun = false;
    const never = async function* () {
      begun = true;
      yield bytes('');
    };
    await mkdir(join(folder, 'sub'));
    await writeFile(path, '');
    await unwritable(saveFile(join(folder, 'sub'), never()), /not a file but a folder or device/);
    await unwritable(saveFile('/dev/null', never()), /not a file but a folder or device/);
    await unwritable(saveFile(join(folder, 'none', 'file'), never()), /no folder for the file/);
    await unwritable(saveFile(join(path, 'file'), never()), /no folder for the file/);
    await unwritable(saveFile(join(folder, 'x'.repeat(300)), never()), /can't be written \(ENAMETOOLONG\)/);
    await unwritable(saveFile(`${folder}/none/`, never()), /not a file but a folder or device/);
    await symlink('circle', join(folder, 'circle'));
    await unwritable(saveFile(join(folder, 'circle'), never()), /can't be written \(ELOOP\)/);
    assert.equal(begun, false);
  });

  it('is checked without being written', async () => {
    await checkTarget(path);
    await unwritable(checkTarget(folder), /not a file but a folder or device/);
    await unwritable(checkTarget(join(folder, 'none', 'file')), /no folder for the file/);
    assert.deepEqual(await readdir(folder), []);
  });

  describe('after a crash', () => {
    let temporary: string;
    const systemTemporary = process.env.TMPDIR;
    beforeEach(async () => {
      temporary = join(folder, 'tmp');
      await mkdir(temporary);
      process.env.TMPDIR = temporary;
    });
    afterEach(() => {
      if (systemTemporary === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = systemTemporary;
    });

    /** Another process that writes to `path` and is killed in the middle. */
    const crash = async () => {
      const script = `require(${JSON.stringify(require.resolve('../../../lib/files/target-file'))}).saveFile(${JSON.stringify(path)},
        (async function* () { yield Buffer.alloc(100_000); process.stdout.write('.'); await new Promise(() => setInterval(() => {}, 1e6)); })());`;
      const child = spawn(process.execPath, ['--import', 'tsx', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(child.stdout, 'data');
      child.kill('SIGKILL');
      await once(child, 'close');
    };
    const notes = async () => (await readdir(temporary)).filter((name) => name.endsWith('.note'));
    const left = async () => (await readdir(folder)).filter((name) => name !== 'tmp');

    it('the earlier file is whole, and the next sweep removes what was left', async () => {
      await writeFile(path, 'earlier');
      await crash();
      assert.equal(await readFile(path, 'utf8'), 'earlier');
      assert.equal((await left()).length, 2);
      await sweepScratch();
      assert.deepEqual(await left(), ['file.bin']);
      assert.deepEqual(await notes(), []);
    });

    it('the next file in the same folder does, where the temporary folder was emptied', async () => {
      await crash();
      for (const name of await notes()) await rm(join(temporary, name));
      await saveFile(join(folder, 'other'), chunks('other'));
      assert.deepEqual(await left(), ['other']);
    });

    it('nothing goes that somebody may still work on, or that is not ours', async () => {
      const ours = scratchName();
      const elsewhere = scratchName().replace(/-[\da-f]{8}-/, '-00000000-');
      const kept = [`.${ours}`, `.${elsewhere}`, 'remote-printing-x.part', 'mine.part'];
      for (const name of kept) await writeFile(join(folder, name), '');
      const foreign = join(folder, 'mine.part');
      await writeFile(
        join(temporary, scratchName().replace(/-\d+-/, '-999999999-').replace('.part', '.note')),
        foreign,
      );
      await sweepScratch();
      await sweepScratch(folder);
      assert.deepEqual((await left()).sort(), kept.sort());
      await utimes(join(folder, `.${elsewhere}`), 0, 0);
      await sweepScratch(folder);
      assert.deepEqual((await left()).sort(), kept.filter((name) => !name.includes(elsewhere)).sort());
    });
  });

  it('a disk that takes no more leaves the earlier file and nothing else', async () => {
    await writeFile(path, 'earlier');
    // The system's limit on the size of files stands for a disk that is full.
    const script = `process.on('SIGXFSZ', () => {});
      require(${JSON.stringify(require.resolve('../../../lib/files/target-file'))}).saveFile(${JSON.stringify(path)},
        (async function* () { for (;;) yield Buffer.alloc(300_000); })()).catch((error) => console.log(error.code, error.message));`;
    const command = `ulimit -f 1000; exec "$0" --import tsx -e "$1"`;
    const child = spawn('sh', ['-c', command, process.execPath, script], { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    child.stdout.on('data', (part: Buffer) => (said += part.toString()));
    await once(child, 'close');
    assert.match(said, /^FILE_NOT_WRITABLE The file .* can't be written \(EFBIG\)/);
    assert.equal(await readFile(path, 'utf8'), 'earlier');
    assert.deepEqual(await readdir(folder), ['file.bin']);
  });
});
