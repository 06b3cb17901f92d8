import { clusterIdOf } from './farm-answers.mjs';

/** @typedef {{ url: string, clusters: number, interval: number }} Wanted interval in seconds */

const ACCOUNT = 'account';
/** What a status node does beside polling, stated so that a comparison with another version compares the same work. */
const SETTINGS = { send: 'always', milestones: '25,50,75', lowMaterial: 10, plateWait: 30, stalled: 0 };
const tab = { id: 'tab', type: 'tab', label: 'farm' };

/** One status node for all clusters. @param {Wanted} wanted */
export const farmFlow = (wanted) => packFlow(wanted, ['']);

/** The same with a print queue that may use all clusters. @param {Wanted} wanted */
export function queueFlow(wanted) {
  const { flows, credentials } = farmFlow(wanted);
  const queue = { id: 'queue', type: 'remote-printing-queue', name: '', account: ACCOUNT };
  const node = { id: 'print-queue', z: 'tab', type: 'remote-printing-print-queue', queue: 'queue', wires: [[], []] };
  return { flows: [...flows, queue, node], credentials };
}

/** One status node for each cluster. @param {Wanted} wanted */
export const singlesFlow = (wanted) =>
  packFlow(
    wanted,
    Array.from({ length: wanted.clusters }, (_, n) => clusterIdOf(n)),
  );

/** @param {Wanted} wanted @param {string[]} clusters */
function packFlow({ url, interval }, clusters) {
  const node = {
    ...{ z: 'tab', type: 'remote-printing-cluster-status', account: ACCOUNT, clusterType: 'str', interval },
    ...SETTINGS,
  };
  return {
    flows: [
      { id: ACCOUNT, type: 'remote-printing-account', name: '', service: 'remote', signIn: 'token', apiUrl: url },
      tab,
      ...clusters.map((cluster, n) => ({ id: `status-${n}`, ...node, cluster, wires: [[], []] })),
    ],
    credentials: { [ACCOUNT]: { apiToken: 'token' } },
  };
}

/** Flow that a user builds without the pack: requests each cluster in turn and parses the answers. @param {Wanted} wanted */
export function coreFlow(wanted) {
  const { url, clusters, interval } = wanted;
  const address = (/** @type {string} */ id) => `${url}/connect/v1/clusters/${id}/status`;
  const request = {
    id: 'request',
    z: 'tab',
    type: 'http request',
    method: 'GET',
    ret: 'txt',
    url: '',
    persist: true,
    headers: [
      { keyType: 'other', keyValue: 'authorization', valueType: 'other', valueValue: 'Bearer token' },
      { keyType: 'other', keyValue: 'accept', valueType: 'other', valueValue: 'application/json' },
    ],
    wires: [['json']],
  };
  const common = [
    tab,
    request,
    { id: 'json', z: 'tab', type: 'json', property: 'payload', action: 'obj', wires: [[]] },
  ];
  const inject = { z: 'tab', type: 'inject', once: true, repeat: String(interval) };
  if (clusters <= 1000) {
    const injects = Array.from({ length: clusters }, (_, n) => ({
      ...inject,
      id: `inject-${n}`,
      onceDelay: 0.1 + (interval * n) / clusters,
      props: [{ p: 'url', v: address(clusterIdOf(n)), vt: 'str' }],
      wires: [['request']],
    }));
    return { flows: [...common, ...injects], credentials: {}, withPack: false };
  }
  // No user places so many inject nodes: one node starts all requests, and a delay node passes them one by one.
  const ids = Array.from({ length: clusters }, (_, n) => clusterIdOf(n));
  const rate = { rate: String(clusters), nbRateUnits: String(interval), rateUnits: 'second' };
  return {
    flows: [
      ...common,
      {
        ...inject,
        id: 'inject',
        onceDelay: 0.1,
        props: [{ p: 'payload', v: JSON.stringify(ids), vt: 'json' }],
        wires: [['split']],
      },
      { id: 'split', z: 'tab', type: 'split', arraySplt: 1, arraySpltType: 'len', wires: [['pace']] },
      { id: 'pace', z: 'tab', type: 'delay', pauseType: 'rate', ...rate, drop: false, wires: [['address']] },
      {
        id: 'address',
        z: 'tab',
        type: 'function',
        func: `msg.url = ${JSON.stringify(address('ID'))}.replace('ID', msg.payload); return msg;`,
        outputs: 1,
        wires: [['request']],
      },
    ],
    credentials: {},
    withPack: false,
  };
}

/** Flow of an idle Node-RED, whose cost is subtracted from the others. */
export const idleFlow = { flows: [tab], credentials: {}, withPack: false };
