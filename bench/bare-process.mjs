// Baseline: passes a file's stream to undici, and does nothing else. `chunk`: bytes of a read; Node.js decides without it.
import { createReadStream } from 'node:fs';
import { request } from 'undici';

process.on('disconnect', () => process.exit());
process.on(
  'message',
  async (/** @type {{ path: string, size: number, url: string, contentType: string, chunk?: number }} */ wanted) => {
    const { path, size, url, contentType, chunk } = wanted;
    const headers = { 'content-type': contentType, 'content-length': String(size) };
    const answer = await request(url, {
      method: 'PUT',
      headers,
      body: createReadStream(path, { highWaterMark: chunk }),
    });
    await answer.body.dump();
    process.send?.(answer.statusCode);
  },
);
process.send?.('ready');
