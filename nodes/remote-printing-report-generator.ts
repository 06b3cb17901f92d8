import type { Node, NodeAPI, NodeDef } from 'node-red';

module.exports = (RED: NodeAPI): void => {
  RED.nodes.registerType('remote-printing-report-generator', function (this: Node, definition: NodeDef) {
    // Loads the implementation with the first node of the type, so that unused types cost nothing.
    const { ReportGeneratorNode } = require('./types/report-generator') as typeof import('./types/report-generator');
    ReportGeneratorNode.call(this, RED, definition);
  });
};
