import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import type { NodeMessage } from 'node-red';
import type { Progress } from '../../lib/print/print-request';
import type { Simulator } from '../../simulator';
import { helperNode, type Flow, type Inbox } from '../helpers/flow';
import { pluck } from '../helpers/pluck';
import { clustersOf, codeOf, NodeBench, partsOf, result } from './support';

const GCODE = [
  ';FLAVOR:Marlin',
  ';TIME:600',
  'G28',
  ...Array.from({ length: 500 }, (_, n) => `G1 X${n % 100} Y${n % 70} E1`),
  '',
].join('\n');
const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');

describe('nodes/upload-and-print', () => {
  let simulator: Simulator;
  let flow: Flow;
  let folder: string;

  const bench = new NodeBench(
    {
      id: 'print',
      type: 'remote-printing-upload-and-print',
      source: 'payload',
      timeout: 20,
      wires: [['sent'], ['progress']],
    },
    { simulator: { timeFactor: 3000 }, others: [helperNode('progress')], sentence: /^[A-Z"“/].*[^.]\.$/ },
  );
  const { run, one: printed, failed } = bench;
  let progress: Inbox;
  async function deploy(changes = {}, options = {}): Promise<void> {
    await bench.deploy(changes, options);
    progress = flow.listen('progress');
  }
  const clusters = () => clustersOf(simulator);
  const clusterId = () => clusters()[0]?.clusterId ?? '';
  const payload = (changes: NodeMessage = {}): NodeMessage => ({
    payload: GCODE,
    filename: 'cube.gcode',
    clusterId: clusterId(),
    ...changes,
  });
  const lastStored = () => simulator.world.storedJobs().at(-1)?.jobId;
  const count = (endpoint: 'print' | 'registerUpload' | 'storagePut') => simulator.requests.count(endpoint);
  async function file(name: string, content: string | Buffer): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, content);
    return path;
  }

  beforeEach(async () => ({ simulator, flow, folder } = await bench.start()));
  afterEach(() => bench.stop());

  describe('printing', () => {
    beforeEach(() => deploy());

    it('prints a string, and passes on the other properties of the message', async () => {
      const req = { socket: {} };
      const message = await printed(payload({ req, other: { deep: 1 }, topic: 'mine' }));
      const got = result(message);
      assert.equal(got.jobName, 'cube.gcode');
      assert.equal(got.fileSize, Buffer.byteLength(GCODE));
      assert.equal(got.contentType, 'text/plain');
      assert.deepEqual(
        [got.printed, got.reusedUpload, got.duplicate, got.dryRun, got.clusterId],
        [true, false, false, false, clusterId()],
      );
      assert.deepEqual(
        [message.jobId, message.clusterJobId, message.clusterId],
        [got.jobId, got.clusterJobId, clusterId()],
      );
      assert.equal((message.raw as { job_instance_uuid: string }).job_instance_uuid, got.clusterJobId);
      assert.equal(message.req, req);
      assert.deepEqual([message.other, message.topic, message.filename], [{ deep: 1 }, 'mine', 'cube.gcode']);
      assert.equal(simulator.world.storedJob(got.jobId ?? '').sha256, sha256(GCODE));
      assert.equal(simulator.world.printJob(got.clusterJobId ?? '').jobId, got.jobId);
    });

    const sources: [string, () => NodeMessage][] = [
      ['a Buffer', () => ({ payload: Buffer.from(GCODE) })],
      ['a Uint8Array', () => ({ payload: new Uint8Array(Buffer.from(GCODE)) })],
      ['a Readable', () => ({ payload: Readable.from([Buffer.from(GCODE)]), fileSize: Buffer.byteLength(GCODE) })],
    ];
    for (const [name, source] of sources)
      it(`prints ${name}`, async () => {
        const got = result(await printed(payload(source())));
        assert.equal(simulator.world.storedJob(got.jobId ?? '').sha256, sha256(GCODE));
      });

    for (const [name, contentType] of [
      ['part.gcode', 'text/plain'],
      ['part.gcode.gz', 'application/gzip'],
      ['part.ufp', 'application/x-ufp'],
      ['PART.GCODE', 'text/plain'],
      ['part.makerbot', 'application/x-makerbot'],
    ] as const)
      it(`sends ${name} as ${contentType}`, async () => {
        const bytes = name.endsWith('.gz') ? gzipSync(GCODE) : Buffer.from(GCODE);
        const got = result(await printed(payload({ payload: bytes, filename: name })));
        assert.deepEqual([got.jobName, got.contentType], [name, contentType]);
        assert.equal(simulator.world.storedJob(got.jobId ?? '').sha256, sha256(bytes));
      });

    it('prints once through a gateway that sends 100 Continue before each answer', async () => {
      const gateway = createServer((client) => {
        const service = connect(Number(new URL(simulator.apiUrl).port), '127.0.0.1');
        client.pipe(service).on('data', (bytes) => {
          if (bytes.toString('latin1').startsWith('HTTP/1.1 ')) client.write('HTTP/1.1 100 Continue\r\n\r\n');
          client.write(bytes);
        });
        for (const socket of [client, service])
          socket.on('error', () => undefined).on('close', () => [client, service].forEach((other) => other.destroy()));
      }).listen(0, '127.0.0.1');
      gateway.unref();
      await once(gateway, 'listening');
      const apiUrl = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
      await deploy({}, { account: { ...flow.account, apiUrl } });
      const got = result(await printed(payload({ printKey: 'k' })));
      gateway.close();
      assert.deepEqual([got.printed, got.duplicate, count('print')], [true, false, 1]);
    });

    for (const [filename, mediaType, contentType, jobName] of [
      ['part.NC', 'text/x-gcode', 'text/x-gcode', 'Order 17.nc'],
      ['part.gcode', ' Text/X-GCode ', 'text/x-gcode', 'Order 17.gcode'],
      ['part.gcode', '', 'text/plain', 'Order 17.gcode'],
      ['part.makerbot', 'application/x-ufp', 'application/x-ufp', 'Order 17.makerbot'],
    ] as const)
      it(`sends ${filename} with msg.mediaType "${mediaType}" as ${contentType}, named ${jobName}`, async () => {
        // A snapshot in front of the node sets the type of its picture.
        const got = result(
          await printed(payload({ filename, mediaType, jobName: 'Order 17', contentType: 'image/jpeg' })),
        );
        assert.deepEqual([got.printed, got.jobName, got.contentType], [true, jobName, contentType]);
        assert.equal(simulator.world.storedJob(got.jobId ?? '').contentType, contentType);
      });

    it('reuses an upload of the same type only', async () => {
      const uploads = async (mediaType?: string) => result(await printed(payload({ mediaType }))).reusedUpload;
      assert.deepEqual([await uploads(), await uploads('text/x-gcode')], [false, false]);
      assert.deepEqual([await uploads('text/x-gcode'), await uploads(), count('registerUpload')], [true, true, 2]);
    });

    it('refuses a msg.mediaType that is none, and names it as the cure for an unknown extension', async () => {
      for (const mediaType of ['gcode', 'text/plain; charset=utf-8', 5, ['text/plain']])
        await failed(payload({ mediaType }), 'INVALID_INPUT');
      const { message } = (await failed(payload({ filename: 'part.nc' }), 'UNSUPPORTED_FILE_TYPE')).error as Error;
      assert.match(message, /msg\.mediaType/);
      await failed(payload({ filename: 'part', mediaType: 'text/x-gcode' }), 'INVALID_INPUT');
      assert.equal(count('registerUpload'), 0);
    });

    it('compresses only what is of the type of gzip', async () => {
      await deploy({ compress: true });
      await failed(payload({ mediaType: 'text/x-gcode' }), 'INVALID_INPUT');
      const got = result(await printed(payload({ mediaType: 'application/gzip' })));
      assert.deepEqual([got.jobName, got.contentType], ['cube.gcode.gz', 'application/gzip']);
    });

    it('names the job by msg.jobName plus the extension of the file', async () => {
      const got = result(await printed(payload({ jobName: 'Halter links' })));
      assert.equal(got.jobName, 'Halter links.gcode');
    });

    it('waits for the end of the print, and sends progress meanwhile', async () => {
      await deploy({ waitFor: 'finished' }, { account: { ...flow.account } });
      const work = printed(payload());
      await progress.find(({ topic }) => topic === 'dispatched');
      // The next poll reads the printer again; a message to a status node would trigger a poll, too.
      simulator.world.advance(3600);
      const got = result(await work);
      assert.deepEqual([got.status, got.job?.state], ['finished', 'finished']);
      assert.equal(progress.all.at(-1)?.topic, 'finished');
    });

    it('shows that a job waits behind others, and how many prints it waits for', async () => {
      await deploy({ waitFor: 'finished' });
      // Outlasts the polls of a busy machine.
      for (const cluster of [1, 2]) simulator.world.printLocally(cluster, { name: 'other.gcode', seconds: 1e7 });
      const shown = () => String(flow.statuses('print').at(-1)?.text);
      flow.send('print', payload());
      const { clusterJobId } = await progress.find(({ topic }) => topic === 'printing');
      assert.match(shown(), /waitingBehind/);
      flow.send('print', payload({ clusterId: clusters()[1]?.clusterId }));
      await progress.find((msg) => msg.topic === 'printing' && msg.clusterJobId !== clusterJobId);
      assert.match(shown(), /several/);
    });

    it('shows that a repeated key sent nothing', async () => {
      await deploy();
      await printed(payload({ printKey: 'k' }));
      await printed(payload({ printKey: 'k' }));
      assert.match(String(flow.statuses('print').at(-1)?.text), /duplicate/);
    });
  });

  it('prints a key once, however the address of the API host is spelled', async () => {
    const { apiUrl } = simulator;
    const before = count('print');
    for (const spelled of [apiUrl, apiUrl.replace('http:', 'HTTP:'), `${apiUrl}/`]) {
      await deploy({}, { account: { ...flow.account, apiUrl: spelled } });
      await printed(payload({ printKey: 'spelled' }));
    }
    assert.equal(count('print') - before, 1);
  });

  describe('progress on output 2', () => {
    it('sends every stage in order, with percent and ids but without the file', async () => {
      await deploy();
      await printed(payload({ other: 1 }));
      const sent = progress.all.map((msg) => msg.payload as Progress);
      const stages = [...new Set(sent.map(({ stage }) => stage))];
      assert.deepEqual(stages, ['preparing', 'registering', 'uploading', 'confirming', 'dispatching', 'dispatched']);
      const last = sent.filter(({ stage }) => stage === 'uploading').at(-1);
      const size = Buffer.byteLength(GCODE);
      assert.deepEqual([last?.percent, last?.bytesSent, last?.bytesTotal], [100, size, size]);
      for (const message of progress.all) {
        assert.equal(message.topic, (message.payload as Progress).stage);
        assert.equal(message.other, 1);
        const keys = 'bytesSent bytesTotal clusterId clusterJobId job jobId percent stage'.split(' ');
        assert.deepEqual(Object.keys(message.payload as object).sort(), keys);
      }
      assert.ok(flow.statuses('print').some(({ text }) => String(text).includes('uploading')));
      assert.match(String(flow.statuses('print').at(-1)?.text), /dispatched/);
    });
  });

  describe('settings', () => {
    it('prints a file from disk', async () => {
      const from = { source: 'file', file: await file('disk.gcode', GCODE), fileType: 'str' };
      await deploy({ ...from, cluster: clusterId(), clusterType: 'str' });
      const message = await printed({ payload: { untouched: true } });
      assert.equal(result(message).jobName, 'disk.gcode');
      assert.equal(simulator.world.storedJob(result(message).jobId ?? '').sha256, sha256(GCODE));
    });

    it('resolves a relative path as Node-RED’s own file nodes do', async () => {
      await file('relative.gcode', GCODE);
      flow.useSettings({ fileWorkingDirectory: folder });
      await deploy({ source: 'file', file: 'relative.gcode', fileType: 'str', print: false });
      assert.equal(result(await printed()).jobName, 'relative.gcode');
    });

    it('reads msg.filename by default; a setting takes precedence over the message', async () => {
      await deploy({ source: 'file', file: 'filename', fileType: 'msg', cluster: clusterId(), clusterType: 'str' });
      const path = await file('by-message.gcode', GCODE);
      assert.equal(result(await printed({ filename: path, clusterId: 'ignored' })).jobName, 'by-message.gcode');
    });

    it('reads a file and its message property alike without a type, and says how to cure a path', async () => {
      const path = await file('by-message.gcode', GCODE);
      await deploy({ source: 'file', file: 'order.path' });
      assert.equal(result(await printed({ order: { path }, clusterId: clusterId() })).jobName, 'by-message.gcode');
      await deploy({ source: 'file', file: path });
      await failed(payload(), 'INVALID_INPUT', /choose the type string for a path/);
      assert.equal(count('print'), 1);
    });

    it('uploads without printing, and needs no cluster', async () => {
      await deploy({ print: false });
      const message = await printed(payload({ clusterId: undefined }));
      const got = result(message);
      assert.deepEqual([got.printed, got.clusterId, got.clusterJobId, got.status], [false, null, null, 'uploaded']);
      assert.equal((message.raw as { job_id: string }).job_id, got.jobId);
      assert.equal(count('print'), 0);
    });

    it('does not read the print key of a message that it only uploads', async () => {
      await deploy({ print: false });
      assert.equal(result(await printed(payload({ printKey: { no: 'text' } }))).status, 'uploaded');
      await deploy({ print: false, printKey: 'order.id', printKeyType: 'msg' });
      assert.equal(result(await printed(payload())).status, 'uploaded');
    });

    it('compresses the upload when set to do so', async () => {
      await deploy({ compress: true });
      const got = result(await printed(payload()));
      assert.deepEqual([got.jobName, got.contentType], ['cube.gcode.gz', 'application/gzip']);
      assert.ok((got.fileSize ?? 0) < Buffer.byteLength(GCODE) / 2);
      assert.equal(simulator.world.storedJob(got.jobId ?? '').printSeconds, 600);
    });

    it('queues the job when it must not start immediately', async () => {
      await deploy({ startNow: false });
      assert.equal(result(await printed(payload())).printed, true);
    });

    it('uploads the same content once, even after a redeploy, until the service has lost it', async () => {
      await deploy();
      const first = result(await printed(payload()));
      const second = result(await printed(payload({ filename: 'other-name.gcode', jobName: 'cube' })));
      assert.deepEqual([second.jobId, second.reusedUpload, second.jobName], [first.jobId, true, 'cube.gcode']);
      await deploy();
      assert.equal(result(await printed(payload())).reusedUpload, true);
      assert.deepEqual([count('registerUpload'), count('storagePut'), count('print')], [1, 1, 3]);
      simulator.world.removeStoredJob(first.jobId ?? '');
      const anew = result(await printed(payload()));
      assert.equal(anew.reusedUpload, false);
      assert.notEqual(anew.jobId, first.jobId);
    });

    it('stores the same content again under another name, which its print bears', async () => {
      await deploy();
      for (const _ of [1, 2]) {
        const names = [];
        for (const filename of ['left.gcode', 'right.gcode'])
          names.push(result(await printed(payload({ filename }))).jobName);
        assert.deepEqual(names, ['left.gcode', 'right.gcode']);
      }
      assert.equal(count('storagePut'), 2);
    });

    it('uploads the content again when reuse is off', async () => {
      await deploy({ reuseUpload: false });
      await printed(payload());
      assert.equal(result(await printed(payload())).reusedUpload, false);
      assert.equal(count('storagePut'), 2);
    });

    it('prints nothing where an environment variable says false', async () => {
      process.env.TEST_PRINT = 'false';
      try {
        await deploy({ print: '${TEST_PRINT}' });
        assert.equal(result(await printed(payload())).printed, false);
        assert.equal(count('print'), 0);
      } finally {
        delete process.env.TEST_PRINT;
      }
    });

    for (const [name, value] of [
      ['print', 'no'],
      ['startNow', 0],
      ['dryRun', 'yes'],
      ['waitFor', 'printed'],
      ['source', 'disk'],
      ['timeout', '10 min'],
    ] as const)
      it(`ends in NOT_CONFIGURED and sends nothing where ${name} is ${JSON.stringify(value)}`, async () => {
        await deploy({ [name]: value });
        await bench.shownFailed(payload(), 'NOT_CONFIGURED', new RegExp(`^The property ${name} must be `));
        assert.deepEqual([count('registerUpload'), count('print')], [0, 0]);
      });

    for (const [name, settings, message] of [
      ['by setting', { dryRun: true }, {}],
      ['by a setting that is text', { dryRun: 'true' }, {}],
      ['by message', {}, { dryRun: true }],
    ] as const)
      it(`checks everything and sends nothing in a dry run, set ${name}`, async () => {
        await deploy(settings);
        const got = result(await printed(payload(message)));
        assert.deepEqual(
          [got.dryRun, got.printed, got.jobId, got.status, got.jobName],
          [true, false, null, null, 'cube.gcode'],
        );
        assert.deepEqual([count('registerUpload'), count('storagePut'), count('print')], [0, 0, 0]);
        await failed(payload({ ...message, filename: 'part.stl' }), 'UNSUPPORTED_FILE_TYPE');
        await failed(payload({ ...message, clusterId: 'no-such-cluster' }), 'NOT_FOUND');
        simulator.world.setOnline(1, false);
        await failed(payload(message), 'NOT_ACCEPTED');
      });
  });

  describe('several clusters', () => {
    beforeEach(() => deploy());

    it('uploads once and prints once per cluster, with parts', async () => {
      const ids = clusters().map(({ clusterId }) => clusterId);
      const { sent, error } = await run(payload({ clusterId: ids, other: 'kept' }));
      assert.equal(error, undefined);
      assert.deepEqual(sent.map((message) => message.clusterId).sort(), [...ids].sort());
      assert.deepEqual(sent.map(({ parts }) => (parts as { index: number }).index).sort(), [0, 1, 2]);
      assert.ok(sent.every(({ parts, other }) => (parts as { count: number }).count === 3 && other === 'kept'));
      assert.equal(new Set(sent.map((message) => result(message).jobId)).size, 1);
      assert.deepEqual([count('storagePut'), count('print')], [1, 3]);
    });

    it('prints on the other clusters when one fails, and ends in the first error', async () => {
      const [one = '', two = ''] = clusters().map(({ clusterId }) => clusterId);
      const { sent, error } = await run(payload({ clusterId: [one, 'no-such', two] }));
      assert.equal(codeOf(error as NodeMessage), 'NOT_FOUND');
      const byIndex = [0, 1, 2].map((index) => result(sent.find((msg) => partsOf(msg)?.index === index)));
      assert.deepEqual(pluck(byIndex, 'printed'), [true, false, true]);
      assert.equal(byIndex[1]?.error?.code, 'NOT_FOUND');
      assert.equal(count('print'), 2);
    });

    it('prints once on a cluster that is listed twice', async () => {
      const { sent } = await run(payload({ clusterId: [clusterId(), clusterId()], printKey: 'k' }));
      assert.equal(sent.length, 1);
      assert.equal(count('print'), 1);
    });

    it('gives each message the printer of its own result alone', async () => {
      const ids = clusters().map(({ clusterId }) => clusterId);
      const { sent } = await run(payload({ clusterId: ids }));
      assert.ok(sent.every((message) => ids.includes(message.clusterId as string)));
      assert.ok(progress.all.every(({ clusterId }) => clusterId === undefined || ids.includes(clusterId as string)));

      await deploy({ cluster: 'order.printers', clusterType: 'msg' });
      const order = { printers: ids, customer: 'one' };
      const named = await run(payload({ clusterId: ['another'], order }));
      assert.deepEqual(pluck(named.sent, 'order'), Array(ids.length).fill({ customer: 'one' }));
      assert.ok(progress.all.every(({ order: passedOn }) => !('printers' in (passedOn as object))));
      assert.deepEqual(order, { printers: ids, customer: 'one' });
    });

    it('refuses more than 10,000 printers, and requests nothing', async () => {
      const ids = Array.from({ length: 10_001 }, (_, nth) => `printer ${nth}`);
      await failed(payload({ clusterId: ids }), 'INVALID_INPUT', /10001 printers, but at most 10000/);
      assert.equal(simulator.requests.count('registerUpload'), 0);
    });

    it('lets the event loop turn between the results of many printers', async () => {
      const ids = Array.from({ length: 2_000 }, (_, nth) => `printer ${nth}`);
      let [longest, before] = [0, 0];
      const watching = { on: true };
      const look = () => {
        longest = Math.max(longest, bench.sent.all.length - before);
        before = bench.sent.all.length;
        if (watching.on) setImmediate(look);
      };
      look();
      const { sent } = await run(payload({ clusterId: ids, filename: 5, jobName: '' }));
      watching.on = false;
      assert.deepEqual([sent.length, new Set(pluck(sent, 'clusterId')).size], [ids.length, ids.length]);
      assert.ok(longest < ids.length / 2, `${longest} results in one turn`);
    });

    it('refuses an empty list and a list with other values', async () => {
      await failed(payload({ clusterId: [] }), 'INVALID_INPUT');
      await failed(payload({ clusterId: [clusterId(), 5] }), 'INVALID_INPUT');
      await failed(payload({ clusterId: { id: 1 } }), 'INVALID_INPUT');
      assert.equal(count('storagePut'), 0);
    });
  });

  describe('printers by msg.filter and msg.choose', () => {
    beforeEach(() => deploy());
    const unnamed = (changes: NodeMessage) => payload({ clusterId: undefined, ...changes });

    it('prints on the first idle printer that suits, and returns the same result for the key later', async () => {
      const [first, second] = clusters();
      const filter = { material: { name: 'pla' }, idle: true };
      const message = await printed(unnamed({ filter, choose: 'idle', printKey: 'order', other: 'kept' }));
      assert.deepEqual([message.clusterId, message.parts, message.other], [first?.clusterId, undefined, 'kept']);
      assert.deepEqual([result(message).printed, result(message).clusterId], [true, first?.clusterId]);
      const next = await printed(unnamed({ filter: JSON.stringify(filter), choose: 'idle', printKey: 'next' }));
      assert.equal(next.clusterId, second?.clusterId);
      const again = await printed(unnamed({ filter, choose: 'idle', printKey: 'order' }));
      assert.deepEqual([result(again).duplicate, result(again).clusterJobId], [true, result(message).clusterJobId]);
      assert.deepEqual([count('registerUpload'), count('print')], [1, 2]);
    });

    it('prints on all printers that match without msg.choose', async () => {
      const [first] = clusters();
      const all = await run(unnamed({ filter: { material: 'PLA' } }));
      assert.equal(all.error, undefined);
      assert.deepEqual(pluck(all.sent, 'clusterId').sort(), pluck(clusters(), 'clusterId').sort());
      assert.ok(all.sent.every(({ parts }) => (parts as { count: number }).count === clusters().length));
      assert.deepEqual([count('registerUpload'), count('print')], [1, clusters().length]);
      const one = await printed(unnamed({ filter: { name: first?.friendlyName } }));
      assert.deepEqual([one.clusterId, (one.parts as { count: number }).count], [first?.clusterId, 1]);
    });

    it('checks everything in a dry run, and prints nothing', async () => {
      const [first] = clusters();
      const dry = result(await printed(unnamed({ choose: 'idle', dryRun: true })));
      assert.deepEqual([dry.clusterId, dry.printed, dry.dryRun], [first?.clusterId, false, true]);
      const all = await run(unnamed({ filter: { idle: true }, dryRun: true }));
      assert.equal(all.sent.length, clusters().length);
      assert.deepEqual([count('registerUpload'), count('print')], [0, 0]);
    });

    it('says why no printer suits', async () => {
      await failed(unnamed({ choose: 'idle', filter: { model: 'none' } }), 'NOT_ACCEPTED', /matches the model/);
      await failed(unnamed({ filter: { tag: 'none' } }), 'NOT_ACCEPTED', /matches the tag/);
      for (const { clusterId: id } of clusters()) simulator.world.setOnline(id, false);
      await failed(unnamed({ choose: 'idle' }), 'NOT_ACCEPTED', /No suitable printer is idle/);
      assert.equal(count('registerUpload'), 0);
    });

    it('needs a valid choice, a criterion in the filter, and no named printer', async () => {
      await failed(unnamed({ choose: 'any' }), 'INVALID_INPUT', /"idle", but it is any/);
      await failed(unnamed({ choose: true }), 'INVALID_INPUT', /"idle", but it is a boolean/);
      await failed(unnamed({ filter: {} }), 'INVALID_INPUT', /msg\.clusterId/);
      await failed(unnamed({ choose: 'idle', filter: { models: 'x' } }), 'INVALID_INPUT', /no "models"/);
      const message = await printed(payload({ choose: 'idle', filter: { model: 'none' } }));
      assert.equal(message.clusterId, clusterId(), 'a named printer wins');
    });
  });

  describe('print keys', () => {
    it('prints once per key: for simultaneous messages, after a redeploy and after a restart', async () => {
      await deploy();
      for (const _ of [1, 2]) flow.send('print', payload({ printKey: 'order 7' }));
      const both = [result(await bench.sent.at(0)), result(await bench.sent.at(1))];
      assert.deepEqual(pluck(both, 'duplicate'), [false, true]);
      assert.equal(both[0]?.clusterJobId, both[1]?.clusterJobId);
      await deploy();
      const third = result(await printed(payload({ printKey: 'order 7', payload: undefined, filename: undefined })));
      assert.deepEqual(
        [third.duplicate, third.clusterJobId, third.jobName, third.fileSize],
        [true, both[0]?.clusterJobId, 'cube.gcode', both[0]?.fileSize],
      );
      ({ flow } = await bench.restart());
      await deploy();
      assert.equal(result(await printed(payload({ printKey: 'order 7' }))).duplicate, true);
      assert.equal(count('print'), 1);
      assert.equal(result(await printed(payload({ printKey: 'order 8' }))).duplicate, false);
    });

    it('refuses a print key of more than 1,000 characters', async () => {
      await deploy();
      await failed(payload({ printKey: 'k'.repeat(1001) }), 'INVALID_INPUT', /printKey has more than 1000 characters/);
      assert.deepEqual([count('registerUpload'), count('print')], [0, 0]);
      await printed(payload({ printKey: 'k'.repeat(1000) }));
    });

    it('prints nothing if the setting of the key, or of the printer, has no value', async () => {
      await deploy({ printKey: 'order.id', printKeyType: 'msg' });
      await failed(payload({ order: {} }), 'INVALID_INPUT', /The setting printKey reads msg\.order\.id/);
      await deploy({ cluster: 'printer', clusterType: 'flow' });
      await failed(payload({ choose: 'idle' }), 'INVALID_INPUT', /The setting cluster reads flow\.printer/);
      assert.deepEqual([count('registerUpload'), count('print')], [0, 0]);
    });

    it('keeps the key free after a definite failure', async () => {
      await deploy();
      simulator.faults.add({ endpoint: 'print', status: 409, code: 'printerNotAcceptingJobs' });
      await failed(payload({ printKey: 'k' }), 'NOT_ACCEPTED');
      await failed(payload({ printKey: 'k', filename: 'mesh.stl' }), 'UNSUPPORTED_FILE_TYPE');
      const got = result(await printed(payload({ printKey: 'k' })));
      assert.deepEqual([got.printed, got.duplicate], [true, false]);
    });

    it('treats the same key on another cluster as another print', async () => {
      await deploy();
      const ids = clusters().map(({ clusterId }) => clusterId);
      await printed(payload({ printKey: 'k' }));
      const { sent } = await run(payload({ printKey: 'k', clusterId: ids.slice(0, 2) }));
      const duplicate = (id?: string) => result(sent.find((msg) => msg.clusterId === id)).duplicate;
      assert.deepEqual([sent.length, duplicate(ids[0]), duplicate(ids[1])], [2, true, false]);
    });
  });

  describe('failures', () => {
    beforeEach(() => deploy());

    it('refuses every kind of bad input, sends nothing, and continues to work', async () => {
      await failed(payload({ clusterId: undefined }), 'INVALID_INPUT', /Choose a printer/);
      const stream = (text: string) => Readable.from([Buffer.from(text)]);
      const invalid: NodeMessage[] = [
        ...['a/b', '..'].map((id) => ({ clusterId: id })),
        { filename: undefined },
        ...[undefined, { an: 'object' }, 5, Readable.from(['x'])].map((content) => ({ payload: content })),
        { payload: Readable.from(['x']), fileSize: '5' },
        ...['a/b.gcode', 'x'.repeat(300), { no: 'text' }].map((jobName) => ({ jobName })),
        { printKey: ['no text'] },
      ];
      for (const changes of invalid) await failed(payload(changes), 'INVALID_INPUT');
      for (const filename of ['part.stl', 'part.pdf', 'part.gz'])
        await failed(payload({ filename }), 'UNSUPPORTED_FILE_TYPE');
      await failed(payload({ payload: '' }), 'FILE_NOT_READABLE');
      for (const text of ['abc', 'abcdefgh'])
        await failed(payload({ payload: stream(text), fileSize: 5 }), 'FILE_CHANGED');
      await failed(payload({ clusterId: 'no-such-cluster' }), 'NOT_FOUND');
      assert.equal(count('print'), 0);
      assert.equal(result(await printed(payload())).printed, true);
    });

    it('shows by words of its own that there is no printer, no file or another type of value', async () => {
      const shown = async (changes: NodeMessage) => {
        await failed(payload(changes), 'INVALID_INPUT');
        return String(flow.statuses('print').at(-1)?.text);
      };
      assert.match(await shown({ clusterId: undefined }), /noPrinter/);
      assert.match(await shown({ clusterId: [] }), /noPrinter/);
      assert.match(await shown({ clusterId: { id: 1 } }), /wrongType/);
      assert.match(await shown({ payload: { an: 'object' } }), /wrongType/);
      assert.match(await shown({ jobName: 'a/b.gcode' }), /error\.INVALID_INPUT/);
      await deploy({ source: 'file' });
      assert.match(await shown({ filename: undefined }), /noFile/);
      await deploy({ source: 'stored' });
      assert.match(await shown({}), /noFile/);
    });

    it('says that a mesh must be sliced first', async () => {
      await failed(payload({ filename: 'part.3mf' }), 'UNSUPPORTED_FILE_TYPE', /slic/);
    });

    it("refuses files that can't be read", async () => {
      await deploy({ source: 'file' });
      const at = (filename: string) => ({ filename, clusterId: clusterId() });
      await failed(at(join(folder, 'missing.gcode')), 'FILE_NOT_READABLE');
      await failed(at(await file('empty.gcode', '')), 'FILE_NOT_READABLE');
      const secret = await file('secret.gcode', GCODE);
      await chmod(secret, 0);
      if (process.getuid?.() !== 0) await failed(at(secret), 'FILE_NOT_READABLE');
      const { mkdir } = await import('node:fs/promises');
      await mkdir(join(folder, 'folder.gcode'));
      await failed(at(join(folder, 'folder.gcode')), 'FILE_NOT_READABLE');
      await failed({ clusterId: clusterId() }, 'INVALID_INPUT');
    });

    it('names the full path of a missing file', async () => {
      await deploy({ source: 'file' });
      const { error } = await failed({ filename: 'nowhere/part.gcode', clusterId: clusterId() }, 'FILE_NOT_READABLE');
      assert.ok((error as Error).message.includes(resolve('nowhere/part.gcode')), (error as Error).message);
    });

    it('refuses an offline printer before the upload', async () => {
      simulator.world.setOnline(1, false);
      await failed(payload(), 'NOT_ACCEPTED', /printer is offline/);
      assert.match(String(flow.statuses('print').at(-1)?.text), /printerOffline/);
      assert.equal(count('registerUpload') + count('print'), 0);
    });

    it('refuses an offline printer that has no status', async () => {
      simulator.world.setOnline(1, false);
      simulator.faults.add({ endpoint: 'clusterStatus', status: 404, times: 'always' });
      await failed(payload(), 'NOT_ACCEPTED', /printer is offline/);
      assert.equal(count('registerUpload'), 0);
    });

    it('reports a print that the service calls failed, and keeps the key free', async () => {
      simulator.world.setDispatch(1, 'failed');
      await failed(payload({ printKey: 'k' }), 'PRINT_FAILED');
      simulator.world.setDispatch(1, 'queued');
      assert.equal(result(await printed(payload({ printKey: 'k' }))).duplicate, false);
    });

    it('reports a refusal by the storage as UPLOAD_FAILED, without its address', async () => {
      simulator.faults.add({ endpoint: 'storagePut', times: 'always', status: 403 });
      const error = await failed(payload(), 'UPLOAD_FAILED');
      assert.ok(!JSON.stringify(error.error).includes(simulator.storageUrl));
      assert.equal(count('print'), 0);
    });

    it('uploads again to a fresh address when the upload breaks off', async () => {
      simulator.faults.add({ endpoint: 'storagePut', resetAtByte: 3000 });
      const got = result(await printed(payload()));
      assert.equal(simulator.world.storedJob(got.jobId ?? '').sha256, sha256(GCODE));
      assert.ok(count('registerUpload') === 2);
    });

    it('resumes an interrupted upload when the storage supports it', async () => {
      simulator.world.setUploadMode('session');
      const path = await file('long.gcode', GCODE.repeat(200));
      simulator.faults.add({ endpoint: 'storagePut', resetAtByte: 1_000_000 });
      const content = Readable.from([GCODE.repeat(200)], { objectMode: false });
      const got = result(await printed(payload({ payload: content, fileSize: GCODE.length * 200, filename: path })));
      assert.equal(simulator.world.storedJob(got.jobId ?? '').sha256, sha256(GCODE.repeat(200)));
      assert.equal(count('registerUpload'), 1);
      const sent = progress.all.map(({ payload: stage }) => (stage as Progress).bytesSent ?? 0);
      const uploading = sent.slice(0, sent.lastIndexOf(Math.max(...sent)));
      const sorted = [...uploading].sort((a, b) => a - b);
      assert.deepEqual(uploading, sorted, 'progress does not jump back');
    });

    for (const [name, stream] of [
      ['never ends', () => new Readable({ read: () => undefined })],
      [
        'delivers everything but never ends',
        () => {
          const endless = new Readable({ read: () => undefined });
          endless.push(GCODE);
          return endless;
        },
      ],
    ] as const)
      it(`ends in TIMEOUT with a stream that ${name}`, async () => {
        await deploy({ timeout: 1 });
        const endless = stream();
        await failed(payload({ payload: endless, fileSize: GCODE.length }), 'TIMEOUT');
        assert.ok(endless.destroyed);
      });

    it('reports a stream that was already read or that fails late', async () => {
      const read = Readable.from([GCODE], { objectMode: false });
      for await (const _ of read) continue;
      assert.match(
        String(codeOf(await run(payload({ payload: read, fileSize: GCODE.length })).then(({ error }) => error ?? {}))),
        /FILE_CHANGED|FILE_NOT_READABLE/,
      );
      const late = new Readable({ read: () => undefined });
      late.push(GCODE.slice(0, 1000));
      const failing = failed(payload({ payload: late, fileSize: GCODE.length }), 'FILE_NOT_READABLE');
      while (!progress.all.some(({ topic }) => topic === 'uploading'))
        await new Promise((resolve) => setImmediate(resolve));
      late.destroy(new Error('pulled'));
      await failing;
      assert.equal(count('print'), 0);
    });

    it('continues when the storage trickles its answer', async () => {
      simulator.faults.add({ endpoint: 'storagePut', trickle: 100 });
      assert.equal(result(await printed(payload())).printed, true);
    });

    it('sends nothing to a plain http address on another machine', async () => {
      await deploy({ timeout: 1 });
      const set = { 'data.upload_url': 'http://192.0.2.1/upload?signature=s' };
      simulator.faults.add({ endpoint: 'registerUpload', times: 'always', set });
      const { message } = (await failed(payload(), 'SERVICE_ERROR')).error as Error;
      assert.match(message, /no valid upload address/);
      assert.ok(!message.includes('192.0.2.1'));
    });

    it('ends in TIMEOUT when the storage hangs', async () => {
      await deploy({ timeout: 1 });
      simulator.faults.add({ endpoint: 'storagePut', hang: true, times: 'always' });
      await failed(payload(), 'TIMEOUT');
      simulator.faults.clear();
      await deploy();
      assert.equal(result(await printed(payload())).printed, true);
    });

    for (const [what, code, fault] of [
      ['a file that stays unconfirmed', 'TIMEOUT', { endpoint: 'getJob', set: { 'data.status': 'uploading' } }],
      ['a refused confirmation', 'FORBIDDEN', { endpoint: 'getJob', status: 403 }],
      ['a storage that hangs', 'TIMEOUT', { endpoint: 'storagePut', hang: true }],
    ] as const)
      it(`names the registered file after ${what}, in the error, the results and the progress`, async () => {
        await deploy({ timeout: 1 });
        simulator.faults.add({ ...fault, times: 'always' });
        const { sent, error } = await run(payload({ clusterId: clusters().map((cluster) => cluster.clusterId) }));
        const jobId = lastStored();
        assert.equal(codeOf(error), code);
        assert.deepEqual([jobId, error?.jobId, ...sent.map((msg) => result(msg).jobId)], Array(5).fill(jobId));
        const sending = progress.all.filter(({ topic }) => topic === 'uploading' || topic === 'confirming');
        assert.ok(sending.length > 0);
        for (const msg of sending) assert.deepEqual([(msg.payload as Progress).jobId, msg.jobId], [jobId, jobId]);
        assert.equal((await failed(payload({ filename: 'other.gcode' }), code)).jobId, lastStored());
      });

    it('reports PRINT_OUTCOME_UNKNOWN within its timeout when the answer is lost and the print is not found', async () => {
      await deploy({ timeout: 3 });
      simulator.faults.add({ endpoint: 'print', when: 'before', reset: true });
      const error = await failed(payload({ printKey: 'k' }), 'PRINT_OUTCOME_UNKNOWN');
      assert.equal(error.jobId, simulator.world.storedJobs()[0]?.jobId);
    });

    it('finds a print whose answer was lost', async () => {
      simulator.faults.add({ endpoint: 'print', when: 'after', reset: true });
      const got = result(await printed(payload()));
      assert.equal(simulator.world.printJob(got.clusterJobId ?? '').jobId, got.jobId);
      assert.equal(count('print'), 1);
    });

    for (const [name, answer] of [
      ['errors', { errors: [{ id: '1', code: 'unexpectedError', http_status: '500', title: 'No.' }] }],
      ['an empty list', []],
      ['nothing', { data: null }],
    ] as const)
      it(`finds a print that was answered by 200 with ${name}, and reports no other one as printed`, async () => {
        simulator.faults.add({ endpoint: 'print', transform: () => answer });
        const got = result(await printed(payload()));
        assert.equal(simulator.world.printJob(got.clusterJobId ?? '').jobId, got.jobId);
        await deploy({ timeout: 3 });
        simulator.faults.add({ endpoint: 'print', transform: () => answer });
        simulator.faults.add({ endpoint: 'clusterStatus', after: 2, status: 500, times: 'always' });
        const error = await failed(payload(), 'PRINT_OUTCOME_UNKNOWN');
        assert.equal(error.clusterId, clusterId());
        assert.equal(count('print'), 2);
      });
  });

  it('processes 100 messages at once on an expired token with a single refresh', async () => {
    await deploy({ print: false, reuseUpload: false });
    simulator.tokens.expireAccessTokens();
    for (let n = 0; n < 100; n++) flow.send('print', payload({ filename: `part-${n}.gcode`, payload: `G28 ; ${n}\n` }));
    await Promise.race([bench.completed.at(99), bench.caught.at(0)]);
    assert.deepEqual(bench.caught.all, []);
    assert.equal(bench.sent.all.length, 100);
    assert.equal(simulator.tokens.refreshes, 1);
    assert.equal(simulator.tokens.reuseDetections, 0);
  });
});
