// Baseline: polls every cluster in turn with undici and parses the answer, and does nothing else.
import { request } from 'undici';

import { clusterIdOf } from './farm-answers.mjs';

process.on('disconnect', () => process.exit());
process.on('message', (/** @type {import('./farm-flows.mjs').Wanted} */ { url, clusters, interval }) => {
  for (let n = 0; n < clusters; n++) {
    const address = `${url}/connect/v1/clusters/${clusterIdOf(n)}/status`;
    setTimeout(
      () => {
        void poll(address);
        setInterval(() => void poll(address), interval * 1000);
      },
      (interval * 1000 * n) / clusters,
    );
  }
  process.send?.('begun');
});

/** @param {string} address */
async function poll(address) {
  const { body } = await request(address, { headers: { authorization: 'Bearer token', accept: 'application/json' } });
  JSON.parse(await body.text());
}
process.send?.('ready');
