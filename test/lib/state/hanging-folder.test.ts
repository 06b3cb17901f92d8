import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileStore } from '../../../lib/state/file-store';
import { systemClock } from '../../../lib/time/clock';

describe('state/file-store on a folder that hangs', () => {
  let folder: string;
  let store: FileStore;
  const keys = Array.from({ length: 8 }, (_, nth) => ['value', String(nth)] as const);
  const options = { clock: systemClock, sealedKinds: [], secrets: () => [], warn: () => undefined };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hanging-'));
    store = new FileStore({ ...options, folder });
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('leaves one of the threads of Node.js to others', async function () {
    if (process.platform === 'win32') this.skip();
    for (const key of keys) await store.put(key, 1);
    const names = await readdir(join(folder, 'value'));
    // Opening a pipe that nobody writes to hangs like a share that is away.
    const paths = names.map((name) => join(folder, 'value', name));
    for (const path of paths) await rm(path);
    execFileSync('mkfifo', paths);
    const reads = keys.map((key) => store.get(key).catch(() => undefined));
    const stated = stat(folder).then(() => 'answered');
    const late = new Promise((resolve) => setTimeout(resolve, 2_000, 'hangs'));
    const outcome = await Promise.race([stated, late]);
    let isOver = false;
    const over = Promise.all(reads).then(() => (isOver = true));
    while (!isOver) {
      for (const path of paths) closeSync(openSync(path, constants.O_RDWR | constants.O_NONBLOCK | constants.O_CREAT));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await over;
    assert.equal(outcome, 'answered');
  });
});
