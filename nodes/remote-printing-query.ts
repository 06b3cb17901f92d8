import type { Node, NodeAPI, NodeDef } from 'node-red';

module.exports = (RED: NodeAPI): void => {
  RED.nodes.registerType('remote-printing-query', function (this: Node, definition: NodeDef) {
    // Loaded with the first node of the type: what no flow uses costs nothing.
    const { QueryNode } = require('./types/query') as typeof import('./types/query');
    QueryNode.call(this, RED, definition);
  });
};
