import assert from 'node:assert/strict';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import express from 'express';
import type { NodeMessage } from 'node-red';
import { startSimulator, type Simulator } from '../../simulator';
import type { CallReport, Question } from '../../lib/assistant/assistant';
import { catchNode, Flow, helperNode, type Definition, type Inbox } from '../helpers/flow';
import { storeElsewhere } from '../helpers/print-request';
import { clustersOf, codeOf } from './support';

const TOKEN = 'a-token-of-this-test';
const NONE = '';
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const QUEUE = {
  ...{ id: 'queue', type: 'remote-printing-queue', account: 'account', name: 'Farm' },
  ...{ match: 'lenient', material: 'any' },
};
const STATELESS = '2026-07-28';

type Json = Record<string, unknown>;
interface Result extends Json {
  state?: string;
  handle?: string;
  repeated?: boolean;
  code?: string | null;
}

describe('nodes/assistant', () => {
  let simulator: Simulator;
  let flow: Flow;
  let server: Server | undefined;
  let address: string;
  let requests: Inbox;
  let log: Inbox;
  let caught: Inbox;
  let clients: Client[];

  beforeEach(async () => {
    clients = [];
    simulator = await startSimulator({ autoApprove: true, printers: 2, actionDelay: 0 });
    flow = await Flow.start(simulator);
    await serve((request, response) => flow.httpNode(request, response));
  });
  afterEach(async () => {
    for (const client of clients) await client.close();
    await stopServing();
    await flow.stop();
    await simulator.close();
  });

  const serve = async (listener: RequestListener): Promise<void> => {
    await stopServing();
    server = createServer({ keepAliveTimeout: 0 }, listener);
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/remote-printing-tools`;
  };
  const stopServing = async (): Promise<void> => {
    server?.closeAllConnections();
    if (server) await new Promise((resolve) => server?.close(resolve));
    server = undefined;
  };

  const deploy = async (
    changes: object = {},
    { token = TOKEN, more = [] as Definition[], opens = true } = {},
  ): Promise<void> => {
    const node = {
      ...{ id: 'tools', type: 'remote-printing-assistant', account: 'account', path: 'remote-printing-tools' },
      ...{ hosts: '', allow: 'ask', expires: 600, wires: [['requests'], ['log']] },
      ...changes,
    };
    const around = [...['requests', 'log', 'caught'].map(helperNode), catchNode(['caught'])];
    const credentials = { ...flow.credentials, tools: token === NONE ? {} : { token } };
    await flow.deploy([node, ...around], { credentials, more });
    [requests, log, caught] = [flow.listen('requests'), flow.listen('log'), flow.listen('caught')];
    while (opens && (await fetch(address, { method: 'POST' })).status === 503)
      await new Promise((r) => setImmediate(r));
  };
  const withQueue = (changes: object = {}) => deploy({ account: '', queue: 'queue', ...changes }, { more: [QUEUE] });
  /** Restarts Node-RED on the same state. */
  const restart = async (): Promise<void> => {
    await flow.stop({ keep: true });
    flow = await Flow.start(simulator, flow.userDir);
  };

  const connect = async (revision: string, headers: Record<string, string> = bearer()): Promise<Client> => {
    const pinned = { versionNegotiation: { mode: { pin: STATELESS } } };
    const client = new Client({ name: 'test', version: '1.0' }, revision === STATELESS ? pinned : {});
    clients.push(client);
    await client.connect(new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers } }));
    return client;
  };
  const bearer = () => ({ Authorization: `Bearer ${TOKEN}` });
  const call = async (client: Client, name: string, given: Json = {}) => {
    const result = await client.callTool({ name, arguments: given });
    return { ...result, told: result.structuredContent as Result };
  };
  const clusterId = () => clustersOf(simulator)[0]?.clusterId ?? '';
  const dispatches = () => simulator.requests.count('print');
  const question = (msg: NodeMessage): Question => msg.payload as Question;
  const approve = (requestId: string, isApproved = true) => flow.send('tools', { requestId, approve: isApproved });
  const over = async (client: Client, handle: unknown): Promise<Result> => {
    for (;;) {
      const { told } = await call(client, 'read_request', { handle });
      if (told.state !== 'waiting' && told.state !== 'running') return told;
    }
  };

  /** Waits until the node has warned. */
  const warned = async (word: RegExp) => {
    const warn = flow.node('tools').warn as unknown as { args: [string][] };
    while (!warn.args.flat().some((sentence) => word.test(sentence))) await new Promise((r) => setImmediate(r));
  };

  /** A request by the letter of the specification. */
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    fetch(address, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...bearer(),
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const META = {
    'io.modelcontextprotocol/protocolVersion': STATELESS,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const stateless = (method: string, params: Json = {}, headers: Record<string, string> = {}) =>
    post(
      { jsonrpc: '2.0', id: 1, method, params: { _meta: META, ...params } },
      { 'MCP-Protocol-Version': STATELESS, 'Mcp-Method': method, ...headers },
    );
  const errorOf = async (response: Response): Promise<[number, number | undefined]> => {
    const { error } = (await response.json()) as { error?: { code: number } };
    return [response.status, error?.code];
  };

  for (const revision of [STATELESS, '2025-11-25']) {
    describe(`in the revision ${revision}`, () => {
      it('lists its tools, and those that act only where the node permits it', async () => {
        await deploy({ allow: 'look' });
        const names = async () => (await (await connect(revision)).listTools()).tools.map(({ name }) => name);
        const looks = ['list_printers', 'list_jobs', 'printer_picture', 'list_files', 'list_materials', 'read_request'];
        assert.deepEqual(await names(), looks);
        await withQueue({ allow: 'ask' });
        const all = await (await connect(revision)).listTools();
        assert.deepEqual(
          all.tools.map(({ name }) => name),
          [
            ...looks,
            ...['list_queue', 'explain_item', 'queue_forecast', 'print_stored_job', 'pause_print', 'resume_print'],
            ...['abort_print', 'add_to_queue', 'plate_cleared', 'hold_item', 'release_item', 'move_item'],
          ],
        );
        for (const { annotations, outputSchema, inputSchema } of all.tools) {
          assert.equal(outputSchema?.type, 'object');
          assert.equal(inputSchema.type, 'object');
          for (const hint of ['readOnlyHint', 'destructiveHint', 'idempotentHint'] as const)
            assert.equal(typeof annotations?.[hint], 'boolean');
        }
      });

      it('answers every tool that looks, with the same JSON as text', async () => {
        storeElsewhere(simulator, 'vase.gcode');
        await withQueue();
        const client = await connect(revision);
        await client.listTools();
        const texts = new Map<string, Json>();
        for (const [name, given] of Object.entries({
          ...{
            list_printers: {},
            list_jobs: {},
            list_files: {},
            list_materials: {},
            list_queue: {},
            queue_forecast: {},
          },
          printer_picture: { clusterId: clusterId() },
        })) {
          const { content, told, isError } = await call(client, name, given);
          assert.ok(!isError, `${name}: ${JSON.stringify(told)}`);
          const [first] = content;
          assert.deepEqual(JSON.parse(first?.type === 'text' ? first.text : ''), told);
          if (name === 'printer_picture') assert.equal(content[1]?.type, 'image');
          texts.set(name, told);
        }
        assert.equal((texts.get('list_printers')?.printers as unknown[] | undefined)?.length, 2);
        assert.deepEqual(
          (texts.get('list_files')?.files as { name: string }[] | undefined)?.map(({ name }) => name),
          ['vase.gcode'],
        );
      });

      it('runs every tool that acts', async () => {
        const jobId = storeElsewhere(simulator, 'vase.gcode');
        await withQueue({ allow: 'act' });
        const client = await connect(revision);
        await client.listTools();
        // Before the queue could send something there.
        const second = clustersOf(simulator)[1]?.clusterId ?? '';
        const { uuid } = simulator.world.printLocally(2, { name: 'local.gcode', seconds: 3600 });
        simulator.world.advance(400);
        let keys = 0;
        const act = async (name: string, given: Json): Promise<Result> => {
          const { told } = await call(client, name, { key: `key ${(keys += 1)}`, ...given });
          assert.equal(told.state, 'done', `${name}: ${JSON.stringify(told)}`);
          return told;
        };
        const { itemId } = await act('add_to_queue', { jobId, copies: 2 });
        await act('hold_item', { itemId });
        await act('move_item', { itemId, position: 1 });
        await act('release_item', { itemId });
        assert.equal((await call(client, 'explain_item', { itemId })).isError ?? false, false);
        const named = { clusterId: second, clusterJobId: uuid };
        for (const name of ['pause_print', 'resume_print', 'abort_print']) {
          await act(name, named);
          simulator.world.advance(30);
        }
        const { told } = await call(client, 'plate_cleared', { clusterId: second, good: true, key: 'unnamed' });
        assert.equal(told.code, 'INVALID_INPUT');
      });
    });
  }

  it('answers an initialize in every revision, and another one with the newest that begins so', async () => {
    await deploy();
    const revisions = async (wanted: string) => {
      const params = { protocolVersion: wanted, capabilities: {}, clientInfo: { name: 'x', version: '1' } };
      const { result } = (await (await post({ jsonrpc: '2.0', id: 1, method: 'initialize', params })).json()) as {
        result: { protocolVersion: string };
      };
      return result.protocolVersion;
    };
    for (const known of ['2025-11-25', '2025-06-18', '2025-03-26']) assert.equal(await revisions(known), known);
    assert.equal(await revisions('2024-11-05'), '2025-11-25');
  });

  it('prints once after an OK, and says so to every repeat', async () => {
    const jobId = storeElsewhere(simulator, 'vase.gcode');
    await deploy();
    const client = await connect(STATELESS);
    const wish = { clusterId: clusterId(), jobId, key: 'my print' };
    const { told } = await call(client, 'print_stored_job', wish);
    assert.deepEqual([told.state, told.repeated], ['waiting', false]);
    const asked = await requests.at(0);
    assert.equal(asked.topic, 'print_stored_job');
    assert.deepEqual(question(asked).arguments, { clusterId: clusterId(), jobId });
    assert.match(question(asked).sentence, /^Print vase\.gcode on .+\.$/);
    assert.equal(JSON.stringify(told).includes(question(asked).requestId), false);
    assert.equal(dispatches(), 0);
    approve(question(asked).requestId);
    const done = await over(client, told.handle);
    assert.deepEqual([done.state, done.jobId, dispatches()], ['done', jobId, 1]);
    const { told: repeat } = await call(client, 'print_stored_job', wish);
    assert.deepEqual([repeat.state, repeat.repeated, repeat.clusterJobId], ['done', true, done.clusterJobId]);
    approve(question(asked).requestId);
    assert.equal(codeOf(await caught.at(0)), 'INVALID_INPUT');
    const other = await call(client, 'print_stored_job', {
      ...wish,
      clusterId: clustersOf(simulator)[1]?.clusterId ?? '',
    });
    assert.equal(other.told.code, 'INVALID_INPUT');
    assert.deepEqual([dispatches(), requests.all.length], [1, 1]);
    const calls = log.all.map(({ payload }) => payload as CallReport);
    assert.deepEqual(calls[0], {
      ...{ tool: 'print_stored_job', arguments: wish, state: 'waiting', code: null },
      client: { name: 'test', version: '1.0' },
    });
  });

  it('prints nothing without an OK: refused, unanswered, or answered with something else', async () => {
    const jobId = storeElsewhere(simulator, 'vase.gcode');
    await deploy();
    const client = await connect('2025-11-25');
    const wish = (key: string) => ({ clusterId: clusterId(), jobId, key });
    const { told } = await call(client, 'print_stored_job', wish('one'));
    const { requestId } = question(await requests.at(0));
    for (const answer of [
      ...[{}, { requestId }, { requestId, approve: 'yes' }, { requestId: told.handle, approve: true }],
      ...[
        { requestId: `${requestId}x`, approve: true },
        { requestId: 7, approve: true },
      ],
    ])
      flow.send('tools', answer);
    await caught.at(5);
    assert.deepEqual([...new Set(caught.all.map(codeOf))], ['INVALID_INPUT']);
    approve(requestId, false);
    assert.equal((await over(client, told.handle)).state, 'refused');
    assert.equal(dispatches(), 0);
    const dry = await call(client, 'print_stored_job', { ...wish('two'), dryRun: true });
    assert.deepEqual([dry.told.state, dry.told.dryRun, dispatches(), requests.all.length], ['done', true, 0, 1]);
  });

  it('prints once after a restart between the request and its OK', async () => {
    const jobId = storeElsewhere(simulator, 'vase.gcode');
    await deploy();
    const wish = { clusterId: clusterId(), jobId, key: 'over a restart' };
    const { told } = await call(await connect(STATELESS), 'print_stored_job', wish);
    const { requestId } = question(await requests.at(0));
    await restart();
    await deploy();
    approve(requestId);
    const client = await connect(STATELESS);
    assert.equal((await over(client, told.handle)).state, 'done');
    await restart();
    await deploy();
    const { told: repeat } = await call(await connect(STATELESS), 'print_stored_job', wish);
    assert.deepEqual([repeat.state, repeat.repeated, dispatches()], ['done', true, 1]);
  });

  it('answers with the codes of the revision 2026-07-28', async () => {
    await deploy();
    const code = async (response: Promise<Response>) => errorOf(await response);
    assert.deepEqual(await code(stateless('server/discover', {}, { 'Mcp-Method': 'tools/list' })), [400, -32020]);
    assert.deepEqual(
      await code(stateless('server/discover', {}, { 'MCP-Protocol-Version': '2025-11-25' })),
      [400, -32020],
    );
    const named = { 'Mcp-Name': 'list_files' };
    assert.deepEqual(await code(stateless('tools/call', { name: 'list_jobs' }, named)), [400, -32020]);
    const future = { ...META, 'io.modelcontextprotocol/protocolVersion': '2027-01-01' };
    const header = { 'MCP-Protocol-Version': '2027-01-01' };
    assert.deepEqual(await code(stateless('server/discover', { _meta: future }, header)), [400, -32022]);
    assert.deepEqual(await code(stateless('server/discover', { _meta: {} })), [400, -32602]);
    const { 'io.modelcontextprotocol/clientCapabilities': _, ...rest } = META;
    assert.deepEqual(await code(stateless('server/discover', { _meta: rest })), [400, -32602]);
    assert.deepEqual(await code(stateless('resources/list')), [404, -32601]);
    assert.deepEqual(await code(post({ jsonrpc: '2.0', id: 1, method: 'resources/list' })), [200, -32601]);
    assert.deepEqual(await code(post([{ jsonrpc: '2.0', id: 1, method: 'ping' }])), [400, -32600]);
    assert.deepEqual(await code(post('{')), [400, -32700]);
    const answer = (await (await stateless('server/discover')).json()) as { result: Json };
    assert.deepEqual(
      [answer.result.resultType, answer.result.supportedVersions],
      ['complete', [STATELESS, '2025-11-25', '2025-06-18', '2025-03-26']],
    );
    assert.equal((await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).status, 202);
    for (const method of ['GET', 'DELETE'])
      assert.equal((await fetch(address, { method, headers: bearer() })).status, 405);
  });

  it('is closed to other origins, also while it is not open yet', async () => {
    await serve((request, response) => {
      response.setHeader('Access-Control-Allow-Origin', '*');
      flow.httpNode(request, response);
    });
    const headersNow = async (status: number) => {
      const answer = await fetch(address, { method: 'POST' });
      assert.equal(answer.status, status);
      return ['access-control-allow-origin', 'cross-origin-resource-policy'].map((name) => answer.headers.get(name));
    };
    const node = { id: 'tools', type: 'remote-printing-assistant', account: '', path: 'remote-printing-tools' };
    await flow.deploy([{ ...node, hosts: '', allow: 'look', expires: 600, wires: [[], []] }]);
    assert.deepEqual(await headersNow(503), [null, 'same-origin']);
    await deploy();
    assert.deepEqual(await headersNow(401), [null, 'same-origin']);
  });

  it('answers 403 to another origin and to an unknown host, and 401 without the token', async () => {
    await deploy();
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    assert.equal((await post(list, { Origin: 'https://evil.example.org' })).status, 403);
    assert.equal((await post(list, { Authorization: 'Bearer wrong' })).status, 401);
    const without = await post(list, { Authorization: '' });
    assert.deepEqual([without.status, without.headers.get('www-authenticate')], [401, 'Bearer']);
    assert.equal((await post(list, { Authorization: '', 'X-Remote-Printing-Token': TOKEN })).status, 401);
    assert.equal((await post(list)).status, 200);
    assert.equal((await fetch(new URL('/.well-known/oauth-protected-resource', address))).status, 404);
    assert.equal((await fetch(`${address}/.well-known/openid-configuration`)).status, 404);
    await deploy({}, { token: NONE });
    assert.equal((await post(list)).status, 401);
  });

  it('takes a token that was entered with blanks around it', async () => {
    await deploy({}, { token: ` ${TOKEN} ` });
    assert.equal((await post(LIST)).status, 200);
  });

  for (const [what, token, word, value] of [
    ['names an environment variable that is not set', '${TEST_TOKEN}', /environment variable TEST_TOKEN/, undefined],
    ['names an environment variable that is blank', '${TEST_TOKEN}', /token names an environment variable/, ' '],
    ['has a blank inside', 'two words', /token contains a blank or another character/, undefined],
    ['has a letter that no header can carry', 'grüße', /token contains a blank or another character/, undefined],
  ] as const)
    it(`admits nobody while its token ${what}, and says so`, async () => {
      if (value !== undefined) process.env.TEST_TOKEN = value;
      try {
        await deploy({}, { token, opens: false });
        await warned(word);
        for (const given of [token, value ?? '', ''])
          assert.equal((await post(LIST, { Authorization: `Bearer ${encodeURI(given)}` })).status, 503);
        assert.equal((await post(LIST, { Authorization: 'Bearer ${TEST_TOKEN}' })).status, 503);
        assert.equal(flow.statuses('tools').at(-1)?.fill, 'red');
      } finally {
        delete process.env.TEST_TOKEN;
      }
    });

  it('answers 429 to the 61st call within a minute, and goes on to list', async () => {
    await deploy();
    const jobs = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'read_request', arguments: { handle: 'x' } },
    };
    for (let call = 0; call < 60; call += 1) assert.equal((await post(jobs)).status, 200);
    const refused = await post(jobs);
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    assert.equal((await post({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).status, 200);
  });

  it('reads bodies that Node-RED has parsed already, and refuses large ones in any form', async () => {
    await deploy();
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const large = { ...list, params: { x: 'x'.repeat(65 * 1024) } };
    const chunked = async () => {
      const body = new Blob([JSON.stringify(large)]).stream();
      const headers = { 'Content-Type': 'application/json', ...bearer() };
      return (await fetch(address, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)).status;
    };
    assert.deepEqual([(await post(large)).status, await chunked()], [413, 413]);
    const before = express();
    before.use(express.json({ limit: '5mb' }));
    before.use((request, response) => flow.httpNode(request, response));
    await serve(before);
    assert.deepEqual([(await post(list)).status, (await post(large)).status, await chunked()], [200, 413, 413]);
  });

  it('changes nothing and stops nothing after 1,000 hostile requests', async () => {
    const jobId = storeElsewhere(simulator, 'vase.gcode');
    await deploy();
    const wish = { clusterId: clusterId(), jobId, key: 'before' };
    const client = await connect(STATELESS);
    await call(client, 'print_stored_job', wish);
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const print = (given: unknown) => ({
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: { name: 'print_stored_job', arguments: given },
    });
    const bodies: unknown[] = [
      ...['', 'null', '7', '{', deep, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":${deep}}}`],
      ...[
        [],
        [print(wish)],
        { jsonrpc: '2.0' },
        { ...print(wish), id: null },
        { ...print(wish), id: {} },
        { ...print(wish), method: 7 },
      ],
      ...[
        print({ ...wish, more: 1 }),
        print({ ...wish, key: 7 }),
        print({ ...wish, key: '' }),
        print({ ...wish, jobId: { a: 1 } }),
      ],
      ...[
        print({ clusterId: '../..', jobId: '../..', key: 'k' }),
        print([]),
        print('x'),
        print({ ...wish, clusterId: 'other' }),
      ],
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"__proto__","arguments":{"__proto__":{"key":"x"}}}}`,
      ...['constructor', 'toString', 'x'.repeat(60_000)].map((name) => ({ ...print({}), params: { name } })),
    ];
    const headers = [
      {},
      { Authorization: 'Bearer x' },
      { Origin: 'null' },
      { 'Content-Type': 'text/plain' },
      { 'MCP-Protocol-Version': 'x' },
    ];
    for (let at = 0; at < 1_000; at += 1) {
      const response = await post(bodies[at % bodies.length], headers[at % headers.length]);
      assert.notEqual(response.status, 500, `request ${at}`);
      await response.arrayBuffer();
    }
    assert.deepEqual([dispatches(), requests.all.length], [0, 1]);
    approve(question(requests.all[0]!).requestId);
    while (dispatches() === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(dispatches(), 1);
  });
});
