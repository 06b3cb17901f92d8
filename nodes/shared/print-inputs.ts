import { basename } from 'node:path';
import { Readable } from 'node:stream';
import type { Node, NodeAPI, NodeMessage } from 'node-red';
import { isEmptyFilter, readPrinterFilter, type PrinterFilter } from '../../lib/service/printer-filter';
import { MESSAGE_PRINTERS } from '../../lib/rules/limits';
import type { PrintSource } from '../../lib/print/print-request';
import type { Source } from '../../lib/upload/content';
import { filePath, invalid, isBlank, kindOf, noFile, noPrinter, readText, type Setting, wrongType } from './inputs';
import { phrase } from '../../lib/words/sentence';

/** Refuses more printers than one message may have. Throws INVALID_INPUT. */
export function checkPrinterCount(ids: readonly unknown[]): void {
  if (ids.length <= MESSAGE_PRINTERS) return;
  throw invalid(
    phrase`The message is for ${ids.length} printers, but at most ${MESSAGE_PRINTERS} are allowed: divide them among several messages.`,
  );
}

/** Reads the clusters to print on: one id, or an array of ids (reference 3.4). Throws INVALID_INPUT. */
export function readClusterIds(value: unknown): { clusterIds: string[]; many: boolean } {
  const ids: unknown[] = Array.isArray(value) ? value : [value];
  checkPrinterCount(ids);
  for (const id of ids) {
    if (isBlank(id)) throw noPrinter();
    if (typeof id !== 'string') throw wrongType(phrase`The ID of a printer must be a string, but it is ${kindOf(id)}.`);
  }
  if (ids.length === 0) throw noPrinter(phrase`The list of printers is empty: choose at least one.`);
  return { clusterIds: [...new Set(ids as string[])], many: Array.isArray(value) };
}

/**
 * Returns a message without the printers that it names, at the path of the setting and in `clusterId`: a copy for each
 * printer carries its own alone. Neither the message nor what it holds is changed.
 */
export function withoutPrinters(RED: NodeAPI, msg: NodeMessage, { value, type }: Setting): NodeMessage {
  const { clusterId: _, ...kept } = msg;
  if (type !== 'msg' || isBlank(value)) return kept;
  const path = RED.util.normalisePropertyExpression(String(value));
  const last = path.pop();
  let holder: unknown = kept;
  for (const name of path) holder = copyMember(holder, name);
  if (last !== undefined && isHolder(holder)) Reflect.deleteProperty(holder, last);
  return kept;
}

type Holder = Record<string | number, unknown>;
const isHolder = (value: unknown): value is Holder => typeof value === 'object' && value !== null;

/** Replaces a member by a shallow copy, and returns that. */
function copyMember(holder: unknown, name: string | number): unknown {
  if (!isHolder(holder) || !isHolder(holder[name])) return undefined;
  const member = holder[name];
  return (holder[name] = Array.isArray(member) ? [...(member as unknown[])] : { ...member });
}

/**
 * Reads by which filter a message chooses its printers, for a node and a message that name none; undefined if it
 * chooses none, as with a filter without a criterion. `onlyOne`: the first idle one. Throws INVALID_INPUT.
 */
export function readChoice({
  choose,
  filter: given,
}: NodeMessage): { filter: PrinterFilter; onlyOne: boolean } | undefined {
  if (!isBlank(choose) && choose !== 'idle')
    throw invalid(
      phrase`The choice of a printer must be "idle", but it is ${typeof choose === 'string' ? choose : kindOf(choose)}: correct msg.choose.`,
    );
  const onlyOne = choose === 'idle';
  const filter = readPrinterFilter(given ?? undefined);
  return onlyOne || !isEmptyFilter(filter) ? { filter, onlyOne } : undefined;
}

/** Reads the source of a print: a stored job, or one of `readSource`. Throws INVALID_INPUT. */
export async function readPrintSource(
  RED: NodeAPI,
  node: Node,
  { source: kind, file, storedJob }: { source: string; file: Setting; storedJob: Setting },
  msg: NodeMessage,
  jobName: string,
): Promise<PrintSource> {
  if (kind !== 'stored') return readSource(RED, node, { kind, file }, msg, jobName);
  const jobId = await readText(RED, node, storedJob, msg);
  if (jobId === undefined) throw noFile(phrase`Choose a stored job in the node or set msg.jobId.`);
  return { kind: 'stored', jobId };
}

/** Reads the source of an upload: a file's path, or a Buffer, string or Readable in the payload (reference 3.4). */
export async function readSource(
  RED: NodeAPI,
  node: Node,
  { kind, file }: { kind: string | undefined; file: Setting },
  msg: NodeMessage,
  jobName: string,
): Promise<Source> {
  if (kind !== 'payload') {
    const path = await readText(RED, node, file, msg);
    if (path === undefined) throw noFile(phrase`Choose a file in the node or set msg.filename.`);
    return { kind: 'file', path: filePath(RED, path) };
  }
  const name = typeof msg.filename === 'string' && !isBlank(msg.filename) ? basename(msg.filename) : jobName;
  if (!name) throw invalid(phrase`The payload has no name: set msg.filename or msg.jobName, such as part.gcode.`);
  const { payload, fileSize } = msg;
  if (typeof payload === 'string') return { kind: 'bytes', bytes: Buffer.from(payload, 'utf8'), name };
  if (payload instanceof Uint8Array)
    return { kind: 'bytes', bytes: Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength), name };
  if (payload instanceof Readable) {
    if (typeof fileSize !== 'number' || !Number.isSafeInteger(fileSize) || fileSize < 0)
      throw invalid(phrase`A stream needs its size in bytes: set msg.fileSize.`);
    return { kind: 'stream', stream: payload, size: fileSize, name };
  }
  throw wrongType(phrase`The payload must be a Buffer, a string or a stream, but it is ${kindOf(payload)}.`);
}
