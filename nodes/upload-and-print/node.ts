import type { Node, NodeAPI, NodeMessage } from 'node-red';
import type { Client } from '../../lib/client';
import type { LateResults } from '../../lib/print/late-results';
import { plainProperties } from '../../lib/print/plain-properties';
import { type Awaited, printResult, type PrintResult, type Progress } from '../../lib/print/print-request';
import { TEXT } from '../../lib/rules/limits';
import { asPrintingError, PrintingError } from '../../lib/service/errors';
import { stateOf } from '../../lib/service/job-words';
import { readMediaType } from '../../lib/service/file-types';
import type { PrinterFilter } from '../../lib/service/printer-filter';
import type { Scope } from '../../lib/state/store';
import { Turns } from '../../lib/time/concurrency';
import { phrase } from '../../lib/words/sentence';
import type { Saved } from '../shared/definition';
import { clientOf } from '../shared/account-link';
import { addJobTexts } from '../shared/job-texts';
import { readFlag, readGiven, readGivenText, readText } from '../shared/inputs';
import {
  checkPrinterCount,
  readChoice,
  readClusterIds,
  readPrintSource,
  withoutPrinters,
} from '../shared/print-inputs';
import { translated, translatedError } from '../shared/language';
import { NodeWaits } from '../shared/node-waits';
import { markFailed } from '../shared/on-input';
import { copyMessage } from '../shared/plain-message';
import { printingText } from '../shared/printing-text';
import { runtimeOf } from '../shared/runtime';
import { failureText, IDLE, left, percent, rate, signInText, staleText, type StatusText } from '../shared/status';
import { workNode, type WorkContext } from '../shared/work-node';
import { settingsOf } from '../shared/settings';
import { definition } from './definition';

export default function UploadAndPrintNode(this: Node, RED: NodeAPI, saved: Saved<typeof definition>): void {
  RED.nodes.createNode(this, saved);
  const settings = settingsOf(definition, saved);
  const { print, timeout } = settings;

  const { clock } = runtimeOf(RED);
  /** Time of the last figures, ms, of each awaited print, by its id. */
  const awaited = new Map<string, number>();
  const lastFigures = () => (awaited.size > 0 ? Math.min(...awaited.values()) : null);
  const readsPayload = settings.source === 'payload';

  const showStale = (client: Client, signal: AbortSignal, show: WorkContext['show'], clusterJobId: string) => {
    const since = awaited.get(clusterJobId);
    if (signal.aborted || since === undefined) return;
    show(signInText(client.credentials.state, since) ?? staleText(since));
  };

  const waits = new NodeWaits<Awaited, PrintResult>(RED, this);
  let late: LateResults<Awaited, PrintResult> | undefined;
  const onReady = ({ client, marks, signal, show }: Omit<WorkContext, 'deadline'>) => {
    const onProgress = (progress: Progress) => {
      if (signal.aborted) return;
      if (progress.clusterJobId) awaited.set(progress.clusterJobId, clock.now());
      show(progressText(progress, awaited.size));
    };
    const onStale = (clusterJobId: string) => showStale(client, signal, show, clusterJobId);
    const onEnd = (result: PrintResult, { index }: Awaited, note: unknown) => {
      if (result.clusterJobId) awaited.delete(result.clusterJobId);
      const { error } = result;
      show(error ? failureText(error) : resultText(result));
      const { message: kept, parts } = (note ?? { message: {}, parts: null }) as Note;
      const message = { ...kept, ...known(result), ...marks, late: true };
      const outgoing = { ...message, ...resultOf(RED, result), ...(parts ? { parts: { ...parts, index } } : {}) };
      if (parts || !error) this.send([copyMessage(RED, outgoing), null]);
      if (!error) return;
      markFailed(message, error);
      this.error(translatedError(RED, error), message);
    };
    const onLost = ({ result: { clusterJobId } }: Awaited) => {
      if (clusterJobId) awaited.delete(clusterJobId);
      if (awaited.size === 0) show(IDLE);
    };
    const awaitEnd = (scope: Scope, print: Awaited) =>
      client.prints.awaitEnd(scope, print, { signal, onProgress, onStale });
    late = waits.open(client, { signal, awaitEnd, onEnd, onLost });
  };

  const options = { findClient: () => clientOf(RED, definition, saved), timeout, readsPayload, lastFigures, onReady };
  workNode(RED, this, options, async (msg, send, context) => {
    const { client, marks, deadline, signal, show } = context;
    const readTargets = async (): Promise<Targets> => {
      if (!print) return { clusterIds: [], many: false };
      const named = await readGiven(RED, this, settings.cluster, msg);
      const choice = named === undefined ? readChoice(msg) : undefined;
      if (!choice) return readClusterIds(named);
      if (choice.onlyOne) return { clusterIds: [], many: false, chooseIdle: choice.filter };
      const matching = await client.prints.matching(choice.filter, deadline);
      checkPrinterCount(matching);
      return { clusterIds: matching, many: true };
    };
    const { clusterIds, many, chooseIdle } = await readTargets();
    const parts = { id: RED.util.generateId(), type: 'array' as const, count: clusterIds.length };
    const mine = many ? withoutPrinters(RED, msg, settings.cluster) : msg;
    const passedOn: NodeMessage = { ...mine, payload: undefined };

    const followed = new Set<string>();
    const onProgress = (progress: Progress) => {
      if (signal.aborted) return;
      if (progress.stage === 'printing' && progress.clusterJobId) {
        followed.add(progress.clusterJobId);
        awaited.set(progress.clusterJobId, clock.now());
      }
      show(progressText(progress, awaited.size));
      const { rate: _rate, secondsLeft: _left, ahead: _ahead, ...payload } = progress;
      const message = { ...copyMessage(RED, passedOn), ...known(progress), ...marks };
      send([null, { ...message, payload: addJobTexts(RED, payload), topic: progress.stage }]);
    };
    const onResult = (result: PrintResult, index: number) => {
      if (signal.aborted) return;
      const { error } = result;
      if (result.clusterJobId) awaited.delete(result.clusterJobId);
      if (error && !many) return;
      show(error ? failureText(error) : resultText(result));
      const message = many ? copyMessage(RED, passedOn) : msg;
      Object.assign(message, known(result), marks, resultOf(RED, result), many ? { parts: { ...parts, index } } : {});
      send([message, null]);
    };
    const readRequest = async () => {
      // The form hides what does not apply, so that nobody could correct it.
      const isUploaded = settings.source !== 'stored';
      const jobName = (isUploaded && (await readText(RED, this, settings.jobName, msg))) || '';
      return {
        source: () => readPrintSource(RED, this, settings, msg, jobName),
        jobName,
        mediaType: isUploaded ? readMediaType(msg.mediaType) : undefined,
        printKey: print ? checkPrintKey((await readGivenText(RED, this, settings.printKey, msg)) ?? '') : '',
        startNow: settings.startNow,
        waitFor: settings.waitFor,
        compress: settings.compress,
        reuseUpload: settings.reuseUpload,
        dryRun: readFlag(msg, 'dryRun') === true || settings.dryRun,
      };
    };

    const request = await readRequest().catch(async (thrown: unknown) => {
      // Sends one result per cluster, since a flow that collects the results waits for all of them.
      const error = asPrintingError(thrown);
      const turns = new Turns(clock);
      for (const [index, clusterId] of clusterIds.entries()) {
        await turns.next();
        onResult(printResult({ clusterId, error }), index);
      }
      throw error;
    });
    try {
      let noted: Note | undefined;
      const note = () => (noted ??= { message: plainProperties(mine), parts: many ? parts : null });
      const ends = late;
      const onWait = ends && ((scope: Scope, wait: Awaited) => ends.begin(scope, wait, note()));
      await client.prints.run({
        ...request,
        ...{ clusterIds, chooseIdle, print, deadline, signal, onProgress, onResult },
        onStale: (clusterJobId) => showStale(client, signal, show, clusterJobId),
        ...(onWait && { onWait }),
      });
    } finally {
      for (const id of followed) awaited.delete(id);
    }
  });
}

