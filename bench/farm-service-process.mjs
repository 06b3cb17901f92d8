// Service that returns the status of many clusters and records the time of each request. The simulator's printers would
// cost more than the measured process.
import { createServer } from 'node:http';

import { clusterAnswer, clusterIdOf, PRINT, statusAnswer } from './farm-answers.mjs';
import { pollFigures } from './farm-polls.mjs';

/** @typedef {{ clusters: number, latency: number, long: boolean }} Farm @typedef {{ from: number, to: number, began: number, interval: number }} Span */

/** @type {Farm} */
let farm = { clusters: 0, latency: 0, long: true };
/** Request times of each cluster, ms since 1970. @type {number[][]} */
let asked = [];
let bytes = 0;

const numbers = new Map();
const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://service');
  const [, id] = /^\/connect\/v1\/clusters\/([^/]+)\/status$/.exec(pathname) ?? [];
  const n = numbers.get(id);
  if (n !== undefined) asked[n]?.push(Date.now());
  setTimeout(() => {
    const now = Date.now() / 1000;
    const answer =
      n !== undefined
        ? statusAnswer(n, now, farm.long)
        : pathname === '/connect/v1/clusters'
          ? listAnswer(searchParams, now)
          : storedAnswer(pathname);
    const body = Buffer.from(JSON.stringify(answer ?? { errors: [{ code: 'notFound' }] }));
    if (n !== undefined) bytes = body.length;
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  }, farm.latency);
});
server.keepAliveTimeout = 60_000;

/** Record of a stored job, for items of a queue; null for another path. @param {string} path */
function storedAnswer(path) {
  const [, id] = /^\/slicer\/v1\/jobs\/([^/]+)$/.exec(path) ?? [];
  if (id === undefined) return null;
  const facts = { parsing_status: 'parsed', metadata: { print: { estimated_time: PRINT } } };
  return { data: { job_id: id, job_name: `${id}.gcode`, status: 'uploaded', content_type: 'text/x-gcode', ...facts } };
}

/** @param {URLSearchParams} query @param {number} now */
function listAnswer(query, now) {
  const page = Number(query.get('page') ?? 1);
  const limit = Number(query.get('limit') ?? 999_999);
  const begin = (page - 1) * limit;
  const count = Math.max(0, Math.min(limit, farm.clusters - begin));
  return {
    data: Array.from({ length: count }, (_, at) => clusterAnswer(begin + at, now)),
    meta: { page: { total_count: farm.clusters, total_pages: Math.ceil(farm.clusters / limit) }, limit_reached: false },
    links: {},
  };
}

process.on('disconnect', () => process.exit());
process.on('message', (/** @type {{ farm?: Farm, span?: Span }} */ message) => {
  if (message.farm) {
    farm = message.farm;
    numbers.clear();
    for (let n = 0; n < farm.clusters; n++) numbers.set(clusterIdOf(n), n);
    asked = Array.from({ length: farm.clusters }, () => []);
  }
  process.send?.(message.span ? { ...pollFigures(asked, message.span), bytes } : 'ready');
});
server.listen(0, '127.0.0.1', () => process.send?.(server.address()));
