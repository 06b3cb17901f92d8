import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Node, NodeMessage, NodeStatus } from 'node-red';
import helper from 'node-red-node-test-helper';
import type { Simulator } from '../../simulator';
import { entry } from '../../scripts/entry.mjs';
import { root } from '../../scripts/node-red.mjs';
import { evaluate, readNodes } from '../../scripts/nodes.mjs';
import { followTo } from './browser';
import { recordLongTimers } from './long-timers';

const load = createRequire(__filename);
const RUNTIME = process.env.NODE_RED_PATH ?? load.resolve('node-red');
/** The registered modules as the build makes them, on the sources. */
const NODE_SETS = readNodes().map(
  (node) => evaluate(entry(node), createRequire(join(root, 'nodes/entry.ts'))) as (RED: unknown) => void,
);
/** Redirect address of the sign-in; the tests read the code from it and call the callback themselves. */
export const REDIRECT = 'http://127.0.0.1:1880/remote-printing/callback';

type HttpNode = RequestListener;

export type Definition = { id: string; type: string } & Record<string, unknown>;

/** Private parts of the helper's Node-RED. */
const runtime = helper as unknown as {
  _events: { once(event: string, listener: (value: unknown) => void): void };
  _log: { METRIC: number; log(entry: { level: number }): void };
  _redNodes: { setFlows(flows: Definition[], credentials: object, type: string): Promise<unknown> };
};

/**
 * Drops the metrics that Node-RED logs of each message, as it does without a handler for them: the helper would keep them
 * all, each with a call stack.
 */
function forgetMetrics(): void {
  const { _log: log } = runtime;
  const { log: kept } = log;
  log.log = (entry) => {
    if (entry.level !== log.METRIC) kept(entry);
  };
}

/** A Node-RED in this process with the pack's nodes, on one tab, in a user directory of its own. */
export class Flow {
  private constructor(
    readonly simulator: Simulator,
    readonly userDir: string,
    /** The pages of the flows. */
    readonly httpNode: HttpNode,
  ) {}

  /** Starts Node-RED without flows. */
  static async start(simulator: Simulator, userDir?: string): Promise<Flow> {
    const folder = userDir ?? (await mkdtemp(join(tmpdir(), 'node-red-')));
    helper.init(RUNTIME, { userDir: folder, logging: { console: { level: 'off' } } } as never);
    await (helper.startServer() as unknown as Promise<void>);
    // The helper loads only the core nodes that its first flow contains.
    const core = ['catch', 'status', 'complete'].map((type) => ({
      id: `first-${type}`,
      type,
      z: 'first',
      x: 1,
      y: 1,
      wires: [[]],
    }));
    let httpNode: HttpNode | undefined;
    const probe = (RED: { httpNode: HttpNode }) => void (httpNode = RED.httpNode);
    await helper.load([...NODE_SETS, probe] as never, [{ id: 'first', type: 'tab', label: 'first' }, ...core] as never);
    forgetMetrics();
    return new Flow(simulator, folder, httpNode ?? assert.fail());
  }

  get account(): Definition {
    const { authUrl, apiUrl } = this.simulator;
    return { id: 'account', type: 'remote-printing-account', service: 'remote', signIn: 'oauth', authUrl, apiUrl };
  }

  get credentials() {
    const { id: clientId, secret: clientSecret } = this.simulator.client;
    return { account: { clientId, clientSecret } };
  }

  /** Deploys the nodes together with the account; signs the account in unless it already is. */
  async deploy(
    nodes: Definition[],
    options: {
      account?: Definition;
      /** Further config nodes. */
      more?: Definition[];
      credentials?: object;
      type?: 'full' | 'flows' | 'nodes';
      signIn?: boolean;
    } = {},
  ) {
    const tab = { id: 'tab', type: 'tab', label: 'test' };
    const placed = nodes.map((node) => ({ z: 'tab', x: 1, y: 1, wires: [], ...node }));
    const account = options.account ?? this.account;
    const credentials = options.credentials ?? this.credentials;
    const flows = [tab, account, ...(options.more ?? []), ...placed];
    // Avoids `helper.setFlows`, which waits 300 ms per deploy.
    const started = new Promise((resolve) => runtime._events.once('flows:started', resolve));
    await runtime._redNodes.setFlows(flows, credentials, options.type ?? 'full');
    await started;
    if (options.signIn !== false && account.service === 'remote' && account.signIn === 'oauth') await this.signIn();
  }

