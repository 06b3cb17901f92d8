// The registered js file of a node. It loads the implementation with the first node of the type, so that unused types
// cost nothing (ADR 7).

/** @typedef {import('./nodes.mjs').NodeSources} NodeSources */

/** CommonJS module for a place beside the node's folder. @param {NodeSources} node */
export function entry({ name, type, definition }) {
  const { credentials } = definition;
  const kinds = Object.entries(credentials ?? {}).map(([key, kind]) => [key, { type: kind }]);
  const options = credentials ? `, ${JSON.stringify({ credentials: Object.fromEntries(kinds) })}` : '';
  // The dialog of an account needs its endpoints before the first deploy.
  const endpoints = name === 'account' ? "\n  require('./shared/admin').addAdminEndpoints(RED);" : '';
  return `'use strict';
module.exports = (RED) => {${endpoints}
  RED.nodes.registerType('${type}', function (saved) {
    require('./${name}/node').default.call(this, RED, saved);
  }${options});
};
`;
}
