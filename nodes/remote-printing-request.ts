import type { Node, NodeAPI, NodeDef } from 'node-red';

module.exports = (RED: NodeAPI): void => {
  RED.nodes.registerType('remote-printing-request', function (this: Node, definition: NodeDef) {
    // Loads the implementation with the first node of the type, so that unused types cost nothing.
    const { RequestNode } = require('./types/request') as typeof import('./types/request');
    RequestNode.call(this, RED, definition);
  });
};
