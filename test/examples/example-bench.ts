import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import type { PrintJob } from '../../simulator';
import { root } from '../../scripts/node-red.mjs';
import { freshUserDir, startRealNodeRed } from '../helpers/real-node-red';
import type { RealNodeRed, RealNodeRedOptions, Runtime } from '../helpers/real-node-red';
import { lean } from '../helpers/lean';
import { MAIL_CERTIFICATE } from './mail-server';

export interface ExampleNode {
  id: string;
  type: string;
  name?: string;
  wires?: string[][];
  env?: { name: string; value: unknown; type: string }[];
  [property: string]: unknown;
}

/** A request that arrived at an address configured in an example. */
export interface Call {
  path: string;
  method: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface Cluster {
  clusterId: string;
  organizationId: string;
  friendlyName: string;
  model: string;
  printers: { name: string; extruders: { material: object | null }[] }[];
  queue: PrintJob[];
  history: PrintJob[];
}

const CORE = [
  ...['20-inject.js', '21-debug.js', '10-function.js', '10-switch.js', '15-change.js', '25-catch.js', '90-comment.js'],
  ...['25-status.js', '89-trigger.js', '70-CSV.js'],
  ...[
    '21-httpin.js',
    '21-httprequest.js',
    '10-file.js',
    '90-exec.js',
    '10-mqtt.js',
    '80-template.js',
    'rbe.js',
    '89-delay.js',
    '17-split.js',
    '60-link.js',
    '17-split.js',
    '89-trigger.js',
    '24-complete.js',
  ],
];
const PATIENCE = 120_000;
/** Opens a connection for each request: the server may close an idle one just as it is used. */
const headers = { connection: 'close' };

/** A real Node-RED that runs one example after another in one simulated world. Only their settings are changed. */
export class ExampleBench {
  /** Requests to `address` since the last import. */
  readonly calls: Call[] = [];
  /** Answer of `address`, and those of single paths. */
  answer: unknown = {};
  readonly answers = new Map<string, () => unknown>();
  #nodes: ExampleNode[] = [];
  #since = 0;
  #control = '';

  private constructor(
    readonly runtime: Runtime,
    readonly userDir: string,
    private nodeRed: RealNodeRed,
    private readonly server: Server,
    private readonly packs: string[],
  ) {}

