import type { NodeAPI } from 'node-red';
import { readRules } from '../../lib/queue/model/rules';
import { asPrintingError, PrintingError } from '../../lib/service/errors';
import { phrase } from '../../lib/words/sentence';
import { clientOf } from '../shared/account-link';
import { closeInTime, idInEditor } from '../shared/config-node';
import type { Saved } from '../shared/definition';
import { whenFlowsStarted } from '../shared/flows-started';
import { translated } from '../shared/language';
import type { OpenQueue, QueueNode } from '../shared/queue-link';
import { runtimeOf } from '../shared/runtime';
import { settingsOf } from '../shared/settings';
import { definition } from './definition';

export default function PrintQueueConfigNode(this: QueueNode, RED: NodeAPI, saved: Saved<typeof definition>): void {
  RED.nodes.createNode(this, saved);
  const { account, ...settings } = settingsOf(definition, saved);
  const queueId = idInEditor(this);
  const runtime = runtimeOf(RED);
  let opening: Promise<OpenQueue> | undefined;
  let cancel: (() => void) | undefined;
  let isClosed = false;

  /** Joins the queue that another instance of this node has opened: two of them would print every copy twice. */
  const start = async (): Promise<OpenQueue> => {
    const client = await clientOf(RED, definition, saved);
    const rules = readRules(settings);
    const own = JSON.stringify(settings);
    const queue = runtime.openQueues.join(queueId, () => ({
      ...{ client, settings: own, prices: rules.prices },
      api: client.queue({ queueId, name: saved.name || null, rules }),
    }));
    if (queue.client === client && queue.settings === own) return queue;
    runtime.openQueues.leave(queueId);
    throw new PrintingError('NOT_CONFIGURED', TWICE);
  };
  /** Opens the queue once; again after a failure, as its account may have come since. */
  const open = (): Promise<OpenQueue> => {
    const current = (opening ??= start());
    current.catch(() => {
      if (opening === current) opening = undefined;
    });
    return current;
  };
  /** The queue plans even if no node uses it, so it opens by itself: now, or with the deploy that brings its account. */
  const openSoon = () => {
    open().catch((thrown: unknown) => {
      if (isClosed) return;
      this.warn(translated(RED, asPrintingError(thrown).sentence));
      cancel = whenFlowsStarted(RED, openSoon);
    });
  };

  const close = async (removed: boolean) => {
    const queue = await opening;
    if (queue && runtime.openQueues.leave(queueId)) await queue.api.close(removed);
  };

  this.queueId = queueId;
  this.accountId = account;
  this.open = open;
  runtime.queues.add(this);
  cancel = whenFlowsStarted(RED, openSoon);

  this.on('close', (removed: boolean, done: () => void) => {
    isClosed = true;
    cancel?.();
    runtime.queues.delete(this);
    closeInTime(runtime, close(removed), done);
  });
}

const TWICE = phrase`The subflow of this print queue is used with other settings or another account as well: put the queue outside the subflow.`;
