import type { Node, NodeAPI, NodeDef } from 'node-red';

module.exports = (RED: NodeAPI): void => {
  RED.nodes.registerType('remote-printing-job-control', function (this: Node, definition: NodeDef) {
    // Loads the implementation with the first node of the type, so that unused types cost nothing.
    const { JobControlNode } = require('./types/job-control') as typeof import('./types/job-control');
    JobControlNode.call(this, RED, definition);
  });
};
