import assert from 'node:assert/strict';
import promises from 'node:fs/promises';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
  type RequestListener,
  type Server,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { NodeMessage } from 'node-red';
import { createSandbox } from 'sinon';
import { startSimulator, type Simulator } from '../../simulator';
import type { BoardPrinter, Change, Need, Outcome, PrinterDetails } from '../../lib/board/shapes';
import { catchNode, Flow, helperNode, type Definition, type Inbox } from '../helpers/flow';
import { clustersOf, codeOf, GCODE } from './support';

const KEY = 'k'.repeat(32);
const boardNode = (changes: object = {}): Definition => ({
  ...{ id: 'board', type: 'remote-printing-board', account: 'account', path: 'print-board', allow: 'all' },
  ...{ title: 'Workshop', hosts: '', wires: [['presses']] },
  ...changes,
});

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

interface Question {
  method?: string;
  headers?: Record<string, string>;
  body?: object | string;
}

describe('nodes/board', () => {
  const sandbox = createSandbox();
  let simulator: Simulator;
  let flow: Flow;
  let server: Server | undefined;
  let port: number;
  let presses: Inbox;
  let caught: Inbox;

  beforeEach(async () => {
    simulator = await startSimulator({ autoApprove: true, printers: 3, actionDelay: 0 });
    flow = await Flow.start(simulator);
    await serve();
  });
  afterEach(async () => {
    sandbox.restore();
    await end();
    await flow.stop();
    await simulator.close();
  });

  /** Serves the pages of the flows as Node-RED does, after `before`. */
  const serve = async (before: RequestListener = () => undefined): Promise<void> => {
    await end();
    server = createServer((request, response) => {
      before(request, response);
      flow.httpNode(request, response);
    });
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  };
  const end = async (): Promise<void> => {
    server?.closeAllConnections();
    if (server) await new Promise((resolve) => server?.close(resolve));
    server = undefined;
  };

  const open = (path: string, { method = 'GET', headers = {}, body }: Question = {}): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const sent = typeof body === 'object' ? JSON.stringify(body) : body;
      const type = typeof body === 'object' ? { 'Content-Type': 'application/json' } : {};
      const asked = httpRequest({ host: '127.0.0.1', port, path, method, headers: { ...type, ...headers } }, resolve);
      asked.on('error', reject);
      asked.end(sent);
    });
  const ask = async (path: string, question?: Question): Promise<Answer> => {
    const answer = await open(path, question);
    const parts: Buffer[] = [];
    for await (const part of answer as AsyncIterable<Buffer>) parts.push(part);
    return { status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(parts).toString() };
  };
  const press = async (
    action: string,
    properties: object,
    { key = KEY, ...more }: Question & { key?: string } = {},
  ) => {
    const { status, body } = await ask('/print-board/press', {
      method: 'POST',
      body: { key, action, properties },
      ...more,
    });
    return { status, outcome: JSON.parse(body) as Outcome<string> };
  };
  const deploy = async (
    changes: object = {},
    { nodes = [] as Definition[], credentials = {}, path = 'print-board', opens = true } = {},
  ) => {
    const around = [helperNode('presses'), catchNode(['caught']), helperNode('caught')];
    await flow.deploy([boardNode(changes), ...nodes, ...around], {
      credentials: { ...flow.credentials, ...credentials },
    });
    [presses, caught] = [flow.listen('presses'), flow.listen('caught')];
    while (opens && (await ask(`/${path}/`)).status === 503) await new Promise((resolve) => setImmediate(resolve));
  };
  const board = async (): Promise<Change> => JSON.parse((await ask('/print-board/board.json')).body) as Change;
  /** The board once it `fits`. */
  const boardThat = async (fits: (change: Change) => boolean): Promise<Change> => {
    for (;;) {
      const change = await board();
      if (fits(change)) return change;
    }
  };
  const printers = ({ sections }: Change) => Object.values(sections?.printers?.set ?? {}) as BoardPrinter<string>[];
  const needs = ({ sections }: Change) => Object.values(sections?.todo?.set ?? {}) as Need<string>[];
  const clusterId = () => simulator.world.cluster(1).clusterId;
  const startPrint = (): string => {
    const { uuid } = simulator.world.printLocally(1, { name: 'vase.gcode', seconds: 3600 });
    simulator.world.advance(400);
    return uuid;
  };

  describe('the page', () => {
    it('shows the printers of the account', async () => {
      await deploy();
      const page = await ask('/print-board/');
      assert.equal(page.status, 200);
      assert.match(page.body, /<html lang="en-US"/);
      assert.match(page.body, /<title>Workshop<\/title>/);
      const known = clustersOf(simulator).map((cluster) => cluster.clusterId);
      const change = await boardThat((one) => printers(one).filter(({ state }) => state === 'idle').length === 3);
      assert.deepEqual(
        printers(change).map((printer) => printer.clusterId),
        known,
      );
      assert.equal(change.values?.facts?.hasQueue, false);
    });

    it('shows a print with its progress and its end', async () => {
      const clusterJobId = startPrint();
      await deploy();
      const change = await boardThat((one) => printers(one).some(({ state }) => state === 'printing'));
      const printer = printers(change).find(({ state }) => state === 'printing');
      assert.deepEqual([printer?.job?.name, printer?.job?.clusterJobId], ['vase.gcode', clusterJobId]);
      assert.ok((printer?.progress ?? 0) > 5 && (printer?.progress ?? 100) < 15);
      const left = Date.parse(printer?.endAt ?? '') - (change.values?.now ?? 0);
      assert.ok(left > 3_000_000 && left < 3_600_000, String(left));
    });

    it('lists the printers of a group whose maintenance is due', async () => {
      const group = simulator.world.addCluster({ name: 'Group', printers: 3 });
      for (const number of [1, 3]) simulator.world.setTrouble(group, 'maintenance', number);
      await deploy();
      const isMember = (printer: BoardPrinter<string>) => printer.clusterId === group && printer.printerId !== null;
      const change = await boardThat((one) => printers(one).some(isMember));
      const id = ({ printerId }: BoardPrinter<string>) => encodeURIComponent(`${group} ${printerId}`);
      for (const printer of printers(change).filter(isMember)) {
        const { body } = await ask(`/print-board/printer?id=${id(printer)}`);
        assert.deepEqual((JSON.parse(body) as PrinterDetails).maintenanceDue, ['Group', 'Group 3']);
      }
    });

    it('lists an offline printer among what needs a person, in the language of the browser', async () => {
      simulator.world.setOnline(1, false);
      await deploy();
      await boardThat((one) => needs(one).length > 0);
      const { body } = await ask('/print-board/board.json', { headers: { 'Accept-Language': 'de' } });
      assert.deepEqual(
        needs(JSON.parse(body) as Change).map((need) => [need.kind, need.clusterId, need.text]),
        [['offline', clusterId(), 'Der Drucker ist offline.']],
      );
      assert.match((await ask('/print-board/', { headers: { 'Accept-Language': 'de' } })).body, /<html lang="de"/);
    });

    it('says that the account is not signed in', async () => {
      await flow.deploy([boardNode()], { signIn: false });
      while ((await ask('/print-board/')).status === 503) await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(
        needs(await board()).map(({ kind }) => kind),
        ['sign-in'],
      );
    });

    it('asks for no sign-in while the saved one can’t be read', async () => {
      const { readFile } = promises;
      const grants = join(flow.userDir, 'remote-printing', 'grant');
      const read = (...args: Parameters<typeof readFile>) =>
        String(args[0]).startsWith(grants) ? Promise.reject(new Error('EMFILE')) : readFile(...args);
      sandbox.replace(promises, 'readFile', read as typeof readFile);
      await flow.deploy([boardNode()], { signIn: false });
      while ((await ask('/print-board/')).status === 503) await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(needs(await board()), []);
    });

    it('is headed by the name of its account where the title is blank', async () => {
      const account = { ...flow.account, name: 'The farm' };
      await flow.deploy([boardNode({ title: '', name: 'by the door', wires: [] })], { account });
      for (;;) {
        const { status, body } = await ask('/print-board/');
        if (status === 200) return assert.match(body, /<title>The farm<\/title>/);
        await new Promise((resolve) => setImmediate(resolve));
      }
    });

    it('writes a hostile title as text', async () => {
      await deploy({ title: '</title><script>alert(1)</script>' });
      const { body } = await ask('/print-board/');
      assert.doesNotMatch(body, /<script>/);
      assert.match(body, /&#60;script&#62;/);
    });

    it('has a strict policy and is closed to other origins, wherever Node-RED opens its own routes', async () => {
      await serve((_, response) => response.setHeader('Access-Control-Allow-Origin', '*'));
      await deploy({ hosts: 'ha.example.org' });
      for (const path of ['/print-board', '/print-board/', '/print-board/board.json', '/print-board/nothing']) {
        const { headers } = await ask(path);
        assert.equal(headers['access-control-allow-origin'], undefined, path);
        assert.equal(headers['cross-origin-resource-policy'], 'same-origin', path);
        assert.match(
          String(headers['content-security-policy']),
          /^default-src 'none'; script-src 'self'; style-src 'self'/,
        );
        assert.match(
          String(headers['content-security-policy']),
          /frame-ancestors 'self' http:\/\/ha\.example\.org:\* https:\/\/ha\.example\.org:\*$/,
        );
      }
    });

    it('redirects to the address with a slash, relatively and with the query', async () => {
      await deploy({ path: '/farm/print-board//' }, { path: 'farm/print-board' });
      const { status, headers } = await ask('/farm/print-board?q=vase');
      assert.deepEqual([status, headers.location], [302, 'print-board/?q=vase']);
      assert.equal((await ask('/farm/print-boards')).status, 404);
    });
  });

  describe('who may talk to it', () => {
    const status = async (headers: Record<string, string>) => (await ask('/print-board/', { headers })).status;

    it('refuses an unknown host name and says which name to add', async () => {
      await deploy();
      for (const host of ['localhost:1880', '192.168.1.7', '[::1]:1880', 'raspberry', 'farm.local', 'pi.home.arpa'])
        assert.equal(await status({ Host: host }), 200, host);
      for (const host of ['farm.example.org', '127.0.0.1.example.org', 'local', 'x.evil'].slice(0, 2)) {
        const refused = await ask('/print-board/', { headers: { Host: host } });
        assert.equal(refused.status, 403, host);
        assert.match(
          refused.body,
          new RegExp(`under the name ${host.replaceAll('.', '\\.')}: add the name to the hosts`),
        );
      }
      await deploy({ hosts: 'farm.example.org' });
      assert.equal(await status({ Host: 'farm.example.org:8443' }), 200);
    });

    it('refuses other origins, whatever a proxy says', async () => {
      await deploy({ hosts: 'ha.example.org' });
      const own = `127.0.0.1:${port}`;
      assert.equal(await status({ Origin: `http://${own}` }), 200);
      assert.equal(await status({ Origin: `https://${own}` }), 200);
      assert.equal(await status({ Origin: 'https://ha.example.org:8123' }), 200);
      for (const Origin of ['null', 'https://evil.example', 'http://127.0.0.1:1', `http://${own}.evil.example`])
        assert.equal(await status({ Origin, 'X-Forwarded-Host': 'evil.example' }), 403, Origin);
      const question = { method: 'POST', body: { key: KEY, action: 'pause-print', properties: {} } };
      const refused = await ask('/print-board/press', { ...question, headers: { Origin: 'https://evil.example' } });
      assert.equal(refused.status, 403);
      assert.equal(presses.all.length, 0);
    });

    it('needs its token once, and then its cookie, which is not the token', async () => {
      await deploy({}, { credentials: { board: { token: 'open sesame' } } });
      assert.equal((await ask('/print-board/')).status, 401);
      assert.equal((await ask('/print-board/?token=open')).status, 401);
      assert.equal((await ask('/print-board/press', { method: 'POST', body: {} })).status, 401);
      const first = await ask('/print-board/?token=open%20sesame&q=vase');
      assert.deepEqual([first.status, first.headers.location], [302, './?q=vase']);
      const [cookie = ''] = first.headers['set-cookie'] ?? [];
      assert.match(cookie, /^remote-printing-board-board=[\w-]{43}; HttpOnly; SameSite=Lax; Max-Age=\d+$/);
      const Cookie = cookie.split(';')[0] ?? '';
      assert.equal((await ask('/print-board/', { headers: { Cookie } })).status, 200);
      assert.equal((await ask('/print-board/', { headers: { Cookie, Host: 'any.example.org' } })).status, 200);
      assert.equal((await ask('/print-board/', { headers: { Cookie: `${Cookie}x` } })).status, 401);
      await deploy({}, { credentials: { board: { token: 'another' } } });
      assert.equal((await ask('/print-board/', { headers: { Cookie } })).status, 401);
    });

    it('takes a token that was entered with blanks around it', async () => {
      await deploy({}, { credentials: { board: { token: ' sesame ' } } });
      assert.equal((await ask('/print-board/?token=sesame')).status, 302);
    });

    for (const [what, value, word] of [
      ['not set', undefined, /environment variable TEST_TOKEN, which is not set/],
      ['blank', '', /token names an environment variable that is blank/],
      ['only blanks', '  ', /token names an environment variable that is blank/],
    ] as const)
      it(`opens to nobody while the environment variable of its token is ${what}, and says so`, async () => {
        if (value !== undefined) process.env.TEST_TOKEN = value;
        try {
          await deploy({}, { credentials: { board: { token: '${TEST_TOKEN}' } }, opens: false });
          const { warn } = flow.node('board') as unknown as { warn: { args: [string][] } };
          while (!warn.args.flat().some((sentence) => word.test(sentence)))
            await new Promise((resolve) => setImmediate(resolve));
          for (const query of ['', '?token=', `?token=${encodeURIComponent('${TEST_TOKEN}')}`])
            assert.equal((await ask(`/print-board/${query}`)).status, 503, query);
          assert.equal(flow.statuses('board').at(-1)?.fill, 'red');
        } finally {
          delete process.env.TEST_TOKEN;
        }
      });

    it('shows that it is open unless something guards it', async () => {
      await deploy();
      assert.deepEqual(flow.statuses('board').at(-1)?.fill, 'yellow');
      await deploy({}, { credentials: { board: { token: 'open sesame' } } });
      assert.deepEqual(flow.statuses('board').at(-1)?.fill, 'green');
    });
  });

  describe('presses', () => {
    it('pauses the print that the press names, once, and reports it', async () => {
      const clusterJobId = startPrint();
      await deploy();
      const properties = { clusterId: clusterId(), clusterJobId };
      assert.deepEqual(await press('pause-print', properties), { status: 200, outcome: { ok: true } });
      assert.deepEqual(await press('pause-print', properties), { status: 200, outcome: { ok: true } });
      assert.equal(simulator.requests.count('jobAction'), 1);
      assert.deepEqual((await presses.at(0)).payload, {
        ...{ who: null, action: 'pause-print', properties, outcome: { ok: true } },
      });
    });

    it('reports no press of thousands of levels, which would end Node-RED', async () => {
      await deploy({ allow: 'look' });
      const deep = JSON.parse(`${'['.repeat(3_000)}${']'.repeat(3_000)}`) as unknown;
      const { status, outcome } = await press('hold', { itemId: deep });
      assert.deepEqual([status, outcome.ok], [400, false]);
      assert.equal(presses.all.length, 0);
    });

    it('answers a repeat after a restart as the first press', async () => {
      const properties = { clusterId: clusterId(), clusterJobId: 'f1a9d6ee-0000-4000-8000-000000000000' };
      await deploy();
      const first = await press('pause-print', properties);
      assert.ok(!first.outcome.ok);
      assert.equal(first.outcome.code, 'NOT_FOUND');
      await deploy({ title: 'Anew' });
      simulator.requests.clear();
      assert.deepEqual(await press('pause-print', properties), first);
      assert.equal(simulator.requests.count('printJob'), 0);
    });

    it('answers a refused file at once, and reports it and a repeat of it once', async () => {
      await deploy();
      const path = `/print-board/file?key=${KEY}&name=model.stl&printer=${encodeURIComponent(clusterId())}`;
      const question = { method: 'PUT', body: 'solid x', headers: { 'Content-Length': '7' } };
      for (const answer of [await ask(path, question), await ask(path, question)])
        assert.match(answer.body, /UNSUPPORTED_FILE_TYPE/);
      await press('pause-print', { clusterId: clusterId(), clusterJobId: startPrint() }, { key: 'next'.repeat(8) });
      await presses.at(1);
      assert.deepEqual(
        presses.all.map(({ payload }) => (payload as { action: string }).action),
        ['add', 'pause-print'],
      );
    });

    it('refuses what the board does not allow, whatever the page shows', async () => {
      const properties = { clusterId: clusterId(), clusterJobId: startPrint() };
      await deploy({ allow: 'press' });
      const refused = await press('abort-print', properties);
      assert.deepEqual([refused.status, !refused.outcome.ok && refused.outcome.code], [403, 'FORBIDDEN']);
      assert.equal((await press('list', {})).status, 403);
      await deploy({ allow: 'look' });
      assert.equal((await press('pause-print', properties)).status, 403);
      assert.equal(simulator.requests.count('jobAction'), 0);
    });

    it('does nothing without a key, without a print, or as a form of another page', async () => {
      const properties = { clusterId: clusterId(), clusterJobId: startPrint() };
      await deploy();
      assert.equal((await press('pause-print', properties, { key: 'short' })).status, 400);
      const unnamed = await press('pause-print', { clusterId: clusterId() });
      assert.equal(!unnamed.outcome.ok && unnamed.outcome.code, 'INVALID_INPUT');
      const form = JSON.stringify({ key: KEY, action: 'pause-print', properties });
      const headers = { 'Content-Type': 'text/plain' };
      assert.equal((await ask('/print-board/press', { method: 'POST', headers, body: form })).status, 400);
      assert.equal(simulator.requests.count('jobAction'), 0);
    });

    it('prints a file that is sent again after its connection broke', async () => {
      await deploy();
      const path = `/print-board/file?key=${KEY}&name=vase.gcode&printer=${encodeURIComponent(clusterId())}`;
      const headers = { 'Content-Length': String(GCODE.length) };
      const cut = httpRequest({ host: '127.0.0.1', port, path, method: 'PUT', headers });
      cut.on('error', () => undefined);
      cut.write(GCODE.slice(0, GCODE.length / 2), () => setImmediate(() => cut.destroy()));
      await presses.at(0);
      const { status, body } = await ask(path, { method: 'PUT', body: GCODE, headers });
      assert.deepEqual([status, body], [200, '{"ok":true}']);
      assert.equal(simulator.requests.count('print'), 1);
    });

    it('prints a dropped file on the chosen printer, once', async () => {
      await deploy();
      const path = `/print-board/file?key=${KEY}&name=vase.gcode&printer=${encodeURIComponent(clusterId())}`;
      const question = { method: 'PUT', body: GCODE, headers: { 'Content-Length': String(GCODE.length) } };
      for (const time of ['first', 'second']) {
        const { status, body } = await ask(path, question);
        assert.deepEqual([status, body], [200, '{"ok":true}'], time);
      }
      assert.equal(simulator.requests.count('print'), 1);
      const { who: _, ...reported } = (await presses.at(0)).payload as object & { who: null };
      assert.deepEqual(reported, {
        action: 'add',
        properties: { name: 'vase.gcode', size: GCODE.length, clusterId: clusterId() },
        outcome: { ok: true },
      });
    });
  });

  describe('messages', () => {
    const notice = (msg: NodeMessage) => flow.send('board', msg);

    it('shows a notice on every page', async () => {
      await deploy();
      notice({ payload: 'The filament is in the cupboard.', level: 'warn' });
      const change = await boardThat(({ sections }) => (sections?.notices?.ids ?? []).length > 0);
      const [shown] = Object.values(change.sections?.notices?.set ?? {}) as { text: string; level: string }[];
      assert.deepEqual([shown?.text, shown?.level], ['The filament is in the cupboard.', 'warn']);
    });

    it('refuses a notice that is no text, and an unknown level', async () => {
      await deploy();
      notice({ payload: 7 });
      assert.equal(codeOf(await caught.at(0)), 'INVALID_INPUT');
      notice({ payload: 'text', level: 'loud' });
      assert.equal(codeOf(await caught.at(1)), 'INVALID_INPUT');
    });

    for (const [what, changes] of [
      ['an empty path', { path: ' / ' }],
      ['a path that leads elsewhere', { path: 'a/../b' }],
      ['an account beside a queue', { queue: 'queue' }],
      ['a host that is none', { hosts: 'a;b' }],
    ] as const)
      it(`is not configured with ${what}`, async () => {
        await deploy(changes, { opens: false });
        notice({ payload: 'text' });
        assert.equal(codeOf(await caught.at(0)), 'NOT_CONFIGURED');
        while (flow.statuses('board').at(-1)?.fill !== 'red') await new Promise((resolve) => setImmediate(resolve));
      });
  });

  describe('two boards with one path', () => {
    const second = boardNode({ id: 'second', title: 'Second', path: '/print-board/', wires: [] });
    const title = async () => /<title>(.*)<\/title>/.exec((await ask('/print-board/')).body)?.[1];

    it('gives it to the first in the flow file, and to the next one as soon as that goes', async () => {
      await deploy({}, { nodes: [second] });
      assert.equal(await title(), 'Workshop');
      flow.send('second', { payload: 'text' });
      assert.equal(codeOf(await caught.at(0)), 'NOT_CONFIGURED');
      await flow.deploy([second, helperNode('presses')], { type: 'nodes' });
      while ((await title()) === undefined) await new Promise((resolve) => setImmediate(resolve));
      assert.equal(await title(), 'Second');
    });

    it('names the reason in the log, for a board that gets no messages', async () => {
      await deploy({}, { nodes: [second] });
      const { args } = flow.node('second').warn as unknown as { args: [string][] };
      assert.deepEqual(args, [['Another node has the path /print-board: choose another one.']]);
    });
  });

  describe('the stream', () => {
    /** The messages of a stream, one after the other. */
    async function* messages(answer: IncomingMessage): AsyncGenerator<Change, void> {
      let text = '';
      for await (const part of answer as AsyncIterable<Buffer>) {
        text += part.toString();
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          const [event, rest] = [text.slice(0, end), text.slice(end + 2)];
          text = rest;
          if (event.startsWith('data: ')) yield JSON.parse(event.slice('data: '.length)) as Change;
        }
      }
    }

    it('sends the whole board first, and then what changes', async () => {
      await deploy();
      await boardThat((one) => printers(one).filter(({ state }) => state === 'idle').length === 3);
      const answer = await open('/print-board/events');
      assert.equal(answer.headers['content-type'], 'text/event-stream; charset=utf-8');
      const stream = messages(answer);
      const { value: first } = await stream.next();
      assert.equal(first?.isWhole, true);
      assert.equal(first?.values?.facts?.title, 'Workshop');
      flow.send('board', { payload: 'news' });
      const { value: next } = await stream.next();
      assert.deepEqual([next?.isWhole, next?.sections?.printers], [undefined, undefined]);
      assert.equal(next?.sections?.notices?.ids?.length, 1);
      answer.destroy();
    });

    it('gives one browser three streams at most', async () => {
      await deploy();
      const streams = await Promise.all([1, 2, 3].map(() => open('/print-board/events?browser=one')));
      assert.deepEqual(
        streams.map(({ statusCode }) => statusCode),
        [200, 200, 200],
      );
      assert.equal((await ask('/print-board/events?browser=one')).status, 204);
      const other = await open('/print-board/events?browser=other');
      assert.equal(other.statusCode, 200);
      for (const stream of [...streams, other]) stream.destroy();
    });

    it('ends with its node', async () => {
      await deploy();
      const answer = await open('/print-board/events');
      answer.resume();
      const ended = new Promise((resolve) => answer.once('end', resolve));
      await flow.deploy([]);
      await ended;
    });
  });

  describe('pictures', () => {
    it('of no printer are taken for a look at none', async () => {
      await deploy();
      const headers = { 'Content-Type': 'application/json' };
      for (const body of ['null', '5', '[]', '{"printers":null}', '{"printers":[null]}'])
        assert.equal((await ask('/print-board/look', { method: 'POST', headers, body })).status, 204);
      assert.equal(simulator.requests.count('printerAction'), 0);
    });

    it('are taken while somebody looks, once for all pages', async () => {
      startPrint();
      await deploy();
      await boardThat((one) => printers(one).some(({ state }) => state === 'printing'));
      const look = () => ask('/print-board/look', { method: 'POST', body: { printers: [clusterId()] } });
      assert.equal((await ask(`/print-board/picture?printer=${encodeURIComponent(clusterId())}`)).status, 404);
      assert.equal((await look()).status, 204);
      await look();
      await boardThat((one) => printers(one).some(({ pictureAt }) => pictureAt !== null));
      await look();
      const picture = await ask(`/print-board/picture?printer=${encodeURIComponent(clusterId())}`);
      assert.equal(picture.status, 200);
      assert.match(picture.headers['content-type'] ?? '', /^image\//);
      assert.equal(simulator.requests.count('printerAction'), 1);
    });
  });
});
