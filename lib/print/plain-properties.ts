/** Most bytes of JSON text stored per message (reference 3.4). */
const ROOM = 64 * 1024;
const DEEPEST = 100;

/** Properties that belong to a connection, or may hold credentials or signed URLs. */
const NEVER = new Set(['req', 'res', 'raw', 'headers', 'cookies', 'responseCookies']);
/** Properties that identify a message, stored before all others. */
const FIRST = ['_msgid', 'topic', 'jobId', 'clusterJobId', 'clusterId', 'printerId', 'printKey', 'parts'];

/**
 * The properties of a message that outlive the runtime: plain JSON throughout, smallest first, as many as fit. A
 * property that doesn't fit is omitted whole.
 */
export function plainProperties(msg: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const sized = Object.entries(msg).flatMap(([name, value]) => {
    const text = NEVER.has(name) || name.length > ROOM ? undefined : plainText(value);
    if (text === undefined) return [];
    const rank = FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length;
    return [{ name, text, rank, size: Buffer.byteLength(JSON.stringify(name)) + Buffer.byteLength(text) + 2 }];
  });
  sized.sort((one, other) => one.rank - other.rank || one.size - other.size);
  let left = ROOM;
  const kept = sized.filter(({ size }) => {
    if (size > left) return false;
    left -= size;
    return true;
  });
  // Built from entries, as `__proto__` is an ordinary name here.
  return Object.fromEntries(kept.map(({ name, text }): [string, unknown] => [name, JSON.parse(text)]));
}

/** The JSON text of a plain JSON value; undefined for any other value, and for one that is far too large. */
function plainText(value: unknown): string | undefined {
  try {
    return isPlain(value, { left: ROOM }, 0) ? JSON.stringify(value) : undefined;
  } catch {
    // A getter of a foreign object threw.
    return undefined;
  }
}

/** `room` is the number of characters left; each value needs at least one. */
function isPlain(value: unknown, room: { left: number }, depth: number): boolean {
  room.left -= typeof value === 'string' ? value.length : 1;
  if (room.left < 0 || depth > DEEPEST) return false;
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object') return false;
  // A hole in an array is not JSON.
  if (Array.isArray(value)) return Array.from(value).every((entry) => isPlain(entry, room, depth + 1));
  // Compared by name: functions and tests run in realms of their own.
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return false;
  if (Object.prototype.toString.call(value) !== '[object Object]' || 'toJSON' in value) return false;
  return Object.values(value).every((entry) => entry === undefined || isPlain(entry, room, depth + 1));
}
