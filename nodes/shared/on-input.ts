import type { Node, NodeAPI, NodeMessage, NodeMessageInFlow } from 'node-red';
import { asPrintingError, type PrintingError } from '../../lib/service/errors';
import { guard } from '../../lib/time/guard';
import { translatedError } from './language';
import { copyMessage, plainMessage, readable } from './plain-message';

export type Send = (msg: NodeMessage | (NodeMessage | NodeMessage[] | null)[]) => void;

/**
 * Runs `work` for each message, and calls `done` exactly once, after the sends. A failure goes to Catch nodes through
 * `done(error)`, on a message with the ids known so far (reference 4). No error of `work` reaches the runtime, and no
 * error of a send reaches `work`, since completed work stays done. `work` gets a message with writable properties; a
 * message with an unreadable property goes to `onRefused` instead.
 */
export function onInput(
  RED: NodeAPI,
  node: Node,
  work: (msg: NodeMessageInFlow, send: Send) => Promise<void>,
  onError: (error: PrintingError) => void,
  onRefused?: (msg: NodeMessageInFlow) => void,
): void {
  const warn = (fault: unknown) => node.warn(asPrintingError(fault).message);
  node.on('input', (msg, send, done) => {
    let message: NodeMessageInFlow | undefined;
    const start = async () => {
      message = plainMessage(msg);
      await work(message, guard(send, warn));
    };
    const fail = (thrown: unknown) => {
      const error = asPrintingError(thrown);
      guard(onError, warn)(error);
      if (!message && onRefused) guard(onRefused, () => undefined)(msg);
      // Node-RED gives Catch nodes a copy of the received message, which lacks properties that can't be set on it.
      for (const [name, value] of Object.entries(markFailed({}, error)))
        for (const to of new Set([message, msg])) guard(() => to && Reflect.set(to, name, value), warn)();
      const kept = readable(message ?? msg);
      const failure = translatedError(RED, error);
      try {
        done(failure);
      } catch {
        // Node-RED can't copy the received message.
        node.error(failure, markFailed(copyMessage(RED, kept), error));
      }
    };
    start()
      .then(() => done(), fail)
      .catch(warn);
  });
}

/** Adds the ids, the status and the service's code of an error to its message. */
export function markFailed(msg: NodeMessage, error: PrintingError): NodeMessage {
  for (const [name, id] of Object.entries(error.ids)) if (id !== undefined) msg[name] = id;
  if (error.statusCode !== undefined) msg.statusCode = error.statusCode;
  if (error.serviceCode !== undefined) msg.serviceCode = error.serviceCode;
  return msg;
}
