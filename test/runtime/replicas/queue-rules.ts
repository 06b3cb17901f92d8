import type { QueueItem } from '../../../lib/queue/model/types';
import type { Evidence, QueuePrinting, QueuesSeen, ReplicaDiaryLine } from './evidence';
import { hits, repeats, sentences, type Rule } from './deliveries';
import { ADD_TIMEOUT } from './flow';
import { QUEUES, type Queue } from './size';

/** Longest time that a message about a plate may be on its way to a paused replica, ms. */
const ON_ITS_WAY = 120_000;
/** Longest time between a fact and its place in the evidence, ms. */
const TOGETHER = 2_000;
/** Duration of a lease, ms: a hazard before that may have broken it. */
const LEASE = 20_000;

const ENDED = ['finished', 'failed', 'aborted', 'rejected'];

interface OwnItem {
  queue: Queue;
  key: string;
  copies: number;
  /** The item as the replica lists it that answered last; undefined if none does. */
  item: QueueItem | undefined;
  printings: QueuePrinting[];
}

/** Items of a queue as the replicas list them: one list for each that answered. */
const listsOf = ({ lists }: QueuesSeen, queue: string) =>
  lists.flatMap((list) => (list.queue === queue && list.items ? [{ ...list, items: list.items }] : []));

/** Each item that was added, with all its prints. */
function itemsOf({ queues }: Evidence): OwnItem[] {
  const keys = new Map(queues.added.map((one) => [one.key, one]));
  return [...keys.values()].flatMap(({ queue: id, key, copies }) => {
    const queue = QUEUES.find((one) => one.id === id);
    const [list] = listsOf(queues, id);
    const item = list?.items.find(({ queueKey }) => queueKey === key);
    const printings = queues.printings.filter((printing) => printing.key === key);
    return queue ? [{ queue, key, copies, item, printings }] : [];
  });
}

/** An item as the replicas list it, without its forecast. */
const stateOf = ({ queueKey, state, copies, prints }: QueueItem): string =>
  `${queueKey}: ${state} ${JSON.stringify(copies)} ${JSON.stringify(prints)}`;

/** Prints on a printer that have begun, in that order. */
const begun = ({ printings }: QueuesSeen, clusterId: string): (QueuePrinting & { startedAt: number })[] =>
  printings
    .flatMap((one) =>
      one.clusterId === clusterId && one.startedAt !== null ? [{ ...one, startedAt: one.startedAt }] : [],
    )
    .sort((one, other) => one.startedAt - other.startedAt);

/** Events of a queue by id. */
function eventsOf({ told }: Evidence, queue: string): Map<string, ReplicaDiaryLine[]> {
  const events = new Map<string, ReplicaDiaryLine[]>();
  for (const line of told)
    if (line.kind === 'queue-event' && line.node === queue && line.id)
      events.set(line.id, [...(events.get(line.id) ?? []), line]);
  return events;
}

/** Ids of the events that an item must have caused. */
function expectedOf({ queue, item }: OwnItem): string[] {
  if (!item) return [];
  const { itemId, prints } = item;
  const id = (type: string, ...rest: (string | number)[]) => [queue.id, type, itemId, ...rest].join('/');
  return [
    id('item.queued'),
    ...prints.flatMap(({ copy, attempt, state, clusterJobId, startedAt }) => [
      ...(clusterJobId === null ? [] : [id('print.dispatched', copy, attempt)]),
      ...(startedAt === null ? [] : [id('print.started', copy, attempt)]),
      ...(ENDED.includes(state) || state === 'recalled' ? [id(`print.${state}`, copy, attempt)] : []),
    ]),
  ];
}

/** Numbers of the plates of a queue's printers that its events must have named. */
const platesOf = (seen: Evidence, { printers, gate }: Queue): { clusterId: string; count: number }[] =>
  printers.flatMap((at) => {
    const clusterId = seen.queues.printers[at];
    if (clusterId === undefined) return [];
    const closing = begun(seen.queues, clusterId).filter(({ outcome }) => gate === 'confirm' || outcome !== 'finished');
    return [{ clusterId, count: closing.length }];
  });

/** Ends of waits for an item. A message that added nothing ends with an error, too. */
const waitsOf = ({ queues, told }: Evidence) =>
  queues.added
    .filter(({ isWait }) => isWait)
    .map(({ queue, key, replica, at }) => ({
      what: `the end of the wait for ${key}`,
      replica,
      at,
      told: told.filter(
        (line) => line.node === queue && line.key === key && (line.kind === 'queue-end' || line.kind === 'queue-error'),
      ),
    }));

