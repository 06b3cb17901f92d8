import type { NodeAPI, NodeMessage } from 'node-red';
import type { Board, BoardEvent, QueueEvent, QueueItem } from '../../lib/queue/model/types';
import type { Clock } from '../../lib/time/clock';
import { Turns } from '../../lib/time/concurrency';
import { withTexts } from '../shared/language';

/** Properties that a message of output 1 gains: the payload, and the ids of one item. */
export function answerFields(RED: NodeAPI, payload: unknown, simulated: boolean): NodeMessage {
  const ids = typeof payload === 'object' && payload !== null && 'itemId' in payload ? idsOf(payload as QueueItem) : {};
  return { ...ids, payload: withTexts(RED, payload), ...(simulated && { simulated }) };
}

/** The same for an answer that may list many items: the event loop turns meanwhile. */
export async function listFields(
  RED: NodeAPI,
  payload: unknown,
  simulated: boolean,
  clock: Pick<Clock, 'monotonic'>,
): Promise<NodeMessage> {
  if (!Array.isArray(payload)) return answerFields(RED, payload, simulated);
  const turns = new Turns(clock);
  const list: unknown[] = [];
  for (const entry of payload as unknown[]) {
    await turns.next();
    list.push(withTexts(RED, entry));
  }
  return { payload: list, ...(simulated && { simulated }) };
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

/**
 * The boards of a queue in messages. An entry that is the same as in the board before is translated once, and frozen, because
 * several messages share it. The event loop turns meanwhile.
 */
export class BoardMessages {
  readonly #translations = new WeakMap<object, unknown>();
  readonly #turns: Turns;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly RED: NodeAPI,
    private readonly simulated: boolean,
    clock: Pick<Clock, 'monotonic'>,
  ) {
    this.#turns = new Turns(clock);
  }

  /** A board with each sentence in the runtime's language. */
  payload({ printers, items, orders, todo, counts, forecast, at }: Board): Promise<object> {
    const made = this.#last.then(async () => ({
      at,
      ...{ printers: await this.#all(printers), items: await this.#all(items), orders: await this.#all(orders) },
      ...{ todo: await this.#all(todo), counts: { ...counts }, forecast: this.#one(forecast) },
    }));
    this.#last = made.catch(() => undefined);
    return made;
  }

  /** Message of output 2. */
  async message({ value, ...event }: BoardEvent): Promise<NodeMessage> {
    const payload = { ...event, value: await this.payload(value) };
    return { payload, topic: event.type, ...(this.simulated && { simulated: true }) };
  }

  async #all(entries: readonly object[]): Promise<unknown[]> {
    const list: unknown[] = [];
    for (const entry of entries) {
      await this.#turns.next();
      list.push(this.#one(entry));
    }
    return list;
  }

  #one(entry: object): unknown {
    const known = this.#translations.get(entry) ?? frozen(withTexts(this.RED, entry));
    this.#translations.set(entry, known);
    return known;
  }
}

function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  for (const member of Object.values(value)) frozen(member);
  return Object.freeze(value);
}

const idsOf = ({ itemId, jobId }: Pick<QueueItem, 'itemId' | 'jobId'>): NodeMessage => ({
  itemId,
  ...(jobId && { jobId }),
});
