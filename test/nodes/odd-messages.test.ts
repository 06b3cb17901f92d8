import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import type { NodeMessage } from 'node-red';
import { startSimulator, type Simulator } from '../../simulator';
import { catchNode, Flow, helperNode, type Definition, type Inbox } from '../helpers/flow';

const load = createRequire(__filename);
const RUNTIME = process.env.NODE_RED_PATH ?? load.resolve('node-red');
interface Hooks {
  add(id: string, hook: (event: { node: { id: string }; error?: { code?: string } }) => void): void;
  remove(id: string): void;
}
/** Hooks of the runtime inside the test helper. */
const { hooks } = createRequire(RUNTIME)('@node-red/util') as { hooks: Hooks };

const GCODE = ';FLAVOR:Marlin\n;TIME:600\nG28\nG1 X1 Y1 E1\n';
const throws = () => {
  throw new Error('no value');
};
const nested = () => Object.defineProperty({ plain: 1 }, 'type', { get: throws, enumerable: true });
const readOnly = (names: string[], value: unknown) =>
  Object.fromEntries(names.map((name) => [name, { value, enumerable: true }]));

interface Case {
  type: string;
  settings?: object;
  message?: () => NodeMessage;
  /** Endpoint that the node calls for its work. */
  endpoint: string;
  /** Whether the node reads properties within the payload. */
  readsPayload?: boolean;
  /** Properties that make the message fail. */
  unknown: () => NodeMessage;
  /** Expected code of that failure; NOT_FOUND by default. */
  failure?: string;
}

