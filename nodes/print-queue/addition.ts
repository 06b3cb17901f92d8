import type { Node, NodeAPI, NodeMessage } from 'node-red';
import type { AddRequest } from '../../lib/queue/model/types';
import { readRequire } from '../../lib/queue/model/requirement';
import { readMediaType } from '../../lib/service/file-types';
import { phrase } from '../../lib/words/sentence';
import type { Settings } from '../shared/definition';
import { noFile, read, readGivenText, readText } from '../shared/inputs';
import { readSource } from '../shared/print-inputs';
import type { definition } from './definition';
import { readCopies, readDetails, readParts, readPriority, short, wordsIn } from './read-message';

/** Reads the item that a message adds. Throws INVALID_INPUT. */
export async function readAddition(
  RED: NodeAPI,
  node: Node,
  settings: Settings<typeof definition>,
  msg: NodeMessage,
): Promise<Omit<AddRequest, 'deadline' | 'onProgress'>> {
  const { source: kind, file } = settings;
  const isStored = kind === 'stored';
  // The form hides it for a stored job, so that nobody could correct it.
  const jobName = (!isStored && (await readText(RED, node, settings.jobName, msg))) || '';
  const jobId = isStored ? wordsIn(msg, 'jobId') : null;
  const queueKey = await readGivenText(RED, node, settings.queueKey, msg);
  if (isStored && !jobId) throw noFile(phrase`The message names no stored job: set msg.jobId.`);
  return {
    ...readDetails(RED, msg),
    source: isStored ? null : () => readSource(RED, node, { kind, file }, msg, jobName),
    jobId: jobId ?? null,
    jobName,
    mediaType: isStored ? undefined : readMediaType(msg.mediaType),
    // A longer one could not name the item.
    queueKey: queueKey === undefined ? null : short('queueKey', queueKey),
    ...(readParts(msg) ?? { copies: readCopies(await read(RED, node, settings.copies, msg)) ?? 1 }),
    priority: readPriority(await read(RED, node, settings.priority, msg)) ?? 0,
    require: readRequire(await read(RED, node, settings.require, msg)) ?? undefined,
  };
}
