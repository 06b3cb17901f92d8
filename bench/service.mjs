import { basename } from 'node:path';

import { startProcess } from './processes.mjs';

/**
 * Simulated service in a separate process.
 * @typedef {object} Service
 * @property {import('./service-process.mjs').Addresses} addresses
 * @property {(file: GcodeFile) => Promise<{ jobId: string, url: string, contentType: string }>} register a fresh place to upload to
 * @property {(jobId: string, file: GcodeFile) => Promise<void>} check throws unless exactly these bytes have arrived
 * @typedef {{ path: string, size: number, sha256: string }} GcodeFile
 */

/**
 * @param {string} folder of its data
 * @param {(() => Promise<unknown>)[]} ends gets what ends it
 * @returns {Promise<Service>}
 */
export async function startService(folder, ends) {
  const { first } = await startProcess(ends, ['service-process.mjs', folder]);
  const addresses = /** @type {import('./service-process.mjs').Addresses} */ (first);
  const authorized = { authorization: `Bearer ${addresses.apiToken}`, 'content-type': 'application/json' };

  return {
    addresses,
    async register({ path, size }) {
      const data = { job_name: basename(path), file_size: size, content_type: 'text/plain' };
      const body = JSON.stringify({ data });
      const url = `${addresses.apiUrl}/slicer/v1/jobs/upload`;
      const { data: place } = await json(url, { method: 'PUT', headers: authorized, body });
      return { jobId: place.job_id, url: place.upload_url, contentType: place.content_type };
    },
    async check(jobId, { size, sha256 }) {
      const { data: job } = await json(`${addresses.apiUrl}/slicer/v1/jobs/${jobId}`, { headers: authorized });
      if (job.status !== 'uploaded' || job.file_size !== size) throw new Error(`the stored file is '${job.status}'`);
      const { stored_jobs: stored } = await json(`${addresses.controlUrl}/state`);
      const arrived = stored.find((/** @type {{ jobId: string }} */ other) => other.jobId === jobId);
      if (arrived?.sha256 !== sha256) throw new Error('other bytes than those of the file have arrived');
    },
  };
}

/** @param {string} url @param {RequestInit} [init] */
async function json(url, init) {
  const answer = await fetch(url, init);
  if (!answer.ok) throw new Error(`${new URL(url).pathname} answered ${answer.status}: ${await answer.text()}`);
  return /** @type {any} */ (await answer.json());
}
