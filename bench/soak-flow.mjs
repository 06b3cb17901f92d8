import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { signIn as signInTo } from '../scripts/demo.mjs';

/** @typedef {import('../scripts/simulator.mjs').RunningSimulator} Simulator */
/** @typedef {import('../scripts/node-red.mjs').RunningNodeRed} NodeRed */

const ACCOUNT = 'account';
const AT = { z: 'tab', x: 100, y: 100 };

/** Signs the flow's account in. @param {string} editor */
export const signIn = (editor) => signInTo(editor, ACCOUNT);

/** Nodes of every type, by the path that sends a message to the node. @param {string} room @returns {Record<string, object>} */
const nodesOf = (room) => ({
  'ask-all': { type: 'remote-printing-cluster-status', interval: 10 },
  'ask-one': { type: 'remote-printing-cluster-status', interval: 30 },
  print: { type: 'remote-printing-upload-and-print', source: 'payload' },
  'print-and-wait': { type: 'remote-printing-upload-and-print', source: 'payload', waitFor: 'finished' },
  'print-file': { type: 'remote-printing-upload-and-print', compress: true },
  control: { type: 'remote-printing-job-control', action: 'msg.action' },
  picture: { type: 'remote-printing-webcam-snapshot' },
  rows: { type: 'remote-printing-report-generator', from: 'last week', fromType: 'relative' },
  csv: { type: 'remote-printing-report-generator', format: 'csv', from: 'last week', fromType: 'relative' },
  'report-file': {
    type: 'remote-printing-report-generator',
    ...{ format: 'file', file: join(room, 'report.csv'), fileType: 'str', from: 'last week', fromType: 'relative' },
  },
  store: { type: 'remote-printing-library-file', operation: 'upload', kind: 'file', source: 'payload' },
  info: { type: 'remote-printing-library-file', operation: 'info', kind: 'file' },
  download: { type: 'remote-printing-library-file', operation: 'download', kind: 'file' },
  delete: { type: 'remote-printing-library-file', operation: 'delete', kind: 'file' },
  printers: { type: 'remote-printing-query', query: 'clusters' },
  jobs: { type: 'remote-printing-query', query: 'print-jobs' },
  user: { type: 'remote-printing-query', query: 'current-user' },
  request: { type: 'remote-printing-request', path: '/connect/v1/clusters', pathType: 'str' },
});

/** Flow with a path for each node that answers with the node's result or error. @param {Simulator} simulator @param {string} room */
export function flowsOf({ authUrl, apiUrl }, room, name = '') {
  const account = { id: ACCOUNT, type: 'remote-printing-account', service: 'remote', signIn: 'oauth', authUrl, apiUrl };
  const answer =
    'const { payload, clusterJobId, fileId } = msg; msg.payload = { clusterJobId, fileId, size: JSON.stringify(payload ?? null).length }; return msg;';
  const failed =
    'msg.statusCode = 500; msg.payload = { code: msg.error.code, message: msg.error.message }; return msg;';
  const nodes = nodesOf(room);
  return [
    { id: 'tab', type: 'tab', label: 'soak' },
    account,
    { id: 'answer', ...AT, type: 'function', func: answer, wires: [['out']] },
    { id: 'catch', ...AT, type: 'catch', scope: Object.keys(nodes), wires: [['failed']] },
    { id: 'failed', ...AT, type: 'function', func: `if (!msg.res) return; ${failed}`, wires: [['out']] },
    {
      id: 'has-res',
      ...AT,
      type: 'function',
      func: 'return msg.res && !msg.res._res.headersSent && (!msg.parts || msg.parts.index === 0) ? msg : null;',
      wires: [['answer']],
    },
    { id: 'out', ...AT, type: 'http response', wires: [] },
    ...Object.entries(nodes).flatMap(([id, node]) => [
      { id: `in-${id}`, ...AT, type: 'http in', url: `/${id}`, method: 'post', wires: [[`take-${id}`]] },
      { id: `take-${id}`, ...AT, type: 'function', func: 'return Object.assign(msg, msg.payload);', wires: [[id]] },
      { id, ...AT, name, account: ACCOUNT, wires: [['has-res'], []], ...node },
    ]),
  ];
}

/**
 * Sends messages of all kinds, each again some time after its answer, and deploys. Only a deploy may cost a message its answer.
 * @param {NodeRed} nodeRed @param {Simulator} simulator @param {string} room
 */
