import { createRequire } from 'node:module';

/** @typedef {{ authUrl: string, apiUrl: string, controlUrl: string, apiToken: string, clientId: string, clientSecret: string }} Addresses */

/** @type {typeof import('../simulator/index.js')} */
const { startSimulator } = createRequire(import.meta.url)('../dist/simulator/index.js');

const [dataDir = ''] = process.argv.slice(2);
// The storage counts and hashes bytes without writing them: the benchmark measures the sender, not a disk.
const simulator = await startSimulator({ autoApprove: true, storage: 'discard', accessTokenLifetime: 86_400, dataDir });
const { authUrl, apiUrl, controlUrl, client, users } = simulator;
process.on('disconnect', () => process.exit());
process.send?.(
  /** @satisfies {Addresses} */ ({
    authUrl,
    apiUrl,
    controlUrl,
    apiToken: users[0]?.apiToken ?? '',
    clientId: client.id,
    clientSecret: client.secret,
  }),
);
