import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Simulator } from '../../simulator';
import { helperNode, type Definition, type Flow, type Inbox } from '../helpers/flow';
import { pluck } from '../helpers/pluck';
import { clustersOf, NodeBench } from './support';

const CLUSTERS = '/connect/v1/clusters';

describe('nodes/request', () => {
  let simulator: Simulator;
  let flow: Flow;

  const bench = new NodeBench({
    id: 'request',
    type: 'remote-printing-request',
    method: 'GET',
    path: '',
    pathType: 'str',
  });
  const { deploy, one: answered, shownFailed: failed } = bench;
  const clusters = () => clustersOf(simulator);
  const clusterId = () => clusters()[0]?.clusterId ?? '';
  const asked = () => simulator.requests.list().map(({ method, path }) => `${method} ${path}`);

  beforeEach(async () => ({ simulator, flow } = await bench.start()));
  afterEach(() => bench.stop());

  describe('the answer', () => {
    it('consists of data, status, headers and raw, on the received message', async () => {
      await deploy({ path: CLUSTERS });
      const req = { socket: {} };
      const message = await answered({ _msgid: 'mine', req, topic: 'mine', payload: 'old' });
      const payload = message.payload as { cluster_id: string }[];
      assert.deepEqual(pluck(payload, 'cluster_id'), pluck(clusters(), 'clusterId'));
      assert.deepEqual([message._msgid, message.topic, message.statusCode], ['mine', 'mine', 200]);
      assert.equal(message.req, req);
      assert.match((message.headers as Record<string, string>)['content-type'] ?? '', /json/);
      assert.deepEqual(message.raw, payload);
      assert.notEqual(message.raw, payload);
      assert.ok(!('simulated' in message));
    });

    it("is text when it isn't JSON", async () => {
      await deploy({ path: CLUSTERS });
      simulator.faults.add({ endpoint: 'clusters', status: 200, html: true });
      const { payload, raw, headers } = await answered({});
      assert.match(payload as string, /^<!doctype html>|<html/i);
      assert.equal(raw, payload);
      assert.match((headers as Record<string, string>)['content-type'] ?? '', /html/);
    });

    it("follows the progress in the node's status", async () => {
      await deploy({ path: CLUSTERS });
      await answered({});
      const texts = flow.statuses('request').map(({ text }) => text);
      assert.deepEqual(texts.slice(-2), ['status.requesting', 'status.done']);
    });

    it('is marked as simulated', async () => {
      const account = { id: 'account', type: 'remote-printing-account', service: 'simulator' };
      await deploy({ path: CLUSTERS }, { account, credentials: {} });
      const message = await answered({});
      assert.equal(message.simulated, true);
      assert.equal((message.payload as unknown[]).length, 5);
    });
  });

  describe('the request', () => {
    it('goes to the API host, with its query and an added leading slash', async () => {
      await deploy({ path: 'connect/v1/clusters?page=2&limit=2' });
      assert.equal(((await answered({})).payload as unknown[]).length, 1);
    });

    it('goes to the account host', async () => {
      await deploy({ path: '{auth_url}/users/current' });
      const { payload } = await answered({});
      assert.equal((payload as { username: string }).username, simulator.users[0]?.username);
    });

    it('goes to an absolute address on either host', async () => {
      await deploy();
      for (const path of [`${simulator.apiUrl}${CLUSTERS}`, `${simulator.authUrl}/users/current`])
        assert.equal((await answered({ path })).statusCode, 200);
    });

    it('comes from the message, flow context or an expression', async () => {
      await deploy({ path: '"/connect/v1/clusters/" & id & "/status"', pathType: 'jsonata' });
      assert.ok((await answered({ id: clusterId() })).payload);
      await deploy({ path: 'where.to', pathType: 'msg', method: 'msg.method' });
      assert.equal((await answered({ where: { to: CLUSTERS }, method: 'get' })).statusCode, 200);
    });

    it('wraps the payload in the data envelope unless it is already wrapped', async () => {
      const data = { job_name: 'cube.gcode', file_size: 10, content_type: 'text/plain' };
      await deploy({ method: 'PUT', path: '/slicer/v1/jobs/upload' });
      for (const payload of [data, { data }]) {
        const { payload: stored } = await answered({ payload });
        assert.equal((stored as { job_name: string }).job_name, 'cube.gcode');
      }
      assert.equal(simulator.world.storedJobs().length, 2);
    });

    it('has no body for GET and DELETE, whatever the payload is', async () => {
      await deploy({ method: 'DELETE', path: `${CLUSTERS}/none` });
      const error = await failed({ payload: Buffer.from('x') }, 'SERVICE_ERROR');
      assert.equal(error.statusCode, 405);
      assert.deepEqual(asked().at(-1), `DELETE ${CLUSTERS}/none`);
    });
  });

  describe('failures', () => {
    it('refuses every other host, and every ambiguous address', async () => {
      await deploy();
      const before = simulator.requests.count();
      const { host } = new URL(simulator.apiUrl);
      const paths = [
        ...[`${simulator.storageUrl}/x`, simulator.controlUrl, 'https://evil.example/', '//evil.example/x'],
        ...[`http://user@${host}/x`, `http://${host}@evil.example/`, `https://${host}/x`, '/a/../b', '/a/%2e%2e/b'],
        ...['/a%2fb', '/a\\b', '/a\r\nX-Evil: 1', '/é', '/a#b', 'file:///etc/passwd', '{auth_url}//evil.example'],
      ];
      for (const path of paths) assert.equal((await failed({ path }, 'INVALID_INPUT')).statusCode, undefined);
      assert.equal(simulator.requests.count(), before);
    });

    it('names missing and malformed input', async () => {
      await deploy({ method: 'msg.method' });
      const before = simulator.requests.count();
      await failed({ method: 'GET' }, 'INVALID_INPUT');
      await failed({ method: 'GET', path: { a: 1 } }, 'INVALID_INPUT');
      await failed({ path: CLUSTERS }, 'INVALID_INPUT');
      await failed({ path: CLUSTERS, method: 'PATCH' }, 'INVALID_INPUT');
      await failed({ path: CLUSTERS, method: 'PUT', payload: Buffer.from('x') }, 'INVALID_INPUT');
      assert.equal(simulator.requests.count(), before);
    });

    it('retries reads, and sends writes once', async () => {
      await deploy({ method: 'msg.method' });
      simulator.faults.add({ endpoint: 'clusters', status: 503 });
      assert.equal((await answered({ method: 'GET', path: CLUSTERS })).statusCode, 200);
      assert.equal(simulator.requests.count('clusters'), 2);
      const path = `${CLUSTERS}/${clusterId()}/print/x`;
      simulator.faults.add({ endpoint: 'print', status: 503 });
      await failed({ method: 'POST', path }, 'SERVICE_ERROR');
      simulator.faults.add({ endpoint: 'print', reset: true });
      await failed({ method: 'POST', path }, 'NETWORK');
      assert.equal(simulator.requests.count('print'), 2);
    });

    it('refreshes an expired token once for all messages', async () => {
      await deploy({ path: CLUSTERS });
      simulator.tokens.expireAccessTokens();
      for (let n = 0; n < 20; n++) flow.send('request', {});
      await bench.completed.at(19);
      assert.deepEqual([bench.sent.all.length, bench.caught.all.length, simulator.tokens.refreshes], [20, 0, 1]);
    });

    it('requires an account host for requests to it', async () => {
      const account = { ...flow.account, authUrl: '', signIn: 'token' };
      const apiToken = simulator.users[0]?.apiToken;
      await deploy({}, { account, credentials: { account: { apiToken } } });
      assert.equal((await answered({ path: CLUSTERS })).statusCode, 200);
      await failed({ path: '{auth_url}/users/current' }, 'NOT_CONFIGURED');
      await failed({ path: `${simulator.authUrl}/users/current` }, 'INVALID_INPUT');
    });
  });

  it('answers in its example flow', async () => {
    const path = join(__dirname, '../../examples/16-any-request.json');
    const example = JSON.parse(await readFile(path, 'utf8')) as Definition[];
    const account = example.find(({ type }) => type === 'remote-printing-account')!;
    const requests = example.filter(({ type }) => type === 'remote-printing-request');
    const debugs = example.filter(({ type }) => type === 'debug');
    const shown = debugs.map(({ id }) => ({ ...helperNode(id), z: 'tab' }));
    await flow.deploy([...requests.map((request) => ({ ...request, z: 'tab' })), ...shown], {
      account,
      credentials: {},
    });
    const [jobs, token, printer] = debugs.map(({ id }) => flow.listen(id)) as [Inbox, Inbox, Inbox];
    for (const { id, pathType } of requests) if (pathType === 'str') flow.send(id, {});
    const names = ((await jobs.at(0)).payload as { job_name: string }[]).map((job) => job.job_name);
    assert.ok(names.includes('bracket.gcode'), names.join());
    assert.equal(((await token.at(0)).payload as { username: string }).username, 'maker');
    assert.ok(((await printer.at(0)).payload as { host_printer: object }).host_printer);
  });
});