  /** Starts Node-RED; `packs` are the folders of other packs that an example needs. */
  static async start(runtime: Runtime, packs: string[] = []): Promise<ExampleBench> {
    const userDir = await freshUserDir();
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const bench = new ExampleBench(
      runtime,
      userDir,
      await ExampleBench.#nodeRed(runtime, userDir, packs, { flows: [] }),
      server,
      packs,
    );
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { url: path = '', method = '', headers } = request;
        bench.calls.push({ path, method, headers, body: Buffer.concat(chunks) });
        const answer = bench.answers.get(path)?.() ?? bench.answer;
        response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
      });
    });
    return bench;
  }

  static #nodeRed(
    { node, nodeRed }: Runtime,
    userDir: string,
    packs: string[],
    options: RealNodeRedOptions = {},
  ): Promise<RealNodeRed> {
    const env = { NODE_EXTRA_CA_CERTS: MAIL_CERTIFICATE, HOME: userDir };
    // A context on disk: an example must work with what it brings back after a restart. It is written at a stop alone: if a
    // write coincides with the tidying of a deploy, that fails, and Node-RED leaves the flows stopped without a word.
    const contextStorage = { default: { module: 'localfilesystem', config: { flushInterval: 24 * 3600 } } };
    const settings = { ...lean(...CORE), nodesDir: [root, ...packs], contextStorage };
    return startRealNodeRed({ node, nodeRed, userDir, env, settings, ...options });
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await this.nodeRed.kill();
    await rm(this.userDir, { recursive: true, force: true });
  }

  /** Address that an example can send to. */
  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Imports and deploys an example with these environment variables of its tab. */
  async import(file: string, env: Record<string, unknown> = {}, change = (node: ExampleNode) => node): Promise<void> {
    const whole = JSON.parse(readFileSync(join(root, 'examples', `${file}.json`), 'utf8')) as ExampleNode[];
    // The editor does not import this node: it offers to install the packs that the node names.
    const example = whole.filter(({ type }) => type !== 'global-config');
    const watches = example.filter(({ type }) => type === 'remote-printing-cluster-status');
    const [{ id: z }] = example.filter(({ type }) => type === 'tab') as [ExampleNode];
    this.#nodes = example.map((given) => {
      const node = change(given);
      if (node.type === 'debug') return { ...node, console: true };
      // A debug node records the events that the example receives.
      if (watches.includes(given)) return { ...node, wires: [node.wires![0]!, [...node.wires![1]!, 'heard']] };
      if (node.type !== 'tab') return node;
      const secrets = Object.fromEntries(
        (node.env ?? [])
          .filter(({ type, name }) => type === 'cred' && name in env)
          .map(({ name }) => [name, env[name]]),
      );
      const set = (node.env ?? []).map((entry) =>
        entry.name in env && entry.type !== 'cred' ? { ...entry, value: String(env[entry.name]) } : entry,
      );
      return { ...node, env: set, credentials: secrets };
    });
    const ask = { id: 'ask', type: 'inject', z, x: 1, y: 1, props: [], wires: [watches.map(({ id }) => id)] };
    const heard = {
      ...{ id: 'heard', type: 'debug', name: 'heard', z, x: 1, y: 1, active: true, console: true, wires: [] },
      ...{ complete: 'topic & " " & payload.job.name & " late " & payload.late', targetType: 'jsonata' },
    };
    this.calls.length = 0;
    this.#since = this.nodeRed.log.length;
    await this.#removeContexts();
    await this.nodeRed.deploy([...this.#nodes, ask, heard]);
    await this.#findWorld();
  }

  /**
   * Removes what the example before has left on disk. A deploy would remove each folder as often as it has files, all at once: if
   * one of these removals fails, Node-RED leaves the flows stopped without a word.
   */
  async #removeContexts(): Promise<void> {
    const folder = join(this.userDir, 'context');
    const found = await readdir(folder).catch(() => []);
    for (const name of found) await rm(join(folder, name), { recursive: true, force: true });
  }

  /** Imports examples side by side, as they are. */
  async importAll(files: string[]): Promise<void> {
    const nodes = files.flatMap(
      (file) => JSON.parse(readFileSync(join(root, 'examples', file), 'utf8')) as ExampleNode[],
    );
    const shown = (node: ExampleNode) => (node.type === 'debug' ? { ...node, console: true } : node);
    this.#nodes = [...new Map(nodes.map((node) => [node.id, shown(node)])).values()];
    this.#since = this.nodeRed.log.length;
    await this.nodeRed.deploy(this.#nodes);
    await this.#findWorld();
  }

  /** Runs `whileOff` between the stop and the start. */
  async restart(whileOff = (): Promise<void> => Promise.resolve()): Promise<void> {
    await this.nodeRed.stop();
    await whileOff();
    this.#since = 0;
    const port = Number(new URL(this.nodeRed.url).port);
    this.nodeRed = await ExampleBench.#nodeRed(this.runtime, this.userDir, this.packs, { port });
    await this.#findWorld();
  }

  async #findWorld(): Promise<void> {
    const { id } = this.#nodes.find(({ type }) => type === 'remote-printing-account')!;
    // The account knows the address only once its simulator listens, which Node-RED does not wait for.
    const limit = Date.now() + PATIENCE;
    for (this.#control = ''; this.#control === ''; await pause(20)) {
      const response = await this.nodeRed.fetch(`remote-printing/accounts/${id}`, { headers });
      const { simulatorUrl } = (await response.json()) as { simulatorUrl?: string };
      if (response.ok && simulatorUrl) this.#control = simulatorUrl;
      assert.ok(Date.now() < limit, this.#tail());
    }
  }

  /** Address of this Node-RED. */
  get url(): string {
    return this.nodeRed.url;
  }

  /** Warnings and errors in the log since the last import or restart. */
  complaints = (): string[] =>
    this.nodeRed.complaints().filter((line) => this.nodeRed.log.indexOf(line) >= this.#since);

  page = (
    path: string,
    { headers: more, ...init }: RequestInit & { headers?: Record<string, string> } = {},
  ): Promise<Response> => this.nodeRed.fetch(path, { ...init, headers: { ...headers, ...more } });

  /** Returns the node of the example that matches. */
  node(is: (node: ExampleNode) => boolean): ExampleNode {
    const node = this.#nodes.find(is);
    assert.ok(node, `no such node: ${is.toString()}`);
    return node;
  }

  /** Presses the button of an inject node. */
  async press(button: string): Promise<void> {
    await this.#inject(this.node(({ type, name }) => type === 'inject' && name === button).id);
  }

  async #inject(id: string): Promise<void> {
    const response = await this.nodeRed.fetch(`inject/${id}`, { method: 'POST', headers });
    assert.equal(response.status, 200);
  }

  /** Makes something happen in the simulated world. */
  async world(action: string, body: object = {}): Promise<void> {
    const response = await fetch(`${this.#control}/world/${action}`, {
      signal: AbortSignal.timeout(PATIENCE),
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 200, `${action}: ${await response.text()}`);
  }

  pass = (seconds: number): Promise<void> => this.world('advance', { seconds });

  async clusters(): Promise<Cluster[]> {
    const response = await fetch(`${this.#control}/state`, { headers, signal: AbortSignal.timeout(PATIENCE) });
    return ((await response.json()) as { clusters: Cluster[] }).clusters;
  }

  /** Printers that the account sees: those in the first workspace. */
  async accountClusters(): Promise<Cluster[]> {
    const clusters = await this.clusters();
    return clusters.filter(({ organizationId }) => organizationId === clusters[0]?.organizationId);
  }

  /** Prints with this name, including those that have ended. */
  async prints(name: string): Promise<(PrintJob & { clusterId: string })[]> {
    const clusters = await this.clusters();
    return clusters.flatMap(({ clusterId, queue, history }) =>
      [...queue, ...history].filter((job) => job.name === name).map((job) => ({ ...job, clusterId })),
    );
  }

  /** Output of the debug nodes with this name, as one text. */
  shown(name: string): string {
    const lines: string[] = [];
    let within = false;
    for (const line of this.nodeRed.log.slice(this.#since)) {
      const [, of, text] = /\[\w+\] \[([^\]]+)\] ?(.*)$/.exec(line) ?? [];
      if (of !== undefined) within = of === `debug:${name}`;
      if (within) lines.push(text ?? line);
    }
    return lines.join('\n');
  }

  /** Waits until `holds`, which is checked `every` so many ms, and polls the printers meanwhile, unless Node-RED is off. */
  async until(holds: () => boolean | Promise<boolean>, { isAsking = true, every = 50 } = {}): Promise<void> {
    const limit = Date.now() + PATIENCE;
    for (let turn = 0; !(await holds()); turn += 1) {
      if (Date.now() > limit) assert.fail(`waited in vain; the log:\n${this.#tail()}`);
      if (isAsking && turn % Math.ceil(500 / every) === 0) await this.#inject('ask');
      await pause(every);
    }
  }

  untilShown = (name: string, pattern: RegExp): Promise<void> => this.until(() => pattern.test(this.shown(name)));
  untilHeard = (pattern: RegExp): Promise<void> => this.untilShown('heard', pattern);

  /** Waits until the example has reacted to the current state. */
  settle = async (): Promise<void> => {
    for (let turn = 0; turn < 3; turn += 1) {
      await this.#inject('ask');
      await pause(300);
    }
  };

  #tail = (): string => this.nodeRed.log.slice(-30).join('\n');
}
