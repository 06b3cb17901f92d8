import type { Node, NodeAPI, NodeDef } from 'node-red';

module.exports = (RED: NodeAPI): void => {
  RED.nodes.registerType('remote-printing-cluster-status', function (this: Node, definition: NodeDef) {
    // Loaded with the first node of the type: what no flow uses costs nothing.
    const { ClusterStatusNode } = require('./types/cluster-status') as typeof import('./types/cluster-status');
    ClusterStatusNode.call(this, RED, definition);
  });
};
