import type { Node, NodeAPI, NodeDef } from 'node-red';
import type { Client } from '../../lib/client';
import type { Prices } from '../../lib/queue/model/rules';
import type { QueueApi } from '../../lib/queue/model/types';
import { PrintingError } from '../../lib/service/errors';
import { phrase } from '../../lib/words/sentence';
import type { NodeDefinition } from './definition';
import { checkSettings } from './settings';

/** A running queue and the client of its account. */
export interface OpenQueue {
  api: QueueApi;
  client: Client;
  prices: Prices;
}

/** A running queue that all instances of its node share, and the settings that made it. */
export interface SharedQueue extends OpenQueue {
  settings: string;
}

/** The queue config node, as flow nodes use it. */
export interface QueueNode extends Node {
  /** The queue's id in the editor; for an instance in a subflow, the template's id. */
  queueId: string;
  /** Id of its account. */
  accountId: string | undefined;
  /** Throws NOT_CONFIGURED if there is no account, or a setting of the queue or the account is missing or malformed. */
  open(): Promise<OpenQueue>;
}

export const isQueue = (node: unknown): node is QueueNode =>
  typeof node === 'object' && node !== null && 'open' in node && typeof node.open === 'function' && 'queueId' in node;

/**
 * Returns the queue of a node. Throws NOT_CONFIGURED if there is no such queue, or if a setting of the node is malformed.
 */
export async function queueOf(
  RED: NodeAPI,
  definition: NodeDefinition,
  saved: NodeDef & { queue?: string },
): Promise<OpenQueue> {
  checkSettings(definition, saved);
  const queue: unknown = saved.queue ? RED.nodes.getNode(saved.queue) : null;
  if (!isQueue(queue)) throw new PrintingError('NOT_CONFIGURED', phrase`Choose a queue in the node and deploy.`);
  return queue.open();
}
