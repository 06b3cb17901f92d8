import type { NodeAPI, NodeMessage } from 'node-red';
import type { QueueEvent, QueueItem } from '../../lib/queue/model/types';
import { withTexts } from '../shared/language';

/** Properties that a message of output 1 gains: the payload, and the ids of one item. */
export function answerFields(RED: NodeAPI, payload: unknown, simulated: boolean): NodeMessage {
  const ids = typeof payload === 'object' && payload !== null && 'itemId' in payload ? idsOf(payload as QueueItem) : {};
  return { ...ids, payload: withTexts(RED, payload), ...(simulated && { simulated }) };
}

/** Message of output 2 (reference 3.6). */
export function eventMessage(RED: NodeAPI, event: QueueEvent, simulated: boolean): NodeMessage {
  const { type, item, print, clusterId } = event;
  const { printerId = null, clusterJobId = null } = print ?? {};
  const ids = { clusterId, printerId, clusterJobId };
  const known = Object.fromEntries(Object.entries(ids).filter(([, id]) => id !== null));
  return {
    ...(item && idsOf(item)),
    ...known,
    payload: withTexts(RED, event),
    topic: type,
    ...(simulated && { simulated }),
  };
}

const idsOf = ({ itemId, jobId }: Pick<QueueItem, 'itemId' | 'jobId'>): NodeMessage => ({
  itemId,
  ...(jobId && { jobId }),
});
