import type { Node, NodeAPI } from 'node-red';
import { isPrintEvent } from '../../lib/events/print-event';
import type { SnapshotProgress } from '../../lib/picture/snapshots';
import { clientOf } from '../shared/account-link';
import type { Saved } from '../shared/definition';
import { noPrinter, readGivenText } from '../shared/inputs';
import { clockTime, percent, type StatusText } from '../shared/status';
import { readingOf } from '../shared/plain-message';
import { workNode } from '../shared/work-node';
import { phrase } from '../../lib/words/sentence';
import { settingsOf } from '../shared/settings';
import { definition } from './definition';

export default function WebcamSnapshotNode(this: Node, RED: NodeAPI, saved: Saved<typeof definition>): void {
  RED.nodes.createNode(this, saved);
  const { cluster, printer, timeout, maxBytes } = settingsOf(definition, saved);
  const options = {
    findClient: () => clientOf(RED, definition, saved),
    timeout,
    awaited: phrase`No answer from the printer`,
  };
  workNode(RED, this, options, async (msg, send, { client, marks, deadline, show }) => {
    const clusterId = await readGivenText(RED, this, cluster, msg);
    if (clusterId === undefined) throw noPrinter();
    const event = readingOf('payload', () => isPrintEvent(msg.payload)) && { event: msg.payload };
    const { image, ...picture } = await client.snapshots.take({
      clusterId,
      printerId: (await readGivenText(RED, this, printer, msg)) ?? null,
      maxBytes,
      deadline,
      onProgress: (progress) => show(progressText(progress)),
    });
    const at = clockTime(Date.parse(picture.takenAt));
    show({ fill: 'green', shape: 'dot', key: 'taken', values: { at } });
    send(Object.assign(msg, picture, { ...event, payload: image }, marks));
  });
}

function progressText({ stage, percent: done }: SnapshotProgress): StatusText {
  return { fill: 'blue', shape: 'dot', key: stage, values: { percent: percent(done) } };
}
