import type { Node, NodeAPI, NodeDef } from 'node-red';
import { isPrintEvent } from '../../lib/events/print-event';
import type { SnapshotProgress } from '../../lib/picture/snapshots';
import { PrintingError } from '../../lib/service/errors';
import { amount, readText } from '../shared/inputs';
import { clockTime, percent, type StatusText } from '../shared/status';
import { readingOf } from '../shared/plain-message';
import { workNode } from '../shared/work-node';
import { phrase } from '../../lib/words/sentence';

interface Definition extends NodeDef {
  account?: string;
  cluster?: string;
  clusterType?: string;
  printer?: string;
  printerType?: string;
  timeout?: number | string;
  maxBytes?: number | string;
}

/** Default timeout, seconds. */
const DEFAULT_TIMEOUT = 60;
/** Default limit of a picture, bytes. */
const DEFAULT_LIMIT = 20 * 1024 * 1024;

export function WebcamSnapshotNode(this: Node, RED: NodeAPI, definition: Definition): void {
  RED.nodes.createNode(this, definition);
  const cluster = { value: definition.cluster, type: definition.clusterType };
  const printer = { value: definition.printer, type: definition.printerType };

  const timeout = amount(definition.timeout, DEFAULT_TIMEOUT);
  const options = { account: definition.account, timeout, awaited: phrase`No answer from the printer` };
  workNode(RED, this, options, async (msg, send, { client, deadline, show }) => {
    const clusterId = await readText(RED, this, cluster, msg, 'clusterId');
    if (clusterId === undefined)
      throw new PrintingError('INVALID_INPUT', phrase`Choose a printer in the node or set msg.clusterId.`);
    const event = readingOf('payload', () => isPrintEvent(msg.payload)) && { event: msg.payload };
    const { image, ...picture } = await client.snapshots.take({
      clusterId,
      printerId: (await readText(RED, this, printer, msg, 'printerId')) ?? null,
      maxBytes: amount(definition.maxBytes, DEFAULT_LIMIT),
      deadline,
      onProgress: (progress) => show(progressText(progress)),
    });
    const at = clockTime(Date.parse(picture.takenAt));
    show({ fill: 'green', shape: 'dot', key: 'taken', values: { at } });
    send(Object.assign(msg, picture, { ...event, payload: image }, client.simulated && { simulated: true }));
  });
}

function progressText({ stage, percent: done }: SnapshotProgress): StatusText {
  return { fill: 'blue', shape: 'dot', key: stage, values: { percent: percent(done) } };
}
