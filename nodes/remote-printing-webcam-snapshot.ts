import type { Node, NodeAPI, NodeDef } from 'node-red';

module.exports = (RED: NodeAPI): void => {
  RED.nodes.registerType('remote-printing-webcam-snapshot', function (this: Node, definition: NodeDef) {
    // Loaded with the first node of the type: what no flow uses costs nothing.
    const { WebcamSnapshotNode } = require('./types/webcam-snapshot') as typeof import('./types/webcam-snapshot');
    WebcamSnapshotNode.call(this, RED, definition);
  });
};
