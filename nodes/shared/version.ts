import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The pack's version, from the nearest package.json above (the sources and dist/ have different depths). */
export const version: string = find(__dirname);

function find(folder: string): string {
  try {
    return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
  } catch {
    const above = dirname(folder);
    return above === folder ? 'unknown' : find(above);
  }
}
