import type { Node, NodeAPI, NodeMessage, NodeMessageInFlow } from 'node-red';
import { asPrintingError, type PrintingError } from '../../lib/service/errors';
import { toldError } from './language';

export type Send = (msg: NodeMessage | (NodeMessage | NodeMessage[] | null)[]) => void;

/**
 * Answers each message with exactly one `done`, after what it sends; a failure goes to Catch nodes by `done(error)`, on a
 * message that carries the ids known so far (reference 4). Nothing that `work` throws reaches the runtime.
 */
export function onInput(
  RED: NodeAPI,
  node: Node,
  work: (msg: NodeMessageInFlow, send: Send) => Promise<void>,
  onError: (error: PrintingError) => void,
): void {
  node.on('input', (msg, send, done) => {
    work(msg, send)
      .then(
        () => done(),
        (thrown: unknown) => {
          const error = asPrintingError(thrown);
          onError(error);
          markFailed(msg, error);
          done(toldError(RED, error));
        },
      )
      .catch((fault: unknown) => node.warn(asPrintingError(fault).message));
  });
}

/** Puts what a failed message carries on it: ids, and what the service answered. */
export function markFailed(msg: NodeMessage, error: PrintingError): void {
  for (const [name, id] of Object.entries(error.ids)) if (id !== undefined) msg[name] = id;
  if (error.statusCode !== undefined) msg.statusCode = error.statusCode;
  if (error.serviceCode !== undefined) msg.serviceCode = error.serviceCode;
}
