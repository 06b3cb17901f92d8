import type { Node, NodeAPI, NodeMessage } from 'node-red';
import type { Client } from '../../lib/client';
import { parseMilestones } from '../../lib/events/edges';
import type { PrintEvent } from '../../lib/events/print-event';
import { asPrintingError, type PrintingError } from '../../lib/service/errors';
import type { Round } from '../../lib/watch/views/rounds';
import type { Watch } from '../../lib/watch/views/watch';
import type { Saved } from '../shared/definition';
import { clientOf } from '../shared/account-link';
import { addJobTexts } from '../shared/job-texts';
import { clusterStatusText } from '../shared/cluster-status-text';
import { isBlank, mayComeLater, needsMessage, readFlag, readText } from '../shared/inputs';
import { SHARED, translated, translatedError } from '../shared/language';
import { markFailed, onInput, type Send } from '../shared/on-input';
import { copyMessage } from '../shared/plain-message';
import { failureText, signInText, StatusLine } from '../shared/status';
import { settingsOf } from '../shared/settings';
import { definition } from './definition';

/** A temporary watch for messages, and the number of messages that wait for it. */
interface Visit {
  watch: Watch;
  messages: number;
}

export default function ClusterStatusNode(this: Node, RED: NodeAPI, saved: Saved<typeof definition>): void {
  RED.nodes.createNode(this, saved);
  const status = new StatusLine(RED, this);
  const settings = settingsOf(definition, saved);
  const { cluster: setting, milestones, lowMaterial, plateWait, stalled } = settings;
  const onlyChanges = settings.send === 'changes';
  const { interval } = settings;
  if (!isBlank(saved.interval) && Number(saved.interval) < interval) this.warn(RED._(`${SHARED}:warning.interval`));
  const readThresholds = () => ({ milestones: parseMilestones(milestones), lowMaterial, plateWait, stalled });
  let closed = false;
  const isClosed = () => closed;
  let watch: Watch | undefined;
  /** Cluster of `watch`; null for all. */
  let watched: string | null = null;
  /** Polls only for messages, as the setting has no value yet. */
  let isIdle = needsMessage(setting);
  let stopListening: (() => void) | undefined;
  /** Temporary watches for messages that name another cluster, by that cluster; null for all. */
  const visits = new Map<string | null, Visit>();

  /**
   * Returns the messages for output 1: one per cluster; for all clusters with parts, so that a Join node can collect
   * them.
   */
  const fieldsOf = (client: Client, { results, group }: Round): NodeMessage[] =>
    results.flatMap(({ status: payload, raw, clusterId }, at) => {
      if (!payload) return [];
      const parts = group && { id: `${this.id}-${group.id}`, type: 'array', index: group.start + at };
      return {
        payload: addJobTexts(RED, payload),
        raw,
        topic: clusterId,
        clusterId,
        ...(client.simulated ? { simulated: true } : {}),
        ...(parts ? { parts: group.count === null ? parts : { ...parts, count: group.count } } : {}),
      };
    });

  const sendEvents = (client: Client, events: PrintEvent[]) => {
    if (isClosed()) return;
    for (const event of events) this.send([null, eventMessage(RED, client, event)]);
  };
  const trouble = (error: PrintingError) => {
    if (isClosed()) return;
    // Catch nodes only receive errors with a message.
    const message: NodeMessage = {};
    markFailed(message, error);
    this.error(translatedError(RED, error), message);
  };

  const start = async (): Promise<void> => {
    const client = await clientOf(RED, definition, saved);
    // Waits for the stored sign-in before it asks for a new one; the account reports a store that can't be read.
    await client.credentials.ready().catch(() => undefined);
    if (isClosed()) return;
    status.simulated = client.simulated;
    const options = {
      key: this.id,
      // A Catch node handles the nodes of one flow.
      audience: this.z,
      interval,
      ...readThresholds(),
      onlyChanges,
      onRound: (round: Round) => {
        if (isClosed()) return;
        show(client, round);
        for (const fields of fieldsOf(client, round)) this.send([fields, null]);
      },
      onEvents: (events: PrintEvent[]) => sendEvents(client, events),
      onTrouble: trouble,
      onStandby: () => {
        // The owner's status arrives with the next poll.
        if (!isClosed()) show(client, null);
      },
    };
    stopListening = client.credentials.onChange(() => showSignIn(client));
    showSignIn(client);
    if (isIdle) return;
    watched = (await readText(RED, this, setting, {})) ?? null;
    if (isClosed()) return;
    isIdle = watched === null && mayComeLater(setting);
    if (isIdle) return showSignIn(client);
    watch = client.watcher.watch({ clusterId: watched, ...options });
  };
  const showSignIn = (client: Client) => {
    const text = signInText(client.credentials.state, watch?.state.lastSuccess);
    if (text) status.show(text);
    else if (!watch?.state.lastSuccess) status.show({ fill: 'grey', shape: 'ring', key: isIdle ? 'idle' : 'polling' });
  };
  const show = (client: Client, round: Round | null, all = watched === null) => {
    const signIn = signInText(client.credentials.state, watch?.state.lastSuccess);
    status.show(signIn ?? clusterStatusText(watch?.state, round, all));
  };

  const ready = start();
  ready.catch((thrown: unknown) => {
    const error = asPrintingError(thrown);
    status.show(failureText(error));
    this.warn(translated(RED, error.sentence));
  });

  const work = async (msg: NodeMessage, send: Send): Promise<void> => {
    await ready;
    const client = await clientOf(RED, definition, saved);
    const named = (await readText(RED, this, setting, msg)) ?? null;
    const poll = readFlag(msg, 'poll');
    if (poll === false) {
      watch?.pause();
      show(client, null);
      return;
    }
    const own = watch && named === watched ? watch : undefined;
    // The first message sent is the received one; the others are copies without its payload.
    const copied = { ...msg, payload: undefined };
    let first = true;
    const answer = (round: Round) => {
      if (own || !watch) show(client, round, named === null);
      const outgoing = fieldsOf(client, round).map((fields) => {
        const message = first ? msg : copyMessage(RED, copied);
        first = false;
        return Object.assign(message, fields);
      });
      if (outgoing.length) send([outgoing, null]);
    };
    // Asks before the watch resumes, since the resumed watch would count the poll in flight as its first.
    const asked = own ? own.ask(answer) : visit(client, named, answer);
    if (poll === true) watch?.resume();
    const error = await asked;
    if (error) throw error;
  };

  /** Polls the cluster that a message names, and sends its events. */
  const visit = async (client: Client, clusterId: string | null, answer: (round: Round) => void) => {
    const underWay = visits.get(clusterId) ?? { watch: watchOnce(client, clusterId), messages: 0 };
    visits.set(clusterId, underWay);
    underWay.messages++;
    try {
      return await underWay.watch.ask(answer);
    } finally {
      if (--underWay.messages === 0) {
        visits.delete(clusterId);
        underWay.watch.close();
      }
    }
  };
  const watchOnce = (client: Client, clusterId: string | null): Watch =>
    client.watcher.watch({
      clusterId,
      audience: this.z,
      interval,
      paused: true,
      ...readThresholds(),
      onRound: () => undefined,
      beside: watch,
      onEvents: (events) => sendEvents(client, events),
      onTrouble: () => undefined,
    });

  onInput(RED, this, work, (error) => {
    // A failed poll already shows its status, with the time of the last success.
    if (!watch?.state.trouble) status.show(failureText(error));
  });

  this.on('close', () => {
    closed = true;
    stopListening?.();
    watch?.close();
    for (const visiting of visits.values()) visiting.watch.close();
    status.clear();
  });
}

/** Output 2: a fresh message for each event (reference 3.3). */
function eventMessage(RED: NodeAPI, client: Client, event: PrintEvent): NodeMessage {
  const { clusterId, printerId, job } = event;
  return {
    payload: addJobTexts(RED, structuredClone(event)),
    topic: event.type,
    clusterId,
    ...(printerId ? { printerId } : {}),
    ...(job?.jobId ? { jobId: job.jobId } : {}),
    ...(job?.clusterJobId ? { clusterJobId: job.clusterJobId } : {}),
    ...(client.simulated ? { simulated: true } : {}),
  };
}
