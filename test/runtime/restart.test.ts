import assert from 'node:assert/strict';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import type { PrintResult } from '../../lib/print/print-request';
import type { PrintEvent } from '../../lib/events/print-event';
import { startSimulator, type Simulator } from '../../simulator/index';
import { freshUserDir, startRealNodeRed, type RealNodeRed, type RealNodeRedOptions } from '../helpers/real-node-red';
import { lean } from '../helpers/lean';
import { accountOf, credentialsOf, signIn } from './sign-in';

/** The prints, each on a cluster of its own: one ends while Node-RED is off, the other one later. */
const PRINTS = [
  { button: 'print', number: 1, gcode: ';TIME:3600\nG28\n', printKey: 'order 7' },
  { button: 'print long', number: 2, gcode: ';TIME:9000\nG28\n', printKey: 'order 8' },
] as const;
type Button = (typeof PRINTS)[number]['button'];
/** Virtual seconds until a print appears in a list and starts. */
const UNSEEN = 600;
/** Virtual seconds to the middle of both prints, from there beyond the end of the short one, and then of the long one. */
const TO_MID_PRINT = 1000;
const TO_THE_FIRST_END = 4000;
const TO_THE_LAST_END = 8000;

/** Line of the diary: a message from one output, and the number of the question that it answers. */
interface Entry {
  kind: 'status' | 'event' | 'result' | 'error';
  question?: number;
  payload: unknown;
}
const DIARY = 'diary.jsonl';

const ends = [
  { how: 'stopped', end: (nodeRed: RealNodeRed) => nodeRed.stop() },
  { how: 'killed', end: (nodeRed: RealNodeRed) => nodeRed.kill() },
];

