import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const load = createRequire(__filename);
const timers = load(join(dirname(load.resolve('undici')), 'lib/util/timers.js')) as {
  setFastTimeout: (action: (about: unknown) => void, ms: number, about: unknown) => unknown;
  kFastTimer: symbol;
};

/** Runs undici's own idle timers by injected time. The returned function undoes that. */
export function injectUndiciTimers(after: (ms: number, action: () => void) => () => void): () => void {
  const { setFastTimeout, kFastTimer } = timers;
  timers.setFastTimeout = (action, ms, about) => {
    const start = () => after(ms, () => action(about));
    let stop = start();
    const refresh = () => {
      stop();
      stop = start();
    };
    return { [kFastTimer]: true, clear: () => stop(), refresh };
  };
  return () => {
    timers.setFastTimeout = setFastTimeout;
  };
}
