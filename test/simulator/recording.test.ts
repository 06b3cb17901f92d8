import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PrintEvent } from '../../lib/events/print-event';
import type { ClusterStatus } from '../../lib/service/cluster';
import { systemClock } from '../../lib/time/clock';
import { startRecorder, type Recorder, type RecorderOptions } from '../../simulator/recording/recorder';
import { startReplay, type Replay } from '../../simulator/recording/replay';
import { testPicture } from '../../simulator/recording/test-picture';
import { collectGarbage } from '../helpers/collect-garbage';
import { signedInClient } from '../helpers/simulated-client';
import { MemoryStore } from '../helpers/memory-store';
import { TurnedTime } from '../helpers/turned-time';
import { Bench, call, form, REDIRECT, type Wire } from './support';

const SECRET_TEXT = 'Anna-Lovelace-Ωmega';

/** Whether a text holds a value that is not a part of a longer word, such as a model's name. */
const holds = (text: string, value: string): boolean =>
  text.split(value).some((before, at, parts) => {
    const after = parts[at + 1];
    return after !== undefined && !/\w$/.test(before) && !/^\w/.test(after);
  });

const withoutRepeats = (list: unknown[]): unknown[] =>
  list.filter((entry, at) => at === 0 || JSON.stringify(entry) !== JSON.stringify(list[at - 1]));

