import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The version in the nearest package.json above `folder`: the sources and dist/ have different depths. */
function installed(folder: string): string {
  try {
    return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
  } catch {
    const above = dirname(folder);
    return above === folder ? 'unknown' : installed(above);
  }
}

/** The version of the pack that this process runs. */
export const version = installed(__dirname);

/**
 * Returns a function that loads a part of the pack on its first call. After an upgrade without a restart, the files are
 * of another version: a part that is not loaded yet would not fit the loaded ones, and `refuse` gives its replacement.
 */
export function onDemand<T>(load: () => T, refuse: () => T): () => T {
  let loaded: { part: T } | undefined;
  return () => {
    if (!loaded && installed(__dirname) !== version) return refuse();
    return (loaded ??= { part: load() }).part;
  };
}
