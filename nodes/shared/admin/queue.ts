import type { NodeAPI } from 'node-red';
import { readHours } from '../../../lib/queue/model/rules';
import { isWithin, nextOpening } from '../../../lib/rules/hours';
import type { QueueItem } from '../../../lib/queue/model/types';
import { text } from '../../../lib/service/json-readers';
import { PrintingError } from '../../../lib/service/errors';
import { phrase } from '../../../lib/words/sentence';
import { isInFlows } from '../account-link';
import { languageOf } from '../language';
import type { QueueNode } from '../queue-link';
import { runtimeOf } from '../runtime';
import { Unknown } from './accounts';
import { handle, idOf } from './handle';

/** Most items that the answer lists. */
const SHOWN = { blocked: 100, items: 250 };

/** The endpoints about print queues (reference 5). */
export function queueEndpoints(RED: NodeAPI) {
  return {
    state: handle(async (request) => {
      const node = knownQueue(RED, idOf(request));
      const { api } = await node.open();
      const [{ paused, waiting, active }, blocked, items] = await Promise.all([
        api.explainQueue(),
        api.list({ state: 'blocked', from: 0, limit: SHOWN.blocked }),
        api.list({ from: 0, limit: SHOWN.items }),
      ]);
      const { queueId, name = '', accountId } = node;
      return {
        ...{ queueId, name, accountId, waiting, active, paused },
        blocked: blocked.map(({ itemId, name: of, waitingFor }) => ({ itemId, name: of, waitingFor })),
        items: items.map(listed),
      };
    }),

    /** Whether typed hours apply now: in the runtime's time zone, which the browser's may not be. */
    hours: handle(async (request) => {
      const now = runtimeOf(RED).clock.now();
      const hours = readHours(text(request.query.hours) ?? '');
      if (isWithin(hours, now)) return { open: true, next: null };
      const format = new Intl.DateTimeFormat(languageOf(request), {
        weekday: 'short',
        hour: '2-digit',
        minute: '2-digit',
      });
      return { open: false, next: format.format(nextOpening(hours, now)) };
    }),
  };
}

const listed = ({ itemId, queueKey, orderId, name, state, position }: QueueItem) => ({
  ...{ itemId, queueKey, orderId, name, state, position },
});

/** Throws Unknown if no queue with this id is deployed. */
function knownQueue(RED: NodeAPI, id: string): QueueNode {
  const running = [...runtimeOf(RED).queues].find(({ queueId }) => queueId === id);
  if (running) return running;
  if (!isInFlows(RED, id)) throw new Unknown(phrase`There is no such print queue: deploy it first.`);
  throw new PrintingError(
    'NOT_CONFIGURED',
    phrase`The print queue is not running: enable it, or use its subflow, and deploy.`,
  );
}
