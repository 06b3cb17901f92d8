// The registered js file of a node. It loads the implementation with the first node of the type, so that unused types
// cost nothing (ADR 7). After an upgrade without a restart, it refuses what is not loaded yet (lib/on-demand.ts).

/** @typedef {import('./nodes.mjs').NodeSources} NodeSources */

/** CommonJS module for a place beside the node's folder. @param {NodeSources} node */
export function entry({ name, type, definition }) {
  const { credentials } = definition;
  const kinds = Object.entries(credentials ?? {}).map(([key, kind]) => [key, { type: kind }]);
  const options = credentials ? `, ${JSON.stringify({ credentials: Object.fromEntries(kinds) })}` : '';
  // The dialog of an account needs its endpoints before the first deploy.
  const endpoints = name === 'account' ? "\n  require('./shared/admin').addAdminEndpoints(RED);" : '';
  return `'use strict';
const { onDemand } = require('../lib/on-demand');
const { RefusedNode } = require('./shared/refused');
module.exports = (RED) => {${endpoints}
  const implementation = onDemand(
    () => require('./${name}/node').default,
    () => RefusedNode,
  );
  RED.nodes.registerType('${type}', function (saved) {
    implementation().call(this, RED, saved);
  }${options});
};
`;
}
