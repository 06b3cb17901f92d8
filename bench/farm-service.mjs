import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/**
 * @typedef {object} FarmService
 * @property {string} url
 * @property {(farm: import('./farm-service-process.mjs').Farm) => Promise<void>} become another farm; what was asked is forgotten
 * @property {(span: import('./farm-service-process.mjs').Span) => Promise<import('./farm-polls.mjs').Polls & { bytes: number }>} figures
 */

/** @param {(() => Promise<unknown>)[]} ends gets what ends it @returns {Promise<FarmService>} */
export async function startFarmService(ends) {
  const child = fork(join(import.meta.dirname, 'farm-service-process.mjs'));
  const gone = once(child, 'exit');
  const crashed = gone.then(() => Promise.reject(new Error('the service ended')));
  crashed.catch(() => undefined);
  ends.push(() => {
    child.kill('SIGKILL');
    return gone;
  });
  const answer = async () => {
    const [message] = await Promise.race([once(child, 'message'), crashed]);
    return message;
  };
  const { port } = await answer();
  return {
    url: `http://127.0.0.1:${port}`,
    async become(farm) {
      child.send({ farm });
      await answer();
    },
    figures(span) {
      child.send({ span });
      return answer();
    },
  };
}
