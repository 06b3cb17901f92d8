import { setMaxListeners } from 'node:events';
import type { Node, NodeAPI, NodeMessage } from 'node-red';
import { closed } from '../../lib/time/deadline';
import type { Client } from '../../lib/client';
import { asPrintingError } from '../../lib/service/errors';
import { clientOf } from './account-link';
import { onInput, type Send } from './on-input';
import { failureText, IDLE, signInText, StatusLine, type StatusText } from './status';

/** What one piece of work is done with. */
export interface WorkContext {
  client: Client;
  /** Aborts when the node closes. */
  signal: AbortSignal;
  show: (look: StatusText) => void;
}

/**
 * The life of a node that does one piece of work per message: it shows how its account stands, then its work, and what
 * came of it; closing ends all that is under way.
 */
export function workNode(
  RED: NodeAPI,
  node: Node,
  accountId: string | undefined,
  work: (msg: NodeMessage, send: Send, place: WorkContext) => Promise<void>,
): void {
  const status = new StatusLine(RED, node);
  const closing = new AbortController();
  const { signal } = closing;
  // Every message under way listens to it.
  setMaxListeners(0, signal);
  let running = 0;
  let stopListening: (() => void) | undefined;

  const show = (look: StatusText) => {
    if (!signal.aborted) status.show(look);
  };
  const showIdle = (client: Client) => {
    if (running === 0) show(signInText(client.credentials.state) ?? IDLE);
  };
  clientOf(RED, accountId).then(
    (client) => {
      if (signal.aborted) return;
      status.simulated = client.simulated;
      stopListening = client.credentials.onChange(() => showIdle(client));
      showIdle(client);
    },
    (error: unknown) => show(failureText(asPrintingError(error))),
  );

  onInput(
    node,
    async (msg, send) => {
      running++;
      try {
        await work(msg, send, { client: await clientOf(RED, accountId), signal, show });
      } finally {
        running--;
      }
    },
    (error) => show(failureText(error)),
  );

  node.on('close', () => {
    closing.abort(closed());
    stopListening?.();
    status.clear();
  });
}
