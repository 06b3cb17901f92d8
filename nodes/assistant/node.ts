import type { Application } from 'express';
import type { Node, NodeAPI, NodeMessage } from 'node-red';
import { Assistant } from '../../lib/assistant/assistant';
import type { Allow } from '../../lib/assistant/tools';
import type { Client } from '../../lib/client';
import { version } from '../../lib/on-demand';
import { type Prices, readPrices } from '../../lib/queue/model/rules';
import { asPrintingError, PrintingError } from '../../lib/service/errors';
import { readHosts } from '../../lib/web/access';
import { phrase } from '../../lib/words/sentence';
import { clientOf } from '../shared/account-link';
import { closeInTime } from '../shared/config-node';
import type { Saved, SavedCredentials } from '../shared/definition';
import { whenFlowsStarted } from '../shared/flows-started';
import { nodeRedGuards } from '../shared/guards';
import { isBlank } from '../shared/inputs';
import { translated } from '../shared/language';
import { onInput } from '../shared/on-input';
import { queueOf } from '../shared/queue-link';
import { runtimeOf } from '../shared/runtime';
import { settingsOf } from '../shared/settings';
import { failureText, signInText, StatusLine, type StatusText } from '../shared/status';
import { type Answerer, readPath, webPaths } from '../shared/web-paths';
import { definition } from './definition';
import { endpointOf } from './requests';

type AssistantNode = Node<SavedCredentials<typeof definition>>;
type SavedAssistant = Saved<typeof definition> & { queue?: string };

