import assert from 'node:assert/strict';
import { PrintPictures } from '../../../lib/home-assistant/pictures';
import { ManualClock } from '../../helpers/manual-clock';

describe('lib/home-assistant/pictures', () => {
  let clock: ManualClock;
  let pictures: PrintPictures;
  let tries: number;
  let taken: number;
  /** Tries from now on that fail. */
  let failing: number;
  beforeEach(() => {
    clock = new ManualClock();
    tries = taken = failing = 0;
    pictures = new PrintPictures({
      ...{ clock, every: 30_000 },
      take: () => {
        tries++;
        if (failing-- > 0) return Promise.reject(new Error('Busy.'));
        return Promise.resolve({ image: Buffer.from('x'), contentType: 'image/png' });
      },
      taken: () => taken++,
    });
  });
  afterEach(() => pictures.close());

  const end = async () => {
    pictures.see('a', true);
    await clock.advance(1_000);
    pictures.see('a', false);
    await clock.advance(1_000);
  };

  it('takes one picture of the end', async () => {
    await end();
    await clock.advance(3_600_000);
    assert.deepEqual([tries, taken], [2, 2]);
  });

  it('takes the picture of the end later if the first tries fail', async () => {
    pictures.see('a', true);
    await clock.advance(1_000);
    failing = 2;
    pictures.see('a', false);
    await clock.advance(1_000);
    assert.deepEqual([tries, taken], [2, 1], 'no second try at once');
    await clock.advance(600_000);
    assert.deepEqual([tries, taken], [4, 2]);
    await clock.advance(3_600_000);
    assert.deepEqual([tries, taken], [4, 2], 'no more than one');
  });

  it('gives the picture of an end up after some tries', async () => {
    failing = Infinity;
    await end();
    await clock.advance(24 * 3_600_000);
    assert.deepEqual([tries, taken], [6, 0]);
  });

  it('takes none of an end once the next print has begun', async () => {
    pictures.see('a', true);
    await clock.advance(1_000);
    failing = 1;
    pictures.see('a', false);
    await clock.advance(1_000);
    pictures.see('a', true);
    await clock.advance(1_000);
    assert.deepEqual([tries, taken], [3, 2]);
    await clock.advance(30_000);
    assert.equal(tries, 4, 'at the interval of the new print');
  });
});
