import type { Application } from 'express';
import type { Node, NodeAPI, NodeMessage } from 'node-red';
import { readHosts } from '../../lib/web/access';
import { Board } from '../../lib/board/board';
import type { Allow, Facts } from '../../lib/board/shapes';
import { BoardToken } from '../../lib/board/token';
import type { Client } from '../../lib/client';
import { PICTURE } from '../../lib/rules/limits';
import { asPrintingError, PrintingError } from '../../lib/service/errors';
import { record, text } from '../../lib/service/json-readers';
import { guard } from '../../lib/time/guard';
import { phrase, type Sentence } from '../../lib/words/sentence';
import { clientOf } from '../shared/account-link';
import type { Saved, SavedCredentials } from '../shared/definition';
import { whenFlowsStarted } from '../shared/flows-started';
import { invalid, isBlank } from '../shared/inputs';
import { inLanguage, languageOf, translated } from '../shared/language';
import { onInput } from '../shared/on-input';
import { queueOf } from '../shared/queue-link';
import { runtimeOf } from '../shared/runtime';
import { settingsOf } from '../shared/settings';
import { failureText, signInText, StatusLine, type StatusText } from '../shared/status';
import { addDropped, carryOut } from './actions';
import { builtAssets } from './assets';
import { definition } from './definition';
import { nodeRedGuards } from '../shared/guards';
import { type Answerer, webPaths, readPath } from '../shared/web-paths';
import { answererOf, closeToOthers, type PressReport } from './requests';

type BoardNode = Node<SavedCredentials<typeof definition>>;
type SavedBoard = Saved<typeof definition> & { queue?: string };

const LEVELS = ['info', 'warn', 'error'] as const;

