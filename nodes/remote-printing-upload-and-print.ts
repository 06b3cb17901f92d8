import type { Node, NodeAPI, NodeDef } from 'node-red';

module.exports = (RED: NodeAPI): void => {
  RED.nodes.registerType('remote-printing-upload-and-print', function (this: Node, definition: NodeDef) {
    // Loaded with the first node of the type: what no flow uses costs nothing.
    const { UploadAndPrintNode } = require('./types/upload-and-print') as typeof import('./types/upload-and-print');
    UploadAndPrintNode.call(this, RED, definition);
  });
};
