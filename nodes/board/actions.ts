import type { NodeAPI } from 'node-red';
import type { Board } from '../../lib/board/board';
import type { Client } from '../../lib/client';
import type { QueueApi } from '../../lib/queue/model/types';
import { PrintingError } from '../../lib/service/errors';
import { text } from '../../lib/service/json-readers';
import type { Deadline } from '../../lib/time/deadline';
import { phrase } from '../../lib/words/sentence';
import { actOn, readAction } from '../print-queue/actions';
import { readCopies } from '../print-queue/read-message';
import type { AddedFile } from './requests';

/** Actions of a page on a print under way, and their names in job control. */
const ON_PRINTS: Readonly<Record<string, string>> = {
  'pause-print': 'pause',
  'resume-print': 'resume',
  'abort-print': 'abort',
};

/** Carries out a press: an action on a print, or the queue's own action. */
export async function carryOut(
  RED: NodeAPI,
  { client, api, board }: { client: Client; api: QueueApi | null; board: () => Board },
  { action, properties }: { action: string; properties: Readonly<Record<string, unknown>> },
  deadline: Deadline,
): Promise<void> {
  const onPrint = ON_PRINTS[action];
  if (onPrint !== undefined) {
    const [clusterId, clusterJobId] = [text(properties.clusterId), text(properties.clusterJobId)];
    // A press names its print, so that a late one never meets the next.
    if (!clusterId || !clusterJobId)
      throw new PrintingError('INVALID_INPUT', phrase`The press names no print: reload the page.`);
    try {
      const acting = { action: onPrint, data: {}, deadline, onStage: () => undefined };
      await client.jobControl.run({ ...acting, clusterId, clusterJobId });
    } finally {
      board().reread(clusterId);
    }
    return;
  }
  if (!api) throw new PrintingError('INVALID_INPUT', phrase`This board has no queue.`);
  const named = readAction(action, {});
  if (!isAct(named)) throw new PrintingError('INVALID_INPUT', phrase`The press is malformed: reload the page.`);
  await actOn(RED, api, named, { ...properties }, deadline);
}

/** Whether an action needs no file and changes something. */
const isAct = (action: string): action is Parameters<typeof actOn>[2] => !['add', 'board'].includes(action);

/** Queues a file, or prints it on the chosen printer. A repeat with the same key does neither again. */
export async function addDropped(
  { client, api }: { client: Client; api: QueueApi | null },
  { name, size, content, key, clusterId, copies }: AddedFile,
  deadline: Deadline,
): Promise<void> {
  const source = () => Promise.resolve({ kind: 'stream' as const, stream: content, size, name });
  const ownKey = `board-${key}`;
  if (api) {
    const added = { source, jobId: null, jobName: '', queueKey: ownKey, deadline, onProgress: () => undefined };
    await api.add({ ...added, copies: readCopies(copies) ?? 1 });
    return;
  }
  if (clusterId === null) throw new PrintingError('INVALID_INPUT', phrase`Choose a printer for the file.`);
  await client.prints.run({
    ...{ source, clusterIds: [clusterId], jobName: '', printKey: ownKey, print: true, startNow: true },
    ...{ waitFor: 'dispatched' as const, compress: false, reuseUpload: true, dryRun: false },
    ...{ deadline, signal: deadline.signal, onProgress: () => undefined, onResult: () => undefined },
  });
}
