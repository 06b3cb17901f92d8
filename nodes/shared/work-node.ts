import { setMaxListeners } from 'node:events';
import { Readable } from 'node:stream';
import type { Node, NodeAPI, NodeMessage } from 'node-red';
import { settledWithin } from '../../lib/time/concurrency';
import { closed, underDeadline, type Deadline } from '../../lib/time/deadline';
import type { Client } from '../../lib/client';
import { asPrintingError } from '../../lib/service/errors';
import { holdStream } from '../../lib/upload/content';
import type { Sentence } from '../../lib/words/sentence';
import { onInput, type Send } from './on-input';
import { runtimeOf } from './runtime';
import { failureText, IDLE, signInText, StatusLine, type StatusText } from './status';

/** Time within which a stored sign-in is usually read, ms. */
const READ_SOON = 1_000;

/** Tools for processing one message. */
export interface WorkContext {
  client: Client;
  /** Properties of every message that the node sends: that the account is simulated. */
  marks: NodeMessage;
  /** Deadline of the message: starts at its arrival, ends with the node's timeout or close. */
  deadline: Deadline;
  /** Aborts when the node closes. */
  signal: AbortSignal;
  show: (text: StatusText) => void;
}

interface WorkOptions {
  /** The client of the node's account; throws NOT_CONFIGURED if there is none. */
  findClient: () => Promise<Client>;
  /** Timeout of a message, seconds. */
  timeout: number;
  /** Start of the timeout's error message, such as `No answer from the printer`. */
  awaited?: Sentence;
  /**
   * Whether the node reads `msg.payload`: a stream there is watched from the message's arrival, and let go at its end.
   */
  readsPayload?: boolean;
  /** Time of the figures shown while the node waits, ms; null while it doesn't wait. */
  lastFigures?: () => number | null;
  /** Status while no message is in progress. */
  idleText?: () => StatusText;
  /** Called once the account is available, before any message. */
  onReady?: (context: Omit<WorkContext, 'deadline'>) => void;
}

/**
 * Implements a node that does one piece of work per message. It shows the state of its account, then the progress and
 * the result of its work. Closing the node ends all its work.
 */
export function workNode(
  RED: NodeAPI,
  node: Node,
  { findClient, timeout, awaited, readsPayload = false, lastFigures, idleText, onReady }: WorkOptions,
  work: (msg: NodeMessage, send: Send, context: WorkContext) => Promise<void>,
): void {
  const status = new StatusLine(RED, node);
  const closing = new AbortController();
  const { signal } = closing;
  // Each message in progress adds a listener.
  setMaxListeners(0, signal);
  const limit = { ms: timeout * 1000, parent: signal, ...(awaited !== undefined && { what: awaited }) };
  let running = 0;
  let stopListening: (() => void) | undefined;

  const show = (text: StatusText) => {
    if (!signal.aborted) status.show(text);
  };
  const showIdle = (client: Client) => {
    const figures = lastFigures?.() ?? null;
    const missing = signInText(client.credentials.state, figures);
    if (missing && (running === 0 || figures !== null)) show(missing);
    else if (running === 0 && figures === null) show(idleText?.() ?? IDLE);
  };
  findClient()
    .then((client) => {
      if (signal.aborted) return;
      status.simulated = client.simulated;
      const { credentials } = client;
      stopListening = credentials.onChange(() => showIdle(client));
      // A sign-in that is read in time needs no status of its own.
      void settledWithin(runtimeOf(RED).clock, READ_SOON, credentials.ready()).then(() => showIdle(client));
      onReady?.({ client, marks: marksOf(client), signal, show });
    })
    .catch((error: unknown) => show(failureText(asPrintingError(error))));

  const holdPayload = ({ payload }: NodeMessage) =>
    readsPayload && payload instanceof Readable ? holdStream(payload, signal) : undefined;

  onInput(
    RED,
    node,
    async (msg, send) => {
      running++;
      const release = holdPayload(msg);
      try {
        await underDeadline(runtimeOf(RED).clock, limit, async (deadline) => {
          const client = await deadline.wait(findClient());
          await work(msg, send, { client, marks: marksOf(client), deadline, signal, show });
        });
      } finally {
        release?.();
        running--;
      }
    },
    (error) => show(failureText(error)),
    (msg) => holdPayload(msg)?.(),
  );

  node.on('close', () => {
    closing.abort(closed());
    stopListening?.();
    status.clear();
  });
}

const marksOf = ({ simulated }: Client): NodeMessage => (simulated ? { simulated } : {});
