import type { Node, NodeAPI, NodeMessage } from 'node-red';
import { readPrintJobFilter, type PrintJobFilter } from '../../lib/query/print-job-filter';
import type { Query } from '../../lib/query/queries';
import { PrintingError } from '../../lib/service/errors';
import { addChangeTexts } from '../shared/change-texts';
import type { Saved } from '../shared/definition';
import { isBlank, read, readText } from '../shared/inputs';
import { readClusterIds } from '../shared/print-inputs';
import { workNode } from '../shared/work-node';
import { phrase, type Sentence } from '../../lib/words/sentence';
import { settingsOf } from '../shared/settings';
import { definition } from './definition';

/** Timeout, seconds; the node has no setting for it (reference 4, RATE_LIMITED). */
const TIMEOUT = 60;

/** Errors for a missing item, with the form's labels. */
const NO_ITEM = {
  clusterJobId: phrase`Choose a print job in the node or set msg.clusterJobId.`,
  jobId: phrase`Choose a stored job in the node or set msg.jobId.`,
  fileId: phrase`Enter a library file in the node or set msg.fileId.`,
};

export default function QueryNode(this: Node, RED: NodeAPI, saved: Saved<typeof definition>): void {
  RED.nodes.createNode(this, saved);
  const { account, query, cluster, item } = settingsOf(definition, saved);

  const readCluster = async (msg: NodeMessage): Promise<string> => {
    const clusterId = await readText(RED, this, cluster, msg);
    return clusterId ?? missing(phrase`Choose a printer in the node or set msg.clusterId.`);
  };
  const readItem = async (msg: NodeMessage, property: 'clusterJobId' | 'jobId' | 'fileId'): Promise<string> => {
    const id = await readText(RED, this, { ...item, message: property }, msg);
    return id ?? missing(NO_ITEM[property]);
  };
  /** Reads the filter; its own clusters take precedence over the node's. */
  const readFilter = async (msg: NodeMessage): Promise<PrintJobFilter> => {
    const filter = readPrintJobFilter(isBlank(item.value) ? undefined : await read(RED, this, item, msg));
    const named = await read(RED, this, cluster, msg);
    if (filter.clusterIds.length > 0 || named === undefined) return filter;
    return { ...filter, clusterIds: readClusterIds(named).clusterIds };
  };

  const readQuery = async (msg: NodeMessage): Promise<Query> => {
    switch (query) {
      case 'clusters':
      case 'current-user':
        return { query };
      case 'cluster-status':
      case 'maintenance':
        return { query, clusterId: await readCluster(msg) };
      case 'print-jobs':
        return { query, filter: await readFilter(msg) };
      case 'print-job':
        return { query, clusterId: await readCluster(msg), clusterJobId: await readItem(msg, 'clusterJobId') };
      case 'stored-job':
        return { query, id: await readItem(msg, 'jobId') };
      case 'library-file':
        return { query, id: await readItem(msg, 'fileId') };
      default:
        throw new PrintingError('NOT_CONFIGURED', phrase`The query is unknown: choose one in the node.`);
    }
  };

  workNode(RED, this, { account, timeout: TIMEOUT }, async (msg, send, { client, deadline, show }) => {
    const asked = await readQuery(msg);
    show({ fill: 'blue', shape: 'dot', key: 'asking' });
    const { payload, raw, ids } = await client.queries.ask(asked, { deadline });
    const values = { total: String(Array.isArray(payload) ? payload.length : 1) };
    show({ fill: 'green', shape: 'dot', key: Array.isArray(payload) ? 'found' : 'answered', values });
    send(
      Object.assign(msg, ids, { payload: addChangeTexts(RED, payload), raw }, client.simulated && { simulated: true }),
    );
  });
}

function missing(sentence: Sentence): never {
  throw new PrintingError('INVALID_INPUT', sentence);
}