export const QUEUE_RULES: Rule[] = [
  {
    name: 'prints each copy of a queue exactly once',
    open: (seen) =>
      itemsOf(seen).flatMap(({ key, item, copies, printings }) => {
        const answers = seen.queues.added.filter((one) => one.key === key && !one.isWait);
        if (!answers.some(({ itemId }) => itemId !== null)) return [`${key} was not added`];
        if (!item) return [`${key} is not listed`];
        const isDone = item.state === 'finished' && item.copies.good === copies;
        const left = printings.filter(({ outcome }) => outcome === null);
        // The queue counts a print as finished while the printer still waits for its clear plate.
        if (isDone && left.length > 0) return [`${left.length} prints of ${key} are still in their printers`];
        return isDone ? [] : [`${key} is ${item.state}: ${JSON.stringify({ ...item.copies, prints: item.prints })}`];
      }),
    broken: (seen) => [
      ...itemsOf(seen).flatMap(({ key, copies, item, printings }) => {
        if (!item) return [];
        const { prints } = item;
        const attempts = (uuid: string) => prints.filter(({ clusterJobId }) => clusterJobId === uuid);
        const good = printings.filter(({ outcome }) => outcome === 'finished').length;
        const isOver = item.state === 'finished';
        return [
          ...(isOver && good !== copies ? [`${key} was printed ${good} times for ${copies} copies`] : []),
          ...(good > copies ? [`${key} has ${good} prints for ${copies} copies`] : []),
          ...printings
            .filter(({ uuid }) => isOver && attempts(uuid).length !== 1)
            .map(({ uuid }) => `${key} has ${attempts(uuid).length} attempts for the print ${uuid}`),
          ...prints.flatMap(({ copy, attempt, clusterJobId, state }) => {
            const printing = printings.find(({ uuid }) => uuid === clusterJobId);
            const name = `copy ${copy}, attempt ${attempt} of ${key}`;
            if (clusterJobId !== null && !printing) return [`${name} names a print that does not exist`];
            const isFalse = ENDED.includes(state) && printing?.outcome !== state;
            if (isFalse) return [`${name} is ${state}, but it was ${printing?.outcome ?? 'not printed'}`];
            const isExtra = state === 'recalled' && printing?.startedAt;
            return isExtra ? [`${name} was recalled, but it printed`] : [];
          }),
        ];
      }),
      ...[...new Set(seen.queues.added.map(({ key }) => key))].flatMap((key) => {
        const ids = seen.queues.added.flatMap((one) => (one.key === key && one.itemId !== null ? [one.itemId] : []));
        return new Set(ids).size > 1 ? [`${key} was added as ${[...new Set(ids)].join(' and ')}`] : [];
      }),
    ],
    excused: ({ queues }) => [...queues.settled].map((name) => `a lost dispatch had to be settled (${name})`),
  },
  {
    name: 'lists the same items of a queue at each replica',
    open: ({ queues }) =>
      QUEUES.flatMap(({ id }) => {
        const lists = listsOf(queues, id).map(({ items }) => items.map(stateOf).sort());
        const different = [...new Set(lists.flat())].filter((state) => lists.some((list) => !list.includes(state)));
        return different.map((state) => `not all replicas list ${state}`);
      }),
    broken: () => [],
  },
  {
    name: 'sends no print of a queue to a plate that is not clear',
    broken: ({ queues }) =>
      QUEUES.flatMap(({ gate, printers }) =>
        printers.flatMap((at) => {
          const clusterId = queues.printers[at] ?? '';
          const all = begun(queues, clusterId);
          const members = queues.members.get(clusterId) ?? 1;
          return all.flatMap(({ key, createdAt, startedAt, printerId }, index) => {
            const others = all.filter((one) => one.createdAt < createdAt && (one.endedAt ?? Infinity) > createdAt);
            // The service chooses among the members that are free when the print begins, if one was free when it was sent.
            const sentAt = members > 1 && others.length < members ? startedAt : createdAt;
            // The printers of a group have a plate each.
            const before = all.slice(0, index).findLast((one) => one.printerId === printerId);
            if (!before) return [];
            const where = `on printer ${at + 1} of the queues (${createdAt})`;
            if (before.endedAt === null || sentAt < before.endedAt)
              return [`${key} was sent before the end of ${before.key} ${where}`];
            const readyAt = (before.doneAt ?? before.endedAt) - TOGETHER;
            const isCleared = queues.clearings.some(
              ({ clusterId: of, printerId: on, from, to }) =>
                of === clusterId &&
                (on === null || on === printerId) &&
                from <= sentAt &&
                Math.min(to, from + ON_ITS_WAY) >= readyAt,
            );
            const isEjected = gate === 'automatic' && before.outcome === 'finished';
            return isEjected || isCleared ? [] : [`${key} was sent to the part of ${before.key} ${where}`];
          });
        }),
      ),
  },
  {
    name: 'reports each event of a queue exactly once, in total',
    open: (seen) => [
      ...itemsOf(seen).flatMap((own) => {
        const events = eventsOf(seen, own.queue.id);
        const ends = [...events.values()]
          .flat()
          .filter(({ type, item }) => type === 'item.finished' && item === own.item?.itemId);
        const missing = expectedOf(own).filter((id) => !events.has(id));
        return [...missing.map((id) => `${id} never came`), ...(ends.length > 0 ? [] : [`no end of ${own.key} came`])];
      }),
      ...QUEUES.flatMap((queue) =>
        platesOf(seen, queue).flatMap(({ clusterId, count }) =>
          ['plate.awaiting', 'plate.cleared'].flatMap((type) => {
            // The id names the machine, which may be elsewhere by now.
            const ids = [...eventsOf(seen, queue.id).values()].filter(
              ([event]) => event?.type === type && event.clusterId === clusterId,
            );
            return ids.length >= count
              ? []
              : [`${ids.length} of ${count} ${type} came from ${queue.id} for ${clusterId}`];
          }),
        ),
      ),
    ],
    broken: (seen) => [
      ...sentences(repeats(seen, eventLists(seen)), false),
      ...QUEUES.flatMap((queue) => {
        const events = [...eventsOf(seen, queue.id).keys()];
        const idles = events
          .filter((id) => id.startsWith(`${queue.id}/queue.idle/`))
          .map((id) => Number(id.split('/').at(-1)));
        // They are numbered one after the other.
        const count = idles.length === 0 ? 0 : Math.max(...idles) - Math.min(...idles) + 1;
        return [
          ...(count > idles.length ? [`only ${idles.length} of ${count} idle events came from ${queue.id}`] : []),
          ...falseEvents(seen, queue, events),
        ];
      }),
    ],
    excused: (seen) => sentences(repeats(seen, eventLists(seen)), true),
  },
  {
    name: 'ends each wait for an item of a queue exactly once, in total',
    open: (seen) =>
      waitsOf(seen).flatMap(({ what, told, replica, at }) =>
        told.length > 0 || isLost(seen, replica, at) ? [] : [`${what} never came`],
      ),
    broken: (seen) => [
      ...sentences(repeats(seen, waitsOf(seen)), false),
      ...waitsOf(seen).flatMap(({ what, told }) =>
        told
          .filter(({ text = '' }) => text.startsWith('QUEUE_ITEM_NOT_FOUND'))
          .map(({ text, replica, at }) => `${what} was at ${replica}: ${text} (${at})`),
      ),
    ],
    excused: (seen) => sentences(repeats(seen, waitsOf(seen)), true),
  },
  {
    name: 'plans a queue at one replica, as long as no hazard hits it',
    broken: ({ queues, hazards, signedOut, lost }) =>
      QUEUES.flatMap(({ id }) => {
        const keys = new Set(queues.added.flatMap((one) => (one.queue === id ? [one.key] : [])));
        const own = queues.dispatches.filter(({ clusterId, at }) =>
          queues.printings.some(
            (one) => one.clusterId === clusterId && keys.has(one.key) && Math.abs(one.createdAt - at) < TOGETHER,
          ),
        );
        return own.slice(1).flatMap(({ by, at }, index) => {
          const before = own[index] as (typeof own)[number];
          if (by === before.by) return [];
          const hitting = hazards.filter((hazard) => hits(hazard, Number(before.by.split(' ')[1])));
          // Without a sign-in no replica can plan, so the first that follows the next one does.
          const isExplained = [...hitting, ...signedOut, ...lost].some(
            ({ from, to }) => from < at && to > before.at - LEASE,
          );
          return isExplained ? [] : [`${id} was planned by ${before.by}, and then by ${by} without a reason (${at})`];
        });
      }),
  },
];

