import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import type { Fault } from '../../simulator/index';
import { pluck } from '../helpers/pluck';
import { Bench, call, form, REDIRECT, SCOPE, type Reply } from './support';

describe('simulator: a fault', () => {
  let bench: Bench;
  beforeEach(async () => (bench = await Bench.start()));
  afterEach(() => bench.simulator.close());

  const broken = { code: 'ECONNRESET' };
  const statusPath = (): string => `/connect/v1/clusters/${bench.clusterId()}/status`;
  const printPath = (jobId: string): string => `/connect/v1/clusters/${bench.clusterId()}/print/${jobId}`;

  it('affects an endpoint so many times, after so many requests', async () => {
    const fault = bench.simulator.faults.add({ endpoint: 'clusterStatus', status: 503, after: 1, times: 2 });
    const seen: number[] = [];
    for (let count = 0; count < 4; count++) seen.push((await bench.api('GET', statusPath())).status);
    assert.deepEqual(seen, [200, 503, 503, 200]);
    assert.equal(fault.hits, 2);
    assert.equal((await bench.api('GET', '/connect/v1/clusters')).status, 200);
  });

  it('affects a single cluster permanently until removed', async () => {
    const fault = bench.simulator.faults.add({ endpoint: '*', path: bench.clusterId(1), times: 'always', status: 500 });
    for (let count = 0; count < 3; count++) assert.equal((await bench.api('GET', statusPath())).status, 500);
    assert.equal((await bench.api('GET', `/connect/v1/clusters/${bench.clusterId(2)}/status`)).status, 200);
    fault.remove();
    assert.equal((await bench.api('GET', statusPath())).status, 200);
  });

  it('answers an error in the format of each origin', async () => {
    const { faults, authUrl } = bench.simulator;
    faults.add({ endpoint: 'clusters', status: 429, retryAfter: 7 });
    const limited = await bench.api('GET', '/connect/v1/clusters');
    assert.equal(limited.headers['retry-after'], '7');
    assert.equal(limited.json.errors[0].http_status, '429');

    faults.add({ endpoint: 'clusters', status: 403, code: 'tokenExpired' });
    assert.equal((await bench.api('GET', '/connect/v1/clusters')).json.errors[0].code, 'tokenExpired');

    faults.add({ endpoint: 'token', status: 500 });
    assert.equal((await call(`${authUrl}/token`, form({}))).json.error, 'unexpectedError');

    faults.add({ endpoint: 'storagePut', status: 503 });
    const record = await bench.register(Buffer.from('G28'));
    assert.match((await bench.put(record, Buffer.from('G28'))).text, /<Code>serviceUnavailable</);
    assert.equal((await bench.put(record, Buffer.from('G28'))).status, 200);

    faults.add({ endpoint: 'clusters', html: true });
    const page = await bench.api('GET', '/connect/v1/clusters');
    assert.equal(page.status, 502);
    assert.match(page.text, /^<!doctype html>/);
  });

  it('breaks the connection before the work is done', async () => {
    const jobId = await bench.upload('G28');
    bench.simulator.faults.add({ endpoint: 'print', reset: true });
    await assert.rejects(bench.api('POST', printPath(jobId)), broken);
    assert.deepEqual((await bench.status()).print_jobs, []);
    assert.equal(bench.simulator.requests.list('print')[0]!.status, 0);
  });

  it('loses the answer after the work was done', async () => {
    const { faults } = bench.simulator;
    const jobId = await bench.upload('G28');
    faults.add({ endpoint: 'print', reset: true, when: 'after' });
    await assert.rejects(bench.api('POST', printPath(jobId)), broken);
    faults.add({ endpoint: 'print', status: 504, when: 'after' });
    assert.equal((await bench.api('POST', printPath(jobId))).status, 504);
    assert.equal((await bench.status()).print_jobs.length, 2);

    const record = await bench.register(Buffer.from('G28'));
    faults.add({ endpoint: 'storagePut', reset: true, when: 'after' });
    await assert.rejects(bench.put(record, Buffer.from('G28')), broken);
    assert.equal((await bench.api('GET', `/slicer/v1/jobs/${record.job_id}`)).json.data.status, 'uploaded');
  });

  it('loses the answer to a refresh, so that the spent token ends the sign-in', async () => {
    const { simulator } = bench;
    const [token] = simulator.tokens.refreshTokens;
    const values = { client_id: 'simulator', client_secret: 'simulator-secret', redirect_uri: REDIRECT, scope: SCOPE };
    const refresh = form({ ...values, grant_type: 'refresh_token', refresh_token: token! });
    simulator.faults.add({ endpoint: 'token', reset: true, when: 'after' });
    await assert.rejects(call(`${simulator.authUrl}/token`, refresh), broken);
    assert.notEqual(simulator.tokens.refreshTokens[0], token);
    assert.equal((await call(`${simulator.authUrl}/token`, refresh)).json.error, 'invalid_grant');
    assert.equal(simulator.tokens.reuseDetections, 1);
  });

  it('interrupts an upload at a byte, without storing it or using up its address', async () => {
    const body = Buffer.alloc(3_000_000, 'G1 X1\n');
    const record = await bench.register(body);
    bench.simulator.faults.add({ endpoint: 'storagePut', resetAtByte: 1_000_000 });
    await assert.rejects(bench.put(record, body));
    assert.equal((await bench.api('GET', `/slicer/v1/jobs/${record.job_id}`)).json.data.status, 'uploading');
    assert.equal((await bench.put(record, body)).status, 200);
  });

  it('truncates an answer', async () => {
    bench.simulator.faults.add({ endpoint: 'clusters', cut: 'body' });
    const reply = await bench.api('GET', '/connect/v1/clusters');
    assert.equal(reply.status, 200);
    assert.throws(() => JSON.parse(reply.text) as unknown, SyntaxError);
    bench.simulator.faults.add({ endpoint: 'clusters', cut: 'connection' });
    await assert.rejects(bench.api('GET', '/connect/v1/clusters'), broken);
  });

  /** Sends a GET and resolves with the response before its body has ended. */
  const open = async (url: string, headers: OutgoingHttpHeaders = {}): Promise<IncomingMessage> => {
    const [response] = await once(httpRequest(url, { headers, agent: false }).end(), 'response');
    return response;
  };
  const list = (): Promise<IncomingMessage> =>
    open(`${bench.simulator.apiUrl}/connect/v1/clusters`, { authorization: `Bearer ${bench.token}` });
  const bytesOf = async (response: IncomingMessage, most: number): Promise<Buffer> => {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      if ((size += chunk.length) >= most) break;
    }
    return Buffer.concat(chunks);
  };

  it('truncates an answer at any byte', async () => {
    const whole = (await bench.api('GET', '/connect/v1/clusters')).bytes;
    for (const at of [0, 1, 1000, whole.length - 1]) {
      bench.simulator.faults.add({ endpoint: 'clusters', cut: 'connection', cutAtByte: at });
      const response = await list();
      assert.equal(response.headers['content-length'], String(whole.length));
      let size = 0;
      response.on('data', (chunk: Buffer) => (size += chunk.length));
      await assert.rejects(once(response, 'end'), broken);
      assert.equal(size, at);
    }
    bench.simulator.faults.add({ endpoint: 'clusters', cut: 'body', cutAtByte: 10 });
    assert.equal((await bench.api('GET', '/connect/v1/clusters')).text, whole.toString().slice(0, 10));
  });

  it('interrupts or truncates a download at any byte', async () => {
    const body = Buffer.alloc(300_000, 'G1 X1\n');
    const id = await bench.upload(body);
    const { download_url: url } = (await bench.api('GET', `/slicer/v1/jobs/${id}`)).json.data;
    bench.simulator.faults.add({ endpoint: 'storageGet', cut: 'connection', cutAtByte: 200_001 });
    const response = await open(url);
    let size = 0;
    response.on('data', (chunk: Buffer) => (size += chunk.length));
    await assert.rejects(once(response, 'end'), broken);
    assert.equal(size, 200_001);
    bench.simulator.faults.add({ endpoint: 'storageGet', cut: 'body', cutAtByte: 0 });
    assert.equal((await call(url)).bytes.length, 0);
    assert.equal((await call(url)).bytes.length, body.length);
  });

  it('stops in the middle of an answer', async () => {
    bench.simulator.faults.add({ endpoint: 'clusters', cut: 'hang', cutAtByte: 7 });
    const response = await list();
    assert.equal((await bytesOf(response, 7)).length, 7);
    // Other requests continue to work.
    assert.equal((await bench.api('GET', '/connect/v1/clusters')).status, 200);
    assert.equal(response.readableLength, 0);
    assert.equal(response.complete, false);
    response.destroy();
  });

  it('trickles an answer bytewise, followed by endless blanks, on every host', async () => {
    const { simulator } = bench;
    const whole = (await bench.api('GET', '/connect/v1/clusters')).text;
    simulator.faults.add({ endpoint: '*', trickle: 1, times: 3 });
    const answers = [
      await list(),
      await open(`${simulator.authUrl}/users/current`, { authorization: `Bearer ${bench.token}` }),
      await open(`${simulator.storageUrl}/download/none`),
    ];
    assert.deepEqual(pluck(answers, 'statusCode'), [200, 200, 403]);
    for (const answer of answers) assert.equal(answer.headers['content-length'], undefined);
    // A busy client may receive many bytes at once.
    const trickled = (await bytesOf(answers[0]!, 20)).toString();
    assert.equal(trickled, whole.padEnd(trickled.length).slice(0, trickled.length));
    const xml = (await bytesOf(answers[2]!, 200)).toString();
    assert.match(xml, /^<\?xml[^]*<\/Error> +$/);
    for (const answer of answers) {
      assert.equal(answer.complete, false);
      answer.destroy();
    }
  });

  it('interrupts or stalls a request at any byte, without doing its work', async () => {
    const { faults, requests, authUrl } = bench.simulator;
    const jobId = await bench.upload('G28');
    const print = (): Promise<Reply> => bench.api('POST', printPath(jobId), { data: { start_now: true } });
    for (const at of [0, 1, 5]) {
      faults.add({ endpoint: 'print', resetAtByte: at });
      await assert.rejects(print(), broken);
    }
    faults.add({ endpoint: 'token', resetAtByte: 3 });
    await assert.rejects(call(`${authUrl}/token`, form({ grant_type: 'refresh_token' })), broken);
    faults.add({ endpoint: 'clusters', resetAtByte: 0 });
    await assert.rejects(bench.api('GET', '/connect/v1/clusters'), broken);

    faults.add({ endpoint: 'print', hangAtByte: 5 });
    const silent = assert.rejects(print(), broken);
    while (requests.count('print') < 4) await new Promise(setImmediate);
    assert.deepEqual((await bench.status()).print_jobs, []);
    // A shorter body isn't affected.
    faults.add({ endpoint: 'print', resetAtByte: 1000 });
    assert.equal((await print()).status, 200);
    await bench.simulator.close();
    await silent;
  });

  it('does the work without an answer', async () => {
    const { faults, requests } = bench.simulator;
    const jobId = await bench.upload('G28');
    faults.add({ endpoint: 'print', hang: true, when: 'after' });
    const silent = assert.rejects(bench.api('POST', printPath(jobId)), broken);
    while (requests.count('print') < 1) await new Promise(setImmediate);
    assert.equal((await bench.status()).print_jobs.length, 1);
    await bench.simulator.close();
    await silent;
  });

  it('sets, removes and transforms fields of answers', async () => {
    const { faults } = bench.simulator;
    faults.add({
      endpoint: 'clusters',
      set: { 'data.*.friendly_name': null, 'data.0.future': 1 },
      remove: ['data.1.host_guid', 'meta'],
    });
    const { json } = await bench.api('GET', '/connect/v1/clusters');
    assert.deepEqual(
      json.data.map((cluster: { friendly_name: unknown }) => cluster.friendly_name),
      [null, null, null, null, null],
    );
    assert.equal(json.data[0].future, 1);
    assert.equal('host_guid' in json.data[1], false);
    assert.equal('meta' in json, false);

    const jobId = await bench.upload('G28');
    faults.add({ endpoint: 'print', remove: ['data.job_instance_uuid'] });
    assert.deepEqual(Object.keys((await bench.api('POST', printPath(jobId))).json.data), [
      'job_id',
      'status',
      'generated_time',
    ]);

    faults.add({ endpoint: 'clusterStatus', transform: () => ({ data: [] }) });
    assert.deepEqual(await bench.status(), []);
    assert.equal((await bench.status()).print_jobs.length, 1);
  });

  it('answers a print with the status failed', async () => {
    bench.simulator.world.setDispatch(1, 'failed');
    const jobId = await bench.upload('G28');
    assert.equal((await bench.api('POST', printPath(jobId))).json.data.status, 'failed');
    const { print_jobs: jobs, recently_completed: history } = await bench.status();
    assert.deepEqual(jobs, []);
    assert.equal(history[0].status, 'failed');
  });

  it('delays an answer, or never sends it', async () => {
    const { faults, simulator } = { faults: bench.simulator.faults, simulator: bench.simulator };
    const begin = performance.now();
    faults.add({ endpoint: 'clusters', delay: 40 });
    assert.equal((await bench.api('GET', '/connect/v1/clusters')).status, 200);
    assert.ok(performance.now() - begin >= 39);
    faults.add({ endpoint: 'clusters', hang: true });
    const hanging = assert.rejects(bench.api('GET', '/connect/v1/clusters'), broken);
    faults.add({ endpoint: 'cluster', delay: 100_000 });
    const late = assert.rejects(bench.api('GET', `/connect/v1/clusters/${bench.clusterId()}`), broken);
    while (simulator.requests.count('clusters') < 2) await new Promise(setImmediate);
    await simulator.close();
    await Promise.all([hanging, late]);
  });

  it('makes something happen in the world, before or after the work of a request', async () => {
    const { faults, world } = bench.simulator;
    const jobId = await bench.upload(';TIME:600\n');
    faults.add({ endpoint: 'clusterStatus', world: { action: 'name', value: 'Before' } });
    faults.add({ endpoint: 'clusterStatus', when: 'after', world: { action: 'offline' } });
    await bench.status();
    assert.equal(world.cluster(1).friendlyName, 'Before');
    assert.equal((await bench.status()).is_online, true);
    assert.equal((await bench.status()).is_online, false);
    world.setOnline(1, true);

    // Together with a lost answer, to a print job of the path, and on another cluster than that of the path.
    faults.add({
      endpoint: 'print',
      reset: true,
      when: 'after',
      world: { action: 'trouble', value: 'error', cluster: 2 },
    });
    await assert.rejects(bench.print(jobId), broken);
    assert.deepEqual([world.cluster(1).queue.length, world.cluster(2).printers[0]!.trouble], [1, 'error']);
    const [second, third] = [await bench.print(jobId), await bench.print(jobId)];
    faults.add({ endpoint: 'jobAction', status: 500, world: { action: 'remove-job' } });
    assert.equal((await bench.action(`print_jobs/${third}/action/remove`)).status, 500);
    assert.deepEqual(
      world
        .cluster(1)
        .queue.slice(1)
        .map(({ uuid }) => uuid),
      [second],
    );
  });

  it('does nothing in the world where its event is impossible, and answers 500 where it makes no sense', async () => {
    const { faults } = bench.simulator;
    faults.add({ endpoint: 'clusterStatus', world: { action: 'pause' } });
    assert.deepEqual((await bench.status()).print_jobs, []);
    for (const when of ['before', 'after'] as const) {
      faults.add({ endpoint: 'clusterStatus', when, world: { action: 'enabled', value: 'perhaps' } });
      const reply = await bench.api('GET', `/connect/v1/clusters/${bench.clusterId()}/status`);
      assert.equal(reply.status, 500);
      assert.match(reply.text, /Simulator: value must be true or false/);
    }
  });

  it('is refused when invalid', () => {
    const bad: unknown[] = [
      { endpoint: 'nothing', status: 500 },
      { status: 500 },
      { endpoint: 'print' },
      { endpoint: 'print', status: 99 },
      { endpoint: 'print', reset: true, times: 0 },
      { endpoint: 'print', reset: true, after: -1 },
      { endpoint: 'print', reset: true, when: 'later' },
      { endpoint: 'print', cut: 'half' },
      { endpoint: 'print', cutAtByte: 5 },
      { endpoint: 'print', trickle: 0 },
      { endpoint: 'print', hangAtByte: -1 },
      { endpoint: 'print', statusCode: 500 },
      { endpoint: 'print', world: { action: 'explode' } },
      { endpoint: 'print', world: null },
    ];
    for (const fault of bad)
      assert.throws(() => bench.simulator.faults.add(fault as Fault), TypeError, JSON.stringify(fault));
    assert.deepEqual(bench.simulator.faults.list(), []);
  });
});
