import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Node, NodeMessage } from 'node-red';
import helper from 'node-red-node-test-helper';
import { asPrintingError } from '../../lib/service/errors';
import { systemClock } from '../../lib/time/clock';
import { catchNode, Flow, helperNode, type Definition } from '../helpers/flow';
import type { Mount } from './below/disk';
import { MachineClock } from './below/time';
import { Chance } from './chance';
import {
  clockHazard,
  diskHazard,
  oneOfMany,
  serviceHazard,
  slowHazard,
  startOffset,
  wireHazard,
  type Hazard,
} from './hazards';
import { hostileAnswerHazard, hostileHazard, STORED } from './hostile';
import { SAVING, SECOND } from './life';
import { signIn, WITHOUT_RENEWAL, World } from './machine';
import { Share } from './share';
import { Broken } from './trace';

const load = createRequire(__filename);
const runtime = createRequire(process.env.NODE_RED_PATH ?? load.resolve('node-red'));
const { hooks, events } = runtime('@node-red/util') as {
  hooks: { add: (name: string, hook: (event: never) => void) => void; remove: (name: string) => void };
  events: { once: (name: string, listener: () => void) => void };
};

const ENDS = ['job.finished', 'job.failed', 'job.aborted', 'job.ended'];
/** Polling intervals, s. */
const INTERVALS = [60, 200];
const FACTOR = 4;
const RECOVERY = 20 * 60 * SECOND;
/** Time within which the polls of all nodes report what happened before, ms. */
const REPORTED_WITHIN = 2 * Math.max(...INTERVALS) * SECOND;
/** Longest time from a message's limit to its end, ms. */
const GRACE = SECOND;
/** Node that waits for the ends of its prints. */
const WAITING = 'print-and-wait';
/** Time within which nodes without a timeout setting end, s. */
const NO_TIMEOUT = 600;
/** Nodes that read a file on the share, and those that read or write one. */
const FROM_SHARE = ['print-file', 'upload-file'];
const ON_SHARE = [...FROM_SHARE, 'report-file', 'download-file'];
/** Nodes without messages and changes of their own. */
const FIXED = ['sink', 'catch'];
/** Codes of a download that fails before the removal of its unfinished file hangs. */
const BROKEN_OFF = ['NETWORK', 'SERVICE_ERROR'];
/** Longest time that Node-RED waits for a node to close in a deploy, ms. */
const LONGEST_CLOSE = 15 * SECOND;

interface Sent {
  id: string;
  node: string;
  begunAt: number;
  limit: number;
  ends: number[];
  stream: Readable | undefined;
  /** Folder of the share that contains the message's file. */
  folder: string;
  code?: string;
  /** Name of its print. */
  filename: string;
  /** Time of the dispatch, which the limit applies to, if the node waits for the print's end. */
  dispatched?: number;
  /** The awaited print; unknown before the first figures of a print that an earlier message started. */
  clusterJobId?: string;
  /** Results of an awaited end: `on time`, or `late` after the message ended without one. */
  results: ('on time' | 'late')[];
}

/** Runs the nodes in a Node-RED over all kinds of deploys and restarts, while everything below them fails. */
export async function flowsRun(seed: number): Promise<void> {
  const world = await World.make(seed, {
    printers: 2,
    accessTokenLifetime: WITHOUT_RENEWAL,
    timeFactor: FACTOR,
    storage: 'disk',
  });
  const run = new FlowsRun(world);
  await world.run(async () => {
    try {
      await signIn(world, []);
      await run.go();
    } finally {
      await run.end();
    }
  });
}

class FlowsRun {
  readonly #chance: Chance;
  readonly #clock: MachineClock;
  readonly #sent: Sent[] = [];
  readonly #told: { node: string; id: string; type: string; job: string }[] = [];
  readonly #prints: string[] = [];
  readonly #changes = new Map<string, number>();
  readonly #ends: (() => void)[] = [];
  readonly #undo: (() => void)[] = [];
  readonly #share: Share;
  #nodes: Definition[] = [];
  #flow: Flow | undefined;
  #mount: Mount | undefined;
  #deploying: Promise<void> = Promise.resolve();
  #diskFailed = false;
  #singles = 0;
  /** Late results without the properties of their message. */
  #strays = 0;
  #over = false;
  #lives = 0;
  /** Ids of the unfinished files that ended processes left. */
  readonly #ofEnded = new Set<string>();

