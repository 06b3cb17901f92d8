// Baseline: passes a file's stream to undici, and does nothing else.
import { createReadStream } from 'node:fs';
import { request } from 'undici';

process.on('disconnect', () => process.exit());
process.on(
  'message',
  async (/** @type {{ path: string, size: number, url: string, contentType: string }} */ wanted) => {
    const { path, size, url, contentType } = wanted;
    const headers = { 'content-type': contentType, 'content-length': String(size) };
    const answer = await request(url, { method: 'PUT', headers, body: createReadStream(path) });
    await answer.body.dump();
    process.send?.(answer.statusCode);
  },
);
process.send?.('ready');
