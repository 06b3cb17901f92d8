import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Question } from '../../lib/assistant/assistant';
import { startSimulator, type Simulator } from '../../simulator';
import { catchNode, Flow, helperNode, type Inbox } from '../helpers/flow';
import { storeElsewhere } from '../helpers/print-request';
import { TurnedTime } from '../helpers/turned-time';
import { clustersOf } from './support';

const TOKEN = 'a-token-of-this-test';
const QUEUE = {
  ...{ id: 'queue', type: 'remote-printing-queue', account: 'account', name: 'Farm' },
  ...{ match: 'lenient', material: 'any', gate: 'confirm', prices: '{"currency":"EUR","hour":6}' },
};
const STATELESS = '2026-07-28';

type Json = Record<string, unknown>;
interface Plate extends Json {
  plate: string;
  judges: string | null;
}
interface Print extends Json {
  state: string;
  copy: number;
  attempt: number;
  clusterId: string;
}

describe('nodes/assistant: every tool, by the official client', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;
  let server: Server;
  let address: string;
  let requests: Inbox;
  let client: Client;
  let called: Set<string>;

  beforeEach(async () => {
    time = new TurnedTime();
    simulator = await startSimulator({
      ...{ autoApprove: true, printers: 2, actionDelay: 0, now: time.now, accessTokenLifetime: 1e7 },
    });
    flow = await Flow.start(simulator);
    // A connection that this process closes while it is busy would fail the client's next request.
    server = createServer({ keepAliveTimeout: 0 }, (request, response) => flow.httpNode(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/remote-printing-tools`;
    called = new Set();
  });
  afterEach(async () => {
    await client.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await time.until(flow.stop());
    await simulator.close();
    time.restore();
  });

  const start = async (revision: string, allow: string): Promise<void> => {
    const node = {
      ...{ id: 'tools', type: 'remote-printing-assistant', account: '', queue: 'queue', allow, expires: 600 },
      ...{ path: 'remote-printing-tools', hosts: '', wires: [['requests'], []] },
    };
    const credentials = { ...flow.credentials, tools: { token: TOKEN } };
    const nodes = [node, ...['requests', 'caught'].map(helperNode), catchNode(['caught'])];
    await time.until(flow.deploy(nodes, { credentials, more: [QUEUE] }));
    requests = flow.listen('requests');
    await time.pass(60);
    const pinned = { versionNegotiation: { mode: { pin: STATELESS } } };
    client = new Client({ name: 'test', version: '1.0' }, revision === STATELESS ? pinned : {});
    const headers = { Authorization: `Bearer ${TOKEN}` };
    await client.connect(new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers } }));
  };
  const listed = async () => (await client.listTools()).tools.map(({ name }) => name);
  /** The client checks each result against the schema that was listed. */
  const call = async (name: string, given: Json = {}): Promise<Json> => {
    called.add(name);
    const result = await time.until(client.callTool({ name, arguments: given }));
    const told = result.structuredContent as Json;
    const [text] = result.content;
    assert.deepEqual(JSON.parse(text?.type === 'text' ? text.text : ''), told);
    return told;
  };
  let keys = 0;
  /** Acts, and waits for the end. A person says yes. */
  const act = async (name: string, given: Json): Promise<Json> => {
    const told = await call(name, { key: `key ${(keys += 1)}`, ...given });
    if (told.state !== 'waiting') return told;
    const { requestId } = (await requests.at(requests.all.length - 1)).payload as Question;
    flow.send('tools', { requestId, approve: true });
    await time.settled();
    return call('read_request', { handle: told.handle });
  };
  const does = async (name: string, given: Json): Promise<Json> => {
    const told = await act(name, given);
    assert.deepEqual([told.state, told.code], ['done', null], `${name}: ${JSON.stringify(told)}`);
    return told;
  };
  const platesOf = async (clusterId: string): Promise<Plate[]> => {
    const { printers } = (await call('list_printers', { clusterId })) as { printers: { plates: Plate[] }[] };
    return printers[0]?.plates ?? [];
  };
  const printsOf = async (itemId: unknown): Promise<Print[]> =>
    ((await call('explain_item', { itemId })).item as { prints: Print[] }).prints;

  for (const [revision, allow] of [
    [STATELESS, 'act'],
    ['2025-11-25', 'ask'],
  ] as const)
    it(`is listed and does its work in the revision ${revision}, with the permission to ${allow}`, async () => {
      await start(revision, allow);
      const names = await listed();
      const jobId = storeElsewhere(simulator, 'vase.gcode');
      const [one = '', two = ''] = clustersOf(simulator).map(({ clusterId }) => clusterId);

      for (const name of ['list_jobs', 'list_materials', 'list_queue', 'queue_forecast'])
        assert.equal((await call(name)).code, undefined, name);
      assert.equal(((await call('list_files')).files as Json[])[0]?.jobId, jobId);
      assert.equal((await call('printer_picture', { clusterId: one })).clusterId, one);

      await does('print_stored_job', { clusterId: two, jobId });
      await time.pass(400);
      const { jobs } = (await call('list_jobs', { clusterId: two })) as { jobs: Json[] };
      const { clusterJobId } = jobs.find(({ state }) => state === 'printing') ?? assert.fail(JSON.stringify(jobs));
      for (const [name, state] of [
        ['pause_print', 'paused'],
        ['resume_print', 'printing'],
        ['abort_print', 'aborted'],
      ] as const) {
        await does(name, { clusterId: two, clusterJobId });
        await time.pass(60);
        const now = ((await call('list_jobs', { clusterId: two })) as { jobs: Json[] }).jobs;
        assert.equal(now.find((job) => job.clusterJobId === clusterJobId)?.state ?? 'aborted', state, name);
      }

      const { itemId } = await does('add_to_queue', { jobId, copies: 2 });
      const other = await does('add_to_queue', { jobId });
      await does('move_item', { itemId: other.itemId, position: 1 });
      const { items } = (await call('list_queue')) as { items: Json[] };
      assert.deepEqual(
        items.map((item) => [item.itemId, item.position]),
        [
          [other.itemId, 1],
          [itemId, 2],
        ],
      );
      for (const each of [other, { itemId }]) await does('hold_item', { itemId: each.itemId });
      assert.deepEqual(
        ((await call('list_queue')).items as Json[]).map(({ state }) => state),
        ['held', 'held'],
      );

      // The print that was aborted lies on the plate.
      const [aborted] = await platesOf(two);
      assert.ok(aborted?.judges, JSON.stringify(aborted));
      await does('plate_cleared', { clusterId: two, good: false, judges: aborted.judges });
      await does('release_item', { itemId });
      await time.pass(1_500);
      const print = (await printsOf(itemId)).find(({ clusterId }) => clusterId === two) ?? assert.fail();
      assert.equal(print.state, 'finished');
      const [finished] = await platesOf(two);
      assert.ok(finished?.judges && finished.judges !== aborted.judges);
      await does('release_item', { itemId: other.itemId });
      await time.pass(60);
      const prints = () => simulator.requests.count('print');
      assert.equal(prints(), 3, 'the next one waits for a plate');

      const clear = (given: Json) => act('plate_cleared', { clusterId: two, good: true, ...given });
      assert.equal((await clear({ judges: aborted.judges })).state, 'failed', 'another print lies there now');
      assert.equal((await clear({})).code, 'INVALID_INPUT', 'it names no print');
      const dry = await clear({ good: false, judges: finished.judges, dryRun: true });
      assert.match(String(dry.sentence), /is clear and that its last print is bad/);
      await time.pass(60);
      assert.equal(prints(), 3);

      const named = { itemId, copy: print.copy, attempt: print.attempt, key: 'cleared', clusterId: two, good: true };
      await does('plate_cleared', named);
      await time.pass(60);
      assert.equal(prints(), 4, 'the next one prints on the plate that is clear');
      const { copies } = (await call('explain_item', { itemId })).item as { copies: Json };
      assert.deepEqual([copies.good, copies.waiting], [1, 0]);
      const repeat = await call('plate_cleared', named);
      assert.deepEqual([repeat.state, repeat.repeated, prints()], ['done', true, 4]);

      if (allow === 'act') await call('read_request', { handle: repeat.handle });
      assert.deepEqual([...called].sort(), [...names].sort());
    });
});
