import type { Node, NodeAPI, NodeMessage, NodeMessageInFlow } from 'node-red';
import { asPrintingError, type PrintingError } from '../../lib/service/errors';
import { guard } from '../../lib/time/guard';
import { toldError } from './language';
import { copyOf, plainMessage, readable } from './plain-message';

export type Send = (msg: NodeMessage | (NodeMessage | NodeMessage[] | null)[]) => void;

/**
 * Answers each message with exactly one `done`, after what it sends; a failure goes to Catch nodes by `done(error)`, on a
 * message that carries the ids known so far (reference 4). Nothing that `work` throws reaches the runtime, and nothing that
 * a send throws reaches `work`: what was done stays done. `work` gets a message whose properties can be set; one with a
 * property that can't be read goes to `onRefused` instead.
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
      // Node-RED gives Catch nodes a copy of the received message; what can't be set there is missing on it.
      for (const [name, value] of Object.entries(markFailed({}, error)))
        for (const to of new Set([message, msg])) guard(() => to && Reflect.set(to, name, value), warn)();
      const kept = readable(message ?? msg);
      const told = toldError(RED, error);
      try {
        done(told);
      } catch {
        // Node-RED can't copy the received message.
        node.error(told, markFailed(copyOf(RED, kept), error));
      }
    };
    start()
      .then(() => done(), fail)
      .catch(warn);
  });
}

/** Puts what a failed message carries on it: ids, and what the service answered. */
export function markFailed(msg: NodeMessage, error: PrintingError): NodeMessage {
  for (const [name, id] of Object.entries(error.ids)) if (id !== undefined) msg[name] = id;
  if (error.statusCode !== undefined) msg.statusCode = error.statusCode;
  if (error.serviceCode !== undefined) msg.serviceCode = error.serviceCode;
  return msg;
}