export default function AssistantToolsNode(this: AssistantNode, RED: NodeAPI, saved: SavedAssistant): void {
  RED.nodes.createNode(this, saved);
  const settings = settingsOf(definition, saved);
  const status = new StatusLine(RED, this);
  const runtime = runtimeOf(RED);
  const { clock, store } = runtime;
  const closing = new AbortController();
  const { signal } = closing;
  let assistant: Assistant | undefined;
  let failure: PrintingError | null = null;
  let answerer: Answerer | undefined;
  let claim: { hasPath: () => boolean; release: () => void } | undefined;
  let cancel: (() => void) | undefined;
  let stopListening: (() => void) | undefined;

  const fail = (thrown: unknown) => {
    if (signal.aborted) return;
    failure = asPrintingError(thrown);
    status.show(failureText(failure));
  };
  const show = (text: StatusText) => {
    if (!signal.aborted) status.show(text);
  };
  const warn = (thrown: unknown) => {
    if (!signal.aborted) this.warn(translated(RED, asPrintingError(thrown).sentence));
  };

  /** Claims the path: now, so that nodes of one path have it in the order of the flow file. */
  const claimPath = () => {
    const { httpNodeRoot } = RED.settings as { httpNodeRoot?: unknown };
    if (httpNodeRoot === false) throw new PrintingError('NOT_CONFIGURED', NO_PAGES);
    const path = readPath(settings.path, definition.properties.path.default);
    claim = webPaths(RED.httpNode as Application).claim(path, {
      answer: (request, response, rest, next) => {
        if (answerer) return answerer(request, response, rest, next);
        response.status(503).type('text').set('Retry-After', '5');
        response.send(translated(RED, failure?.sentence ?? NOT_YET));
      },
      granted: begin,
    });
    if (!claim.hasPath())
      throw new PrintingError('NOT_CONFIGURED', phrase`Another node has the path ${path}: choose another one.`);
  };

  const open = async () => {
    const hosts = readHosts(settings.hosts);
    const queue = saved.queue ? await queueOf(RED, saved) : null;
    const client = queue ? queue.client : await clientOf(RED, saved);
    if (queue && saved.account && (await clientOf(RED, saved)) !== client)
      throw new PrintingError('NOT_CONFIGURED', OTHER_ACCOUNT);
    await client.credentials.ready().catch(() => undefined);
    if (signal.aborted || !claim?.hasPath()) return;
    const { token } = { ...this.credentials };
    const opened = new Assistant({
      workshop: {
        ...{ client, queue: queue?.api ?? null, prices: queue ? pricesOf(RED, saved.queue) : null },
        nameOf: async (clusterId, deadline) =>
          (await client.watcher.clusterList.find(clusterId, deadline))?.name ?? clusterId,
      },
      ...{ allow: ALLOW.find((one) => one === settings.allow) ?? 'look', expires: settings.expires * 1000 },
      ...{ nodeId: this.id, store, scope: client.scope, clock, signal, warn },
      translate: (sentence) => translated(RED, sentence),
      ask: (question) => send([{ payload: question, topic: question.tool }, null]),
      report: (call) => send([null, { payload: call }]),
    });
    const server = {
      ...{ version, instructions: INSTRUCTIONS, tools: () => opened.tools() },
      call: opened.call.bind(opened),
    };
    const word = isBlank(token) ? null : String(token);
    assistant = opened;
    answerer = endpointOf({ server, guards: nodeRedGuards(RED.settings), token: word, hosts });
    failure = null;
    showState(client, word !== null);
    opened.resume().catch(warn);
  };

  const send = (messages: (NodeMessage | null)[]) => {
    if (!signal.aborted) this.send(messages);
  };

  const showState = (client: Client, hasToken: boolean) => {
    status.simulated = client.simulated;
    const now = () => show(signInText(client.credentials.state) ?? (hasToken ? READY : NO_TOKEN));
    stopListening?.();
    stopListening = client.credentials.onChange(now);
    now();
  };

  /** Opens the tools: now, or with the deploy that brings the account. */
  const begin = () => {
    open().catch((thrown: unknown) => {
      fail(thrown);
      if (signal.aborted) return;
      cancel?.();
      cancel = whenFlowsStarted(RED, begin);
    });
  };

  onInput(
    RED,
    this,
    async ({ requestId, approve }: NodeMessage) => {
      if (failure) throw failure;
      if (!assistant) throw new PrintingError('NOT_CONFIGURED', NOT_YET);
      await assistant.answer(requestId, approve);
    },
    () => undefined,
  );

  try {
    claimPath();
    cancel = whenFlowsStarted(RED, begin);
  } catch (thrown) {
    fail(thrown);
  }

  this.on('close', (_removed: boolean, done: () => void) => {
    closing.abort(new PrintingError('TIMEOUT', NOT_YET));
    cancel?.();
    stopListening?.();
    answerer = undefined;
    claim?.release();
    status.clear();
    closeInTime(runtime, assistant?.settled() ?? Promise.resolve(), done);
  });
}

/** Prices of a queue; null if it has none. */
function pricesOf(RED: NodeAPI, queueId: string | undefined): Prices | null {
  let prices: unknown;
  RED.nodes.eachNode((node) => {
    if (node.id === queueId) ({ prices } = node as { prices?: unknown });
  });
  try {
    return isBlank(prices) ? null : readPrices(prices);
  } catch {
    // The queue reports it.
    return null;
  }
}

const ALLOW: readonly Allow[] = ['look', 'ask', 'act'];
const READY: StatusText = { fill: 'green', shape: 'dot', key: 'ready' };
const NO_TOKEN: StatusText = { fill: 'yellow', shape: 'ring', key: 'noToken' };
const NO_PAGES = phrase`Node-RED shows no pages of flows: set httpNodeRoot in settings.js.`;
const NOT_YET = phrase`The tools are not ready yet: try again in a moment.`;
const OTHER_ACCOUNT = phrase`The account of the queue counts: choose the same account, or leave it blank.`;
const INSTRUCTIONS =
  'Tools for 3D printers: look at them first with list_printers and list_files. A tool that acts needs a new key for each ' +
  'thing to do, and may wait for the OK of a person; read_request tells what became of it.';
