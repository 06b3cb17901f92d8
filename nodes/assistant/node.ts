import type { Node, NodeAPI, NodeMessage } from 'node-red';
import { readToken } from '../../lib/account/settings';
import { Assistant } from '../../lib/assistant/assistant';
import { version } from '../../lib/on-demand';
import { asPrintingError, PrintingError } from '../../lib/service/errors';
import { readHosts } from '../../lib/web/access';
import { phrase } from '../../lib/words/sentence';
import { clientOf } from '../shared/account-link';
import type { Saved, SavedCredentials } from '../shared/definition';
import { nodeRedGuards } from '../shared/guards';
import { translated } from '../shared/language';
import { onInput } from '../shared/on-input';
import { queueOf } from '../shared/queue-link';
import { runtimeOf } from '../shared/runtime';
import { settingsOf } from '../shared/settings';
import { StatusLine, type StatusText } from '../shared/status';
import { webNode } from '../shared/web-node';
import { definition } from './definition';
import { endpointOf } from './requests';

type AssistantNode = Node<SavedCredentials<typeof definition>>;
type SavedAssistant = Saved<typeof definition> & { queue?: string };

export default function AssistantToolsNode(this: AssistantNode, RED: NodeAPI, saved: SavedAssistant): void {
  RED.nodes.createNode(this, saved);
  const settings = settingsOf(definition, saved);
  const status = new StatusLine(RED, this);
  const { clock, store } = runtimeOf(RED);
  let assistant: Assistant | undefined;

  const find = async () => {
    const queue = saved.queue ? await queueOf(RED, definition, saved) : null;
    const client = queue ? queue.client : await clientOf(RED, definition, saved);
    if (queue && saved.account && (await clientOf(RED, definition, saved)) !== client)
      throw new PrintingError('NOT_CONFIGURED', OTHER_ACCOUNT);
    return { client, queue: queue?.api ?? null, prices: queue?.prices ?? null };
  };

  const open = (workshop: Awaited<ReturnType<typeof find>>, signal: AbortSignal) => {
    const { client } = workshop;
    const hosts = readHosts(settings.hosts);
    const token = readToken('token', { ...this.credentials }.token);
    const send = (messages: (NodeMessage | null)[]) => {
      if (!signal.aborted) this.send(messages);
    };
    const warn = (thrown: unknown) => {
      if (!signal.aborted) this.warn(translated(RED, asPrintingError(thrown).sentence));
    };
    const opened = new Assistant({
      workshop: {
        ...workshop,
        nameOf: async (clusterId, deadline) =>
          (await client.watcher.clusterList.find(clusterId, deadline))?.name ?? clusterId,
      },
      ...{ allow: settings.allow, expires: settings.expires * 1000 },
      ...{ nodeId: this.id, store, scope: client.scope, clock, signal, warn },
      translate: (sentence) => translated(RED, sentence),
      ask: (question) => send([{ payload: question, topic: question.tool }, null]),
      report: (call) => send([null, { payload: call }]),
    });
    const server = {
      ...{ version, instructions: INSTRUCTIONS, tools: () => opened.tools() },
      call: opened.call.bind(opened),
    };
    assistant = opened;
    opened.resume().catch(warn);
    return {
      answerer: endpointOf({ server, guards: nodeRedGuards(RED.settings), token, hosts }),
      ready: token === null ? NO_TOKEN : READY,
      close: () => opened.settled(),
    };
  };

  const { path } = definition.properties;
  const web = webNode(RED, this, {
    ...{ status, path: settings.path, example: path.default, notYet: NOT_YET },
    ...{ find, open },
  });
  onInput(
    RED,
    this,
    async ({ requestId, approve }: NodeMessage) => {
      web.check();
      await assistant?.answer(requestId, approve);
    },
    () => undefined,
  );
}

const READY: StatusText = { fill: 'green', shape: 'dot', key: 'ready' };
const NO_TOKEN: StatusText = { fill: 'yellow', shape: 'ring', key: 'noToken' };
const NOT_YET = phrase`The tools are not ready yet: try again in a moment.`;
const OTHER_ACCOUNT = phrase`The account of the queue counts: choose the same account, or leave it blank.`;
const INSTRUCTIONS =
  'Tools for 3D printers: look at them first with list_printers and list_files. A tool that acts needs a new key for each ' +
  'thing to do, and may wait for the OK of a person; read_request tells what became of it.';
