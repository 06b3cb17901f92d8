import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { appendFile, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { root } from '../../scripts/node-red.mjs';
import { mqtt, retained, startBroker, stopBroker } from '../helpers/mosquitto';
import { newestRuntimes } from '../helpers/real-node-red';
import { checkDiscovery } from '../lib/home-assistant/schema';
import { ExampleBench, type Cluster, type ExampleNode } from './example-bench';
import { MailServer } from './mail-server';
import { onEach } from './on-each';

/** The pack of the e-mail node, as Node-RED finds it in `nodesDir`. */
const mailPack = join(root, 'matrix/node_modules/node-red-node-email');

/** Examples that need another pack, with tests of their own. */
const ON_A_DASHBOARD = /^0[56]-/;

const GCODE = ';held\n;FLAVOR:Griffin\n;TIME:600\nG28\nG1 X20 Y20 E1\nM104 S0\n';
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47]);
/** Virtual seconds from the start of a print to its first layer, and from its end to the cleared plate. */
const HEATING = 100;
const CLEARING = 400;

/** Runs each example on all wanted Node-REDs in parallel. Each Node-RED has one simulated world for all examples. */
describe('the examples', () => {
  const benches = new Map<string, ExampleBench>();
  before(async () => {
    const start = async (runtime: (typeof newestRuntimes)[number]) =>
      void benches.set(runtime.name, await ExampleBench.start(runtime, [mailPack]));
    await Promise.all(newestRuntimes.map(start));
  });
  after(() => Promise.all([...benches.values()].map((bench) => bench.close())));

  const example = (title: string, exercise: (bench: ExampleBench) => Promise<void>) => onEach(benches, title, exercise);

  example('all: run side by side as imported, also after a restart', async (bench) => {
    const files = (await readdir(join(root, 'examples'))).filter((file) => !ON_A_DASHBOARD.test(file));
    await bench.importAll(files);
    for (const isBack of [false, true]) {
      if (isBack) await bench.restart();
      // Printers that are online.
      await bench.until(() => bench.shown('printer status').includes('online: true'), { isAsking: false });
      assert.equal((await bench.page('failed-chat')).status, 200);
      assert.deepEqual(bench.complaints(), []);
    }
  });

  example('print ended: sends a picture to a chat', async (bench) => {
    await bench.import('01-print-ended-picture-to-a-chat', { CHAT_WEBHOOK: `${bench.address}/chat` });
    await printAndWatch(bench, 'print something small');
    await bench.pass(1200 + CLEARING);
    await bench.until(() => bench.calls.length === 1);
    const [{ path, method, headers, body }] = bench.calls as [ExampleBench['calls'][0]];
    assert.deepEqual([path, method], ['/chat', 'POST']);
    assert.match(String(headers['content-type']), /^multipart\/form-data/);
    assert.match(body.toString('latin1'), /name="content"\s+square\.gcode has finished on \w+ printer after 20 min\./);
    assert.ok(body.includes(PNG), 'no picture');
    const page = await (await bench.page('print-chat')).text();
    assert.match(page, /square\.gcode has finished on .*<img alt="" src="data:image\/png;base64,/);

    // When the camera fails, the message has no picture.
    for (const cluster of [1, 2, 3, 4, 5]) await bench.world('actions', { cluster, outcome: 'failed' });
    await printAndWatch(bench, 'print something small');
    const [running] = (await bench.prints('square.gcode')).filter(({ status }) => status === 'printing');
    await bench.world('fail', { cluster: running!.clusterId });
    await bench.until(() => bench.calls.length === 2);
    assert.match(bench.calls[1]!.body.toString('latin1'), /square\.gcode has failed on/);
    assert.ok(!bench.calls[1]!.body.includes(PNG));
    for (const cluster of [1, 2, 3, 4, 5]) await bench.world('actions', { cluster });
  });

  example('power off: switches a cooled printer off after its print, but never at a restart', async (bench) => {
    const clusters = await bench.import('02-power-off-when-cooled').then(() => bench.clusters());
    const plugs = Object.fromEntries(clusters.map(({ friendlyName }) => [friendlyName, `${bench.address}/off`]));
    await bench.import('02-power-off-when-cooled', { PLUGS: JSON.stringify(plugs) });
    await printAndWatch(bench, 'print something small');
    assert.equal(bench.calls.length, 0, 'hot and printing');
    const writing = (updateStatus: string) =>
      Promise.all(clusters.map((_, n) => bench.world('firmware', { cluster: n + 1, updateStatus })));
    await writing('update_in_progress');
    await bench.pass(600 + CLEARING + 3600);
    await bench.untilHeard(/job\.finished square\.gcode late false/);
    await bench.settle();
    assert.equal(bench.calls.length, 0, 'writing its firmware');
    await writing('up_to_date');
    await bench.pass(60);
    await bench.until(() => bench.calls.length === 1);
    assert.deepEqual([bench.calls[0]!.path, bench.calls[0]!.method], ['/off', 'GET']);
    await bench.settle();
    assert.equal(bench.calls.length, 1, 'once');

    // The next print ends while Node-RED is off.
    await printAndWatch(bench, 'print something small');
    await bench.pass(500);
    await bench.restart();
    await bench.pass(600 + CLEARING + 3600);
    await bench.untilHeard(/job\.finished square\.gcode late/);
    await bench.settle();
    assert.equal(bench.calls.length, 1, 'not after a restart');
  });

  example('milestones: sends one notice for each', async (bench) => {
    await bench.import('03-milestone-notices', { NOTICE_WEBHOOK: `${bench.address}/notice` });
    await printAndWatch(bench, 'print for an hour (a minute here)');
    for (const milestone of [25, 50, 75]) {
      await bench.pass(900);
      await bench.until(() => texts(bench).some((text) => text.includes(`: ${milestone} %, `)));
    }
    await bench.pass(3600);
    await bench.untilHeard(/job\.finished square/);
    await bench.settle();
    assert.equal(bench.calls.length, 3);
    assert.match(texts(bench)[0]!, /^square\.gcode on \w+ printer: 25 %, \d\d s left, done at \d\d:\d\d$/);
  });

  /** Imports the drop folder, which searches its folder only when the test asks, and tries again at once. */
  const importDropFolder = async (bench: ExampleBench, env: Record<string, unknown>) => {
    await bench.import('04-drop-folder', env, (node) => {
      if (node.name === 'look every 10 s') return { ...node, repeat: '' };
      return node.type === 'delay' ? { ...node, timeout: '0.1', timeoutUnits: 'seconds' } : node;
    });
    return () => bench.press('look every 10 s');
  };

  example('drop folder: prints each file once, or after an OK', async (bench) => {
    const folder = join(bench.userDir, 'drop');
    const dropped = join(folder, 'dropped square.gcode');
    let look = await importDropFolder(bench, { FOLDER: '~/drop' });
    await bench.press('put a file there');
    await bench.until(async () => (await look(), bench.shown('printed').includes('duplicate: false')));
    await bench.until(() => existsSync(`${dropped}.printed`));

    // Simulates a crash before the file was renamed.
    await bench.restart(() => rename(`${dropped}.printed`, dropped));
    await bench.until(async () => (await look(), bench.shown('printed').includes('duplicate: true')));
    await bench.until(() => existsSync(`${dropped}.printed`));
    for (let turn = 0; turn < 3; turn += 1) await look().then(bench.settle);
    assert.equal((await bench.prints('dropped square.gcode')).length, 1);

    look = await importDropFolder(bench, { FOLDER: folder, HOLD: true });
    // macOS puts such a companion beside each file of a share.
    for (const name of ['._held.gcode', '.DS_Store', 'held.gcode']) await writeFile(join(folder, name), GCODE);
    await writeFile(join(folder, 'part.stl'), 'solid');
    await bench.until(async () => (await look(), bench.shown('waiting for an OK').includes('held.gcode')));
    await bench.settle();
    assert.deepEqual(await bench.prints('held.gcode'), []);
    await bench.press('OK: print what waits');
    await bench.until(async () => (await bench.prints('held.gcode')).length === 1);
    await bench.until(() => existsSync(join(folder, 'held.gcode.printed')));
    assert.match(bench.shown('is not printed'), /^\S+part\.stl is a model: slice it to G-code first\.$/);
    assert.deepEqual((await readdir(folder)).sort(), [
      ...['.DS_Store', '._held.gcode', 'dropped square.gcode.printed', 'held.gcode.printed', 'part.stl'],
    ]);
    assert.equal(bench.shown('what went wrong'), '');
    await bench.pass(600 + HEATING + CLEARING);
  });

  example('drop folder: waits for a file to be whole, and for its printer', async (bench) => {
    const FOLDER = join(bench.userDir, 'slow');
    const file = join(FOLDER, 'slow.gcode');
    await mkdir(FOLDER);
    const look = await importDropFolder(bench, { FOLDER, PRINTER: 'Window printer' });
    await bench.world('offline', { cluster: 2 });
    await writeFile(file, '');
    for (const line of ['', ...GCODE.match(/.*\n/g)!]) {
      await appendFile(file, line);
      await look();
      await bench.settle();
    }
    assert.equal(bench.shown('waits'), '');
    await bench.until(async () => (await look(), bench.shown('waits').includes('idle')));
    await bench.world('online', { cluster: 2 });
    await bench.until(async () => (await look(), bench.shown('printed').includes('slow.gcode')));
    assert.match(bench.shown('printed'), new RegExp(`fileSize: ${GCODE.length},`));
    const printed = (await bench.prints('slow.gcode')).map(({ clusterId }) => clusterId);
    assert.deepEqual(printed, [(await bench.clusters())[1]?.clusterId]);
    assert.equal(bench.shown('what went wrong'), '');
    await bench.pass(600 + HEATING + CLEARING);
  });

  example('drop folder, shared: leaves what is no file alone, and writes nothing outside the folder', async (bench) => {
    const FOLDER = join(bench.userDir, 'shared');
    const outside = join(bench.userDir, 'outside.json');
    await mkdir(FOLDER);
    await writeFile(outside, '{}');
    await symlink(join(bench.userDir, 'nowhere'), join(FOLDER, 'a dangling link.gcode'));
    await symlink(outside, join(FOLDER, 'a link.gcode'));
    spawnSync('mkfifo', [join(FOLDER, 'a pipe.gcode')]);
    await mkdir(join(FOLDER, 'a folder.gcode'));
    await symlink(outside, join(FOLDER, 'good.gcode.printed'));
    const look = await importDropFolder(bench, { FOLDER });
    await writeFile(join(FOLDER, 'good.gcode'), GCODE);
    await bench.until(async () => (await look(), bench.shown('printed').includes('good.gcode')));
    await bench.until(() => !existsSync(join(FOLDER, 'good.gcode')));
    await bench.settle();
    assert.equal((await bench.prints('good.gcode')).length, 1);
    assert.equal(await readFile(outside, 'utf8'), '{}');
    assert.equal(await readFile(join(FOLDER, 'good.gcode.printed'), 'utf8'), GCODE);
    assert.deepEqual(
      bench.shown('is not printed').split('\n').sort(),
      ['a dangling link', 'a folder', 'a link', 'a pipe'].map((name) => `${FOLDER}/${name}.gcode is no regular file.`),
    );
    assert.equal(bench.shown('what went wrong'), '');
    await bench.pass(600 + HEATING + CLEARING);
  });

  example('log and report: writes a line for each print and mails hours and material', async (bench) => {
    const mails = await MailServer.start();
    const LOG_FILE = join(bench.userDir, 'log', 'prints.csv');
    const mail = { MAIL_TO: 'Owner <owner@example.com>', MAIL_FROM: 'node-red@example.com' };
    /** Puts an e-mail node in place of "the mail", and fills it in, as a user would. */
    const withServer = ({ id, z, x, y, ...node }: ExampleNode): ExampleNode =>
      node.name === 'the mail'
        ? {
            ...{ id, z, x, y, type: 'e-mail', server: 'localhost', port: String(mails.port), authtype: 'BASIC' },
            ...{ saslformat: true, secure: true, tls: true, dname: 'mail it', wires: [] },
            credentials: { userid: mails.user, password: mails.password },
          }
        : { id, z, x, y, ...node };
    try {
      await bench.import('07-log-of-prints-and-weekly-report', { LOG_FILE, ...mail }, withServer);
      await bench.untilShown('seen last', /Workbench printer/);
      await printAndWatch(bench, 'print something small');
      await bench.world('print-locally', { cluster: 5, name: '=a "formula", it is', seconds: 60 });
      await bench.pass(600 + CLEARING);
      await bench.untilShown('logged', /,square\.gcode/);
      await bench.untilShown('logged', /formula/);
      const lines = async () => (await readFile(LOG_FILE, 'utf8')).split('\n');
      assert.equal((await lines())[0], 'at,printer,job,end,minutes,owner,id');
      const about = async (name: string) => (await lines()).filter((line) => line.includes(name));
      const [square = ''] = await about(',square.gcode,');
      assert.match(square, /^[\d-]+T[\d:.]+Z,\w+ printer,square\.gcode,finished,10,Mona Maker,[\w-]+$/);
      assert.match((await about('formula'))[0] ?? '', /Z,[\w ]+,"'=a ""formula"", it is",finished,1,,[\w-]+$/);
      await bench.restart();
      await bench.untilShown('seen last', /Workbench printer/);
      await bench.world('print-locally', { cluster: 5, name: 'after the restart', seconds: 60 });
      await bench.pass(60 + HEATING + CLEARING);
      await bench.untilShown('logged', /after the restart/);
      await bench.settle();
      for (const once of ['at,printer,job,end,minutes,owner,id', ',square.gcode,', 'formula', 'after the restart'])
        assert.equal((await about(once)).length, 1, once);
      assert.equal(bench.shown('what went wrong'), '');

      await bench.press('Mondays at 7:00');
      await bench.until(() => mails.mails.length === 1);
      const [{ to, head: headers, text, secure }] = mails.mails as [MailServer['mails'][0]];
      assert.deepEqual([to, secure], [['owner@example.com'], true]);
      assert.match(headers, /^Subject: \d+ prints, \d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d$/m);
      assert.match(headers, /^From: node-red@example\.com$/m);
      const [, prints] =
        /^(\d+) prints, \d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d, [\d.]+ hours\n/.exec(text) ?? assert.fail(text);
      assert.ok(Number(prints) > 20, prints);
      // Each printer has a line, also each of a group; its hours are within the range, and not zero.
      const ofPrinters = text.matchAll(/^- ([\w ]+ printer(?: \d+)?): \d+ prints, ([\d.]+) h$/gm);
      const hours = new Map([...ofPrinters].map(([, name, sum]) => [name, Number(sum)]));
      const printers = (await bench.accountClusters()).flatMap((cluster) => cluster.printers.map(({ name }) => name));
      assert.deepEqual([...hours.keys()].sort(), printers.sort());
      for (const sum of hours.values()) assert.ok(sum > 1 && sum <= 7 * 24, text);
      assert.match(text, /\n\nBy material that was loaded\n(- Generic .+: \d+ prints, [\d.]+ h\n)+$/);
      // The simulator's report does not say how a print ended.
      assert.doesNotMatch(text, /undefined|NaN|null|finished|failed|aborted/);
    } finally {
      await mails.close();
    }
  });

  example(
    'alarm: reports an offline printer, a needed person, a stalled print and events of printers, each once',
    async (bench) => {
      const settings = { ALARM_WEBHOOK: `${bench.address}/alarm`, OFFLINE_MINUTES: 0.01, STALL_MINUTES: 0.02 };
      const file = '08-alarm-offline-needs-a-person-stalled';
      await bench.import(file, settings);
      const told = (pattern: RegExp) => bench.until(() => texts(bench).some((text) => pattern.test(text)));
      await bench.untilShown('seen last', /Workbench printer/);
      await bench.world('offline', { cluster: 2 });
      await told(/^Window printer is offline\.$/);
      await bench.settle();
      await bench.world('online', { cluster: 2 });
      await told(/^Window printer is online again\.$/);
      await bench.world('add-fault', { cluster: 3, code: 'DOOR_OPEN', message: 'the door is open' });
      await told(/^Back room printer reports: the door is open\.$/);
      await bench.world('clear-faults', { cluster: 3 });

      await bench.world('print-locally', { cluster: 1, name: 'endless.gcode', seconds: 1e7 });
      await bench.pass(HEATING);
      await told(/^endless\.gcode at Workbench printer needs more PLA than is left\.$/);
      await bench.world('stall', { cluster: 1 });
      await told(/^endless\.gcode at Workbench printer has made no progress for 0\.02 minutes \(0 %\)\.$/);
      await bench.world('unstall', { cluster: 1 });
      await bench.world('load', { cluster: 2, extruder: 0, volumeLeft: 30_000 });
      await told(/^Less than 10 % of PLA is left in Window printer\.$/);
      const { model } = (await bench.clusters())[1]!;
      await bench.world('maintenance-due', { cluster: 2, value: [`${model}_clean_fans`] });
      await told(/^Maintenance of Window printer is due\.$/);
      await bench.world('pause', { cluster: 1 });
      await told(/^endless\.gcode is paused at Workbench printer\.$/);
      await bench.pass(10);
      await bench.world('resume', { cluster: 1 });
      await told(/^endless\.gcode goes on at Workbench printer\.$/);
      await bench.settle();
      const once = [/is offline/, /is online/, /reports/, /needs more/, /no progress/, /^Less/, /^Maint/, /is paused/];
      const times = () => once.map((pattern) => texts(bench).filter((text) => pattern.test(text)).length);
      assert.deepEqual(times(), Array(8).fill(1), texts(bench).join('\n'));

      // A printer that went off shortly before a restart is reported after it; nothing else is told again.
      bench.calls.length = 0;
      await bench.world('offline', { cluster: 3 });
      await bench.restart();
      await told(/^Back room printer is offline\.$/);
      await bench.settle();
      assert.deepEqual(texts(bench), ['Back room printer is offline.']);
      await bench.world('online', { cluster: 3 });
      await told(/^Back room printer is online again\.$/);
      assert.equal(bench.shown('what went wrong'), '');
      await bench.world('maintenance-due', { cluster: 2, value: [] });
      await bench.world('abort', { cluster: 1 });
      await bench.pass(CLEARING);
    },
  );

  example('timelapse: keeps frames and makes a video, or a page without ffmpeg', async (bench) => {
    const FRAMES = join(bench.userDir, 'frames');
    await bench.import('09-timelapse', { FRAMES });
    const known = new Set((await bench.prints('square.gcode')).map(({ uuid }) => uuid));
    await printAndWatch(bench, 'print for an hour (a minute here)');
    // However slow the machine is, the print lasts until enough pictures of it exist.
    const running = (await bench.prints('square.gcode')).find(({ uuid }) => !known.has(uuid));
    const { clusterId, uuid } = running ?? assert.fail('nothing prints');
    // A print of an earlier example may have a folder, too.
    const folder = join(FRAMES, `square_gcode-${uuid}`);
    const frames = async () =>
      (await readdir(folder).catch(() => [])).filter((name) => /^frame-\d{5}\.png$/.test(name)).sort();
    await bench.world('stall', { cluster: clusterId });
    await bench.until(async () => (await frames()).length >= 3);
    await bench.world('unstall', { cluster: clusterId });
    await bench.pass(3600 + CLEARING);
    await bench.untilShown('video', /\S/);
    for (const [at, name] of (await frames()).entries()) {
      assert.equal(name, `frame-${String(at + 1).padStart(5, '0')}.png`);
      assert.ok((await readFile(join(folder, name))).subarray(0, 4).equals(PNG));
    }
    const video = join(folder, 'timelapse.mp4');
    if (spawnSync('ffmpeg', ['-version']).status === 0) {
      assert.match((await readFile(video)).subarray(0, 12).toString('latin1'), /ftyp/);
      const wanted = ['-count_frames', '-show_entries', 'stream=nb_read_frames', '-of', 'csv=p=0'];
      const { stdout } = spawnSync('ffprobe', ['-v', 'error', ...wanted, video], { encoding: 'utf8' });
      assert.equal(Number(stdout), (await frames()).length);
    } else {
      const page = join(folder, 'timelapse.html');
      assert.match(bench.shown('video'), /^ffmpeg is not installed: .*timelapse\.html plays the \d+ pictures\./);
      assert.match(await readFile(page, 'utf8'), /\["frame-00001\.png","frame-00002\.png","frame-00003\.png"/);
    }
    const others = (await readdir(folder)).filter((name) => !/^(frame-\d+\.png|timelapse\.\w+)$/.test(name));
    assert.deepEqual(others, []);
  });

  example('cheap power: makes a dry run at once, and prints when the price is low', async (bench) => {
    bench.answer = { price: 0.5 };
    await bench.import('10-start-when-power-is-cheap', { PRICE_URL: `${bench.address}/price`, LIMIT: 0.2 });
    await bench.press('print when power is cheap');
    const priced = async () => {
      const before = bench.calls.length;
      await bench.press('every minute');
      await bench.until(() => bench.calls.length > before);
      await bench.settle();
    };
    await priced();
    assert.deepEqual(await bench.prints('night square.gcode'), [], 'power is dear');
    // The waiting messages are in the context store.
    await bench.restart();
    bench.answer = { price: 0.1 };
    await bench.until(async () => (await bench.press('every minute'), bench.shown('printed').includes('night square')));
    await priced();
    assert.equal((await bench.prints('night square.gcode')).length, 1);
    assert.equal(bench.shown('what went wrong'), '');
    bench.answer = {};
    await bench.pass(600 + HEATING + CLEARING);
  });

  example('cheap power: prints a file of your own', async (bench) => {
    const path = join(bench.userDir, 'my own.gcode');
    await writeFile(path, ';my own\n;TIME:600\nG28\n');
    await bench.import('10-start-when-power-is-cheap', { FILE: path, CHEAP_FROM: 0, CHEAP_TO: 0 });
    await bench.press('print when power is cheap');
    await bench.until(async () => (await bench.press('start now'), bench.shown('printed').includes('my own')));
    assert.equal((await bench.prints('my own.gcode')).length, 1);
    assert.equal(bench.shown('what went wrong'), '');
    await bench.pass(600 + HEATING + CLEARING);
  });

  example(
    'Home Assistant: survives restarts of the broker and of Node-RED, and obeys a command once',
    async (bench) => {
      let broker = await startBroker(bench.userDir);
      const { port } = broker;
      const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 100 });
      // The client retries until the broker listens.
      client.on('error', () => undefined);
      await new Promise((connected) => client.once('connect', connected));
      const messages = new Map<string, string[]>();
      client.on('message', (topic, payload) => {
        messages.set(topic, [...(messages.get(topic) ?? []), payload.toString('latin1')]);
      });
      const last = (topic: string) => messages.get(topic)?.at(-1) ?? '';
      try {
        await client.subscribeAsync('#');
        await bench.import('11-mqtt-with-home-assistant', {}, (node) =>
          node.type === 'mqtt-broker' ? { ...node, broker: '127.0.0.1', port: String(port) } : node,
        );
        await bench.until(() => last('remote-printing/bridge') === 'online');
        const [{ clusterId: cluster, friendlyName }] = (await bench.accountClusters()) as [Cluster];
        const configOf = () =>
          [...messages.keys()].find((topic) => topic.endsWith('/config') && last(topic).includes(friendlyName));
        await bench.until(() => configOf() !== undefined);
        const config = configOf()!;
        const id = /remote_printing_(.+)\/config$/.exec(config)![1]!;
        const topics = ['state', 'availability', 'command'].map((what) => `remote-printing/${id}/${what}`);
        const [stateTopic, availability, command] = topics as [string, string, string];
        const state = () => JSON.parse(last(stateTopic) || '{}') as Record<string, unknown>;
        const { components } = checkDiscovery(Buffer.from(last(config), 'latin1').toString());
        assert.equal(components.pause!.command_topic, command);
        await bench.until(() => last(availability) === 'online');

        await bench.world('print-locally', { cluster, name: 'square', seconds: 36_000 });
        await bench.pass(HEATING + 10);
        await bench.until(() => state().state === 'printing');
        const isPaused = async () =>
          (await bench.clusters()).find(({ clusterId }) => clusterId === cluster)!.queue[0]!.status === 'paused';

        // A button sends no retained message, but a flow may. The broker hands it to a connected client without its mark.
        await client.publishAsync(command, components.pause!.payload_press as string, { retain: true, qos: 1 });
        await bench.until(() => state().state === 'paused');
        assert.ok(!(await retained(port)).includes(command), 'the broker retains the command');
        await client.publishAsync(command, 'resume', { qos: 1 });
        await bench.until(() => state().state === 'printing');

        // The broker forgets everything.
        await stopBroker(broker);
        messages.clear();
        broker = await startBroker(bench.userDir, port);
        await bench.until(async () => {
          const kept = await retained(port);
          return [config, stateTopic, availability, 'remote-printing/bridge'].every((topic) => kept.includes(topic));
        });

        // A command that waits for Node-RED.
        await bench.restart(async () => {
          await bench.until(() => last('remote-printing/bridge') === 'offline', { isAsking: false });
          await client.publishAsync(command, 'pause', { retain: true, qos: 1 });
          messages.clear();
        });
        await bench.until(() => last('remote-printing/bridge') === 'online' && messages.has(config));
        await bench.until(async () => !(await retained(port)).includes(command));
        await bench.until(() => state().state === 'printing');
        await bench.settle();
        assert.equal(await isPaused(), false, 'a retained command was carried out');

        // Home Assistant starts.
        messages.clear();
        await client.publishAsync('homeassistant/status', 'online');
        await bench.until(() => [config, stateTopic, availability].every((topic) => messages.has(topic)));
      } finally {
        await client.endAsync(true);
        await stopBroker(broker);
      }
    },
  );

  example('print queue with a board: prints each copy once its page has cleared a plate', async (bench) => {
    const NAME = '06-print-queue-with-a-board';
    await bench.import(NAME);
    await bench.press('six brackets');
    await bench.untilShown('queued', /^corner bracket\.gcode$/m);
    /** Texts of a section of the board's page. */
    const section = async <Entry>(name: string): Promise<Entry[]> => {
      const { sections } = (await (await bench.page('print-queue/board.json')).json()) as {
        sections: Record<string, { set?: Record<string, Entry> }>;
      };
      return Object.values(sections[name]?.set ?? {});
    };
    /** Good copies; null once the item has ended, and has left the page. */
    const good = async (): Promise<number | null> => {
      const items = await section<{ name: string; copies: { good: number } }>('items');
      return items.find(({ name }) => name === 'corner bracket.gcode')?.copies.good ?? null;
    };
    /** Presses the first answer for each plate, as a page does. */
    const pressAll = async () => {
      for (const { kind, answers } of await section<Need>('todo')) {
        if (kind !== 'plate') continue;
        const body = JSON.stringify({ key: randomUUID(), ...answers[0] });
        const headers = { 'content-type': 'application/json' };
        assert.equal((await bench.page('print-queue/press', { method: 'POST', headers, body })).status, 200);
      }
    };
    const turn = async () => {
      await pressAll();
      await bench.pass(HEATING + 1200 + CLEARING);
      return good();
    };
    await bench.until(async () => ((await turn()) ?? 0) > 0);
    assert.match(bench.shown('who pressed what'), /plate-cleared/);
    await bench.restart();
    await bench.until(async () => (await bench.page('print-queue/')).status === 200);
    await bench.until(async () => (await turn()) === null);
    assert.equal((await bench.prints('corner bracket.gcode')).length, 6);
    assert.deepEqual(bench.complaints(), []);
  });

  example('web shop: queues the parts of each order once, answers once stored, and reports the end', async (bench) => {
    const FOLDER = join(bench.userDir, 'print-files');
    const secret = 'a secret of the shop';
    await bench.import('17-orders-from-a-web-shop', {
      ...{ FOLDER, SHOP_SECRET: secret, NOTICE_WEBHOOK: `${bench.address}/notice` },
    });
    const clear = () => bench.press('all plates are clear and good');
    for (const shop of ['Shopify', 'WooCommerce', 'Shopware']) await bench.press(`as ${shop} sends it`);
    for (const order of ['1001', '727', '10005']) await bench.untilShown('order stored', new RegExp(`^${order}$`, 'm'));

    // The cover was taken out of the order before the payment.
    const lines = [
      { sku: 'BRACKET', quantity: 1 },
      { sku: 'COVER-PAIR', quantity: 2, current_quantity: 0 },
    ];
    const order = (number: string) => JSON.stringify({ number, line_items: lines });
    const sign = (body: string, of = secret) => createHmac('sha256', of).update(body).digest();
    const send = (body: string, headers: Record<string, string>) =>
      bench.page('orders', { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });
    const body = order('2001');
    // The three shops sign in two ways; each repeat is the same order.
    const signatures = [
      { 'x-shopify-hmac-sha256': sign(body).toString('base64') },
      { 'x-wc-webhook-signature': sign(body).toString('base64') },
      { 'shopware-shop-signature': sign(body).toString('hex') },
    ];
    for (const signature of signatures) assert.equal((await send(body, signature)).status, 200);
    assert.equal((await send(body, {})).status, 401);
    assert.equal(
      (await send(body, { 'x-wc-webhook-signature': sign(body, 'guessed').toString('base64') })).status,
      401,
    );
    assert.equal((await send('webhook_id=7', {})).status, 200, 'the trial of a shop');
    const unpaid = order('2002').replace('{', '{"status":"pending",');
    assert.equal((await send(unpaid, { 'x-wc-webhook-signature': sign(unpaid).toString('base64') })).status, 200);
    // A file that is missing is an error, so that the shop sends the order again.
    await rm(join(FOLDER, 'shelf-bracket.gcode'));
    const next = order('2003');
    const signed = { 'x-wc-webhook-signature': sign(next).toString('base64') };
    assert.equal((await send(next, signed)).status, 500);
    await bench.press('as Shopify sends it');
    await bench.until(async () => existsSync(join(FOLDER, 'shelf-bracket.gcode')));
    assert.equal((await send(next, signed)).status, 200);

    // A print makes two brackets, and one cover of the pair.
    const ordered = { 1001: 2, 727: 2, 10005: 1, 2001: 1, 2003: 1 };
    const messages = Object.entries(ordered).map(
      ([number, parts]) => `Order ${number} is finished: ${parts} parts ordered, 2 good.`,
    );
    // Each check lets 18 minutes pass for all printers, while the queue sees them every ten seconds.
    const finished = async () => {
      await clear();
      await bench.pass(HEATING + 600 + CLEARING);
      return messages.every((message) => texts(bench).includes(message));
    };
    await bench.until(finished, { every: 1000 });
    await bench.settle();
    assert.deepEqual(texts(bench).sort(), [...messages].sort());
    assert.equal((await bench.prints('shelf-bracket.gcode')).length, 4);
    assert.equal((await bench.prints('lamp-cover.gcode')).length, 2);
  });

  example('print again: repeats the print that failed last, once for each failure', async (bench) => {
    await bench.import('19-print-the-last-one-again');
    await bench.press('print it again');
    await bench.untilShown('nothing to print again', /No print has failed/);
    await printAndWatch(bench, 'print something small');
    const earlier = await bench.prints('square.gcode');
    const [running] = earlier.filter(({ status }) => status === 'printing');
    await bench.press('abort all prints');
    await bench.untilShown('can be printed again', /square\.gcode/);
    await bench.pass(CLEARING);
    for (const _ of ['first', 'second']) await bench.press('print it again');
    await bench.untilShown('printed again', /square\.gcode \(before\)/);
    const known = new Set(earlier.map(({ uuid }) => uuid));
    const repeats = (await bench.prints('square.gcode')).filter(({ uuid }) => !known.has(uuid));
    assert.deepEqual(
      repeats.map(({ clusterId, jobId }) => [clusterId, jobId]),
      [[running?.clusterId, running?.jobId]],
    );
    assert.deepEqual(bench.complaints(), []);
    await bench.press('abort all prints');
    await bench.pass(CLEARING);
  });

  example('print a file: prints a cube made in the flow, and reports its end over a restart', async (bench) => {
    await bench.import('12-print-a-file');
    await bench.press('print a cube');
    await bench.until(async () => (await bench.prints('cube.gcode')).length === 1);
    await bench.pass(HEATING + 10);
    await bench.untilShown('progress', /cube\.gcode: printing \d+ %, \d\d? min left/);
    await bench.restart();
    await bench.pass(1067 + CLEARING);
    await bench.untilShown('result', /printed: true/);
    await bench.settle();
    assert.equal((await bench.prints('cube.gcode')).length, 1);
    assert.equal(bench.shown('errors'), '');
  });

  example('control: pauses, resumes, repeats and aborts the print that it began', async (bench) => {
    await bench.import('13-control-a-print');
    const known = new Set((await bench.prints('square.gcode')).map(({ uuid }) => uuid));
    const prints = async () => (await bench.prints('square.gcode')).filter(({ uuid }) => !known.has(uuid));
    const states = async () => (await prints()).map(({ status }) => status);
    await bench.press('print a square');
    await bench.untilShown('remembered', /square\.gcode/);
    await bench.pass(HEATING);
    await bench.until(async () => (await states())[0] === 'printing');
    const [first] = await prints();
    await bench.press('pause');
    await bench.until(async () => (await states())[0] === 'paused');
    await bench.untilShown('done', /action: 'pause'/);
    await bench.restart();
    await bench.press('resume');
    await bench.until(async () => (await states())[0] === 'printing');
    await bench.press('once more');
    await bench.until(async () => (await prints()).length === 2);
    await bench.press('abort');
    await bench.until(async () => (await states()).some((status) => status.startsWith('abort')));
    const aborted = (await prints()).find(({ status }) => status.startsWith('abort'));
    assert.equal(aborted?.uuid, first?.uuid);
    assert.equal(bench.shown('errors'), '');
    await bench.pass(CLEARING + HEATING + 3600 + CLEARING);
  });

  example('any request: marks the maintenance that is due as done', async (bench) => {
    await bench.import('16-any-request');
    const [, { model }] = (await bench.accountClusters()) as [Cluster, Cluster, ...Cluster[]];
    await bench.press('maintenance is done');
    await bench.untilShown('nothing is due', /No printer has/);
    await bench.world('maintenance-due', { cluster: 2, value: [`${model}_clean_fans`] });
    await bench.press('maintenance is done');
    await bench.untilShown('marked as done', new RegExp(`${model}_clean_fans`));
    const done = bench.shown('nothing is due').length;
    await bench.press('maintenance is done');
    await bench.until(() => bench.shown('nothing is due').length > done);
    assert.doesNotMatch(bench.shown('marked as done'), /clean_build_plate/);
    assert.equal(bench.shown('errors'), '');
  });

  example('failed: asks what now, and prints again where the first answer says', async (bench) => {
    const chat = chatOf(bench);
    const { sent, press } = chat;
    /** Lets the print fail, and returns the question about it with the words of its buttons. */
    const fail = async (cluster: number, call = 'sendPhoto') => {
      // An earlier print may have been aborted.
      const questions = () => sent(call).filter((body) => body.includes('has failed on'));
      const asked = questions().length;
      const impediments = [{ translation_key: 'nozzle_clogged', severity: 'error' }];
      await bench.world('job-details', { cluster, impediments, statusMessage: 'It sounds odd' });
      await bench.world('fail', { cluster });
      await bench.until(() => questions().length === asked + 1);
      const question = questions().at(-1)!;
      const [again, other] = wordsOf(question);
      return { question, again: again!, other: other! };
    };
    const numberOf = async (id: string) => (await bench.clusters()).findIndex(({ clusterId }) => clusterId === id) + 1;
    // The prints of earlier examples leave the printers: the first one, which has a twin, gets the print.
    await bench.until(async () => {
      await bench.pass(CLEARING);
      return (await bench.clusters()).every(({ queue }) => queue.length === 0);
    });
    await bench.import('23-failed-what-now', chat.settings);
    /** Prints of the example since its import that have not ended, the newest last. */
    const known = new Set((await bench.prints('square.gcode')).map(({ uuid }) => uuid));
    const prints = async () => (await bench.prints('square.gcode')).filter(({ uuid }) => !known.has(uuid));
    const answered = (text: RegExp) => chat.answered('editMessageCaption', text);

    await printAndWatch(bench, 'print something small');
    const [first] = await prints();
    const cluster = await numberOf(first!.clusterId);
    const TWIN = 4;
    const models = (await bench.clusters()).map(({ model }) => model);
    assert.equal(models[cluster - 1], models[TWIN - 1]);
    const loaded = (await bench.clusters())[cluster - 1]!.printers[0]!.extruders[0]!.material;
    const one = await fail(cluster);
    assert.match(one.question, /square\.gcode has failed on \w+ printer\. .*It sounds odd/);
    assert.ok(Buffer.from(one.question, 'latin1').includes(PNG), 'no picture');
    await press(one.again, 4711);
    await bench.settle();
    assert.equal((await prints()).length, 1, 'a press in another chat');
    await press(one.again);
    await bench.until(async () => (await prints()).length === 2);
    await answered(/The question\. It is printed again on \w+ printer \(Anna\)\./);
    assert.deepEqual((await prints()).map(({ clusterId, jobId }) => [clusterId, jobId])[1], [
      first!.clusterId,
      first!.jobId,
    ]);
    await press(one.other);
    await answered(/The question\. It was answered before\./);

    // The other printer of this model has another material, then the same. The question outlives a restart.
    await bench.pass(CLEARING + HEATING + 10);
    const two = await fail(cluster);
    await press(two.other);
    await bench.until(() =>
      sent('answerCallbackQuery').some((body) => body.includes('No other printer of this model')),
    );
    await bench.world('load', { cluster: TWIN, extruder: 0, ...loaded! });
    await bench.restart();
    const page = async () => (await bench.page('failed-chat')).text();
    assert.match(await page(), /square\.gcode has failed.*<img alt="" src="data:image/s);
    await press(two.other);
    await bench.until(async () => (await prints()).length === 3);
    assert.equal(await numberOf((await prints())[2]!.clusterId), TWIN);
    await answered(/on \w+ printer.* \(Anna\)/);

    // A camera that fails; an answer on the page.
    await bench.world('actions', { cluster: TWIN, outcome: 'failed' });
    await bench.pass(HEATING + 10);
    await fail(TWIN, 'sendMessage');
    const [, ref = ''] = /has failed.*?name="ref" value="([0-9a-f]+)"/s.exec(await page()) ?? [];
    const body = new URLSearchParams({ ref, word: 'leave' });
    assert.equal((await bench.page('failed-chat', { method: 'POST', body, redirect: 'manual' })).status, 303);
    await bench.untilShown('said', /It is left \(on the page\)/);
    assert.ok(ref !== '' && !(await page()).includes(ref), 'the question is still open');
    await bench.world('actions', { cluster: TWIN });
    await bench.settle();
    assert.equal((await prints()).length, 3);
    assert.equal(bench.shown('the chat refused') + bench.shown('what went wrong'), '');
    assert.doesNotMatch(bench.shown('asked') + bench.shown('said'), /34:secret/);
    await bench.pass(CLEARING);
  });

  example('assistant: asks its owner in a chat, and does what was allowed, once', async (bench) => {
    const chat = chatOf(bench);
    const secrets = { TOOLS_TOKEN: 'token-of-the-tools', TOOLS_URL: `${bench.url}remote-printing-asked` };
    await bench.import('24-ask-the-owner-of-an-assistant', { ...chat.settings, ...secrets }, (node) =>
      node.type === 'remote-printing-assistant' ? { ...node, credentials: { token: secrets.TOOLS_TOKEN } } : node,
    );
    const before = (await bench.prints('square.gcode')).length;
    const count = async () => (await bench.prints('square.gcode')).length - before;
    const ask = async () => {
      const asked = chat.sent('sendMessage').length;
      await bench.press('ask for a print');
      await bench.until(() => chat.sent('sendMessage').length === asked + 1);
      const question = chat.sent('sendMessage').at(-1)!;
      assert.match(question, /square\.gcode/);
      const [yes, no] = wordsOf(question);
      // The bot interface allows no more.
      assert.ok(yes!.length <= 64, yes);
      return { yes: yes!, no: no! };
    };
    const one = await ask();
    await chat.press(one.yes, 4711);
    await bench.settle();
    assert.equal(await count(), 0, 'a press in another chat');
    // An OK holds over a restart, and once.
    await bench.restart();
    await chat.press(one.yes);
    await bench.until(async () => (await count()) === 1);
    await chat.answered('editMessageText', /The question\. Yes \(Anna\)\./);
    await chat.press(one.yes);
    await bench.until(() => chat.sent('editMessageText').length === 2);
    assert.doesNotMatch(chat.sent('editMessageText')[1]!, /Yes/);

    const two = await ask();
    await chat.press(two.no);
    await chat.answered('editMessageText', /The question\. No \(Anna\)\./);
    await ask();
    const html = await (await bench.page('assistant-chat')).text();
    const refs = [...html.matchAll(/name="ref" value="([^"]+)"/g)].map(([, ref]) => ref!);
    assert.equal(refs.length, 1, 'questions that were answered');
    const body = new URLSearchParams({ ref: refs[0]!, word: 'yes' });
    assert.equal((await bench.page('assistant-chat', { method: 'POST', body, redirect: 'manual' })).status, 303);
    await bench.until(async () => (await count()) === 2);
    await bench.until(async () => (await (await bench.page('assistant-chat')).text()).includes('No question is open'));
    assert.equal(bench.shown('the chat refused') + bench.shown('what went wrong'), '');
    assert.doesNotMatch(bench.shown('all calls') + bench.shown('asked'), /secret|token-of/);
    await bench.pass(1200 + HEATING + CLEARING);
  });

  example('library: prints the newest stored file once, and a chosen one at each press', async (bench) => {
    await bench.import('20-print-from-the-library');
    await bench.press('upload something small');
    await bench.untilShown('uploaded', /square\.gcode/);
    const count = async () => (await bench.prints('square.gcode')).length;
    const before = await count();
    for (const shown of [/square\.gcode$/, /square\.gcode \(before\)/]) {
      await bench.press('print the newest');
      await bench.untilShown('printed', shown);
    }
    assert.equal(await count(), before + 1);
    const [printed] = (await bench.prints('square.gcode')).slice(-1);
    await bench.import('20-print-from-the-library', {}, (node) =>
      node.name === 'the chosen file' ? { ...node, storedJob: printed?.jobId } : node,
    );
    await bench.press('print it');
    await bench.untilShown('printed', /square\.gcode$/);
    assert.equal(await count(), before + 2);
    assert.deepEqual(bench.complaints(), []);
    await bench.pass(1200 + HEATING + CLEARING);
  });

  example('chat: asks for each plate with a picture, and clears it by a button', async (bench) => {
    const bot = '/bot12:secret/';
    const presses: object[] = [];
    bench.answer = { ok: true, result: { message_id: 17 } };
    bench.answers.set(`${bot}getUpdates`, () => ({ ok: true, result: presses.splice(0) }));
    const chat = { BOT_TOKEN: '12:secret', CHAT_ROOM: '-100', BOT_API: bench.address };
    await bench.import('18-plate-clear-by-chat-button', chat);
    const sent = (method: string) =>
      bench.calls.filter(({ path }) => path === bot + method).map(({ body }) => body.toString('latin1'));
    /** Presses a button, and waits until the press was fetched. */
    const press = async (data: string | undefined, room = -100) => {
      assert.ok(data, 'no such button');
      const message = { message_id: 17, chat: { id: room } };
      presses.push({ update_id: 5, callback_query: { id: '1', data, from: { first_name: 'Anna' }, message } });
      // The flow asks every two seconds by itself.
      await bench.until(async () => (await bench.press('ask for presses'), presses.length === 0));
    };
    const button = (question: string, label: string) =>
      new RegExp(`"text":"${label}","callback_data":"(\\d [0-9a-f]{16})"`).exec(question)?.[1];
    const ours = (question: string) => question.includes('take off chat square.gcode');
    const questions = () => sent('sendPhoto').filter(ours);
    const others = () => sent('sendPhoto').filter((question) => !ours(question));
    const asked = async (count: number): Promise<string> => {
      await bench.until(() => questions().length === count);
      return questions()[count - 1]!;
    };
    const printed = (count: number) =>
      bench.until(async () => (await bench.prints('chat square.gcode')).length === count);
    const end = () => bench.pass(HEATING + 1200 + CLEARING);
    let confirmed = 0;
    const confirm = async () => {
      for (const question of others().slice(confirmed)) {
        assert.equal(button(question, 'Bad'), undefined, 'a verdict on a print that is not of the queue');
        await press(button(question, 'Clear'));
        confirmed += 1;
      }
    };

    await bench.press('two squares');
    // Plates of printers that have printed before are asked for at first.
    await bench.until(async () => {
      await confirm();
      return (await bench.prints('chat square.gcode')).length === 1;
    });
    await end();
    const first = await asked(1);
    assert.ok(Buffer.from(first, 'latin1').includes(PNG), 'no picture');
    assert.match(first, /name="chat_id"\s+-100\s/);
    await press(button(first, 'Good'), 4711);
    await bench.settle();
    await printed(1);
    await press(button(first, 'Good'));
    await printed(2);
    await bench.until(() => sent('editMessageCaption').some((text) => text.includes('Good (Anna)')));
    assert.ok(sent('answerCallbackQuery').some((text) => text.includes('Good (Anna)')));

    await end();
    const second = await asked(2);
    // A button of an older question clears nothing.
    await press(button(first, 'Good'));
    await bench.until(() => sent('answerCallbackQuery').some((text) => text.includes('was answered before')));
    await bench.settle();
    await printed(2);

    // A button of a question from before a restart is still good.
    await bench.restart();
    await press(button(second, 'Bad'));
    await printed(3);
    await end();
    await asked(3);
    await bench.press('all plates: good or clear');
    await bench.until(() => sent('editMessageCaption').filter(ours).length === 3);
    await printed(3);

    // Each printer of a group has a question of its own, which outlives the answer about the other.
    await confirm();
    await bench.settle();
    for (const name of ['left', 'right']) await bench.world('print-locally', { cluster: 4, name, seconds: 60 });
    await bench.pass(HEATING + 60 + CLEARING);
    const ofGroup = () => others().slice(confirmed);
    const shelves = ['Shelf printer:', 'Shelf printer 2:'];
    await bench.until(() => shelves.every((name) => ofGroup().some((text) => text.includes(name))));
    for (const name of shelves) {
      const before = sent('editMessageCaption').length;
      await press(
        button(
          ofGroup().find((text) => text.includes(name))!,
          'Clear',
        ),
      );
      const isOver = (text: string) => text.includes(name) && text.includes('Clear (Anna)');
      await bench.until(() => sent('editMessageCaption').slice(before).some(isOver));
      await bench.settle();
    }
    assert.equal(ofGroup().length, 2, 'a question was asked again');
    assert.doesNotMatch(bench.shown('what went wrong') + bench.shown('in the chat'), /12:secret/);
    assert.equal(bench.shown('what went wrong'), '');
  });
});

/** A bot of a chat, whose room has an owner who presses buttons. */
function chatOf(bench: ExampleBench) {
  const bot = '/bot34:secret/';
  const presses: object[] = [];
  bench.answers.set(`${bot}getUpdates`, () => ({ ok: true, result: presses.splice(0) }));
  for (const method of ['sendPhoto', 'sendMessage', 'answerCallbackQuery', 'editMessageCaption', 'editMessageText'])
    bench.answers.set(bot + method, () => ({ ok: true, result: {} }));
  const sent = (method: string) =>
    bench.calls.filter(({ path }) => path === bot + method).map(({ body }) => body.toString('latin1'));
  return {
    settings: { BOT_TOKEN: '34:secret', CHAT_ROOM: '-100', BOT_API: bench.address },
    /** Calls of a method, as text. */
    sent,
    /** Presses a button, and waits until the press was fetched. */
    press: async (data: string, room = -100): Promise<void> => {
      const text = 'The question.';
      const message = {
        message_id: 17,
        chat: { id: room },
        ...(sent('sendPhoto').length > 0 ? { caption: text } : { text }),
      };
      presses.push({ update_id: 5, callback_query: { id: '1', data, from: { first_name: 'Anna' }, message } });
      await bench.press('ask for answers');
      await bench.until(() => presses.length === 0);
    },
    answered: (method: string, text: RegExp) => bench.until(() => sent(method).some((body) => text.test(body))),
  };
}

/** Words that the buttons of a question send. */
const wordsOf = (question: string): string[] =>
  [...question.matchAll(/"callback_data":"(\w+ [\w.-]+)"/g)].map(([, data]) => data!);

/** Presses the button that prints, and waits until the example has seen the start of the print. */
async function printAndWatch(bench: ExampleBench, button: string): Promise<void> {
  const started = () => bench.shown('heard').split('job.started square.gcode').length;
  const before = started();
  // An example reports no event for a printer that it sees for the first time.
  await bench.settle();
  await bench.press(button);
  await bench.untilShown('sent', /square\.gcode/);
  await bench.pass(HEATING + 10);
  // A minute of the print lasts a second: on a loaded machine it could end unseen.
  const running = (await bench.prints('square.gcode')).filter(({ status }) => status === 'printing');
  const stall = async (action: 'stall' | 'unstall') => {
    for (const { clusterId, uuid } of running) await bench.world(action, { cluster: clusterId, job: uuid });
  };
  await stall('stall');
  await bench.until(() => started() > before);
  await stall('unstall');
}

/** A need that a person has to meet, as a board shows it. */
interface Need {
  kind: string;
  answers: { action: string; properties: object }[];
}

const texts = ({ calls }: ExampleBench) =>
  calls.map(({ body }) => (JSON.parse(body.toString()) as { text: string }).text);
