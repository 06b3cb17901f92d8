import assert from 'node:assert/strict';
import type { NodeMessage } from 'node-red';
import type { Endpoint, Fault, Simulator } from '../../simulator';
import { GCODE, NodeBench, struck } from './support';

interface Case {
  type: string;
  settings?: object;
  /** A message that succeeds. */
  message?: (simulator: Simulator) => NodeMessage;
  /** Endpoint that does the work of the message. */
  endpoint: Endpoint;
  /** Endpoint whose answer is awaited when the node is redeployed; the same by default. */
  interrupted?: Endpoint;
  /** Whether a repeat of its request does no harm. */
  repeats?: boolean;
  /** Ids that its errors carry. */
  ids?: string[];
}

const clusterId = ({ world }: Simulator) => world.cluster(1).clusterId;
const printing = (simulator: Simulator) => {
  const { uuid } = simulator.world.printLocally(1, { name: 'part.gcode', seconds: 3600 });
  simulator.world.advance(120);
  return uuid;
};
const print = { payload: GCODE, filename: 'cube.gcode' };

const CASES: Case[] = [
  {
    ...{ type: 'upload-and-print', settings: { source: 'payload' }, endpoint: 'print', ids: ['clusterId', 'jobId'] },
    interrupted: 'storagePut',
    message: (simulator) => ({ ...print, clusterId: clusterId(simulator) }),
  },
  {
    ...{
      type: 'job-control',
      settings: { action: 'pause' },
      endpoint: 'jobAction',
      ids: ['clusterId', 'clusterJobId'],
    },
    message: (simulator) => ({ clusterId: clusterId(simulator), clusterJobId: printing(simulator) }),
  },
  {
    ...{ type: 'webcam-snapshot', endpoint: 'printerAction', repeats: true, ids: ['clusterId', 'printerId'] },
    message: (simulator) => ({ clusterId: clusterId(simulator) }),
  },
  { type: 'report-generator', endpoint: 'createReport', repeats: true },
  {
    ...{ type: 'library-file', settings: { source: 'payload' }, endpoint: 'registerFile', repeats: true },
    message: () => ({ payload: 'solid\n', filename: 'cube.stl' }),
  },
  { type: 'query', settings: { query: 'clusters' }, endpoint: 'clusters', repeats: true },
  {
    ...{ type: 'request', endpoint: 'clusters', repeats: true },
    settings: { method: 'GET', path: '/connect/v1/clusters', pathType: 'str' },
  },
];

const REFUSALS: [code: string, fault: { status: number } & Partial<Fault>][] = [
  ['FORBIDDEN', { status: 403, code: 'insufficientScope' }],
  ['NOT_FOUND', { status: 404, code: 'recordNotFound' }],
  ['NOT_ACCEPTED', { status: 409, code: 'printerInactive' }],
  ['SERVICE_ERROR', { status: 400, code: 'requiredField' }],
  ['SERVICE_ERROR', { status: 418, code: 'teapot' }],
  // Longer than the timeout.
  ['RATE_LIMITED', { status: 429, code: 'tooManyRequests', retryAfter: 1000 }],
];

for (const {
  type,
  settings,
  endpoint,
  repeats = false,
  interrupted = endpoint,
  ids = [],
  message = () => ({}),
} of CASES)
  describe(`nodes/${type}: outcomes that all nodes share`, () => {
    const bench = new NodeBench(
      { id: 'node', type: `remote-printing-${type}`, timeout: 10, ...settings },
      { simulator: { actionDelay: 10, reportDelay: 0 }, sentence: /^\S.*[^.]\.$/ },
    );
    let simulator: Simulator;
    let msg: NodeMessage;
    const asked = () => simulator.requests.count(endpoint);
    beforeEach(async () => {
      ({ simulator } = await bench.start());
      await bench.deploy();
      msg = message(simulator);
    });
    afterEach(() => bench.stop());

    it('ends in the code of each refusal, with the ids and with the status and code of the service', async () => {
      for (const [n, [code, fault]] of REFUSALS.entries()) {
        simulator.faults.add({ endpoint, ...fault });
        const error = await bench.shownFailed(msg, code);
        assert.deepEqual([error.statusCode, error.serviceCode, asked()], [fault.status, fault.code, n + 1]);
        for (const id of ids) assert.equal(typeof error[id], 'string', id);
      }
    });

    it('ends in an error when no connection lasts, and repeats only what does no harm', async () => {
      await bench.deploy({ timeout: 3 });
      simulator.faults.add({ endpoint, when: 'before', reset: true, times: 'always' });
      await bench.shownFailed(msg, type === 'upload-and-print' ? 'PRINT_OUTCOME_UNKNOWN' : 'NETWORK');
      assert.equal(asked() > 1, repeats, `${asked()} requests`);
    });

    it('requires an account', async () => {
      await bench.deploy({ account: 'none' });
      await bench.shownFailed(msg, 'NOT_CONFIGURED');
      assert.equal(asked(), 0);
    });

    it('requires a sign-in, and shows that', async () => {
      await bench.flow.post('accounts/account/sign-out');
      await bench.deploy({}, { signIn: false });
      // The saved sign-in is read first.
      while (bench.flow.statuses('node').length === 0) await new Promise((resolve) => setImmediate(resolve));
      assert.match(String(bench.flow.statuses('node').at(-1)?.text), /signIn$/);
      await bench.failed(msg, 'NOT_SIGNED_IN');
      assert.equal(asked(), 0);
    });

    it('leaves nothing behind after a redeploy during its work, and processes the next message', async () => {
      const hanging = simulator.faults.add({ endpoint: interrupted, hang: true });
      bench.flow.send('node', msg);
      await struck(hanging);
      const { all } = bench.sent;
      await bench.flow.closesAtOnce(() => bench.deploy());
      await bench.one({ ...msg, filename: msg.filename && `next-${String(msg.filename)}` });
      assert.deepEqual([all.length, bench.sent.all.length, simulator.requests.count(interrupted)], [0, 1, 2]);
    });

    // The clusters of the built-in simulator have other ids.
    if (ids.length === 0)
      it('marks simulated results', async () => {
        const account = { id: 'account', type: 'remote-printing-account', service: 'simulator' };
        await bench.deploy({}, { account, credentials: {} });
        assert.equal((await bench.one(msg)).simulated, true);
        assert.match(String(bench.flow.statuses('node').at(-1)?.text), /simulated/);
      });
  });
