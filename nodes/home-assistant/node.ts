import type { Node, NodeAPI, NodeMessage } from 'node-red';
import type { Client } from '../../lib/client';
import { jobData } from '../../lib/control/job-rules';
import { parseMilestones } from '../../lib/events/edges';
import { Bridge } from '../../lib/home-assistant/bridge';
import type { Command } from '../../lib/home-assistant/discovery';
import { Topics } from '../../lib/home-assistant/identity';
import { readInput } from '../../lib/home-assistant/input';
import { PICTURE } from '../../lib/rules/limits';
import { asPrintingError, type PrintingError } from '../../lib/service/errors';
import { closed, underDeadline } from '../../lib/time/deadline';
import { phrase } from '../../lib/words/sentence';
import type { Watch } from '../../lib/watch/views/watch';
import { clientOf } from '../shared/account-link';
import type { Saved } from '../shared/definition';
import { whenFlowsStarted } from '../shared/flows-started';
import { isBlank, mayComeLater, noPrinter, readFlag, readText } from '../shared/inputs';
import { SHARED, translated, translatedError } from '../shared/language';
import { markFailed, onInput } from '../shared/on-input';
import { readingOf } from '../shared/plain-message';
import { closeInTime } from '../shared/config-node';
import { runtimeOf } from '../shared/runtime';
import { settingsOf } from '../shared/settings';
import { failureText, signInText, StatusLine } from '../shared/status';
import { definition } from './definition';

/** Longest time for a command, ms. */
const COMMAND = 60_000;

/** Letters of a received payload that stay in the message: Node-RED ends when it copies a very deep one. */
const KEPT = 200;

const NO_VALUE = phrase`The setting cluster has no value at the deploy: choose a printer, or leave it blank for all of them.`;

/** Thresholds of the events: the defaults of cluster status. */
const THRESHOLDS = { milestones: parseMilestones('25,50,75'), lowMaterial: 10, plateWait: 30 };

export default function HomeAssistantNode(this: Node, RED: NodeAPI, saved: Saved<typeof definition>): void {
  RED.nodes.createNode(this, saved);
  const settings = settingsOf(definition, saved);
  const status = new StatusLine(RED, this);
  const { clock, store, bridges } = runtimeOf(RED);
  const { interval } = settings;
  if (!isBlank(saved.interval) && Number(saved.interval) < interval) this.warn(RED._(`${SHARED}:warning.interval`));
  const closing = new AbortController();
  const { signal } = closing;
  let bridge: Bridge | undefined;
  let watch: Watch | undefined;
  let stopListening: (() => void) | undefined;

  const show = (client: Client) => {
    if (signal.aborted) return;
    const missing = signInText(client.credentials.state, watch?.state.lastSuccess);
    const { trouble, clusters } = watch?.state ?? {};
    // Other runtimes may have taken over some that were published here, and new ones may not be published yet.
    const count = Math.min(clusters?.total ?? 0, bridge?.count ?? 0);
    if (missing) status.show(missing);
    else if (trouble) status.show(failureText(trouble.error));
    else if (count === 0) status.show({ fill: 'grey', shape: 'ring', key: 'waiting' });
    else status.show({ fill: 'green', shape: 'dot', key: 'printers', values: { count: String(count) } });
  };

  const trouble = (error: PrintingError) => {
    if (signal.aborted) return;
    // Catch nodes only receive errors with a message.
    this.error(translatedError(RED, error), markFailed({}, error));
  };

  const act = async (client: Client, clusterId: string, action: Command): Promise<void> => {
    await underDeadline(clock, { ms: COMMAND, parent: signal }, (deadline) =>
      client.jobControl.run({
        ...{ clusterId, clusterJobId: undefined, action, deadline, onStage: () => undefined },
        data: jobData(action, { quantity: undefined, position: undefined }),
      }),
    );
  };

  const topicsOf = () => new Topics(settings.discoveryPrefix, settings.topicPrefix);

  /** Waits for the deploy to end: what is sent earlier may be lost. */
  const open = async (): Promise<Topics> => {
    const client = await clientOf(RED, definition, saved).catch(async (thrown: unknown) => {
      await started;
      // A broker retains what an earlier deploy has said of the printers.
      if (!signal.aborted) this.send({ topic: topicsOf().bridge, payload: 'offline', qos: 1, retain: true });
      throw thrown;
    });
    const topics = topicsOf();
    // Waits for the stored sign-in before it asks for a new one; the account reports a store that can't be read.
    await client.credentials.ready().catch(() => undefined);
    const only = (await readText(RED, this, settings.cluster, {})) ?? null;
    if (only === null && mayComeLater(settings.cluster)) throw noPrinter(NO_VALUE);
    await started;
    if (signal.aborted) return topics;
    status.simulated = client.simulated;
    const opened = new Bridge({
      ...{ nodeId: this.id, topics, only, interval, clock, bridges, watcher: client.watcher },
      ...{ controls: settings.controls, picture: settings.picture },
      store: client.simulated ? runtimeOf(RED).ownStore : store,
      takePicture: (clusterId, deadline) =>
        client.snapshots.take({
          ...{ clusterId, printerId: null, deadline, maxBytes: PICTURE, onProgress: () => undefined },
        }),
      act: (clusterId, command) => act(client, clusterId, command),
      translate: (sentence) => translated(RED, sentence),
      publish: (message) => {
        if (!signal.aborted) this.send({ ...message });
      },
    });
    bridge = opened;
    opened.announce();
    stopListening = client.credentials.onChange(() => show(client));
    watch = client.watcher.watch({
      ...{ key: this.id, audience: this.z, clusterId: only, interval, ...THRESHOLDS },
      onRound: (round) => {
        opened.see(round, () => show(client));
      },
      onEvents: (events) => opened.tell(events),
      onTrouble: trouble,
      onStandby: () => show(client),
    });
    show(client);
    return topics;
  };

  const started = new Promise<void>((resolve) => {
    const cancel = whenFlowsStarted(RED, resolve);
    signal.addEventListener('abort', () => {
      cancel();
      resolve();
    });
  });
  const ready = open();
  ready.catch((thrown: unknown) => {
    const error = asPrintingError(thrown);
    if (!signal.aborted) status.show(failureText(error));
    this.warn(translated(RED, error.sentence));
  });

  const work = async (msg: NodeMessage): Promise<void> => {
    const received = readingOf('payload', () => msg.payload);
    if (received !== undefined) msg.payload = cut(received);
    const topics = await ready;
    if (readFlag(msg, 'discover') === true) return bridge?.announce();
    const input = readInput({ ...msg, payload: received }, topics);
    switch (input.kind) {
      case 'command':
        return bridge?.command(input);
      case 'announce':
        return bridge?.announce();
      case 'connection':
        return bridge?.connection(input.isConnected);
      case 'nothing':
        return;
    }
  };
  onInput(RED, this, work, (error) => {
    if (!signal.aborted) status.show(failureText(error));
  });

  this.on('close', (_removed: boolean, done: () => void) => {
    closing.abort(closed());
    stopListening?.();
    watch?.close();
    status.clear();
    closeInTime(runtimeOf(RED), bridge?.close() ?? Promise.resolve(), done);
  });
}

/** The beginning of a payload as text; nothing of an object. */
function cut(payload: unknown): string {
  if (Buffer.isBuffer(payload)) return payload.toString('utf8', 0, KEPT).slice(0, KEPT);
  if (typeof payload === 'string') return payload.slice(0, KEPT);
  return typeof payload === 'number' || typeof payload === 'boolean' ? String(payload) : '';
}
