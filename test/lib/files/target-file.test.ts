import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promises as fs } from 'node:fs';
import {
  chmod,
  lstat,
  mkdtemp,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { Leftovers } from '../../../lib/files/leftovers';
import { openScratch } from '../../../lib/files/scratch';
import * as target from '../../../lib/files/target-file';
import { printingError } from '../../helpers/printing-error';
import { systemClock } from '../../../lib/time/clock';
import { Deadline } from '../../../lib/time/deadline';

const deadline = new Deadline(systemClock);
const saveFile = (path: string, parts: AsyncIterable<Uint8Array>, leftovers?: Leftovers) =>
  target.saveFile(path, parts, { deadline, leftovers });
const checkTarget = (path: string) => target.checkTarget(path, deadline);

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

  const unwritable = (work: Promise<unknown>, words: RegExp) => printingError(work, 'FILE_NOT_WRITABLE', words);

  it('writes the chunks and returns their size', async () => {
    assert.equal(await saveFile(path, chunks('ä', Buffer.from([1, 2]), '')), 4);
    assert.deepEqual(await readFile(path), Buffer.from([0xc3, 0xa4, 1, 2]));
    assert.equal(await saveFile(path, chunks()), 0);
    assert.equal((await stat(path)).size, 0);
  });

  it('writes any chunks in order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 300 })), async (parts) => {
        const whole = Buffer.concat(parts);
        assert.equal(await saveFile(path, chunks(...parts)), whole.length);
        assert.deepEqual(await readFile(path), whole);
      }),
      { numRuns: 30 },
    );
  });

  it('replaces the earlier file only when the new one is complete', async () => {
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

  it('leaves only the earlier file after a failure', async () => {
    await writeFile(path, 'earlier');
    const broken = new Error('broke off');
    await assert.rejects(saveFile(path, chunks('half', broken)), (thrown) => thrown === broken);
    await assert.rejects(saveFile(join(folder, 'other'), chunks('half', broken)), (thrown) => thrown === broken);
    assert.deepEqual(await readdir(folder), ['file.bin']);
    assert.equal(await readFile(path, 'utf8'), 'earlier');
  });

  it('keeps the mode of the replaced file', async () => {
    await writeFile(path, 'secret');
    for (const mode of [0o600, 0o666, 0o444 | 0o200]) {
      await chmod(path, mode);
      await saveFile(path, chunks('newer'));
      assert.equal((await stat(path)).mode & 0o777, mode);
    }
  });

  it('writes to the target of a link', async () => {
    const link = join(folder, 'link');
    await writeFile(path, 'earlier');
    await symlink(path, link);
    await saveFile(link, chunks('newer'));
    assert.equal(await readFile(path, 'utf8'), 'newer');
    assert.equal((await lstat(link)).isSymbolicLink(), true);
  });

  it('writes to a missing target of links, through linked folders', async () => {
    await mkdir(join(folder, 'real', 'deep'), { recursive: true });
    await symlink(join('real', 'deep'), join(folder, 'short'));
    await symlink(join('..', 'wanted.bin'), join(folder, 'real', 'deep', 'link'));
    await saveFile(join(folder, 'short', 'link'), chunks('newer'));
    assert.equal(await readFile(join(folder, 'real', 'wanted.bin'), 'utf8'), 'newer');
    assert.equal((await lstat(join(folder, 'real', 'deep', 'link'))).isSymbolicLink(), true);
  });

  it('accepts names as long as the file system does', async () => {
    const long = join(folder, 'x'.repeat(255));
    await saveFile(long, chunks('one'));
    await saveFile(long, chunks('two'));
    assert.equal(await readFile(long, 'utf8'), 'two');
    assert.deepEqual(await readdir(folder), ['x'.repeat(255)]);
  });

  it('reports an unwritable target before anything is fetched', async () => {
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

  it('checks a target without writing it', async () => {
    await checkTarget(path);
    await unwritable(checkTarget(folder), /not a file but a folder or device/);
    await unwritable(checkTarget(join(folder, 'none', 'file')), /no folder for the file/);
    assert.deepEqual(await readdir(folder), []);
  });

  describe('after a crash', () => {
    let notes: string;
    let leftovers: Leftovers;
    beforeEach(() => {
      notes = join(folder, 'state', 'unfinished');
      leftovers = new Leftovers(notes, systemClock);
    });

    const required = (name: string) => `require(${JSON.stringify(require.resolve(`../../../lib/${name}`))})`;
    /** Another process that writes to `path` and is killed while it writes. */
    const crash = async () => {
      const script = `const { Leftovers } = ${required('files/leftovers')}, { systemClock } = ${required('time/clock')};
        const deadline = new (${required('time/deadline')}.Deadline)(systemClock);
        ${required('files/target-file')}.saveFile(${JSON.stringify(path)},
        (async function* () { yield Buffer.alloc(100_000); process.stdout.write('.'); await new Promise(() => setInterval(() => {}, 1e6)); })(),
        { deadline, leftovers: new Leftovers(${JSON.stringify(notes)}, systemClock) });`;
      const child = spawn(process.execPath, ['--require', './test/typescript.cjs', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(child.stdout, 'data');
      child.kill('SIGKILL');
      await once(child, 'close');
    };
    const noted = () => readdir(notes).catch(() => []);
    const left = async () => (await readdir(folder)).filter((name) => name !== 'state');
    const part = async () => join(folder, (await left()).find((name) => name.endsWith('.part')) ?? '');
    const note = async () => join(notes, (await noted())[0] ?? '');

    it('keeps the earlier file, and removes the unfinished one in the next sweep', async () => {
      await writeFile(path, 'earlier');
      await crash();
      assert.equal(await readFile(path, 'utf8'), 'earlier');
      assert.equal((await left()).length, 2);
      await leftovers.sweep();
      assert.deepEqual(await left(), ['file.bin']);
      assert.deepEqual(await noted(), []);
    });

    it('makes records readable only by their owner, and removes them with the files', async () => {
      let modes: number[] = [];
      const watched = async function* () {
        yield bytes('half');
        modes = [(await stat(notes)).mode & 0o777, (await stat(await note())).mode & 0o777];
      };
      await saveFile(path, watched(), leftovers);
      assert.deepEqual(modes, [0o700, 0o600]);
      assert.deepEqual(await noted(), []);
      await assert.rejects(saveFile(path, chunks('half', new Error('broken')), leftovers));
      while ((await noted()).length > 0) await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(await left(), ['file.bin']);
    });

    it('records an unfinished file before it exists, and removes the record if the file can’t be created', async () => {
      const { open } = fs;
      const recorded: number[] = [];
      const refuse = { code: '' };
      fs.open = (async (at: string, ...rest: never[]) => {
        if (at.endsWith('.part')) {
          recorded.push((await noted()).length);
          if (refuse.code) throw Object.assign(new Error('refused'), refuse);
        }
        return open(at, ...rest);
      }) as typeof open;
      try {
        await saveFile(path, chunks('new'), leftovers);
        refuse.code = 'EIO';
        await assert.rejects(saveFile(path, chunks('newer'), leftovers), { code: 'FILE_NOT_WRITABLE' });
      } finally {
        fs.open = open;
      }
      assert.deepEqual(recorded, [1, 1]);
      while ((await noted()).length > 0) await new Promise((resolve) => setImmediate(resolve));
    });

    it('removes the record of an unfinished file that a late rename has moved', async () => {
      const moved = async function* () {
        yield bytes('whole');
        await rename(await part(), path);
        throw new Error('broken');
      };
      await assert.rejects(saveFile(path, moved(), leftovers));
      while ((await noted()).length > 0) await new Promise((resolve) => setImmediate(resolve));
      assert.equal(await readFile(path, 'utf8'), 'whole');
    });

    it('removes no file that another process is writing', async () => {
      const swept = async function* () {
        yield bytes('new ');
        await leftovers.sweep();
        yield bytes('content');
      };
      await saveFile(path, swept(), leftovers);
      assert.equal(await readFile(path, 'utf8'), 'new content');
    });

    it('removes only the noted file', async () => {
      await crash();
      const name = await part();
      await rm(name);
      await mkdir(name);
      await writeFile(join(name, 'precious'), '');
      await leftovers.sweep();
      assert.deepEqual([await readdir(name), await noted()], [['precious'], []]);
    });

    it('removes nothing behind a link in place of an unfinished file or its folder', async () => {
      await crash();
      const name = await part();
      const precious = join(folder, 'precious');
      await writeFile(precious, 'precious');
      await rm(name);
      await symlink(precious, name);
      await leftovers.sweep();
      assert.equal(await readFile(precious, 'utf8'), 'precious');
      assert.deepEqual(await noted(), []);
    });

    it('leaves records alone that are pipes, links, too large, or about other files', async () => {
      await crash();
      const text = await readFile(await note(), 'utf8');
      const precious = join(folder, 'precious');
      await writeFile(precious, 'precious');
      const other = JSON.stringify({ ...(JSON.parse(text) as object), path: precious });
      const id = (n: number) => join(notes, `${String(n).repeat(32)}.note`);
      execFileSync('mkfifo', [id(1)]);
      await symlink(await note(), id(2));
      await writeFile(id(3), text);
      await truncate(id(3), 500 * 1024 * 1024);
      await writeFile(id(4), other);
      await writeFile(id(5), 'null');
      await leftovers.sweep();
      assert.equal(await readFile(precious, 'utf8'), 'precious');
      assert.deepEqual([await left(), (await noted()).length], [['precious'], 5]);
    });

    it('searches no other folder, neither the temporary one nor the target’s', async () => {
      const temporary = join(folder, 'tmp');
      const { TMPDIR } = process.env;
      process.env.TMPDIR = temporary;
      try {
        const names = ['remote-printing-00000000-1-a-00000000.part', '.remote-printing-00000000-1-a-00000000.note'];
        for (const place of [temporary, folder]) {
          await mkdir(join(place, names[0] as string), { recursive: true });
          await writeFile(join(place, names[1] as string), join(folder, 'precious'));
          for (const name of names) await utimes(join(place, name), 0, 0);
        }
        await leftovers.sweep();
        await saveFile(path, chunks('new'), leftovers);
        for (const place of [temporary, folder])
          assert.deepEqual((await readdir(place)).filter((name) => names.includes(name)).sort(), names.sort());
      } finally {
        if (TMPDIR === undefined) delete process.env.TMPDIR;
        else process.env.TMPDIR = TMPDIR;
      }
    });

    it('removes nothing behind a link that another user puts in place of our folder in the temporary folder', async () => {
      const temporary = join(folder, 'tmp');
      const home = join(folder, 'home');
      const { TMPDIR } = process.env;
      process.env.TMPDIR = temporary;
      try {
        await mkdir(home);
        for (const name of ['flows.json', 'compressed']) await writeFile(join(home, name), 'precious');
        const traps = ['remote-printing-00000000-1-a-00000000.part', 'remote-printing-AbCdEf'];
        for (const trap of traps) {
          await mkdir(join(temporary, trap), { recursive: true });
          await symlink(home, join(temporary, trap, 'sub'));
        }
        // Also a link to the folder itself.
        await symlink(home, join(temporary, 'remote-printing-GhIjKl'));
        for (const trap of traps) await utimes(join(temporary, trap), 0, 0);
        await leftovers.sweep();
        const scratch = await openScratch(deadline);
        await scratch.handle.write('content');
        await scratch.close();
        assert.deepEqual((await readdir(temporary)).sort(), [...traps, 'remote-printing-GhIjKl'].sort());
        assert.deepEqual((await readdir(home)).sort(), ['compressed', 'flows.json']);
        for (const trap of traps) assert.deepEqual(await readdir(join(temporary, trap)), ['sub']);
      } finally {
        if (TMPDIR === undefined) delete process.env.TMPDIR;
        else process.env.TMPDIR = TMPDIR;
      }
    });
  });

  it('leaves only the earlier file if the disk is full', async () => {
    await writeFile(path, 'earlier');
    // The system's limit on file sizes simulates a full disk.
    const script = `process.on('SIGXFSZ', () => {});
      require(${JSON.stringify(require.resolve('../../../lib/files/target-file'))}).saveFile(${JSON.stringify(path)},
        (async function* () { for (;;) yield Buffer.alloc(300_000); })(), { deadline: new (require(${JSON.stringify(require.resolve('../../../lib/time/deadline'))}).Deadline)(require(${JSON.stringify(require.resolve('../../../lib/time/clock'))}).systemClock) }).catch((error) => console.log(error.code, error.message));`;
    const command = `ulimit -f 1000; exec "$0" --require ./test/typescript.cjs -e "$1"`;
    const child = spawn('sh', ['-c', command, process.execPath, script], { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (part: Buffer) => (output += part.toString()));
    await once(child, 'close');
    assert.match(output, /^FILE_NOT_WRITABLE The file .* can't be written \(EFBIG\)/);
    assert.equal(await readFile(path, 'utf8'), 'earlier');
    assert.deepEqual(await readdir(folder), ['file.bin']);
  });
});
