import type { Simulator } from '../../../simulator/index';
import { lean } from '../../helpers/lean';
import { accountOf } from '../sign-in';
import { QUEUED, QUEUES, QUIET } from './size';

/** Polling interval, s. */
export const INTERVAL = 10;
/** Timeout of a message with a print, s. */
export const PRINT_TIMEOUT = 150;
/** Timeout of a message to a queue, s. */
export const ADD_TIMEOUT = 60;

/** Settings that load only the core nodes of the flow. */
export const settings = lean('10-function.js', '21-httpin.js', '25-catch.js');

/** Line of a diary: a message or error that the flow received. */
export interface DiaryLine {
  at: number;
  kind: 'status' | 'event' | 'end' | 'error' | 'queue-event' | 'queue-end' | 'queue-error';
  /** Source node: `all` watches all printers, `one` the first, `waits` waits for the end of prints, a queue's id its items. */
  node: string;
  clusterId?: string;
  /** Id of the print. */
  job?: string;
  /** Id of the event. */
  id?: string;
  type?: string;
  text?: string;
  /** Id of a queue's item, its queue key, and the print of an event. */
  item?: string;
  key?: string;
  print?: { copy: number; attempt: number };
}

/**
 * Flow of every replica. It watches all printers, and the first one with an additional node. `/print` answers with the
 * result of the print. `/wait` answers at once and records the end of the print in the diary. The diary is written
 * synchronously, so before the nodes save the delivery. For each queue, `/add/…` answers with the new item, `/await/…` at once,
 * with the item's end in the diary, and `/ask/…` with the result of any other action.
 */
export function flowsOf(simulator: Simulator): object[] {
  const node = (id: string, type: string, fields: object, ...wires: string[][]) => ({
    ...{ id, type, z: 'tab', x: 100, y: 100, name: id },
    ...fields,
    wires,
  });
  const status = { account: 'account', clusterType: 'str', interval: INTERVAL, milestones: '' };
  const print = { account: 'account', cluster: '', clusterType: 'str', source: 'payload', timeout: PRINT_TIMEOUT };
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
  const clusters = simulator.world.clusters(simulator.users[0]?.organizations[0]?.organizationId);
  const printers = clusters.slice(-QUIET - QUEUED, -QUIET).map(({ clusterId }) => clusterId);
  const item = 'item: msg.itemId';
  const key = 'key: msg.queueKey';
  const queues = QUEUES.flatMap(({ id, gate, retries, printers: own }) => {
    const rules = {
      gate,
      retries,
      match: 'lenient',
      material: 'any',
      printers: JSON.stringify(own.map((at) => printers[at])),
    };
    const add = { queue: id, source: 'payload', copies: 'copies', copiesType: 'msg', timeout: ADD_TIMEOUT };
    const queueNode = (name: string, fields: object, ...wires: string[][]) =>
      node(`${name}-${id}`, 'remote-printing-print-queue', { queue: id, ...fields }, ...wires);
    const entry = (name: string, func: string, ...to: string[][]) => [
      node(`in-${name}-${id}`, 'http in', { url: `/${name}/${id}`, method: 'post' }, [`make-${name}-${id}`]),
      node(`make-${name}-${id}`, 'function', { func, outputs: to.length }, ...to),
    ];
    return [
      { id, type: 'remote-printing-queue', name: '', account: 'account', ...rules },
      ...entry('add', MAKE_ITEM, [`add-${id}`]),
      queueNode('add', add, ['answer'], [`${id}-queue-event`]),
      note(
        id,
        'queue-event',
        `id: msg.payload.id, type: msg.payload.type, ${item}, print: msg.payload.print, clusterId: msg.payload.clusterId`,
      ),
      ...entry('await', MAKE_ITEM, [`await-${id}`], ['answer']),
      queueNode('await', { ...add, waitFor: 'finished' }, [`${id}-queue-end`], []),
      note(id, 'queue-end', key),
      node(`${id}-failed`, 'catch', { scope: [`await-${id}`] }, [`${id}-queue-error`]),
      note(id, 'queue-error', `${key}, text: msg.error.code + ": " + msg.error.message`),
      ...entry('ask', 'return { ...msg, ...msg.payload };', [`ask-${id}`]),
      queueNode('ask', { action: 'msg.action', source: 'stored', timeout: ADD_TIMEOUT }, ['answer'], []),
      node(`${id}-refused`, 'catch', { scope: [`add-${id}`, `ask-${id}`] }, ['say']),
    ];
  });
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
    ...queues,
  ];
}

const MAKE = `const { key, clusterId, name } = msg.payload;
  return { ...msg, clusterId, printKey: key, filename: name, payload: ';TIME:60\\nG28\\n;' + name + '\\n' };`;
/** The second output answers at once. */
const MAKE_ITEM = `const { queueKey, seconds } = msg.payload;
  const payload = ';TIME:' + seconds + '\\nG28\\n;' + queueKey + '\\n';
  return [{ ...msg, ...msg.payload, filename: queueKey + '.gcode', payload }, { ...msg, payload: {} }];`;
const SAY = `msg.statusCode = 409;
  msg.payload = { code: msg.error.code, error: msg.error.message };
  return msg;`;
