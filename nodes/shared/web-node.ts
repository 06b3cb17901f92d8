import type { Application } from 'express';
import type { Node, NodeAPI } from 'node-red';
import type { Client } from '../../lib/client';
import { asPrintingError, PrintingError } from '../../lib/service/errors';
import { phrase, type Sentence } from '../../lib/words/sentence';
import { closeInTime } from './config-node';
import { whenFlowsStarted } from './flows-started';
import { closeToOthers } from './guards';
import { inLanguage, languageOf, translated } from './language';
import { runtimeOf } from './runtime';
import { failureText, signInText, type StatusLine, type StatusText } from './status';
import { type Answerer, readPath, webPaths } from './web-paths';

/** A node that answers the requests to its path. */
interface Opened {
  answerer: Answerer;
  /** Status of the node while the account is signed in. */
  ready: StatusText;
  /** Resolves when the work under way has ended, which the signal cuts short, and its outcome is written. */
  close: () => Promise<void>;
}

interface WebNodeOptions<Found extends { client: Client }> {
  status: StatusLine;
  /** The setting, and its default. */
  path: string;
  example: string;
  /** Answer until it is open. */
  notYet: Sentence;
  /** Finds the account and whatever else it needs. Rejects while a deploy has not brought it. */
  find: () => Promise<Found>;
  /** Opens it; `signal` aborts at the close. Throws for a wrong setting. */
  open: (found: Found, signal: AbortSignal) => Opened;
}

export interface WebNode {
  /** Throws why it is not open. */
  check: () => void;
}

const NO_PAGES = phrase`Node-RED shows no pages of flows: set httpNodeRoot in settings.js.`;

/**
 * Gives a node a path of Node-RED from its creation to its close: it claims the path, opens with the flows or with the
 * deploy that brings its account, follows the sign-in in its status, and waits at the close for the work under way.
 */
export function webNode<Found extends { client: Client }>(
  RED: NodeAPI,
  node: Node,
  { status, path: setting, example, notYet, find, open }: WebNodeOptions<Found>,
): WebNode {
  const closing = new AbortController();
  const { signal } = closing;
  let claim: { hasPath: () => boolean; release: () => void } | undefined;
  let opened: Opened | undefined;
  let failure: PrintingError | null = null;
  let cancel: (() => void) | undefined;
  let stopListening: (() => void) | undefined;

  const fail = (thrown: unknown) => {
    if (signal.aborted) return;
    failure = asPrintingError(thrown);
    status.show(failureText(failure));
    // Most such nodes get no message that would report it.
    node.warn(translated(RED, failure.sentence));
  };

  /** Claims the path at once, so that nodes of one path have it in the order of the flow file. */
  const claimPath = () => {
    const { httpNodeRoot } = RED.settings as { httpNodeRoot?: unknown };
    if (httpNodeRoot === false) throw new PrintingError('NOT_CONFIGURED', NO_PAGES);
    const path = readPath(setting, example);
    claim = webPaths(RED.httpNode as Application).claim(path, {
      answer: (request, response, rest, next) => {
        closeToOthers(response);
        if (opened && !signal.aborted) return opened.answerer(request, response, rest, next);
        response.status(503).type('text').set('Retry-After', '5');
        response.send(inLanguage(languageOf(request), failure?.sentence ?? notYet));
      },
      granted: begin,
    });
    if (!claim.hasPath())
      throw new PrintingError('NOT_CONFIGURED', phrase`Another node has the path ${path}: choose another one.`);
  };

  const openNow = async () => {
    const found = await find();
    const { credentials } = found.client;
    await credentials.ready().catch(() => undefined);
    if (signal.aborted || !claim?.hasPath()) return;
    const { ready } = (opened = open(found, signal));
    failure = null;
    status.simulated = found.client.simulated;
    const show = () => {
      if (!signal.aborted) status.show(signInText(credentials.state) ?? ready);
    };
    stopListening?.();
    stopListening = credentials.onChange(show);
    show();
  };

  /** Opens it: now, or with the deploy that brings what it lacks. */
  const begin = () => {
    openNow().catch((thrown: unknown) => {
      fail(thrown);
      if (signal.aborted) return;
      cancel?.();
      cancel = whenFlowsStarted(RED, begin);
    });
  };

  try {
    claimPath();
    cancel = whenFlowsStarted(RED, begin);
  } catch (thrown) {
    fail(thrown);
  }

  node.on('close', (_removed: boolean, done: () => void) => {
    closing.abort(new PrintingError('TIMEOUT', notYet));
    cancel?.();
    stopListening?.();
    claim?.release();
    status.clear();
    closeInTime(runtimeOf(RED), opened?.close() ?? Promise.resolve(), done);
  });

  return {
    check: () => {
      if (failure) throw failure;
      if (!opened) throw new PrintingError('NOT_CONFIGURED', notYet);
    },
  };
}
