import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeMessage } from 'node-red';
import { startSimulator, type Fault, type Simulator, type SimulatorOptions } from '../../simulator';
import type { PrintResult } from '../../lib/print/print-request';
import { systemClock } from '../../lib/time/clock';
import { catchNode, Flow, helperNode, Inbox, type Definition } from '../helpers/flow';
import { TurnedTime } from '../helpers/turned-time';

export const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

export const codeOf = (msg: NodeMessage | undefined) => (msg?.error as { code?: string } | undefined)?.code;

/** The clusters of the simulator's first user in the first workspace. */
export const clustersOf = ({ world, users }: Simulator) => world.clusters(users[0]?.organizations[0]?.organizationId);

/** A short toolpath: ten minutes. */
export const GCODE = ';FLAVOR:Marlin\n;TIME:600\nG28\nG1 X1 Y1 E1\n';

/** A node that prints the payload of its messages. */
export const printNode = (changes = {}): Definition => ({
  ...{ id: 'print', type: 'remote-printing-upload-and-print', account: 'account', source: 'payload', timeout: 600 },
  wires: [['results'], ['progress']],
  ...changes,
});

/** A node that watches the printers. */
export const watchNode = (changes = {}): Definition => ({
  ...{ id: 'watch', type: 'remote-printing-cluster-status', account: 'account', interval: 10, send: 'always' },
  ...{ milestones: '', wires: [['status'], ['events']] },
  ...changes,
});

/** State of an account without a sign-in. */
export const SIGNED_OUT = {
  ...{ state: 'signed-out', user: null, organizationId: null, expiresAt: null, error: null },
  ...{ simulated: false, simulatorUrl: null },
};

export type Result = PrintResult & { error?: { code: string; message: string } };
export const result = (msg: NodeMessage | undefined) => msg?.payload as Result;

interface Parts {
  id: string;
  type: string;
  index: number;
  count: number;
}
export const partsOf = (msg: NodeMessage | undefined) => msg?.parts as Parts | undefined;

/** Resolves once a request has met the fault. */
export async function struck(fault: { hits: number }): Promise<void> {
  while (fault.hits === 0) await turn();
}

/** Blocks the state folder like a broken disk; the returned function restores it. */
export function breakState({ userDir }: Flow): () => Promise<void> {
  const folder = join(userDir, 'remote-printing');
  renameSync(folder, `${folder}-away`);
  writeFileSync(folder, '');
  return async () => {
    await rm(folder);
    await rename(`${folder}-away`, folder);
  };
}

/** Blocks the state folder at the next answer that this fault affects; the returned function restores it. */
export function breakStateAt({ simulator, flow }: { simulator: Simulator; flow: Flow }, fault: Fault) {
  let mend: (() => Promise<void>) | undefined;
  const transform = (body: unknown) => {
    mend = breakState(flow);
    return body;
  };
  simulator.faults.add({ ...fault, transform });
  return async () => mend?.();
}

export const turn = () => new Promise((resolve) => setImmediate(resolve));

interface Setting {
  simulator?: SimulatorOptions;
  /** Further nodes of the flow. */
  others?: Definition[];
  /** Form of every error message. */
  sentence?: RegExp;
}

interface Run {
  sent: NodeMessage[];
  error: NodeMessage | undefined;
}

/** One node with its account and a simulator, and inboxes for its output, its errors and its ends. */
export class NodeBench {
  simulator!: Simulator;
  flow!: Flow;
  /** Folder for the files of a test. */
  folder!: string;
  /** Messages since the last deploy. */
  sent!: Inbox;
  caught!: Inbox;
  completed!: Inbox;
  readonly #node: Definition;

  constructor(
    node: Definition,
    private readonly setting: Setting = {},
  ) {
    this.#node = { account: 'account', wires: [['sent']], ...node };
  }

  async start(): Promise<this> {
    this.simulator = await startSimulator({ autoApprove: true, printers: 3, ...this.setting.simulator });
    this.flow = await Flow.start(this.simulator);
    this.folder = await mkdtemp(join(tmpdir(), 'node-bench-'));
    return this;
  }

  /** Restarts Node-RED on the same state. */
  async restart(): Promise<this> {
    await this.flow.stop({ keep: true });
    this.flow = await Flow.start(this.simulator, this.flow.userDir);
    return this;
  }

