import { constants } from 'node:fs';
import { access, mkdir, readFile, realpath } from 'node:fs/promises';
import { codeOf } from '../http/retry';
import { phrase, type Sentence } from '../words/sentence';

/** File systems that last no longer than a container or a machine's uptime. */
const PASSING = ['overlay', 'aufs', 'tmpfs', 'ramfs'];

/** Why nothing can be saved in a folder; null if it is writable. Never rejects. */
export async function folderFault(folder: string): Promise<Sentence | null> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return phrase`The state folder ${folder} can't be written (${codeOf(error)}), so sign-ins and print keys can't be saved: make it writable, or name another place in the setting stateStore.`;
  }
}

/** Why a folder would be lost with its container or at a restart; null if no reason is known. Never rejects. */
export async function notLasting(folder: string): Promise<Sentence | null> {
  const [mounts, path] = await Promise.all([readFile('/proc/self/mountinfo', 'utf8'), realpath(folder)]).catch(
    // Only Linux has this list.
    () => ['', folder] as const,
  );
  if (!isVolatile(mounts, path)) return null;
  return phrase`The state folder ${folder} lies inside the container or in memory, so sign-ins and print keys will go with it: name a lasting folder or a database in the setting stateStore.`;
}

/** Whether a folder lies on a temporary file system, by the system's list of mounts (`/proc/self/mountinfo`). */
export function isVolatile(mounts: string, folder: string): boolean {
  let deepest = { point: '', type: '' };
  for (const line of mounts.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const point = unescape(before.split(' ')[4] ?? '');
    const [type = ''] = after.split(' ');
    // Of two mounts on one point, the later hides the earlier.
    if (point !== '' && isWithin(folder, point) && point.length >= deepest.point.length) deepest = { point, type };
  }
  return PASSING.includes(deepest.type);
}

const isWithin = (path: string, folder: string): boolean =>
  folder === '/' || path === folder || path.startsWith(`${folder}/`);

/** Decodes the octal escapes of blanks and other characters. */
const unescape = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));
