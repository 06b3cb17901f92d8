import type { Node, NodeAPI, NodeDef } from 'node-red';

module.exports = (RED: NodeAPI): void => {
  RED.nodes.registerType('remote-printing-webcam-snapshot', function (this: Node, definition: NodeDef) {
    // Loads the implementation with the first node of the type, so that unused types cost nothing.
    const { WebcamSnapshotNode } = require('./types/webcam-snapshot') as typeof import('./types/webcam-snapshot');
    WebcamSnapshotNode.call(this, RED, definition);
  });
};
