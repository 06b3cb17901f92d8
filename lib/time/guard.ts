import { asPrintingError, type PrintingError } from '../service/errors';

/**
 * Wraps a callback that nothing above can catch: a listener, a timer, a poll, a delivery. Neither a throw nor a rejection
 * gets out of the returned function; `onFault` receives it as an error, by default as a warning of the process. An async
 * throw would end the user's Node-RED.
 */
export function guard<Args extends unknown[]>(
  callback: (...args: Args) => unknown,
  onFault: (error: PrintingError) => void = warnOf,
): (...args: Args) => void {
  const report = (thrown: unknown) => {
    try {
      onFault(asPrintingError(thrown));
    } catch {
      // A report that fails has nowhere left to go.
    }
  };
  return (...args) => {
    try {
      const result = callback(...args);
      if (isThenable(result)) result.then(undefined, report);
    } catch (thrown) {
      report(thrown);
    }
  };
}

/** Where no log is at hand, the stack says which callback it was. */
const warnOf = (error: PrintingError): void =>
  process.emitWarning(
    `${error.message} ${error.cause instanceof Error ? (error.cause.stack ?? '') : ''}`,
    'RemotePrinting',
  );

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
