import type { NodeAPI } from 'node-red';
import type { Request } from 'express';
import type { Client } from '../../../lib/client';
import { PrintingError } from '../../../lib/service/errors';
import { version } from '../version';
import { knownAccount } from './accounts';
import { handle, idOf } from './handle';
import { stateOf } from './state';

/** The endpoints that tell of an account (reference 5). */
export function accountEndpoints(RED: NodeAPI) {
  const client = async (request: Request): Promise<Client> => {
    const [node] = knownAccount(RED, idOf(request)).running;
    if (node) return node.client();
    const sentence = 'The account does not run: enable it, or use its subflow, and deploy.';
    throw new PrintingError('NOT_CONFIGURED', sentence);
  };

  return {
    state: handle((request) => stateOf(RED, idOf(request))),

    clusters: handle(async (request) => {
      const clusters = await (await client(request)).choices.clusters();
      return clusters.map(({ clusterId, name, model, online, printers }) => ({
        clusterId,
        name,
        model,
        online,
        printers: printers.map(({ printerId, name }) => ({ printerId, name })),
      }));
    }),

    workspaces: handle(async (request) => (await client(request)).choices.workspaces()),

    diagnostics: handle(async (request) => {
      const asked = await client(request);
      return {
        versions: {
          pack: version,
          node: process.version,
          nodeRed: (RED.settings as { version?: string }).version ?? null,
        },
        simulated: asked.simulated,
        ...asked.diagnostics(),
      };
    }),
  };
}
