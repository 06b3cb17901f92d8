import type { Node, NodeAPI, NodeDef } from 'node-red';

module.exports = (RED: NodeAPI): void => {
  RED.nodes.registerType('remote-printing-cluster-status', function (this: Node, definition: NodeDef) {
    // Loads the implementation with the first node of the type, so that unused types cost nothing.
    const { ClusterStatusNode } = require('./types/cluster-status') as typeof import('./types/cluster-status');
    ClusterStatusNode.call(this, RED, definition);
  });
};
