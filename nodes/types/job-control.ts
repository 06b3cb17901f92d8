import type { Node, NodeAPI, NodeDef } from 'node-red';
import { jobData } from '../../lib/control/job-data';
import { PrintingError } from '../../lib/service/errors';
import { record, type Json } from '../../lib/service/json-readers';
import { amount, readText } from '../shared/inputs';
import { readingOf } from '../shared/plain-message';
import { workNode } from '../shared/work-node';
import { phrase, type Sentence } from '../../lib/words/sentence';

interface Definition extends NodeDef {
  account?: string;
  cluster?: string;
  clusterType?: string;
  job?: string;
  jobType?: string;
  action?: string;
  timeout?: number | string;
}

/** Default timeout, seconds. */
const DEFAULT_TIMEOUT = 60;
/** Longest action name in a status, characters. */
const LONGEST_SHOWN = 12;

export function JobControlNode(this: Node, RED: NodeAPI, definition: Definition): void {
  RED.nodes.createNode(this, definition);
  const cluster = { value: definition.cluster, type: definition.clusterType };
  const job = { value: definition.job, type: definition.jobType };
  const { action: chosen = 'pause' } = definition;
  const byMessage = chosen === 'msg.action';
  // An explicit setting without a value is a mistake, not a request to act on the current print.
  const jobMayBeMissing = !job.value || (job.type === 'msg' && job.value === 'clusterJobId');

  const timeout = amount(definition.timeout, DEFAULT_TIMEOUT);
  const options = { account: definition.account, timeout, awaited: phrase`No answer from the printer` };
  workNode(RED, this, options, async (msg, send, { client, deadline, show }) => {
    const action = byMessage ? await readText(RED, this, BLANK, msg, 'action') : chosen;
    const clusterId = await readText(RED, this, cluster, msg, 'clusterId');
    const clusterJobId = await readText(RED, this, job, msg, 'clusterJobId');
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

const BLANK = { value: '', type: 'str' };
const missing = (sentence: Sentence) => new PrintingError('INVALID_INPUT', sentence);