function eventLists(seen: Evidence): { what: string; told: ReplicaDiaryLine[] }[] {
  return QUEUES.flatMap(({ id }) => [...eventsOf(seen, id)].map(([event, told]) => ({ what: event, told })));
}

/** Events of prints that did not happen. */
function falseEvents(seen: Evidence, queue: Queue, events: readonly string[]): string[] {
  const prints = new Map<string, QueueItem['prints'][number]>(
    itemsOf(seen)
      .filter((own) => own.queue === queue)
      .flatMap(({ item }) =>
        (item?.prints ?? []).map((print) => [`${item?.itemId}/${print.copy}/${print.attempt}`, print] as const),
      ),
  );
  return events.flatMap((id) => {
    const [, type = '', ...subject] = id.split('/');
    const name = subject.join('/');
    const end = type.replace('print.', '');
    if (type === 'print.extra') return seen.queues.settled.has(name) ? [] : [`${id} came, though nobody settled it`];
    if (!type.startsWith('print.') || !ENDED.includes(end)) return [];
    return prints.get(name)?.state === end ? [] : [`${id} came, but it is ${prints.get(name)?.state ?? 'unknown'}`];
  });
}

/** Whether a hazard hit the replica before it could save the wait: an answer that came then would be lost as well. */
const isLost = ({ hazards }: Evidence, replica: number, at: number): boolean =>
  hazards.some((hazard) => hits(hazard, replica) && hazard.to > at && hazard.from < at + ADD_TIMEOUT * 1000);
