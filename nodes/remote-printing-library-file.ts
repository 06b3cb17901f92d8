import type { Node, NodeAPI, NodeDef } from 'node-red';

module.exports = (RED: NodeAPI): void => {
  RED.nodes.registerType('remote-printing-library-file', function (this: Node, definition: NodeDef) {
    // Loaded with the first node of the type: what no flow uses costs nothing.
    const { LibraryFileNode } = require('./types/library-file') as typeof import('./types/library-file');
    LibraryFileNode.call(this, RED, definition);
  });
};
