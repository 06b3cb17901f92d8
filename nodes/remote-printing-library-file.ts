import type { Node, NodeAPI, NodeDef } from 'node-red';

module.exports = (RED: NodeAPI): void => {
  RED.nodes.registerType('remote-printing-library-file', function (this: Node, definition: NodeDef) {
    // Loads the implementation with the first node of the type, so that unused types cost nothing.
    const { LibraryFileNode } = require('./types/library-file') as typeof import('./types/library-file');
    LibraryFileNode.call(this, RED, definition);
  });
};
