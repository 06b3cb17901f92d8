import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NodeMessage } from 'node-red';
import type { CurrentUser } from '../../lib/account/current-user';
import type { Cluster, ClusterStatus, PrinterEntry } from '../../lib/service/cluster';
import type { MaintenanceTask } from '../../lib/service/printer';
import type { LoadedMaterial } from '../../lib/query/materials';
import type { PrintJob } from '../../lib/service/print-job';
import type { Simulator } from '../../simulator';
import { helperNode, type Definition, type Flow, type Inbox } from '../helpers/flow';
import { pluck } from '../helpers/pluck';
import { EMPTY_BAYS, freeSlot, slot, spool, stationPrinter } from '../helpers/station';
import { clustersOf, NodeBench } from './support';

const GCODE = ';TIME:600\nG28\n';
const NOWHERE = 'x'.repeat(44);

describe('nodes/query', () => {
  let simulator: Simulator;
  let flow: Flow;

  const account = 'account';
  const source = 'payload';
  const bench = new NodeBench(
    { id: 'query', type: 'remote-printing-query' },
    {
      // Create the jobs and files to query.
      others: [
        {
          ...{ id: 'print', type: 'remote-printing-upload-and-print', account, source, reuseUpload: false },
          wires: [['stored']],
        },
        { id: 'store', type: 'remote-printing-library-file', account, source, wires: [['stored']] },
        helperNode('stored'),
      ],
    },
  );
  const { shownFailed: failed } = bench;
  let stored: Inbox;
  async function deploy(changes = {}, options = {}): Promise<void> {
    await bench.deploy(changes, options);
    stored = flow.listen('stored');
  }
  /** Returns the answer; checks that the rest of the message is unchanged. */
  async function ask<T>(msg: NodeMessage = {}): Promise<{ payload: T; raw: unknown; message: NodeMessage }> {
    const req = { socket: {} };
    const message = await bench.one({ topic: 'mine', req, other: { deep: 1 }, ...msg });
    assert.equal(message.req, req);
    assert.deepEqual([message.topic, message.other], ['mine', { deep: 1 }]);
    return { payload: message.payload as T, raw: message.raw, message };
  }
  const clusters = () => clustersOf(simulator);
  const clusterId = (number = 0) => clusters()[number]?.clusterId ?? '';
  /** Prints on a cluster; returns the ids. */
  async function printed(
    number = 0,
    name = 'cube.gcode',
    payload = GCODE,
  ): Promise<{ jobId: string; clusterJobId: string }> {
    const at = stored.all.length;
    flow.send('print', { payload, filename: name, clusterId: clusterId(number) });
    const { jobId, clusterJobId } = (await stored.at(at)) as { jobId?: string; clusterJobId?: string };
    simulator.world.advance(5);
    return { jobId: jobId ?? '', clusterJobId: clusterJobId ?? '' };
  }

  beforeEach(async () => ({ simulator, flow } = await bench.start()));
  afterEach(() => bench.stop());

  describe('answers', () => {
    it('answers clusters', async () => {
      await deploy();
      const { jobId } = await printed();
      const { payload, raw } = await ask<Cluster[]>();
      assert.deepEqual(pluck(payload, 'clusterId').sort(), pluck(clusters(), 'clusterId').sort());
      const first = payload.find((cluster) => cluster.clusterId === clusterId());
      assert.deepEqual(
        [first?.online, first?.authorized, first?.printers.length, first?.current?.jobId],
        [true, true, 1, jobId],
      );
      const keys = `authorized capabilities clusterId current displayStatus hostGuid jobCount maintenanceDue model name note online
        printerCount printers`;
      assert.deepEqual(Object.keys(payload[0] ?? {}).sort(), keys.split(/\s+/));
      assert.deepEqual(pluck(raw as { cluster_id: string }[], 'cluster_id'), pluck(payload, 'clusterId'));
      assert.match(String(flow.statuses('query').at(-1)?.text), /found/);
    });

    it('answers printers that match a filter, with one request per page', async () => {
      await deploy({ query: 'printers' });
      await printed(0);
      const [busy, , idle] = clusters();
      idle!.note = 'by the door #door';
      const before = simulator.requests.list().length;
      const { payload, raw, message } = await ask<PrinterEntry[]>();
      assert.deepEqual(pluck(simulator.requests.list().slice(before), 'endpoint'), ['clusters']);
      assert.equal(payload.length, clusters().length);
      assert.equal((raw as unknown[]).length, payload.length);
      assert.equal(message.clusterId, undefined);
      const one = payload.find((printer) => printer.clusterId === busy?.clusterId);
      assert.deepEqual([one?.idle, one?.jobCount, one?.current?.name], [false, 1, 'cube.gcode']);
      const found = async (filter: unknown) =>
        (await ask<PrinterEntry[]>({ filter })).payload.map((printer) => printer.clusterId);
      assert.deepEqual(await found({ tag: 'door' }), [idle?.clusterId]);
      assert.deepEqual(await found({ model: 'Simulated Maker Duo', idle: true }), [idle?.clusterId]);
      assert.deepEqual(await found({ model: 'simulated_maker_one', idle: true }), []);
      const { color } = one!.extruders[0]!.material!;
      assert.ok((await found({ material: { name: 'PLA', color } })).includes(busy!.clusterId));
      await failed({ filter: { models: 'X' } }, 'INVALID_INPUT', /no "models"/);
      await deploy({ query: 'printers', item: '{"tag":"door"}', itemType: 'json' });
      assert.deepEqual(await found({ tag: 'other' }), [idle?.clusterId], 'the setting wins');
    });

    it('answers materials with the places of each', async () => {
      await deploy({ query: 'materials' });
      const { payload } = await ask<LoadedMaterial[]>({ filter: { name: clusters()[0]!.friendlyName } });
      const loaded = clusters()[0]!.printers[0]!.extruders.flatMap(({ material }) => material ?? []);
      assert.deepEqual(payload.map(({ guid }) => guid).sort(), loaded.map(({ guid }) => guid).sort());
      const [material] = payload;
      assert.deepEqual([material?.name, material?.brand, material?.printers.length], ['PLA', 'Generic', 1]);
      assert.equal(material?.volumeLeft, material?.printers[0]?.volumeLeft);
      assert.ok(Number(material?.volumeLeft) > 0);
    });

    it('finds what an idle printer with a material station can print, and lists its other slots', async () => {
      const slots = [slot(0, 0, spool('Pink')), slot(1, 1, spool('Gold'), { compatible: false }), freeSlot(2)];
      simulator.faults.add({
        ...{ endpoint: 'clusters', times: 'always' },
        transform: (body) => {
          const [first] = (body as { data: { host_printer: object }[] }).data;
          Object.assign(first!.host_printer, stationPrinter([...slots, slot(3, 1, EMPTY_BAYS[1] ?? null)]));
          return body;
        },
      });
      await deploy({ query: 'printers' });
      const found = async (filter: unknown) => pluck((await ask<PrinterEntry[]>({ filter })).payload, 'clusterId');
      assert.deepEqual(await found({ material: 'pink PLA', idle: true }), [clusters()[0]?.clusterId]);
      assert.deepEqual(await found({ material: 'gold PLA' }), []);
      await deploy({ query: 'materials' });
      const places = async (filter: object) =>
        (await ask<LoadedMaterial[]>({ filter })).payload.map(({ color, printers }) => [
          color,
          ...printers.map(({ slot: at, compatible }) => [at, compatible]),
        ]);
      assert.deepEqual(await places({ name: 'Station' }), [
        ['Pink', [0, true]],
        ['Gold', [1, false]],
      ]);
      assert.deepEqual(await places({ material: ['pink PLA'] }), [['Pink', [0, true]]]);
    });

    describe('preview', () => {
      const isPng = (payload: unknown) =>
        Buffer.isBuffer(payload) && payload.subarray(1, 4).toString('latin1') === 'PNG';

      it('answers the picture of a print, and of a stored UFP file', async () => {
        await deploy({ query: 'preview' });
        const { jobId, clusterJobId } = await printed(0, 'cube.ufp');
        const before = simulator.requests.list().length;
        const unused = { no: 'text' };
        const ofPrint = await ask({ clusterId: clusterId(), clusterJobId, jobId: unused });
        assert.deepEqual(pluck(simulator.requests.list().slice(before), 'endpoint'), ['printJob', 'previewGet']);
        assert.ok(isPng(ofPrint.payload));
        const { message, raw } = ofPrint;
        assert.deepEqual(
          [message.contentType, message.clusterId, message.clusterJobId],
          ['image/png', clusterId(), clusterJobId],
        );
        assert.equal((raw as { uuid: string }).uuid, clusterJobId);
        const ofFile = await ask({ jobId });
        assert.ok(isPng(ofFile.payload));
        assert.equal((ofFile.raw as { job_id: string }).job_id, jobId);
        assert.ok(isPng((await ask({ jobId, clusterJobId })).payload), 'a print without its printer');
      });

      it('reads the id in the node as that of a print or of a stored job', async () => {
        await deploy();
        const { jobId, clusterJobId } = await printed(0, 'cube.ufp');
        await deploy({ query: 'preview', item: jobId, itemType: 'str' });
        assert.equal((await ask({ clusterId: clusterId(), clusterJobId: { no: 'text' } })).message.jobId, jobId);
        const preview = { query: 'preview', item: clusterJobId, itemType: 'str' };
        await deploy({ ...preview, cluster: clusterId(), clusterType: 'str' });
        assert.equal((await ask({ jobId: { no: 'text' } })).message.clusterJobId, clusterJobId);
        await deploy(preview);
        await failed({}, 'INVALID_INPUT', /msg\.clusterId/);
      });

      it('is NOT_FOUND, with the cure, without a picture', async () => {
        await deploy({ query: 'preview' });
        const { jobId } = await printed(0, 'cube.gcode');
        await failed({ jobId }, 'NOT_FOUND', /UFP/);
        const { jobId: other } = await printed(1, 'other.ufp');
        simulator.faults.add({ endpoint: 'previewGet', status: 404 });
        await failed({ jobId: other }, 'NOT_FOUND', /UFP/);
        await failed({ jobId: NOWHERE }, 'NOT_FOUND');
        await failed({}, 'INVALID_INPUT', /msg\.clusterJobId or msg\.jobId/);
        await failed({ clusterJobId: 'some' }, 'INVALID_INPUT', /msg\.clusterId/);
      });
    });

    it('answers cluster-status', async () => {
      await deploy({ query: 'cluster-status' });
      const { clusterJobId } = await printed();
      const { payload, raw, message } = await ask<ClusterStatus>({ clusterId: clusterId() });
      const [cluster] = clusters();
      assert.deepEqual(
        [payload.clusterId, payload.name, payload.hostGuid, payload.online, payload.stale],
        [clusterId(), cluster?.friendlyName, cluster?.hostGuid, true, false],
      );
      assert.equal(payload.current?.clusterJobId, clusterJobId);
      assert.equal(message.clusterId, clusterId());
      assert.ok(Array.isArray((raw as { print_jobs: unknown }).print_jobs));
    });

    it('answers cluster-status without a name when the cluster list is forbidden', async () => {
      await deploy({ query: 'cluster-status', cluster: clusterId(), clusterType: 'str' });
      simulator.faults.add({ endpoint: 'clusters', status: 403, times: 'always' });
      const { payload } = await ask<ClusterStatus>();
      assert.deepEqual([payload.name, payload.printers.length], [null, 1]);
    });

    it('answers print-jobs of all clusters and pages', async () => {
      await deploy({ query: 'print-jobs' });
      const jobs = [await printed(0), await printed(1), await printed(1, 'second.gcode')];
      // Serves the same job on both pages; the client follows the page numbers of the answer.
      let first: unknown[] = [];
      simulator.faults.add({
        endpoint: 'printJobs',
        transform: (body) => {
          first = (body as { data: unknown[] }).data.slice(0, 1);
          return { data: first, meta: { page: { total_count: 2, total_pages: 2 } } };
        },
      });
      simulator.faults.add({ endpoint: 'printJobs', transform: () => ({ data: first }) });
      assert.equal((await ask<PrintJob[]>()).payload.length, 1, 'a job on two pages counts once');
      simulator.faults.clear();
      const { payload, raw } = await ask<PrintJob[]>();
      assert.deepEqual(payload.map((job) => job.clusterJobId).sort(), jobs.map((job) => job.clusterJobId).sort());
      assert.equal((raw as unknown[]).length, 3);
      const [own] = (await ask<PrintJob[]>({ clusterId: clusterId(0) })).payload;
      assert.equal(own?.clusterJobId, jobs[0]?.clusterJobId);
      assert.equal((await ask<PrintJob[]>({ clusterId: [clusterId(0), clusterId(1)] })).payload.length, 3);
    });

    it('answers print-jobs that match a filter', async () => {
      await deploy({ query: 'print-jobs', item: 'filter', itemType: 'msg' });
      const [first, second, third] = [await printed(0), await printed(1), await printed(1, 'second.gcode')];
      const found = async (filter: unknown, msg = {}) =>
        (await ask<PrintJob[]>({ filter, ...msg })).payload.map((job) => job.clusterJobId).sort();
      const ids = (...jobs: (typeof first)[]) => jobs.map((job) => job.clusterJobId).sort();
      assert.deepEqual(await found({ status: 'waiting' }), ids(third));
      assert.deepEqual(await found('{"status":["waiting","in_progress","sending"]}'), ids(first, second, third));
      assert.deepEqual(await found({ clusterIds: [clusterId(1)] }, { clusterId: clusterId(0) }), ids(second, third));
      assert.deepEqual(await found({ clusterIds: [clusterId(1), clusterId(2)] }), ids(second, third));
      assert.deepEqual(await found({ search: 'SECOND' }), ids(third));
      assert.deepEqual(await found({ sentFrom: ['usb', 'network'] }), []);
      assert.deepEqual(await found({ privateOnly: true, sentFrom: 'cloud' }), ids(first, second, third));
      assert.deepEqual(await found(undefined), ids(first, second, third));
      await failed({ filter: { state: 'printing' } }, 'INVALID_INPUT', /no "state", but status, sentFrom/);
      await failed({ filter: 'in_progress' }, 'INVALID_INPUT');
    });

    it('answers print-job', async () => {
      await deploy({ query: 'print-job' });
      const { jobId, clusterJobId } = await printed();
      const { payload, raw, message } = await ask<PrintJob>({ clusterId: clusterId(), clusterJobId, jobId: 'old' });
      assert.deepEqual([payload.clusterJobId, payload.jobId, payload.name], [clusterJobId, jobId, 'cube.gcode']);
      assert.deepEqual([message.clusterId, message.clusterJobId, message.jobId], [clusterId(), clusterJobId, jobId]);
      assert.equal((raw as { uuid: string }).uuid, clusterJobId);
    });

    it('answers stored-job', async () => {
      await deploy({ query: 'stored-job' });
      const { jobId } = await printed();
      const { payload, message } = await ask<Record<string, unknown>>({ jobId });
      const { uploadedAt, ...rest } = payload;
      assert.deepEqual(rest, {
        ...{ jobId, name: 'cube.gcode', fileSize: GCODE.length, contentType: 'text/plain', status: 'uploaded' },
        ...{ statusDescription: null, parsingStatus: 'success' },
        ...{ projectId: null, uploadedBy: simulator.users[0]?.username },
        metadata: {
          ...{ model: null, generator: null, printCores: [], nozzles: [], materials: [], buildPlate: null },
          ...{ seconds: 600, size: null },
        },
      });
      assert.match(String(uploadedAt), /Z$/);
      assert.equal(message.jobId, jobId);
    });

    it('answers stored-job with what the service found in the file', async () => {
      await deploy({ query: 'stored-job' });
      simulator.world.setParsing({ seconds: 60 });
      const header = [
        'START_OF_HEADER',
        'GENERATOR.NAME:slicer',
        'TARGET_MACHINE.NAME:Model X',
        'EXTRUDER_TRAIN.1.MATERIAL.VOLUME_USED:2500',
        'EXTRUDER_TRAIN.1.MATERIAL.GUID:03f24266-0291-43c2-a6da-5211892a2699',
        'EXTRUDER_TRAIN.1.NOZZLE.NAME:BB 0.4',
        'PRINT.TIME:480',
        'END_OF_HEADER',
      ];
      const { jobId } = await printed(0, 'part.gcode', header.map((line) => `;${line}\n`).join(''));
      const metadata = async () => (await ask<Record<string, unknown>>({ jobId })).payload.metadata;
      assert.equal(await metadata(), null);
      simulator.world.advance(60);
      assert.deepEqual(await metadata(), {
        model: 'Model X',
        generator: { name: 'slicer', version: null },
        printCores: [null, 'BB 0.4'],
        nozzles: [null, null],
        materials: [
          null,
          {
            guid: '03f24266-0291-43c2-a6da-5211892a2699',
            ...{ brand: null, type: null, color: null, volume: 2500, weight: 3.1 },
          },
        ],
        buildPlate: null,
        seconds: 480,
        size: null,
      });
    });

    it('answers library-file', async () => {
      await deploy({ query: 'library-file', item: 'wanted', itemType: 'msg' });
      flow.send('store', { payload: 'solid\n', filename: 'cube.stl' });
      const { fileId } = (await stored.at(0)) as { fileId?: string };
      const { payload, message } = await ask<Record<string, unknown>>({ wanted: fileId });
      assert.deepEqual([payload.fileId, payload.name, message.fileId], [fileId, 'cube.stl', fileId]);
    });

    it('answers maintenance', async () => {
      await deploy({ query: 'maintenance' });
      const { payload, raw, message } = await ask<MaintenanceTask[]>({ clusterId: clusterId() });
      assert.ok(payload.length > 0);
      for (const task of payload) {
        assert.equal(typeof task.isDue, 'boolean');
        assert.match(task.dueDate ?? '', /^\d{4}-.*Z$/);
        assert.match(task.code ?? '', /_clean_|_lubricate_/);
        assert.equal(task.type, 'time_based');
        assert.ok(Number(task.interval) > 0);
      }
      assert.equal((raw as unknown[]).length, payload.length);
      assert.equal(message.clusterId, clusterId());
    });

    it('answers current-user', async () => {
      await deploy({ query: 'current-user' });
      const { payload, raw } = await ask<CurrentUser>();
      const [user] = simulator.users;
      assert.deepEqual([payload.userId, payload.name], [user?.userId, user?.name]);
      assert.deepEqual(pluck(payload.organizations, 'id'), pluck(user!.organizations, 'organizationId'));
      assert.equal((raw as { user_id: string }).user_id, user?.userId);
    });
  });

  describe('a failure', () => {
    it('names the missing input', async () => {
      for (const [query, words] of [
        ['cluster-status', /msg\.clusterId/],
        ['maintenance', /msg\.clusterId/],
        ['print-job', /msg\.clusterId/],
        ['stored-job', /msg\.jobId/],
        ['library-file', /msg\.fileId/],
      ] as const) {
        await deploy({ query });
        await failed({}, 'INVALID_INPUT', words);
      }
      await deploy({ query: 'print-job' });
      await failed({ clusterId: clusterId() }, 'INVALID_INPUT', /msg\.clusterJobId/);
      await failed({ clusterId: ['a'], clusterJobId: 'b' }, 'INVALID_INPUT');
    });

    it("contains the ids and the service's status and code", async () => {
      for (const [query, ids] of [
        ['cluster-status', { clusterId: NOWHERE }],
        ['maintenance', { clusterId: NOWHERE }],
        ['print-job', { clusterId: NOWHERE, clusterJobId: 'no-such-job' }],
        ['stored-job', { jobId: NOWHERE }],
        ['library-file', { fileId: NOWHERE }],
      ] as const) {
        await deploy({ query });
        const error = await failed({ ...ids }, 'NOT_FOUND');
        assert.deepEqual({ ...ids, ...error }, error);
        assert.deepEqual([error.statusCode, error.serviceCode], [404, 'recordNotFound']);
      }
    });

    const ENDPOINTS = [
      ['clusters', 'clusters'],
      ['cluster-status', 'clusterStatus'],
      ['print-jobs', 'printJobs'],
      ['print-job', 'printJob'],
      ['stored-job', 'getJob'],
      ['library-file', 'getFile'],
      ['maintenance', 'pendingMaintenance'],
      ['current-user', 'currentUser'],
    ] as const;

    it('has the code of each refusal, for every query', async () => {
      for (const [query, endpoint] of ENDPOINTS) {
        await deploy({ query });
        for (const [code, fault] of [
          ['FORBIDDEN', { status: 403 }],
          ['NOT_ACCEPTED', { status: 409 }],
          ['RATE_LIMITED', { status: 429, retryAfter: 61 }],
          ['SERVICE_ERROR', { status: 418 }],
        ] as const) {
          simulator.faults.add({ endpoint, ...fault });
          await failed({ clusterId: clusterId(), clusterJobId: 'c', jobId: 'j', fileId: 'f' }, code);
        }
      }
    });

    it('is SERVICE_ERROR for malformed answers', async () => {
      for (const [query, endpoint] of ENDPOINTS.filter(([name]) => name !== 'library-file')) {
        await deploy({ query });
        const { clusterJobId, jobId } = await printed();
        simulator.faults.add({ endpoint, transform: () => ({ data: 'nothing of the kind' }) });
        await failed({ clusterId: clusterId(), clusterJobId, jobId }, 'SERVICE_ERROR');
        simulator.faults.clear();
      }
    });

    it('is NOT_CONFIGURED for an unknown query', async () => {
      await deploy({ query: 'what-is-new' });
      await failed({}, 'NOT_CONFIGURED');
    });
  });

  it('answers in its example flow', async () => {
    const path = join(__dirname, '../../examples/15-printing-queries.json');
    const example = JSON.parse(await readFile(path, 'utf8')) as Definition[];
    const account = example.find(({ type }) => type === 'remote-printing-account')!;
    const queries = example.filter(({ type }) => type === 'remote-printing-query');
    const debugs = example.filter(({ type }) => type === 'debug');
    const placed = [...queries, ...debugs.map(({ id }) => helperNode(id))].map((node) => ({ ...node, z: 'tab' }));
    await flow.deploy(placed, { account, credentials: {} });
    const shown = (name: string) => flow.listen(debugs.find((debug) => debug.name === name)!.id);
    const inboxes = ['clusters', 'to do', 'print jobs', 'user and workspaces'].map(shown);
    const [list, tasks, jobs, user] = inboxes as [Inbox, Inbox, Inbox, Inbox];
    const send = (query: string, msg = {}) => flow.send(queries.find((node) => node.query === query)!.id, msg);
    send('clusters');
    const [first] = (await list.at(0)).payload as Cluster[];
    send('maintenance', { clusterId: first?.clusterId });
    assert.ok(((await tasks.at(0)).payload as unknown[]).length > 0);
    send('print-jobs');
    assert.deepEqual((await jobs.at(0)).payload, []);
    send('current-user');
    assert.equal(((await user.at(0)).payload as CurrentUser).organizations.length > 0, true);
  });
});
