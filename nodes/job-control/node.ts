import type { Node, NodeAPI } from 'node-red';
import { jobData } from '../../lib/control/job-data';
import { PrintingError } from '../../lib/service/errors';
import { record, type Json } from '../../lib/service/json-readers';
import type { Saved } from '../shared/definition';
import { ofMessage, readText } from '../shared/inputs';
import { readingOf } from '../shared/plain-message';
import { workNode } from '../shared/work-node';
import { phrase, type Sentence } from '../../lib/words/sentence';
import { settingsOf } from '../shared/settings';
import { definition } from './definition';

/** Longest action name in a status, characters. */
const LONGEST_SHOWN = 12;

export default function JobControlNode(this: Node, RED: NodeAPI, saved: Saved<typeof definition>): void {
  RED.nodes.createNode(this, saved);
  const { account, action: chosen, cluster, job, timeout } = settingsOf(definition, saved);
  const byMessage = chosen === 'msg.action';
  // An explicit setting without a value is a mistake, not a request to act on the current print.
  const jobMayBeMissing = !job.value || (job.type === 'msg' && job.value === 'clusterJobId');

  const options = { account, timeout, awaited: phrase`No answer from the printer` };
  workNode(RED, this, options, async (msg, send, { client, deadline, show }) => {
    const action = byMessage ? await readText(RED, this, ofMessage('action'), msg) : chosen;
    const clusterId = await readText(RED, this, cluster, msg);
    const clusterJobId = await readText(RED, this, job, msg);
    if (action === undefined) throw missing(phrase`Choose an action in the node or set msg.action.`);
    if (clusterId === undefined) throw missing(phrase`Choose a printer in the node or set msg.clusterId.`);
    if (clusterJobId === undefined && !jobMayBeMissing)
      throw missing(
        phrase`The setting for the print job is empty: choose a print job, or leave it blank for the one that is printing.`,
      );
    const { quantity, position } = msg;
    const data = byMessage && !Buffer.isBuffer(msg.payload) ? readData(msg.payload) : {};
    const values = { action: action.slice(0, LONGEST_SHOWN) };

    const { ids, raw, ...payload } = await client.jobControl.run({
      clusterId,
      clusterJobId,
      action,
      data: jobData(action, { quantity, position, data }),
      deadline,
      onStage: (stage) => show({ fill: 'blue', shape: 'dot', key: stage, values }),
    });
    show({ fill: 'green', shape: 'dot', key: 'done', values });
    send(Object.assign(msg, ids, { payload, raw }, client.simulated && { simulated: true }));
  });
}

/** Reads the fields of the payload. Throws INVALID_INPUT if JSON can't represent them. */
function readData(payload: unknown): Json {
  const data = record(payload) ?? {};
  readingOf('payload', () => JSON.stringify(data));
  return data;
}

const missing = (sentence: Sentence) => new PrintingError('INVALID_INPUT', sentence);
