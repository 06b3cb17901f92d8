import type { Node, NodeAPI, NodeMessage } from 'node-red';
import { readPrintJobFilter, type PrintJobFilter } from '../../lib/query/print-job-filter';
import type { PreviewOf } from '../../lib/query/queries';
import type { Query } from '../../lib/query/queries';
import { readPrinterFilter } from '../../lib/service/printer-filter';
import { Turns } from '../../lib/time/concurrency';
import { addJobTexts } from '../shared/job-texts';
import { clientOf } from '../shared/account-link';
import type { Saved } from '../shared/definition';
import { invalid, isBlank, noFile, noPrinter, read, readText } from '../shared/inputs';
import { readClusterIds } from '../shared/print-inputs';
import { workNode } from '../shared/work-node';
import { phrase } from '../../lib/words/sentence';
import { settingsOf } from '../shared/settings';
import { definition } from './definition';

/** Timeout, seconds; the node has no setting for it (reference 4, RATE_LIMITED). */
const TIMEOUT = 60;

/** Form of a print's id; that of a stored job has another (wire facts 1). */
const PRINT_ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Errors for a missing item, with the form's labels. */
const NO_ITEM = {
  clusterJobId: phrase`Choose a print job in the node or set msg.clusterJobId.`,
  jobId: phrase`Choose a stored job in the node or set msg.jobId.`,
  fileId: phrase`Enter a library file in the node or set msg.fileId.`,
};

export default function QueryNode(this: Node, RED: NodeAPI, saved: Saved<typeof definition>): void {
  RED.nodes.createNode(this, saved);
  const { query, cluster, item } = settingsOf(definition, saved);

  const readCluster = async (msg: NodeMessage): Promise<string> => {
    const clusterId = await readText(RED, this, cluster, msg);
    if (clusterId !== undefined) return clusterId;
    throw noPrinter();
  };
  const readItem = async (msg: NodeMessage, property: 'clusterJobId' | 'jobId' | 'fileId'): Promise<string> => {
    const id = await readText(RED, this, { ...item, message: property }, msg);
    if (id !== undefined) return id;
    throw property === 'clusterJobId' ? invalid(NO_ITEM.clusterJobId) : noFile(NO_ITEM[property]);
  };
  /** Reads the filter; its own clusters take precedence over the node's. */
  const readFilter = async (msg: NodeMessage): Promise<PrintJobFilter> => {
    const filter = readPrintJobFilter(isBlank(item.value) ? undefined : await read(RED, this, item, msg));
    const named = await read(RED, this, cluster, msg);
    if (filter.clusterIds.length > 0 || named === undefined) return filter;
    return { ...filter, clusterIds: readClusterIds(named).clusterIds };
  };

  /** Reads a print, with its printer, or a stored job. */
  const readPreviewOf = async (msg: NodeMessage): Promise<PreviewOf> => {
    const chosen = await readText(RED, this, { ...item, message: null }, msg);
    if (chosen !== undefined)
      return PRINT_ID.test(chosen) ? { clusterId: await readCluster(msg), clusterJobId: chosen } : { jobId: chosen };
    const named = (property: string) => readText(RED, this, { ...item, value: '', message: property }, msg);
    const ofMessage = await named('clusterJobId');
    const clusterId = await readText(RED, this, cluster, msg);
    if (ofMessage !== undefined && clusterId !== undefined) return { clusterId, clusterJobId: ofMessage };
    const jobId = await named('jobId');
    if (jobId !== undefined) return { jobId };
    if (ofMessage !== undefined) return { clusterId: await readCluster(msg), clusterJobId: ofMessage };
    throw invalid(phrase`Choose a print job or a stored job in the node, or set msg.clusterJobId or msg.jobId.`);
  };

  const readQuery = async (msg: NodeMessage): Promise<Query> => {
    switch (query) {
      case 'clusters':
      case 'current-user':
        return { query };
      case 'printers':
      case 'materials':
        return { query, printers: readPrinterFilter(await read(RED, this, { ...item, message: 'filter' }, msg)) };
      case 'preview':
        return { query, of: await readPreviewOf(msg) };
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
    }
  };

  workNode(
    RED,
    this,
    { findClient: () => clientOf(RED, definition, saved), timeout: TIMEOUT },
    async (msg, send, { client, marks, deadline, show }) => {
      const asked = await readQuery(msg);
      show({ fill: 'blue', shape: 'dot', key: 'asking' });
      const { payload, raw, ids, contentType } = await client.queries.ask(asked, { deadline });
      const values = { total: String(Array.isArray(payload) ? payload.length : 1) };
      show({ fill: 'green', shape: 'dot', key: Array.isArray(payload) ? 'found' : 'answered', values });
      const turns = new Turns(deadline.clock);
      for (const entry of Array.isArray(payload) ? (payload as unknown[]) : [payload]) {
        await turns.next();
        addJobTexts(RED, entry);
      }
      const answer = { payload, raw, ...(contentType !== undefined && { contentType }) };
      send(Object.assign(msg, ids, answer, marks));
    },
  );
}
