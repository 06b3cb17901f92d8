import type { Node, NodeAPI, NodeDef } from 'node-red';

module.exports = (RED: NodeAPI): void => {
  RED.nodes.registerType('remote-printing-upload-and-print', function (this: Node, definition: NodeDef) {
    // Loads the implementation with the first node of the type, so that unused types cost nothing.
    const { UploadAndPrintNode } = require('./types/upload-and-print') as typeof import('./types/upload-and-print');
    UploadAndPrintNode.call(this, RED, definition);
  });
};
