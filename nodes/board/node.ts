import type { Node, NodeAPI, NodeMessage } from 'node-red';
import { readSecret } from '../../lib/account/settings';
import { readHosts } from '../../lib/web/access';
import { Board } from '../../lib/board/board';
import type { Facts } from '../../lib/board/shapes';
import { BoardToken } from '../../lib/board/token';
import { PICTURE } from '../../lib/rules/limits';
import { PrintingError } from '../../lib/service/errors';
import { guard } from '../../lib/time/guard';
import { phrase, type Sentence } from '../../lib/words/sentence';
import { clientOf } from '../shared/account-link';
import type { Saved, SavedCredentials } from '../shared/definition';
import { invalid, isBlank } from '../shared/inputs';
import { inLanguage, translated } from '../shared/language';
import { onInput } from '../shared/on-input';
import { type OpenQueue, queueOf } from '../shared/queue-link';
import { runtimeOf } from '../shared/runtime';
import { settingsOf } from '../shared/settings';
import { StatusLine, type StatusText } from '../shared/status';
import { addDropped, carryOut } from './actions';
import { builtAssets } from './assets';
import { definition } from './definition';
import { nodeRedGuards } from '../shared/guards';
import { webNode } from '../shared/web-node';
import { answererOf, type PressReport } from './requests';

type BoardNode = Node<SavedCredentials<typeof definition>>;
type SavedBoard = Saved<typeof definition> & { queue?: string };

const LEVELS = ['info', 'warn', 'error'] as const;

export default function PrintBoardNode(this: BoardNode, RED: NodeAPI, saved: SavedBoard): void {
  RED.nodes.createNode(this, saved);
  const settings = settingsOf(definition, saved);
  const status = new StatusLine(RED, this);
  const { clock } = runtimeOf(RED);
  let board: Board | undefined;

  const find = async () => {
    if (saved.queue && saved.account) throw new PrintingError('NOT_CONFIGURED', BOTH);
    const queue = saved.queue ? await queueOf(RED, definition, saved) : null;
    return { queue, client: queue ? queue.client : await clientOf(RED, definition, saved) };
  };

  const open = ({ queue, client }: Awaited<ReturnType<typeof find>>, signal: AbortSignal) => {
    const hosts = readHosts(settings.hosts);
    const api = queue?.api ?? null;
    const guards = nodeRedGuards(RED.settings);
    const word = readSecret('token', { ...this.credentials }.token);
    const token = word === null ? null : new BoardToken(word, this.id);
    const assets = builtAssets();
    const opened = new Board({
      ...{ boardId: this.id, clock, store: runtimeOf(RED).store, service: client.service, watcher: client.watcher },
      ...{ signIn: client.credentials, queue: api, facts: factsOf(queue, assets.version) },
      takePicture: async ({ clusterId, printerId }, deadline) => {
        const taking = { clusterId, printerId, deadline, maxBytes: PICTURE, onProgress: () => undefined };
        const { image, contentType, takenAt } = await client.snapshots.take(taking);
        return { image, contentType, takenAt };
      },
      act: (action, properties, deadline) =>
        carryOut(RED, { client, api, board: () => opened }, { action, properties }, deadline),
      translate: (language) => (sentence) => inLanguage(language, sentence),
    });
    const pressed = ({ who, action, properties, outcome }: PressReport) => {
      if (signal.aborted) return;
      const told = outcome.ok ? outcome : { ...outcome, message: translated(RED, outcome.message) };
      this.send({ payload: { who, action, properties, outcome: told } });
    };
    board = opened;
    return {
      answerer: answererOf({
        ...{ board: opened, clock, assets, guards, token, hosts, signal },
        addFile: (file, deadline) => addDropped({ client, api }, file, deadline),
        pressed: guard(pressed),
      }),
      ready: guards.isGuarding || token !== null ? READY : OPEN,
      close: () => opened.close(),
    };
  };

  const factsOf = (queue: OpenQueue | null, version: string): Facts => {
    const parent = RED.nodes.getNode((queue ? saved.queue : saved.account) ?? '') as { name?: string } | null;
    const title = settings.title.trim() || parent?.name || saved.name || translated(RED, phrase`Print board`);
    const { allow } = settings;
    return { version, title, allow, hasQueue: queue !== null, currency: queue?.prices.currency ?? null };
  };

  const notice = (msg: NodeMessage) => {
    web.check();
    const { payload, level = 'info' } = msg;
    if (typeof payload !== 'string' || isBlank(payload))
      throw invalid(phrase`The notice must be a text: set msg.payload.`);
    const known = LEVELS.find((one) => one === level);
    if (!known) throw invalid(phrase`The property level must be one of ${LEVELS.join(', ')}: correct msg.level.`);
    board?.notices.add(payload, known);
  };
  const { path } = definition.properties;
  const web = webNode(RED, this, {
    ...{ status, path: settings.path, example: path.default, notYet: NOT_YET },
    ...{ find, open },
  });
  onInput(
    RED,
    this,
    (msg) => Promise.resolve().then(() => notice(msg)),
    () => undefined,
  );
}

const READY: StatusText = { fill: 'green', shape: 'dot', key: 'ready' };
const OPEN: StatusText = { fill: 'yellow', shape: 'ring', key: 'open' };
const BOTH: Sentence = phrase`The account of the queue counts: leave the board's own account blank.`;
const NOT_YET: Sentence = phrase`The board is not ready yet: try again in a moment.`;
