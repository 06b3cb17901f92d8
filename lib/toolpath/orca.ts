import { TOOLPATH } from '../rules/limits';
import { fieldsOf, lastLineAt, lineAt, secondsIn } from './comments';
import type { FileFacts } from './file-facts';
import { configFacts } from './slicer-config';

/** Facts of the blocks that OrcaSlicer and its relatives write to the head or the tail; null without a configuration. */
export function orcaFacts(head: string, tail: string): FileFacts | null {
  const usage = usageIn(head);
  for (const words of [head, tail]) {
    const start = lastLineAt(words, '; CONFIG_BLOCK_START');
    if (start < 0) continue;
    const end = lineAt(words, '; CONFIG_BLOCK_END', start);
    return configFacts(words, [start, end < 0 ? words.length : end], usage);
  }
  return null;
}

/** Duration and used extruders in the header block. */
function usageIn(head: string) {
  const start = lineAt(head, '; HEADER_BLOCK_START');
  const end = start < 0 ? -1 : lineAt(head, '; HEADER_BLOCK_END', start);
  if (end < 0) return {};
  // One line may hold two durations.
  const block = head.slice(start, Math.min(end, start + TOOLPATH.before)).replaceAll('; total', '\n; total');
  const fields = fieldsOf(block, ':');
  // Counted from 1.
  const used = (fields.get('filament') ?? '')
    .split(',')
    .flatMap((number) => (/^\d+$/.test(number) ? Number(number) - 1 : []));
  return {
    seconds: secondsIn(fields.get('total estimated time')),
    used: used.length > 0 ? new Set(used) : null,
  };
}
