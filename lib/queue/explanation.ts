import { isoTime } from '../time/clock';
import { openAttempts } from './copies';
import { isPlateToClear, type PlateGate } from './gate';
import { isoOrNull } from './item-shape';
import type { QueueExplanation } from './queue-api';
import type { QueueData } from './queue-data';
import { printingId, type Attempt } from './queue-item';
import type { QueuePrinter } from './queue-printer';
import type { QueueRules } from './queue-rules';
import { isPauseOver } from './queue-state';

interface ExplanationContext {
  data: Pick<QueueData, 'open' | 'items' | 'gates' | 'state'>;
  queueId: string;
  rules: Pick<QueueRules, 'gate'>;
  now: number;
  copies: { waiting: number; active: number };
}

/**
 * Each printer of a queue, with the reason for which it can't print. `current`: the copy that occupies it, or else the one
 * whose part waits on its plate; null if the print there is not of this queue.
 */
export function explanationOf(
  printers: readonly QueuePrinter[],
  { data, queueId, rules, now, copies }: ExplanationContext,
): QueueExplanation {
  const open = data.open.all.flatMap((record) =>
    openAttempts(record).map((attempt) => ({ attempt, itemId: record.itemId })),
  );
  const gateOf = ({ clusterId, printerId }: QueuePrinter): PlateGate | undefined => {
    const gate = data.gates.of(clusterId, printerId);
    return gate && isPlateToClear(gate, rules.gate) ? gate : undefined;
  };
  const parts = partsOf(new Set(printers.flatMap((printer) => gateOf(printer)?.ended?.id ?? [])), { data, queueId });
  const { paused } = data.state.record;
  const isPaused = paused !== null && !isPauseOver(paused, now);
  return {
    printers: printers.map((printer) => {
      const { clusterId, printerId, clusterName, obstacle, lastUsedAt, usedFor } = printer;
      const awaiting = gateOf(printer);
      const here =
        open.find(
          ({ attempt }) => attempt.clusterId === clusterId && (printerId === null || attempt.printerId === printerId),
        ) ?? parts.get(awaiting?.ended?.id ?? '');
      const { copy = 0, attempt = 0, clusterJobId = null } = here?.attempt ?? {};
      return {
        ...{ clusterId, printerId, clusterName, free: obstacle === null },
        plate: awaiting ? 'awaiting' : 'clear',
        code: obstacle?.code ?? null,
        text: obstacle?.sentence ?? null,
        lastUsedAt: lastUsedAt === null ? null : isoTime(lastUsedAt),
        hours: Math.round(usedFor / 36_000) / 100,
        current: here ? { itemId: here.itemId, copy, attempt, clusterJobId } : null,
      };
    }),
    paused: isPaused ? { until: isoOrNull(paused.until), reason: paused.reason } : null,
    ...copies,
  };
}

/** The queue's attempts among these printings, by the id of the printing. */
function partsOf(
  ids: ReadonlySet<string>,
  { data, queueId }: Pick<ExplanationContext, 'data' | 'queueId'>,
): ReadonlyMap<string, { attempt: Attempt; itemId: string }> {
  const parts = new Map<string, { attempt: Attempt; itemId: string }>();
  if (ids.size === 0) return parts;
  for (const { itemId, prints } of data.items.all)
    for (const attempt of prints) {
      const id = printingId(queueId, itemId, attempt);
      if (ids.has(id)) parts.set(id, { attempt, itemId });
    }
  return parts;
}