  async stop(): Promise<void> {
    await this.flow.stop();
    await this.simulator.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  deploy = async (changes = {}, options: Parameters<Flow['deploy']>[1] = {}): Promise<void> => {
    const { flow } = this;
    const complete = { id: 'complete', type: 'complete', scope: [this.#node.id], uncaught: false };
    const inboxes = ['sent', 'caught', 'completed'].map(helperNode);
    const around = [
      ...inboxes,
      catchNode(['caught']),
      { ...complete, wires: [['completed']] },
      ...(this.setting.others ?? []),
    ];
    await flow.deploy([{ ...this.#node, ...changes }, ...around], options);
    [this.sent, this.caught, this.completed] = [flow.listen('sent'), flow.listen('caught'), flow.listen('completed')];
  };

  /** Sends a message and returns its results or its error; checks that the node called `done` once. */
  run = async (msg: NodeMessage = {}): Promise<Run> => {
    const { sent, caught, completed } = this;
    const [before, errors, ends] = [sent.all.length, caught.all.length, completed.all.length];
    this.flow.send(this.#node.id, msg);
    const ended = await Promise.race([completed.at(ends), caught.at(errors)]);
    await turn();
    assert.equal(caught.all.length - errors + completed.all.length - ends, 1, 'done exactly once');
    return { sent: sent.all.slice(before), error: 'error' in ended ? ended : undefined };
  };

  /** Sends a message and returns its one result. */
  one = async (msg?: NodeMessage): Promise<NodeMessage> => {
    const { sent, error } = await this.run(msg);
    assert.equal(error?.error, undefined);
    assert.ok(sent[0] && sent.length === 1);
    return sent[0];
  };

  /** Sends a message that fails, without a result, in one sentence that holds no signed address; returns the error. */
  failed = async (msg: NodeMessage, code: string, words = /./): Promise<NodeMessage> => {
    const { sent, error } = await this.run(msg);
    assert.ok(error, `no ${code}: ${JSON.stringify(sent[0]?.payload)}`);
    const { message } = error.error as Error;
    assert.equal(codeOf(error), code, message);
    assert.match(message, this.setting.sentence ?? /^[A-Z].*[^.]\.$/, 'one sentence');
    assert.match(message, words);
    assert.ok(!message.includes(this.simulator.storageUrl) && !message.includes('signature'), message);
    assert.equal(sent.length, 0);
    return error;
  };

  /** The same, and the node's status shows the error. */
  shownFailed = async (msg: NodeMessage, code: string, words?: RegExp): Promise<NodeMessage> => {
    const error = await this.failed(msg, code, words);
    const { message } = error.error as Error;
    const [, cause] = CAUSES.find(([sentence]) => sentence.test(message)) ?? [];
    assert.equal(this.flow.statuses(this.#node.id).at(-1)?.text, `status.${cause ?? `error.${code}`}`, message);
    return error;
  };
}

/** Sentences whose cause the status names, and its text. */
const CAUSES: readonly (readonly [RegExp, string])[] = [
  [/printer is offline/, 'printerOffline'],
  [/queue of the printer is full/, 'queueFull'],
  [/^Choose a printer in|^The message names no printer|^The list of printers is empty/, 'noPrinter'],
  [
    /^(Choose|Enter) a (stored job in|library file|file)|^The setting for the file is empty|^The message names no stored job/,
    'noFile',
  ],
  [/ must be (a string|a Buffer|true or false)\b.*, but it is |^The printers must be a string/, 'wrongType'],
];

type Options = Parameters<Flow['deploy']>[1];

/** End of one message. */
export interface End {
  /** Messages for it at the first inbox. */
  sent: NodeMessage[];
  error: NodeMessage | undefined;
  /** Seconds from the message to its end. */
  took: number;
}

/** Node-RED and a simulator in injected time. The flow has an inbox for each name; `caught` gets the errors. */
export class TimedBench {
  time!: TurnedTime;
  simulator!: Simulator;
  flow!: Flow;
  /** Messages since the last deploy; `completed` gets the messages that ended without an error. */
  readonly inboxes: Record<string, Inbox>;
  #turns = 0;

  constructor(...names: string[]) {
    this.inboxes = Object.fromEntries([...names, 'caught', 'completed'].map((name) => [name, new Inbox()]));
  }

  async start(options: SimulatorOptions = {}): Promise<this> {
    this.time = new TurnedTime();
    this.simulator = await startSimulator({
      ...{ autoApprove: true, printers: 3, now: this.time.now, accessTokenLifetime: 1e7 },
      ...options,
    });
    this.flow = await Flow.start(this.simulator);
    return this;
  }

  async stop(): Promise<void> {
    await this.time.until(this.flow.stop());
    await this.simulator.close();
    this.time.restore();
  }

  /** Restarts Node-RED, without flows, on the same state; `meanwhile` happens while it is down. */
  async restart(meanwhile: () => unknown = () => undefined, userDir = this.flow.userDir): Promise<this> {
    await this.time.until(this.flow.stop({ keep: true }));
    await meanwhile();
    return this.startOn(userDir);
  }

  /** Starts Node-RED, without flows, on this user directory. */
  async startOn(userDir: string): Promise<this> {
    this.flow = await Flow.start(this.simulator, userDir);
    return this;
  }

  deploy = async (nodes: Definition[], options: Options = {}): Promise<void> => {
    const scope = nodes.map(({ id }) => id);
    const around = [
      ...Object.keys(this.inboxes).map(helperNode),
      catchNode(['caught']),
      { id: 'complete', type: 'complete', scope, uncaught: false, wires: [['completed']] },
    ];
    await this.flow.deploy([...nodes, ...around], options);
    for (const [name, inbox] of Object.entries(this.inboxes)) inbox.listen(this.flow.node(name));
  };

  get clusterIds(): string[] {
    return clustersOf(this.simulator).map(({ clusterId }) => clusterId);
  }

  /** Sends a message; resolves once it has ended. */
  async send(id: string, msg: NodeMessage): Promise<End> {
    const [first, { caught, completed }] = [Object.values(this.inboxes)[0] as Inbox, this.inboxes];
    const number = ++this.#turns;
    const began = systemClock.monotonic();
    const isIt = (other: NodeMessage) => other.turn === number;
    const ended = Promise.race([completed!.find(isIt).then(() => undefined), caught!.find(isIt)]);
    this.flow.send(id, { ...msg, turn: number });
    const error = await ended;
    return { sent: first.all.filter(isIt), error, took: (systemClock.monotonic() - began) / 1000 };
  }

  /** The same, while time advances. */
  run = (id: string, msg: NodeMessage = {}): Promise<End> => this.time.until(this.send(id, msg));
}
