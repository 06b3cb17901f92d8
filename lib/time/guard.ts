import { asPrintingError, type PrintingError } from '../service/errors';

/**
 * Wraps a callback without a caller that could catch its errors: a listener, a timer, a poll, a delivery. Passes a
 * throw or a rejection to `onFault`, by default as a process warning. An uncaught error would end the user's Node-RED.
 */
export function guard<Args extends unknown[]>(
  callback: (...args: Args) => unknown,
  onFault: (error: PrintingError) => void = warnOf,
): (...args: Args) => void {
  const report = (thrown: unknown) => {
    try {
      onFault(asPrintingError(thrown));
    } catch {
      // There is nowhere left to report a failed report.
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

/** The stack identifies the callback, because no log is available here. */
const warnOf = (error: PrintingError): void =>
  process.emitWarning(
    `${error.message} ${error.cause instanceof Error ? (error.cause.stack ?? '') : ''}`,
    'RemotePrinting',
  );

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
