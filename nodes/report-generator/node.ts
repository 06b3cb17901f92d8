import type { Node, NodeAPI, NodeMessage } from 'node-red';
import { attachmentOf } from '../../lib/report/attachment';
import { readRange } from '../../lib/report/ranges';
import type { Report, ReportProgress } from '../../lib/report/reports';
import { clientOf } from '../shared/account-link';
import type { Saved } from '../shared/definition';
import { copierOf } from './copies';
import { filePath, isBlank, kindOf, noFile, noPrinter, read, readText, wrongType } from '../shared/inputs';
import { checkPrinterCount, withoutPrinters } from '../shared/print-inputs';
import type { StatusText } from '../shared/status';
import { workNode } from '../shared/work-node';
import { phrase } from '../../lib/words/sentence';
import { settingsOf } from '../shared/settings';
import { definition } from './definition';

export default function ReportGeneratorNode(this: Node, RED: NodeAPI, saved: Saved<typeof definition>): void {
  RED.nodes.createNode(this, saved);
  const settings = settingsOf(definition, saved);
  const { format, timeout } = settings;

  workNode(
    RED,
    this,
    { findClient: () => clientOf(RED, definition, saved), timeout },
    async (msg, send, { client, marks, deadline, show }) => {
      // A blank setting must not read msg.filename, which may name another file (reference 2.2).
      if (format === 'file' && isBlank(settings.file.value))
        throw noFile(phrase`Choose a file for the report in the node.`);
      const path = format === 'file' ? await readText(RED, this, settings.file, msg) : '';
      if (path === undefined) throw noFile(phrase`The setting for the file is empty: choose a file in the node.`);
      const from = await read(RED, this, settings.from, msg);
      const to = await read(RED, this, settings.to, msg);
      const named = await read(RED, this, settings.clusters, msg);
      // A row that carried them all would make a long report many times as large.
      const ofRows = Array.isArray(named) ? withoutPrinters(RED, msg, settings.clusters) : msg;
      let copies: (() => RowMessage) | undefined;

      await client.reports.run({
        clusterIds: readReportClusters(named),
        reportType: (await readText(RED, this, settings.reportType, msg)) ?? definition.properties.reportType.default,
        range: readRange(from, to, client.clock.now()),
        format,
        path: path && filePath(RED, path),
        onlyNew: settings.onlyNew ? this.id : null,
        deadline,
        onProgress: (progress) => show(progressText(progress)),
        onResult: (report, payload) => {
          show(doneText(report.rowCount));
          const attachment = attachmentOf(format, payload, report);
          // Earlier attachments stay, as a mail may have several reports.
          const earlier: unknown[] = Array.isArray(msg.attachments) ? msg.attachments : [];
          const attached = attachment ? { attachments: [...earlier, attachment] } : {};
          send(Object.assign(msg, about(report), marks, { payload, ...attached }));
        },
        onRows: (report, { rows, first, count }) => {
          copies ??= rowMessages(RED, { ...ofRows, ...about(report), ...marks });
          rows.forEach((row, at) => {
            const message = (copies as () => RowMessage)();
            message.payload = row;
            message.parts.index = first + at;
            if (message.parts.index + 1 === count) message.rowCount = message.parts.count = count;
            send(message);
          });
          if (count !== null) show(doneText(count));
        },
      });
    },
  );
}

/** A message with one row of a stream. */
type RowMessage = NodeMessage & { parts: { id: string; type: 'array'; index: number; count?: number } };

/**
 * Returns a function that makes messages for rows. Copying `parts` instead of building them keeps them out of V8's old
 * space.
 */
function rowMessages(RED: NodeAPI, base: NodeMessage): () => RowMessage {
  const parts = { id: RED.util.generateId(), type: 'array', index: 0 } as const;
  return copierOf<RowMessage>(RED, { ...base, payload: undefined, parts });
}

/**
 * Reads the clusters of a report: an array of ids, or a string of ids separated by commas. Returns null, for all
 * clusters, if none is named (reference 2.2). Throws INVALID_INPUT.
 */
function readReportClusters(value: unknown): string[] | null {
  if (value === undefined) return null;
  const ids: unknown[] = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : [value];
  checkPrinterCount(ids);
  const named = ids.map((id) => {
    if (typeof id !== 'string') {
      const sentence = phrase`The printers must be a string or an array of strings, but there is ${kindOf(id)}.`;
      throw wrongType(sentence);
    }
    return id.trim();
  });
  const wanted = [...new Set(named.filter((id) => !isBlank(id)))];
  if (wanted.length === 0)
    throw noPrinter(phrase`The list of printers is empty: choose at least one, or leave it out.`);
  return wanted;
}

/** Message properties that describe the report. */
function about({ reportId, clusterId, columns, from, to, rowCount, raw }: Report): NodeMessage {
  return {
    reportId,
    ...(clusterId !== null && { clusterId }),
    columns,
    from,
    to,
    ...(rowCount !== null && { rowCount }),
    raw,
  };
}

function progressText({ stage, rows }: ReportProgress): StatusText {
  return { fill: 'blue', shape: 'dot', key: stage, values: { rows: String(rows) } };
}

function doneText(rows: number | null): StatusText {
  return { fill: 'green', shape: 'dot', key: rows === null ? 'done' : 'doneRows', values: { rows: String(rows) } };
}
