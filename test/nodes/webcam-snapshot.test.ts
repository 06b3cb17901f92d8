import assert from 'node:assert/strict';
import type { NodeMessage } from 'node-red';
import type { Simulator } from '../../simulator';
import type { Definition, Flow } from '../helpers/flow';
import { OtherStorage } from '../helpers/other-storage';
import { pluck } from '../helpers/pluck';
import { clustersOf, codeOf, type End, NodeBench, TimedBench, UUID } from './support';

const PNG = '89504e470d0a1a0a';
const bytesOf = (msg: NodeMessage) => msg.payload as Buffer;

describe('nodes/webcam-snapshot', () => {
  let simulator: Simulator;
  let flow: Flow;

  const bench = new NodeBench(
    {
      ...{ id: 'camera', type: 'remote-printing-webcam-snapshot', cluster: '', clusterType: 'str', printer: '' },
      ...{ printerType: 'str', timeout: 10, maxBytes: 20971520 },
    },
    { simulator: { timeFactor: 60, actionDelay: 100 } },
  );
  const { deploy, one: taken, shownFailed: failed } = bench;
  const clusters = () => clustersOf(simulator);
  const cluster = (number = 1) => clusters()[number - 1]!;
  const here = (changes: NodeMessage = {}): NodeMessage => ({ clusterId: cluster().clusterId, ...changes });
  const asked = () => simulator.requests.count('printerAction');

  beforeEach(async () => ({ simulator, flow } = await bench.start()));
  afterEach(() => bench.stop());

  describe('a picture', () => {
    beforeEach(() => deploy());

    it('keeps the event that triggered it, for a caption', async () => {
      const event = {
        ...{ id: 'e', type: 'job.finished', at: '2030-01-01T12:00:00.000Z', late: false, job: { name: 'part' } },
      };
      const msg = await taken(here({ payload: event, topic: event.type }));
      assert.deepEqual(msg.event, event);
      assert.ok(Buffer.isBuffer(msg.payload));
      const { event: none } = await taken(here({ payload: { id: 'e', type: 'of something else' } }));
      assert.equal(none, undefined);
    });

    it('shows the host printer, and passes on the other properties of the message', async () => {
      const req = { socket: {} };
      const before = Date.now();
      const msg = await taken(here({ payload: { an: 'event' }, topic: 'job.finished', req, _msgid: 'm' }));
      assert.ok(Buffer.isBuffer(msg.payload));
      assert.equal(bytesOf(msg).subarray(0, 8).toString('hex'), PNG);
      assert.equal(msg.contentType, 'image/png');
      assert.deepEqual([msg.clusterId, msg.printerId], [cluster().clusterId, cluster().printers[0]?.uuid]);
      assert.match(String(msg.actionId), UUID);
      assert.equal((msg.raw as { action_id: string; status: string }).action_id, msg.actionId);
      assert.equal((msg.raw as { status: string }).status, 'success');
      const takenAt = Date.parse(String(msg.takenAt));
      assert.ok(takenAt >= before && takenAt <= Date.now() && String(msg.takenAt).endsWith('Z'));
      const stamp = String(msg.takenAt).replace(/[:.]/g, '-');
      assert.equal(msg.filename, `${cluster().friendlyName?.replaceAll(' ', '-')}-${stamp}.png`);
      assert.deepEqual([msg.topic, msg._msgid, msg.simulated], ['job.finished', 'm', undefined]);
      assert.equal(msg.req, req);
    });

    it('needs one status request; the cluster list is read once', async () => {
      for (let n = 0; n < 3; n++) await taken(here());
      assert.equal(simulator.requests.count('clusters'), 1);
      assert.equal(simulator.requests.count('clusterStatus'), 3);
    });

    it('is downloaded without a bearer token, immediately', async () => {
      await taken(here());
      const fetched = simulator.requests.list().find(({ endpoint }) => endpoint === 'imageGet');
      // The simulator refuses an address when the request has a bearer token.
      assert.equal(fetched?.status, 200);
    });

    it('shows the nil printer of the second brand', async () => {
      const clusterId = simulator.world.addCluster({ model: 'simulated_reproducer_z' });
      const msg = await taken({ clusterId });
      assert.equal(msg.printerId, '00000000-0000-0000-0000-000000000000');
    });

    it('shows the printer that the message names', async () => {
      const clusterId = simulator.world.addCluster({ printers: 2 });
      const second = simulator.world.cluster(clusterId).printers[1];
      const msg = await taken({ clusterId, printerId: second?.uuid });
      assert.equal(msg.printerId, second?.uuid);
      assert.ok(!String(msg.filename).startsWith('printer-'), String(msg.filename));
    });

    it("shows the progress, then the time, as the node's status", async () => {
      await taken(here());
      const shown = flow.statuses('camera').map(({ text }) => String(text));
      const stages = ['idle', 'asking', 'waiting', 'loading', 'taken'].map((stage) =>
        shown.findIndex((text) => text.includes(`status.${stage}`)),
      );
      assert.ok(
        stages.every((at, index) => at >= 0 && at > (stages[index - 1] ?? -1)),
        shown.join(', '),
      );
      assert.deepEqual([flow.statuses('camera').at(-1)?.fill, flow.statuses('camera').at(-1)?.shape], ['green', 'dot']);
    });

    it('is shared by simultaneous messages, each with its own bytes and data', async () => {
      for (let n = 0; n < 20; n++) flow.send('camera', here({ n }));
      await bench.completed.at(19);
      assert.equal(asked(), 1);
      assert.equal(simulator.requests.count('imageGet'), 1);
      assert.deepEqual(
        pluck(bench.sent.all, 'n').sort((a, b) => Number(a) - Number(b)),
        [...Array(20).keys()],
      );
      const [one, other] = bench.sent.all as [NodeMessage, NodeMessage];
      bytesOf(one).fill(0);
      assert.equal(bytesOf(other).subarray(0, 8).toString('hex'), PNG);
      (one.raw as { status: string }).status = 'changed by a flow';
      assert.equal((other.raw as { status: string }).status, 'success');
      assert.equal(bench.caught.all.length, 0);
      await taken(here());
      assert.equal(asked(), 2);
    });

    it('is never shared between printers', async () => {
      flow.send('camera', here());
      flow.send('camera', { clusterId: cluster(2).clusterId });
      await bench.completed.at(1);
      assert.equal(asked(), 2);
      assert.equal(new Set(bench.sent.all.map(({ printerId }) => printerId)).size, 2);
    });

    it('survives an expired token at each step', async () => {
      for (const expired of [401, 403] as const)
        for (const endpoint of ['clusterStatus', 'printerAction', 'actionStatus'] as const) {
          simulator.faults.add({ endpoint, status: expired, code: 'tokenExpired' });
          await taken(here());
        }
      const expire = (body: unknown) => {
        simulator.tokens.expireAccessTokens();
        return body;
      };
      simulator.faults.add({ endpoint: 'printerAction', transform: expire });
      await taken(here());
      assert.equal(simulator.tokens.reuseDetections, 0);
    });

    it('survives broken connections and server errors', async () => {
      simulator.faults.add({ endpoint: 'printerAction', reset: true, when: 'after' });
      await taken(here());
      assert.equal(asked(), 2);
      simulator.faults.add({ endpoint: 'imageGet', status: 503 });
      simulator.faults.add({ endpoint: 'actionStatus', status: 502, html: true });
      await taken(here());
      assert.equal(asked(), 3);
    });

    it('has the type and extension of its bytes, whatever type the storage states', async () => {
      for (const contentType of ['image/jpeg; q=1', 'image/svg+xml', 'application/octet-stream']) {
        simulator.world.setPicture(1, { contentType, chunked: true });
        const msg = await taken(here());
        assert.deepEqual([msg.contentType, String(msg.filename).slice(-4)], ['image/png', '.png']);
      }
    });
  });

  describe('a setting', () => {
    it('takes precedence over the message', async () => {
      const { clusterId, printers } = cluster(2);
      await deploy({ cluster: clusterId, printer: 'a.printer', printerType: 'msg' });
      const msg = await taken({ clusterId: 'other', printerId: 'other', a: { printer: printers[0]?.uuid } });
      assert.deepEqual([msg.clusterId, msg.printerId], [clusterId, printers[0]?.uuid]);
    });

    it("is read from the editor's string", async () => {
      await deploy({ timeout: '10', maxBytes: '10' });
      await failed(here(), 'TOO_LARGE');
    });
  });

  describe('failures', () => {
    it('names invalid input, and sends no action', async () => {
      await deploy();
      await failed({}, 'INVALID_INPUT');
      await failed(here({ clusterId: ['a'] }), 'INVALID_INPUT');
      await failed(here({ clusterId: 'a/b' }), 'INVALID_INPUT');
      await failed(here({ printerId: { no: 'text' } }), 'INVALID_INPUT');
      await failed(here({ printerId: '../x' }), 'INVALID_INPUT');
      assert.equal(asked(), 0);
    });

    it('reports an unknown cluster or printer, with the ids', async () => {
      await deploy();
      const error = await failed(here({ clusterId: 'no-such-cluster' }), 'NOT_FOUND');
      assert.deepEqual([error.statusCode, error.serviceCode], [404, 'recordNotFound']);
      await failed(here({ printerId: '12345678-1234-1234-1234-123456789012' }), 'NOT_FOUND');
    });

    it('refuses an offline printer before the action', async () => {
      await deploy();
      simulator.world.setOnline(1, false);
      await failed(here(), 'NOT_ACCEPTED', /offline/);
      assert.equal(asked(), 0);
    });

    it('reports a printer that fails', async () => {
      await deploy();
      for (const outcome of ['failed', 'unknown'] as const) {
        simulator.world.setActions(1, { outcome });
        const error = await failed(here(), 'ACTION_FAILED');
        assert.match(String(error.actionId), UUID);
      }
    });

    it('ends in TIMEOUT when the printer never answers or goes offline', async () => {
      await deploy({ timeout: 1 });
      simulator.world.setActions(1, { outcome: 'stuck' });
      const error = await failed(here(), 'TIMEOUT');
      assert.match(String(error.actionId), UUID);
      simulator.world.setActions(1, { seconds: 0.8 });
      flow.send('camera', here());
      while (asked() < 2) await new Promise((resolve) => setImmediate(resolve));
      simulator.world.setOnline(1, false);
      assert.equal(codeOf(await bench.caught.at(1)), 'TIMEOUT');
    });

    it('reports an unknown final state as ACTION_FAILED', async () => {
      await deploy({ timeout: 1 });
      simulator.faults.add({ endpoint: 'actionStatus', times: 'always', set: { 'data.status': 'thinking' } });
      await failed(here(), 'ACTION_FAILED', /thinking/);
    });

    it('refuses a picture that is too large, with or without a Content-Length', async () => {
      await deploy({ maxBytes: 50_000 });
      simulator.world.setPicture(1, { bytes: 1_000_000 });
      await failed(here(), 'TOO_LARGE');
      simulator.world.setPicture(1, { bytes: 1_000_000, chunked: true });
      await failed(here(), 'TOO_LARGE');
    });

    for (const [name, change] of [
      ['relative', '/image.png'],
      ['of another scheme', 'file:///etc/passwd'],
      ['remote and on plain http', 'http://pictures.example/image.png'],
      ['missing', null],
    ] as const)
      it(`refuses an image address that is ${name}`, async () => {
        await deploy();
        simulator.faults.add({
          endpoint: 'actionStatus',
          times: 'always',
          transform: (body) => {
            const { data } = body as { data: { status_details?: { value: { image_url: unknown } } } };
            if (data.status_details) data.status_details.value.image_url = change;
            return body;
          },
        });
        await failed(here(), 'SERVICE_ERROR');
        assert.equal(simulator.requests.count('imageGet'), 0);
      });

    it('reports a web page in place of a picture, and an expired address', async () => {
      await deploy();
      simulator.world.setPicture(1, { contentType: 'text/html' });
      await failed(here(), 'SERVICE_ERROR');
      simulator.world.setPicture(1, {});
      for (const status of [403, 404]) {
        simulator.faults.add({ endpoint: 'imageGet', status });
        const error = await failed(here(), 'SERVICE_ERROR');
        assert.equal(error.statusCode, status);
      }
      assert.equal(asked(), 3);
    });

    it('refuses a web page that is labelled as a picture', async () => {
      await deploy();
      const pages = ['<!doctype html><p>Sign in', '\n<?xml version="1.0"?><Error/>', '{"errors":[]}'];
      const storage = await OtherStorage.start((_request, response) => {
        response.setHeader('content-type', 'image/jpeg');
        response.end(pages[0]);
      });
      const set = { 'data.status_details.value.image_url': `${storage.url}/picture` };
      simulator.faults.add({ endpoint: 'actionStatus', times: 'always', set });
      for (; pages.length > 0; pages.shift())
        assert.match(((await failed(here(), 'SERVICE_ERROR')).error as Error).message, /not a picture/);
      await storage.stop();
    });

    it('decodes a picture that the storage compresses, within the limit of its size', async () => {
      const picture = Buffer.concat([
        Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
        Buffer.alloc(50_000),
      ]);
      const storage = await OtherStorage.compressed(picture, 'image/png');
      const set = { 'data.status_details.value.image_url': `${storage.url}/picture` };
      simulator.faults.add({ endpoint: 'actionStatus', times: 'always', set });
      await deploy({ maxBytes: 60_000 });
      assert.deepEqual((await taken(here())).payload, picture);
      await deploy({ maxBytes: 40_000 });
      await failed(here(), 'TOO_LARGE');
      await storage.stop();
    });

    it('ends in RATE_LIMITED at once when a 429 asks for a longer wait than its timeout', async () => {
      await deploy({ timeout: 5 });
      for (const endpoint of ['clusterStatus', 'printerAction', 'actionStatus'] as const) {
        simulator.faults.add({ endpoint, status: 429, retryAfter: 30 });
        assert.equal((await failed(here(), 'RATE_LIMITED')).statusCode, 429);
      }
    });
  });

  it('closes at once during a download', async () => {
    await deploy();
    const hanging = simulator.faults.add({ endpoint: 'imageGet', hang: true });
    flow.send('camera', here());
    while (hanging.hits === 0) await new Promise((resolve) => setImmediate(resolve));
    await flow.closesAtOnce(() => flow.deploy([]));
  });
});

