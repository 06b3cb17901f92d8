import assert from 'node:assert/strict';
import { statePlace } from '../../../lib/state/store';

const USUAL = '/data/remote-printing';

describe('the place of the saved state', () => {
  for (const blank of [undefined, null, ''])
    it(`is the usual folder for the setting ${JSON.stringify(blank)}`, () => {
      assert.deepEqual(statePlace(blank, USUAL), { folder: USUAL });
    });

  for (const [setting, folder] of [
    ['/data/storage/printing', '/data/storage/printing'],
    [' /data/storage ', '/data/storage'],
    ['file:///data/my%20storage', '/data/my storage'],
    ['FILE:///data', '/data'],
  ])
    it(`is a folder for ${setting}`, () => {
      assert.deepEqual(statePlace(setting, USUAL), { folder });
    });

  for (const setting of ['postgresql://db/printing', 'somewhere', 'file://host/data', 'file:///a%2fb', '', '.'].filter(
    Boolean,
  ))
    it(`is passed to the database, which reports the fault, for ${setting}`, () => {
      assert.deepEqual(statePlace(setting, USUAL), { address: setting });
    });

  it('is never the usual folder for a setting that isn’t a string', () => {
    assert.deepEqual(statePlace({ folder: '/data' }, USUAL), { address: '{"folder":"/data"}' });
  });
});
