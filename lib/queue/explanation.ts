import { isoTime } from '../time/clock';
import { openAttempts } from './copies';
import { isPlateToClear } from './gate';
import { isoOrNull } from './item-shape';
import type { QueueExplanation } from './queue-api';
import type { QueueData } from './queue-data';
import type { QueuePrinter } from './queue-printer';
import type { QueueRules } from './queue-rules';
import { isPauseOver } from './queue-state';

interface ExplanationContext {
  data: QueueData;
  rules: Pick<QueueRules, 'gate'>;
  now: number;
  copies: { waiting: number; active: number };
}

/** Each printer of a queue, with the copy that occupies it, or the reason for which it can't print. */
export function explanationOf(
  printers: readonly QueuePrinter[],
  { data, rules, now, copies }: ExplanationContext,
): QueueExplanation {
  const open = data.open.all.flatMap((record) =>
    openAttempts(record).map((attempt) => ({ attempt, itemId: record.itemId })),
  );
  const { paused } = data.state.record;
  const isPaused = paused !== null && !isPauseOver(paused, now);
  return {
    printers: printers.map(({ clusterId, printerId, clusterName, obstacle, lastUsedAt, usedFor }) => {
      const gate = data.gates.of(clusterId, printerId);
      const isAwaiting = gate !== undefined && isPlateToClear(gate, rules.gate);
      const here = open.find(
        ({ attempt }) => attempt.clusterId === clusterId && (printerId === null || attempt.printerId === printerId),
      );
      const { copy = 0, attempt = 0, clusterJobId = null } = here?.attempt ?? {};
      return {
        ...{ clusterId, printerId, clusterName, free: obstacle === null },
        plate: isAwaiting ? 'awaiting' : 'clear',
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
