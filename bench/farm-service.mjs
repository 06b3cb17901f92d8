import { startProcess } from './processes.mjs';

/**
 * @typedef {object} FarmService
 * @property {string} url
 * @property {(farm: import('./farm-service-process.mjs').Farm) => Promise<void>} become another farm; what was asked is forgotten
 * @property {(span: import('./farm-service-process.mjs').Span) => Promise<import('./farm-polls.mjs').Polls & { bytes: number }>} figures
 */

/** @param {(() => Promise<unknown>)[]} ends gets what ends it @returns {Promise<FarmService>} */
export async function startFarmService(ends) {
  const { first, ask } = await startProcess(ends, ['farm-service-process.mjs']);
  return {
    url: `http://127.0.0.1:${first.port}`,
    become: (farm) => ask({ farm }),
    figures: (span) => ask({ span }),
  };
}
