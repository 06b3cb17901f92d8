import type { Node, NodeAPI, NodeDef, NodeMessage } from 'node-red';
import { PrintingError } from '../../lib/service/errors';
import { storedIds, type StoredKind, type StoredRef } from '../../lib/service/stored-file';
import type { UploadProgress, UploadStage } from '../../lib/upload/progress';
import { amount, isBlank, readText } from '../shared/inputs';
import { readSource } from '../shared/print-inputs';
import { left, percent, rate, type StatusText } from '../shared/status';
import { workNode, type WorkContext } from '../shared/work-node';
import { phrase } from '../../lib/words/sentence';

interface Definition extends NodeDef {
  account?: string;
  operation?: string;
  kind?: string;
  source?: string;
  file?: string;
  fileType?: string;
  fileId?: string;
  fileIdType?: string;
  timeout?: number | string;
}

/** Default timeout, seconds. */
const DEFAULT_TIMEOUT = 600;
/** A blank setting, which reads the message. */
const BLANK = { value: '', type: 'str' };

export function LibraryFileNode(this: Node, RED: NodeAPI, definition: Definition): void {
  RED.nodes.createNode(this, definition);
  const kind: StoredKind = definition.kind === 'job' ? 'job' : 'file';
  const file = { value: definition.file, type: definition.fileType };
  const fileId = { value: definition.fileId, type: definition.fileIdType };
  const timeout = amount(definition.timeout, DEFAULT_TIMEOUT);

  /** Reads the file to query, delete or download. */
  const readRef = async (msg: NodeMessage): Promise<StoredRef> => {
    // A blank setting reads the id of a stored job from msg.jobId.
    const ofJob = kind === 'job' && isBlank(fileId.value) && !isBlank(msg.jobId);
    const id = await readText(RED, this, ofJob ? BLANK : fileId, msg, ofJob ? 'jobId' : 'fileId');
    if (id !== undefined) return { kind, id };
    const property = kind === 'job' ? 'msg.jobId' : 'msg.fileId';
    throw new PrintingError('INVALID_INPUT', phrase`Choose a file in the node or set ${property}.`);
  };

  const upload = async (msg: NodeMessage, { client, deadline, show }: WorkContext): Promise<NodeMessage> => {
    const name = (await readText(RED, this, BLANK, msg, 'jobName')) ?? '';
    const source = await readSource(RED, this, { kind: definition.source, file }, msg, name);
    const onStage = (stage: UploadStage, progress: UploadProgress) => show(stageText(stage, progress));
    const { ref, file: payload, raw } = await client.library.upload(source, kind, { deadline, onStage });
    return { ...storedIds(ref), payload, raw };
  };

  const info = async (msg: NodeMessage, { client, deadline, show }: WorkContext): Promise<NodeMessage> => {
    const ref = await readRef(msg);
    show({ fill: 'blue', shape: 'dot', key: 'asking' });
    const { file: payload, raw } = await client.library.info(ref, { deadline });
    return { ...storedIds(ref), payload, raw };
  };

  const download = async (msg: NodeMessage, { client, deadline, show }: WorkContext): Promise<NodeMessage> => {
    const ref = await readRef(msg);
    // msg.filename names a source; the node writes there only if the setting says so.
    const path = isBlank(file.value) ? null : ((await readText(RED, this, file, msg, 'filename')) ?? null);
    const onProgress = (bytes: number, total: number | null) => show(downloadText(bytes, total));
    const { content, raw } = await client.library.download(ref, { path, deadline, onProgress });
    return { ...storedIds(ref), payload: content, raw };
  };

  const remove = async (msg: NodeMessage, { client, deadline, show }: WorkContext): Promise<NodeMessage> => {
    const ref = await readRef(msg);
    show({ fill: 'blue', shape: 'dot', key: 'deleting' });
    const raw = await client.library.remove(ref, { deadline });
    return { ...storedIds(ref), payload: { deleted: true }, raw };
  };

  const operations: Partial<Record<string, typeof info>> = { upload, info, download, delete: remove };
  const { operation = 'upload' } = definition;
  const readsPayload = operation === 'upload' && definition.source === 'payload';
  workNode(RED, this, { account: definition.account, timeout, readsPayload }, async (msg, send, context) => {
    const work = Object.hasOwn(operations, operation) ? operations[operation] : undefined;
    if (!work) throw new PrintingError('NOT_CONFIGURED', phrase`The operation is unknown: choose one in the node.`);
    const result = await work(msg, context);
    context.show({ fill: 'green', shape: 'dot', key: `done.${operation}` });
    send(Object.assign(msg, result, context.client.simulated && { simulated: true }));
  });
}

function stageText(stage: UploadStage, progress: UploadProgress): StatusText {
  const values = { percent: percent(progress.percent), rate: rate(progress.rate), left: left(progress.secondsLeft) };
  return { fill: 'blue', shape: 'dot', key: stage, values };
}

function downloadText(bytes: number, total: number | null): StatusText {
  const values = { percent: percent(total ? (bytes / total) * 100 : null) };
  return { fill: 'blue', shape: 'dot', key: 'downloading', values };
}
