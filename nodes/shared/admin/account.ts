import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { NodeAPI } from 'node-red';
import type { Request } from 'express';
import type { Client } from '../../../lib/client';
import type { Choices } from '../../../lib/query/choices';
import { PrintingError } from '../../../lib/service/errors';
import { text } from '../../../lib/service/json-readers';
import { knownAccount } from './accounts';
import { handle, idOf } from './handle';
import { stateOf } from './state';
import { typedAccount, withTypedChoices } from './typed-account';
import { phrase } from '../../../lib/words/sentence';

/** The endpoints for the state and the contents of an account (reference 5). */
export function accountEndpoints(RED: NodeAPI) {
  const client = async (request: Request): Promise<Client> => {
    const [node] = knownAccount(RED, idOf(request)).running;
    if (node) return node.client();
    const sentence = phrase`The account is not running: enable it, or use its subflow, and deploy.`;
    throw new PrintingError('NOT_CONFIGURED', sentence);
  };

  /** Uses the running account for a GET, and the settings in the body for a POST. */
  const choices = async <T>(request: Request, choose: (choices: Choices) => Promise<T>): Promise<T> => {
    if (request.method === 'POST') return withTypedChoices(RED, typedAccount(RED, idOf(request), request.body), choose);
    return choose((await client(request)).choices);
  };

  return {
    state: handle((request) => {
      const typed = ({ service, signIn, authUrl }: Request['query']) => ({ service, signIn, authUrl });
      const words = Object.entries(typed(request.query)).filter(([, value]) => typeof value === 'string');
      return stateOf(RED, idOf(request), Object.fromEntries(words));
    }),

    clusters: handle(async (request) => {
      const clusters = await choices(request, (all) => all.clusters());
      return clusters.map(({ clusterId, name, model, online, printers }) => ({
        clusterId,
        name,
        model,
        online,
        printers: printers.map(({ printerId, name }) => ({ printerId, name })),
      }));
    }),

    workspaces: handle((request) => choices(request, (all) => all.workspaces())),

    jobs: handle(async (request) => {
      const jobs = await choices(request, (all) => all.jobs(text(request.query.cluster) ?? undefined));
      return jobs.map(({ clusterJobId, jobId, clusterId, name, state, printerName, createdAt }) => ({
        clusterJobId,
        jobId,
        clusterId,
        name,
        state,
        printerName,
        createdAt,
      }));
    }),

    diagnostics: handle(async (request) => {
      const asked = await client(request);
      return {
        versions: {
          pack: version,
          node: process.version,
          nodeRed: (RED.settings as { version?: string }).version ?? null,
        },
        simulated: asked.simulated,
        ...(await asked.diagnostics()),
      };
    }),

    replicas: handle(async (request) => {
      const asked = await client(request);
      return { replicas: await asked.replicas(), refreshes: asked.credentials.counters().refreshesInAll ?? 0 };
    }),
  };
}

/** The pack's version, from the nearest package.json above (the sources and dist/ have different depths). */
const version: string = find(__dirname);

function find(folder: string): string {
  try {
    return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
  } catch {
    const above = dirname(folder);
    return above === folder ? 'unknown' : find(above);
  }
}
