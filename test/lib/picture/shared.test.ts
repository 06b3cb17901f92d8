import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import type { Http } from '../../../lib/http/http';
import { Snapshots } from '../../../lib/picture/snapshots';
import type { StatusReader } from '../../../lib/watch/polling/status-reader';
import { limit } from '../../helpers/limits';
import { ManualClock } from '../../helpers/manual-clock';
import { ScriptedService } from '../../helpers/scripted-service';

const JPEG = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), Buffer.alloc(3_000_000, 65)]);

describe('picture/snapshots, shared', () => {
  it('gives each caller a copy of its own, in a turn of its own', async () => {
    const clock = new ManualClock();
    let downloads = 0;
    const http = {
      isLocal: false,
      send: async () => {
        downloads++;
        return {
          status: 200,
          headers: {},
          body: Readable.from([JPEG.subarray(0, 1_000_000), JPEG.subarray(1_000_000)]),
        };
      },
    } as unknown as Http;
    const done = {
      action_id: 'a',
      status: 'success',
      status_details: { value: { image_url: 'https://storage.example/p' } },
    };
    const snapshots = new Snapshots({
      service: new ScriptedService({ printerAction: [done] }),
      http,
      clock,
      clusterList: { find: () => Promise.resolve(null) },
      statusReader: {
        read: () => Promise.resolve({ is_online: true, printers: [{ uuid: 'p' }] }),
      } as unknown as StatusReader,
    });
    let turn = 0;
    let waiting: NodeJS.Immediate;
    const count = () => (waiting = setImmediate(() => (turn++, count())));
    count();
    const turns = new Set<number>();
    const take = async () => {
      const deadline = limit(clock, { seconds: 60 });
      const request = { clusterId: 'c', printerId: null, deadline, maxBytes: 4_000_000, onProgress: () => undefined };
      const picture = await snapshots.take(request);
      turns.add(turn);
      return picture;
    };
    const pictures = await Promise.all(Array.from({ length: 10 }, take));
    clearImmediate(waiting!);
    assert.deepEqual([downloads, turns.size], [1, 10]);
    for (const { image, raw } of pictures) {
      assert.ok(image.equals(JPEG));
      assert.deepEqual(raw, done);
    }
    assert.equal(new Set(pictures.map(({ image }) => image.buffer)).size, 10);
    assert.equal(new Set(pictures.map(({ raw }) => raw)).size, 10);
  });
});
