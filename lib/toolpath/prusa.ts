import { lastLineAt, lineAt } from './comments';
import type { FileFacts } from './file-facts';
import { configFacts } from './slicer-config';

const NAMES = ['prusaslicer', 'SuperSlicer', 'slic3r'];

/** Facts of the configuration that PrusaSlicer and its relatives append to a file; null without one. */
export function prusaFacts(tail: string): FileFacts | null {
  for (const name of NAMES) {
    const start = lastLineAt(tail, `; ${name}_config = begin`);
    if (start < 0) continue;
    const end = lineAt(tail, `; ${name}_config = end`, start);
    return configFacts(tail, [start, end < 0 ? tail.length : end], {});
  }
  return null;
}