describe('nodes/webcam-snapshot: messages that share a picture', () => {
  const bench = new TimedBench('sent');
  const time = () => bench.time;
  const camera = (id: string, timeout: number): Definition => ({
    ...{ id, type: 'remote-printing-webcam-snapshot', account: 'account', timeout, wires: [['sent']] },
  });
  const take = (id: string) => bench.send(id, { clusterId: bench.clusterIds[0] });
  const messageOf = ({ error }: End) => (error?.error as Error | undefined)?.message;

  beforeEach(async () => {
    await bench.start({ actionDelay: 100 });
    await time().until(bench.deploy([camera('short', 3), camera('long', 60)]));
  });
  afterEach(() => bench.stop());

  it('have each their whole timeout', async () => {
    bench.simulator.faults.add({ endpoint: 'printerAction', hang: true });
    const first = take('short');
    await time().pass(2.5);
    const ends = await time().until(Promise.all([first, take('short')]));
    for (const end of ends) {
      assert.match(messageOf(end) ?? '', /within 3 s/);
      assert.ok(end.took >= 2.9 && end.took < 3.5, `${end.took} s`);
    }
  });

  it('wait after a 429 if one of them has the time', async () => {
    bench.simulator.faults.add({ endpoint: 'printerAction', status: 429, retryAfter: 8 });
    const [short, long] = await time().until(Promise.all([take('short'), take('long')]));
    assert.match(messageOf(short) ?? '', /within 3 s/);
    assert.deepEqual([long.error?.error, long.sent.length], [undefined, 1]);
  });
});