  /** Makes a deploy, and asserts that no node waits for a long timer while it closes. */
  async closesAtOnce(deploy: () => Promise<unknown>): Promise<void> {
    let timers: ReturnType<typeof recordLongTimers> | undefined;
    runtime._events.once('flows:stopping', () => (timers = recordLongTimers()));
    runtime._events.once('flows:stopped', () => timers?.end());
    await deploy();
    assert.deepEqual(timers?.fired, [], 'long timers that fired during the close, ms');
  }

  async signIn(): Promise<void> {
    const { body } = await this.get('accounts/account');
    if ((body as { state: string }).state !== 'signed-in') await this.signInAnew();
  }

  /** Signs an account in whether or not it is; `typed` are settings of its dialog. */
  async signInAnew(id = 'account', typed: object = {}): Promise<void> {
    const { body } = await this.post(`accounts/${id}/sign-in`, { redirectUri: REDIRECT, ...typed }).expect(200);
    const back = await followTo((body as { authorizeUrl: string }).authorizeUrl, REDIRECT);
    await this.get(`callback${back.search}`).expect(200);
  }

  /** Cookies of the simulated browser, which sends them with every request regardless of their path. */
  readonly cookies = new Map<string, string>();
  get #headers() {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64)', Cookie: cookie };
  }
  #keep(setCookies: string[] = []): void {
    for (const line of setCookies) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=');
      this.cookies.set(name, value);
    }
  }

  /** Changes Node-RED's settings, until it starts again. */
  useSettings = (settings: object) => void Object.assign(helper.settings(undefined as never), settings);
  head = (path: string) => helper.request().head(`/remote-printing/${path}`).set(this.#headers);
  get = (path: string) => helper.request().get(`/remote-printing/${path}`).set(this.#headers);
  post = (path: string, body: object = {}) =>
    helper
      .request()
      .post(`/remote-printing/${path}`)
      .send(body)
      .on('response', ({ headers }: { headers: { 'set-cookie'?: string[] } }) => this.#keep(headers['set-cookie']));

  node = (id: string): Node => helper.getNode(id);

  /** Sends a message into a node. */
  send(id: string, msg: NodeMessage): void {
    this.node(id).receive(msg);
  }

  /** Collects the messages that arrive at a helper node. */
  listen(id: string): Inbox {
    return new Inbox(this.node(id));
  }

  /** The statuses of a node so far. */
  statuses(id: string): NodeStatus[] {
    const spy = this.node(id).status as unknown as { args: [NodeStatus][]; thisValues: Node[] };
    return spy.args.filter((_, index) => spy.thisValues[index] === this.node(id)).map(([status]) => status);
  }

  async stop({ keep = false } = {}): Promise<void> {
    await helper.unload();
    await (helper.stopServer() as unknown as Promise<void>);
    // Pending writes continue after the close, so the removal is retried.
    if (!keep) await rm(this.userDir, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  }
}

interface Waiting {
  count: number;
  resolve: () => void;
}

/** Messages that have arrived at a node, in order. */
export class Inbox {
  all: NodeMessage[] = [];
  #waiting: Waiting[] = [];

  constructor(node?: Node) {
    if (node) this.listen(node);
  }

  /** Begins an empty list of the messages that arrive at a node. */
  listen(node: Node): void {
    const all: NodeMessage[] = (this.all = []);
    const waiting: Waiting[] = (this.#waiting = []);
    node.on('input', (msg, _send, done) => {
      all.push(msg);
      for (const { count, resolve } of waiting) if (all.length >= count) resolve();
      done();
    });
  }

  /** Resolves with the message at `index` once it has arrived. */
  async at(index: number): Promise<NodeMessage> {
    const { all } = this;
    await new Promise<void>((resolve) => {
      if (all.length > index) resolve();
      else this.#waiting.push({ count: index + 1, resolve });
    });
    return all[index] as NodeMessage;
  }

  /** Resolves with the first message, received or future, that `fits`. */
  async find(fits: (msg: NodeMessage) => boolean): Promise<NodeMessage> {
    for (let index = 0; ; index++) {
      const message = await this.at(index);
      if (fits(message)) return message;
    }
  }
}

export const helperNode = (id: string): Definition => ({ id, type: 'helper' });
export const catchNode = (wires: string[]): Definition => ({ id: 'catch', type: 'catch', wires: [wires] });
