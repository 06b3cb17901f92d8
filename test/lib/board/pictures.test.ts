import assert from 'node:assert/strict';
import { type Picture, Pictures, type Subject } from '../../../lib/board/pictures';
import { ManualClock } from '../../helpers/manual-clock';

const subject = (changes: Partial<Subject> = {}): Subject => ({
  ...{ id: 'p', clusterId: 'p', printerId: null, isOnline: true, print: null },
  ...changes,
});

describe('lib/board/pictures', () => {
  let clock: ManualClock;
  let taken: string[];
  let pictures: Pictures;
  let fails: boolean;
  let changes: number;
  let size: number;
  beforeEach(() => {
    clock = new ManualClock();
    [taken, fails, changes, size] = [[], false, 0, 1];
    pictures = new Pictures({
      clock,
      changed: () => changes++,
      take: async ({ id }): Promise<Picture> => {
        taken.push(id);
        if (fails) throw new Error('no camera');
        return { image: Buffer.alloc(size, id), contentType: 'image/jpeg', takenAt: String(taken.length) };
      },
    });
  });
  afterEach(() => pictures.close());
  /** Somebody looks for so many seconds, every ten. */
  const look = async (seconds: number, ...subjects: Subject[]) => {
    for (let at = 0; at < seconds; at += 10) {
      pictures.look(subjects);
      pictures.look(subjects);
      await clock.advance(10_000);
    }
  };

  it('takes one at the first look, and none without a look', async () => {
    await clock.advance(600_000);
    assert.deepEqual(taken, []);
    await look(10, subject());
    assert.deepEqual([taken, changes], [['p'], 1]);
    assert.equal(pictures.of('p')?.image.toString(), 'p');
    assert.equal(pictures.of('other'), null);
  });

  it('keeps 64 MiB of them, the newest first', async () => {
    size = 5 * 1024 * 1024;
    const ids = Array.from({ length: 20 }, (_, nth) => `p${nth}`);
    await look(10, ...ids.map((id) => subject({ id, print: 'job' })));
    assert.deepEqual(
      ids.filter((id) => pictures.of(id)),
      ids.slice(-12),
    );
    // The one that was missing is the newest now.
    await clock.advance(30_000);
    await look(10, subject({ id: 'p0', print: 'job' }));
    assert.deepEqual(
      ids.filter((id) => pictures.of(id)),
      ['p0', ...ids.slice(-11)],
    );
  });

  it('takes one every 30 seconds while it prints, for all who look', async () => {
    await look(300, subject({ print: 'job' }));
    assert.equal(taken.length, 10);
  });

  it('takes one more after the end, and then none', async () => {
    await look(60, subject({ print: 'job' }));
    const before = taken.length;
    await look(600, subject());
    assert.equal(taken.length, before + 1);
    assert.equal(pictures.ofPrint('job')?.takenAt, String(before + 1));
  });

  it('takes the one after the end at once: a person judges the plate by it', async () => {
    await look(10, subject({ print: 'job' }));
    pictures.look([subject()]);
    await clock.advance(1_000);
    assert.deepEqual([taken.length, pictures.ofPrint('job')?.takenAt], [2, '2']);
  });

  it('takes none of an offline printer', async () => {
    await look(60, subject({ isOnline: false }));
    assert.deepEqual(taken, []);
  });

  it('asks a printer without a camera ever less often', async () => {
    fails = true;
    await look(3_600, subject({ print: 'job' }));
    assert.ok(taken.length >= 5 && taken.length <= 9, String(taken.length));
    fails = false;
    await look(900, subject({ print: 'job' }));
    assert.ok(pictures.of('p'));
  });

  it('drops the pictures that nobody looks at', async () => {
    await look(10, subject());
    await clock.advance(16 * 60_000);
    pictures.look([subject({ id: 'q', clusterId: 'q' })]);
    assert.equal(pictures.of('p'), null);
  });
});