describe('nodes: messages that are frozen, read-only or unreadable', () => {
  let simulator: Simulator;
  let flow: Flow;
  let results: Inbox;
  let caught: Inbox;
  let ends: (string | undefined)[];

  const clusterId = () => simulator.world.cluster(1).clusterId;
  const job = () => simulator.world.printLocally(1, { name: 'part.gcode', seconds: 3600 }).uuid;
  const cluster = { cluster: '', clusterType: 'str' };
  const unknown = () => ({ clusterId: 'no-such' });
  const cases: Case[] = [
    {
      ...{ type: 'cluster-status', settings: { cluster: 'clusterId', clusterType: 'msg' }, endpoint: 'clusterStatus' },
      unknown,
    },
    {
      ...{ type: 'upload-and-print', settings: { source: 'payload' }, endpoint: 'print', readsPayload: true, unknown },
      message: () => ({ payload: GCODE, filename: 'cube.gcode' }),
    },
    {
      ...{ type: 'job-control', settings: { ...cluster, action: 'msg.action' }, endpoint: 'jobAction' },
      ...{ readsPayload: true, message: () => ({ action: 'duplicate', clusterJobId: job() }), unknown },
    },
    { type: 'webcam-snapshot', settings: cluster, endpoint: 'clusterStatus', readsPayload: true, unknown },
    {
      type: 'report-generator',
      message: () => ({ from: 'yesterday', to: 'today' }),
      endpoint: 'createReport',
      unknown: () => ({ from: 'odd' }),
      failure: 'INVALID_INPUT',
    },
    {
      ...{ type: 'request', endpoint: 'jobAction', settings: { method: 'POST' }, readsPayload: true },
      message: () => ({
        path: `/connect/v1/clusters/${clusterId()}/print_jobs/${job()}/action/duplicate`,
        payload: {},
      }),
      unknown: () => ({ path: '/connect/v1/no-such' }),
    },
    {
      ...{ type: 'library-file', settings: { kind: 'job', source: 'payload' }, endpoint: 'registerUpload' },
      ...{ readsPayload: true, message: () => ({ payload: GCODE, filename: 'cube.gcode' }) },
      ...{ unknown: () => ({ filename: 'cube.odd' }), failure: 'UNSUPPORTED_FILE_TYPE' },
    },
    { type: 'query', settings: { query: 'cluster-status', ...cluster }, endpoint: 'clusterStatus', unknown },
  ];

  async function deploy({ type, settings }: Case): Promise<void> {
    const wires = type === 'cluster-status' || type === 'upload-and-print' ? [['results'], []] : [['results']];
    const node: Definition = { id: 'node', type: `remote-printing-${type}`, account: 'account', ...settings, wires };
    await flow.deploy([node, helperNode('results'), helperNode('caught'), catchNode(['caught'])]);
    [results, caught] = [flow.listen('results'), flow.listen('caught')];
    ends = [];
  }
  /** Sends a message; resolves with its result or its error once Node-RED has ended it. */
  async function run(msg: NodeMessage, fails: boolean): Promise<NodeMessage> {
    ends = [];
    const inbox = fails ? caught : results;
    const others = fails ? results : caught;
    const before = [inbox.all.length, others.all.length] as const;
    flow.send('node', msg);
    const received = await Promise.race([
      inbox.at(before[0]),
      others.at(before[1]).then((other) => assert.fail(JSON.stringify(other.error ?? other.payload))),
    ]);
    while (ends.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(ends.length, 1, 'done exactly once');
    assert.deepEqual([inbox.all.length, others.all.length], [before[0] + 1, before[1]]);
    return received;
  }
  const codeOf = (msg: NodeMessage) => (msg.error as { code?: string }).code;

  beforeEach(async () => {
    simulator = await startSimulator({ autoApprove: true, printers: 3, actionDelay: 10 });
    simulator.world.setReports({ rows: 3 });
    flow = await Flow.start(simulator);
    hooks.add('onComplete.odd', ({ node, error }) => {
      if (node.id === 'node') ends.push(error?.code);
    });
  });
  afterEach(async () => {
    hooks.remove('*.odd');
    await flow.stop();
    await simulator.close();
  });

  for (const one of cases) {
    const { type, message = () => ({}), endpoint, readsPayload = false } = one;
    const made = (): NodeMessage => ({ _msgid: 'odd', clusterId: clusterId(), ...message() });
    const asked = () => simulator.requests.count(endpoint);

    it(`lets ${type} process messages that are frozen, read-only, or unreadable where it reads nothing`, async () => {
      await deploy(one);
      const names = ['payload', 'raw', 'topic', 'clusterJobId', 'statusCode', 'parts', 'error'];
      const odd: NodeMessage[] = [];
      odd.push(Object.freeze(made()));
      const message = made();
      const fixed = names.filter((name) => !Object.hasOwn(message, name));
      odd.push(Object.defineProperties(message, readOnly(fixed, 'read-only')));
      odd.push({ ...made(), other: nested() });
      const before = asked();
      for (const msg of odd) {
        const got = await run(msg, false);
        assert.deepEqual(ends, [undefined]);
        assert.notEqual(got.payload, 'read-only');
      }
      assert.ok(asked() > before);
    });

    it(`ends a message of ${type} in INVALID_INPUT before any work when a property can't be read`, async () => {
      await deploy(one);
      const before = asked();
      const odd = [Object.defineProperty(made(), 'other', { get: throws, enumerable: true })];
      if (readsPayload) odd.push({ ...made(), payload: nested() });
      for (const msg of odd) {
        const res = { send: () => undefined };
        const error = await run(Object.assign(msg, { res }), true);
        assert.deepEqual([codeOf(error), ends, asked()], ['INVALID_INPUT', ['INVALID_INPUT'], before]);
        assert.equal(error.clusterId, clusterId());
        assert.equal(error.res, res, 'an HTTP response node can answer');
      }
    });

    it(`ends a frozen message of ${type} in its failure once`, async () => {
      await deploy(one);
      const error = await run(Object.freeze({ ...made(), ...one.unknown() }), true);
      const { failure = 'NOT_FOUND' } = one;
      assert.deepEqual([codeOf(error), ends], [failure, [failure]]);
    });
  }
});