  constructor(private readonly world: World) {
    this.#chance = new Chance(world.random);
    this.#clock = new MachineClock(world.time, 0);
    this.#share = new Share(world);
  }

  async go(): Promise<void> {
    const { world } = this;
    const chance = this.#chance;
    this.#replaceClock();
    this.#listen();
    const hangs = chance.is(0.25);
    this.#choose(hangs);
    await this.#start();
    await world.time.pass(250 * SECOND);

    const horizon = chance.spread(100_000, 600_000);
    const plan: { at: number; action: () => Promise<void> | void }[] = [];
    const at = (most: number, action: () => Promise<void> | void) =>
      plan.push({ at: chance.whole(0, horizon * most), action });
    for (let count = chance.whole(0, 3); count > 0; count--) at(0.6, () => this.#print());
    for (let count = chance.whole(1, 6); count > 0; count--) {
      const aimed = chance.is(0.3);
      at(0.9, () => (aimed ? this.#atArrival(() => this.#send()) : this.#send()));
    }
    if (this.#nodes.some(({ id }) => id === WAITING))
      for (let count = chance.whole(1, 3); count > 0; count--) at(0.6, () => this.#send([WAITING]));
    for (let count = chance.whole(0, 3); count > 0; count--) {
      const hazard = this.#hazard();
      at(0.8, () => this.#begin(hazard));
    }
    for (let count = chance.whole(0, 3); count > 0; count--) {
      const type = chance.pick(['full', 'flows', 'nodes', 'nodes'] as const);
      const aimed = chance.is(0.5);
      at(0.9, () => (aimed ? this.#atArrival(() => this.#deploy(type)) : this.#deploy(type)));
    }
    if (chance.is(0.3)) at(0.9, () => this.#restart());
    if (hangs) {
      const after = chance.spread(1, 40) - 1;
      at(0.5, () => this.#share.hang(after));
      for (let count = chance.whole(1, 4); count > 0; count--) at(0.9, () => this.#send(ON_SHARE));
    }
    let now = 0;
    for (const step of plan.sort((one, other) => one.at - other.at)) {
      await world.time.pass(Math.max(0, step.at - now));
      now = Math.max(now, step.at);
      await step.action();
    }
    await world.time.pass(horizon - now);

    this.#over = true;
    world.wire.beforeArrival = () => undefined;
    for (const end of this.#ends) end();
    this.#mount?.faults.clear();
    this.#clock.offset = 0;
    world.simulator.faults.clear();
    world.wire.mend();
    world.trace.add('all is well again');
    await this.#settled();
    await world.time.pass(RECOVERY);
    // A print that ends after this moment may be reported only after the next poll.
    const ended = this.#endedPrints();
    await world.time.pass(REPORTED_WITHIN);
    this.#checkMessages(ended);
    this.#checkEnds(ended);
    this.#checkResults(ended);
    await this.#stop();
    // undici releases a pending connection only when it is established or has failed.
    await world.time.pass(15 * SECOND);
    await this.#share.comeBack();
    this.#checkLeft((name) => this.#isOfEndedProcess(name));
    if (this.#ofEnded.size > 0) await this.#removeLeftovers();
  }

  async end(): Promise<void> {
    await this.#share.comeBack();
    await this.#flow?.stop({ keep: true });
    for (const undo of this.#undo.reverse()) undo();
    this.#clock.stop();
    this.#share.unmount();
    if (this.#mount) {
      this.#mount.crash();
      this.world.disks.unmount(this.#mount);
    }
  }

  /** Chooses the flow: watching nodes, and one node of every other kind. */
  #choose(hangs: boolean): void {
    const chance = this.#chance;
    const clusterId = this.world.clusterId(1);
    const account = 'account';
    const timeout = () => chance.pick([5, 20, 40, 120]);
    const fixed = { cluster: clusterId, clusterType: 'str' };
    const working: Definition[] = [
      { id: 'print', type: 'remote-printing-upload-and-print', ...fixed, source: 'payload', timeout: timeout() },
      {
        id: 'upload',
        type: 'remote-printing-library-file',
        operation: 'upload',
        kind: 'job',
        source: 'payload',
        timeout: timeout(),
      },
      { id: 'print-file', type: 'remote-printing-upload-and-print', ...fixed, source: 'file', timeout: timeout() },
      {
        id: WAITING,
        type: 'remote-printing-upload-and-print',
        ...fixed,
        source: 'payload',
        waitFor: 'finished',
        timeout: timeout(),
      },
      {
        id: 'download-file',
        type: 'remote-printing-library-file',
        operation: 'download',
        kind: 'job',
        fileId: 'stored',
        fileIdType: 'msg',
        file: 'target',
        fileType: 'msg',
        timeout: timeout(),
      },
      {
        id: 'upload-file',
        type: 'remote-printing-library-file',
        operation: 'upload',
        kind: 'job',
        source: 'file',
        timeout: timeout(),
      },
      {
        id: 'report-file',
        type: 'remote-printing-report-generator',
        format: 'file',
        file: 'reportFile',
        fileType: 'msg',
        from: 'today',
        fromType: 'relative',
        timeout: timeout(),
      },
      {
        id: 'query',
        type: 'remote-printing-query',
        query: chance.pick(['clusters', 'cluster-status', 'print-jobs', 'current-user']),
        ...fixed,
      },
      { id: 'snapshot', type: 'remote-printing-webcam-snapshot', ...fixed, timeout: timeout() },
      {
        id: 'report',
        type: 'remote-printing-report-generator',
        format: chance.pick(['rows', 'csv']),
        from: 'today',
        fromType: 'relative',
        timeout: timeout(),
      },
      { id: 'control', type: 'remote-printing-job-control', ...fixed, action: 'pause', timeout: timeout() },
      { id: 'request', type: 'remote-printing-request', method: 'GET', path: '/connect/v1/clusters', pathType: 'str' },
    ].map((node) => ({ account, wires: [['sink'], ['sink']], ...node }));
    const watching: Definition[] = [
      { id: 'one', ...fixed },
      { id: 'same', ...fixed },
      { id: 'all', cluster: '', clusterType: 'str' },
    ].map((node) => ({
      account,
      type: 'remote-printing-cluster-status',
      interval: chance.pick(INTERVALS),
      wires: [['sink'], ['sink']],
      ...node,
    }));
    this.#nodes = [
      helperNode('sink'),
      catchNode(['sink']),
      ...watching.filter((_, index) => index === this.world.seed % 3 || chance.is(0.4)),
      ...working.filter(({ id }) => chance.is(0.4) || (hangs && ON_SHARE.includes(id))),
    ];
  }

  #hazard(): Hazard {
    const chance = this.#chance;
    const { world } = this;
    const kind = chance.random();
    const machine = () => (this.#mount ? { mount: this.#mount, clock: this.#clock } : undefined);
    const endpoints = ['clusterStatus', 'clusters', 'print', 'printJob', 'actionStatus', 'storagePut', '*'] as const;
    if (kind < 0.15) return oneOfMany(world, chance, machine, endpoints);
    if (kind < 0.3) return diskHazard(world, chance, machine);
    if (kind < 0.6) return wireHazard(world, chance, ['api', 'api', 'storage']);
    if (kind < 0.82) return serviceHazard(world, chance, endpoints);
    if (kind < 0.88) return slowHazard(world, chance, endpoints);
    if (kind < 0.91) return hostileHazard(world, chance, endpoints);
    if (kind < 0.96) return hostileAnswerHazard(world, chance, [...endpoints, ...STORED]);
    return clockHazard(world, chance, machine);
  }

  #begin({ begin, lasts, disk }: Hazard): void {
    if (disk) this.#diskFailed = true;
    const end = begin();
    this.#ends.push(end);
    this.world.time.after(lasts, () => !this.#over && end());
  }

  /** Runs `action` when the next data from the service arrives, before it is processed. */
  #atArrival(action: () => void): void {
    this.world.wire.beforeArrival = () => {
      this.world.wire.beforeArrival = () => undefined;
      this.world.trace.add('as data arrives:');
      action();
    };
  }

  async #start(): Promise<void> {
    const userDir = this.world.place(`user-${this.#lives++}`);
    const mount = this.world.disks.mount(join(userDir, 'remote-printing'), this.world.folder, this.world.time);
    mount.onFault = ({ name, path }, code) => this.world.trace.add(`disk: ${code} on ${name} of ${path}`);
    if (process.env.STEPS) mount.onStep = ({ name, path }) => this.world.trace.add(`step ${name} ${path}`);
    this.#mount = mount;
    this.#clock.offset = startOffset(this.world, this.#chance);
    if (this.#clock.offset !== 0) this.world.trace.add(`its clock is off by ${this.#clock.offset / SECOND} s`);
    this.#flow = await Flow.start(this.world.simulator, userDir);
    this.#deploy('full');
    await this.#settled();
  }

  async #stop(): Promise<void> {
    this.world.trace.add('Node-RED is stopped');
    await this.#settled();
    const began = this.world.time.elapsed;
    const stopping = this.#flow?.stop({ keep: true }) ?? Promise.resolve();
    this.#flow = undefined;
    if (!(await this.world.time.until(stopping, 60 * SECOND))) throw new Broken(5, 'stopping does not end');
    const took = this.world.time.elapsed - began;
    if (took > LONGEST_CLOSE) throw new Broken(5, `stopping takes ${took / SECOND} s`);
  }

  async #restart(): Promise<void> {
    const away = this.#chance.spread(10, 120_000);
    await this.#stop();
    await this.#endProcess();
    await this.world.time.pass(away);
    this.world.trace.add('Node-RED starts');
    await this.#start();
  }

  /** Ends the stopped process: only the next one can finish what it left. Both run in this process. */
  async #endProcess(): Promise<void> {
    if (this.#mount) this.world.disks.unmount(this.#mount);
    await this.#share.endProcess();
    const folder = join(this.world.folder, 'unfinished');
    const notes = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.note')) : [];
    for (const name of notes) {
      const note = readFileSync(join(folder, name), 'utf8');
      // A failing disk keeps a note incomplete, so it stays for good.
      writeFileSync(join(folder, name), note.replace(/"started":"\d+"/, '"started":"earlier"'));
      this.#ofEnded.add(name.replace('.note', ''));
    }
  }

  #isOfEndedProcess = (name: string): boolean => [...this.#ofEnded].some((id) => name.includes(id));

  /** Starts Node-RED once more: it removes what ended processes left on a share that now answers. */
  async #removeLeftovers(): Promise<void> {
    await this.#endProcess();
    this.world.trace.add('Node-RED starts');
    await this.#start();
    await this.#stop();
    await this.world.time.pass(15 * SECOND);
    this.#checkLeft(() => false);
  }

  #deploy(type: 'full' | 'flows' | 'nodes'): void {
    const flow = this.#flow;
    if (!flow) return;
    const changeable = this.#nodes.filter(({ id }) => !FIXED.includes(id));
    const changed = this.#chance.pick([...changeable.map(({ id }) => id), 'account']);
    if (type !== 'full') {
      this.#changes.set(changed, (this.#changes.get(changed) ?? 0) + 1);
      if (changed !== 'account') this.#singles++;
    }
    const named = <T extends Definition>(node: T): T => ({
      ...node,
      name: `${node.id} ${this.#changes.get(node.id) ?? 0}`,
    });
    const tab = { id: 'tab', type: 'tab', label: 'test' };
    const placed = this.#nodes.map((node) => named({ z: 'tab', x: 1, y: 1, wires: [], ...node }));
    const all = [tab, named(flow.account), ...placed];
    const { _redNodes: nodes } = helper as unknown as {
      _redNodes: { setFlows: (flows: object[], credentials: object, type: string) => Promise<unknown> };
    };
    this.#deploying = this.#deploying.then(async () => {
      this.world.trace.add(`a deploy of ${type}${type === 'full' ? '' : `, changed: ${changed}`}`);
      const started = new Promise<void>((resolve) => events.once('flows:started', resolve));
      await nodes.setFlows(all, flow.credentials, type);
      await started;
    });
  }

  async #settled(): Promise<void> {
    if (!(await this.world.time.until(this.#deploying, 60 * SECOND))) throw new Broken(5, 'a deploy does not end');
  }

  #send(names?: readonly string[]): void {
    const nodes = this.#nodes.filter(({ id }) => names?.includes(id) ?? !FIXED.includes(id));
    const definition = this.#chance.pick(nodes);
    const node = helper.getNode(definition.id) as Node | null;
    if (!node || !this.#flow) return;
    const id = `m${this.#sent.length + 1}`;
    const limit = typeof definition.timeout === 'number' ? definition.timeout : NO_TIMEOUT;
    const sent: Sent = {
      id,
      node: definition.id,
      begunAt: this.world.time.elapsed,
      limit,
      ends: [],
      results: [],
      filename: '',
      stream: undefined,
      // The folder belongs to this message, or is shared by several messages.
      folder: this.#chance.is(0.7) ? id : 'all',
    };
    this.#sent.push(sent);
    this.world.trace.add(`message ${id} to ${definition.id}, ${limit} s`);
    const printKey = this.#chance.pick(['', 'key-a', 'key-b']);
    const filename = `${printKey || 'part'}.gcode`;
    sent.filename = filename;
    const bytes = Buffer.from(`;TIME:600\n${`;${filename}\n`.repeat(100)}`);
    const kind = this.#chance.pick(['bytes', 'bytes', 'failing', 'endless', 'whole'] as const);
    const payload = kind === 'bytes' || definition.source !== 'payload' ? bytes : this.#stream(kind, bytes);
    if (payload instanceof Readable) sent.stream = payload;
    const message: NodeMessage = { _msgid: id, payload };
    Object.assign(message, { printKey, filename, fileSize: bytes.length, order: id });
    if (definition.source === 'file')
      Object.assign(message, { filename: this.#share.place(sent.folder, filename, bytes) });
    if (definition.format === 'file')
      Object.assign(message, { reportFile: this.#share.place(sent.folder, `${id}.csv`) });
    if (definition.operation === 'download') {
      const jobs = this.world.simulator.world.storedJobs().map(({ jobId }) => jobId);
      const target = this.#share.place(sent.folder, `${id}.gcode`);
      Object.assign(message, { stored: this.#chance.pick(jobs) ?? 'none', target });
    }
    if (definition.type === 'remote-printing-cluster-status' && this.#chance.is(0.3))
      Object.assign(message, { clusterId: this.world.clusterId(2) });
    if (this.#chance.is(0.15)) this.#spoil(message, sent);
    node.receive(message);
  }

  /** Spoils a message as another node may do: freezes it, or adds a property that throws when read. */
  #spoil(message: NodeMessage, sent: Sent): void {
    const kind = this.#chance.pick(['frozen', 'frozen inside', 'throws'] as const);
    const name = this.#chance.pick([
      'payload',
      'printKey',
      'filename',
      'fileSize',
      'clusterId',
      'topic',
      'error',
      'res',
    ]);
    this.world.trace.add(`it is ${kind}${kind === 'throws' ? ` at ${name}` : ''}`);
    // No node can reach a stream behind a getter that throws.
    if (kind === 'throws' && name === 'payload') sent.stream = undefined;
    if (kind === 'throws')
      Object.defineProperty(message, name, {
        enumerable: true,
        get: () => {
          throw new Error(`${name} throws`);
        },
      });
    else if (kind === 'frozen') Object.freeze(message);
    else Object.assign(message, { printer: Object.freeze({}), job: Object.freeze({}), error: Object.freeze({}) });
  }

  #stream(kind: string, bytes: Buffer): Readable {
    let sent = 0;
    const stream = new Readable({
      read() {
        if (kind === 'failing' && sent > 0) return void this.destroy(new Error('the stream failed'));
        if (kind === 'endless' && sent > 0) return;
        const part = bytes.subarray(sent, sent + 400);
        sent += part.length;
        this.push(part.length > 0 ? part : null);
      },
    });
    return stream;
  }

  #print(): void {
    const { simulator, trace, time } = this.world;
    const seconds = this.#chance.spread(20, 400);
    const { uuid } = simulator.world.printLocally(1, { name: `part-${this.#prints.length}`, seconds });
    this.#prints.push(uuid);
    trace.add(`printer: print ${uuid.slice(0, 8)} of ${seconds / FACTOR} s`);
    if (this.#chance.is(0.6)) return;
    time.after(this.#chance.whole(5, 200) * SECOND, () => {
      try {
        simulator.world.fail(1, uuid);
        trace.add(`printer: ${uuid.slice(0, 8)} fails`);
      } catch {
        // The print has not begun, or has ended.
      }
    });
  }

  #replaceClock(): void {
    const plain = { ...systemClock };
    const { now, monotonic, after } = this.#clock;
    Object.assign(systemClock, { now, monotonic, after });
    this.#undo.push(() => Object.assign(systemClock, plain));
  }

  #listen(): void {
    const { trace, time } = this.world;
    hooks.add('onSend.faults', (sent: { source: { id: string; port: number }; msg: NodeMessage }[]) => {
      for (const { source, msg } of sent) {
        this.#recordWait(source, msg);
        const event = msg.payload as
          | { id?: string; type?: string; late?: boolean; job?: { clusterJobId?: string } }
          | undefined;
        if (source.port !== 1 || !event?.type || !ENDS.includes(event.type)) continue;
        const job = event.job?.clusterJobId ?? '';
        trace.add(`${source.id}: ${event.type} of ${job.slice(0, 8)}${event.late ? ' (late)' : ''}`);
        this.#told.push({ node: source.id, id: event.id ?? '', type: event.type, job });
      }
    });
    hooks.add(
      'onComplete.faults',
      ({ msg, error, node }: { msg: NodeMessage; error?: unknown; node: { id: string } }) => {
        const sent = this.#sent.find(({ id, node: to }) => id === msg._msgid && to === node.id);
        if (!sent) return;
        sent.ends.push(time.elapsed);
        if (error) sent.code = asPrintingError(error).code;
        trace.add(
          `message ${sent.id} ends${error ? `: ${asPrintingError(error).code}: ${asPrintingError(error).message}` : ''}`,
        );
      },
    );
    this.#undo.push(() => {
      hooks.remove('onSend.faults');
      hooks.remove('onComplete.faults');
    });
  }

  /** Records the acceptance and the result of a print whose end a message awaits. */
  #recordWait({ id, port }: { id: string; port: number }, msg: NodeMessage): void {
    const sent = this.#sent.find(({ id: order, node }) => order === msg.order && node === WAITING);
    if (!sent) {
      if (msg.late && msg.order === undefined) this.#strays++;
      return;
    }
    if (id === WAITING && port === 1) {
      if (msg.topic === 'dispatched') sent.dispatched ??= this.world.time.elapsed;
      if (typeof msg.clusterJobId === 'string') sent.clusterJobId = msg.clusterJobId;
    } else if ((id === WAITING && port === 0) || (id === 'catch' && msg.late)) {
      sent.results.push(msg.late ? 'late' : 'on time');
      this.world.trace.add(`message ${sent.id} has its result${msg.late ? ' (late)' : ''}`);
    }
  }

  #endedPrints(): string[] {
    return this.world.simulator.world.cluster(1).history.map(({ uuid }) => uuid);
  }

  /** Each message to the waiting node has one result, in time or late, or fails, once its print is among those that ended. */
  #checkResults(ended: readonly string[]): void {
    if (this.#diskFailed) return;
    if (this.#strays > 0) throw new Broken(3, `${this.#strays} late results of no message`);
    for (const sent of this.#sent) {
      const { id, node, code, results } = sent;
      if (node !== WAITING) continue;
      const count = results.length + (code === undefined ? 0 : 1);
      if (count > 1 || (count === 0 && !this.#isAwaited(sent, ended)))
        throw new Broken(3, `message ${id} has ${count} results: ${[...results, code ?? ''].join(', ')}`);
    }
  }

  /** Whether the message's print is not among those that ended. */
  #isAwaited({ node, filename, clusterJobId }: Sent, ended: readonly string[]): boolean {
    const own = this.world.printed.filter(
      ({ jobName, uuid }) => uuid === (clusterJobId ?? uuid) && jobName === filename,
    );
    return node === WAITING && own.some(({ uuid }) => !ended.includes(uuid));
  }

  /** Time that the limit of an ended message applies to. An awaited end may come at any time. */
  #limitedTime({ node, begunAt, ends: [end = 0], dispatched, code }: Sent): number {
    if (node !== WAITING) return end - begunAt;
    return (dispatched ?? (code === undefined || code === 'PRINT_FAILED' ? begunAt : end)) - begunAt;
  }

  #checkMessages(ended: readonly string[]): void {
    for (const sent of this.#sent) {
      const { id, node, limit, ends, stream, folder, code } = sent;
      if (ends.length === 0 && this.#isAwaited(sent, ended)) continue;
      if (ends.length !== 1) throw new Broken(4, `message ${id} to ${node} ended ${ends.length} times`);
      const took = this.#limitedTime(sent);
      const saving = this.#diskFailed && node.startsWith('print') ? SAVING : 0;
      if (took > limit * SECOND + GRACE + saving)
        throw new Broken(4, `message ${id} to ${node} ended after ${took / SECOND} s of ${limit} s`);
      // A file that could not be sent is closed after that: the message ends for the reason of the failure.
      const isOnlyClosed = FROM_SHARE.includes(node) && this.#share.isClosing(id);
      // In a shared folder, other messages may wait for the file.
      if (folder === id && !isOnlyClosed)
        this.#share.checkEnd(folder, code, node === 'download-file' ? BROKEN_OFF : []);
      if (stream && !stream.destroyed)
        throw new Broken(5, `message ${id} to ${node} ended, and its stream is still open`);
    }
    const [first] = this.world.uncaught;
    if (first !== undefined)
      throw new Broken(5, `uncaught: ${first instanceof Error ? (first.stack ?? '') : String(first)}`);
    const byKey = this.world.printed.filter(({ jobName }) => jobName.startsWith('key'));
    for (const { jobName } of byKey)
      if (byKey.filter((other) => other.jobName === jobName).length > 1)
        throw new Broken(1, `two prints of ${jobName}`);
  }

  /** Each end in `ended` is reported; later ones may be. */
  #checkEnds(ended: readonly string[]): void {
    const watching = this.#nodes.filter(({ type }) => type === 'remote-printing-cluster-status').map(({ id }) => id);
    for (const uuid of this.#prints) {
      const isDue = ended.includes(uuid);
      const told = this.#told.filter(({ job }) => job === uuid);
      const short = uuid.slice(0, 8);
      if (isDue && told.length === 0) throw new Broken(3, `the end of ${short} was never told`);
      for (const what of ['id', 'type'] as const)
        if (new Set(told.map((one) => one[what])).size > 1)
          throw new Broken(3, `the end of ${short} was told with two ${what}s`);
      for (const name of watching) {
        const times = told.filter(({ node }) => node === name).length;
        if (times > 1 && !this.#diskFailed)
          throw new Broken(3, `the end of ${short} was told ${times} times by ${name}`);
        if (isDue && times === 0 && this.#singles === 0)
          throw new Broken(3, `the end of ${short} was not told by ${name}`);
      }
    }
  }

  /** Throws if anything is left other than the files that `excused` accepts. */
  #checkLeft(excused: (name: string) => boolean): void {
    const { world } = this;
    if (this.#clock.waiting > 0) throw new Broken(5, `${this.#clock.waiting} timers are left`);
    const files = this.#mount ? world.disks.open(this.#mount) : [];
    if (files.length > 0) throw new Broken(5, `open files are left: ${files.join(' ')}`);
    if (world.wire.open > 0) throw new Broken(5, `${world.wire.open} connections are left`);
    const left = world.leftovers().filter((name) => !excused(name));
    if (left.length > 0 && !this.#diskFailed) throw new Broken(5, `files are left: ${left.join(' ')}`);
    this.#share.checkLeft(excused);
  }
}
