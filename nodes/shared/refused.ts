import type { Request, Response } from 'express';
import type { Node, NodeAPI, NodeDef } from 'node-red';

// Loaded at the start, so it imports nothing.

/** Catalogue with the texts of this file. */
const TEXTS = '@remote-printing/node-red-remote-printing/remote-printing-account';
const code = 'NOT_CONFIGURED';

/** Stands in for a node whose type was first used between an upgrade of the pack and the restart. */
export function RefusedNode(this: Node, RED: NodeAPI, saved: NodeDef): void {
  RED.nodes.createNode(this, saved);
  const sentence = RED._(`${TEXTS}:failure.upgraded`);
  this.status({ fill: 'red', shape: 'ring', text: RED._(`${TEXTS}:status.upgraded`) });
  this.error(sentence);
  this.on('input', (_msg, _send, done) => done(Object.assign(new Error(sentence), { code })));
}

/** Stands in for an endpoint that was first used between an upgrade and the restart. */
export const refuseRequest =
  (RED: NodeAPI) =>
  (request: Request, response: Response): void => {
    const error = RED._(`${TEXTS}:failure.upgraded`);
    const status = 503;
    // A form gets errors within a 200.
    if (request.get('accept')?.endsWith('.form+json')) response.json({ failure: { status, error, code } });
    else response.status(status).json({ error, code });
  };