describe('a Node-RED that restarts', function () {
  let simulator: Simulator;
  let userDir: string;
  let nodeRed: RealNodeRed;
  let questions = 0;

  async function begin(): Promise<void> {
    simulator = await startSimulator({ autoApprove: true, printVisibleAfter: UNSEEN });
    userDir = await freshUserDir();
  }
  async function finish(): Promise<void> {
    await simulator.close();
    await nodeRed.kill();
    await rm(userDir, { recursive: true, force: true });
  }

  for (const { how, end } of ends)
    describe(`after it was ${how} in mid-print, and once more after the prints`, () => {
      let first: PrintResult;
      let second: PrintResult;
      let again: PrintResult;
      let started: PrintEvent[];
      let ended: PrintEvent[];

      before(async () => {
        await begin();
        await start({ flows: flowsFor(simulator, userDir) });
        await ask();
        first = await print('print');
        second = await print('print long');
        const ids = [first.clusterJobId!, second.clusterJobId!];
        const words = () => ids.map((id) => simulator.world.printJob(id).status);
        simulator.world.advance(TO_MID_PRINT);
        await ask();
        await ask();
        assert.deepEqual(words(), ['printing', 'printing']);
        for (const id of ids) await untilSaved('jobs', id);
        await end(nodeRed);
        simulator.world.advance(TO_THE_FIRST_END);
        assert.deepEqual(words(), ['finished', 'printing']);

        await start();
        await ask();
        assert.equal((await told('job.finished')).length, 1);
        simulator.world.advance(TO_THE_LAST_END);
        await ask();
        for (const id of ids) await untilSaved('ended', id);
        await end(nodeRed);

        await start();
        await ask();
        await ask();
        [started, ended] = [await told('job.started'), await told('job.finished')];
        again = await print('print');
      });
      after(finish);

      it('has reported the end that it missed once, as late, and the later one once, as usual', () => {
        assert.deepEqual(
          ended.map(({ late, job }) => [job?.clusterJobId, late]),
          [
            [first.clusterJobId, true],
            [second.clusterJobId, false],
          ],
        );
      });

      it('has reported nothing twice', async () => {
        assert.equal(started.length, PRINTS.length);
        const ids = (await events()).map(({ id }) => id);
        assert.deepEqual(ids, [...new Set(ids)]);
      });

      it('returns the first result again for a print key', () => {
        assert.deepEqual({ ...again, duplicate: false }, first);
        assert.equal(again.duplicate, true);
        assert.deepEqual(printings(), [first.clusterJobId]);
      });
    });

  for (const watched of [true, false])
    describe(`after it was killed while it printed on ${watched ? 'a watched' : 'an unwatched'} cluster`, () => {
      beforeEach(begin);
      afterEach(finish);

      it('finds a print by its print key if that was between the print and its answer', async () => {
        await start({ flows: flowsFor(simulator, userDir, { watched }) });
        simulator.faults.add({
          endpoint: 'print',
          transform: (answer) => {
            void nodeRed.kill();
            return answer;
          },
        });
        await press('print');
        await nodeRed.exited;
        await assertFound();
      });

      it('finds a print by its print key if that was during the search for a lost answer', async () => {
        await start({ flows: flowsFor(simulator, userDir, { watched }) });
        simulator.faults.add({ endpoint: 'print', when: 'after', reset: true });
        await press('print');
        await until(() => readsAfterPrint() >= 2);
        await nodeRed.kill();
        await assertFound();
      });
    });

  /** Starts Node-RED on the existing state. The first start has `flows` and signs in. */
  async function start(options: RealNodeRedOptions = {}): Promise<void> {
    const settings = lean('10-file.js', '10-function.js', '20-inject.js', '25-catch.js');
    const credentials = options.flows ? { credentials: credentialsOf(simulator) } : {};
    nodeRed = await startRealNodeRed({ ...options, ...credentials, userDir, settings });
    if (options.flows) await signIn(nodeRed);
  }

  async function press(button: string, props?: object[]): Promise<void> {
    const response = await nodeRed.fetch(`inject/${button}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(props ? { __user_inject_props__: props } : {}),
    });
    assert.equal(response.status, 200);
  }

  /** Waits for the save, which follows the delivery: an unsaved event is delivered again after a kill. */
  async function untilSaved(list: 'jobs' | 'ended', uuid: string): Promise<void> {
    const folder = join(userDir, 'remote-printing');
    await until(async () => {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.json'));
      const texts = await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')));
      return texts.some((text) => {
        const { value } = JSON.parse(text) as { value?: { jobs?: { id: string }[]; ended?: { id: string }[] } };
        return value?.[list]?.some(({ id }) => id === uuid);
      });
    });
  }

  /** Triggers a poll of each cluster and waits for their outputs. */
  async function ask(): Promise<void> {
    const number = ++questions;
    await press('ask', [{ p: 'question', v: String(number), vt: 'num' }]);
    const answers = async () => (await diary()).filter(({ question }) => question === number);
    await until(async () => (await answers()).length === PRINTS.length);
  }

  async function print(button: Button): Promise<PrintResult> {
    const results = async () => (await diary()).filter(({ kind }) => kind === 'result');
    const before = (await results()).length;
    await press(button);
    await until(async () => (await results()).length > before);
    return (await results())[before]!.payload as PrintResult;
  }

  /** Asserts that a restart finds the print that the service accepted before Node-RED was killed. */
  async function assertFound(): Promise<void> {
    const [clusterJobId] = printings();
    assert.ok(clusterJobId);
    simulator.world.advance(TO_MID_PRINT);
    await start();
    const { duplicate, printed: done, ...result } = await print('print');
    assert.deepEqual({ duplicate, done, id: result.clusterJobId }, { duplicate: true, done: true, id: clusterJobId });
    assert.deepEqual(printings(), [clusterJobId]);
    assert.equal(simulator.requests.count('print'), 1);
  }

  /** Ids of all prints that the cluster ever received. */
  function printings(): string[] {
    const { queue, history } = simulator.world.cluster(1);
    return [...queue, ...history].map(({ uuid }) => uuid);
  }

  /** Number of status requests since the print request; 0 before it. */
  function readsAfterPrint(): number {
    const endpoints = simulator.requests.list().map(({ endpoint }) => endpoint);
    const asked = endpoints.indexOf('print');
    return asked < 0 ? 0 : endpoints.slice(asked).filter((endpoint) => endpoint === 'clusterStatus').length;
  }

  async function events(): Promise<PrintEvent[]> {
    return (await diary()).filter(({ kind }) => kind === 'event').map(({ payload }) => payload as PrintEvent);
  }

  async function told(type: string): Promise<PrintEvent[]> {
    return (await events()).filter((event) => event.type === type);
  }

  /** Everything that the flow has recorded so far, over all starts. */
  async function diary(): Promise<Entry[]> {
    const text = await readFile(join(userDir, DIARY), 'utf8').catch(() => '');
    const entries = text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Entry);
    const failed = entries.filter(({ kind }) => kind === 'error');
    assert.deepEqual(failed, []);
    return entries;
  }

  async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
    const limit = Date.now() + 120_000;
    while (!(await holds())) {
      if (Date.now() > limit) assert.fail(`waited in vain; the log:\n${nodeRed.log.slice(-20).join('\n')}`);
      await pause(10);
    }
  }
});

/** Flow with buttons to poll and to print. It records each result in the diary as one line of JSON. */
function flowsFor(simulator: Simulator, userDir: string, { watched = true } = {}): object[] {
  const cluster = (number: number) => {
    const { clusterId } = simulator.world.cluster(number);
    return { account: 'account', cluster: clusterId, clusterType: 'str' };
  };
  const node = (id: string, type: string, settings: object, ...wires: string[][]) => ({
    ...{ id, type, z: 'tab', x: 100, y: 100, name: '' },
    ...settings,
    wires,
  });
  const write = (kind: Entry['kind']) => {
    const func = `const entry = { kind: '${kind}', question: msg.question, payload: msg.error ?? msg.payload };
      return { payload: JSON.stringify(entry) };`;
    return node(kind, 'function', { func, outputs: 1 }, ['diary']);
  };
  const watches = PRINTS.map(({ number }) => {
    const settings = { ...cluster(number), interval: 10 };
    return node(`watch ${number}`, 'remote-printing-cluster-status', settings, ['status'], ['event']);
  });
  const prints = PRINTS.flatMap(({ button, number, gcode, printKey }) => {
    const props = [
      { p: 'payload', v: gcode, vt: 'str' },
      { p: 'filename', v: 'part.gcode', vt: 'str' },
      { p: 'printKey', v: printKey, vt: 'str' },
    ];
    const upload = { ...cluster(number), source: 'payload' };
    return [
      node(button, 'inject', { props }, [`upload ${number}`]),
      node(`upload ${number}`, 'remote-printing-upload-and-print', upload, ['result'], []),
    ];
  });
  const ask = node(
    'ask',
    'inject',
    { props: [] },
    PRINTS.map(({ number }) => `watch ${number}`),
  );
  return [
    { id: 'tab', type: 'tab', label: 'diary' },
    accountOf(simulator),
    ...(watched ? [ask, ...watches] : []),
    ...prints,
    node('catch', 'catch', { scope: null }, ['error']),
    write('status'),
    write('event'),
    write('result'),
    write('error'),
    node('diary', 'file', {
      filename: join(userDir, DIARY),
      filenameType: 'str',
      appendNewline: true,
      overwriteFile: 'false',
    }),
  ];
}
