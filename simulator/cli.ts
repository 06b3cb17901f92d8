#!/usr/bin/env node
import { readFileSync, rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { readFarm } from './control/new-cluster';
import { startSimulator, type NewCluster, type SimulatorOptions } from './index';
import { isStoragePath } from './options';
import { startRecorder, type RecorderOptions } from './recording/recorder';
import { partOf } from './recording/recording-file';
import { startReplay, type ReplayOptions } from './recording/replay';
import { isUploadMode } from './world/state';

const HELP = `Simulates the remote printing service on four local ports. Open the control host in a browser to watch and change the
printers.

Usage: remote-printing-simulator [options]

  --port N                   port of the control host; account, API and storage use the next three (default: any free ones)
  --host ADDRESS             a loopback address (default 127.0.0.1)
  --seed N                   determines ids, names and temperatures (default 1)
  --time-factor N            virtual seconds of the printers per real second (default 1)
  --printers N               printers in the first workspace, of five kinds in turn (default 5)
  --farm FILE                printers in the first workspace, as JSON; see the README
  --history                  create a new world with the prints of a week
  --auto-approve             sign in as the first user immediately, without the pages
  --lenient                  accept what real clients were seen to do beyond the interface
  --storage-path PATH        prefix of the storage and library calls (default /slicer/v1)
  --access-token-lifetime S  seconds (default 600)
  --refresh-token-grace S    seconds for which a spent refresh token still works, or unlimited (default 0)
  --upload-mode MODE         kind of upload addresses: one-time (default), session (resumable) or plain
  --upload-confirm-delay MS  delay from the last byte until a file counts as uploaded (default 0)
  --action-delay MS          duration of a printer or print job action (default 1000)
  --report-delay MS          duration of a report (default 1000)
  --print-visible-after S    virtual seconds until lists show a new print (default 2)
  --data-dir FOLDER          where to keep the world for the next start (default: a temporary folder)
  --client-id ID             default simulator
  --client-secret SECRET     default simulator-secret
  --redirect-uri URI         registered redirect URI; may be repeated (default: any)
  --path NAME=CALL           moves a call, such as printJobs='GET /connect/v1/jobs'; may be repeated
  --record FILE              instead of simulating: pass everything on to the service, and record it without what identifies
                             anybody; Ctrl+C writes the file
  --upstream AUTH,API        addresses of the service's account host and API, for --record
  --replay FILE              instead of simulating: answer with a recording
  --speed N                  of a replay (default 1)
  --help
`;

const OPTIONS = {
  port: { type: 'string' },
  host: { type: 'string' },
  seed: { type: 'string' },
  'time-factor': { type: 'string' },
  printers: { type: 'string' },
  farm: { type: 'string' },
  history: { type: 'boolean' },
  'auto-approve': { type: 'boolean' },
  lenient: { type: 'boolean' },
  'storage-path': { type: 'string' },
  'access-token-lifetime': { type: 'string' },
  'refresh-token-grace': { type: 'string' },
  'upload-mode': { type: 'string' },
  'upload-confirm-delay': { type: 'string' },
  'action-delay': { type: 'string' },
  'report-delay': { type: 'string' },
  'print-visible-after': { type: 'string' },
  'data-dir': { type: 'string' },
  'client-id': { type: 'string' },
  'client-secret': { type: 'string' },
  'redirect-uri': { type: 'string', multiple: true },
  path: { type: 'string', multiple: true },
  record: { type: 'string' },
  upstream: { type: 'string' },
  replay: { type: 'string' },
  speed: { type: 'string' },
  help: { type: 'boolean' },
} as const;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

type Task =
  | { does: 'help' }
  | { does: 'simulate'; options: SimulatorOptions }
  | { does: 'record'; options: RecorderOptions }
  | { does: 'replay'; options: ReplayOptions };

/** Reads the options. Throws on invalid arguments. */
function readArguments(args: string[]): Task {
  const { values } = parseArgs({ args, options: OPTIONS, strict: true });
  if (values.help) return { does: 'help' };
  const options: SimulatorOptions = {};
  const number = (
    name: keyof typeof values,
    apply: (value: number) => void,
    fits: (value: number) => boolean,
  ): void => {
    const text = values[name];
    if (text === undefined) return;
    const value = text === '' ? NaN : Number(text);
    if (!fits(value)) throw new Error(`--${name} can't be ${String(text)}.`);
    apply(value);
  };
  const whole = (value: number): boolean => Number.isInteger(value) && value >= 0;
  number(
    'port',
    (value) => (options.port = value),
    (value) => whole(value) && value <= 65_532,
  );
  number('seed', (value) => (options.seed = value), whole);
  number(
    'time-factor',
    (value) => (options.timeFactor = value),
    (value) => value > 0 && value <= 1e6,
  );
  number(
    'printers',
    (value) => (options.printers = value),
    (value) => whole(value) && value <= 100_000,
  );
  number(
    'access-token-lifetime',
    (value) => (options.accessTokenLifetime = value),
    (value) => whole(value) && value > 0,
  );
  if (values['refresh-token-grace'] === 'unlimited') options.refreshTokenGrace = Infinity;
  else number('refresh-token-grace', (value) => (options.refreshTokenGrace = value), whole);
  number('upload-confirm-delay', (value) => (options.uploadConfirmDelay = value), whole);
  number('action-delay', (value) => (options.actionDelay = value), whole);
  number('report-delay', (value) => (options.reportDelay = value), whole);
  number('print-visible-after', (value) => (options.printVisibleAfter = value), whole);
  const { 'upload-mode': mode } = values;
  if (mode !== undefined) {
    if (!isUploadMode(mode)) throw new Error(`--upload-mode can't be ${mode}.`);
    options.uploadMode = mode;
  }
  if (values.host !== undefined) options.host = values.host;
  let speed = 1;
  number(
    'speed',
    (value) => (speed = value),
    (value) => value > 0 && value <= 1e6,
  );
  const { record, upstream, replay, port: _port, host: _host, speed: _speed, ...others } = values;
  if (record !== undefined || replay !== undefined) {
    const [other] = Object.keys(others);
    if (other !== undefined) throw new Error(`--${other} has no meaning without a simulated service.`);
    if (record !== undefined && replay !== undefined) throw new Error('--record and --replay exclude each other.');
    if (replay !== undefined) return { does: 'replay', options: { ...options, file: replay, speed } };
    const [auth, api, ...more] = upstream?.split(',') ?? [];
    if (!auth || !api || more.length > 0)
      throw new Error('--record needs --upstream with two addresses: account host, comma, API.');
    return { does: 'record', options: { ...options, file: record!, upstream: { auth, api } } };
  }
  if (upstream !== undefined) throw new Error('--upstream needs --record.');
  if (values.speed !== undefined) throw new Error('--speed needs --replay.');
  if (values.farm !== undefined) options.farm = readFarmFile(values.farm);
  if (values.history) options.history = true;
  if (values['auto-approve']) options.autoApprove = true;
  if (values.lenient) options.lenient = true;
  if (values['storage-path'] !== undefined) {
    if (!isStoragePath(values['storage-path'])) throw new Error(`--storage-path can't be ${values['storage-path']}.`);
    options.storagePath = values['storage-path'];
  }
  if (values['data-dir'] !== undefined) options.dataDir = values['data-dir'];
  if (values.path) options.paths = Object.fromEntries(values.path.map(readMove));
  const { 'client-id': id, 'client-secret': secret, 'redirect-uri': redirectUris } = values;
  if (id !== undefined || secret !== undefined || redirectUris !== undefined)
    options.client = {
      id: id ?? 'simulator',
      secret: secret ?? 'simulator-secret',
      ...(redirectUris ? { redirectUris } : {}),
    };
  return { does: 'simulate', options };
}

/** Reads the printers of a new world; throws a sentence about a file that has none. */
function readFarmFile(name: string): NewCluster[] {
  try {
    return readFarm(JSON.parse(readFileSync(name, 'utf8')));
  } catch (error) {
    throw new Error(`--farm can't be ${name}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

function readMove(given: string): [name: string, call: string] {
  const [, name, call] = /^(\w+)=(.+)$/.exec(given) ?? [];
  if (name === undefined || call === undefined) throw new Error(`--path can't be ${given}.`);
  return [name, call];
}

async function main(): Promise<void> {
  let task: Task;
  try {
    task = readArguments(process.argv.slice(2));
  } catch (error) {
    return end(2, error);
  }
  if (task.does === 'help') process.stdout.write(HELP);
  else if (task.does === 'record') await record(task.options);
  else if (task.does === 'replay') await replay(task.options);
  else await simulate(task.options);
}

async function record(options: RecorderOptions): Promise<void> {
  const signals = new Signals();
  const recorder = await startRecorder(options).catch((error: unknown) =>
    end(error instanceof TypeError ? 2 : 1, error),
  );
  if (!recorder) return signals.ignore();
  // A second signal gives up the file.
  process.once('exit', () => rmSync(partOf(options.file), { force: true }));
  void signals.second.then(() => process.exit(1));
  const { authUrl, apiUrl, storageUrl, controlUrl } = recorder;
  show({ authUrl, apiUrl, storageUrl, controlUrl });
  await signals.first;
  try {
    await recorder.stop();
    process.stdout.write('\nReplaced:\n');
    for (const [kind, count] of recorder.replaced) process.stdout.write(`  ${String(count).padStart(7)}  ${kind}\n`);
    if (recorder.isFull) process.stdout.write('The recording ends early: it is full (100 MB).\n');
    await recorder.write();
    process.stdout.write(`Written: ${options.file}\n`);
  } catch (error) {
    end(1, error);
  }
  signals.ignore();
}

async function replay(options: ReplayOptions): Promise<void> {
  const signals = new Signals();
  const started = await startReplay(options).catch((error: unknown) => end(error instanceof TypeError ? 2 : 1, error));
  if (!started) return signals.ignore();
  const { authUrl, apiUrl, storageUrl, controlUrl } = started;
  show({ authUrl, apiUrl, storageUrl, controlUrl, clientId: 'any', clientSecret: 'any' });
  await signals.first;
  await started.close();
  signals.ignore();
}

async function simulate(options: SimulatorOptions): Promise<void> {
  // Listens before the start, since a signal during it would leave the temporary folder behind.
  const signals = new Signals();
  const simulator = await startSimulator(options).catch((error: unknown) =>
    end(error instanceof TypeError ? 2 : 1, error),
  );
  if (!simulator) return signals.ignore();
  // A second signal ends the process without waiting for requests; nothing of a temporary folder may remain.
  if (options.dataDir === undefined)
    process.once('exit', () => rmSync(simulator.folder, { recursive: true, force: true }));
  void signals.second.then(() => process.exit(1));
  for (const warning of simulator.warnings) process.stderr.write(`${warning}\n`);
  const { authUrl, apiUrl, storageUrl, controlUrl, client, users } = simulator;
  const [user] = users;
  const facts = {
    authUrl,
    apiUrl,
    storageUrl,
    controlUrl,
    clientId: client.id,
    clientSecret: client.secret,
    username: user!.username,
    password: user!.password,
    apiToken: user!.apiToken,
  };
  show(facts);
  await signals.first;
  await simulator.close().catch((error: unknown) => end(1, error));
  signals.ignore();
}

function show(facts: Record<string, string>): void {
  const lines = Object.entries(facts).map(([name, value]) => `${`${name}:`.padEnd(14)} ${value}\n`);
  process.stdout.write(lines.join(''));
}

/** The signals that end the process, one after the other. */
class Signals {
  readonly first: Promise<void>;
  readonly second: Promise<void>;
  private readonly resolve: (() => void)[] = [];
  private readonly next = (): void => this.resolve.shift()?.();

  constructor() {
    this.first = new Promise((resolve) => this.resolve.push(resolve));
    this.second = new Promise((resolve) => this.resolve.push(resolve));
    for (const signal of SIGNALS) process.on(signal, this.next);
  }

  ignore(): void {
    for (const signal of SIGNALS) process.off(signal, this.next);
  }
}

/** Prints one sentence and sets the exit code. */
function end(code: number, error: unknown): undefined {
  process.exitCode = code;
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  process.stderr.write(`remote-printing-simulator: ${line}\n`);
}

void main();
