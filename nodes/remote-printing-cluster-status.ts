import type { Node, NodeAPI, NodeDef, NodeMessage } from 'node-red';
import type { Client } from '../lib/client';
import { SHORTEST_INTERVAL } from '../lib/rules/amounts';
import { asPrintingError, PrintingError } from '../lib/service/errors';
import type { PrintEvent } from '../lib/watch/events';
import { parseMilestones } from '../lib/watch/milestones';
import type { Round, Watch } from '../lib/watch/watch-types';
import { clientOf } from './shared/account-link';
import { clusterStatusText } from './shared/cluster-status-text';
import { amount, isBlank, needsMessage, readText } from './shared/inputs';
import { onInput, type Send } from './shared/on-input';
import { failureText, signInText, StatusLine } from './shared/status';

interface Definition extends NodeDef {
  account?: string;
  cluster?: string;
  clusterType?: string;
  interval?: number | string;
  send?: string;
  milestones?: string;
}

const DEFAULT_INTERVAL = 60;

module.exports = (RED: NodeAPI): void => {
  function ClusterStatusNode(this: Node, definition: Definition): void {
    RED.nodes.createNode(this, definition);
    const status = new StatusLine(RED, this);
    const setting = { value: definition.cluster, type: definition.clusterType };
    const onlyChanges = definition.send === 'changes';
    const tooShort = !isBlank(definition.interval) && Number(definition.interval) < SHORTEST_INTERVAL;
    if (tooShort) this.warn(RED._('warning.interval'));
    const interval = tooShort ? SHORTEST_INTERVAL : amount(definition.interval, DEFAULT_INTERVAL);
    let closed = false;
    const isClosed = () => closed;
    let watch: Watch | undefined;
    /** The cluster that `watch` watches; null: all. */
    let watched: string | null = null;
    let stopListening: (() => void) | undefined;
    /** Polls for messages that name another cluster than the node's, by that cluster; null: all. */
    const visits = new Map<string | null, { watch: Watch; round: Promise<Round> }>();

    /** What output 1 carries: one entry per cluster; for all clusters with parts, so that a Join node can collect them. */
    const fieldsOf = (client: Client, round: Round, all: boolean, everything: boolean): NodeMessage[] => {
      const results = round.results.filter((result) => result.status && (everything || result.changed || !onlyChanges));
      const id = RED.util.generateId();
      return results.map(({ status: payload, raw, clusterId }, index) => ({
        // Copies: a flow may change its messages, and the watcher and other nodes go on with these.
        payload: structuredClone(payload),
        raw: structuredClone(raw),
        topic: clusterId,
        clusterId,
        ...(client.simulated ? { simulated: true } : {}),
        ...(all ? { parts: { id, type: 'array' as const, index, count: results.length } } : {}),
      }));
    };

    const tell = (client: Client, events: PrintEvent[]) => {
      if (isClosed()) return;
      for (const event of events) this.send([null, eventMessage(client, event)]);
    };
    const trouble = (error: PrintingError | null) => {
      // An empty message: without one, Catch nodes would not get it.
      if (error && !isClosed()) this.error(error, {});
    };

    const start = async (): Promise<void> => {
      const client = await clientOf(RED, definition.account);
      // Nobody is told to sign in before it is known that nobody is; a store that can't be read was told by the account.
      await client.credentials.ready().catch(() => undefined);
      if (isClosed()) return;
      status.simulated = client.simulated;
      const milestones = parseMilestones(definition.milestones ?? '');
      const options = {
        interval,
        milestones,
        onRound: (round: Round) => {
          if (isClosed()) return;
          show(client, round);
          for (const fields of fieldsOf(client, round, watched === null, false)) this.send([fields, null]);
        },
        onEvents: (events: PrintEvent[]) => tell(client, events),
        onTrouble: trouble,
      };
      stopListening = client.credentials.onChange(() => showSignIn(client));
      showSignIn(client);
      if (needsMessage(setting)) return;
      watched = (await readText(RED, this, setting, {}, 'clusterId')) ?? null;
      if (isClosed()) return;
      watch = client.watcher.watch({ clusterId: watched, ...options });
    };
    const showSignIn = (client: Client) => {
      const look = signInText(client.credentials.state);
      if (look) status.show(look);
      else if (!watch?.state.lastSuccess)
        status.show({ fill: 'grey', shape: 'ring', key: needsMessage(setting) ? 'idle' : 'polling' });
    };
    const show = (client: Client, round: Round | null, all = watched === null) => {
      const signIn = signInText(client.credentials.state);
      status.show(signIn ?? clusterStatusText(watch?.state, round, all));
    };

    const ready = start();
    ready.catch((thrown: unknown) => {
      const error = asPrintingError(thrown);
      status.show(failureText(error));
      this.warn(error.message);
    });

    const work = async (msg: NodeMessage, send: Send): Promise<void> => {
      await ready;
      const client = await clientOf(RED, definition.account);
      const named = (await readText(RED, this, setting, msg, 'clusterId')) ?? null;
      if (msg.poll === false) {
        watch?.pause();
        show(client, null);
        return;
      }
      const own = watch && named === watched ? watch : undefined;
      // Before the watch is resumed: what that polls by itself may make do with a round that is not quite old.
      const asked = own ? own.poll() : visit(client, named);
      if (msg.poll === true) watch?.resume();
      const round = await asked;
      if (own || !watch) show(client, round, named === null);
      // The received message itself goes on as the first; the others are copies without its payload.
      const copied = { ...msg, payload: undefined };
      const outgoing = fieldsOf(client, round, named === null, true).map((fields, index) =>
        Object.assign(index === 0 ? msg : RED.util.cloneMessage(copied), fields),
      );
      if (outgoing.length) send([outgoing, null]);
      if (round.error) throw round.error;
    };

    /** One poll for messages that name their own cluster: those that come meanwhile share it, and its events. */
    const visit = (client: Client, clusterId: string | null): Promise<Round> => {
      const underWay = visits.get(clusterId);
      if (underWay) return underWay.round;
      const once = client.watcher.watch({
        clusterId,
        // One poll is all it makes. In a round of all, what is younger than half the interval is not asked for again.
        interval: clusterId === null ? SHORTEST_INTERVAL : 24 * 60 * 60,
        milestones: parseMilestones(definition.milestones ?? ''),
        onRound: () => undefined,
        // What the node's own watch hears of, it tells itself.
        onEvents: (events) =>
          tell(client, watch ? events.filter((event) => watched !== null && event.clusterId !== watched) : events),
        onTrouble: () => undefined,
      });
      const round = once.poll().finally(() => {
        visits.delete(clusterId);
        once.close();
      });
      visits.set(clusterId, { watch: once, round });
      return round;
    };

    onInput(this, work, (error) => {
      // A poll that failed shows already, with the time since when.
      if (!watch?.state.trouble) status.show(failureText(error));
    });

    this.on('close', () => {
      closed = true;
      stopListening?.();
      watch?.close();
      for (const { watch: once } of visits.values()) once.close();
      status.clear();
    });
  }

  RED.nodes.registerType('remote-printing-cluster-status', ClusterStatusNode);
};

/** Output 2: a fresh message for each event (reference 3.3). */
function eventMessage(client: Client, event: PrintEvent): NodeMessage {
  const { clusterId, printerId, job } = event;
  return {
    payload: structuredClone(event),
    topic: event.type,
    clusterId,
    ...(printerId ? { printerId } : {}),
    ...(job?.jobId ? { jobId: job.jobId } : {}),
    ...(job?.clusterJobId ? { clusterJobId: job.clusterJobId } : {}),
    ...(client.simulated ? { simulated: true } : {}),
  };
}
