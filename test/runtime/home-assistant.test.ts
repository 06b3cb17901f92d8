import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startSimulator, type Simulator } from '../../simulator/index';
import { lean } from '../helpers/lean';
import { type Broker, mqtt, retained, startBroker, stopBroker } from '../helpers/mosquitto';
import { testPostgres, type TestPostgres } from '../helpers/postgres';
import { startRealNodeRed, type RealNodeRed } from '../helpers/real-node-red';
import { clustersOf } from '../nodes/support';
import { accountOf, credentialsOf, signIn } from './sign-in';

const AT = { z: 'tab', x: 1, y: 1 };
const PREFIX = 'remote-printing';
const INTERVAL = 10;

/** Node-REDs with the same flows on one database, and a real broker, at the usual speed of time. */
describe('home assistant on two Node-REDs', function () {
  let server: TestPostgres;
  let address: string;
  let simulator: Simulator;
  let folder: string;
  let broker: Broker;
  let listener: ReturnType<typeof mqtt.connect>;
  const running: RealNodeRed[] = [];
  /** Messages since the start, the oldest first. */
  const messages: [topic: string, payload: string][] = [];

  before(async () => {
    server = await testPostgres();
    address = await server.fresh();
    simulator = await startSimulator({ autoApprove: true, printers: 3, actionDelay: 0 });
    folder = await mkdtemp(join(tmpdir(), 'mosquitto-'));
    broker = await startBroker(folder);
    listener = mqtt.connect(`mqtt://127.0.0.1:${broker.port}`, { reconnectPeriod: 100 });
    // The client retries until the broker listens.
    listener.on('error', () => undefined);
    listener.on('message', (topic, payload) => void messages.push([topic, payload.toString('latin1')]));
    await new Promise((connected) => listener.once('connect', connected));
    await listener.subscribeAsync('#');
  });
  after(async () => {
    await Promise.all(running.map((nodeRed) => nodeRed.kill()));
    await listener.endAsync(true);
    await stopBroker(broker);
    await rm(folder, { recursive: true, force: true });
    await simulator.close();
  });

  const start = async (): Promise<RealNodeRed> => {
    const atBroker = { broker: 'broker', qos: '1', datatype: 'utf8', wires: [['ha']], ...AT };
    const will = Object.fromEntries(
      ['will', 'close'].flatMap((of) =>
        Object.entries({ Topic: `${PREFIX}/bridge`, Payload: 'offline', Qos: '1', Retain: 'true' }).map(
          ([name, value]) => [`${of}${name}`, value],
        ),
      ),
    );
    const nodeRed = await startRealNodeRed({
      flows: [
        { id: 'tab', type: 'tab', label: 'test' },
        accountOf(simulator),
        {
          ...{ id: 'broker', type: 'mqtt-broker', broker: '127.0.0.1', port: String(broker.port), clientid: '' },
          ...{ autoConnect: true, protocolVersion: '4', keepalive: '60', cleansession: true, ...will },
        },
        {
          ...{ id: 'ha', type: 'remote-printing-home-assistant', account: 'account', cluster: '', controls: true },
          ...{ discoveryPrefix: 'homeassistant', topicPrefix: PREFIX, picture: 0, interval: INTERVAL },
          ...{ wires: [['out']], ...AT },
        },
        { id: 'out', type: 'mqtt out', broker: 'broker', topic: '', qos: '', retain: '', wires: [], ...AT },
        { id: 'commands', type: 'mqtt in', topic: `${PREFIX}/+/command`, ...atBroker },
        { id: 'birth', type: 'mqtt in', topic: 'homeassistant/status', ...atBroker },
        { id: 'connection', type: 'status', scope: ['out'], wires: [['ha']], ...AT },
      ],
      credentials: credentialsOf(simulator),
      settings: {
        ...lean('10-mqtt.js', '25-status.js'),
        mqttReconnectTime: 1_000,
        credentialSecret: 'the secret of all',
        remotePrinting: { stateStore: address },
      },
    });
    running.push(nodeRed);
    return nodeRed;
  };
  const until = async (what: string, holds: () => Promise<boolean> | boolean) => {
    for (const end = Date.now() + 120_000; !(await holds()); await pause(100)) assert.ok(Date.now() < end, what);
  };
  const polls = () => simulator.requests.count('clusterStatus');
  const rounds = async (count: number) => {
    const enough = polls() + count * ids.length;
    await until('polls', () => polls() >= enough);
  };
  const ids: string[] = [];
  const holders = async () =>
    (
      await server.ask<{ holder: string }>(
        address,
        'SELECT DISTINCT holder::text FROM remote_printing.assignments WHERE holder IS NOT NULL',
      )
    ).length;
  const of = (topic: string) => messages.filter(([on]) => on === topic).map(([, payload]) => payload);
  const stateOf = (id: string) => JSON.parse(of(`${PREFIX}/${id}/state`).at(-1) ?? '{}') as Record<string, unknown>;
  const kept = () =>
    ids.flatMap((id) => [`homeassistant/device/remote_printing_${id}/config`, `${PREFIX}/${id}/state`]);
  const actions = () => simulator.requests.count('jobAction');

  it('publishes each printer, does each command once, and survives the end of one and of the broker', async () => {
    ids.push(...clustersOf(simulator).map(({ hostGuid }) => hostGuid.toLowerCase()));
    const one = await start();
    await signIn(one);
    const two = await start();
    await until('both poll', async () => (await holders()) === 2);
    await until('devices', async () => {
      const topics = await retained(broker.port);
      return kept().every((topic) => topics.includes(topic));
    });
    simulator.world.printLocally(1, { name: 'vase.gcode', seconds: 36_000 });
    simulator.world.advance(400);
    const id = clustersOf(simulator)[0]?.hostGuid.toLowerCase() ?? '';
    const command = `${PREFIX}/${id}/command`;
    await until('a print', () => stateOf(id).state === 'printing');
    await listener.publishAsync(command, 'pause', { qos: 1 });
    await until('the pause', () => stateOf(id).state === 'paused');
    assert.equal(actions(), 1, 'both Node-REDs receive the command');

    // A runtime knows after a while which messages the others have sent.
    await rounds(3);
    const before = messages.length;
    const last = new Map(ids.map((each) => [each, of(`${PREFIX}/${each}/state`).at(-1)]));
    const stopping = one.stop();
    await listener.publishAsync(command, 'resume', { qos: 1 });
    await stopping;
    await until('the resumption', () => stateOf(id).state === 'printing');
    await until('one polls', async () => (await holders()) === 1);
    await rounds(1);
    assert.equal(actions(), 2);
    for (const each of ids) {
      const later = messages.slice(before).filter(([topic]) => topic === `${PREFIX}/${each}/state`);
      const states = [last.get(each), ...later.map(([, payload]) => payload)];
      for (const [at, state] of states.entries()) assert.notEqual(state, states[at + 1], each);
    }

    await stopBroker(broker);
    broker = await startBroker(folder, broker.port);
    await until('everything again', async () => {
      const topics = await retained(broker.port);
      return [...kept(), `${PREFIX}/bridge`].every((topic) => topics.includes(topic));
    });
    assert.equal(actions(), 2);
    assert.deepEqual(two.complaints(), []);
  });
});
