import type { Simulator } from '../../../simulator/index';
import { lean } from '../../helpers/lean';
import { accountOf } from '../sign-in';

/** Polling interval, s. */
export const INTERVAL = 10;

/** Settings that load only the core nodes of the flow. */
export const settings = lean('10-function.js', '21-httpin.js', '25-catch.js');

/** Line of a diary: a message or error that the flow received. */
export interface DiaryLine {
  at: number;
  kind: 'status' | 'event' | 'end' | 'error';
  /** Source node: `all` watches all printers, `one` the first, and `waits` waits for the end of prints. */
  node: string;
  clusterId?: string;
  /** Id of the print. */
  job?: string;
  /** Id of the event. */
  id?: string;
  type?: string;
  text?: string;
}

/**
 * Flow of every replica. It watches all printers, and the first one with an additional node. `/print` answers with the
 * result of the print. `/wait` answers at once and records the end of the print in the diary. The diary is written
 * synchronously, so before the nodes save the delivery.
 */
export function flowsOf(simulator: Simulator): object[] {
  const node = (id: string, type: string, fields: object, ...wires: string[][]) => ({
    ...{ id, type, z: 'tab', x: 100, y: 100, name: id },
    ...fields,
    wires,
  });
  const status = { account: 'account', clusterType: 'str', interval: INTERVAL, milestones: '' };
  const print = { account: 'account', cluster: '', clusterType: 'str', source: 'payload', timeout: 150 };
  const note = (of: string, kind: DiaryLine['kind'], fields: string) =>
    node(`${of}-${kind}`, 'function', {
      func: `const line = { at: Date.now() - Number(env.get('CLOCK_AHEAD')), kind: '${kind}', node: '${of}', ${fields} };
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
