import type { Simulator } from '../../../simulator/index';
import { lean } from '../lean';
import { accountOf } from '../sign-in';

/** s. */
export const INTERVAL = 10;

/** The core nodes of the flow, and nothing else. */
export const settings = lean('10-function.js', '21-httpin.js', '25-catch.js');

/** A line of a diary: what a flow was told. */
export interface Line {
  at: number;
  kind: 'status' | 'event' | 'end' | 'error';
  /** Which node told it: `all` watches all printers, `one` the first, `waits` waits for ends. */
  node: string;
  clusterId?: string;
  /** A printing. */
  job?: string;
  /** Of an event. */
  id?: string;
  type?: string;
  text?: string;
}

/**
 * The same for every replica: all printers are watched, one of them by a node of its own too; `/print` answers with what
 * became of a print, `/wait` at once, and its end goes into the diary. That is written before the next step of Node-RED,
 * so before the nodes write that they have told it.
 */
export function flowsOf(simulator: Simulator): object[] {
  const node = (id: string, type: string, fields: object, ...wires: string[][]) => ({
    ...{ id, type, z: 'tab', x: 100, y: 100, name: id },
    ...fields,
    wires,
  });
  const status = { account: 'account', clusterType: 'str', interval: INTERVAL, milestones: '' };
  const print = { account: 'account', cluster: '', clusterType: 'str', source: 'payload', timeout: 150 };
  const note = (of: string, kind: Line['kind'], fields: string) =>
    node(`${of}-${kind}`, 'function', {
      func: `const line = { at: Date.now(), kind: '${kind}', node: '${of}', ${fields} };
        fs.appendFileSync(env.get('DIARY'), JSON.stringify(line) + '\\n');`,
      outputs: 0,
      libs: [{ var: 'fs', module: 'fs' }],
    });
  const cluster = 'clusterId: msg.clusterId';
  const event = `${cluster}, id: msg.payload.id, type: msg.payload.type, job: msg.clusterJobId`;
  const failure = 'text: msg.error.code + ": " + msg.error.message, job: msg.clusterJobId';
  const watches = [
    ['all', ''],
    ['one', simulator.world.cluster(1).clusterId],
  ].flatMap(([id = '', clusterId]) => [
    node(id, 'remote-printing-cluster-status', { ...status, cluster: clusterId }, [`${id}-status`], [`${id}-event`]),
    note(id, 'status', cluster),
    note(id, 'event', event),
  ]);
  const ask = (what: string, ...to: string[]) => [
    node(`in-${what}`, 'http in', { url: `/${what}`, method: 'post' }, [`make-${what}`]),
    node(`make-${what}`, 'function', { func: MAKE, outputs: 1 }, to),
  ];
  return [
    { id: 'tab', type: 'tab', label: 'replica' },
    accountOf(simulator),
    ...watches,
    ...ask('print', 'prints'),
    node('prints', 'remote-printing-upload-and-print', { ...print, waitFor: 'dispatched' }, ['answer'], []),
    node('refused', 'catch', { scope: ['prints'] }, ['say']),
    node('say', 'function', { func: SAY, outputs: 1 }, ['answer']),
    node('answer', 'http response', {}),
    ...ask('wait', 'waits', 'answer'),
    node('waits', 'remote-printing-upload-and-print', { ...print, waitFor: 'finished' }, ['waits-end'], []),
    note('waits', 'end', `${cluster}, job: msg.clusterJobId`),
    node('failed', 'catch', { scope: ['waits', 'all', 'one'] }, ['waits-error']),
    note('waits', 'error', failure),
  ];
}

const MAKE = `const { key, clusterId, name } = msg.payload;
  return { ...msg, clusterId, printKey: key, filename: name, payload: ';TIME:60\\nG28\\n;' + name + '\\n' };`;
const SAY = `msg.statusCode = 409;
  msg.payload = { code: msg.error.code, error: msg.error.message };
  return msg;`;
