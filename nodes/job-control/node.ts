import type { Node, NodeAPI, NodeMessage } from 'node-red';
import type { CommonActionResult } from '../../lib/control/job-control';
import { jobData } from '../../lib/control/job-rules';
import type { PrintingError } from '../../lib/service/errors';
import { record, type Json } from '../../lib/service/json-readers';
import { isEmptyFilter, readPrinterFilter, type PrinterFilter } from '../../lib/service/printer-filter';
import { clientOf } from '../shared/account-link';
import type { Saved } from '../shared/definition';
import { invalid, noPrinter, ofMessage, readFlag, readGivenText, readText } from '../shared/inputs';
import { translated } from '../shared/language';
import type { Send } from '../shared/on-input';
import { copyMessage, readingOf } from '../shared/plain-message';
import { type WorkContext, workNode } from '../shared/work-node';
import { phrase } from '../../lib/words/sentence';
import { settingsOf } from '../shared/settings';
import { definition } from './definition';

/** Longest action name in a status, characters. */
const LONGEST_SHOWN = 12;

export default function JobControlNode(this: Node, RED: NodeAPI, saved: Saved<typeof definition>): void {
  RED.nodes.createNode(this, saved);
  const { action: chosen, cluster, job, timeout } = settingsOf(definition, saved);
  const byMessage = chosen === 'msg.action';

  const options = {
    findClient: () => clientOf(RED, definition, saved),
    timeout,
    awaited: phrase`No answer from the printer`,
  };

  /** Stops one printer, or all of the account. */
  const stop = async (
    msg: NodeMessage,
    send: Send,
    clusterId: string | undefined,
    { client, marks, deadline, show }: Pick<WorkContext, 'client' | 'marks' | 'deadline' | 'show'>,
  ) => {
    if (!isEmptyFilter(readPrinterFilter(msg.filter ?? undefined)))
      throw invalid(phrase`The action "stop" is for one printer or for all: remove msg.filter.`);
    if (readFlag(msg, 'all') === true && clusterId !== undefined) throw chosenTwice();
    const values = { action: 'stop' };
    const onStage = (stage: 'sending' | 'sent') => show({ fill: 'blue', shape: 'dot', key: stage, values });
    const { results, failure } = await client.stop({ clusterId, deadline, onStage });
    const payload = results.map(({ ids: _ids, raw: _raw, error, ...result }) => ({ ...result, ...shownError(error) }));
    const raw = results.map((result) => result.raw);
    send(Object.assign(msg, marks, clusterId === undefined ? {} : { clusterId }, { payload, raw }));
    if (failure) throw failure;
    show({ fill: 'green', shape: 'dot', key: 'done', values });
  };
  const shownError = (error: PrintingError | undefined) =>
    error ? { error: { code: error.code, message: translated(RED, error.sentence) } } : {};

  workNode(RED, this, options, async (msg, send, { client, marks, deadline, signal, show }) => {
    const action = byMessage ? await readText(RED, this, ofMessage('action'), msg) : chosen;
    const clusterId = await readGivenText(RED, this, cluster, msg);
    if (action === undefined) throw invalid(phrase`Choose an action in the node or set msg.action.`);
    if (action === 'stop') return stop(msg, send, clusterId, { client, marks, deadline, show });
    const clusterJobId = await readGivenText(RED, this, job, msg);
    const filter = readPrinters(msg, clusterId);
    if (clusterId === undefined && !filter) throw noPrinter();
    if (filter && clusterJobId !== undefined) throw chosenTwice();
    const { quantity, position } = msg;
    const data = byMessage && !Buffer.isBuffer(msg.payload) ? readData(msg.payload) : {};
    const values = { action: action.slice(0, LONGEST_SHOWN) };
    const acting = {
      action,
      data: jobData(action, { quantity, position, data }),
      deadline,
      onStage: (stage: 'sending' | 'sent') => show({ fill: 'blue', shape: 'dot', key: stage, values }),
    };

    if (filter) {
      const id = RED.util.generateId();
      const passedOn: NodeMessage = { ...msg, payload: undefined };
      const onResult = ({ ids, raw, error, ...payload }: CommonActionResult, index: number, count: number) => {
        if (signal.aborted) return;
        const outgoing = { ...payload, ...shownError(error) };
        const parts = { id, type: 'array', count, index };
        send(Object.assign(copyMessage(RED, passedOn), ids, marks, { payload: outgoing, raw, parts }));
      };
      const count = await client.jobControl.runAll({ ...acting, filter, onResult });
      if (count === 0) send(Object.assign(msg, marks, { payload: [] }));
    } else {
      const { ids, raw, ...payload } = await client.jobControl.run({
        ...acting,
        clusterId: clusterId ?? '',
        clusterJobId,
      });
      send(Object.assign(msg, ids, { payload, raw }, marks));
    }
    show({ fill: 'green', shape: 'dot', key: 'done', values });
  });
}

/**
 * Reads which printers a message chooses in place of one; undefined if a printer is named, or if the message chooses none.
 * A filter without a criterion chooses none, so that an empty one never stops every print.
 */
function readPrinters(msg: NodeMessage, clusterId: string | undefined): PrinterFilter | undefined {
  const all = readFlag(msg, 'all') === true;
  if (clusterId !== undefined) {
    if (all) throw chosenTwice();
    return undefined;
  }
  const filter = readPrinterFilter(msg.filter ?? undefined);
  return all || !isEmptyFilter(filter) ? filter : undefined;
}

const chosenTwice = () =>
  invalid(
    phrase`The message chooses the prints by msg.all or msg.filter: leave printer and print job blank, also in the message.`,
  );

/** Reads the fields of the payload. Throws INVALID_INPUT if JSON can't represent them. */
function readData(payload: unknown): Json {
  const data = record(payload) ?? {};
  readingOf('payload', () => JSON.stringify(data));
  return data;
}
