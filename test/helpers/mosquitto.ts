import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { ensureMosquitto } from '../../scripts/debian.mjs';

/** The MQTT client of Node-RED's own nodes. */
export const mqtt = createRequire(require.resolve('@node-red/nodes/package.json'))('mqtt') as typeof import('mqtt');

export interface Broker {
  port: number;
  process: ChildProcess;
}

/** Starts a broker that forgets everything at its end; on the port of an earlier one, if given. */
export async function startBroker(folder: string, before?: number): Promise<Broker> {
  const port = before ?? (await freePort());
  const config = join(folder, 'mosquitto.conf');
  await writeFile(config, `listener ${port} 127.0.0.1\nallow_anonymous true\npersistence false\n`);
  const child = spawn(ensureMosquitto(), ['-c', config], { stdio: 'ignore' });
  return { port, process: child };
}

export async function stopBroker({ process }: Broker): Promise<void> {
  const gone = once(process, 'exit');
  process.kill();
  await gone;
}

async function freePort(): Promise<number> {
  const place = createServer().listen(0, '127.0.0.1');
  await once(place, 'listening');
  const { port } = place.address() as AddressInfo;
  place.close();
  return port;
}

/** Topics with a retained message, which a new client receives. */
export async function retained(port: number): Promise<string[]> {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`);
  const topics: string[] = [];
  client.on('error', () => undefined);
  client.on('message', (topic, _, { retain }) => void (retain && topics.push(topic)));
  try {
    const last = new Promise((resolve) => client.on('message', (topic) => topic === END && resolve(undefined)));
    // A broker that has just been started may not listen yet.
    await new Promise((connected) => client.once('connect', connected));
    await client.subscribeAsync('#');
    // The broker sends the retained messages first.
    await client.publishAsync(END, '');
    await last;
    return topics;
  } finally {
    await client.endAsync();
  }
}
const END = 'all-retained-messages-have-arrived';
