import type { Node, NodeAPI, NodeMessage } from 'node-red';
import type { LateResults } from '../../lib/print/late-results';
import { plainProperties } from '../../lib/print/plain-properties';
import { type AwaitedItem, itemEnd, type ItemEnd, type QueueFigures } from '../../lib/queue/model/types';
import { asPrintingError } from '../../lib/service/errors';
import type { Saved } from '../shared/definition';
import { translatedError } from '../shared/language';
import { NodeWaits } from '../shared/node-waits';
import { readFlag } from '../shared/inputs';
import { markFailed } from '../shared/on-input';
import { copyMessage } from '../shared/plain-message';
import { queueOf, type OpenQueue } from '../shared/queue-link';
import { runtimeOf } from '../shared/runtime';
import { settingsOf } from '../shared/settings';
import { failureText, IDLE, percent, type StatusText } from '../shared/status';
import { workNode, type WorkContext } from '../shared/work-node';
import { actOn, readAction } from './actions';
import { readAddition } from './addition';
import { definition } from './definition';
import { answerFields, BoardMessages, eventMessage, listFields } from './messages';
import { queueText } from './queue-text';

export default function PrintQueueNode(this: Node, RED: NodeAPI, saved: Saved<typeof definition>): void {
  RED.nodes.createNode(this, saved);
  const settings = settingsOf(definition, saved);
  const { timeout } = settings;
  const open = () => queueOf(RED, definition, saved);

  let state: QueueFigures | undefined;
  /** Messages whose item is being added. */
  let adding = 0;
  const waits = new NodeWaits<AwaitedItem, ItemEnd>(RED, this);
  const idleText = () => (state ? queueText(state) : IDLE);

  /** The waits of this node for the ends of items. */
  const waitsFor = ({ api, client }: OpenQueue, signal: AbortSignal): LateResults<AwaitedItem, ItemEnd> => {
    const onEnd = ({ item, error }: ItemEnd, { itemId, duplicate }: AwaitedItem, note: unknown) => {
      const message: NodeMessage = { ...(note as NodeMessage | undefined), itemId, duplicate, late: true };
      if (!error) {
        this.send([copyMessage(RED, Object.assign(message, answerFields(RED, item, client.simulated))), null]);
        return;
      }
      this.error(translatedError(RED, error), markFailed(message, error));
    };
    const awaitEnd = (_: unknown, awaited: AwaitedItem) => itemEnd(api, awaited, signal);
    return waits.open(client, { signal, awaitEnd, onEnd });
  };

  const begin = (queue: OpenQueue, { signal, show }: Omit<WorkContext, 'deadline'>) => {
    if (signal.aborted) return;
    const { api, client } = queue;
    const stopWatching = api.watchState((now) => {
      state = now;
      if (adding === 0) show(queueText(now));
    });
    const unsubscribe = api.subscribe((events) => {
      for (const event of events) this.send([null, eventMessage(RED, event, client.simulated)]);
    });
    for (const stop of [stopWatching, unsubscribe]) signal.addEventListener('abort', stop, { once: true });
    waitsFor(queue, signal);
  };
  const onReady = (context: Omit<WorkContext, 'deadline'>) => {
    // An event that is sent before all nodes of the deploy exist may find no receiver.
    waits.flowsStarted
      .then(open)
      .then((queue) => begin(queue, context))
      .catch((thrown: unknown) => context.show(failureText(asPrintingError(thrown))));
  };

  let boards: BoardMessages | undefined;
  /** Ends the boards of output 2. */
  let stopBoards: (() => void) | undefined;
  /** Answers with the board, and begins or ends to send it after changes, as the message says. */
  const board = async (msg: NodeMessage, { api, client }: OpenQueue, { deadline, signal }: WorkContext) => {
    const isWanted = readFlag(msg, 'board');
    const shown = (boards ??= new BoardMessages(RED, client.simulated, runtimeOf(RED).clock));
    const payload = await deadline.wait(api.board().then((now) => shown.payload(now)));
    if (isWanted === undefined || signal.aborted) return payload;
    stopBoards?.();
    stopBoards = undefined;
    if (!isWanted) return payload;
    const watching = new AbortController();
    const end = () => watching.abort();
    const stop = api.watchBoard((event) => {
      shown
        .message(event)
        .then((message) => watching.signal.aborted || this.send([null, message]))
        .catch((thrown: unknown) => this.error(translatedError(RED, asPrintingError(thrown))));
    });
    watching.signal.addEventListener('abort', stop);
    signal.addEventListener('abort', end, { once: true });
    stopBoards = () => {
      signal.removeEventListener('abort', end);
      end();
    };
    return payload;
  };

  const add = async (msg: NodeMessage, { api }: OpenQueue, { deadline, signal, show }: WorkContext) => {
    const onProgress = (done: number | null) => {
      if (!signal.aborted) show(done === null ? ADDING : { ...UPLOADING, values: { percent: percent(done) } });
    };
    adding++;
    show(ADDING);
    try {
      return await api.add({ ...(await readAddition(RED, this, settings, msg)), deadline, onProgress });
    } finally {
      if (--adding === 0) show(idleText());
    }
  };

  /**
   * Calls `deliver` with the end of an item, and throws what it returns, unless another node reports the end: this one
   * has closed, or another runtime has adopted the wait.
   */
  const awaitEnd = async (
    queue: OpenQueue,
    awaited: AwaitedItem,
    { msg, signal, deliver }: { msg: NodeMessage; signal: AbortSignal; deliver: (end: ItemEnd) => void },
  ) => {
    const wait = waitsFor(queue, signal).begin(await queue.client.scope(), awaited, plainProperties(msg));
    const end = await itemEnd(queue.api, awaited, signal);
    if (!end) return wait.abandon();
    const isOurs = await wait.handOver(() => deliver(end));
    if (isOurs && end.error) throw end.error;
  };

  const options = { timeout, idleText, onReady, readsPayload: settings.source === 'payload' };
  workNode(RED, this, { ...options, findClient: async () => (await open()).client }, async (msg, send, context) => {
    const { client, deadline, signal } = context;
    const answer = (payload: unknown, more: NodeMessage = {}) =>
      send([Object.assign(msg, more, answerFields(RED, payload, client.simulated)), null]);
    const action = readAction(settings.action, msg);
    const queue = await deadline.wait(open());
    if (action === 'board')
      return send([Object.assign(msg, { payload: await board(msg, queue, context) }, context.marks), null]);
    if (action !== 'add') {
      const done = await actOn(RED, queue.api, action, msg, deadline);
      const fields = await deadline.wait(listFields(RED, done, client.simulated, deadline.clock));
      return send([Object.assign(msg, fields), null]);
    }
    const { item, duplicate } = await add(msg, queue, context);
    if (settings.waitFor !== 'finished') return answer(item, { duplicate });
    const deliver = ({ item: ended, error }: ItemEnd) => (error ? undefined : answer(ended, { duplicate }));
    await awaitEnd(queue, { itemId: item.itemId, duplicate }, { msg, signal, deliver });
  });
}

const ADDING: StatusText = { fill: 'blue', shape: 'dot', key: 'adding' };
const UPLOADING: StatusText = { fill: 'blue', shape: 'dot', key: 'addingFile' };