/** Printers of a message. */
interface Targets {
  clusterIds: string[];
  /** Whether each printer has a result of its own, with `msg.parts`. */
  many: boolean;
  chooseIdle?: PrinterFilter;
}

/** The stored part of a message that waits for the end of a print. */
interface Note {
  message: Record<string, unknown>;
  /** Parts of the results for several clusters. */
  parts: { id: string; type: 'array'; count: number } | null;
}

/** Message properties of a result. */
function resultOf(RED: NodeAPI, { error, raw, ...payload }: PrintResult): NodeMessage {
  addJobTexts(RED, payload);
  if (!error) return { raw, payload };
  return { raw, payload: { ...payload, error: { code: error.code, message: translated(RED, error.sentence) } } };
}

/** Message properties for the known ids. */
function known(ids: { jobId: string | null; clusterJobId: string | null; clusterId: string | null }): NodeMessage {
  const { jobId, clusterJobId, clusterId } = ids;
  return { ...(jobId && { jobId }), ...(clusterJobId && { clusterJobId }), ...(clusterId && { clusterId }) };
}

function progressText(progress: Progress, awaited: number): StatusText {
  const { stage, percent: done, rate: speed, secondsLeft, job, ahead } = progress;
  if (stage === 'printing' && awaited > 1)
    return { fill: 'blue', shape: 'dot', key: 'several', values: { count: String(awaited) } };
  if (stage === 'printing' && job) return printingText(job, ahead);
  if (stage === 'finished') return { fill: 'green', shape: 'dot', key: 'finished' };
  const values = { percent: percent(done), rate: rate(speed), left: left(secondsLeft) };
  return { fill: 'blue', shape: 'dot', key: stage, values };
}

function resultText({ job, printed, status, dryRun, duplicate }: PrintResult): StatusText {
  const green = (key: string): StatusText => ({ fill: 'green', shape: 'dot', key });
  if (dryRun) return green('checked');
  if (!printed) return green('done');
  if (duplicate && !job) return green('duplicate');
  if (stateOf({ status, serviceState: null }, null) === 'approval')
    return { fill: 'yellow', shape: 'ring', key: 'attention' };
  return green(job ? 'finished' : 'dispatched');
}

/** Returns the print key. Throws INVALID_INPUT for one that nobody means: every message with a key writes it several times. */
function checkPrintKey(key: string): string {
  if (key.length <= TEXT.printKey) return key;
  throw new PrintingError(
    'INVALID_INPUT',
    phrase`The property ${'printKey'} has more than ${TEXT.printKey} characters: shorten it.`,
  );
}