describe('simulator: recording', () => {
  let folder: string;
  let file: string;
  const closing: (() => Promise<unknown>)[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'recording-'));
    file = join(folder, 'session.jsonl');
  });
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
    await rm(folder, { recursive: true, force: true });
  });

  const recorder = async (upstream: { auth: string; api: string }, options: Partial<RecorderOptions> = {}) => {
    const started = await startRecorder({ file, upstream, ...options });
    closing.push(async () => {
      await started.stop();
      await started.drop().catch(() => undefined);
    });
    return started;
  };
  const finish = async (session: Recorder): Promise<string> => {
    await session.stop();
    await session.write();
    return readFile(file, 'utf8');
  };
  const replayed = async (options: { speed?: number; now?: () => number } = {}): Promise<Replay> => {
    const started = await startReplay({ file, ...options });
    closing.push(() => started.close());
    return started;
  };
  const exchanges = (text: string): Wire[] =>
    text
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => JSON.parse(line));
  /** A service with answers of the test's own. */
  const service = async (answer: RequestListener): Promise<string> => {
    const server = createServer(answer).listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(async () => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  describe('of the simulator', () => {
    let bench: Bench;
    let session: Recorder;
    /** Calls the service by way of the recorder. */
    const api = (method: string, path: string, data?: unknown) =>
      call(session.apiUrl + path, {
        method,
        headers: {
          authorization: `Bearer ${bench.token}`,
          ...(data === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(data === undefined ? {} : { body: JSON.stringify({ data }) }),
      });

    beforeEach(async () => {
      bench = await Bench.start({ printers: 2, accessTokenLifetime: 1e7 });
      closing.push(() => bench.simulator.close());
      const { authUrl: auth, apiUrl } = bench.simulator;
      session = await recorder({ auth, api: apiUrl }, { now: () => bench.clock.now });
    });

    it('contains no secret, id, name or address of the session, and counts what was replaced', async () => {
      const secrets: string[] = [bench.token, bench.simulator.client.secret];
      const refreshed = bench.simulator.tokens.signIn({
        userId: bench.simulator.users[0]!.userId,
        organizationId: bench.simulator.users[0]!.organizations[0]!.organizationId,
        redirectUri: REDIRECT,
        scope: 'all',
      });
      const answer = await call(
        `${session.authUrl}/token`,
        form({
          grant_type: 'refresh_token',
          refresh_token: refreshed.refresh_token,
          redirect_uri: REDIRECT,
          scope: refreshed.scope,
          client_id: bench.simulator.client.id,
          client_secret: bench.simulator.client.secret,
        }),
      );
      assert.equal(answer.status, 200, answer.text);
      secrets.push(answer.json.access_token, answer.json.refresh_token, refreshed.refresh_token);
      const bodies: Wire[] = [];
      const take = async (...args: Parameters<typeof api>): Promise<Wire> => {
        const { json, text, status } = await api(...args);
        assert.ok(status < 300, text);
        bodies.push(json);
        return json.data;
      };
      const cluster = `/connect/v1/clusters/${encodeURIComponent(bench.clusterId())}`;
      const content = Buffer.from(`;TIME:600\n;${SECRET_TEXT}\nG28\n`);
      const record = await take('PUT', '/slicer/v1/jobs/upload', {
        ...{ job_name: `${SECRET_TEXT}.gcode`, file_size: content.length, content_type: 'text/plain' },
      });
      assert.ok(record.upload_url.startsWith(session.storageUrl));
      assert.equal((await bench.put(record, content)).status, 200);
      const stored = await take('GET', `/slicer/v1/jobs/${encodeURIComponent(record.job_id)}`);
      assert.ok(stored.download_url.startsWith(session.storageUrl));
      assert.equal((await call(stored.download_url)).text, content.toString());
      await take('POST', `${cluster}/print/${encodeURIComponent(record.job_id)}`);
      await take('GET', `${cluster}/status`);
      await take('GET', '/connect/v1/clusters');
      await take('GET', '/slicer/v1/jobs');
      const user = await call(`${session.authUrl}/users/current`, {
        headers: { authorization: `Bearer ${bench.token}` },
      });
      bodies.push(user.json);
      await call(`${session.authUrl}/authorize?client_id=${SECRET_TEXT}`);

      const text = await finish(session);
      assert.equal((await stat(file)).mode & 0o777, 0o600);
      const kept = /^(?:material|brand|color|status|state|type)$/;
      const found: string[] = [];
      const collect = (value: unknown, field: string, parent: string): void => {
        if (typeof value === 'object' && value !== null)
          for (const [name, entry] of Object.entries(value)) collect(entry, Array.isArray(value) ? field : name, field);
        else if (
          typeof value === 'string' &&
          value.length > 3 &&
          !kept.test(field) &&
          !(field === 'guid' && parent === 'material') &&
          /(?:^|_)(?:u?uid|guid|ids?|name|username|owner|url|ip|address|token|email|assigned_to|reserved_by)$/.test(
            field,
          ) &&
          value !== '00000000-0000-0000-0000-000000000000' &&
          !/^(?:print_core_id|scope)$/.test(field)
        )
          found.push(value);
      };
      for (const body of bodies) collect(body, '', '');
      assert.ok(found.length > 30, `${found.length} values`);
      for (const value of [...found, ...secrets, SECRET_TEXT, bench.simulator.client.id, 'signature='])
        for (const form of [value, encodeURIComponent(value)]) assert.ok(!holds(text, form), `${form} in the file`);
      for (const host of ['apiUrl', 'authUrl', 'storageUrl'] as const) {
        assert.ok(!text.includes(new URL(bench.simulator[host]).host));
        assert.ok(!text.includes(new URL(session[host]).host));
      }
      assert.ok(text.includes('.gcode"') && text.includes('"PLA"') && text.includes('AA 0.4'));
      const upload = exchanges(text).find(({ host, method }) => host === 'storage' && method === 'PUT');
      assert.deepEqual(upload.sent.file, {
        size: content.length,
        sha256: createHash('sha256').update(content).digest('hex'),
      });
      const replaced = Object.fromEntries(session.replaced);
      for (const kind of ['secrets', 'ids', 'names and texts', 'signed addresses', 'files', 'network addresses'])
        assert.ok(replaced[kind]! > 0, kind);
    });

    it('keeps lengths, forms and equalities', async () => {
      const { data } = (await api('GET', '/connect/v1/clusters')).json;
      const { data: status } = (await api('GET', `/connect/v1/clusters/${data[0].cluster_id}/status`)).json;
      const [list, one] = exchanges(await finish(session));
      const [first] = list.json.data;
      assert.equal(first.cluster_id.length, data[0].cluster_id.length);
      assert.equal(/=+$/.exec(first.cluster_id)?.[0], /=+$/.exec(data[0].cluster_id)?.[0]);
      assert.match(first.host_internal_ip, /^\d{3}\.\d\.\d\.\d{2}$/);
      assert.equal(one.path, `/connect/v1/clusters/${encodeURIComponent(first.cluster_id)}/status`);
      assert.match(one.json.data.printers[0].uuid, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
      assert.equal(one.json.data.printers[0].uuid, first.host_printer.uuid);
      assert.deepEqual(
        one.json.data.printers[0].configuration[0].material,
        status.printers[0].configuration[0].material,
      );
    });

    it('counts identical answers, and leads a sign-in to the service without recording it', async () => {
      for (let turn = 0; turn < 5; turn++) await api('GET', '/connect/v1/clusters');
      const { status, headers } = await call(`${session.authUrl}/authorize?client_id=c&state=s`);
      assert.deepEqual([status, headers.location], [302, `${bench.simulator.authUrl}/authorize?client_id=c&state=s`]);
      const lines = exchanges(await finish(session));
      assert.deepEqual(
        lines.map(({ path, same, times }) => [path, same, times]),
        [
          ['/connect/v1/clusters', undefined, undefined],
          [undefined, 2, 5],
        ],
      );
    });

    it('replaces each picture by the test picture', async () => {
      const cluster = `/connect/v1/clusters/${bench.clusterId()}`;
      const [printer] = (await api('GET', `${cluster}/status`)).json.data.printers;
      const action = `${cluster}/printers/${printer.uuid}/action/get_webcam_snapshot`;
      const posted = await api('POST', action);
      assert.ok(posted.status < 300, posted.text);
      bench.pass(5);
      const path = `${cluster}/action_status/${posted.json.data.action_id}`;
      const url = (await api('GET', path)).json.data.status_details.value.image_url;
      const real = await call(url);
      assert.equal(real.headers['content-type'], 'image/png');
      const text = await finish(session);
      assert.ok(exchanges(text).some(({ picture }) => picture === true));
      const replay = await replayed();
      const recorded = exchanges(text).find(({ json }) => json?.data?.status_details?.value?.image_url);
      const again = (await call(`${replay.apiUrl}${recorded.path}`)).json.data.status_details.value.image_url;
      assert.deepEqual((await call(again)).bytes, await testPicture());
    });
  });

  it('passes a large file with flat memory, and breaks what is under way when it stops', async () => {
    const size = 200 * 1024 * 1024;
    const part = Buffer.alloc(64 * 1024, 'f');
    let reached: () => void = () => undefined;
    const hanging = new Promise<void>((resolve) => (reached = resolve));
    const origin = await service((request, response) => {
      if (request.url === '/hang') return reached();
      if (request.url === '/link') {
        const body = JSON.stringify({ data: { download_url: `${origin}x/file?signature=1` } });
        response.writeHead(200, { 'content-type': 'application/json' }).end(body.replace(`${origin}x`, other));
        return;
      }
      response.writeHead(404).end();
    });
    const other = await service((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': size });
      let left = size;
      const more = (): void => {
        while (left > 0) {
          left -= part.length;
          if (!response.write(part) && left > 0) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    });
    const session = await recorder({ auth: origin, api: origin });
    const { download_url: url } = (await call(`${session.apiUrl}/link`)).json.data;
    collectGarbage();
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    const response = await fetch(url);
    let read = 0;
    let measured = 0;
    for await (const chunk of response.body!) {
      read += chunk.length;
      if (read - measured < 20 * 1024 * 1024) continue;
      measured = read;
      collectGarbage();
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }
    assert.equal(read, size);
    assert.ok(most < 60 * 1024 * 1024, `${most} bytes`);
    const broken = assert.rejects(call(`${session.apiUrl}/hang`));
    await hanging;
    const text = await finish(session);
    await broken;
    assert.ok(text.length < 2000, text);
    assert.ok(!text.includes('/hang'));
    assert.equal(exchanges(text).at(-1).file.size, size);
    assert.deepEqual(await readdir(folder), ['session.jsonl']);
  });

  it('ends at its largest size without a gap, and passes requests on', async () => {
    let count = 0;
    const origin = await service((_, response) => {
      const body = JSON.stringify({ data: { progress: ++count } });
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    });
    const session = await recorder({ auth: origin, api: origin }, { most: 1000 });
    for (let turn = 1; turn <= 30; turn++) assert.equal((await call(`${session.apiUrl}/a`)).json.data.progress, turn);
    assert.ok(session.isFull);
    const text = await finish(session);
    assert.ok(Buffer.byteLength(text) <= 1000);
    assert.deepEqual(
      exchanges(text).map(({ json }) => json.data.progress),
      exchanges(text).map((_, at) => at + 1),
    );
  });

  it('keeps the words of the service, and replaces the names beside them', async () => {
    const PLA = '506c9f0d-e3aa-4bd4-b2d2-23e2425b1aa9';
    /** Every enumeration of wire facts 12, and the words of errors and changes. */
    const words = {
      printers: [
        ...['idle', 'printing', 'pre_print', 'maintenance', 'unreachable', 'error', 'booting', 'unknown', 'disabled'],
      ].map((status) => ({ status, status_detail: `${status}_detail` })),
      print_jobs: [
        ...['queued', 'wait_approval', 'wait_user_action', 'wait_for_configuration', 'sent_to_printer', 'pre_print'],
        ...['printing', 'pausing', 'paused', 'resuming', 'post_print', 'wait_cleanup', 'aborted_post_print'],
        ...['failed_post_print', 'aborted_wait_user_action', 'failed_wait_user_action', 'aborted_wait_cleanup'],
        ...['failed_wait_cleanup', 'aborting', 'aborted', 'finished', 'failed', 'error', 'none'],
      ].map((status) => ({ status, status_detail: `${status}_detail` })),
      states: ['wait_approval', 'sending', 'waiting', 'in_progress', 'history', 'deleted'].map((state) => ({ state })),
      firmware: [
        ...['up_to_date', 'pending_update', 'update_available', 'update_in_progress', 'update_failed'],
        'update_impossible',
      ].map((status) => ({
        firmware_update_status: status,
        firmware_channel: 'early_access',
        firmware_version: '9.0.2',
      })),
      configuration_changes_required: [
        ['material_change', PLA, 'Generic PLA', '7cbdb9ca-081a-456f-a6ba-f73e4e9cb856', 'Generic ABS'],
        ['print_core_change', 'AA 0.4', 'AA 0.4', 'BB 0.8', 'BB 0.8'],
        ['material_insert', '', '', PLA, 'Generic PLA'],
        ['buildplate_change', 'glass', 'glass', 'flexible_pei', 'flexible_pei'],
      ].map(([type, originId, originName, targetId, targetName]) => ({
        type_of_change: type,
        ...{ origin_id: originId, origin_name: originName, target_id: targetId, target_name: targetName },
      })),
      capabilities: [
        ...[
          'connect_with_cluster_id',
          'connect_with_pin_code',
          'cluster_account_status',
          'group',
          'status',
          'schedule',
        ],
        ...['queue', 'print_job_action', 'print_job_action_duplicate', 'print_job_action_reprint'],
        ...['print_job_action_response', 'print_job_recent_history', 'printer_action', 'printer_action_response'],
        ...['printer_faults', 'identify', 'import_material', 'rename', 'set_availability', 'update_firmware'],
        ...['webcam_snapshot', 'firewall', 'pin_code_lock', 'firmware_channel'],
      ],
      sources: ['cloud', 'usb', 'network', 'reprint'].map((source) => ({ sent_from: source })),
      actions: ['pending', 'sent', 'success', 'failed', 'unknown', 'processing'].map((status) => ({ status })),
      others: [
        {
          display_status: 'pre_print',
          parsing_status: 'success',
          filter_status: 'peak_performance',
          severity: 'major',
        },
        { task_rule: { code: 'S5_CLEAN_NOZZLE', task_details: { type: 'time_based' } } },
        { task_codes: ['S5_CLEAN_NOZZLE', 'S5_OIL_AXLES'] },
        {
          build_plate: { type: 'glass' },
          flavor: 'Griffin',
          material: { guid: PLA, material: 'PLA', brand: 'Generic' },
        },
      ],
    };
    const errors = [
      {
        ...{ code: 'requiredField', http_status: '400' },
        meta: {
          ...{ error_type: 'ModelValidationError', record_name: 'PrintJob' },
          ...{ field_name: 'file_size', model_name: 'UploadRequest' },
        },
      },
    ];
    /** Words that people chose, in the same fields elsewhere. */
    const names = [
      {
        name: 'Anna',
        owner: 'Anna',
        friendly_name: 'Anna',
        note: 'Anna',
        constraints: { require_printer_name: 'Anna' },
      },
      { list: 'Anna', channel: 'Anna', model_name: 'Anna', record_name: 'Anna', field_name: 'Anna' },
      { origin_name: 'Anna', target_name: 'Anna', origin_id: 'Anna', target_id: 'Anna', printers: ['Anna'] },
    ];
    const origin = await service((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ data: { ...words, names }, errors }));
    });
    const session = await recorder({ auth: origin, api: origin });
    const sent = {
      data: { list: 'queued', channel: 'early_access', task_codes: ['S5_CLEAN_NOZZLE'], action: 'pause' },
    };
    const path = '/connect/v1/print_jobs?status=in_progress&sent_from=usb';
    const headers = { 'content-type': 'application/json' };
    await call(session.apiUrl + path, { method: 'POST', headers, body: JSON.stringify(sent) });
    const text = await finish(session);
    const [{ path: asked, sent: body, json }] = exchanges(text);
    const { names: _, ...kept } = json.data;
    assert.deepEqual(kept, words);
    assert.deepEqual([json.errors, body.json, asked], [errors, sent, path]);
    assert.ok(!text.includes('Anna'));
  });

  it('survives hostile answers', async () => {
    const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
    const answers: [type: string, body: string, headers?: Record<string, string>][] = [
      ['application/json', '{"broken": '],
      ['application/json', deep],
      [
        'application/json',
        '{"__proto__": {"x": 1}, "data_url": "http://[", "next": "https://user:pw@", "1": [null, "", "\\ud800"]}',
      ],
      ['application/json', '{}', { 'content-encoding': 'gzip' }],
      ['text/html', '<p>Anna</p>', { location: 'http://[::bad' }],
      ['application/json; name=Anna', '[]', { 'retry-after': 'Anna' }],
    ];
    let at = 0;
    const origin = await service((_, response) => {
      const [type, body, headers] = answers[at++] ?? ['', ''];
      if (type === '') return void response.socket?.destroy();
      response.writeHead(200, { 'content-type': type, ...headers }).end(body);
    });
    const session = await recorder({ auth: origin, api: origin });
    for (const [, body] of answers.slice(0, 2)) assert.equal((await call(`${session.apiUrl}/a`)).text, body);
    for (let turn = 2; turn < answers.length; turn++) assert.equal((await call(`${session.apiUrl}/a`)).status, 200);
    await assert.rejects(call(`${session.apiUrl}/a`));
    const text = await finish(session);
    assert.ok(!text.includes('Anna'));
    assert.equal(exchanges(text).at(-1).status, 0);
    const replay = await replayed();
    await assert.rejects(call(`${replay.apiUrl}/a`).then(() => Promise.reject(new Error('first'))));
  });

  describe('replay', () => {
    const START = Date.UTC(2030, 0, 1);

    it('moves dates, divides their distances, and answers reads by time and writes in order', async () => {
      const clock = { now: START };
      let count = 0;
      const origin = await service((_, response) => {
        count++;
        const data = { count, at: new Date(clock.now + 60_000).toISOString(), day: '2030-01-03' };
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data }));
      });
      const session = await recorder({ auth: origin, api: origin }, { now: () => clock.now });
      const send = (method: string) => call(`${session.apiUrl}/thing?page=${count}`, { method });
      await send('GET');
      clock.now += 60_000;
      await send('POST');
      await send('GET');
      clock.now += 60_000;
      await send('POST');
      await finish(session);

      const later = { now: START + 1e9 };
      const replay = await replayed({ speed: 2, now: () => later.now });
      const get = async (method = 'GET', path = '/thing') => (await call(replay.apiUrl + path, { method })).json?.data;
      assert.deepEqual(await get(), {
        ...{ count: 1, at: new Date(START + 1e9 + 30_000).toISOString() },
        day: new Date(START + 1e9 + 86_400_000).toISOString().slice(0, 10),
      });
      assert.equal((await get('POST')).count, 2);
      assert.equal((await get('POST')).count, 4);
      assert.equal((await get('POST')).count, 4);
      later.now += 29_000;
      assert.equal((await get()).count, 1);
      later.now += 1000;
      assert.equal((await get()).count, 3);
      later.now += 1e9;
      assert.equal((await get()).count, 3);
      assert.equal((await call(`${replay.apiUrl}/other`)).status, 404);
      assert.equal((await call(`${replay.apiUrl}/thing`, { method: 'DELETE' })).status, 404);
    });

    it('signs in any client', async () => {
      const origin = await service((_, response) => void response.end());
      await finish(await recorder({ auth: origin, api: origin }));
      const { authUrl } = await replayed();
      const { headers } = await call(`${authUrl}/authorize?redirect_uri=${encodeURIComponent(REDIRECT)}&state=s1`);
      const back = new URL(headers.location!);
      assert.deepEqual([back.origin + back.pathname, back.searchParams.get('state')], [REDIRECT, 's1']);
      const token = await call(`${authUrl}/token`, form({ client_secret: 'wrong' }));
      assert.ok(token.json.access_token && token.json.refresh_token);
    });

    it('shows the pack the same types, states and figures in the same order', async () => {
      const time = new TurnedTime(START);
      closing.push(async () => time.restore());
      const bench = await Bench.start({ printers: 1, now: time.now });
      const { simulator } = bench;
      closing.push(() => simulator.close());
      const session = await recorder({ auth: simulator.authUrl, api: simulator.apiUrl }, { now: time.now });
      const watch = async (urls: { authUrl: string; apiUrl: string }, act: (minute: number) => void) => {
        const seen: { events: unknown[]; states: unknown[] } = { events: [], states: [] };
        const client = await signedInClient(
          { ...simulator, ...urls },
          {
            store: new MemoryStore(),
            clock: systemClock,
          },
        );
        const watching = client.watcher.watch({
          ...{ key: 'watch', clusterId: null, interval: 60, milestones: [25, 50, 75], onlyChanges: false },
          audience: undefined,
          onRound: ({ results }) => {
            for (const { status } of results) if (status) seen.states.push(figures(status));
          },
          onEvents: (events: PrintEvent[]) => {
            for (const { type, value, job } of events)
              seen.events.push([
                type,
                typeof value === 'string' ? 0 : value,
                job?.state,
                job?.progress,
                job?.timeTotal,
              ]);
          },
          onTrouble: (error) => assert.fail(error),
        });
        await time.settled();
        for (let minute = 0; minute < 25; minute++) {
          act(minute);
          await time.pass(60);
        }
        watching.close();
        await client.close();
        return seen;
      };
      const figures = ({ online, printers, jobs, history }: ClusterStatus) => [
        online,
        printers.map(({ status, extruders }) => [
          status,
          extruders.map(({ material, temperature }) => [material, temperature]),
        ]),
        jobs.map(({ state, progress, timeElapsed, timeTotal }) => [state, progress, timeElapsed, timeTotal]),
        history.map(({ state, progress }) => [state, progress]),
      ];
      const jobId = await bench.upload(Buffer.from(';FLAVOR:Marlin\n;TIME:600\nG28\nG1 X1 Y1 E1\n'));
      const real = await watch(session, (minute) => {
        if (minute === 1) void bench.print(jobId);
        if (minute === 20) simulator.world.setOnline(1, false);
      });
      const text = await finish(session);
      for (const { clusterId } of simulator.world.clusters()) assert.ok(!text.includes(clusterId));

      await time.pass(3600);
      const replay = await replayed({ now: time.now });
      const again = await watch(replay, () => undefined);
      assert.ok(real.events.length > 6, JSON.stringify(real.events));
      assert.deepEqual(again.events, real.events);
      // The polls fall on other moments, as they depend on the ids.
      const [first, second] = [real, again].map(({ states }) => withoutRepeats(states)) as [unknown[], unknown[]];
      assert.ok(second.length >= first.length - 1 && first.length > 10);
      assert.deepEqual(second, first.slice(0, second.length));
    });
  });
});
