/** Path below Node-RED's address that triggers an upload. The flows answer at its end. */
export const PATH = 'upload';
export const ACCOUNT = 'account';

/** @param {import('./service-process.mjs').Addresses} addresses */
export const packFlow = ({ authUrl, apiUrl, clientId, clientSecret }) => ({
  flows: [
    { id: ACCOUNT, type: 'remote-printing-account', name: 'simulator', service: 'remote', authUrl, apiUrl },
    ...flow('{ jobId: msg.jobId }', [
      { id: 'send', type: 'remote-printing-upload-and-print', account: ACCOUNT, print: false, wires: [['done'], []] },
    ]),
  ],
  credentials: { [ACCOUNT]: { clientId, clientSecret } },
});

export const coreFlow = {
  credentials: {},
  flows: flow('{ status: msg.statusCode }', [
    { id: 'send', type: 'file in', filename: 'filename', filenameType: 'msg', format: '', wires: [['put']] },
    {
      id: 'put',
      type: 'http request',
      method: 'PUT',
      ret: 'txt',
      url: '',
      headers: [{ keyType: 'other', keyValue: 'content-type', valueType: 'other', valueValue: 'text/plain' }],
      senderr: true,
      wires: [['done']],
    },
  ]),
};

/**
 * Flow from a request, through the node `send`, to its answer or to the error from a Catch node.
 * @param {string} answer expression of the answer's body
 * @param {object[]} nodes end in the node `done`
 */
function flow(answer, nodes) {
  return [
    { id: 'tab', type: 'tab', label: 'bench' },
    { id: 'ask', z: 'tab', type: 'http in', url: `/${PATH}`, method: 'post', wires: [['take']] },
    script('take', 'return Object.assign(msg, msg.payload, { payload: undefined });', 'send'),
    ...nodes.map((node) => ({ z: 'tab', ...node })),
    script('done', `return { req: msg.req, res: msg.res, payload: ${answer} };`, 'answer'),
    { id: 'catch', z: 'tab', type: 'catch', scope: null, wires: [['failed']] },
    script('failed', 'return { req: msg.req, res: msg.res, statusCode: 500, payload: msg.error.message };', 'answer'),
    { id: 'answer', z: 'tab', type: 'http response', wires: [] },
  ];
}

/** @param {string} id @param {string} func @param {string} next */
function script(id, func, next) {
  return { id, z: 'tab', type: 'function', func, outputs: 1, wires: [[next]] };
}
