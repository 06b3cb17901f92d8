import type { Node, NodeAPI, NodeMessage } from 'node-red';
import { readMediaType } from '../../lib/service/file-types';
import { storedIds, type StoredRef } from '../../lib/service/stored-file';
import type { UploadProgress, UploadStage } from '../../lib/upload/progress';
import { clientOf } from '../shared/account-link';
import type { Saved } from '../shared/definition';
import { filePath, isBlank, noFile, ofMessage, readText } from '../shared/inputs';
import { readSource } from '../shared/print-inputs';
import { left, percent, rate, type StatusText } from '../shared/status';
import { workNode, type WorkContext } from '../shared/work-node';
import { phrase } from '../../lib/words/sentence';
import { settingsOf } from '../shared/settings';
import { definition } from './definition';

export default function LibraryFileNode(this: Node, RED: NodeAPI, saved: Saved<typeof definition>): void {
  RED.nodes.createNode(this, saved);
  const { operation, source: from, kind, file, fileId, timeout } = settingsOf(definition, saved);

  /** Reads the file to query, delete or download. */
  const readRef = async (msg: NodeMessage): Promise<StoredRef> => {
    // A blank setting reads the id of a stored job from msg.jobId.
    const ofJob = kind === 'job' && isBlank(fileId.value) && !isBlank(msg.jobId);
    const id = await readText(RED, this, ofJob ? ofMessage('jobId') : fileId, msg);
    if (id !== undefined) return { kind, id };
    const property = kind === 'job' ? 'msg.jobId' : 'msg.fileId';
    throw noFile(phrase`Choose a file in the node or set ${property}.`);
  };

  const upload = async (msg: NodeMessage, { client, deadline, show }: WorkContext): Promise<NodeMessage> => {
    const name = (from === 'payload' && (await readText(RED, this, ofMessage('jobName'), msg))) || '';
    const source = await readSource(RED, this, { kind: from, file }, msg, name);
    const mediaType = readMediaType(msg.mediaType);
    const onStage = (stage: UploadStage, progress: UploadProgress) => show(stageText(stage, progress));
    const { ref, file: payload, raw } = await client.library.upload(source, kind, { mediaType, deadline, onStage });
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
    const named = isBlank(file.value) ? undefined : await readText(RED, this, file, msg);
    const path = named === undefined ? null : filePath(RED, named);
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

  const operations = { upload, info, download, delete: remove };
  const readsPayload = operation === 'upload' && from === 'payload';
  workNode(
    RED,
    this,
    { findClient: () => clientOf(RED, definition, saved), timeout, readsPayload },
    async (msg, send, context) => {
      const result = await operations[operation](msg, context);
      context.show({ fill: 'green', shape: 'dot', key: `done.${operation}` });
      send(Object.assign(msg, result, context.marks));
    },
  );
}

function stageText(stage: UploadStage, progress: UploadProgress): StatusText {
  const values = { percent: percent(progress.percent), rate: rate(progress.rate), left: left(progress.secondsLeft) };
  return { fill: 'blue', shape: 'dot', key: stage, values };
}

function downloadText(bytes: number, total: number | null): StatusText {
  const values = { percent: percent(total ? (bytes / total) * 100 : null) };
  return { fill: 'blue', shape: 'dot', key: 'downloading', values };
}