export function drive(nodeRed, simulator, room) {
  const nodeUrl = nodeRed.url;
  let over = false;
  const abort = new AbortController();
  let deploys = 0;
  let deployedAt = 0;
  let serial = 0;
  const load = { answered: 0, interrupted: 0, failed: 0, stop, summary };
  /** @type {Promise<void>[]} */
  const loops = [];
  writeFileSync(join(room, 'part.gcode'), gcode(0));

  /** Sends a message and returns the answer; null after a deploy or an allowed refusal by the service. @param {string} name @param {object} message */
  async function send(name, message = {}) {
    const began = performance.now();
    try {
      const response = await fetch(`${nodeUrl}${name}`, {
        method: 'POST',
        // The server may close an idle connection just as it is used again.
        headers: { 'content-type': 'application/json', connection: 'close' },
        body: JSON.stringify(message),
        signal: AbortSignal.any([abort.signal, AbortSignal.timeout(180_000)]),
      });
      const text = await response.text();
      if (!text.startsWith('{')) throw new Error(`${response.status} ${text.slice(0, 300)}`);
      const body = JSON.parse(text);
      if (response.ok || body.code === 'NOT_ACCEPTED' || body.code === 'NOT_FOUND') {
        load.answered++;
        return body;
      }
      throw new Error(`${name}: ${JSON.stringify(body)}`);
    } catch (error) {
      if (over) return null;
      if (deployedAt > began || performance.now() - deployedAt < 5_000) load.interrupted++;
      else {
        load.failed++;
        console.log(`failed: ${name}: ${error}, ${/** @type {any} */ (error).cause ?? ''}`);
      }
      return null;
    }
  }

  /** @param {number} seconds @param {() => Promise<unknown>} work */
  function every(seconds, work) {
    const loop = async () => {
      while (!over) {
        await work();
        for (let left = seconds; left > 0 && !over; left -= 1) await pause(Math.min(1, left) * 1000);
      }
    };
    loops.push(loop());
  }

  /** @param {number} printer */
  const clusterOf = async (printer) => {
    const state = await fetch(new URL('state', simulator.controlUrl));
    const { clusters } = /** @type {{ clusters: { clusterId: string }[] }} */ (await state.json());
    return clusters[printer % clusters.length]?.clusterId;
  };
  const part = () => ({ payload: gcode(++serial), filename: `part-${serial}.gcode`, printKey: `key-${serial}` });

  every(2, () => send('ask-all'));
  every(3, async () => send('ask-one', { clusterId: await clusterOf(serial) }));
  every(10, async () => send('print', { ...part(), clusterId: await clusterOf(serial) }));
  every(5, async () => send('print-and-wait', { ...part(), clusterId: await clusterOf(serial) }));
  every(20, async () => send('print-file', { filename: join(room, 'part.gcode'), clusterId: await clusterOf(serial) }));
  every(15, async () => send('control', { action: 'pause', clusterId: await clusterOf(serial) }));
  every(4, async () => send('control', { action: 'resume', clusterId: await clusterOf(serial) }));
  every(5, async () => send('picture', { clusterId: await clusterOf(serial) }));
  for (const report of ['rows', 'csv', 'report-file']) every(10, () => send(report));
  every(4, async () => {
    const stored = await send('store', { payload: 'a note\n'.repeat(5_000), filename: `note-${++serial}.txt` });
    if (!stored?.fileId) return;
    for (const step of ['info', 'download', 'delete']) await send(step, { fileId: stored.fileId });
  });
  for (const question of ['printers', 'jobs', 'user', 'request'])
    every(3, async () => send(question, { clusterId: await clusterOf(serial) }));
  every(20, () =>
    deploy(++deploys % 3 === 0 ? 'full' : deploys % 3 === 1 ? 'nodes' : 'flows').catch(
      (error) => over || console.log(`a deploy failed: ${error}`),
    ),
  );

  /** @param {string} type */
  async function deploy(type) {
    deployedAt = performance.now();
    const starts = () => nodeRed.log.filter((line) => /\] Started (modified )?(flows|nodes)/.test(line)).length;
    const before = starts();
    const flows = flowsOf(simulator, room, `deploy ${deploys}`);
    const response = await fetch(`${nodeRed.url}flows`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'node-red-deployment-type': type, connection: 'close' },
      body: JSON.stringify(flows),
    });
    if (!response.ok) throw new Error(`a deploy answered ${response.status}`);
    // Node-RED answers before it has started the new nodes; until then, their paths don't exist.
    while (starts() === before && !over) await pause(100);
    deployedAt = performance.now();
  }

  async function stop() {
    over = true;
    abort.abort();
    await Promise.all(loops);
  }

  function summary() {
    const { answered, interrupted, failed } = load;
    return `${answered} answers, ${interrupted} interrupted by ${deploys} deploys, ${failed} failed`;
  }
  return load;
}

/** One-minute print, different for each number. @param {number} number */
const gcode = (number) => `;FLAVOR:Marlin\n;TIME:60\n;part ${number}\n${'G1 X10 Y10 E1\n'.repeat(2_000)}`;
