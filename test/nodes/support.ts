import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeMessage } from 'node-red';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../simulator';
import { catchNode, Flow, helperNode, type Definition, type Inbox } from '../helpers/flow';

export const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

export const codeOf = (msg: NodeMessage | undefined) => (msg?.error as { code?: string } | undefined)?.code;

/** The clusters of the simulator's first user in the first workspace. */
export const clustersOf = ({ world, users }: Simulator) => world.clusters(users[0]?.organizations[0]?.organizationId);

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
    this.simulator = await startSimulator({ autoApprove: true, ...this.setting.simulator });
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
    const isOffline = (error.error as Error).message.includes('printer is offline');
    const shown = isOffline ? 'status.printerOffline' : `status.error.${code}`;
    assert.equal(this.flow.statuses(this.#node.id).at(-1)?.text, shown);
    return error;
  };
}