export default function PrintBoardNode(this: BoardNode, RED: NodeAPI, saved: SavedBoard): void {
  RED.nodes.createNode(this, saved);
  const settings = settingsOf(definition, saved);
  const status = new StatusLine(RED, this);
  const { clock } = runtimeOf(RED);
  const closing = new AbortController();
  const { signal } = closing;
  let board: Board | undefined;
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

  /** Claims the path: now, so that boards of one path have it in the order of the flow file. */
  const claimPath = () => {
    const { httpNodeRoot } = RED.settings as { httpNodeRoot?: unknown };
    if (httpNodeRoot === false) throw new PrintingError('NOT_CONFIGURED', NO_PAGES);
    const path = readPath(settings.path, definition.properties.path.default);
    claim = webPaths(RED.httpNode as Application).claim(path, {
      answer: (request, response, rest, next) => {
        if (answerer) return answerer(request, response, rest, next);
        closeToOthers(response);
        response.status(503).type('text').set('Retry-After', '5');
        response.send(inLanguage(languageOf(request), failure?.sentence ?? NOT_YET));
      },
      granted: begin,
    });
    if (!claim.hasPath())
      throw new PrintingError('NOT_CONFIGURED', phrase`Another node has the path ${path}: choose another one.`);
  };

  const open = async () => {
    if (saved.queue && saved.account) throw new PrintingError('NOT_CONFIGURED', BOTH);
    const hosts = readHosts(settings.hosts);
    const queue = saved.queue ? await queueOf(RED, saved) : null;
    const client = queue ? queue.client : await clientOf(RED, saved);
    await client.credentials.ready().catch(() => undefined);
    if (signal.aborted || !claim?.hasPath()) return;
    const api = queue?.api ?? null;
    const guards = nodeRedGuards(RED.settings);
    const { token: word } = { ...this.credentials };
    const token = isBlank(word) ? null : new BoardToken(String(word), this.id);
    const assets = builtAssets();
    const opened = new Board({
      ...{ boardId: this.id, clock, store: runtimeOf(RED).store, service: client.service, watcher: client.watcher },
      ...{ signIn: client.credentials, queue: api, facts: factsOf(api !== null, assets.version) },
      takePicture: async ({ clusterId, printerId }, deadline) => {
        const taking = { clusterId, printerId, deadline, maxBytes: PICTURE, onProgress: () => undefined };
        const { image, contentType, takenAt } = await client.snapshots.take(taking);
        return { image, contentType, takenAt };
      },
      act: (action, properties, deadline) =>
        carryOut({ client, api, board: () => opened }, { action, properties }, deadline),
      translate: (language) => (sentence) => inLanguage(language, sentence),
    });
    board = opened;
    answerer = answererOf({
      ...{ board: opened, clock, assets, guards, token, hosts, signal },
      addFile: (file, deadline) => addDropped({ client, api }, file, deadline),
      pressed: guard(pressed),
    });
    failure = null;
    showState(client, guards.isGuarding || token !== null);
  };

  const factsOf = (hasQueue: boolean, version: string): Facts => {
    const parent = RED.nodes.getNode((hasQueue ? saved.queue : saved.account) ?? '') as { name?: string } | null;
    const title = settings.title.trim() || saved.name || parent?.name || translated(RED, phrase`Print board`);
    const allow = LEAST_FIRST.find((one) => one === settings.allow) ?? 'look';
    return { version, title, allow, hasQueue, currency: hasQueue ? currencyOf(RED, saved.queue) : null };
  };

  const showState = (client: Client, isGuarded: boolean) => {
    status.simulated = client.simulated;
    const now = () => show(signInText(client.credentials.state) ?? (isGuarded ? READY : OPEN));
    stopListening?.();
    stopListening = client.credentials.onChange(now);
    now();
  };

  /** Opens the board: now, or with the deploy that brings its account. */
  const begin = () => {
    open().catch((thrown: unknown) => {
      fail(thrown);
      if (signal.aborted) return;
      cancel?.();
      cancel = whenFlowsStarted(RED, begin);
    });
  };

  const pressed = ({ who, action, properties, outcome }: PressReport) => {
    if (signal.aborted) return;
    const told = outcome.ok ? outcome : { ...outcome, message: translated(RED, outcome.message) };
    this.send({ payload: { who, action, properties, outcome: told } });
  };

  const notice = (msg: NodeMessage) => {
    if (failure) throw failure;
    const { payload, level = 'info' } = msg;
    if (typeof payload !== 'string' || isBlank(payload))
      throw invalid(phrase`The notice must be a text: set msg.payload.`);
    const known = LEVELS.find((one) => one === level);
    if (!known) throw invalid(phrase`The property level must be one of ${LEVELS.join(', ')}: correct msg.level.`);
    if (!board) throw new PrintingError('NOT_CONFIGURED', NOT_YET);
    board.notices.add(payload, known);
  };
  onInput(
    RED,
    this,
    (msg) => Promise.resolve().then(() => notice(msg)),
    () => undefined,
  );

  try {
    claimPath();
    cancel = whenFlowsStarted(RED, begin);
  } catch (thrown) {
    fail(thrown);
  }

  this.on('close', () => {
    closing.abort(new PrintingError('TIMEOUT', NOT_YET));
    cancel?.();
    stopListening?.();
    answerer = undefined;
    board?.close();
    claim?.release();
    status.clear();
  });
}

/** Currency of a queue's prices; null if it has none. */
function currencyOf(RED: NodeAPI, queueId: string | undefined): string | null {
  let prices: unknown;
  RED.nodes.eachNode((node) => {
    if (node.id === queueId) ({ prices } = node as { prices?: unknown });
  });
  try {
    return text(record(typeof prices === 'string' ? JSON.parse(prices) : prices)?.currency);
  } catch {
    // The queue reports it.
    return null;
  }
}

const LEAST_FIRST: readonly Allow[] = ['look', 'press', 'all'];
const READY: StatusText = { fill: 'green', shape: 'dot', key: 'ready' };
const OPEN: StatusText = { fill: 'yellow', shape: 'ring', key: 'open' };
const NO_PAGES: Sentence = phrase`Node-RED shows no pages of flows: set httpNodeRoot in settings.js.`;
const BOTH: Sentence = phrase`The account of the queue counts: leave the board's own account blank.`;
const NOT_YET: Sentence = phrase`The board is not ready yet: try again in a moment.`;
